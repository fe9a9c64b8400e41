"""`gradtape.scipy.sparse.linalg`: against dense solutions, and their derivatives."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import gradtape as tf
from gradtape.scipy.sparse import linalg as ours
from tests.scipy.differences import check_derivatives, close, slope

SIZE = 7
RNG = np.random.default_rng(5)


def grid(symmetric):
    """A matrix with a full diagonal, some entries beside it, and one place that is given twice."""
    rows, columns = np.nonzero(np.abs(np.subtract.outer(range(SIZE), range(SIZE))) <= 1)
    values = np.where(rows == columns, 4.0, -1.0 + 0.1 * rows * columns / SIZE)
    if not symmetric:
        values = values + 0.3 * RNG.normal(size=len(values))
    rows, columns = np.append(rows, 2), np.append(columns, 2)
    return np.stack([rows, columns], 1), np.append(values, 0.5)


INDICES, VALUES = grid(symmetric=False)
_, MIRRORED = grid(symmetric=True)
B = RNG.normal(size=SIZE)
TIGHT = {"rtol": 1e-14}


def dense(values):
    out = np.zeros((SIZE, SIZE))
    np.add.at(out, tuple(INDICES.T), values)
    return out


def matrix(values):
    return tf.SparseTensor(INDICES, values, [SIZE, SIZE])


SOLVERS = {
    "spsolve": (ours.spsolve, VALUES),
    "cg": (lambda A, b: ours.cg(A, b, **TIGHT)[0], MIRRORED),
    "gmres": (lambda A, b: ours.gmres(A, b, **TIGHT)[0], VALUES),
}


@pytest.mark.parametrize("width", [None, 2])
@pytest.mark.parametrize("name", SOLVERS)
def test_solutions(name, width):
    solve, values = SOLVERS[name]
    b = B if width is None else np.stack([B, B[::-1]], 1)
    weights = np.cos(np.arange(b.size)).reshape(b.shape)
    both = np.concatenate([values, b.ravel()])
    split = lambda v: (v[: len(values)], v[len(values) :])

    def objective(v):
        found, right = split(v)
        x = solve(matrix(found), tf.reshape(right, b.shape))
        return tf.reduce_sum(weights * x**2)

    def reference(v):
        found, right = split(v)
        return np.sum(weights * np.linalg.solve(dense(found), right.reshape(b.shape)) ** 2)

    check_derivatives(objective, reference, both, compiled=width is None and name == "spsolve")


def test_the_matrix_of_scipy_is_a_constant():
    b = tf.Variable(B)
    for form in (sparse.csr_array, sparse.coo_array, sparse.csc_matrix):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(ours.spsolve(form(dense(VALUES)), b))
        close(y, np.linalg.solve(dense(VALUES), B).sum())
        close(tape.gradient(y, b), np.linalg.solve(dense(VALUES).T, np.ones(SIZE)))


def test_gradients_of_a_matrix_are_as_sparse_as_it_is():
    values = tf.Variable(VALUES)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(ours.spsolve(matrix(values), B))
    assert tape.gradient(y, values).shape == VALUES.shape


def test_many_right_hand_sides_in_a_batch_take_one_factorisation(monkeypatch):
    made = []
    from gradtape.scipy.sparse.linalg import systems

    original = systems.Factored
    monkeypatch.setattr(systems, "Factored", lambda *args: made.append(1) or original(*args))
    rows = np.stack([B, 2 * B, B[::-1]])
    values = tf.Variable(VALUES)
    with tf.GradientTape() as tape:
        A = matrix(values)
        x = tf.vectorized_map(lambda b: ours.spsolve(A, b), tf.constant(rows))
        y = tf.reduce_sum(x)
    close(x, np.linalg.solve(dense(VALUES), rows.T).T)
    found = tape.gradient(y, values)
    reference = lambda s: np.linalg.solve(dense(VALUES + s * np.eye(len(VALUES))[4]), rows.T).sum()
    close(found[4], slope(reference))
    jacobian_of = tf.constant(B)
    with tf.GradientTape() as tape:
        tape.watch(jacobian_of)
        x = ours.spsolve(A, jacobian_of)
    close(tape.jacobian(x, jacobian_of), np.linalg.inv(dense(VALUES)))
    assert len(made) == 2  # one for each call, and none for the derivatives


def test_batches_of_matrices():
    rows = np.stack([VALUES, 1.1 * VALUES])
    found = tf.vectorized_map(lambda v: ours.spsolve(matrix(v), B), tf.constant(rows))
    close(found, [np.linalg.solve(dense(v), B) for v in rows])


def test_dtypes_and_information():
    single = tf.cast(VALUES, tf.float32)
    x = ours.spsolve(matrix(single), tf.cast(B, tf.float32))
    assert x.dtype == tf.float32
    assert ours.spsolve(matrix(single), B).dtype == tf.float64
    assert ours.cg(matrix(MIRRORED), B)[1] == 0
    assert ours.spsolve(matrix(VALUES), np.zeros((SIZE, 0))).shape == (SIZE, 0)
    empty = tf.SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0), [0, 0])
    assert ours.spsolve(empty, np.zeros(0)).shape == (0,)


def test_preconditioners_starts_and_callbacks():
    seen = []
    inverse = sparse.diags_array(1 / np.diag(dense(MIRRORED)))
    b = tf.Variable(B)
    with tf.GradientTape() as tape:
        x, info = ours.cg(matrix(MIRRORED), b, B, M=inverse, callback=seen.append, **TIGHT)
        y = tf.reduce_sum(x)
    assert seen
    assert info == 0
    close(tape.gradient(y, b), np.linalg.solve(dense(MIRRORED).T, np.ones(SIZE)))
    lower = sparse.csr_array(np.linalg.inv(np.tril(dense(VALUES))))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(ours.gmres(matrix(VALUES), b, M=lower, callback=seen.append, **TIGHT)[0])
    close(tape.gradient(y, b), np.linalg.solve(dense(VALUES).T, np.ones(SIZE)))


def test_what_does_not_converge_says_so():
    with pytest.warns(RuntimeWarning, match="cg: no convergence after 1 iterations"):
        _, info = ours.cg(matrix(MIRRORED), B, maxiter=1)
    assert info == 1
    with pytest.warns(RuntimeWarning, match="gmres: no convergence"):
        tf.function(lambda b: ours.gmres(matrix(VALUES), b, maxiter=1, restart=1)[0])(B)


def test_singular_matrices_give_nan_and_say_so():
    flat = tf.SparseTensor([[0, 0], [1, 0]], [1.0, 1.0], [2, 2])
    with pytest.warns(RuntimeWarning, match="spsolve: the matrix is singular"):
        assert np.all(np.isnan(ours.spsolve(flat, [1.0, 1.0])))
    near = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 1]], np.array([1, 1, 1, 1 + 1e-12]), [2, 2])
    with pytest.warns(RuntimeWarning, match="spsolve: the matrix is ill-conditioned"):
        assert np.all(np.isfinite(ours.spsolve(near, np.ones(2))))


SHAPED = np.array([dense(MIRRORED)[i, j] for i, j in INDICES[:-1]]) + np.where(
    INDICES[:-1, 0] == INDICES[:-1, 1], 0.3 * INDICES[:-1, 0], 0
)


@pytest.mark.parametrize("which", ["LM", "SA"])
def test_eigenvalues(which):
    at = np.arange(3.0)
    weights = np.outer(np.sin(np.arange(SIZE)), [1.0, 2.0])

    def scaled(a, xp):
        places = np.subtract.outer(INDICES[:-1].sum(1), [0, 3, 6])
        return SHAPED + 0.1 * xp.sum(xp.cos(0.3 * places) * a, -1)

    def value(w, v, xp):
        return (
            xp.sum(w**2) + xp.sum(weights * v**2) + xp.sum(v[:, 0] * v[:, 1] * weights[:, 0]) ** 2
        )

    def objective(a):
        A = tf.SparseTensor(INDICES[:-1], scaled(a, tf.numpy), [SIZE, SIZE])
        w, v = ours.eigsh(A, 2, which=which, v0=np.ones(SIZE))
        close(ours.eigsh(A, 2, which=which, return_eigenvectors=False), w)
        return value(w, v, tf.numpy)

    def reference(a):
        full = np.zeros((SIZE, SIZE))
        np.add.at(full, tuple(INDICES[:-1].T), scaled(a, np))
        w, v = np.linalg.eigh(full)
        places = slice(-2, None) if which == "LM" else slice(0, 2)
        return value(w[places], v[:, places], np)

    x = tf.constant(at)
    expected = [slope(lambda s, e=e: reference(at + s * e)) for e in np.eye(3)]
    close(tf.grad(objective)(x), expected)
    close(tf.grad(tf.function(objective))(x), expected)
    close(tf.jvp(objective, [x], [x])[1], at @ expected)
    first = lambda s: tf.grad(objective)(tf.constant(at + s * np.eye(3)[1])).numpy()
    close(tf.hessian(objective)(x)[1], slope(first, step=1e-2), rtol=1e-5)


def test_repeated_eigenvalues_have_no_derivatives():
    values = tf.Variable(np.ones(3))
    eye = lambda: tf.SparseTensor([[0, 0], [1, 1], [2, 2]], values, [3, 3])
    with tf.GradientTape() as tape, pytest.warns(RuntimeWarning, match="eigsh: .* singular"):
        w, _ = ours.eigsh(eye(), 1)
    assert np.all(np.isnan(tape.gradient(w, values)))


REFUSED = {
    "dense": (lambda: ours.spsolve(np.eye(2), [1.0, 1.0]), TypeError, "A must be a SparseTensor"),
    "shape": (
        lambda: ours.spsolve(sparse.csr_array(np.ones((2, 3))), [1.0, 1.0]),
        ValueError,
        r"square matrix, got shape \(2, 3\)",
    ),
    "b": (
        lambda: ours.cg(sparse.eye_array(3), [1.0]), ValueError, r"3 rows, got shape \(1,\)",
    ),
    "complex": (
        lambda: ours.gmres(sparse.eye_array(2) * 1j, [1.0, 1.0]), TypeError, "complex128",
    ),
    "complex b": (lambda: ours.spsolve(sparse.eye_array(1), [1j]), TypeError, "b must hold real"),
    "not symmetric": (
        lambda: ours.eigsh(sparse.csr_array([[1.0, 2.0], [0.0, 1.0]]), 1), ValueError, "symmetric",
    ),
    "batch": (
        lambda: tf.vectorized_map(lambda v: ours.eigsh(matrix(v), 1)[0], np.ones((2, len(VALUES)))),
        ValueError,
        "not available inside vmap",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


def test_nothing_warns_where_nothing_is_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.spsolve(matrix(VALUES), B)
