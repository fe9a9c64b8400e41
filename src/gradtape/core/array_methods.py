"""`ArrayMethods`: NumPy's methods, attributes and protocols, which `Tensor` and `Variable` inherit.

NumPy's methods and attributes are the functions of those names in `gradtape.numpy`, imported at
their first call: `x.sum(axis=0)`, `x.reshape(2, -1)`, `x.T`. `x.shape` and `x.dtype` stay
TensorFlow's. Methods that change an array in place are refused.

NumPy's functions ask their arguments before they compute: `__array_ufunc__` for ufuncs and for an
operator whose left side is an array, `__array_function__` for others. So `np.tanh(tensor)` calls
gradtape's function of that name, and is recorded.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gradtape.core.late import imported_when_called

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradtape.core.tensor import Tensor


VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The versions of the Array API standard that `gradtape.array_api` implements."""

COUNTERPARTS: dict[Any, Callable[..., Any]] = {}
"""gradtape's function for each of NumPy's that has one;
`api.numpy.protocol` fills it when it is first needed.
"""

EASY: set[type] = {
    np.ndarray,
    float,
    int,
    bool,
    complex,
    list,
    tuple,
    np.float32,
    np.float64,
    np.int32,
    np.int64,
}
"""Types that let a Tensor beside them handle the call."""


def _numpy(family: str, name: str) -> Callable[..., Any]:
    return imported_when_called(f"gradtape.api.numpy.{family}", name)


_protocol_ufunc, _protocol_function = _numpy("protocol", "ufunc"), _numpy("protocol", "function")
_reshape, _ravel, _transpose = (
    _numpy("shaping", "reshape"),
    _numpy("shaping", "ravel"),
    _numpy("shaping", "transpose"),
)
_real, _imag = _numpy("elementwise", "real"), _numpy("elementwise", "imag")
_divmod, _left_shift = _numpy("arithmetic", "divmod"), _numpy("logic", "left_shift")
_right_shift = _numpy("logic", "right_shift")
_compress, _nonzero = _numpy("indexing", "compress"), _numpy("indexing", "nonzero")
_matrix_transpose, _values_of = (
    _numpy("shaping", "matrix_transpose"),
    _numpy("operands", "values_of"),
)


def _method(family: str, name: str) -> Any:
    """A method that is a function of `gradtape.numpy` with the array as its first argument."""
    method = _numpy(family, name)
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = (
        f"`gradtape.numpy.{name}` of this tensor: its arguments are those that follow the array."
    )
    return method


def _refusing(name: str, instead: str) -> Callable[..., NoReturn]:
    """A method that would change the array."""

    def method(self: Any, *args: Any, **keywords: Any) -> NoReturn:
        raise TypeError(
            f"{name}: a {type(self).__name__} cannot be changed in place: write {instead}."
        )

    method.__name__ = name
    method.__doc__ = "Refused: it would change the tensor."
    return method


if TYPE_CHECKING:
    from gradtape.api.numpy.methods import NumpyMethods
else:

    class NumpyMethods:
        """The methods that are functions of `gradtape.numpy`; type checkers read them there."""

        __slots__ = ()

        conj = _method("arithmetic", "conj")
        conjugate = _method("arithmetic", "conjugate")
        diagonal = _method("diagonals", "diagonal")
        round = _method("elementary", "round")
        clip = _method("elementwise", "clip")
        choose = _method("indexing", "choose")
        take = _method("indexing", "take")
        argpartition = _method("ordering", "argpartition")
        argsort = _method("ordering", "argsort")
        searchsorted = _method("ordering", "searchsorted")
        dot = _method("products", "dot")
        trace = _method("products", "trace")
        repeat = _method("rearranging", "repeat")
        all = _method("reductions", "all")
        any = _method("reductions", "any")
        argmax = _method("reductions", "argmax")
        argmin = _method("reductions", "argmin")
        cumprod = _method("reductions", "cumprod")
        cumsum = _method("reductions", "cumsum")
        max = _method("reductions", "max")
        mean = _method("reductions", "mean")
        min = _method("reductions", "min")
        prod = _method("reductions", "prod")
        sum = _method("reductions", "sum")
        astype = _method("shaping", "astype")
        copy = _method("shaping", "copy")
        ravel = _method("shaping", "ravel")
        squeeze = _method("shaping", "squeeze")
        swapaxes = _method("shaping", "swapaxes")
        view = _method("shaping", "view")
        std = _method("statistics", "std")
        var = _method("statistics", "var")


class ArrayMethods(NumpyMethods):
    """The methods and attributes of NumPy's arrays, and those that the Array API standard
    requires.
    """

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Called by a NumPy ufunc that has a Tensor or a Variable among its arguments."""
        if method == "__call__" and not keywords:
            found = COUNTERPARTS.get(ufunc)
            if found is not None and (
                len(inputs) == 1 or (type(inputs[0]) in EASY and type(inputs[1]) in EASY)
            ):
                return found(*inputs)
        return _protocol_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        """Called by any other NumPy function that has one among its arguments."""
        found = COUNTERPARTS.get(function)
        if found is not None and len(types) == 1:
            return found(*args, **keywords)
        return _protocol_function(function, types, args, keywords)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """The functions for this tensor, as `gradtape.array_api`.

        >>> import gradtape as tf
        >>> xp = tf.constant([1.0, 2.0]).__array_namespace__()
        >>> xp.sum(xp.asarray([1.0, 2.0])).numpy()
        np.float32(3.0)
        """
        if api_version is not None and api_version not in VERSIONS:
            raise ValueError(
                f"__array_namespace__: api_version must be one of {', '.join(VERSIONS)}, got "
                f"{api_version!r}."
            )
        return import_module("gradtape.array_api")

    def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Tensor:
        """This tensor on `device`; itself if it is there already.

        >>> import gradtape as tf
        >>> x = tf.constant([1.0, 2.0])
        >>> x.to_device("/CPU:0") is x
        True
        """
        from gradtape.core.device import find  # noqa: PLC0415 - which needs Tensors

        if stream is not None:
            raise ValueError(
                f"to_device: stream must be None, since the CPU has no streams, got {stream!r}."
            )
        tensor, place = self.tensor() if hasattr(self, "tensor") else self, find(device)
        return tensor if place is None else place.move(tensor)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Tensor:
        """The same elements in another shape, given as one argument or as several."""
        return _reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Tensor:
        """The axes in another order, given as one argument or as several;
        reversed if none is given.
        """
        return _transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def flatten(self, order: str = "C") -> Tensor:
        """All elements in one row."""
        return _ravel(self, order)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Tensor:
        """The elements, or the slices along an axis, for which the condition is true."""
        return _compress(condition, self, axis, out)

    def nonzero(self) -> tuple[Tensor, ...]:
        """The indices of the elements that are not zero, for each axis."""
        return _nonzero(self)

    def item(self: Any, *args: Any) -> Any:
        """One element as a Python number; it leaves the tape."""
        return np.asarray(self.numpy()).item(*args)

    def tolist(self: Any) -> Any:
        """The elements as nested lists of Python numbers; they leave the tape."""
        return np.asarray(self.numpy()).tolist()

    def tobytes(self: Any, order: Any = "C") -> bytes:
        """The bytes of the elements; they leave the tape."""
        return np.asarray(self.numpy()).tobytes(order)

    fill = _refusing("fill", "x = np.full_like(x, value)")
    partition = _refusing("partition", "x = np.partition(x, kth)")
    put = _refusing("put", "x = gradtape.tensor_scatter_nd_update(x, indices, values)")
    resize = _refusing("resize", "x = np.resize(x, shape)")
    sort = _refusing("sort", "x = np.sort(x)")

    @property
    def T(self) -> Tensor:  # noqa: N802 - NumPy's name
        """The axes in reverse order."""
        return _transpose(self)

    @property
    def mT(self) -> Tensor:  # noqa: N802 - the Array API's name
        """The last two axes swapped."""
        return _matrix_transpose(self)

    @property
    def flat(self) -> Tensor:
        """All elements in one row, to be indexed or iterated over."""
        return _ravel(self)

    @property
    def real(self) -> Tensor:
        """The real parts."""
        return _real(self)

    @property
    def imag(self) -> Tensor:
        """The imaginary parts."""
        return _imag(self)

    @property
    def size(self: Any) -> int:
        """How many elements there are."""
        return self.array.size

    @property
    def itemsize(self: Any) -> int:
        """Bytes in one element."""
        return self.array.dtype.itemsize

    @property
    def nbytes(self: Any) -> int:
        """Bytes in all elements."""
        return self.array.size * self.array.dtype.itemsize

    def __len__(self: Any) -> int:
        if not self.array.ndim:
            raise TypeError("A scalar tensor has no len(): its shape is ().")
        return len(self.array)

    def __contains__(self: Any, value: Any) -> bool:
        read = self.tensor() if hasattr(self, "tensor") else self
        return bool(
            np.any(_values_of(read.with_node(None), "in") == getattr(value, "array", value))
        )

    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return _divmod(self, other)

    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return _divmod(other, self)

    def __lshift__(self, other: Any) -> Tensor:
        return _left_shift(self, other)

    def __rlshift__(self, other: Any) -> Tensor:
        return _left_shift(other, self)

    def __rshift__(self, other: Any) -> Tensor:
        return _right_shift(self, other)

    def __rrshift__(self, other: Any) -> Tensor:
        return _right_shift(other, self)
