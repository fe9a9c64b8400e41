"""SparseTensors: what each function gives and refuses,
and that a tape follows the values through it, to the second order.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
import gradtape.sparse
from gradtape.errors import InvalidArgumentError
from gradtape.testing import check_gradients

S = tf.sparse
SparseTensor = S.SparseTensor

A = SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
B = SparseTensor([[0, 0], [1, 0]], [10.0, 20.0], [2, 3])
UNSORTED = SparseTensor([[1, 2], [0, 0]], [2.0, 1.0], [2, 3])
TWICE = SparseTensor([[0, 0], [0, 0]], [2.0, 1.0], [2, 3])
EMPTY = SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.float32), [2, 3])


def parts(sp):
    return sp.indices.numpy().tolist(), sp.values.numpy().tolist(), sp.dense_shape.numpy().tolist()


def dense(sp):
    """What a SparseTensor stands for, without the library's own functions."""
    out = np.zeros(sp.dense_shape.numpy(), sp.values.numpy().dtype)
    np.add.at(out, tuple(sp.indices.numpy().T), sp.values.numpy())
    return out


# SparseTensor


def test_its_parts():
    assert A.indices.dtype == A.dense_shape.dtype == tf.int64
    assert A.dtype == tf.float32
    assert A.shape == A.get_shape() == tf.TensorShape([2, 3])
    assert parts(A) == ([[0, 0], [1, 2]], [1, 2], [2, 3])
    assert parts(A.with_values([3, 4]))[1] == [3, 4]


@pytest.mark.parametrize(
    "dtype", [tf.float64, tf.float16, tf.int32, tf.complex64, tf.bool, "int64"]
)
def test_a_cast_keeps_it_sparse(dtype):
    found = tf.cast(A, dtype)
    assert isinstance(found, SparseTensor)
    assert found.dtype == dtype
    assert parts(found) == (
        A.indices.numpy().tolist(),
        tf.cast(A.values, dtype).numpy().tolist(),
        [2, 3],
    )


def test_a_tape_follows_a_cast():
    values = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        total = S.reduce_sum(tf.cast(A.with_values(values * values), tf.float64))
    gradient = tape.gradient(total, values)
    assert gradient.dtype == tf.float32
    assert gradient.numpy().tolist() == [2.0, 4.0]


def test_operators_need_no_other_import():
    code = (
        "import gradtape as tf; s = tf.SparseTensor([[0, 1]], [3.0], [2, 2]); "
        "print(float((s * 2.0 "
        "/ 3.0).values[0]))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(tf.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "2.0", done.stderr
    assert A.with_values([3, 4]).dtype == tf.int32
    assert parts(SparseTensor.from_value(A)) == parts(A)
    assert repr(A).startswith("SparseTensor(indices=tf.Tensor(")
    assert A.set_shape([2, None]) is None
    assert tf.is_tensor(A)
    assert A == A
    assert tf.nest.flatten([A, A]) == [A, A]


@pytest.mark.parametrize(
    ("error", "args"),
    [
        (ValueError, ([[0, 0], [1, 2]], [1.0, 2.0], [2, 3, 4])),
        (ValueError, ([[0, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3])),
        (ValueError, ([0], [1.0], [2])),
        (ValueError, ([[0]], [[1.0]], [2])),
        (TypeError, ([[0.5]], [1.0], [2])),
        (ValueError, (tf.constant([[0]]), [1.0], [2])),
        (ValueError, ([[0]], [1.0], tf.constant([2]))),
    ],
)
def test_parts_that_do_not_fit(error, args):
    with pytest.raises(error, match="SparseTensor"):
        SparseTensor(*args)


def test_wrong_use():
    with pytest.raises(ValueError, match="set_shape"):
        A.set_shape([3, 3])
    with pytest.raises(TypeError, match="from_value"):
        SparseTensor.from_value(3)
    for use in (
        tf.convert_to_tensor,
        lambda a: tf.add(a, a),
        lambda a: tf.ones([2, 3]) + a,
        tf.sparse.from_dense,
    ):
        with pytest.raises(ValueError, match="to_dense"):
            use(A)
    for use in (lambda a: a + a, lambda a: -a, lambda a: a[0], len, iter):
        with pytest.raises(TypeError):
            use(A)


def test_a_tape_follows_its_values_alone(caplog):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        sp = SparseTensor([[0, 0], [1, 2]], x, [2, 3])
        y = S.reduce_sum(sp)
    assert tape.gradient(y, x).numpy().tolist() == [1, 1]
    assert tape.gradient(y, sp.values).numpy().tolist() == [1, 1]
    for wrong in ((y, sp), (sp, x), (y, [x, sp])):
        with pytest.raises(ValueError, match="SparseTensor"):
            tape.gradient(*wrong)
    with pytest.raises(ValueError, match="SparseTensor"):
        tape.gradient(y, x, output_gradients=sp)
    with pytest.raises(ValueError, match="SparseTensor"):
        tf.autodiff.ForwardAccumulator(sp, sp)
    assert not caplog.messages
    with tf.GradientTape() as tape:
        tape.watch(A)
        y = S.reduce_sum(A)
    assert len(caplog.messages) == 2  # indices and dense_shape have no gradient
    assert tape.gradient(y, A.values).numpy().tolist() == [1, 1]


# Values


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda: S.from_dense([[1, 0], [0, 3]]), ([[0, 0], [1, 1]], [1, 3], [2, 2])),
        (lambda: S.from_dense(["a", ""]), ([[0]], [b"a"], [2])),
        (lambda: S.from_dense(np.zeros((0, 3))), ([], [], [0, 3])),
        (lambda: S.reorder(UNSORTED), ([[0, 0], [1, 2]], [1, 2], [2, 3])),
        (lambda: S.reorder(TWICE), ([[0, 0], [0, 0]], [2, 1], [2, 3])),
        (lambda: S.reduce_sum(A, axis=0, output_is_sparse=True), ([[0], [2]], [1, 2], [3])),
        (
            lambda: S.reduce_sum(A, axis=0, keepdims=True, output_is_sparse=True),
            ([[0, 0], [0, 2]], [1, 2], [1, 3]),
        ),
        (lambda: S.add(A, B), ([[0, 0], [1, 0], [1, 2]], [11, 20, 2], [2, 3])),
        (lambda: S.add(A, B, threshold=10.5), ([[0, 0], [1, 0], [1, 2]], [11, 20, 2], [2, 3])),
        (lambda: S.add(A, A.with_values([-1.0, 0.0])), ([[0, 0], [1, 2]], [0, 2], [2, 3])),
        (lambda: S.add(A, A.with_values([-1.0, 0.0]), threshold=1e-9), ([[1, 2]], [2], [2, 3])),
        (lambda: S.add(A, EMPTY), parts(A)),
        (lambda: S.transpose(A), ([[0, 0], [2, 1]], [1, 2], [3, 2])),
        (
            lambda: S.transpose(S.expand_dims(A, 0), perm=[2, 0, 1]),
            ([[0, 0, 0], [2, 0, 1]], [1, 2], [3, 1, 2]),
        ),
        (lambda: S.softmax(UNSORTED), ([[1, 2], [0, 0]], [1, 1], [2, 3])),
        (lambda: S.concat(0, [A, B]), ([[0, 0], [1, 2], [2, 0], [3, 0]], [1, 2, 10, 20], [4, 3])),
        (lambda: S.concat(-1, [A, B]), ([[0, 0], [0, 3], [1, 2], [1, 3]], [1, 10, 2, 20], [2, 6])),
        (
            lambda: S.concat(
                0, [A, SparseTensor([[0, 0]], [1.0], [2, 4])], expand_nonconcat_dims=True
            ),
            ([[0, 0], [1, 2], [2, 0]], [1, 2, 1], [4, 4]),
        ),
        (lambda: S.expand_dims(A), ([[0, 0, 0], [1, 2, 0]], [1, 2], [2, 3, 1])),
        (lambda: S.eye(2), ([[0, 0], [1, 1]], [1, 1], [2, 2])),
        (lambda: S.map_values(tf.add, A, A), ([[0, 0], [1, 2]], [2, 4], [2, 3])),
        (lambda: S.maximum(A, B), ([[0, 0], [1, 0], [1, 2]], [10, 20, 2], [2, 3])),
        (lambda: S.minimum(A, B), ([[0, 0], [1, 0], [1, 2]], [1, 0, 0], [2, 3])),
        (lambda: S.reset_shape(A, [5, 5]), ([[0, 0], [1, 2]], [1, 2], [5, 5])),
        (lambda: S.reset_shape(SparseTensor([[0, 1]], [1.0], [9, 9])), ([[0, 1]], [1], [1, 2])),
        (lambda: S.reset_shape(EMPTY), ([], [], [0, 0])),
        (lambda: S.reshape(A, [3, 2]), ([[0, 0], [2, 1]], [1, 2], [3, 2])),
        (lambda: S.reshape(A, [-1]), ([[0], [5]], [1, 2], [6])),
        (lambda: S.retain(A, tf.constant([True, False])), ([[0, 0]], [1], [2, 3])),
        (lambda: S.slice(A, [0, 1], [2, 2]), ([[1, 1]], [2], [2, 2])),
        (lambda: S.slice(A, [0, 1], [5, 5]), ([[1, 1]], [2], [2, 2])),
        (lambda: S.slice(A, [3, 3], [2, 2]), ([], [], [0, 0])),
        (lambda: S.split(A, 2, 1)[0], ([[0, 0]], [1], [2, 2])),
        (lambda: S.split(A, 2, 1)[1], ([[1, 0]], [2], [2, 1])),
        (lambda: A * 2.0, ([[0, 0], [1, 2]], [2, 4], [2, 3])),
        (lambda: A * [10.0, 20.0, 30.0], ([[0, 0], [1, 2]], [10, 60], [2, 3])),
        (lambda: A / [[1.0], [4.0]], ([[0, 0], [1, 2]], [1, 0.5], [2, 3])),
    ],
)
def test_sparse_results(function, expected):
    found = parts(function())
    assert found[0] == expected[0]
    assert found[1] == expected[1]
    assert found[2] == expected[2]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda: S.to_dense(A), dense(A)),
        (lambda: S.to_dense(A, default_value=9), [[1, 9, 9], [9, 9, 2]]),
        (lambda: S.to_dense(UNSORTED, validate_indices=False), dense(A)),
        (lambda: S.to_dense(TWICE, validate_indices=False), [[1, 0, 0], [0, 0, 0]]),
        (lambda: S.to_dense(EMPTY), np.zeros((2, 3))),
        (lambda: S.to_dense(SparseTensor([[1]], [3], [3])), [0, 3, 0]),
        (lambda: S.to_dense(SparseTensor([[1]], [True], [3])), [False, True, False]),
        (lambda: S.to_dense(SparseTensor([[1]], ["a"], [3])), np.array([b"", b"a", b""], object)),
        (lambda: S.reduce_sum(A), 3),
        (lambda: S.reduce_sum(A, axis=0), [1, 0, 2]),
        (lambda: S.reduce_sum(A, axis=[-1], keepdims=True), [[1], [2]]),
        (lambda: S.reduce_sum(A, keepdims=True), [[3]]),
        (lambda: S.reduce_sum(A, axis=[]), dense(A)),
        (lambda: S.reduce_sum(A, axis=[0, 0]), [1, 0, 2]),
        (lambda: S.reduce_sum(UNSORTED, axis=1), [1, 2]),
        (lambda: S.reduce_sum(EMPTY), 0),
        (lambda: S.reduce_max(SparseTensor([[0, 0], [0, 1]], [-1.0, -3.0], [2, 3]), axis=1),
            [-1, 0]),
        (lambda: S.reduce_max(A), 2),
        (lambda: S.add(A, tf.ones([2, 3])), 1 + dense(A)),
        (lambda: S.add(tf.ones([2, 3]), TWICE), 1 + dense(TWICE)),
        (lambda: S.sparse_dense_matmul(A, tf.ones([3, 2])), [[1, 1], [2, 2]]),
        (lambda: S.sparse_dense_matmul(A, np.ones((3, 2))), [[1, 1], [2, 2]]),
        (lambda: S.sparse_dense_matmul(A, tf.ones([2, 2]), adjoint_a=True),
            [[1, 1], [0, 0], [2, 2]]),
        (lambda: S.sparse_dense_matmul(A, tf.ones([2, 3]), adjoint_b=True), [[1, 1], [2, 2]]),
        (lambda: S.sparse_dense_matmul(tf.ones([2, 2]), A), [[1, 0, 2], [1, 0, 2]]),
        (lambda: S.sparse_dense_matmul(tf.ones([2, 3]), A, adjoint_b=True), [[1, 2], [1, 2]]),
        (lambda: S.sparse_dense_matmul(TWICE, tf.ones([3, 2])), [[3, 3], [0, 0]]),
        (lambda: S.to_indicator(SparseTensor([[0, 0], [1, 2]], [1, 3], [2, 3]), 4),
            [[0, 1, 0, 0], [0, 0, 0, 1]]),
        (lambda: S.segment_sum(tf.ones([4, 2]), [0, 1, 3], [0, 0, 2]), [[2, 2], [0, 0], [1, 1]]),
        (lambda: S.segment_sum(tf.ones([4]), [0, 1, 3], [0, 0, 2], num_segments=5),
            [2, 0, 1, 0, 0]),
        (lambda: S.segment_sum(tf.ones([4, 2]), np.zeros(0, np.int32), np.zeros(0, np.int32)),
            np.zeros((0, 2))),
        (lambda: S.segment_mean(tf.ones([4, 2]), [0, 1, 3], [0, 0, 2]), [[1, 1], [0, 0], [1, 1]]),
        (lambda: S.segment_sqrt_n(tf.ones([4, 2]), [0, 1, 3], [0, 0, 2]),
            [[2**0.5, 2**0.5], [0, 0], [1, 1]]),
        (lambda: S.sampled_addmm([[0, 0], [1, 1]], [0.5, 0.3], [2, 2], [[1.0, 2, 3], [4, 5, 6]],
            [[7.0, 8], [9, 10], [11, 12]],
                                 alpha=0.75, beta=0.25)[1], [43.625, 115.575]),
    ],
)  # fmt: skip
def test_dense_results(function, expected):
    found, expected = function().numpy(), np.asarray(expected)
    assert found.shape == expected.shape
    if expected.dtype == object:
        assert found.tolist() == expected.tolist()
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_softmax():
    sp = SparseTensor([[0, 0], [0, 1], [1, 2]], [1.0, 2.0, 1000.0], [2, 3])
    np.testing.assert_allclose(
        S.softmax(sp).values.numpy(), [1 / (1 + np.e), np.e / (1 + np.e), 1], rtol=1e-6
    )


def test_fill_empty_rows_and_mask():
    sp, empty = S.fill_empty_rows(SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [4, 3]), 9.0)
    assert parts(sp) == ([[0, 1], [1, 0], [2, 0], [3, 0]], [1, 9, 2, 9], [4, 3])
    assert empty.numpy().tolist() == [False, True, False, True]
    kept = S.mask(
        tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([3, 5]), tf.constant([10, 1])),
        [3],
    )
    assert kept.indices.numpy().tolist() == [5]
    assert kept.values.numpy().tolist() == [[2]]


def test_sampled_addmm_of_a_batch():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 2, 3)), rng.normal(size=(2, 3, 2))
    at, values = np.array([[[0, 1], [1, 0]], [[0, 0], [1, 0]]]), np.array([[3.0, 5.0], [2.0, 7.0]])
    found = S.sampled_addmm(at, values, [2, 2], x, y, output_type=tf.float64)
    product = x @ y
    expected = values + np.array([[product[b, i, j] for i, j in at[b]] for b in range(2)])
    np.testing.assert_allclose(found[1].numpy(), expected)
    assert found[0].numpy().tolist() == at.tolist()
    assert found[2].numpy().tolist() == [2, 2]


def test_complex_matrices_are_conjugated():
    sp = SparseTensor([[0, 0], [1, 2]], [1 + 2j, 3j], [2, 3])
    b = np.array([[1.0 + 1j, 2], [3, 4j]])
    np.testing.assert_allclose(
        S.sparse_dense_matmul(sp, b, adjoint_a=True).numpy(), dense(sp).conj().T @ b
    )
    np.testing.assert_allclose(
        S.sparse_dense_matmul(b, sp, adjoint_a=True).numpy(), b.conj().T @ dense(sp)
    )


@pytest.mark.parametrize(
    ("error", "function"),
    [
        (InvalidArgumentError, lambda: S.from_dense(3.0)),
        (InvalidArgumentError, lambda: S.to_dense(SparseTensor([[5]], [1.0], [2]))),
        (
            InvalidArgumentError,
            lambda: S.to_dense(SparseTensor([[5]], [1.0], [2]), validate_indices=False),
        ),
        (InvalidArgumentError, lambda: S.to_dense(UNSORTED)),
        (InvalidArgumentError, lambda: S.to_dense(TWICE)),
        (InvalidArgumentError, lambda: S.to_dense(A, default_value=[1.0])),
        (TypeError, lambda: S.to_dense(tf.ones(2))),
        (TypeError, lambda: S.reorder(tf.ones(2))),
        (InvalidArgumentError, lambda: S.reduce_sum(A, axis=2)),
        (TypeError, lambda: S.add(tf.ones([2, 3]), tf.ones([2, 3]))),
        (InvalidArgumentError, lambda: S.add(A, tf.ones([1, 3]))),
        (InvalidArgumentError, lambda: S.add(A, SparseTensor([[0, 0]], [1.0], [2, 4]))),
        (ValueError, lambda: S.transpose(A, perm=[0])),
        (InvalidArgumentError, lambda: S.softmax(SparseTensor([[0], [1]], [1.0, 2.0], [2]))),
        (InvalidArgumentError, lambda: S.softmax(SparseTensor([[0, 0]], [1], [2, 3]))),
        (InvalidArgumentError, lambda: S.sparse_dense_matmul(A, tf.ones([2, 2]))),
        (InvalidArgumentError, lambda: S.sparse_dense_matmul(S.expand_dims(A, 0), tf.ones([3, 2]))),
        (InvalidArgumentError, lambda: S.sparse_dense_matmul(A, tf.ones([3]))),
        (TypeError, lambda: S.sparse_dense_matmul(tf.ones([3, 3]), tf.ones([3, 3]))),
        (InvalidArgumentError, lambda: S.concat(0, [A, SparseTensor([[0, 0]], [1.0], [2, 4])])),
        (InvalidArgumentError, lambda: S.expand_dims(A, 5)),
        (InvalidArgumentError, lambda: S.map_values(tf.add, A, B)),
        (ValueError, lambda: S.map_values(tf.reduce_sum, A)),
        (ValueError, lambda: S.map_values(tf.square, 3.0)),
        (ValueError, lambda: S.reset_shape(A, [1, 5])),
        (ValueError, lambda: S.reset_shape(A, [1, 5, 3])),
        (InvalidArgumentError, lambda: S.reshape(A, [4])),
        (InvalidArgumentError, lambda: S.reshape(A, [-1, -1])),
        (ValueError, lambda: S.retain(A, [True])),
        (
            InvalidArgumentError,
            lambda: S.segment_sum(tf.ones([4, 2]), [0, 1, 3], [0, 0, 2], num_segments=2),
        ),
        (InvalidArgumentError, lambda: S.segment_sum(tf.ones([4, 2]), [0, 1, 3], [0, 2, 1])),
        (InvalidArgumentError, lambda: S.segment_sum(tf.ones([4, 2]), [0, 1, 9], [0, 1, 1])),
        (InvalidArgumentError, lambda: S.segment_sum(tf.ones([4, 2]), [0, 1], [0, 1, 1])),
        (InvalidArgumentError, lambda: S.segment_sum(tf.ones([4, 2]), [0, 1], [-1, 1])),
        (InvalidArgumentError, lambda: S.split(A, 5, 1)),
        (InvalidArgumentError, lambda: S.to_indicator(SparseTensor([[0, 0]], [3], [2, 3]), 3)),
        (InvalidArgumentError, lambda: A * tf.ones([3, 2])),
    ],
)
def test_refused(error, function):
    with pytest.raises(error):
        function()


# Derivatives

PLACES = [[0, 0], [0, 2], [1, 1], [1, 2]]
VALUES = np.array([0.5, -1.5, 2.0, 0.75])


def sparse(values):
    return SparseTensor(PLACES, values, [2, 3])


def other(values):
    return SparseTensor([[0, 0], [1, 0], [1, 1], [1, 2]], values, [2, 3])


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: S.from_dense(x).values ** 2, [np.array([[1.0, 2.0], [-1.0, 3.0]])]),
        (lambda v: S.to_dense(sparse(v)) ** 2, [VALUES]),
        (lambda v, d: S.to_dense(sparse(v), default_value=d) ** 2, [VALUES, 3.0]),
        (lambda v: S.reorder(sparse(v)).values ** 2, [VALUES]),
        (lambda v: S.transpose(sparse(v)).values ** 2, [VALUES]),
        (lambda v: S.reshape(sparse(v), [6]).values ** 2, [VALUES]),
        (lambda v: S.expand_dims(sparse(v)).values ** 2, [VALUES]),
        (lambda v: S.slice(sparse(v), [0, 1], [2, 2]).values ** 2, [VALUES]),
        (lambda v: [part.values**2 for part in S.split(sparse(v), 2, 1)], [VALUES]),
        (lambda v, w: S.concat(1, [sparse(v), sparse(w)]).values ** 2, [VALUES, VALUES + 1]),
        (lambda v: S.retain(sparse(v), [True, False, True, True]).values ** 2, [VALUES]),
        (
            lambda v, d: S.fill_empty_rows(SparseTensor([[0], [2]], v, [4]), d)[0].values ** 2,
            [VALUES[:2], 3.0],
        ),
        (lambda v: S.map_values(tf.tanh, sparse(v)).values, [VALUES]),
        (lambda v: S.mask(tf.IndexedSlices(v, [1, 2, 3, 4]), [2]).values ** 2, [VALUES]),
        (lambda v, w: S.add(sparse(v), other(w)).values ** 2, [VALUES, VALUES + 1]),
        (lambda v, x: S.add(sparse(v), x) ** 2, [VALUES, np.arange(6.0).reshape(2, 3)]),
        (lambda v, w: S.maximum(sparse(v), other(w)).values ** 2, [VALUES, VALUES + 1]),
        (lambda v, w: S.minimum(sparse(v), other(w)).values ** 2, [VALUES, VALUES + 1]),
        (lambda v: S.reduce_sum(sparse(v), axis=1) ** 2, [VALUES]),
        (lambda v: S.reduce_sum(sparse(v), axis=0, output_is_sparse=True).values ** 2, [VALUES]),
        (lambda v: S.reduce_max(sparse(v), axis=1) ** 2, [VALUES]),
        (lambda v: S.softmax(sparse(v)).values, [VALUES]),
        (
            lambda v, b: S.sparse_dense_matmul(sparse(v), b) ** 2,
            [VALUES, np.arange(6.0).reshape(3, 2)],
        ),
        (
            lambda v, b: S.sparse_dense_matmul(b, sparse(v), adjoint_b=True) ** 2,
            [VALUES, np.arange(6.0).reshape(2, 3)],
        ),
        (
            lambda v, b: S.sparse_dense_matmul(sparse(v), b, adjoint_a=True),
            [VALUES + 1j, np.arange(4.0).reshape(2, 2) - 1j],
        ),
        (
            lambda v, x, y: (
                S.sampled_addmm(
                    PLACES, v, [2, 3], x, y, alpha=2.0, beta=0.5, output_type=tf.float64
                )[1]
                ** 2
            ),
            [VALUES, np.arange(4.0).reshape(2, 2), np.arange(6.0).reshape(2, 3)],
        ),
        (lambda x: S.segment_sum(x, [0, 2, 2], [0, 0, 1]) ** 2, [np.arange(6.0).reshape(3, 2)]),
        (lambda x: S.segment_mean(x, [0, 2, 2], [0, 0, 1]) ** 2, [np.arange(6.0).reshape(3, 2)]),
        (
            lambda x: S.segment_sqrt_n(x, [0, 2, 2], [0, 0, 1], sparse_gradient=True) ** 2,
            [np.arange(6.0).reshape(3, 2)],
        ),
        (lambda v, x: (sparse(v) * x).values, [VALUES, np.arange(1.0, 4.0)]),
        (lambda v, x: (sparse(v) / x).values, [VALUES, np.arange(1.0, 3.0).reshape(2, 1)]),
    ],
)
def test_derivatives(function, args):
    check_gradients(function, args)


def test_the_gradient_of_from_dense_is_zero_where_nothing_is_taken():
    x = tf.Variable([[1.0, 0.0], [0.0, 3.0]])
    with tf.GradientTape() as tape:
        y = S.from_dense(x).values ** 2
    assert tape.gradient(y, x).numpy().tolist() == [[2, 0], [0, 6]]


def test_gradients_that_are_sparse():
    values, table = tf.Variable([1.0, 2.0]), tf.Variable([[1.0], [2.0]])
    with tf.GradientTape(persistent=True) as tape:
        retained = S.retain(A.with_values(values), [False, True]).values
        summed = S.segment_sum(table, [0, 0], [0, 1], sparse_gradient=True)
    assert isinstance(tape.gradient(retained, values), tf.IndexedSlices)
    assert isinstance(tape.gradient(summed, table), tf.IndexedSlices)


def test_batches_of_values():
    batch = tf.constant(np.stack([VALUES, VALUES + 1]))
    b = tf.constant(np.arange(6.0).reshape(3, 2))
    for function in (
        lambda v: S.softmax(sparse(v)).values,
        lambda v: S.to_dense(sparse(v)),
        lambda v: S.sparse_dense_matmul(sparse(v), b),
    ):
        expected = np.stack([function(row) for row in batch])
        np.testing.assert_allclose(tf.vmap(function)(batch), expected)
    columns = tf.constant(np.arange(12.0).reshape(2, 3, 2))
    found = tf.vmap(lambda x: S.sparse_dense_matmul(sparse(VALUES), x))(columns)
    np.testing.assert_allclose(found, dense(sparse(VALUES)) @ columns.numpy())


# Embeddings

TABLE = np.arange(10.0).reshape(5, 2)
IDS = SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 3, 0], [4, 3])
WEIGHTS = IDS.with_values(np.array([2.0, 0.5, 3.0]))


@pytest.mark.parametrize(
    ("weights", "combiner", "expected"),
    [
        (None, None, [[4, 5], [0, 0], [0, 1]]),
        (None, "sqrtn", [[5.656854, 7.071068], [0, 0], [0, 1]]),
        (None, "sum", [[8, 10], [0, 0], [0, 1]]),
        (WEIGHTS, "mean", [[2.8, 3.8], [0, 0], [0, 1]]),
        (WEIGHTS, "sum", [[7, 9.5], [0, 0], [0, 3]]),
        (WEIGHTS, "sqrtn", [[3.3954988, 4.608177], [0, 0], [0, 1]]),
    ],
)
def test_embedding_lookup_sparse(weights, combiner, expected):
    found = tf.nn.embedding_lookup_sparse(tf.constant(TABLE), IDS, weights, combiner=combiner)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("combiner", ["mean", "sum", "sqrtn"])
def test_derivatives_of_embedding_lookup_sparse(combiner):
    def function(table, values):
        return tf.nn.embedding_lookup_sparse(table, IDS, IDS.with_values(values), combiner=combiner)

    check_gradients(function, [TABLE, np.array([2.0, 0.5, 3.0])])
    check_gradients(
        lambda table: tf.nn.embedding_lookup_sparse(table, IDS, None, combiner=combiner) ** 2,
        [TABLE],
    )
    check_gradients(
        lambda table: (
            tf.nn.safe_embedding_lookup_sparse(table, IDS, WEIGHTS, combiner=combiner) ** 2
        ),
        [TABLE],
    )


def test_the_gradient_of_a_table_is_sparse():
    table = tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        y = tf.nn.embedding_lookup_sparse(table, IDS, WEIGHTS)
    gradient = tape.gradient(y, table)
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.indices.numpy().tolist() == [1, 3, 0]


def test_max_norm():
    found = tf.nn.embedding_lookup_sparse(tf.constant(TABLE), IDS, None, max_norm=1.0)
    np.testing.assert_allclose(found.numpy(), [[0.6027458, 0.79565346], [0, 0], [0, 1]], rtol=1e-6)


@pytest.mark.parametrize(
    ("ids", "options", "expected"),
    [
        (IDS, {}, [[4, 5], [0, 0], [0, 1], [0, 0]]),
        (IDS, {"default_id": 4}, [[4, 5], [8, 9], [0, 1], [8, 9]]),
        (
            IDS.with_values([1, -1, 0]),
            {"sparse_weights": WEIGHTS},
            [[2, 3], [0, 0], [0, 1], [0, 0]],
        ),
        (
            IDS,
            {"sparse_weights": WEIGHTS.with_values([1.0, -1.0, 0.0])},
            [[2, 3], [0, 0], [0, 0], [0, 0]],
        ),
        (IDS, {"sparse_weights": WEIGHTS, "combiner": "sum"}, [[7, 9.5], [0, 0], [0, 3], [0, 0]]),
        (
            SparseTensor([[0, 0, 0], [1, 1, 0]], [1, 2], [2, 2, 1]),
            {},
            [[[2, 3], [0, 0]], [[0, 0], [4, 5]]],
        ),
    ],
)
def test_safe_embedding_lookup_sparse(ids, options, expected):
    found = tf.nn.safe_embedding_lookup_sparse(tf.constant(TABLE), ids, **options)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("error", "args", "options"),
    [
        (ValueError, (TABLE, IDS, None), {"combiner": "x"}),
        (ValueError, (TABLE, IDS, SparseTensor([[0, 0]], [2.0], [4, 3])), {}),
        (TypeError, (TABLE, tf.constant([1]), None), {}),
        (TypeError, (TABLE, IDS, tf.constant([1.0])), {}),
        (ValueError, (None, IDS, None), {}),
        (InvalidArgumentError, (TABLE, IDS.with_values([1, 9, 0]), None), {}),
    ],
)
def test_embedding_lookup_sparse_refuses(error, args, options):
    with pytest.raises(error):
        tf.nn.embedding_lookup_sparse(*args, **options)
