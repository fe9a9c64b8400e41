"""Activations, softmax and the cross entropies."""

from __future__ import annotations

from typing import Any

from gradtape.ops.arithmetic import greater
from gradtape.ops.declare import op, unary
from gradtape.ops.elementary import exp
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.selection import where


def _sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


def _softplus(xp: Any, x: Any) -> Any:
    return xp.log1p(xp.exp(-xp.abs(x))) + xp.maximum(x, 0)


def _elu(xp: Any, x: Any) -> Any:
    return xp.where(x > 0, x, xp.expm1(xp.minimum(x, 0)))


def _shifted(xp: Any, x: Any, axis: int) -> Any:
    """`x` less its largest value along `axis`, so that its exponential cannot overflow."""
    return x - xp.max(x, axis=axis, keepdims=True) if x.shape[axis] else x


def _softmax(xp: Any, x: Any, *, axis: int) -> Any:
    exponentials = xp.exp(_shifted(xp, x, axis))
    return exponentials / exponentials.sum(axis, keepdims=True)


def _log_softmax(xp: Any, x: Any, *, axis: int) -> Any:
    shifted = _shifted(xp, x, axis)
    return shifted - xp.log(xp.exp(shifted).sum(axis, keepdims=True))


sigmoid = unary("sigmoid", _sigmoid, lambda g, out: g * (out - out * out))
softplus = unary("softplus", _softplus, lambda g, x: g * sigmoid(x))
relu = unary("relu", lambda xp, x: xp.maximum(x, 0), lambda g, out: where(greater(out, 0), g, 0))
leaky_relu = op(
    "leaky_relu",
    lambda xp, x, *, alpha: xp.where(x > 0, x, x * alpha),
    [lambda g, x, alpha: where(greater(x, 0), g, g * alpha)],
)
elu = unary("elu", _elu, lambda g, out: where(greater(out, 0), g, g * (out + 1)))

softmax = op(
    "softmax", _softmax, [lambda g, out, axis: out * (g - reduce_sum(g * out, axis=(axis,), keepdims=True))]
)
log_softmax = op(
    "log_softmax", _log_softmax, [lambda g, out, axis: g - exp(out) * reduce_sum(g, axis=(axis,), keepdims=True)]
)


def _cross_entropy_by_logits(g: Any, labels: Any, logits: Any) -> Any:
    total = reduce_sum(labels, axis=(-1,), keepdims=True)
    return g[..., None] * (softmax(logits, axis=-1) * total - labels)


softmax_cross_entropy = op(
    "softmax_cross_entropy",
    lambda xp, labels, logits: -(labels * _log_softmax(xp, logits, axis=-1)).sum(-1),
    [lambda g, logits: -g[..., None] * log_softmax(logits, axis=-1), _cross_entropy_by_logits],
)


def _sparse_cross_entropy(xp: Any, labels: Any, logits: Any) -> Any:
    classes = logits.shape[-1]
    if labels.size and not (0 <= labels.min() and labels.max() < classes):
        raise ValueError(f"a label is outside [0, {classes}): the labels go from {labels.min()} to {labels.max()}")
    return -xp.take_along_axis(_log_softmax(xp, logits, axis=-1), labels[..., None], -1)[..., 0]


def _sparse_cross_entropy_by_logits(g: Any, labels: Any, logits: Any, logits_shape: Any, logits_dtype: Any) -> Any:
    hot = one_hot(labels, depth=logits_shape[-1], dtype=logits_dtype)
    return g[..., None] * (softmax(logits, axis=-1) - hot)


sparse_softmax_cross_entropy = op(
    "sparse_softmax_cross_entropy", _sparse_cross_entropy, [None, _sparse_cross_entropy_by_logits], apart=["labels"]
)
one_hot = op(
    "one_hot", lambda xp, labels, *, depth, dtype: (labels[..., None] == xp.arange(depth)).astype(dtype), [None]
)
sigmoid_cross_entropy = op(
    "sigmoid_cross_entropy",
    lambda xp, labels, logits: _softplus(xp, logits) - logits * labels,
    [lambda g, logits: -g * logits, lambda g, labels, logits: g * (sigmoid(logits) - labels)],
)
