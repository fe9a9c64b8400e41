"""NumPy's functions that apply a Python function to parts of an array, such as `vectorize`: each
call is recorded like any other code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import axis_of, converted, dtype_of, tensor_of, tensors_of
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping
from gradtape.ops.broadcasting import broadcast_to
from gradtape.published import published


@published("numpy.vectorize")
def vectorize(
    pyfunc: Callable[..., Any],
    otypes: Any = None,
    doc: str | None = None,
    excluded: Iterable[Any] | None = None,
    cache: bool = False,
    signature: str | None = None,
) -> Callable[..., Any]:
    """A function that applies `pyfunc` to its arguments element by element,
    or to the last axes that `signature` names.

    >>> import gradtape as tf
    >>> larger = tf.numpy.vectorize(lambda x, y: x if x > y else y)
    >>> larger([1.0, 5.0], 3.0).numpy()
    array([3., 5.], dtype=float32)
    """
    apart = frozenset(excluded or ())
    ranks = None if signature is None else _core_ranks(signature)

    def call(*args: Any, **keywords: Any) -> Any:
        mapped = [i for i in range(len(args)) if i not in apart]
        named = [name for name in keywords if name not in apart]
        given = [args[i] for i in mapped] + [keywords[name] for name in named]
        if ranks is not None and len(ranks) != len(given):
            raise TypeError(
                f"vectorize: the signature {signature!r} has {len(ranks)} arguments, but "
                f"{len(given)} were given."
            )

        def on_example(parts: Sequence[Tensor]) -> Any:
            positional = list(args)
            for i, part in zip(mapped, parts, strict=False):
                positional[i] = part
            return pyfunc(
                *positional, **{**keywords, **dict(zip(named, parts[len(mapped) :], strict=True))}
            )

        return _mapped(on_example, given, ranks or [0] * len(given), otypes)

    update_wrapper(call, pyfunc)
    if doc is not None:
        call.__doc__ = doc
    return call


def _core_ranks(signature: str) -> list[int]:
    """How many of the last axes of each argument belong to one call."""
    if not re.fullmatch(r"\s*(\([\w\s,]*\)\s*,?\s*)*->\s*(\([\w\s,]*\)\s*,?\s*)+", signature):
        raise ValueError(
            f"vectorize: signature={signature!r} is not a valid signature: write it as "
            "'(m,n),(n)->(m)'."
        )
    return [
        len(re.findall(r"\w+", axes))
        for axes in re.findall(r"\(([^)]*)\)", signature.partition("->")[0])
    ]


def _mapped(
    function: Callable[[Sequence[Tensor]], Any],
    given: Sequence[Any],
    ranks: Sequence[int],
    otypes: Any,
) -> Any:
    """`function` of every example of the arguments,
    whose leading axes are broadcast against each other.
    """
    tensors = [tensor_of(value, "vectorize", f"argument {i}") for i, value in enumerate(given)]
    leading = [x.array.shape[: x.array.ndim - rank] for x, rank in zip(tensors, ranks, strict=True)]
    shape = np.broadcast_shapes(*leading)
    count = math.prod(shape)
    if not count:
        if otypes is None or any(ranks):
            raise ValueError(
                "vectorize: the arguments are empty, so the dtype of the result is unknown: set "
                "otypes."
            )
        found = [Tensor(np.zeros(shape, dtype_of(t))) for t in otypes]
        return found[0] if len(found) == 1 else tuple(found)
    flat = []
    for x, before in zip(tensors, leading, strict=True):
        core = x.array.shape[len(before) :]
        flat.append(shaping.reshape(broadcast_to(x, shape=(*shape, *core)), shape=(count, *core)))
    rows = [function([shaping.getitem(x, key=(k,)) for x in flat]) for k in range(count)]
    several = isinstance(rows[0], tuple)
    columns = list(zip(*rows, strict=True)) if several else [rows]
    results = [_gathered(column, shape) for column in columns]
    if otypes is not None:
        results = [
            converted(x, dtype_of(t, x.array.dtype)) for x, t in zip(results, otypes, strict=True)
        ]
    return tuple(results) if several else results[0]


def _gathered(column: Sequence[Any], shape: tuple[int, ...]) -> Tensor:
    """The results of all examples in one tensor, with the axes of the examples first."""
    stacked = shaping.stack(*tensors_of(column, "vectorize", "results"), axis=0)
    return shaping.reshape(stacked, shape=(*shape, *stacked.array.shape[1:]))


@published("numpy.apply_along_axis")
def apply_along_axis(
    func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any
) -> Tensor:
    """`func1d` of every slice along `axis`; the axes of its results take the place of that axis.

    >>> import gradtape as tf
    >>> tf.numpy.apply_along_axis(lambda row: row[0] * row[1], 1, [[1.0, 2.0], [3.0, 4.0]]).numpy()
    array([ 2., 12.], dtype=float32)
    """
    if not callable(func1d):
        raise TypeError(f"apply_along_axis: func1d must be a function, got {func1d!r}.")
    x = tensor_of(arr, "apply_along_axis", "arr")
    along = axis_of(axis, x.array.ndim, "apply_along_axis")
    others = [i for i in range(x.array.ndim) if i != along]
    last = shaping.transpose(x, perm=(*others, along))
    if not math.prod(last.array.shape[:-1]):
        raise ValueError(
            "apply_along_axis: arr has no slices along this axis, so the shape of the result is "
            "unknown: give an array that is not empty."
        )
    found = _mapped(lambda parts: func1d(parts[0], *args, **kwargs), [last], [1], None)
    if isinstance(found, tuple):
        raise TypeError("apply_along_axis: func1d must return one tensor, got a tuple.")
    before, core = range(along), range(len(others), found.array.ndim)
    return shaping.transpose(found, perm=(*before, *core, *range(along, len(others))))


@published("numpy.apply_over_axes")
def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Any) -> Tensor:
    """`func(a, axis)` for one axis after another, each on the result of the last,
    whose number of axes stays the same.

    >>> import gradtape as tf
    >>> tf.numpy.apply_over_axes(tf.reduce_sum, [[1.0, 2.0], [3.0, 4.0]], [0, 1]).numpy()
    array([[10.]], dtype=float32)
    """
    if not callable(func):
        raise TypeError(f"apply_over_axes: func must be a function, got {func!r}.")
    x = tensor_of(a, "apply_over_axes", "a")
    rank = x.array.ndim
    for axis in axes if isinstance(axes, (list, tuple, np.ndarray)) else [axes]:
        along = axis_of(axis, rank, "apply_over_axes", "axes")
        found = tensor_of(func(x, along), "apply_over_axes", "the result of func")
        if found.array.ndim == rank - 1:
            shape = found.array.shape
            found = shaping.reshape(found, shape=(*shape[:along], 1, *shape[along:]))
        if found.array.ndim != rank:
            raise ValueError(
                f"apply_over_axes: func returned a tensor of rank {found.array.ndim} for one of "
                f"rank {rank}."
            )
        x = found
    return x
