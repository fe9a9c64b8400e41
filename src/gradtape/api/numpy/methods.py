"""The methods and attributes of NumPy's arrays on `Tensor` and `Variable`: `x.sum(axis=0)`, `x.reshape(2, -1)`, `x.T`.

Each is the function of that name in `gradtape.numpy`, imported at its first call. `x.shape` and `x.dtype` stay TensorFlow's.
Methods that change an array in place are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gradtape.core.array_methods import ArrayMethods
from gradtape.core.tensor import Tensor

METHODS = {
    "arithmetic": "conj conjugate",
    "diagonals": "diagonal",
    "elementary": "round",
    "elementwise": "clip",
    "indexing": "choose nonzero take",
    "ordering": "argpartition argsort searchsorted",
    "products": "dot trace",
    "rearranging": "repeat",
    "reductions": "all any argmax argmin cumprod cumsum max mean min prod sum",
    "shaping": "astype copy ravel squeeze swapaxes view",
    "statistics": "std var",
}
"""The methods that are a function with the array as its first argument, by the module that has it."""

OPERATORS = {
    "divmod": ("arithmetic", "divmod"),
    "lshift": ("logic", "left_shift"),
    "rshift": ("logic", "right_shift"),
}
"""Python's operators that arrays have and TensorFlow's tensors do not."""

IN_PLACE = {
    "fill": "write x = np.full_like(x, value)",
    "partition": "write x = np.partition(x, kth)",
    "put": "write x = gradtape.tensor_scatter_nd_update(x, indices, values)",
    "resize": "write x = np.resize(x, shape)",
    "sort": "write x = np.sort(x)",
}
"""The methods that change an array, and what to write instead."""


def _later(family: str, name: str) -> Callable[..., Any]:
    """A function that is imported when it is first called."""
    function: Callable[..., Any] | None = None

    def call(*args: Any, **keywords: Any) -> Any:
        nonlocal function
        if function is None:
            function = getattr(import_module(f"gradtape.api.numpy.{family}"), name)
        return function(*args, **keywords)

    return call


_reshape = _later("shaping", "reshape")
_ravel = _later("shaping", "ravel")
_transpose = _later("shaping", "transpose")
_compress = _later("indexing", "compress")
_values_of = _later("operands", "values_of")


def reshape(x: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Tensor:
    """The same elements in another shape, given as one argument or as several."""
    return _reshape(x, shape[0] if len(shape) == 1 else shape, order=order)


def transpose(x: Any, *axes: Any) -> Tensor:
    """The axes in another order, given as one argument or as several; reversed if none is given."""
    return _transpose(x, axes[0] if len(axes) == 1 else axes or None)


def flatten(x: Any, order: str = "C") -> Tensor:
    """All elements in one row."""
    return _ravel(x, order)


def compress(x: Any, condition: Any, axis: int | None = None, out: Any = None) -> Any:
    """The elements, or the slices along an axis, for which the condition is true."""
    return _compress(condition, x, axis, out)


def item(x: Any, *args: Any) -> Any:
    """One element as a Python number; it leaves the tape."""
    return np.asarray(x.numpy()).item(*args)


def tolist(x: Any) -> Any:
    """The elements as nested lists of Python numbers; they leave the tape."""
    return np.asarray(x.numpy()).tolist()


def tobytes(x: Any, order: Any = "C") -> bytes:
    """The bytes of the elements; they leave the tape."""
    return np.asarray(x.numpy()).tobytes(order)


def _len(x: Any) -> int:
    """`len(x)`: the size of the first axis."""
    return len(Tensor(x.array))


def _contains(x: Any, value: Any) -> bool:
    """`value in x`: whether any element equals it."""
    read = x if isinstance(x, Tensor) else x.tensor()
    return bool(np.any(_values_of(read.with_node(None), "in") == getattr(value, "array", value)))


def _method(family: str, name: str) -> Callable[..., Any]:
    method = _later(family, name)
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"`gradtape.numpy.{name}` of this tensor: its arguments are those that follow the array."
    return method


def _refusing(name: str) -> Callable[..., Any]:
    def method(x: Any, *args: Any, **keywords: Any) -> Any:
        raise TypeError(f"{name}: a {type(x).__name__} does not change in place; {IN_PLACE[name]}.")

    method.__name__ = name
    method.__doc__ = "Refused: it would change the tensor."
    return method


def _reflected(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(y, x)


def _install() -> None:
    for family, names in METHODS.items():
        for name in names.split():
            setattr(ArrayMethods, name, _method(family, name))
    for function in (reshape, transpose, flatten, compress, item, tolist, tobytes):
        setattr(ArrayMethods, function.__name__, function)
    ArrayMethods.__len__, ArrayMethods.__contains__ = _len, _contains  # type: ignore[method-assign]
    for name, (family, spelled) in OPERATORS.items():
        operator = _later(family, spelled)
        setattr(ArrayMethods, f"__{name}__", operator)
        setattr(ArrayMethods, f"__r{name}__", _reflected(operator))
    for name in IN_PLACE:
        setattr(ArrayMethods, name, _refusing(name))
    attributes: dict[str, tuple[Callable[[Any], Any], str]] = {
        "T": (_transpose, "The axes in reverse order."),
        "flat": (_ravel, "All elements in one row, to be indexed or iterated over."),
        "imag": (_later("elementwise", "imag"), "The imaginary parts."),
        "itemsize": (lambda x: x.array.dtype.itemsize, "Bytes in one element."),
        "mT": (_later("shaping", "matrix_transpose"), "The last two axes swapped."),
        "nbytes": (lambda x: x.array.size * x.array.dtype.itemsize, "Bytes in all elements."),
        "real": (_later("elementwise", "real"), "The real parts."),
        "size": (lambda x: x.array.size, "How many elements there are."),
    }
    for name, (get, doc) in attributes.items():
        setattr(ArrayMethods, name, property(get, doc=doc))


_install()
