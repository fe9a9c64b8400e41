"""NumPy's functions that make sequences of numbers: `arange`, `linspace`, `logspace`, `geomspace`,
`vander`; differentiable in their end points.
"""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from gradtape.api.numpy.operands import (
    COMPLEX128,
    FLOAT64,
    INT32,
    axis_of,
    converted,
    dtype_of,
    inexact,
    known_values,
    promoted,
    tensor_of,
    tensors_of,
    values_of,
    widened,
)
from gradtape.api.numpy.shaping import moveaxis
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int
from gradtape.convert import NUMPY, is_tensor_like
from gradtape.core.device import check_device
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping
from gradtape.ops.arithmetic import floor
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.elementary import exp, log, power
from gradtape.ops.reductions import cumprod
from gradtape.ops.selection import where
from gradtape.published import published


@published("numpy.arange", "array_api.arange")
def arange(
    start_or_stop: TensorLike,
    /,
    stop: TensorLike | None = None,
    step: TensorLike = 1,
    *,
    dtype: DTypeLike = None,
    device: Any = None,
    like: Any = None,
) -> Tensor:
    """The numbers from the start (0, if only one is given) up to, not including,
    `stop` in steps of `step`.

    >>> import gradtape as tf
    >>> tf.numpy.arange(3).numpy(), tf.numpy.arange(1.0, 2.0, 0.25).numpy()
    (array([0, 1, 2], dtype=int32), array([1.  , 1.25, 1.5 , 1.75], dtype=float32))
    """
    check_device(device)
    given = [0, start_or_stop, step] if stop is None else [start_or_stop, stop, step]
    names = ["start", "stop", "step"]
    bounds = promoted(tensors_of(given, "arange", names))
    if any(x.array.ndim for x in bounds):
        raise ValueError(
            "arange: start, stop and step must be scalars, got shapes "
            f"{[x.array.shape for x in bounds]}."
        )
    plain = not any(
        is_tensor_like(value) for value in given
    )  # numbers as they are, not rounded to float32
    found = (
        given
        if plain
        else [values_of(x, "arange", name) for x, name in zip(bounds, names, strict=True)]
    )
    first, last, stride = (np.asarray(value).item() for value in found)
    if not stride:
        raise ZeroDivisionError("arange: step must not be 0.")
    count = max(math.ceil((last - first) / stride), 0)
    wanted = dtype_of(dtype, bounds[0].array.dtype)
    if plain or bounds[0].array.dtype.kind in "biu":
        return Tensor((first + stride * np.arange(count)).astype(wanted))
    return converted(bounds[0] + np.arange(count) * bounds[2], wanted)


@overload
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Tensor: ...
@overload
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike = None,
    axis: int = 0,
    device: Any = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any: ...
@published("numpy.linspace", "array_api.linspace")
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers in equal steps from `start` to `stop`, along a new axis; with `retstep`,
    the step as well.

    >>> import gradtape as tf
    >>> tf.numpy.linspace(0.0, 1.0, 5).numpy()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    check_device(device)
    first, last = _ends({"start": start, "stop": stop}, dtype_of(dtype), "linspace")
    count = _count(num, "linspace")
    wanted = dtype_of(dtype, first.array.dtype)
    between = _between(first, last, count, endpoint)
    if wanted.kind in "iu":
        between = floor(between)
    found = _at_axis(converted(between, wanted), axis, "linspace")
    if not retstep:
        return found
    steps = count - 1 if endpoint else count
    return found, (last - first) / steps if steps > 0 else (last - first) * np.nan


def _ends(given: dict[str, Any], dtype: Any, function: str) -> list[Tensor]:
    """The ends, by their names, in one dtype; Python numbers are not rounded to less than the
    `dtype` that is asked for.
    """
    plain = not any(is_tensor_like(end) or hasattr(end, "dtype") for end in given.values())
    if plain and dtype is not None and dtype in (FLOAT64, COMPLEX128):
        return [
            Tensor(NUMPY.array(end, f"{function}: {name}", dtype)) for name, end in given.items()
        ]
    return promoted([inexact(x) for x in tensors_of(list(given.values()), function, list(given))])


def _count(num: Any, function: str) -> int:
    count = as_int(num, f"{function}: num")
    if count < 0:
        raise ValueError(f"{function}: num must not be negative, got {count}.")
    return count


def _fractions(count: int, endpoint: bool, rank: int, dtype: Any) -> Any:
    """How far each of the numbers has gone from the first end to the last,
    in an axis in front of `rank` others.
    """
    steps = np.arange(count) / max(count - 1 if endpoint else count, 1)
    return steps.astype(dtype).reshape(count, *(1,) * rank)


def _between(first: Tensor, last: Tensor, count: int, endpoint: bool) -> Tensor:
    """Numbers in equal steps; the last end itself, where it belongs to them."""
    rank = max(first.array.ndim, last.array.ndim)
    line = first + (last - first) * _fractions(count, endpoint, rank, first.array.dtype)
    return _with_end(line, last, count, endpoint, rank)


def _with_end(line: Tensor, last: Tensor, count: int, endpoint: bool, rank: int) -> Tensor:
    if not endpoint or count < 2:
        return line
    return where(np.arange(count).reshape(count, *(1,) * rank) < count - 1, line, last)


def _at_axis(line: Tensor, axis: int, function: str) -> Tensor:
    """A result whose first axis goes to another place."""
    return line if axis == 0 else moveaxis(line, 0, axis_of(axis, line.array.ndim, function))


@published("numpy.logspace")
def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    base: TensorLike = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Tensor:
    """`base` to the power of `num` numbers in equal steps from `start` to `stop`.

    >>> import gradtape as tf
    >>> tf.numpy.logspace(0.0, 2.0, 3).numpy()
    array([  1.,  10., 100.], dtype=float32)
    """
    given = {"start": start, "stop": stop, "base": base}
    first, last, root = _ends(given, dtype_of(dtype), "logspace")
    missing = max(root.array.ndim - first.array.ndim, 0)
    first = shaping.reshape(first, shape=(1,) * missing + first.array.shape)
    powers = power(root, _between(first, last, _count(num, "logspace"), endpoint))
    return _at_axis(converted(powers, dtype_of(dtype, powers.array.dtype)), axis, "logspace")


@published("numpy.geomspace")
def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Tensor:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    >>> import gradtape as tf
    >>> tf.numpy.geomspace(1.0, 8.0, 4).numpy()
    array([1., 2., 4., 8.], dtype=float32)
    """
    first, last = map(widened, _ends({"start": start, "stop": stop}, dtype_of(dtype), "geomspace"))
    if any((values := known_values(end)) is not None and not values.all() for end in (first, last)):
        raise ValueError("geomspace: start and stop must not be 0.")
    count, rank = _count(num, "geomspace"), max(first.array.ndim, last.array.ndim)
    growth = exp(log(last / first) * _fractions(count, endpoint, rank, first.array.dtype))
    found = _with_end(first * growth, last, count, endpoint, rank)
    return _at_axis(converted(found, dtype_of(dtype, found.array.dtype)), axis, "geomspace")


@published("numpy.vander")
def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of each number of a vector in a row, `N` of them,
    the highest first unless `increasing`.

    >>> import gradtape as tf
    >>> tf.numpy.vander([1, 2, 3], 3).numpy()
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    vector = tensor_of(x, "vander")
    if vector.array.ndim != 1:
        raise ValueError(f"vander: x must be a vector, got shape {vector.shape}.")
    if vector.array.dtype.kind not in "biu":
        vector = widened(vector)
    elif vector.array.dtype.itemsize < 8:
        vector = converted(vector, INT32)
    size = vector.array.size
    columns = size if N is None else _count(N, "vander")
    factors = broadcast_to(shaping.reshape(vector, shape=(size, 1)), shape=(size, columns))
    return cumprod(factors, axis=1, exclusive=True, reverse=not increasing)
