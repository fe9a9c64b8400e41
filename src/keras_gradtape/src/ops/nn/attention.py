"""Keras's attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.nn.operands import at_least_float32, floats
from keras_gradtape.src.ops.operands import cast_to


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: Any = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> tf.Tensor:
    """The mean of the values, weighted by how well each query fits their keys; all are
    `(batch, length, heads, depth)`.

    Keys may have fewer heads than queries: several heads of the queries then share one. Weights are
    computed in float32 at least.
    """
    if flash_attention:
        raise ValueError(
            "Flash attention is not supported by the backend 'gradtape': leave "
            "`flash_attention` out."
        )
    q, k, v = floats(query, key, value)
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. "
            f"Received: query.shape={q.shape}, key.shape={k.shape}, value.shape={v.shape}."
        )
    batch, length, heads, depth = q.shape
    shared = k.shape[2]
    if heads % shared:
        raise ValueError(
            f"The {heads} heads of `query` must be a multiple of the {shared} heads of `key`."
        )
    wide = at_least_float32(q.dtype.name)
    grouped = tf.reshape(q, [batch, length, shared, heads // shared, depth])
    fits = tf.einsum("btngh,bsnh->bngts", cast_to(grouped, wide), cast_to(k, wide))
    fits = tf.reshape(fits, [batch, heads, length, k.shape[1]]) * (
        1 / math.sqrt(depth) if scale is None else scale
    )
    if attn_logits_soft_cap is not None:
        fits = tf.tanh(fits / attn_logits_soft_cap) * attn_logits_soft_cap
    if bias is not None:
        fits = fits + convert_to_tensor(bias, wide)
    allowed = _allowed(mask, is_causal, length, k.shape[1])
    if allowed is not None:
        fits = gnp.where(allowed, fits, convert_to_tensor(-0.7 * float(fits.dtype.max), wide))
    weights = tf.reshape(
        cast_to(tf.nn.softmax(fits), k.dtype.name),
        [batch, shared, heads // shared, length, k.shape[1]],
    )
    return tf.reshape(
        tf.einsum("bngts,bsnh->btngh", weights, v), [batch, length, heads, v.shape[3]]
    )


def _allowed(mask: Any, is_causal: bool, queries: int, keys: int) -> Any:
    """Where queries may look at keys, or None if everywhere."""
    found = None if mask is None else convert_to_tensor(mask, "bool")
    if not is_causal:
        return found
    before = tf.constant(np.tri(queries, keys, dtype=bool))
    return before if found is None else tf.logical_and(found, before)
