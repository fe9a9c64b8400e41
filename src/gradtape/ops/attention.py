"""Attention of many heads, computed in blocks of queries, so that the scores of all queries are
never held at once; its pull computes those of each block again.

Queries are `(batch, queries, heads, depth)`, keys and values `(batch, keys, shared heads, depth)`:
as many heads of the queries share one of the keys as there are more of them. A bias, which is added
to the scores, has four axes, each as long as `(batch, heads, queries, keys)` has it, or 1.

Derivatives of the pull hold all scores: they are written in ops on whole matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.core.tensor import Tensor
from gradtape.ops import attention_on_xla
from gradtape.ops.activations import softmax
from gradtape.ops.arithmetic import greater
from gradtape.ops.batching import every_mapped
from gradtape.ops.broadcasting import broadcast_to, sum_to_shape
from gradtape.ops.declare import op
from gradtape.ops.matrix import matmul
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.selection import keep, where
from gradtape.ops.shaping import reshape, transpose
from gradtape.ops.solvers import dtype_of

if TYPE_CHECKING:
    from gradtape.ops.op import Op

BLOCK = 2**18
"""About how many scores NumPy computes at a time."""
_FEW_QUERIES = 16
"""A block has at least so many, since products of few rows are slow."""


def lowest(dtype: Any) -> float:
    """The least score: that of a key which a query may not look at. Where it may look at none, all
    keys count alike, whatever the query.
    """
    return -0.7 * float(dtypes.as_dtype(dtype).max)


# On NumPy


class _Block(NamedTuple):
    """Queries whose scores are computed together, for some heads of the keys."""

    batch: int
    heads: slice  # of the keys
    queries: slice
    keys: slice  # all that one of the queries may look at


def _by_head(x: Any, shared: int) -> Any:
    """`(batch, length, heads, depth)` as `(batch, shared, heads of each, length, depth)`."""
    batch, length, heads, depth = x.shape
    return x.reshape(batch, length, shared, heads // shared, depth).transpose(0, 2, 3, 1, 4)


def _blocks(q: Any, k: Any, *, only_earlier: bool) -> Iterator[_Block]:
    """All blocks; `only_earlier` leaves out keys that are later than all queries of a block."""
    batch, queries, heads, _ = q.shape
    _, keys, shared, _ = k.shape
    row = heads // shared * keys
    count = min(queries, max(_FEW_QUERIES, BLOCK // row))
    together = max(1, BLOCK // (row * count))
    for i in range(batch):
        for head in range(0, shared, together):
            for start in range(0, queries, count):
                end = min(start + count, queries)
                seen = min(keys, end) if only_earlier else keys
                yield _Block(i, slice(head, head + together), slice(start, end), slice(0, seen))


class _Scores:
    """The scores of one block after the other, from the arguments of `attention`."""

    def __init__(self, q: Any, k: Any, v: Any, *bias: Any, scale: float, is_causal: bool) -> None:
        shared = k.shape[2]
        self.queries, self.keys, self.values = (_by_head(x, shared) for x in (q, k, v))
        self.bias = bias[0].reshape(*_split(bias[0].shape, shared)) if bias else None
        self.scale, self.is_causal = scale, is_causal
        # With a bias, a query may have no key that it may look at, and then looks at all of them.
        self.blocks = list(_blocks(q, k, only_earlier=is_causal and self.bias is None))

    def rows(self, x: Any, block: _Block) -> Any:
        """The rows of a block, of something that has one for each query: those of heads that share
        their keys below each other.
        """
        part = x[block.batch, block.heads, :, block.queries]
        return part.reshape(part.shape[0], -1, part.shape[-1])

    def weights(self, block: _Block) -> tuple[Any, Any, Any]:
        """The exponentials of the scores, their sums, and which queries may look at no key: None if
        there cannot be any.
        """
        keys = self.keys[block.batch, block.heads, 0, block.keys]
        scores = np.matmul(self.rows(self.queries, block), keys.swapaxes(-1, -2))
        scores *= scores.dtype.type(self.scale)
        apart = self.apart(scores, block)
        low = lowest(scores.dtype)
        if self.bias is not None:
            apart += _part(self.bias, block)
            np.maximum(scores, low, out=scores)
        if self.is_causal:
            first, end = block.queries.start, block.keys.stop
            later = np.arange(first, end) > np.arange(first, block.queries.stop)[:, None]
            np.copyto(apart[..., first:], low, where=later)
        top = scores.max(axis=-1, keepdims=True)
        scores -= top
        np.exp(scores, out=scores)
        blind = None if self.bias is None else top <= low
        return scores, scores.sum(axis=-1, keepdims=True), blind

    def apart(self, scores: Any, block: _Block) -> Any:
        """Scores of a block, those of each head of the queries for themselves."""
        queries = block.queries.stop - block.queries.start
        return scores.reshape(scores.shape[0], -1, queries, scores.shape[-1])


def _split(shape: Sequence[int], shared: int) -> tuple[int, ...]:
    """The shape of a bias, with the heads of the queries by those that share them."""
    batch, heads, queries, keys = shape
    groups = (1, 1) if heads == 1 else (shared, heads // shared)
    return (batch, *groups, queries, keys)


def _part(bias: Any, block: _Block) -> Any:
    """What a block has of a bias: a view."""
    batch, heads, _, queries, keys = bias.shape
    return bias[
        block.batch if batch > 1 else 0,
        block.heads if heads > 1 else slice(None),
        :,
        block.queries if queries > 1 else slice(None),
        block.keys if keys > 1 else slice(None),
    ]


def _work(q: Any, k: Any, *_: Any, **params: Any) -> int:
    """About how many multiplications the scores take."""
    return q.size * k.shape[1]


def _attention(xp: Any, *arrays: Any, scale: float, is_causal: bool) -> Any:
    q, k, v, *_ = arrays
    out = np.zeros((*q.shape[:3], v.shape[3]), v.dtype)
    if not q.size or not k.shape[1]:
        return out
    scores = _Scores(*arrays, scale=scale, is_causal=is_causal)
    places = _by_head(out, k.shape[2])
    for block in scores.blocks:
        weights, total, _ = scores.weights(block)
        values = scores.values[block.batch, block.heads, 0, block.keys]
        found = np.matmul(weights, values)
        found /= total
        places[block.batch, block.heads, :, block.queries] = scores.apart(found, block)
    return out


def _pull(xp: Any, *arguments: Any, scale: float, is_causal: bool, by_bias: bool) -> list[Any]:
    g, *arrays = arguments
    q, k, v, *bias = arrays
    pulled = [np.zeros(x.shape, x.dtype) for x in (q, k, v, *(bias if by_bias else ()))]
    if not q.size or not k.shape[1]:
        return pulled
    scores = _Scores(*arrays, scale=scale, is_causal=is_causal)
    shared = k.shape[2]
    by_q, by_k, by_v = (_by_head(x, shared) for x in pulled[:3])
    by_scores = pulled[3].reshape(_split(bias[0].shape, shared)) if by_bias else None
    cotangents = _by_head(g, shared)
    for block in scores.blocks:
        weights, total, blind = scores.weights(block)
        weights /= total
        batch, heads, _, keys = block
        given = scores.rows(cotangents, block)
        by_v[batch, heads, 0, keys] += np.matmul(weights.swapaxes(-1, -2), given)
        moved = np.matmul(given, scores.values[batch, heads, 0, keys].swapaxes(-1, -2))
        moved -= np.einsum("hrk,hrk->hr", weights, moved)[..., None]
        moved *= weights
        if blind is not None and blind.any():
            np.copyto(moved, 0, where=blind)
        if by_scores is not None:
            place = _part(by_scores, block)
            apart = scores.apart(moved, block)
            place += _summed(apart, place.shape)
        moved *= moved.dtype.type(scale)
        found = np.matmul(moved, scores.keys[batch, heads, 0, keys])
        by_q[batch, heads, :, block.queries] = scores.apart(found, block)
        queries = scores.rows(scores.queries, block)
        by_k[batch, heads, 0, keys] += np.matmul(moved.swapaxes(-1, -2), queries)
    return pulled


def _summed(x: Any, shape: Sequence[int]) -> Any:
    """`x`, summed over the axes along which `shape` is 1."""
    axes = tuple(i for i, size in enumerate(shape) if size == 1 and x.shape[i] != 1)
    return x.sum(axis=axes, keepdims=True) if axes else x


# On whole matrices, in ops


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a Tensor or an array, also where TensorFlow has an object of its own for it."""
    return (x.array if isinstance(x, Tensor) else x).shape


class _Whole:
    """The arguments as matrices for each head, and the weights of all keys for all queries."""

    def __init__(self, q: Any, k: Any, v: Any, *bias: Any, scale: float, is_causal: bool) -> None:
        self.shared = shape_of(k)[2]
        self.q, self.k, self.v = (self.by_head(x) for x in (q, k, v))
        scores = matmul(self.q, self.k.mT) * scale
        low = np.asarray(lowest(dtype_of(q)), dtype_of(q))
        if bias:
            scores = scores + self.bias_by_head(bias[0])
        if is_causal:
            earlier = np.tri(shape_of(q)[1], shape_of(k)[1], dtype=bool)
            scores = where(earlier, scores, low)
        self._seen = greater(scores, low) if bias else None
        if bias:
            scores = where(self._seen, scores, low)
        self.weights = softmax(scores, axis=-1)

    def by_head(self, x: Any) -> Any:
        batch, length, heads, depth = shape_of(x)
        parted = (batch, length, self.shared, heads // self.shared, depth)
        return transpose(reshape(x, shape=parted), perm=(0, 2, 3, 1, 4))

    def bias_by_head(self, bias: Any) -> Any:
        return reshape(bias, shape=_split(shape_of(bias), self.shared))

    def like(self, argument: Any, x: Any) -> Any:
        """A cotangent by head as that of an argument, whose heads may be shared."""
        shape = batch, length, heads, depth = shape_of(argument)
        parted = (batch, self.shared, heads // self.shared, length, depth)
        return reshape(transpose(sum_to_shape(x, shape=parted), perm=(0, 3, 1, 2, 4)), shape=shape)

    def like_bias(self, bias: Any, x: Any) -> Any:
        shape = shape_of(bias)
        return reshape(sum_to_shape(x, shape=_split(shape, self.shared)), shape=shape)

    def mean(self, x: Any) -> Any:
        return reduce_sum(self.weights * x, axis=(-1,), keepdims=True)

    def through_softmax(self, x: Any) -> Any:
        """What the Jacobian of softmax, which is symmetric, makes of a cotangent."""
        return self.weights * (x - self.mean(x))

    def seen(self, x: Any) -> Any:
        """A cotangent of the scores: zero where they are the least one, whatever the arguments."""
        return x if self._seen is None else keep(x, self._seen)


def _pull_of_pull(
    g: Sequence[Any],
    wanted: Sequence[Any],
    args: Sequence[Any],
    scale: float,
    is_causal: bool,
    by_bias: bool,
) -> list[Any]:
    """The derivative of the pull.

    That is, for each head with weights A and a cotangent c, where M = A ∘ (c vᵀ - mean(c vᵀ)):
    scale M k by q, scale Mᵀ q by k, Aᵀ c by v, and M by the bias.
    """
    cotangent, *arguments = args
    all_of = _Whole(*arguments, scale=scale, is_causal=is_causal)
    q, k, v, weights = all_of.q, all_of.k, all_of.v, all_of.weights
    c = all_of.by_head(cotangent)
    g_q, g_k, g_v = (all_of.by_head(x) for x in g[:3])
    given = matmul(c, v.mT)
    moved = all_of.seen(all_of.through_softmax(given))
    g_moved = (matmul(g_q, k.mT) + matmul(q, g_k.mT)) * scale
    if by_bias:
        g_moved = g_moved + all_of.bias_by_head(g[3])
    g_moved = all_of.seen(g_moved)
    g_given = all_of.through_softmax(g_moved)
    g_weights = g_moved * (given - all_of.mean(given)) - given * all_of.mean(g_moved)
    g_scores = all_of.seen(all_of.through_softmax(matmul(c, g_v.mT) + g_weights))
    pulled = [
        all_of.like(cotangent, matmul(g_given, v) + matmul(weights, g_v)),
        all_of.like(arguments[0], (matmul(g_scores, k) + matmul(moved, g_k)) * scale),
        all_of.like(arguments[1], (matmul(g_scores.mT, q) + matmul(moved.mT, g_q)) * scale),
        all_of.like(arguments[2], matmul(g_given.mT, c)),
    ]
    return [*pulled, *(all_of.like_bias(bias, g_scores) for bias in arguments[3:])]


def _by_arguments(
    g: Any, wanted: Sequence[Any], args: Sequence[Any], scale: float, is_causal: bool
) -> list[Any]:
    by_bias = len(args) == 4 and wanted[3] is not None
    pulled = attention_pull(g, *args, scale=scale, is_causal=is_causal, by_bias=by_bias)
    return [*pulled, *[None] * (len(args) - len(pulled))]


# Batches of batches, which are larger batches


def _joined(size: int, args: Sequence[Any], mapped: Sequence[bool]) -> Iterator[Any]:
    """Each argument with one leading axis for both; that of a bias may have been 1."""
    args = every_mapped(size, args, mapped)
    batch = args[0].array.shape[1]
    for arg in args:
        shape = arg.array.shape[2:]
        yield reshape(broadcast_to(arg, shape=(size, batch, *shape)), shape=(size * batch, *shape))


def _batched(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> Any:
    out = op.call(*_joined(size, args, mapped), **params)
    batch = args[0].array.shape[mapped[0]]
    return reshape(out, shape=(size, batch, *out.array.shape[1:]))


def _batched_pull(
    op: Op, size: int, args: Sequence[Any], mapped: Sequence[bool], params: dict[str, Any]
) -> list[Any]:
    pulled = op.call(*_joined(size, args, mapped), **params)
    shapes = [arg.array.shape[m:] for arg, m in zip(args[1:], mapped[1:], strict=True)]
    batch = shapes[0][0]
    return [
        sum_to_shape(reshape(x, shape=(size, batch, *shape[1:])), shape=(size, *shape))
        for x, shape in zip(pulled, shapes, strict=False)
    ]


attention = op(
    "attention",
    _attention,
    pull_all=_by_arguments,
    batch=_batched,
    kinds="fV",
    work=_work,
    xla=attention_on_xla.attention,
    native=True,
)
attention_pull = op(
    "attention_pull",
    _pull,
    pull_all=_pull_of_pull,
    several=True,
    batch=_batched_pull,
    kinds="fV",
    work=lambda g, q, k, *rest, **params: 3 * _work(q, k),
    xla=attention_on_xla.pull,
    native=True,
)
