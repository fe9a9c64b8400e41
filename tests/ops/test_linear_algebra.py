"""Linear algebra as users call it: what does not depend on signs, phases and rotations,
repeated values, and conventions.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gradtape as tf

from . import checks

la = tf.linalg


def random(*shape, kind="f"):
    rng = np.random.default_rng([len(shape), *shape])
    real = rng.normal(size=shape)
    return real + 1j * rng.normal(size=shape) if kind == "c" else real


def positive(*shape, kind="f"):
    x = random(*shape, kind=kind)
    return x @ x.conj().mT + np.eye(shape[-1])


def scaled(u, values, v):
    return (u * tf.cast(values, u.dtype)[..., None, :]) @ v


def of_svd(x):
    s, u, v = la.svd(x)
    return [
        s,
        scaled(u, tf.exp(s), la.adjoint(v)),
        scaled(u, s**3, la.adjoint(u)),
        v @ la.adjoint(v),
    ]


def of_full_svd(x):
    s, u, v = la.svd(x, full_matrices=True)
    count = min(x.shape[-2:])
    rest, weights = u[..., count:], np.diag(np.arange(1.0, 1 + u.shape[-1]))
    return [
        s,
        rest @ la.adjoint(rest),
        la.adjoint(u) @ u * weights,
        v[..., count:] @ la.adjoint(v[..., count:]),
    ]


def of_full_qr(x):
    q, r = la.qr(x, full_matrices=True)
    rest = q[..., r.shape[-1] :]
    return [r, q[..., : r.shape[-1]], rest @ la.adjoint(rest), q @ r]


def of_eigh(x):
    w, v = la.eigh(x)
    lowest = v[..., :1]
    return [w, scaled(v, tf.sin(tf.math.real(w)), la.adjoint(v)), lowest @ la.adjoint(lowest)]


def of_eigh_both_triangles(x):
    return of_eigh(x + la.adjoint(x))


def of_eig(x):
    w, v = la.eig(x)
    return [tf.reduce_sum(w**3), scaled(v, tf.exp(w), la.inv(v)), tf.reduce_sum(tf.abs(v) ** 3)]


def of_lu(x):
    factors, rows = la.lu(x)
    return [
        la.lu_reconstruct(tf.exp(factors), rows),
        la.lu_matrix_inverse(factors, rows),
        la.lu_solve(factors, rows, x @ x),
    ]


BANDS = np.array([[4.0], [0.0], [0.0]])
CALLS = {
    "svd": (of_svd, [random, (3, 3)]),
    "svd tall": (of_svd, [random, (4, 2)]),
    "svd wide": (of_svd, [random, (2, 3)]),
    "svd full tall": (of_full_svd, [random, (4, 2)]),
    "svd full wide": (of_full_svd, [random, (2, 4)]),
    "qr wide": (la.qr, [random, (2, 4)]),
    "qr full": (of_full_qr, [random, (4, 2)]),
    "eigh": (of_eigh, [positive, (3, 3)]),
    "eigh of a sum": (of_eigh_both_triangles, [random, (2, 2, 2)]),
    "eigvalsh": (la.eigvalsh, [positive, (2, 3, 3)]),
    "eig": (of_eig, [random, (3, 3)]),
    "eigvals": (lambda x: tf.reduce_sum(la.eigvals(x) ** 2), [random, (3, 3)]),
    "lu": (of_lu, [positive, (3, 3)]),
    "inv adjoint": (lambda x: la.inv(x, adjoint=True), [positive, (2, 2)]),
    "solve adjoint": (lambda a, b: la.solve(a, b, adjoint=True), [positive, (3, 3)],
        [random, (3, 2)]),
    "slogdet": (la.slogdet, [positive, (3, 3)]),
    "logdet": (lambda x: la.logdet(x + la.adjoint(x)), [positive, (2, 2, 2)]),
    "cholesky_solve": (la.cholesky_solve, [positive, (3, 3)], [random, (3, 1)]),
    "triangular adjoint": (lambda a, b: la.triangular_solve(a, b, lower=False, adjoint=True),
        [positive, (3, 3)], [random, (3, 1)]),
    "banded": (lambda a, b: la.banded_triangular_solve(a + BANDS, b), [random, (3, 4)],
        [random, (4, 2)]),
    "banded upper": (lambda a, b: la.banded_triangular_solve(a + BANDS[::-1], b, False),
        [random, (3, 4)], [random, (4, 2)]),
    "pinv": (la.pinv, [random, (3, 2)]),
    "lstsq": (lambda a, b, c: la.lstsq(a, b, tf.math.real(c) ** 2), [random, (4, 2)],
        [random, (4, 1)], [random, ()]),
    "lstsq wide": (la.lstsq, [random, (2, 4)], [random, (2, 1)]),
    "lstsq slow": (lambda a, b: la.lstsq(a, b, fast=False), [random, (2, 3)], [random, (2, 1)]),
    "tridiagonal_matmul": (la.tridiagonal_matmul, [random, (2, 3, 4)], [random, (2, 4, 1)]),
    "tridiagonal_solve": (
        lambda a, b:
            la.tridiagonal_solve(a + np.roll(BANDS, 1), b, transpose_rhs=True, conjugate_rhs=True),
        [random, (3, 4)],
        [random, (2, 4)],
    ),
    "tridiagonal_solve matrix": (
        lambda a, b: la.tridiagonal_solve(a + 4 * np.eye(3), b, "matrix"), [random, (3, 3)],
        [random, (3,)]
    ),
    "diag": (lambda x: la.diag(x, k=(-1, 1), align="LEFT_RIGHT"), [random, (2, 3, 3)]),
    "diag_part": (lambda x: la.diag_part(x, k=(-1, 2)), [random, (3, 4)]),
    "set_diag": (lambda x, d: la.set_diag(x, d, k=(0, 1)), [random, (3, 4)], [random, (2, 3)]),
    "tensor_diag": (la.tensor_diag, [random, (2, 2)]),
    "tensor_diag_part": (la.tensor_diag_part, [random, (2, 3, 2, 3)]),
    "spectral norm": (lambda x: la.norm(x, ord=2, axis=(0, 2)), [random, (3, 2, 2)]),
    "expm": (la.expm, [random, (2, 3, 3)]),
    "sqrtm": (la.sqrtm, [positive, (3, 3)]),
    "conjugate_gradient": (lambda a, b: la.experimental.conjugate_gradient(a @ la.adjoint(a), b,
        tol=1e-12).x, [positive, (2, 2)], [random, (2,)]),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize("call", CALLS)
def test_derivatives(call, kind):
    function, *made = CALLS[call]
    args = [np.asarray(make(*shape, kind=kind)) for make, shape in made]
    wanted = range(len(args))
    checks.check_gradient(function, args, wanted)
    checks.check_jvp(function, args, wanted)
    for outer, inner in itertools.product(["reverse", "forward"], repeat=2):
        checks.check_second_order(function, args, wanted, outer=outer, inner_mode=inner)


@pytest.mark.parametrize("kind", ["f", "c"])
def test_eigh_gradient_in_both_triangles(kind):
    x = tf.constant(positive(3, 3, kind=kind))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        losses = [
            tf.reduce_sum(tf.math.real(la.eigvalsh(x, symmetric_gradient=both)) ** 2)
            + tf.reduce_sum(tf.math.real(la.eigh(x, symmetric_gradient=both)[0]))
                for both in (False, True)
        ]  # fmt: skip
    lower, both = (tape.gradient(loss, x).numpy() for loss in losses)
    np.testing.assert_allclose(both, 2 * x.numpy() + np.eye(3))
    np.testing.assert_allclose(lower, np.tril(both) + np.tril(both, -1))


# Repeated values


@pytest.mark.parametrize("kind", ["f", "c"])
def test_projection_on_a_space_of_repeated_eigenvalues(kind):
    """The projection on the first two eigenvectors, whose values are equal,
    moves as V2 V2ᴴ D V1 V1ᴴ / gap.
    """
    basis, _ = np.linalg.qr(random(3, 3, kind=kind))
    x, d = basis @ np.diag([1.0, 1.0, 3.0]) @ basis.conj().T, positive(3, 3, kind=kind)

    def projection(a):
        _, v = la.eigh(a, symmetric_gradient=True)
        return v[:, :2] @ la.adjoint(v[:, :2])

    ones, other = basis[:, :2] @ basis[:, :2].conj().T, basis[:, 2:] @ basis[:, 2:].conj().T
    expected = (other @ d @ ones + ones @ d @ other) / -2
    given = tf.constant(x)
    with tf.autodiff.ForwardAccumulator(given, tf.constant(d)) as forward:
        found = projection(given)
    np.testing.assert_allclose(forward.jvp(found).numpy(), expected, atol=1e-12)


def test_singular_values_that_repeat():
    """U Vᵀ of a rotation moves by half of what is antisymmetric around it."""
    rotation, _ = np.linalg.qr(random(3, 3))
    x, d = tf.constant(rotation), random(3, 3)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(d)) as forward:
        _, u, v = la.svd(x)
        polar = u @ la.matrix_transpose(v)
    np.testing.assert_allclose(
        forward.jvp(polar).numpy(), (d - rotation @ d.T @ rotation) / 2, atol=1e-12
    )
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(la.svd(x, compute_uv=False) ** 2)
    np.testing.assert_allclose(tape.gradient(total, x).numpy(), 2 * rotation, atol=1e-12)


def leibniz(x):
    """The determinant as a polynomial."""
    total = 0.0
    for order in itertools.permutations(range(x.shape[-1])):
        sign = np.linalg.det(np.eye(len(order))[list(order)])
        product = sign
        for i, j in enumerate(order):
            product = product * x[..., i, j]
        total = total + product
    return total


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["f", "c"])
def test_determinant_of_singular_matrices_has_all_derivatives(rank, kind):
    x = tf.constant(random(3, rank, kind=kind) @ random(rank, 3, kind=kind))
    directions = [tf.constant(random(3, 3, kind=kind) + i) for i in range(3)]

    def derivatives(function, order):
        """The derivative of that order by x along the first directions."""
        if not order:
            return function(x)
        with tf.autodiff.ForwardAccumulator(x, directions[order - 1]) as forward:
            value = derivatives(function, order - 1)
        return forward.jvp(value)

    for order in (1, 2, 3):
        np.testing.assert_allclose(
            derivatives(la.det, order).numpy(),
            derivatives(leibniz, order).numpy(),
            rtol=1e-6,
            atol=1e-10,
        )
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        losses = [tf.math.real(f(tf.stack([x, x + np.eye(3)]))) for f in (la.det, leibniz)]
    found, expected = (tape.gradient(loss, x).numpy() for loss in losses)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_batched_determinants_of_singular_matrices():
    x = np.stack([np.diag([1.0, 0.0, 0.0]), np.diag([2.0, 3.0, 0.0]), np.eye(3)])
    hessians = tf.vmap(lambda a: second_derivative(la.det, a))(tf.constant(x)).numpy()
    assert hessians[0, 1, 1, 2, 2] == pytest.approx(1)
    assert hessians[1, 0, 0, 2, 2] == pytest.approx(3)
    assert hessians[2, 0, 1, 1, 0] == pytest.approx(-1)


def second_derivative(function, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        gradient = tape.gradient(y, x)
    return outer.jacobian(gradient, x)


# Conventions


def test_cholesky_gradient_is_symmetric():
    x = tf.constant([[2.0, 1.0], [1.0, 5.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = la.cholesky(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.full((2, 2), 0.23570226), rtol=1e-5)


def test_complex_matrices_have_real_values_where_tensorflow_has_them():
    x = positive(3, 3, kind="c")
    assert la.eigh(x)[0].dtype == la.eigvalsh(x).dtype == tf.complex128
    assert [part.dtype for part in la.slogdet(x)] == [tf.complex128] * 2
    assert la.svd(x)[0].dtype == la.logdet(x).dtype == tf.float64
    assert la.eig(tf.eye(2))[0].dtype == tf.complex64


def test_lu_orders_rows():
    factors, rows = la.lu(np.array([[1.0, 2.0], [3.0, 4.0]]), output_idx_type=tf.int64)
    assert rows.dtype == tf.int64
    np.testing.assert_allclose(factors.numpy(), [[3, 4], [1 / 3, 2 / 3]])
    assert rows.numpy().tolist() == [1, 0]


def test_bands_of_diagonals():
    x = np.arange(12.0).reshape(3, 4)
    found = la.diag_part(x, k=(-1, 2), padding_value=-1.0).numpy()
    assert found.tolist() == [[-1, 2, 7], [1, 6, 11], [0, 5, 10], [4, 9, -1]]
    assert la.diag_part(x, k=(-1, 2), align="LEFT_RIGHT").numpy().tolist() == [
        [2, 7, 0],
        [1, 6, 11],
        [0, 5, 10],
        [0, 4, 9],
    ]
    rows = np.array([[8, 9, 0.0], [1, 2, 3], [0, 4, 5]])
    placed = la.diag(rows, k=(-1, 1), num_rows=3, num_cols=4, padding_value=9.0).numpy()
    assert placed.tolist() == [[1, 8, 9, 9], [0, 2, 9, 9], [9, 4, 3, 0]]
    assert la.diag([True, False]).numpy().tolist() == [[True, False], [False, False]]
    assert la.diag_part(np.eye(2, dtype=bool), k=(0, 1), padding_value=True).numpy().tolist() == [
        [True, False],
        [True, True],
    ]
    assert la.set_diag(np.zeros((3, 3)), rows[:2], k=(-1, 0)).numpy().tolist() == [
        [8, 0, 0],
        [1, 9, 0],
        [0, 2, 0],
    ]


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_banded_systems(lower, adjoint):
    bands = np.array([[1.0, 2, 3], [7, 4, 5]]) if lower else np.array([[4, 5.0, 7], [1.0, 2, 3]])
    found = la.banded_triangular_solve(bands, np.ones((3, 1)), lower=lower, adjoint=adjoint).numpy()
    expected = [1, -1.5, 17 / 6] if lower != adjoint else [7 / 3, -1 / 3, 1 / 3]
    np.testing.assert_allclose(found[:, 0], expected)


def test_least_squares_of_any_rank():
    assert la.lstsq(np.ones((3, 2)), np.arange(3.0)[:, None], fast=False).numpy() == pytest.approx(
        0.5
    )
    assert np.isnan(la.lstsq(np.ones((3, 2)), np.arange(3.0)[:, None]).numpy()).all()
    assert la.lstsq(
        np.eye(3)[:, :2] * 2, np.ones((3, 1)), l2_regularizer=0.5
    ).numpy() == pytest.approx(4 / 9)


def test_rank_and_pseudoinverse_take_limits_for_each_matrix():
    x = np.stack([np.diag([1.0, 0.1])] * 2)
    assert la.matrix_rank(x, tol=tf.constant([0.5, 0.01], tf.float64)).numpy().tolist() == [1, 2]
    assert la.matrix_rank(np.ones((2, 3), int)).numpy() == 1
    np.testing.assert_allclose(
        la.pinv(x, rcond=[0.5, 0.01]).numpy(), [np.diag([1.0, 0.0]), np.diag([1.0, 10.0])]
    )


def test_tridiagonal_eigenvalues():
    alpha, beta = np.array([1.0, 2, 3]), np.array([0.5, 0.5])
    values = [2 - 1.5**0.5, 2, 2 + 1.5**0.5]
    np.testing.assert_allclose(la.eigh_tridiagonal(alpha, beta).numpy(), values)
    np.testing.assert_allclose(
        la.eigh_tridiagonal(alpha, beta, select="i", select_range=(0, 1)).numpy(), values[:2]
    )
    np.testing.assert_allclose(
        la.eigh_tridiagonal(alpha, beta, select="v", select_range=(1.5, 5.0)).numpy(), values[1:]
    )
    beside = np.array([0.5j, 0.5])
    w, v = la.eigh_tridiagonal(alpha + 0j, beside, eigvals_only=False)
    dense = np.diag(alpha) + np.diag(beside, 1) + np.diag(beside.conj(), -1)
    np.testing.assert_allclose(dense @ v.numpy(), v.numpy() * w.numpy(), atol=1e-12)
    checks.check_gradient(la.eigh_tridiagonal, [alpha, beta], [0, 1])


class Diagonal:
    """An operator that is no matrix."""

    is_self_adjoint = True

    def __init__(self, values, *, is_positive_definite=True):
        self.values = values
        self.is_positive_definite = is_positive_definite

    def matvec(self, x):
        return self.values * x


def test_conjugate_gradient():
    a, b = tf.constant([[4.0, 1.0], [1.0, 3.0]], tf.float64), tf.constant([1.0, 2.0], tf.float64)
    state = la.experimental.conjugate_gradient(a, b)
    np.testing.assert_allclose(state.x.numpy(), [1 / 11, 7 / 11])
    assert state.i.numpy() == 2
    one = la.experimental.conjugate_gradient(a, b, max_iter=1)
    np.testing.assert_allclose(
        [*one.x.numpy(), *one.p.numpy(), one.gamma.numpy()], [0.25, 0.5, -0.4375, 0.375, 0.3125]
    )
    values = tf.constant([2.0, 4.0], tf.float64)
    found = la.experimental.conjugate_gradient(
        Diagonal(values), b, preconditioner=Diagonal(1 / values), x=b
    )
    np.testing.assert_allclose(found.x.numpy(), [0.5, 0.5])
    with pytest.raises(ValueError, match="positive definite"):
        la.experimental.conjugate_gradient(Diagonal(values, is_positive_definite=False), b)


WIDE, VECTOR, ONES = np.ones((2, 3)), np.ones(3), np.ones((2, 2))
INVALID = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("error", "call"),
    [
        *[(INVALID, lambda f=f, x=x: f(x)) for x in (WIDE, VECTOR,
            np.eye(2, dtype=int)) for f in (la.inv, la.det, la.cholesky, la.slogdet, la.eigh,
            la.eig, la.eigvals, la.lu, la.sqrtm, la.logm)],
        (INVALID, lambda: la.inv(ONES)), (INVALID, lambda: la.solve(ONES, ONES)),
        (INVALID, lambda: la.lu(ONES)), (INVALID, lambda: la.solve(np.eye(2), np.ones((3, 2, 1)))),
        (INVALID, lambda: la.solve(np.eye(2), np.ones(2))),
        (INVALID, lambda: la.triangular_solve(np.eye(2), np.ones((3, 1)))),
        (INVALID, lambda: la.eigvalsh(np.full((2, 2), np.nan))),
        (INVALID, lambda: la.logm(np.eye(2))), (INVALID, lambda: la.svd(VECTOR)),
        (INVALID, lambda: la.expm(WIDE)), (ValueError, lambda: la.expm(np.eye(2, dtype=int))),
        (TypeError, lambda: la.pinv(np.eye(2, dtype=int))), (ValueError, lambda: la.pinv(VECTOR)),
        (ValueError, lambda: la.matrix_rank(VECTOR)),
        (INVALID, lambda: la.lstsq(np.ones((3, 2)), np.ones((2, 1)))),
        (INVALID, lambda: la.lstsq(np.ones((3, 2)), np.ones(3))),
        (INVALID, lambda: la.cross(WIDE, VECTOR)),
        (tf.errors.FailedPreconditionError, lambda: la.cross(np.ones(2), np.ones(2))),
        (INVALID, lambda: la.cross(VECTOR + 0j, VECTOR + 0j)),
        (INVALID, lambda: la.band_part(np.ones((3, 3)), 5, 0)),
        (INVALID, lambda: la.band_part(VECTOR, 1, 0)),
        (INVALID, lambda: la.set_diag(np.zeros((3, 3)), np.ones(2))),
        (INVALID, lambda: la.set_diag(np.zeros((2, 3, 3)), np.ones(3))),
        (INVALID, lambda: la.diag(WIDE, k=(-1, 1))),
        (INVALID, lambda: la.diag(WIDE, k=(0, 1), num_rows=2)),
        (INVALID, lambda: la.diag(WIDE, k=(0, 1), num_rows=7, num_cols=7)),
        (INVALID, lambda: la.diag(1.0)), (INVALID, lambda: la.diag_part(WIDE, k=(1, 0))),
        (INVALID, lambda: la.diag_part(WIDE, k=(-5, 0))),
        (INVALID, lambda: la.diag_part(WIDE, k=(0, 1, 2))),
        (INVALID, lambda: la.diag_part(WIDE, align="LEFT")), (INVALID, lambda: la.tensor_diag(1.0)),
        (INVALID, lambda: la.tensor_diag_part(WIDE)),
        (INVALID, lambda: la.tensor_diag_part(np.ones((2, 2, 2)))),
        (ValueError, lambda: la.tridiagonal_solve(np.ones((3, 3)), VECTOR, "rows")),
        (ValueError, lambda: la.tridiagonal_solve(WIDE, VECTOR)),
        (ValueError, lambda: la.tridiagonal_solve((VECTOR, VECTOR), VECTOR, "sequence")),
        (ValueError, lambda: la.tridiagonal_solve(WIDE, VECTOR, "matrix")),
        (ValueError, lambda: la.tridiagonal_solve(np.ones((3, 3)), np.ones(2))),
        (ValueError, lambda: la.tridiagonal_solve(np.ones((2, 3, 3)), VECTOR)),
        (ValueError, lambda: la.tridiagonal_solve(np.ones((3, 3)), VECTOR, partial_pivoting=False,
            perturb_singular=True)),
        (INVALID, lambda: la.tridiagonal_matmul(np.ones((3, 3)), VECTOR)),
        (ValueError, lambda: la.lu_solve(np.eye(2), [0, 1], np.ones(2))),
        (ValueError, lambda: la.lu_solve(np.eye(2), [0, 1], np.ones((3, 1)))),
        (ValueError, lambda: la.lu_reconstruct(np.eye(2), [0, 1, 2])),
        (INVALID, lambda: la.banded_triangular_solve(np.ones((3, 2)), np.ones((2, 1)))),
        (ValueError, lambda: la.eigh_tridiagonal(VECTOR, np.ones(2), select="q")),
        (TypeError, lambda: la.eigh_tridiagonal(VECTOR, np.ones(2), select="i")),
        (INVALID, lambda: la.eigh_tridiagonal(VECTOR, np.ones(2), select="i", select_range=(2, 1))),
        (INVALID, lambda: la.eigh_tridiagonal(VECTOR, np.ones(2), select="v", select_range=(2, 1))),
        (INVALID, lambda: la.eigh_tridiagonal(VECTOR, VECTOR)),
        (ValueError, lambda: la.norm(WIDE, ord="nuc", axis=(0, 1))),
    ],
)  # fmt: skip
def test_refused(error, call):
    with pytest.raises(error) as raised:
        call()
    assert raised.type is error


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("smallest", [10.0**-n for n in np.linspace(0, 14, 57)])
def test_the_gradient_of_a_determinant_at_every_condition(size, smallest):
    """Whichever way it is computed for a matrix of this condition,
    it is the matrix of cofactors.
    """
    rng = np.random.default_rng(size)
    u, v = (np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(2))
    x = u @ np.diag([*np.linspace(1.0, 2.0, size - 1), smallest]) @ v
    with tf.GradientTape() as tape:
        tensor = tf.constant(x)
        tape.watch(tensor)
        y = tf.linalg.det(tensor)
    cofactors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(size)]
        for i in range(size)
    ]
    np.testing.assert_allclose(tape.gradient(y, tensor).numpy(), cofactors, atol=1e-9)
