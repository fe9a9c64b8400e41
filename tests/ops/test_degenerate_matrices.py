"""Functions of matrices where eigenvalues or singular values repeat, or are zero: those that are
smooth there have their derivatives.

Each function is tried at each matrix at which it is smooth; where vectors are not unique, it is one
that does not depend on the choice. Columns: gradient, forward mode, the adjoint identity, second
order, compiled equals eager, a batch equals a loop.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
import gradtape.numpy as tnp
from tests.ops import checks

L = tf.linalg
_TURN, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
RIGHT = np.arange(6.0).reshape(3, 2)


def _with(values):
    """A symmetric matrix with these eigenvalues."""
    return _TURN @ np.diag(values) @ _TURN.T


DEFINITE = {
    "identity": np.eye(3),
    "twice the same": _with([2.0, 2.0, 5.0]),
    "almost the same": _with([2.0, 2.0 + 1e-13, 5.0]),
    "three times": _with([4.0, 4.0, 4.0]),
}
SYMMETRIC = {
    **DEFINITE,
    "zero": np.zeros((3, 3)),
    "signs": _with([1.0, -1.0, -1.0]),
    "opposite": _with([2.0, -2.0, 1.0]),
    "rank one": np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
    "rank two": _with([0.0, 1.0, 3.0]),
    "rank two, twice the same": _with([0.0, 2.0, 2.0]),
}
INVERTIBLE = {
    **DEFINITE,
    "signs": SYMMETRIC["signs"],
    "orthogonal": _TURN,
    "rotation": np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "Jordan": np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]),
}
EVERY = {
    **SYMMETRIC,
    **INVERTIBLE,
    "nilpotent": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
    "rank two, not symmetric": np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]),
}
FACTORS = {
    "2 of 3": np.array([[1.0, 0.5], [0.0, 1.0], [2.0, -1.0]]),
    "orthonormal": _TURN[:, :2],
    "1 of 3": np.array([[1.0], [2.0], [-1.0]]),
}


def symmetric(x):
    return (x + L.adjoint(x)) / 2.0


def product_with_itself(x):
    """A singular matrix whose rank does not change with x."""
    return tf.matmul(x, x, adjoint_b=True)


# name: the function, where it is smooth, and whether the second order is right, too
FUNCTIONS = {
    "det": (L.det, EVERY, True),
    "slogdet": (lambda x: L.slogdet(x)[1], INVERTIBLE, True),
    "logdet": (lambda x: L.logdet(symmetric(x)), DEFINITE, True),
    "inv": (L.inv, INVERTIBLE, True),
    "solve": (lambda x: L.solve(x, tf.constant(RIGHT)), INVERTIBLE, True),
    "lstsq, regularised": (
        lambda x: L.lstsq(x, tf.constant(RIGHT), l2_regularizer=0.1),
        EVERY,
        True,
    ),
    "cholesky": (lambda x: L.cholesky(symmetric(x)), DEFINITE, True),
    "eigvalsh": (lambda x: tf.reduce_sum(L.eigvalsh(symmetric(x)) ** 3, -1), SYMMETRIC, False),
    "eigh": (lambda x: tf.reduce_sum(L.eigh(symmetric(x))[0] ** 2, -1), SYMMETRIC, False),
    "eigvals": (
        lambda x: tf.math.real(tf.reduce_sum(L.eigvals(symmetric(x)) ** 3, -1)),
        SYMMETRIC,
        False,
    ),
    "svd, values": (lambda x: tf.reduce_sum(L.svd(x, compute_uv=False) ** 4, -1), EVERY, False),
    "svd": (lambda x: tf.reduce_sum(L.svd(x)[0] ** 2, -1), EVERY, False),
    "nuclear norm": (lambda x: tnp.linalg.norm(x, "nuc", axis=(-2, -1)), INVERTIBLE, False),
    "Frobenius norm": (lambda x: tf.norm(x, ord="fro", axis=[-2, -1]), INVERTIBLE, True),
    "expm": (L.expm, EVERY, True),
    "sqrtm": (L.sqrtm, DEFINITE, True),
    "logm": (lambda x: tf.math.real(L.logm(tf.cast(x, tf.complex128))), DEFINITE, True),
    "matrix_power": (lambda x: tnp.linalg.matrix_power(x, 3), EVERY, True),
    "inverse power": (lambda x: tnp.linalg.matrix_power(x, -2), INVERTIBLE, True),
    "pinv of a singular matrix": (lambda x: L.pinv(product_with_itself(x)), FACTORS, False),
    "lstsq of a singular matrix": (
        lambda x: L.lstsq(product_with_itself(x), tf.constant(RIGHT), fast=False),
        FACTORS,
        False,
    ),
    "det of a singular matrix": (lambda x: L.det(product_with_itself(x)), FACTORS, True),
}
CASES = [
    pytest.param(function, matrix, second, id=f"{name} at {place}")
    for name, (function, places, second) in FUNCTIONS.items()
    for place, matrix in places.items()
]
every_case = pytest.mark.parametrize(("function", "matrix", "second"), CASES)


@every_case
def test_derivatives(function, matrix, second):
    checks.check_gradient(function, [matrix], [0])
    checks.check_jvp(function, [matrix], [0])
    checks.check_adjoint(function, [matrix], [0])
    checks.check_layouts(function, [matrix], [0])
    if second:
        checks.check_second_order(function, [matrix], [0], outer="reverse", inner_mode="reverse")
        checks.check_second_order(function, [matrix], [0], outer="forward", inner_mode="reverse")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("function", "matrix", "second"),
    [
        pytest.param(*case.values, id=case.id, marks=() if i % 4 == 0 else pytest.mark.slow)
        for i, case in enumerate(CASES)
    ],
)
def test_compiled_equals_eager(function, matrix, second):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
            total = tf.reduce_sum(y * np.arange(1.0, y.shape.num_elements() + 1.0).reshape(y.shape))
        return [y, tape.gradient(total, x)]

    x = tf.constant(matrix)
    for found, right in zip(tf.function(step, autograph=False)(x), step(x), strict=True):
        np.testing.assert_allclose(found.numpy(), right.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_of_them_equals_a_loop(name):
    function, places, _ = FUNCTIONS[name]
    shapes = {matrix.shape for matrix in places.values()}
    for shape in shapes:
        examples = [[matrix] for matrix in places.values() if matrix.shape == shape]
        checks.check_batching(function, examples)
        checks.check_batched_gradient(function, examples, [0])
