"""Conversion to Tensors of whatever callers pass; all other modules convert through this one.

Tensors, and objects that know how to become one, are treated the same for all callers (`operand`).
Plain values (Python numbers, lists and NumPy arrays) are converted by a `Policy`, TensorFlow's or
NumPy's, which says what dtype a number takes alone and beside Tensors, and what is refused. Keras's
rules need Keras: they are in `keras_gradtape`, built on these.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.core.buffered import relying
from gradtape.core.device import new_tensor
from gradtape.core.messages import no_array
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.values import array_of, on_host, to_array, unknown_dtype
from gradtape.core.variable import Variable
from gradtape.errors import invalid_argument

__all__ = [
    "NUMPY", "TENSORFLOW", "Policy", "array_of", "as_indices", "as_tensor", "beside",
    "common_dtype", "first_tensor", "is_tensor_like", "numpy_array", "on_host", "operand",
    "pair_of_floats", "to_array",
]  # fmt: skip

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_COMPLEX64, _COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)
_KNOWN = frozenset(d.numpy for d in dtypes.ALL if d is not dtypes.string)


# What is a Tensor, or says how to become one


def is_tensor_like(value: Any) -> bool:
    """Whether a value is a Tensor, a Variable, or says how to become one."""
    return isinstance(value, (Tensor, Variable)) or hasattr(value, "__gradtape_tensor__")


def operand(value: Any) -> Any:
    """What an op works with: a Tensor for everything that is one or can become one, else the value.

    A Variable is read for that op alone, so that a sparse gradient reaches the Variable itself.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Variable):
        return value.tensor()
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return as_tensor(value)
    convert = getattr(value, "__gradtape_tensor__", None)
    return value if convert is None else convert()


def as_tensor(value: Any, dtype: Any = None, *, argument: str = "value") -> Tensor:
    """`convert_to_tensor`: a read of a Variable, a stack of a list with Tensors in it,
    a constant.
    """
    if type(value) is Tensor and dtype is None:
        return value
    wanted = None if dtype is None else dtypes.as_dtype(dtype).numpy
    if isinstance(value, (list, tuple)) and _holds_tensors(value):
        return _stacked(value, wanted, argument)
    found = value.read_value() if isinstance(value, Variable) else operand(value)
    if not isinstance(found, Tensor):
        return new_tensor(to_array(value, wanted, argument=argument))
    if wanted is not None and found.array.dtype != wanted:
        raise ValueError(
            f"{argument}: a tensor of dtype {found.dtype.name} cannot be converted to dtype "
            f"{dtypes.from_numpy(wanted).name}: use gradtape.cast."
        )
    return found


def _holds_tensors(values: Any) -> bool:
    return any(is_tensor_like(leaf) for leaf in nest.flatten(values))


def _stacked(values: Any, wanted: Any, argument: str) -> Tensor:
    """A nested list with Tensors in it; plain numbers beside them take their dtype."""
    if wanted is None:
        wanted = next(operand(v).array.dtype for v in nest.flatten(values) if is_tensor_like(v))
    rows = [
        as_tensor(v, dtypes.from_numpy(wanted), argument=f"{argument}[{i}]")
        for i, v in enumerate(values)
    ]
    shapes = {row.array.shape for row in rows}
    if len(shapes) > 1:
        raise ValueError(f"{argument}: all entries must have the same shape, got {sorted(shapes)}.")
    return needed.stack(*rows, axis=0)


# Plain values


class Policy(ABC):
    """How the functions of one spelling take plain values."""

    @abstractmethod
    def array(self, value: Any, argument: str, strong: np.dtype[Any] | None = None) -> Any:
        """A plain value as a new array, beside Tensors of dtype `strong` if there are any."""

    @abstractmethod
    def strong(self, values: Sequence[Any]) -> tuple[np.dtype[Any] | None, tuple[type, ...]]:
        """The dtype that plain values take beside `values`, and which of these keep their own."""

    def tensor(self, value: Any, argument: str) -> Tensor:
        """`value` as a Tensor. `argument` is what an error calls it."""
        if type(value) is Tensor:
            return value
        read = operand(value)
        return read if isinstance(read, Tensor) else Tensor(self.array(read, argument))

    def tensors(self, values: Sequence[Any], arguments: str | Sequence[str]) -> list[Tensor]:
        """`values` as Tensors; `arguments` names each of them, or the list that they stand in."""
        if all(type(value) is Tensor for value in values):
            return list(values)
        names = (
            [f"{arguments}[{i}]" for i in range(len(values))]
            if isinstance(arguments, str)
            else arguments
        )
        read = [operand(value) for value in values]
        strong, own = self.strong(read)
        return [
            r
            if isinstance(r, Tensor)
            else Tensor(self.array(r, name, None if isinstance(r, own) else strong))
            for r, name in zip(read, names, strict=True)
        ]


class TensorFlowPolicy(Policy):
    """A plain value takes the dtype of the first Tensor beside it, where the kinds allow it."""

    def array(self, value: Any, argument: str, strong: np.dtype[Any] | None = None) -> Any:
        if strong is not None and isinstance(value, (list, tuple)) and _is_empty(value):
            return to_array(value, strong, argument=argument)  # it has no dtype of its own
        return beside(value, strong, argument)

    def strong(self, values: Sequence[Any]) -> tuple[np.dtype[Any] | None, tuple[type, ...]]:
        return next((v.array.dtype for v in values if isinstance(v, Tensor)), None), ()


class NumPyPolicy(Policy):
    """A plain value takes the dtype in which the Tensors beside it meet, where the kinds allow it.

    If there is no Tensor, NumPy's arrays keep their dtypes, and Python's numbers and lists take
    that of the arrays. Arrays of NumPy's that are no tensors, such as masked ones, are refused.
    """

    def array(self, value: Any, argument: str, strong: np.dtype[Any] | None = None) -> Any:
        array = (
            value if isinstance(value, (np.ndarray, np.generic)) else numpy_array(value, argument)
        )
        _check_known(array, argument)
        wanted = strong
        if strong is not None and (array.size or array.dtype == strong):
            wanted = dtypes.promote_weak(strong, array.dtype)
        if wanted is None:
            own = to_array(value, argument=argument)
            is_default = own.dtype == _COMPLEX128 and value is not array
            return own.astype(_COMPLEX64) if is_default else own
        return to_array(value, wanted, argument=argument)

    def strong(self, values: Sequence[Any]) -> tuple[np.dtype[Any] | None, tuple[type, ...]]:
        found = [v.array.dtype for v in values if isinstance(v, Tensor)]
        own: tuple[type, ...] = ()
        if not found:
            own = (np.ndarray, np.generic)
            found = [v.dtype for v in values if isinstance(v, own) and v.dtype in _KNOWN]
        return (common_dtype(found) if found else None), own


TENSORFLOW = TensorFlowPolicy()
NUMPY = NumPyPolicy()


def beside(value: Any, strong: Any, argument: str) -> Any:
    """A plain value as an array that stands beside a Tensor of dtype `strong`."""
    array = to_array(value, argument=argument)
    if strong is None:
        return array
    wanted = dtypes.promote_weak(strong, array.dtype)
    return array if array.dtype == wanted else to_array(value, wanted, argument=argument)


def common_dtype(found: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype in which arguments of these dtypes meet."""
    common = found[0]
    for dtype in found[1:]:
        common = dtypes.promote(common, dtype)
    return common


def first_tensor(x: Any, y: Any) -> Tensor | Any:
    """The first of two operands, as a Tensor if neither is one, so that an op gives a Tensor."""
    if is_tensor_like(x) or is_tensor_like(y):
        return x
    if isinstance(y, np.ndarray) and not isinstance(x, np.ndarray):
        wanted = dtypes.promote_weak(y.dtype, np.asarray(x).dtype)
        return Tensor(to_array(x, wanted, argument="x"))
    return as_tensor(x, argument="x")


def as_indices(value: Any, argument: str) -> Tensor:
    """`value` as a Tensor of integers."""
    indices = TENSORFLOW.tensor(value, argument)
    if indices.array.dtype.kind not in "iu":
        raise invalid_argument(
            f"{argument} must be integers, got dtype {indices.dtype.name}: convert it with "
            "gradtape.cast."
        )
    return indices


def pair_of_floats(x: Any, y: Any) -> tuple[Any, Any] | None:
    """A Tensor of floats and an array of floats beside it, as two Tensors; None for other pairs."""
    if type(y) is np.ndarray and type(x) is Tensor:
        array = _float_beside(y, x)
        return None if array is None else (x, Tensor(array))
    if type(x) is np.ndarray and type(y) is Tensor:
        array = _float_beside(x, y)
        return None if array is None else (Tensor(array), y)
    return None


def _float_beside(array: Any, tensor: Tensor) -> Any:
    """An array in the dtype of the Tensor beside it, copied if a tape may keep it."""
    dtype, strong = array.dtype, tensor.array.dtype
    if dtype is strong and (dtype is _FLOAT32 or dtype is _FLOAT64):
        return array if tensor.node is None and not relying else array.copy()
    if dtype is _FLOAT64 and strong is _FLOAT32:
        return here.state.quietly(array.astype, _FLOAT32)
    return None


def numpy_array(value: Any, argument: str) -> Any:
    """A plain value as NumPy has it."""
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{argument} cannot become a tensor: {no_array(value, error)}") from error


def _is_empty(value: Any) -> bool:
    """Whether a nested list has no element; its rows may have different lengths."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_empty, value))
    return getattr(value, "size", 1) == 0


def _check_known(array: Any, argument: str) -> None:
    """Refuses the arrays of NumPy that are no tensors."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise TypeError(
            f"{argument} is a masked array, which cannot be combined with Tensors: use its "
            "filled() values and gradtape.where."
        )
    if array.dtype.newbyteorder("=") not in _KNOWN:
        raise unknown_dtype(array, argument)
