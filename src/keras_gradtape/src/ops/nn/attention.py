"""Keras's attention."""

from __future__ import annotations

from typing import Any

import gradtape as tf
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.nn.operands import at_least_float32, floats


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

    `flash_attention` says whether scores are computed in blocks; None: where there are many.
    """
    q, k, v = floats(query, key, value)
    if not q.ndim == k.ndim == v.ndim == 4:
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. "
            f"Received: query.shape={q.shape}, key.shape={k.shape}, value.shape={v.shape}."
        )
    if flash_attention and attn_logits_soft_cap is not None:
        raise ValueError(
            "Flash attention has no `attn_logits_soft_cap`: leave out one of the two arguments."
        )
    return tf.nn.dot_product_attention(
        q,
        k,
        v,
        bias=None if bias is None else convert_to_tensor(bias, at_least_float32(q.dtype.name)),
        mask=None if mask is None else convert_to_tensor(mask, "bool"),
        scale=scale,
        is_causal=is_causal,
        soft_cap=attn_logits_soft_cap,
        in_blocks=flash_attention,
    )
