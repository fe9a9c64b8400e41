"""How public functions check their arguments: types for annotations, and the canonical form of
axes, shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from gradtape import dtypes
from gradtape.convert import as_tensor
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.location import caller, locate
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.tensor import is_traced
from gradtape.errors import invalid_argument
from gradtape.shapes import TensorShape


class BecomesTensor(Protocol):
    """What says how to become a tensor, or stands for one in an op, as a RaggedTensor does."""

    def __gradtape_tensor__(self) -> Tensor: ...


TensorLike: TypeAlias = (
    Tensor
    | BecomesTensor
    | Variable
    | IndexedSlices
    | np.ndarray[Any, Any]
    | np.generic
    | bool
    | int
    | float
    | complex
    | str
    | bytes
    | Sequence[Any]
)
"""What a function takes where TensorFlow takes a tensor."""

ShapeLike: TypeAlias = TensorShape | Tensor | Variable | np.ndarray[Any, Any] | int | Sequence[Any]
"""A shape: a list, tuple, TensorShape or 1-d integer tensor; its entries may be scalar tensors."""

DTypeLike: TypeAlias = Any
"""A DType, its name, a NumPy dtype or a Python type."""

AxisLike: TypeAlias = int | Tensor | Variable | np.ndarray[Any, Any] | Sequence[Any] | None


def tensor(value: Any, argument: str = "x") -> Tensor:
    """`value` as a Tensor, for a function of one tensor."""
    return value if type(value) is Tensor else as_tensor(value, argument=argument)


def as_int(value: Any, argument: str) -> int:
    """A Python integer from a number or a scalar integer tensor."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{argument} must be an integer, got {value!r}.")
    if isinstance(value, Tensor):
        known(value, argument, "make it a Python integer")
    try:
        return int(value.__index__())
    except TypeError as error:
        raise TypeError(f"{argument} must be an integer, got {value!r}.") from error


def as_float(value: Any, argument: str) -> float:
    """A Python float from a real number or a scalar tensor."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"{argument} must be a number, got {value!r}.")
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{argument} must be a number, got {value!r}.") from error


def as_list(values: Any, argument: str) -> list[Any]:
    """The entries of a list, a tuple, or a tensor with an axis."""
    if (
        isinstance(values, (str, bytes))
        or not isinstance(values, Iterable)
        or getattr(values, "ndim", 1) == 0
    ):
        raise TypeError(
            f"{argument} must be a list or a tuple, got {values!r} of type {type(values).__name__}."
        )
    return list(values)


def has_axes(value: Any) -> bool:
    """Whether a value is a list or an array, rather than one number;
    of lists of different lengths, too.
    """
    return isinstance(value, (list, tuple)) or np.ndim(getattr(value, "array", value)) > 0


def single(axis: Any, argument: str) -> int:
    """An axis, which may also stand alone in a list."""
    if type(axis) is int:
        return axis
    found = integers(axis, argument)
    if len(found) != 1:
        raise invalid_argument(f"{argument} must be one integer, got {list(found)}.")
    return found[0]


def one_axis(axis: Any, rank: int, argument: str = "axis") -> int:
    """An axis as a number from 0 to rank - 1."""
    index = as_int(axis, argument)
    if not -rank <= index < rank:
        raise invalid_argument(
            f"{argument}={index} is not an axis of a tensor of rank {rank}: use {-rank} to "
            f"{rank - 1}."
        )
    return index % rank


def axes(axis: Any, rank: int, argument: str = "axis") -> tuple[int, ...] | None:
    """The axes to reduce as a tuple of non-negative integers; None means all."""
    if axis is None:
        return None
    if type(axis) is int:
        return (one_axis(axis, rank, argument),)
    values = _integers(axis, argument)
    found = tuple(one_axis(value, rank, argument) for value in values)
    if len(set(found)) < len(found):
        raise invalid_argument(f"{argument}={list(values)} names an axis twice.")
    return found


def as_shape(shape: Any, argument: str = "shape") -> tuple[int, ...]:
    """A shape as a tuple of non-negative integers."""
    sizes = tuple(_integers(shape, argument))
    if any(size < 0 for size in sizes):
        raise invalid_argument(f"{argument}={list(sizes)} has a negative size.")
    return sizes


def integers(values: Any, argument: str) -> tuple[int, ...]:
    """A list of integers, a 1-d integer tensor, or one integer, as a tuple."""
    return tuple(_integers(values, argument))


def _integers(values: Any, argument: str) -> list[int]:
    if isinstance(values, TensorShape):
        return [as_int(v, argument) for v in values]
    if isinstance(values, (Tensor, Variable)):
        values = known(
            values.tensor() if isinstance(values, Variable) else values,
            argument,
            "use Python integers",
        )
    if isinstance(values, (np.ndarray, np.generic)):
        if values.dtype.kind not in "iu" and values.size:
            raise TypeError(f"{argument} must be integers, got dtype {values.dtype}.")
        return [int(v) for v in values.reshape(-1)]
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return [as_int(v, argument) for v in values]
    return [as_int(values, argument)]


def numpy_dtype(dtype: Any, default: Any = None) -> Any:
    """The NumPy dtype of a `dtype` argument, or `default`'s if it is None."""
    return dtypes.as_dtype(default if dtype is None else dtype).numpy


def known(
    x: Tensor,
    argument: str,
    instead: str = "",
    why: str = "the shape of the result depends on it",
) -> Any:
    """The values of a tensor that must be known; where there are none yet, an error that says `why`
    and what to do `instead` of calling the function outside.
    """
    if is_traced(x):
        raise BeyondXlaError(
            f"{argument}, at {locate(*caller())}, must be known while a gradtape.function is "
            f"traced, since {why}: {f'{instead}, or ' if instead else ''}call it outside the "
            "function."
        )
    return np.asarray(x.array)
