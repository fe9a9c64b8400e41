"""Attention of `tf.nn`, under a name of gradtape's own."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, boolean, of_kind
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.convert import TENSORFLOW
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import attention as ops
from gradtape.ops.activations import softmax
from gradtape.ops.broadcasting import cast
from gradtape.ops.computing import HALF
from gradtape.ops.elementary import tanh
from gradtape.ops.matrix import einsum
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape
from gradtape.published import published

LARGE = 2**23
"""From so many scores on they are computed in blocks."""

_NAME = "dot_product_attention"


@published("nn.dot_product_attention")
def dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    bias: TensorLike | None = None,
    mask: TensorLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    soft_cap: float | None = None,
    in_blocks: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """The mean of the values, weighted by how well each query fits their keys: for each head,
    `softmax(scale * query @ key + bias) @ value`.

    `query` is `(batch, queries, heads, depth)`. `key` and `value` are `(batch, keys, heads, depth)`
    and may have fewer heads, each of them for several of the queries'. `bias` and `mask` broadcast
    to `(batch, heads, queries, keys)`. A query looks at keys where `mask` is True, and with
    `is_causal` at none after its own place; if there is none at all, at all of them alike. `scale`
    is one by the square root of the depth if it is not given. `soft_cap` keeps the scores within
    its negative and itself, by tanh.

    Where there are many scores, or `in_blocks` says so, they are computed for a block of queries at
    a time, and again for the gradient: memory grows with the length and not with its square.

    >>> import gradtape as tf
    >>> x = tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])[None, :, None]
    >>> tf.nn.dot_product_attention(x, x, x, is_causal=True)[0, :, 0].numpy().round(2)
    array([[1.  , 0.  ],
           [0.33, 0.67],
           [0.75, 0.75]], dtype=float32)
    """
    q, k, v = _alike(query, key, value)
    _check_shapes(q, k, v)
    scale = 1 / math.sqrt(max(q.array.shape[3], 1)) if scale is None else float(scale)
    full = (*q.array.shape[:1], q.array.shape[2], q.array.shape[1], k.array.shape[1])
    added = allowed = None
    if bias is not None:
        added = _of_four_axes(of_kind(bias, FLOATING, _NAME, "bias"), full, "bias")
    if mask is not None:
        allowed = _of_four_axes(boolean(mask, _NAME, "mask"), full, "mask")
    if in_blocks and soft_cap is not None:
        raise invalid_argument(
            f"{_NAME}: scores with a `soft_cap` cannot be computed in blocks: leave out one of "
            "`soft_cap` and `in_blocks`."
        )
    if in_blocks is None:
        in_blocks = soft_cap is None and math.prod(full) >= LARGE
    if in_blocks:
        return _in_blocks(q, k, v, added, allowed, scale, is_causal)
    return _at_once(q, k, v, added, allowed, scale, is_causal, soft_cap)


def _alike(*values: Any) -> list[Any]:
    """Floating-point Tensors in one dtype; a plain value takes that of a Tensor beside it."""
    names = ("query", "key", "value")
    found = TENSORFLOW.tensors(list(values), [f"{_NAME}: {name}" for name in names])
    for x, name in zip(found, names, strict=True):
        of_kind(x, FLOATING, _NAME, name)
    common = functools.reduce(dtypes.promote, [x.array.dtype for x in found])
    return [_cast(x, common) for x in found]


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    shapes = [tuple(x.array.shape) for x in (q, k, v)]
    said = ", ".join(
        f"{what} {list(shape)}"
        for what, shape in zip(("query", "key", "value"), shapes, strict=True)
    )
    if any(len(shape) != 4 for shape in shapes):
        raise invalid_argument(
            f"{_NAME}: query, key and value must have four axes, (batch, length, heads, depth); "
            f"got {said}: add the axes that are missing, with length 1."
        )
    (batch, _, heads, depth), by_key, by_value = shapes
    if by_key[:3] != by_value[:3] or by_key[0] != batch or by_key[3] != depth:
        raise invalid_argument(
            f"{_NAME}: all must have the same batch, key and value the same length and heads, and "
            f"query and key the same depth; got {said}."
        )
    if not by_key[2] or heads % by_key[2]:
        raise invalid_argument(
            f"{_NAME}: the {heads} heads of query must be a multiple of the {by_key[2]} heads of "
            f"key and value; got {said}."
        )


def _of_four_axes(x: Tensor, full: tuple[int, ...], what: str) -> Tensor:
    """Something that broadcasts to the scores, with as many axes as they have."""
    shape = tuple(x.array.shape)
    padded = (*(1,) * (4 - len(shape)), *shape)
    if len(shape) > 4 or any(n not in (1, m) for n, m in zip(padded, full, strict=True)):
        raise invalid_argument(
            f"{_NAME}: {what} must broadcast to (batch, heads, queries, keys), here {list(full)}; "
            f"got {list(shape)}."
        )
    return x if padded == shape else reshape(x, shape=padded)


def _in_blocks(
    q: Any, k: Any, v: Any, added: Any, allowed: Any, scale: float, is_causal: bool
) -> Tensor:
    """What a mask leaves out has the least score as its bias, which half precision cannot hold."""
    dtype = q.array.dtype
    wide = dtypes.float32.numpy if dtype in HALF and allowed is not None else dtype
    bias = [] if added is None else [_cast(added, wide)]
    if allowed is not None:
        kept = bias[0] if bias else np.zeros((), wide)
        bias = [where(allowed, kept, np.asarray(ops.lowest(wide), wide))]
    found = ops.attention(
        *(_cast(x, wide) for x in (q, k, v)), *bias, scale=scale, is_causal=bool(is_causal)
    )
    return _cast(found, dtype)


def _at_once(
    q: Any, k: Any, v: Any, added: Any, allowed: Any, scale: float, is_causal: bool, cap: Any
) -> Tensor:
    """The formula as it stands; the weights are computed in single precision at least."""
    batch, queries, heads, depth = q.array.shape
    _, keys, shared, width = v.array.shape
    wide = dtypes.float32.numpy if q.array.dtype in HALF else q.array.dtype
    grouped = reshape(q, shape=(batch, queries, shared, heads // shared, depth))
    scores = einsum(_cast(grouped, wide), _cast(k, wide), inputs=("btngh", "bsnh"), output="bngts")
    scores = reshape(scores, shape=(batch, heads, queries, keys)) * scale
    if cap is not None:
        scores = tanh(scores / float(cap)) * float(cap)
    if added is not None:
        scores = scores + _cast(added, wide)
    low = np.asarray(ops.lowest(wide), wide)
    if allowed is not None:
        scores = where(allowed, scores, low)
    if is_causal:
        scores = where(np.tri(queries, keys, dtype=bool), scores, low)
    weights = _cast(softmax(scores, axis=-1), k.array.dtype)
    weights = reshape(weights, shape=(batch, shared, heads // shared, queries, keys))
    found = einsum(weights, v, inputs=("bngts", "bsnh"), output="btngh")
    return reshape(found, shape=(batch, queries, heads, width))


def _cast(x: Any, dtype: np.dtype[Any]) -> Any:
    return x if x.array.dtype == dtype else cast(x, dtype=dtype)
