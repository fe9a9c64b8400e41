"""Matrix products on XLA: its own, except for one matrix times many, for which it makes copies on
the CPU; and sums written as products.
"""

from __future__ import annotations

import math
from typing import Any

_NARROW = 16  # columns
_SMALL = 1024  # elements
_MANY = 4096  # elements of a sum
_AT_ONCE = 4096  # rows
_BLOCKS = 16


def matmul(xp: Any, a: Any, b: Any) -> Any:
    """The products of the last two axes.

    One matrix times many is what batches of cotangents meet, as in Jacobians. The transposed
    products take the CPU 0.38 ms for 8 x 64 times 300 of 64 x 30, where XLA's own take 0.98, and
    0.31 for 16 x 128 times 1000 of 128 x 4, where its own take 0.53. From about 64 x 64 on its own
    are as fast.
    """
    if a.ndim == 2 and b.ndim == 3 and _is_slow(xp, a, b):
        return xp.lax.dot_general(b, a, (((1,), (1,)), ((), ()))).mT
    return xp.matmul(a, b)


def _is_slow(xp: Any, a: Any, b: Any) -> bool:
    return (
        (b.shape[-1] < _NARROW or a.size <= _SMALL)
        and a.shape[1] == b.shape[1]
        and a.dtype == b.dtype
        and _is_for_cpu(xp, a)
    )


def _is_for_cpu(xp: Any, a: Any) -> bool:
    return a.dtype.name in ("float32", "float64") and xp.on_cpu


def sum_to_shape(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    """`x` summed over the axes that broadcasting `shape` to its shape had added or stretched.

    The gradient of a bias is a product of ones with all rows, which takes the CPU a fifth to a half
    of the time of XLA's own sum. It adds up one after the other, so that many rows are added up in
    blocks; XLA would compute them again for another shape. Axes of one element in front are no
    part of it: Keras gives the bias of a convolution as many axes as the images have.
    """
    kept = shape[next((i for i, size in enumerate(shape) if size > 1), len(shape)) :]
    if (
        not kept
        or x.shape[-len(kept) :] != kept
        or x.ndim == len(kept)
        or x.size < _MANY
        or not _is_for_cpu(xp, x)
    ):
        return _summed(xp, x, shape)
    rows = x.reshape(-1, math.prod(kept))
    count = len(rows)
    blocks = -(-count // _AT_ONCE)
    if blocks > min(_BLOCKS, rows.shape[1]):  # 16 blocks of 8 columns take twice as long as its own
        return _summed(xp, x, shape)
    if blocks == 1:
        return (xp.ones(count, x.dtype) @ rows).reshape(shape)
    block = xp.arange(blocks + 1)[:, None]
    members = (xp.arange(count) // -(-count // blocks) == block) | (block == blocks)
    sums = members.astype(x.dtype) @ rows
    total = sums[:-1].sum(0)
    # Infinity in one block is NaN in the others, where it is multiplied by zero.
    return xp.where(xp.isfinite(total), total, sums[-1]).reshape(shape)


def _summed(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    """The same by XLA's own sum."""
    added = x.ndim - len(shape)
    stretched = [added + i for i, size in enumerate(shape) if size == 1 != x.shape[added + i]]
    axes = (*range(added), *stretched)
    if not axes:
        return x
    total = xp.add.reduce(x, axis=axes, dtype=x.dtype)
    return xp.reshape(total, shape) if stretched else total
