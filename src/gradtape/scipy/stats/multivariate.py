"""`multivariate_normal`: the normal distribution of vectors."""

from __future__ import annotations

import math

import numpy as np

from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import elementary
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.matrix import diagonal
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.shaping import matrix_transpose, reshape
from gradtape.ops.solvers import cholesky, triangular_solve
from gradtape.scipy.arguments import real_tensors


class MultivariateNormal:
    """The normal distribution of vectors, the last axis of `x`; the covariance must have full rank.

    >>> import gradtape as tf
    >>> mean = tf.Variable([0.0, 1.0])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.scipy.stats.multivariate_normal.logpdf([1.0, 1.0], mean, [4.0, 1.0])
    >>> y.numpy().round(4), tape.gradient(y, mean).numpy()
    (np.float32(-2.656), array([0.25, 0.  ], dtype=float32))
    """

    def logpdf(self, x: TensorLike, mean: TensorLike = 0.0, cov: TensorLike = 1.0) -> Tensor:
        """The logarithm of the density."""
        at, middle, covariance = real_tensors("multivariate_normal.logpdf", x=x, mean=mean, cov=cov)
        size = max(
            at.array.shape[-1] if at.array.ndim else 1,
            middle.array.size,
            covariance.array.shape[-1] if covariance.array.ndim else 1,
        )
        if covariance.array.ndim < 2:
            eye = np.eye(size, dtype=covariance.array.dtype)
            covariance = broadcast_to(covariance, shape=(size,)) * eye  # variances, or one for all
        if tuple(covariance.array.shape) != (size, size):
            raise ValueError(
                f"multivariate_normal: cov must have shape {(size, size)}, got {covariance.shape}."
            )
        lead = tuple(at.array.shape[:-1])
        away = reshape(broadcast_to(at - middle, shape=(*lead, size)), shape=(-1, size))
        factor = cholesky(covariance)
        scaled = triangular_solve(factor, matrix_transpose(away), lower=True)
        log_det = reduce_sum(elementary.log(diagonal(factor)))
        found = reduce_sum(scaled * scaled, axis=(0,)) * -0.5
        return reshape(found - log_det - 0.5 * size * math.log(2 * math.pi), shape=lead)

    def pdf(self, x: TensorLike, mean: TensorLike = 0.0, cov: TensorLike = 1.0) -> Tensor:
        """The density."""
        return elementary.exp(self.logpdf(x, mean, cov))

    def __repr__(self) -> str:
        return "<gradtape.scipy.stats.multivariate_normal>"


multivariate_normal = MultivariateNormal()

PUBLISHED = {"scipy.stats.multivariate_normal": multivariate_normal}
