"""Linear algebra and products beyond the table: what has no answer, singular matrices,
invariants, batches, bad arguments.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp

MATRIX = tf.constant([[1.0, 2.0], [3.0, 5.0]])
SINGULAR = tf.constant([[1.0, 2.0], [2.0, 4.0]])
UNKNOWN = tf.fill([3, 3], float("nan"))
WIDE = tf.ones([2, 3])

NO_ANSWER = {
    "inv: ": lambda: np.linalg.inv(SINGULAR),
    "solve: ": lambda: np.linalg.solve(SINGULAR, tf.ones(2)),
    "cholesky: the matrix is not positive definite": lambda: np.linalg.cholesky(-MATRIX),
    "eig: ": lambda: np.linalg.eig(UNKNOWN),
    "eigvals: ": lambda: np.linalg.eigvals(UNKNOWN),
    "eigh: ": lambda: np.linalg.eigh(UNKNOWN),
    "eigvalsh: ": lambda: np.linalg.eigvalsh(UNKNOWN),
    "svd: ": lambda: np.linalg.svd(UNKNOWN),
    "svdvals: ": lambda: np.linalg.svdvals(UNKNOWN),
    "pinv: ": lambda: np.linalg.pinv(UNKNOWN),
    "lstsq: ": lambda: np.linalg.lstsq(UNKNOWN, tf.ones(3)),
    "det: a must be a square matrix, or a batch of them, got shape (2, 3)": lambda: np.linalg.det(
        WIDE
    ),
    "inv: a must be a matrix": lambda: np.linalg.inv(tf.ones(2)),
    "lstsq: a must be a matrix with as many rows as b": lambda: np.linalg.lstsq(WIDE, tf.ones(3)),
    "cond: x must not be empty": lambda: np.linalg.cond(tf.zeros([0, 2])),
    "multi_dot: arrays[1] must be a matrix": lambda: np.linalg.multi_dot(
        [MATRIX, tf.ones(2), MATRIX]
    ),
    "tensorinv: the first 1 axes": lambda: np.linalg.tensorinv(WIDE, ind=1),
    "tensorsolve: a of shape (2, 3) is not square": lambda: np.linalg.tensorsolve(WIDE, tf.ones(2)),
}


@pytest.mark.parametrize("says", NO_ANSWER)
def test_what_has_no_answer_is_a_linalg_error(says):
    with pytest.raises(np.linalg.LinAlgError, match=re.escape(says)):
        NO_ANSWER[says]()


def test_the_condition_of_a_singular_matrix_is_infinite():
    batch = tf.stack([MATRIX, SINGULAR])
    for p in (1, np.inf, "fro"):
        found = np.linalg.cond(batch, p).numpy()
        assert np.isfinite(found[0])
        assert np.isinf(found[1])
    assert np.isinf(np.linalg.cond(tf.zeros([2, 2])).numpy())
    assert np.isnan(
        np.linalg.cond(tf.stack([SINGULAR, MATRIX * float("nan")]), 1).numpy()
    ).tolist() == [False, True]


def test_least_squares_of_less_than_full_rank():
    a, b = np.outer([1.0, 2.0, 3.0], [1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    x, left, rank, values = np.linalg.lstsq(tf.constant(a), tf.constant(b))
    expected = np.linalg.lstsq(a, b)
    np.testing.assert_allclose(x.numpy(), expected[0], rtol=1e-12)
    assert left.shape == (0,)
    assert int(rank) == 1
    np.testing.assert_allclose(values.numpy(), expected[3], atol=1e-12)
    assert np.linalg.lstsq(tf.constant(a), tf.constant(b), rcond=-1)[2].dtype == tf.int32


def from_svd(m):
    u, s, vh = np.linalg.svd(m)
    return (u * tf.cast(s, u.dtype)) @ vh


def from_eig(m):
    values, vectors = np.linalg.eig(m)
    return (vectors * values) @ np.linalg.inv(vectors)


def from_qr(m):
    q, r = np.linalg.qr(m)
    return q @ r


@pytest.mark.parametrize("function", [from_svd, from_eig, from_qr])
def test_factors_that_multiply_to_the_matrix_have_its_derivatives(function):
    """Whatever phases the factors have."""
    rng = np.random.default_rng(3)
    x = tf.constant(rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))
    found, expected = two_orders(function, x), two_orders(lambda m: m, x)
    for mine, its in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), its.numpy(), rtol=1e-8, atol=1e-8)


def two_orders(function, x):
    """The first and a second derivative of a real function of the result."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = np.sum(np.abs(function(x)) ** 4)
        first = inner.gradient(y, x)
        along = np.real(np.sum(first * first))
    return first, outer.gradient(along, x)


def test_matrix_rank_of_a_vector_is_an_integer():
    assert type(np.linalg.matrix_rank(tf.ones(3))) is int
    assert np.linalg.matrix_rank(tf.zeros(3)) == 0
    with pytest.raises(ValueError, match="matrix_rank: tol and rtol"):
        np.linalg.matrix_rank(MATRIX, tol=0.1, rtol=0.1)


def test_cross_products_of_vectors_with_two_elements():
    x, y, z = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]), tf.constant([3.0, 4.0, 5.0])
    assert float(tnp.cross(x, y)) == -2
    np.testing.assert_array_equal(tnp.cross(x, z).numpy(), [10, -5, -2])
    np.testing.assert_array_equal(tnp.cross(z, x).numpy(), [-10, 5, 2])


def test_half_precision_is_computed_in_single():
    for dtype in (tf.float16, tf.bfloat16):
        x = tf.cast(MATRIX, dtype)
        assert np.linalg.inv(x).dtype == np.linalg.det(x).dtype == np.matmul(x, x).dtype == dtype
        assert np.fft.fft(x).dtype == tf.complex64


def test_batches():
    x = tf.constant(np.random.default_rng(0).normal(size=(3, 4, 2)))
    y = tf.constant(np.random.default_rng(1).normal(size=(4,)))
    for function in (
        lambda a: np.linalg.lstsq(a, y)[0],
        lambda a: np.linalg.norm(a, "nuc"),
        lambda a: np.convolve(a[:, 0], y, "same"),
        lambda a: np.linalg.multi_dot([a, a.T, a]),
        lambda a: np.polyfit(y, a, 2),
    ):
        loop = [function(a).numpy() for a in x]
        np.testing.assert_allclose(
            tf.vectorized_map(function, x).numpy(), loop, rtol=1e-9, atol=1e-9
        )


FAILURES = [
    (ValueError, "matmul: the last axis of the first factor has 2",
        lambda: np.matmul(MATRIX, tf.ones(3))),
    (ValueError, "matmul: a scalar is not a matrix", lambda: np.matmul(MATRIX, 2.0)),
    (ValueError, "dot: the last axis of the first factor has 2",
        lambda: np.dot(MATRIX, tf.ones([3, 2, 2])[:, :1])),
    (ValueError, "inner: the last axis", lambda: np.inner(MATRIX, tf.ones(3))),
    (ValueError, "vdot: the last axis", lambda: np.vdot(MATRIX, tf.ones(3))),
    (ValueError, "vecdot: the factors must have at least 1 and 1 axes",
        lambda: np.vecdot(MATRIX, tf.ones([]))),
    (ValueError, "matvec: the factors must have at least 2 and 1 axes",
        lambda: np.matvec(tf.ones(2), tf.ones(2))),
    (ValueError, "vecmat: the last axis of the first factor has 3",
        lambda: np.vecmat(tf.ones(3), MATRIX)),
    (ValueError, "outer: x1 and x2 must be vectors", lambda: np.linalg.outer(MATRIX, MATRIX)),
    (ValueError, "cross: the vectors must have two or three elements",
        lambda: np.cross(tf.ones(4), tf.ones(4))),
    (ValueError, "cross: the vectors must have three elements",
        lambda: np.linalg.cross(tf.ones(2), tf.ones(2))),
    (ValueError, "trace: a must have at least two axes", lambda: np.trace(tf.ones(2))),
    (ValueError, "einsum: 'ij,jk' describes 2 operands, but 1", lambda: np.einsum("ij,jk", MATRIX)),
    (ValueError, "einsum: give an equation", tnp.einsum),
    (TypeError, "einsum: a list of axes must contain integers", lambda: np.einsum(MATRIX, [0, 99])),
    (ValueError, "convolve: mode must be 'full', 'same' or 'valid'",
        lambda: np.convolve(tf.ones(2), tf.ones(2), "some")),
    (ValueError, "correlate: a must be a vector", lambda: np.correlate(MATRIX, tf.ones(2))),
    (ValueError, "norm: ord of a matrix must be", lambda: np.linalg.norm(MATRIX, 3)),
    (ValueError, "norm: ord of a vector must be a number",
        lambda: np.linalg.norm(tf.ones(2), "fro")),
    (ValueError, "norm: a norm with ord=2 takes one axis or two",
        lambda: np.linalg.norm(tf.ones([2, 2, 2]), 2)),
    (TypeError, "matrix_power: n must be an integer", lambda: np.linalg.matrix_power(MATRIX, 1.5)),
    (ValueError, "multi_dot: arrays must have at least two", lambda: np.linalg.multi_dot([MATRIX])),
    (ValueError, "pinv: rcond and rtol mean the same",
        lambda: np.linalg.pinv(MATRIX, rcond=0.1, rtol=0.1)),
    (ValueError, "qr: mode must be", lambda: np.linalg.qr(MATRIX, mode="half")),
    (ValueError, "eigh: UPLO must be 'L' or 'U'", lambda: np.linalg.eigh(MATRIX, "M")),
    (ValueError, "solve: b must have at least one axis",
        lambda: np.linalg.solve(MATRIX, tf.ones([]))),
    (ValueError, "tensorinv: ind must be positive", lambda: np.linalg.tensorinv(MATRIX, ind=0)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "says", "call"), FAILURES, ids=[says for _, says, _ in FAILURES])
def test_bad_arguments_are_named(error, says, call):
    with pytest.raises(error, match=re.escape(says)):
        call()
