"""Rows of `gradtape.ops.attention`."""

from __future__ import annotations

import numpy as np

from gradtape.ops import attention as a

from .table import FLOATS, Case, real, sample


def scores(q, k, *bias, scale, is_causal):
    found = scale * np.einsum("bqhd,bkhd->bhqk", q, np.repeat(k, q.shape[2] // k.shape[2], 2))
    if bias:
        found = found + bias[0]
    if is_causal:
        found = np.where(np.tri(*found.shape[2:], dtype=bool), found, -np.inf)
    return found


def weights(*args, **params):
    found = scores(*args, **params)
    if not found.size:
        return found
    found = np.exp(found - found.max(-1, keepdims=True))
    return found / found.sum(-1, keepdims=True)


def attention(q, k, v, *bias, **params):
    values = np.repeat(v, q.shape[2] // v.shape[2], 2)
    return np.einsum("bhqk,bkhd->bqhd", weights(q, k, *bias, **params), values)


def pull(g, q, k, v, *bias, scale, is_causal, by_bias):
    shared = q.shape[2] // k.shape[2]
    keys, values = (np.repeat(x, shared, 2) for x in (k, v))
    found = weights(q, k, *bias, scale=scale, is_causal=is_causal)
    given = np.einsum("bqhd,bkhd->bhqk", g, values)
    moved = found * (given - (found * given).sum(-1, keepdims=True))
    pulled = [
        scale * np.einsum("bhqk,bkhd->bqhd", moved, keys),
        together(scale * np.einsum("bhqk,bqhd->bkhd", moved, q), k.shape),
        together(np.einsum("bhqk,bqhd->bkhd", found, g), v.shape),
    ]
    if by_bias:
        axes = tuple(i for i, size in enumerate(bias[0].shape) if size == 1)
        pulled.append(moved.sum(axes, keepdims=True))
    return pulled


def together(x, shape):
    """The sum of what heads that share a key have."""
    batch, length, heads, depth = shape
    return x.reshape(batch, length, heads, x.shape[2] // heads, depth).sum(3)


def arguments(batch, queries, keys, heads, shared, depth, values, bias=None):
    found = [real(batch, queries, heads, depth)]
    found += [real(batch, keys, shared, depth), real(batch, keys, shared, values)]
    return found if bias is None else [*found, real(*bias)]


SHAPES = [
    (2, 3, 4, 2, 2, 2, 3),
    (1, 4, 3, 4, 2, 1, 2),
    (1, 2, 3, 3, 1, 2, 1, (1, 3, 2, 3)),
    (2, 3, 2, 2, 2, 1, 1, (2, 1, 1, 2)),
    (2, 2, 2, 2, 1, 1, 2, (1, 1, 2, 2)),
    (0, 2, 3, 2, 1, 1, 1),
    (1, 2, 0, 1, 1, 1, 2),
    (1, 0, 2, 1, 1, 2, 1),
]


def cotangent(shape):
    batch, queries, _, heads, _, _, values, *_ = shape
    return real(batch, queries, heads, values)


ROWS = [
    Case(
        a.attention, attention,
        [
            sample(*arguments(*shape), scale=scale, is_causal=is_causal)
            for i, shape in enumerate(SHAPES)
            for scale, is_causal in ([(0.7, False), (1.0, True)] if i < 5 else [(0.5, True)])
        ],
        dtypes=FLOATS,
    ),
    Case(
        a.attention_pull, pull,
        [
            sample(
                cotangent(shape), *arguments(*shape),
                scale=0.7, is_causal=bool(i % 2), by_bias=len(shape) == 8 and i != 4,
            )
            for i, shape in enumerate(SHAPES)
        ],
        dtypes=FLOATS,
    ),
]  # fmt: skip
