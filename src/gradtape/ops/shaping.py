"""Ops that move elements without computing: reshape, transpose, join, split, slice, repeat,
pad, reverse, roll.

All are linear, and the transpose of each is another one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.core.needed_ops import needed
from gradtape.ops import jets
from gradtape.ops.batching import as_it_is, shifted, with_params
from gradtape.ops.broadcasting import sum_to_shape
from gradtape.ops.declare import op
from gradtape.ops.rows import moving

Shape = tuple[int, ...]


def _place(xp: Any, x: Any, *, key: Any, shape: Shape) -> Any:
    """Zeros of `shape` with `x` at a key of slices, integers, new axes and ellipses,
    which name no element twice.
    """
    out = np.zeros(shape, x.dtype)
    out[key] = x
    return out


def _getitem_on_xla(xp: Any, x: Any, *, key: tuple[Any, ...]) -> Any:
    """JAX would take the last element for an index that is out of range; NumPy refuses it."""
    axis = 0
    for part in key:
        if part is Ellipsis:
            axis += x.ndim - sum(one is not None and one is not Ellipsis for one in key)
        elif part is not None:
            if axis == x.ndim:
                break  # there are too many, as JAX says
            if isinstance(part, int) and not -x.shape[axis] <= part < x.shape[axis]:
                raise IndexError(
                    f"index {part} is out of bounds for axis {axis} with size {x.shape[axis]}"
                )
            axis += 1
    return x[key]


def _place_on_xla(xp: Any, x: Any, *, key: Any, shape: Shape) -> Any:
    """By padding, also between elements: XLA computes that together with what it is added to,
    and a scatter by itself.
    """
    parts = [part for part in key if part is not None]
    if Ellipsis in parts:
        place = parts.index(Ellipsis)
        parts[place : place + 1] = _all(len(shape) - len(parts) + 1)
    counts, config, backward = [], [], []
    parts += _all(len(shape) - len(parts))
    for axis, (size, part) in enumerate(zip(shape, parts, strict=True)):
        taken = (
            range(size)[part] if isinstance(part, slice) else range(size)[part : part + 1 or None]
        )
        if taken.step < 0:
            taken = taken[::-1]
            backward.append(axis)
        counts.append(len(taken))
        config.append((taken[0], size - 1 - taken[-1], taken.step - 1) if taken else (0, size, 0))
    return xp.lax.pad(xp.flip(x.reshape(counts), backward), xp.zeros((), x.dtype), config)


def _concat_pull(g: Any, wanted: Sequence[Any], shapes: Sequence[Shape], axis: int) -> list[Any]:
    pulled, start = [], 0
    for shape, parent in zip(shapes, wanted, strict=True):
        stop = start + shape[axis]
        pulled.append(
            None
            if parent is None
            else getitem(g, key=(*_all(axis % len(shape)), slice(start, stop)))
        )
        start = stop
    return pulled


def _stack_pull(g: Any, wanted: Sequence[Any], axis: int) -> list[Any]:
    return [
        None if parent is None else getitem(g, key=(*_all(axis % g.ndim), i))
        for i, parent in enumerate(wanted)
    ]


def _all(count: int) -> tuple[slice, ...]:
    return (slice(None),) * count


def _split(xp: Any, x: Any, *, sizes: Sequence[int], axis: int) -> list[Any]:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(x[(*_all(axis), slice(start, start + size))])
        start += size
    return pieces


def _tile_pull(g: Any, x_shape: Shape, multiples: Shape) -> Any:
    """The copies of each axis side by side as an axis of their own, and summed over."""
    pairs = tuple([n for pair in zip(multiples, x_shape, strict=True) for n in pair])
    ones = tuple([n for size in x_shape for n in (1, size)])
    return reshape(sum_to_shape(reshape(g, shape=pairs), shape=ones), shape=x_shape)


def _pad(xp: Any, x: Any, *, paddings: Sequence[tuple[int, int]], value: Any = 0) -> Any:
    """What numpy.pad does, without the 30 µs that it takes for a small array."""
    out = np.full(
        [low + size + high for (low, high), size in zip(paddings, x.shape, strict=True)],
        value,
        x.dtype,
    )
    out[_inside(paddings, x.shape)] = x
    return out


def _pad_on_xla(xp: Any, x: Any, *, paddings: Sequence[tuple[int, int]], value: Any = 0) -> Any:
    return xp.lax.pad(
        x, xp.asarray(value, dtype=x.dtype), [(low, high, 0) for low, high in paddings]
    )


def _inside(paddings: Sequence[tuple[int, int]], shape: Shape) -> tuple[slice, ...]:
    return tuple([slice(low, low + size) for (low, _), size in zip(paddings, shape, strict=True)])


def _pad_pull(g: Any, x_shape: Shape, paddings: Sequence[tuple[int, int]]) -> Any:
    return getitem(g, key=_inside(paddings, x_shape))


def _concat_partials(step: jets.JetCall, parts: list[Any]) -> Any:
    like = next(part for part in parts if part is not None)
    shapes = step.saved("shapes")
    filled = [
        jets.zeros(shape, like) if part is None else part
        for part, shape in zip(parts, shapes, strict=True)
    ]
    return concat(*filled, **step.params)


def _stack_partials(step: jets.JetCall, parts: list[Any]) -> Any:
    like = next(part for part in parts if part is not None)
    return stack(
        *[jets.zeros(like.array.shape, like) if part is None else part for part in parts],
        **step.params,
    )


def _rows_reshaped(rows: Any, shape: Shape) -> Any:
    return rows.reshape(len(rows), *shape)


def _rows_turned_back(rows: Any, perm: Shape) -> Any:
    return rows.transpose(0, *[1 + perm.index(i) for i in range(len(perm))])


def _rows_taken(rows: Any, key: Any) -> Any:
    return rows[(slice(None), *key)]


def _rows_placed(rows: Any, key: Any, shape: Shape) -> Any:
    """Zeros with the rows at a key of each."""
    out = np.zeros((len(rows), *shape), rows.dtype)
    out[(slice(None), *key)] = rows
    return out


reshape = op(
    "reshape",
    lambda xp, x, *, shape: x.reshape(shape),
    [lambda g, x_shape: reshape(g, shape=x_shape)],
    linear=True,
    moves=True,
    batch=with_params(lambda size, _, shape: {"shape": (size, *shape)}),
    plain=True,
    rows=moving(
        lambda rows, x_shape: rows.reshape(len(rows), *x_shape), _rows_reshaped, in_order=True
    ),
)
transpose = op(
    "transpose",
    lambda xp, x, *, perm: xp.transpose(x, perm),
    [lambda g, perm: transpose(g, perm=tuple([perm.index(i) for i in range(len(perm))]))],
    linear=True,
    moves=True,
    batch=with_params(lambda size, _, perm: {"perm": (0, *[axis + 1 for axis in perm])}),
    plain=True,
    input_shape=lambda out, perm: tuple([out[perm.index(axis)] for axis in range(len(out))]),
    rows=moving(
        _rows_turned_back, lambda rows, perm: rows.transpose(0, *[axis + 1 for axis in perm])
    ),
)
matrix_transpose = op(
    "matrix_transpose",
    lambda xp, x: xp.swapaxes(x, -1, -2),
    [lambda g: matrix_transpose(g)],
    linear=True,
    moves=True,
    batch=as_it_is,
    plain=True,
    input_shape=lambda out: (*out[:-2], out[-1], out[-2]),
    rows=moving(lambda rows: rows.swapaxes(-1, -2), lambda rows: rows.swapaxes(-1, -2)),
)
getitem = op(
    "getitem",
    lambda xp, x, *, key: x[key],
    [lambda g, x_shape, key, x_shows: place(g, key=key, shape=x_shape)],
    linear=True,
    moves=True,
    xla=_getitem_on_xla,
    batch=with_params(lambda size, _, key: {"key": (slice(None), *key)}),
    plain=lambda saved: saved[0][2],
    rows=moving(lambda rows, x_shape, key, x_shows: _rows_placed(rows, key, x_shape), _rows_taken),
)
place = op(
    "place",
    _place,
    [lambda g, key: getitem(g, key=key)],
    linear=True,
    moves=True,
    xla=_place_on_xla,
    batch=with_params(
        lambda size, _, key, shape: {"key": (slice(None), *key), "shape": (size, *shape)}
    ),
    plain=True,
    rows=moving(_rows_taken, _rows_placed),
)
concat = op(
    "concat",
    lambda xp, *arrays, axis: xp.concatenate(arrays, axis=axis),
    pull_all=_concat_pull,
    arguments=(),
    linear=True,
    moves=True,
    batch=shifted("axis", every=True),
    plain=True,
    jet=jets.of_many(_concat_partials),
)
stack = op(
    "stack",
    lambda xp, *arrays, axis: xp.stack(arrays, axis=axis),
    pull_all=_stack_pull,
    arguments=(),
    linear=True,
    moves=True,
    batch=shifted("axis", every=True),
    plain=True,
    jet=jets.of_many(_stack_partials),
)
unstack = op(
    "unstack",
    lambda xp, x, *, axis: [x[(*_all(axis), i)] for i in range(x.shape[axis])],
    pull_all=lambda g, wanted, axis: [stack(*g, axis=axis)],
    several=True,
    linear=True,
    moves=True,
    batch=shifted("axis"),
    plain=True,
)
split = op(
    "split",
    _split,
    pull_all=lambda g, wanted, axis: [concat(*g, axis=axis)],
    several=True,
    linear=True,
    moves=True,
    batch=shifted("axis"),
    plain=True,
)
tile = op(
    "tile",
    lambda xp, x, *, multiples: xp.tile(x, multiples),
    [_tile_pull],
    linear=True,
    moves=True,
    batch=with_params(lambda size, _, multiples: {"multiples": (1, *multiples)}),
)
pad = op(
    "pad",
    _pad,
    [_pad_pull],
    moves=True,
    xla=_pad_on_xla,
    batch=with_params(
        lambda size, _, paddings, value: {"paddings": ((0, 0), *paddings), "value": value}
    ),
    jet=lambda step: jets.through(step, lambda moved: pad(moved, paddings=step.params["paddings"])),
)
reverse = op(
    "reverse",
    lambda xp, x, *, axis: xp.flip(x, axis),
    [lambda g, axis: reverse(g, axis=axis)],
    linear=True,
    moves=True,
    batch=shifted("axis"),
    plain=True,
    input_shape=jets.same_shape,
)
roll = op(
    "roll",
    lambda xp, x, *, shift, axis: xp.roll(x, shift, axis),
    [lambda g, shift, axis: roll(g, shift=tuple([-steps for steps in shift]), axis=axis)],
    linear=True,
    moves=True,
    batch=shifted("axis"),
    plain=True,
    input_shape=jets.same_shape,
)

needed.reshape = reshape
needed.getitem = getitem
needed.matrix_transpose = matrix_transpose
needed.stack = stack
needed.concatenate_rows = lambda first, second: concat(first, second, axis=0)
