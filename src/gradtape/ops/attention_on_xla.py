"""Attention on XLA: as `attention` on NumPy, in a loop over blocks of queries, since XLA would hold
the scores of several blocks if they stood one after the other in the program. On devices that are
no CPU all queries are one block, which XLA knows how to fuse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

BLOCK = 2**21
"""About how many scores are computed at a time."""
_FEW_QUERIES = 16
_LOWEST = -0.7  # times the largest number: the score of a key that a query may not look at


class _Blocks(NamedTuple):
    """How the queries are cut; the last block may reach beyond them."""

    number: int
    length: int
    queries: int


def _blocks(xp: Any, q: Any, k: Any) -> _Blocks:
    batch, queries, heads, _ = q.shape
    length = max(_FEW_QUERIES, BLOCK // (batch * heads * k.shape[1])) if xp.on_cpu else queries
    count = math.ceil(queries / min(length, queries))
    return _Blocks(count, math.ceil(queries / count), queries)


def _cut(xp: Any, x: Any, blocks: _Blocks, axis: int) -> Any:
    """`x` with the blocks in front; what is beyond the queries is zeros."""
    missing = blocks.number * blocks.length - blocks.queries
    padded = xp.pad(x, [(0, missing if i == axis else 0) for i in range(x.ndim)])
    parted = padded.reshape(*x.shape[:axis], blocks.number, blocks.length, *x.shape[axis + 1 :])
    return xp.moveaxis(parted, axis, 0)


def _joined(xp: Any, x: Any, blocks: _Blocks, axis: int) -> Any:
    """The blocks in their places: the transpose of `_cut`."""
    x = xp.moveaxis(x, 0, axis)
    x = x.reshape(*x.shape[:axis], -1, *x.shape[axis + 2 :])
    return xp.lax.slice_in_dim(x, 0, blocks.queries, axis=axis)


def _for_each(xp: Any, blocks: _Blocks, body: Any, carry: Any, rows: tuple[Any, ...]) -> Any:
    """`lax.scan`, but no loop for one block."""
    starts = xp.arange(blocks.number) * blocks.length
    if blocks.number > 1:
        return xp.lax.scan(body, carry, (starts, *rows))
    carry, found = body(carry, (starts[0], *(None if x is None else x[0] for x in rows)))
    return carry, [x[None] for x in found]


def _grouped(x: Any, shared: int) -> Any:
    """Heads of the queries by those of the keys that they share."""
    *front, heads, depth = x.shape
    return x.reshape(*front, shared, heads // shared, depth)


def _ungrouped(x: Any) -> Any:
    return x.reshape(*x.shape[:-3], -1, x.shape[-1])


class _Bias:
    """What is added to the scores, if anything: a part for each block, or one for all."""

    def __init__(self, xp: Any, bias: tuple[Any, ...], blocks: _Blocks, shared: int) -> None:
        self.parts = self.whole = None
        if bias:
            batch, heads, queries, keys = bias[0].shape
            groups = (1, 1) if heads == 1 else (shared, heads // shared)
            found = bias[0].reshape(batch, *groups, queries, keys)
            if queries == 1:
                self.whole = found
            else:
                self.parts = _cut(xp, found, blocks, 3)

    def of(self, part: Any) -> Any:
        return self.whole if part is None else part


def _weights(
    xp: Any, q: Any, k: Any, bias: Any, start: Any, *, scale: float, is_causal: bool
) -> tuple[Any, Any]:
    """The weights of all keys for a block of queries, `(batch, shared, group, queries, keys)`, in
    single precision at least; and which queries may look at no key, None if there cannot be any.
    """
    wide = np.dtype("float64" if q.dtype == np.float64 else "float32")
    scores = xp.einsum("bqhgd,bkhd->bhgqk", q, k, preferred_element_type=wide)
    scores = scores * wide.type(scale)
    low = xp.asarray(_LOWEST * float(np.finfo(wide).max), wide)
    if bias is not None:
        scores = xp.maximum(scores + bias.astype(wide), low)
    if is_causal:
        earlier = xp.arange(k.shape[1]) <= (start + xp.arange(q.shape[1]))[:, None]
        scores = xp.where(earlier, scores, low)
    blind = None if bias is None else scores.max(axis=-1, keepdims=True) <= low
    return xp.nn.softmax(scores, axis=-1), blind


def attention(xp: Any, q: Any, k: Any, v: Any, *bias: Any, scale: float, is_causal: bool) -> Any:
    if 0 in (*q.shape, *k.shape):
        return xp.zeros((*q.shape[:3], v.shape[3]), v.dtype)
    blocks, shared = _blocks(xp, q, k), k.shape[2]
    added = _Bias(xp, bias, blocks, shared)

    def body(_: None, row: Any) -> Any:
        start, queries, part = row
        weights, _ = _weights(
            xp, queries, k, added.of(part), start, scale=scale, is_causal=is_causal
        )
        found = xp.einsum("bhgqk,bkhd->bqhgd", weights.astype(v.dtype), v)
        return None, [_ungrouped(found)]

    rows = _cut(xp, _grouped(q, shared), blocks, 1), added.parts
    _, (out,) = _for_each(xp, blocks, body, None, rows)
    return _joined(xp, out, blocks, 1)


def pull(
    xp: Any,
    g: Any,
    q: Any,
    k: Any,
    v: Any,
    *bias: Any,
    scale: float,
    is_causal: bool,
    by_bias: bool,
) -> list[Any]:
    if 0 in (*q.shape, *k.shape):
        return [xp.zeros(x.shape, x.dtype) for x in (q, k, v, *(bias if by_bias else ()))]
    blocks, shared = _blocks(xp, q, k), k.shape[2]
    added = _Bias(xp, bias, blocks, shared)
    wide = np.dtype("float64" if q.dtype == np.float64 else "float32")

    def body(carry: Any, row: Any) -> Any:
        by_k, by_v, by_whole = carry
        start, queries, cotangents, part = row
        weights, blind = _weights(
            xp, queries, k, added.of(part), start, scale=scale, is_causal=is_causal
        )
        given = xp.einsum("bqhgd,bkhd->bhgqk", cotangents, v, preferred_element_type=wide)
        moved = weights * (given - (weights * given).sum(axis=-1, keepdims=True))
        if blind is not None:
            moved = xp.where(blind, xp.zeros((), wide), moved)
        by_v += xp.einsum(
            "bhgqk,bqhgd->bkhd", weights.astype(v.dtype), cotangents, preferred_element_type=wide
        )
        found = []
        if by_bias and part is not None:
            found.append(_summed(moved, part.shape))
        elif by_bias:
            by_whole += _summed(moved, by_whole.shape)
        moved = (moved * wide.type(scale)).astype(q.dtype)
        by_q = xp.einsum("bhgqk,bkhd->bqhgd", moved, k)
        by_k += xp.einsum("bhgqk,bqhgd->bkhd", moved, queries, preferred_element_type=wide)
        return (by_k, by_v, by_whole), [_ungrouped(by_q), *found]

    by_whole = xp.zeros(added.whole.shape, wide) if by_bias and added.whole is not None else None
    carry = xp.zeros(k.shape, wide), xp.zeros(v.shape, wide), by_whole
    rows = (*(_cut(xp, _grouped(x, shared), blocks, 1) for x in (q, g)), added.parts)
    (by_k, by_v, by_whole), (by_q, *by_parts) = _for_each(xp, blocks, body, carry, rows)
    pulled = [_joined(xp, by_q, blocks, 1), by_k.astype(k.dtype), by_v.astype(v.dtype)]
    if by_bias:
        found = _joined(xp, by_parts[0], blocks, 3) if by_parts else by_whole
        pulled.append(found.reshape(bias[0].shape).astype(bias[0].dtype))
    return pulled


def _summed(x: Any, shape: Sequence[int]) -> Any:
    """`x`, summed over the axes along which `shape` is 1."""
    axes = tuple(i for i, size in enumerate(shape) if size == 1)
    return x.sum(axis=axes, keepdims=True)
