"""Rows of `gradtape.ops.activations`."""

from __future__ import annotations

import numpy as np
import scipy.special

from gradtape.ops import activations as a

from .table import Case, at, binary, fails, integers, real, sample, unary

ALONG_AXIS = [
    sample(real(2, 3), axis=-1), sample(real(2, 3, 2), axis=1), sample(real(3), axis=0),
    sample(real(2, 0), axis=-1), sample(real(0, 3), axis=-1),
]  # fmt: skip
PAIRS = [
    sample(real(2, 3), real(2, 3)),
    sample(real(3), real(3)),
    sample(real(0, 3), real(0, 3)),
    sample(real(2, 2, 3), real(2, 2, 3)),
]
ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def softmax(x, axis):
    exponentials = np.exp(x)
    return exponentials / exponentials.sum(axis, keepdims=True)


def log_softmax(x, axis=-1):
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def selu(x):
    return SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0)))


def softplus(x):
    return np.logaddexp(x, 0)


def sparse_cross_entropy(labels, logits):
    return -np.take_along_axis(log_softmax(logits), labels[..., None], -1)[..., 0]


def in_top_k(targets, predictions, k):
    chosen = np.take_along_axis(predictions, targets[..., None], -1)
    return (predictions > chosen).sum(-1) < k


def gate(y, x, high=np.inf, slope=0.0):
    return np.where((x > 0) & (x < high), y, slope * y)


ROWS = [
    Case(
        a.gate,
        gate,
        [
            sample(real(2, 3), real(2, 3)),
            sample(real(2, 3), real(2, 3), high=1.0),
            sample(real(3), real(2, 3), slope=0.2),
            sample(real(2, 3), real(3)),
            sample(real(), real()),
            sample(real(0, 3), real(3)),
        ],
        specials=[at([np.inf, np.nan, 1.0], [-1.0, 0.0, 2.0], gives=[0.0, 0.0, 1.0])],
    ),
    unary(a.sigmoid, scipy.special.expit,
        specials=[at([-1000.0, 1000.0], gives=[0, 1], gradient=[0.0, 0.0])]),
    unary(a.softplus, softplus,
        specials=[at([-1000.0, 1000.0], gives=[0, 1000], gradient=[0.0, 1.0])]),
    unary(
        a.gelu_by_tanh,
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        specials=[at([-1e30, 0.0, 1e30], gives=[0, 0, 1e30], gradient=[0.0, 0.5, 1.0])],
    ),
    unary(a.relu, lambda x: np.maximum(x, 0),
        specials=[at([-1.0, 0.0, 1.0], gradient=[0.0, 0.0, 1.0])]),
    Case(
        a.leaky_relu, lambda x, alpha: np.where(x > 0, x, x * alpha),
        [sample(real(2, 3), alpha=0.2), sample(real(), alpha=0.2), sample(real(0), alpha=0.2)],
        specials=[at([-1.0, 0.0, 1.0], alpha=0.25, gradient=[0.25, 0.25, 1.0])],
    ),
    unary(a.elu, elu,
        specials=[at([-1000.0, 0.0, 1.0], gives=[-1, 0, 1], gradient=[0.0, 1.0, 1.0])]),
    unary(a.relu6, lambda x: np.clip(x, 0, 6), -3, 9,
        specials=[at([-1.0, 0.0, 3.0, 6.0, 7.0], gradient=[0, 0, 1, 0, 0])]),
    unary(a.selu, selu,
        specials=[at([-1000.0, 0.0], gives=[-SCALE * ALPHA, 0], gradient=[0, SCALE])]),
    unary(a.normal_cdf, scipy.special.ndtr,
        specials=[at([-1e3, 0.0, 1e3], gives=[0, 0.5, 1], gradient=[0, 0.39894228, 0])]),
    unary(a.softsign, lambda x: x / (1 + np.abs(x)), specials=[at(0.0, gives=0.0, gradient=1.0)]),
    Case(
        a.softmax, softmax, ALONG_AXIS,
        specials=[at([1000.0, 1000.0, -np.inf], axis=0, gives=[0.5, 0.5, 0.0])],
    ),
    Case(
        a.log_softmax, log_softmax, ALONG_AXIS,
        specials=[
            at([1000.0, 1000.0], axis=0, gives=[-np.log(2), -np.log(2)], gradient=[0.0, 0.0])],
    ),
    Case(
        a.softmax_cross_entropy, lambda labels, logits: -(labels * log_softmax(logits)).sum(-1),
        PAIRS,
        specials=[at([1.0, 0.0], [0.0, 0.0], gives=np.log(2),
            gradient=([np.log(2), np.log(2)], [-0.5, 0.5]))],
    ),
    Case(
        a.sparse_softmax_cross_entropy, sparse_cross_entropy,
        [
            sample(integers(3), real(3, 3)), sample(integers(2, 2, dtype="int64"), real(2, 2, 3)),
            sample(integers(), real(3)), sample(integers(0), real(0, 3)),
        ],
        specials=[at(np.array(0), [0.0, 0.0], gives=np.log(2), gradient=(None, [-0.5, 0.5]))],
        failures=[fails(np.array([3]), np.ones((1, 3), np.float32),
            says=["sparse_softmax_cross_entropy", "[0, 3)"])],
    ),
    Case(
        a.one_hot, lambda labels, depth, dtype: np.eye(depth, dtype=dtype)[labels],
        [
            sample(integers(4), depth=3, dtype=np.dtype(np.float32)),
            sample(integers(2, 2), depth=5, dtype=np.dtype(np.int32)),
            sample(integers(), depth=3, dtype=np.dtype(np.float32)),
            sample(integers(0), depth=3, dtype=np.dtype(np.float32)),
        ],
        orders=0,
        specials=[
            at(np.array([-1, 3]), depth=3, dtype=np.dtype(np.float32), gives=np.zeros((2, 3)))],
    ),
    Case(
        a.in_top_k, in_top_k,
        [sample(integers(4), real(4, 3), k=2), sample(integers(0), real(0, 3), k=1),
            sample(integers(), real(3), k=5)],
        orders=0,
        specials=[at(np.array([-1, 3, 0]), np.zeros((3, 3), np.float32), k=1,
            gives=[False, False, True])],
    ),
    binary(
        a.sigmoid_cross_entropy, lambda labels, logits: softplus(logits) - logits * labels,
        numbers=False,  # the public function makes Tensors of them
        specials=[
            at([1.0, 0.0], [1000.0, -1000.0], gives=[0, 0], gradient=([-1000, 1000], [0, 0]))],
    ),
]  # fmt: skip
