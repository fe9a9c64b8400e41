"""Moments and normalisation of `tf.nn`."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, INEXACT, NUMERIC, of_kind
from gradtape.api.tensorflow.arguments import AxisLike, TensorLike, as_float, as_int
from gradtape.api.tensorflow.arguments import axes as canonical_axes
from gradtape.convert import TENSORFLOW
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, broadcasting, elementary, matrix, reductions
from gradtape.ops.computing import HALF
from gradtape.published import published


@published("nn.moments")
def moments(
    x: TensorLike,
    axes: AxisLike,
    shift: Any = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance of `x` over `axes`; `shift` has no effect.

    >>> import gradtape as tf
    >>> mean, variance = tf.nn.moments(tf.constant([[1.0, 2.0], [3.0, 6.0]]), axes=[0])
    >>> mean.numpy(), variance.numpy()
    (array([2., 4.], dtype=float32), array([1., 4.], dtype=float32))
    """
    values = of_kind(x, NUMERIC, "moments")
    reduced = _axes(axes, values, "moments: axes")
    wide = _widened(values)
    mean = reductions.reduce_mean(wide, axis=reduced, keepdims=True)
    if wide.array.dtype.kind == "f":
        variance = reductions.reduce_variance(wide, axis=reduced, keepdims=bool(keepdims))
    else:
        variance = reductions.reduce_mean(
            arithmetic.squared_difference(wide, mean), axis=reduced, keepdims=bool(keepdims)
        )
    if not keepdims:
        mean = reductions.reduce_sum(mean, axis=reduced)
    return _narrowed(mean, values), _narrowed(variance, values)


@published("nn.weighted_moments")
def weighted_moments(
    x: TensorLike,
    axes: AxisLike,
    frequency_weights: TensorLike,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance of `x` over `axes`,
    in which elements count as often as their weights say.

    >>> import gradtape as tf
    >>> mean, variance = tf.nn.weighted_moments([1.0, 5.0], axes=[0], frequency_weights=[3.0, 1.0])
    >>> mean.numpy(), variance.numpy()
    (np.float32(2.0), np.float32(3.0))
    """
    values, weights = TENSORFLOW.tensors(
        [x, frequency_weights], ["weighted_moments: x", "weighted_moments: frequency_weights"]
    )
    reduced = _axes(axes, of_kind(values, FLOATING, "weighted_moments"), "weighted_moments: axes")
    wide = _widened(values)
    counted = _widened(weights) * broadcasting.cast(
        arithmetic.equal(wide, wide), dtype=wide.array.dtype
    )
    total = reductions.reduce_sum(counted, axis=reduced, keepdims=True)
    mean = reductions.reduce_sum(counted * wide, axis=reduced, keepdims=True) / total
    spread = reductions.reduce_sum(
        counted * arithmetic.squared_difference(wide, mean), axis=reduced, keepdims=True
    )
    found = [mean, spread / total]
    if not keepdims:
        found = [reductions.reduce_sum(moment, axis=reduced) for moment in found]
    return _narrowed(found[0], values), _narrowed(found[1], values)


@published("nn.sufficient_statistics")
def sufficient_statistics(
    x: TensorLike,
    axes: AxisLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """What `normalize_moments` needs: how many elements, their sum, the sum of their squares, and
    the shift they are less by.

    >>> import gradtape as tf
    >>> [part.numpy().item() for part in tf.nn.sufficient_statistics([1.0, 2.0, 4.0], axes=[0])[:3]]
    [3.0, 7.0, 21.0]
    """
    values = of_kind(x, NUMERIC, "sufficient_statistics")
    reduced = _axes(axes, values, "sufficient_statistics: axes")
    count = math.prod([values.array.shape[axis] for axis in reduced])
    total = Tensor(np.array(count, values.array.dtype))
    if shift is None:
        less, found = values, None
    else:
        values, found = TENSORFLOW.tensors(
            [values, shift], ["sufficient_statistics: x", "sufficient_statistics: shift"]
        )
        less = values - found
    sums = [
        reductions.reduce_sum(part, axis=reduced, keepdims=bool(keepdims))
        for part in (less, arithmetic.square(less))
    ]
    return total, sums[0], sums[1], found


@published("nn.normalize_moments")
def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance from what `sufficient_statistics` gives.

    >>> import gradtape as tf
    >>> mean, variance = tf.nn.normalize_moments(
    ...     2.0, tf.constant(6.0), tf.constant(20.0), shift=None
    ... )
    >>> mean.numpy(), variance.numpy()
    (np.float32(3.0), np.float32(1.0))
    """
    names = [f"normalize_moments: {argument}" for argument in ("mean_ss", "variance_ss", "counts")]
    total, squares, count = TENSORFLOW.tensors([mean_ss, variance_ss, counts], names)
    shifted = total / count
    variance = squares / count - arithmetic.square(shifted)
    return (shifted if shift is None else shifted + shift), variance


@published("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: TensorLike,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """`batch_normalization` with the offset `beta` and, if `scale_after_normalization`,
    the scale `gamma`.

    >>> import gradtape as tf
    >>> tf.nn.batch_norm_with_global_normalization(
    ...     [1.0, 3.0], 2.0, 1.0, 10.0, 2.0, 0.0, scale_after_normalization=False
    ... ).numpy()
    array([ 9., 11.], dtype=float32)
    """
    return batch_normalization(
        input, mean, variance, beta, gamma if scale_after_normalization else None, variance_epsilon
    )


@published("nn.batch_normalization")
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> Tensor:
    """`(x - mean) / sqrt(variance + variance_epsilon)`,
    times `scale` and plus `offset` where they are given.

    >>> import gradtape as tf
    >>> tf.nn.batch_normalization(
    ...     [1.0, 3.0], 2.0, 1.0, offset=10.0, scale=2.0, variance_epsilon=0.0
    ... ).numpy()
    array([ 8., 12.], dtype=float32)
    """
    values, mean, variance = TENSORFLOW.tensors(
        [x, mean, variance], [f"batch_normalization: {n}" for n in ("x", "mean", "variance")]
    )
    factor = elementary.rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shift = -mean * factor if offset is None else offset - mean * factor
    return values * factor + shift


@published("linalg.l2_normalize", "math.l2_normalize", "nn.l2_normalize")
def l2_normalize(
    x: TensorLike,
    axis: AxisLike = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: AxisLike = None,
) -> Tensor:
    """`x` divided by its Euclidean length over `axis`,
    whose square is taken to be at least `epsilon`.

    >>> import gradtape as tf
    >>> tf.nn.l2_normalize([3.0, 4.0]).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    values = of_kind(
        of_kind(x, NUMERIC, "l2_normalize"), INEXACT, "l2_normalize", refusal=TypeError
    )
    reduced = _axes(dim if axis is None else axis, values, "l2_normalize: axis")
    if values.dtype.is_complex:
        squares = arithmetic.square(broadcasting.real(values)) + arithmetic.square(
            broadcasting.imag(values)
        )
    else:
        squares = arithmetic.square(values)
    total = reductions.reduce_sum(squares, axis=reduced, keepdims=True)
    factor = elementary.rsqrt(arithmetic.maximum(total, epsilon))
    return values * (
        broadcasting.cast(factor, dtype=values.array.dtype) if values.dtype.is_complex else factor
    )


@published("nn.local_response_normalization", "nn.lrn")
def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """`input` divided by a power of the sum of squares in the neighbouring channels.

    >>> import gradtape as tf
    >>> tf.nn.local_response_normalization(tf.ones([1, 1, 1, 3]), depth_radius=1)[
    ...     0, 0, 0
    ... ].numpy().round(4)
    array([0.5774, 0.5   , 0.5774], dtype=float32)
    """
    x = of_kind(input, FLOATING, "local_response_normalization", "input")
    if x.ndim != 4:
        raise invalid_argument(
            f"local_response_normalization: input must have 4 dimensions, got shape {x.shape}."
        )
    radius = as_int(depth_radius, "local_response_normalization: depth_radius")
    channels = np.arange(x.array.shape[-1])
    near = (np.abs(channels[:, None] - channels) <= radius).astype(x.array.dtype)
    squares = matrix.matmul(arithmetic.square(x), Tensor(near))
    scale, offset, power = (
        as_float(value, f"local_response_normalization: {name}")
        for value, name in ((alpha, "alpha"), (bias, "bias"), (beta, "beta"))
    )
    return x * elementary.power(squares * scale + offset, -power)


def _axes(axis: Any, x: Tensor, argument: str) -> tuple[int, ...]:
    found = canonical_axes(axis, x.ndim, argument)
    return tuple(range(x.ndim)) if found is None else found


def _widened(x: Tensor) -> Tensor:
    """Half precision as float32: sums of squares overflow and lose too many digits."""
    return broadcasting.cast(x, dtype=dtypes.float32.numpy) if x.array.dtype in HALF else x


def _narrowed(moment: Tensor, like: Tensor) -> Tensor:
    return (
        moment
        if moment.array.dtype == like.array.dtype
        else broadcasting.cast(moment, dtype=like.array.dtype)
    )
