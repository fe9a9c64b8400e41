"""Activations, softmax and the cross entropies.

Kernels with two branches add both, one of which is zero: NumPy's `where` takes several times as
long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.engines.arrays import at_least, at_most, in_place, sum_last_axis
from gradtape.ops import batching, float32
from gradtape.ops.arithmetic import absolute, less, square, times
from gradtape.ops.broadcasting import broadcast_to, cast
from gradtape.ops.declare import op, unary
from gradtape.ops.elementary import exp, tanh
from gradtape.ops.jets import Index, JetCall, Partials, chain_rule, minus, same_shape, square_rule
from gradtape.ops.reductions import partials_of_softmax, reduce_sum
from gradtape.ops.selection import keep_array, where_array, zeros_like


def _sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (in_place(xp.exp, -x) + 1)


def _softplus(xp: Any, x: Any) -> Any:
    small = in_place(xp.exp, in_place(xp.negative, xp.abs(x)))
    return _sum_of_fresh(float32.log1p(xp, small), at_least(xp, x, 0))


def _elu(xp: Any, x: Any) -> Any:
    return _sum_of_fresh(at_least(xp, x, 0), float32.expm1_below(xp, at_most(xp, x, 0)))


def _sum_of_fresh(x: Any, y: Any) -> Any:
    """The sum of two arrays that nothing else holds, in the place of the first."""
    x += y
    return x


_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _selu(xp: Any, x: Any) -> Any:
    above, below = at_least(xp, x, 0), float32.expm1_below(xp, at_most(xp, x, 0))
    above *= _SELU_SCALE
    below *= _SELU_SCALE * _SELU_ALPHA
    return _sum_of_fresh(above, below)


_GELU_CUBE = 0.044715
_GELU_SCALE = 0.7978845608028654  # the root of 2/π


def _gelu_by_tanh(xp: Any, x: Any) -> Any:
    return (in_place(xp.tanh, (x * x * _GELU_CUBE + 1) * x * _GELU_SCALE) + 1) * x * 0.5


def _gelu_by_tanh_pull(g: Any, x: Any) -> Any:
    """Where the tangent is flat, its slope stands first in every product,
    so that no large x spoils the zero.
    """
    t = tanh((x * x * _GELU_CUBE + 1) * x * _GELU_SCALE)
    slope = (1 - t * t) * x
    return g * ((t + 1 + (slope + slope * x * x * (3 * _GELU_CUBE)) * _GELU_SCALE) * 0.5)


def _selu_pull(g: Any, out: Any, x_dtype: Any) -> Any:
    """Where `out` is negative, the slope is that much less than at the left of 0."""
    left = cast(less(out, 0), dtype=x_dtype) * (_SELU_SCALE * _SELU_ALPHA - _SELU_SCALE)
    return g * (left + _SELU_SCALE - relu(-out))


def _leaky_relu(xp: Any, x: Any, *, alpha: float) -> Any:
    below = at_most(xp, x, 0)
    below *= alpha
    return _sum_of_fresh(below, at_least(xp, x, 0))


def _gate(xp: Any, y: Any, x: Any, *, high: float | None = None, slope: float = 0.0) -> Any:
    open_ = x > 0 if high is None else (x > 0) & (x < high)
    if not slope:
        return keep_array(xp, y, open_)
    return y * where_array(xp, open_, y.dtype.type(1), y.dtype.type(slope))


def _normal_cdf(xp: Any, x: Any) -> Any:
    if float32.serves(x):
        return float32.normal_cdf(x)
    from scipy.special import ndtr  # noqa: PLC0415 - scipy is loaded when a function first needs it

    return ndtr(x)


_NORMAL_DENSITY_AT_0 = 0.3989422804014327


def _shifted(xp: Any, x: Any, axis: int) -> Any:
    """`x` less its largest value along `axis`, so that its exponential cannot overflow."""
    return x - xp.max(x, axis=axis, keepdims=True) if x.shape[axis] else x


def _softmax(xp: Any, x: Any, *, axis: int) -> Any:
    """Numbers whose exponentials are far from overflow and underflow need no shift: one look at all
    is quicker than one at each row.
    """
    exponentials = np.exp(
        x if x.size >= 4096 and x.max() < 80 and x.min() > -80 else _shifted(np, x, axis)
    )
    total = sum_last_axis(exponentials) if axis == x.ndim - 1 else None
    exponentials /= exponentials.sum(axis, keepdims=True) if total is None else total
    return exponentials


def _softmax_on_xla(xp: Any, x: Any, *, axis: int) -> Any:
    """With a product in the place of the quotient, a GPU's compiler computes it again in the
    backward step and does not keep it.
    """
    exponentials = xp.exp(_shifted(xp, x, axis))
    return exponentials * (1 / exponentials.sum(axis, keepdims=True))


def _softmax_pull(g: Any, out: Any, axis: int) -> Any:
    weighted = times(g, out)
    return weighted - times(reduce_sum(weighted, axis=(axis,), keepdims=True), out)


def _log_softmax(xp: Any, x: Any, *, axis: int) -> Any:
    shifted = _shifted(xp, x, axis)
    return shifted - xp.log(xp.exp(shifted).sum(axis, keepdims=True))


def _sigmoid_jet(step: JetCall) -> Partials:
    return _partials_of_sigmoid(step, step.output)


def _partials_of_sigmoid(step: JetCall, out: Partials) -> Partials:
    x = step.input(0)

    @step.cached
    def slope(index: Index) -> Any:
        return minus(out(index), square_rule(index, out))

    return lambda index: chain_rule(index, slope, x)


def _softplus_jet(step: JetCall) -> Partials:
    x = step.input(0)

    @step.cached
    def slope(index: Index) -> Any:
        return of_slope(index) if index else sigmoid(x(()))

    of_slope = _partials_of_sigmoid(step, slope)
    return lambda index: chain_rule(index, slope, x)


def _softmax_jet(step: JetCall) -> Partials:
    weights, _ = partials_of_softmax(step, (step.params["axis"],), lambda: step.output(()))
    return weights


def _log_softmax_jet(step: JetCall) -> Partials:
    x = step.input(0)
    _, log_sum = partials_of_softmax(step, (step.params["axis"],), lambda: exp(step.output(())))

    def partials(index: Index) -> Any:
        moved = minus(x(index), log_sum(index))
        return None if moved is None else broadcast_to(moved, shape=step.output(()).array.shape)

    return partials


sigmoid = unary(
    "sigmoid",
    _sigmoid,
    lambda g, out: g * (out - out * out),
    plain=True,
    of_logits=True,
    jet=_sigmoid_jet,
)
gelu_by_tanh = unary("gelu_by_tanh", _gelu_by_tanh, _gelu_by_tanh_pull, plain=True)
softplus = unary("softplus", _softplus, lambda g, x: g * sigmoid(x), plain=True, jet=_softplus_jet)
# y where 0 < x < high, else `slope` times y: a step in x, whose derivative is zeros as in
# TensorFlow, not None.
gate = op(
    "gate",
    _gate,
    [lambda g, x, high, slope: gate(g, x, high=high, slope=slope), lambda g: zeros_like(g)],
    elementwise=True,
    native=True,
    selects=True,
)
relu = unary(
    "relu",
    lambda xp, x: at_least(xp, x, 0),
    lambda g, out: gate(g, out),
    native=True,
    plain=True,
    selects=True,
)
relu6 = unary(
    "relu6",
    lambda xp, x: xp.clip(x, 0, 6),
    lambda g, out: gate(g, out, high=6),
    native=True,
    plain=True,
    selects=True,
)
leaky_relu = op(
    "leaky_relu",
    _leaky_relu,
    [lambda g, x, alpha: gate(g, x, slope=alpha)],
    elementwise=True,
    plain=True,
    selects=True,
)
elu = unary("elu", _elu, lambda g, out: g * (1 - relu(-out)), plain=True)
selu = unary("selu", _selu, _selu_pull, plain=True)
normal_cdf = unary(
    "normal_cdf",
    _normal_cdf,
    lambda g, x: g * exp(x * x * -0.5) * _NORMAL_DENSITY_AT_0,
    xla=lambda xp, x: xp.special.ndtr(x),
)
softsign = unary(
    "softsign", lambda xp, x: x / (xp.abs(x) + 1), lambda g, x: g / square(absolute(x) + 1)
)

softmax = op(
    "softmax",
    _softmax,
    [_softmax_pull],
    batch=batching.shifted("axis"),
    xla=_softmax_on_xla,
    plain=True,
    of_logits=True,
    jet=_softmax_jet,
    input_shape=same_shape,
)
log_softmax = op(
    "log_softmax",
    _log_softmax,
    [lambda g, out, axis: g - times(reduce_sum(g, axis=(axis,), keepdims=True), exp(out))],
    batch=batching.shifted("axis"),
    plain=True,
    jet=_log_softmax_jet,
    input_shape=same_shape,
)


def _cross_entropy_by_logits(g: Any, labels: Any, logits: Any) -> Any:
    total = reduce_sum(labels, axis=(-1,), keepdims=True)
    return times(g[..., None], softmax(logits, axis=-1) * total - labels)


softmax_cross_entropy = op(
    "softmax_cross_entropy",
    lambda xp, labels, logits: -(labels * _log_softmax(xp, logits, axis=-1)).sum(-1),
    [
        lambda g, logits: -times(g[..., None], log_softmax(logits, axis=-1)),
        _cross_entropy_by_logits,
    ],
    batch=batching.shifted(every=True),
)


def _sparse_cross_entropy(xp: Any, labels: Any, logits: Any) -> Any:
    classes = logits.shape[-1]
    if xp is not np:
        # JAX counts negative numbers from the end, and gives NaN for those that are too large.
        labels = xp.where(labels < 0, classes, labels)
    elif labels.size and not (0 <= labels.min() and labels.max() < classes):
        raise ValueError(
            f"a label is outside [0, {classes}): the labels go from {labels.min()} to "
            f"{labels.max()}"
        )
    return -xp.take_along_axis(_log_softmax(xp, logits, axis=-1), labels[..., None], -1)[..., 0]


def _sparse_cross_entropy_by_logits(
    g: Any, labels: Any, logits: Any, logits_shape: Any, logits_dtype: Any
) -> Any:
    hot = one_hot(labels, depth=logits_shape[-1], dtype=logits_dtype)
    return times(g[..., None], softmax(logits, axis=-1) - hot)


sparse_softmax_cross_entropy = op(
    "sparse_softmax_cross_entropy",
    _sparse_cross_entropy,
    [None, _sparse_cross_entropy_by_logits],
    apart=["labels"],
    batch=batching.shifted(every=True),
)
one_hot = op(
    "one_hot",
    lambda xp, labels, *, depth, dtype: (labels[..., None] == xp.arange(depth)).astype(dtype),
    [None],
    batch=batching.as_it_is,
)
sigmoid_cross_entropy = op(
    "sigmoid_cross_entropy",
    lambda xp, labels, logits: _softplus(xp, logits) - logits * labels,
    [lambda g, logits: -g * logits, lambda g, labels, logits: g * (sigmoid(logits) - labels)],
    elementwise=True,
)


def _in_top_k(xp: Any, targets: Any, predictions: Any, *, k: int) -> Any:
    """A class that does not exist is not among the best,
    nor is any if a prediction is not finite.
    """
    classes = predictions.shape[-1]
    valid = (targets >= 0) & (targets < classes) & xp.isfinite(predictions).all(-1)
    chosen = xp.take_along_axis(predictions, xp.where(valid, targets, 0)[..., None], -1)
    return valid & ((predictions > chosen).sum(-1) < k)


in_top_k = op(
    "in_top_k", _in_top_k, [None, None], apart=["targets"], batch=batching.shifted(every=True)
)
