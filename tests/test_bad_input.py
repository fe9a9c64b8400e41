"""Wrong ranks, axes, shapes and dtypes: the error names the function, or the op that it
ended in, and says what it got. One row or more for every family.
"""

import re

import numpy as np
import pytest

import gradtape as tf

Invalid = tf.errors.InvalidArgumentError
REFUSALS = (Invalid, tf.errors.UnimplementedError, ValueError, TypeError)
M = tf.ones([2, 3])
V = tf.ones([3])
X = tf.ones([1, 4, 4, 2])
BOOL = tf.constant([True, False])

ROWS = [
    ("reduce_sum", lambda: tf.reduce_sum(M, axis=2), Invalid, "axis=2"),
    ("reduce_mean", lambda: tf.reduce_mean(M, axis=-3), Invalid, "axis=-3"),
    ("reduce_max", lambda: tf.reduce_max(M, axis=[0, 0]), Invalid, "twice"),
    ("reduce_sum", lambda: tf.reduce_sum(BOOL), Invalid, "bool"),
    ("argmax", lambda: tf.argmax(M, axis=5), Invalid, "axis=5"),
    ("cumsum", lambda: tf.cumsum(M, axis=2), Invalid, "axis=2"),
    ("cumulative_logsumexp", lambda: tf.math.cumulative_logsumexp(M, axis=7), Invalid, "axis=7"),
    ("add", lambda: tf.add(M, tf.ones([4])), Invalid, "[4]"),
    ("exp", lambda: tf.exp(tf.constant([1, 2])), Invalid, "int32"),
    ("logical_and", lambda: tf.logical_and(M, M), Invalid, "float32"),
    ("matmul", lambda: tf.matmul(M, M), Invalid, "[2, 3]"),
    ("matmul", lambda: tf.matmul(V, M), Invalid, "two dimensions"),
    ("einsum", lambda: tf.einsum("ij,jk->ik", M, M), Invalid, "einsum"),
    ("reshape", lambda: tf.reshape(M, [4, 2]), Invalid, "(4, 2)"),
    ("transpose", lambda: tf.transpose(M, [0, 0]), Invalid, "perm"),
    ("concat", lambda: tf.concat([M, tf.ones([2, 4, 1])], 0), Invalid, "concat"),
    ("stack", lambda: tf.stack([M, V]), Invalid, "stack"),
    ("split", lambda: tf.split(M, 2, axis=1), REFUSALS, "split"),
    ("take", lambda: tf.gather(M, [5]), Invalid, "5"),
    ("gather", lambda: tf.gather(M, [0.5]), Invalid, "integers"),
    ("boolean_mask", lambda: tf.boolean_mask(M, [True]), REFUSALS, "boolean_mask"),
    ("conv2d", lambda: tf.nn.conv2d(X, tf.ones([3, 3, 5, 1]), 1, "SAME"), REFUSALS, "conv2d"),
    ("conv2d", lambda: tf.nn.conv2d(M, tf.ones([3, 3, 2, 1]), 1, "SAME"), REFUSALS, "conv2d"),
    ("conv2d", lambda: tf.nn.conv2d(X, tf.ones([3, 3, 2, 1]), 1, "WIDE"), REFUSALS, "padding"),
    ("max_pool2d", lambda: tf.nn.max_pool2d(M, 2, 2, "SAME"), REFUSALS, "max_pool2d"),
    ("softmax", lambda: tf.nn.softmax(M, axis=4), Invalid, "axis"),
    ("sort", lambda: tf.sort(M, axis=3), Invalid, "axis=3"),
    ("sort", lambda: tf.sort(M, direction="UP"), ValueError, "direction"),
    ("top_k", lambda: tf.math.top_k(M, k=9), Invalid, "9"),
    ("segment_sum", lambda: tf.math.segment_sum(M, [1, 0]), Invalid, "segment_sum"),
    ("segment_sum", lambda: tf.math.unsorted_segment_sum(M, [0, 5], 2), Invalid, "5"),
    ("cholesky", lambda: tf.linalg.cholesky(V), REFUSALS, "cholesky"),
    ("solve", lambda: tf.linalg.solve(M, M), REFUSALS, "solve"),
    ("svd", lambda: tf.linalg.svd(V), REFUSALS, "svd"),
    ("bessel_j0", lambda: tf.math.special.bessel_j0(tf.constant([1, 2])), REFUSALS, "bessel_j0"),
    ("igamma", lambda: tf.math.igamma(M, tf.ones([4])), Invalid, "[4]"),
    ("fft", lambda: tf.signal.fft(tf.constant(["a"])), REFUSALS, "fft"),
    ("stft", lambda: tf.signal.stft(V, 0, 1), REFUSALS, "frame_length"),
    ("resize", lambda: tf.image.resize(V, [2, 2]), REFUSALS, "resize"),
    ("resize", lambda: tf.image.resize(X, [2]), REFUSALS, "size"),
    ("isotonic_regression", lambda: tf.nn.isotonic_regression(tf.constant(1.0)), REFUSALS,
        "isotonic_regression"),
    ("sparse_dense_matmul", lambda: tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(M), M),
        REFUSALS, "sparse_dense_matmul"),
    ("one_hot", lambda: tf.one_hot([0.5], 3), REFUSALS, "one_hot"),
    ("normal", lambda: tf.random.normal([-1]), REFUSALS, "shape"),
    ("clip_by_value", lambda: tf.clip_by_value(M, tf.ones([5]), 1.0), REFUSALS, "clip_by_value"),
    ("dtype", lambda: tf.cast(M, "no dtype"), TypeError, "no dtype"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "call", "error", "says"), ROWS, ids=[f"{i} {row[0]}" for i, row in enumerate(ROWS)]
)
def test_refused_by_name(name, call, error, says):
    with tf.GradientTape() as tape:
        tape.watch([M, V, X])
        with pytest.raises(error, match=re.escape(says)) as caught:
            call()
        y = tf.reduce_sum(M * M)
    assert name in str(caught.value)
    # The tape goes on as if nothing had happened.
    np.testing.assert_array_equal(tape.gradient(y, M), 2 * M.numpy())
