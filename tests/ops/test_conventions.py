"""Gradients at corners and kinks, as users' code meets them: the table in section 9 of the
contract, by public names.

What the single ops do there are special values of their rows; here stand functions that are made of
several ops too.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
from gradtape.errors import InvalidArgumentError

INF, NAN = np.inf, np.nan
SELU = 1.0507009873554805


def gradients(function, *args):
    tensors = [tf.constant(arg, tf.float32) for arg in args]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        out = function(*tensors)
    return tape.gradient(out, tensors)


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        # Ties: extrema of a tensor share equally, of two tensors the first takes all, windows give
        # it to the first element.
        (tf.reduce_max, [[2.0, 1.0, 2.0]], [[0.5, 0, 0.5]]),
        (tf.reduce_min, [[2.0, 1.0, 1.0]], [[0, 0.5, 0.5]]),
        (tf.maximum, [1.0, 1.0], [1, 0]),
        (tf.minimum, [1.0, 1.0], [1, 0]),
        (
            lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
            [[[[[1.0], [1.0]], [[1.0], [1.0]]]]],
            [[[[[1], [0]], [[0], [0]]]]],
        ),
        # Kinks.
        (tf.nn.relu, [[-1.0, 0.0, 1.0]], [[0, 0, 1]]),
        (tf.nn.relu6, [[0.0, 3.0, 6.0]], [[0, 1, 0]]),
        (lambda x: tf.nn.leaky_relu(x, alpha=0.2), [[0.0, 1.0]], [[0.2, 1]]),
        (tf.nn.elu, [[0.0, 1.0]], [[1, 1]]),
        (tf.nn.selu, [[0.0]], [[SELU]]),
        (tf.abs, [[-1.0, 0.0, 1.0]], [[-1, 0, 1]]),
        (tf.sign, [[-1.0, 0.0, 1.0]], [[0, 0, 0]]),
        (lambda x: tf.clip_by_value(x, 0.0, 1.0), [[-1.0, 0.0, 0.5, 1.0, 2.0]], [[0, 1, 1, 1, 0]]),
        # Steps have no gradient at all.
        (tf.floor, [1.5], [None]),
        (tf.math.ceil, [1.5], [None]),
        (tf.round, [1.5], [None]),
        (lambda x, y: x // y, [3.0, 2.0], [None, None]),
        (lambda x: tf.argmax(x, axis=0), [[1.0, 2.0]], [None]),
        (lambda x, y: x % y, [7.5, 2.0], [1, -3]),
        # Ends of domains.
        (tf.sqrt, [0.0], [INF]),
        (tf.math.log, [0.0], [INF]),
        (tf.math.rsqrt, [0.0], [-INF]),
        (tf.acos, [1.0], [-INF]),
        (tf.norm, [[0.0, 0.0]], [[NAN, NAN]]),
        (tf.math.reduce_euclidean_norm, [[0.0, 0.0]], [[NAN, NAN]]),
        (tf.math.reduce_std, [[1.0, 1.0]], [[NAN, NAN]]),
        (lambda x: tf.clip_by_norm(x, 1.0), [[0.0, 0.0]], [[1, 1]]),
        (tf.pow, [-2.0, 2.0], [-4, 0]),
        (tf.pow, [0.0, 2.0], [0, 0]),
        (tf.pow, [0.0, 0.0], [NAN, 0]),
        (tf.math.xlogy, [0.0, 0.0], [0, 0]),
        (tf.math.xdivy, [0.0, 0.0], [0, 0]),
        (tf.math.divide_no_nan, [1.0, 0.0], [0, 0]),
        (tf.atan2, [0.0, 0.0], [NAN, NAN]),
        (tf.reduce_logsumexp, [[-INF, -INF]], [[NAN, NAN]]),
        (tf.reduce_logsumexp, [[-INF, 1.0]], [[0, 1]]),
        # Zeros among factors: right here, also where TensorFlow's cumprod is not.
        (tf.reduce_prod, [[0.0, 2.0, 3.0]], [[6, 0, 0]]),
        (tf.math.cumprod, [[2.0, 0.0, 3.0]], [[1, 8, 0]]),
        # A branch that is not taken does not leak its infinity, as it does in TensorFlow.
        (lambda x: tf.where(x > 0, tf.math.log(x), 0.0), [[0.0, 1.0]], [[0, 1]]),
        # Labels have gradients too.
        (
            tf.nn.softmax_cross_entropy_with_logits,
            [[1.0, 0.0], [0.0, 0.0]],
            [[np.log(2), np.log(2)], [-0.5, 0.5]],
        ),
        (tf.nn.sigmoid_cross_entropy_with_logits, [[1.0], [0.0]], [[0], [-0.5]]),
    ],
)
def test_gradient(function, args, expected):
    for gradient, wanted in zip(gradients(function, *args), expected, strict=True):
        if wanted is None:
            assert gradient is None
        else:
            np.testing.assert_allclose(
                gradient.numpy(), np.array(wanted, np.float32), rtol=1e-5, atol=1e-6
            )


def test_the_variance_of_moments_has_the_right_second_derivative():
    x = tf.constant([1.0, 2.0, 4.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            variance = tf.nn.moments(x, axes=[0])[1]
        first = tape.gradient(variance, x)
    hessian = outer.jacobian(first, x)
    np.testing.assert_allclose(hessian.numpy(), 2 / 3 * np.eye(3) - 2 / 9, atol=1e-6)


def test_dropout_of_nothing_is_the_tensor_itself():
    x = tf.constant([1.0])
    assert tf.nn.dropout(x, rate=0) is x
    with pytest.raises(ValueError, match="rate"):
        tf.nn.dropout(x, rate=1.0)


def test_indices_out_of_range():
    with pytest.raises(InvalidArgumentError, match="index 1"):
        tf.gather(tf.constant([1.0]), [1])
    with pytest.raises(InvalidArgumentError, match="label"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2], logits=[[1.0, 2.0]])
    assert tf.one_hot([-1, 3], 2).numpy().tolist() == [[0, 0], [0, 0]]
