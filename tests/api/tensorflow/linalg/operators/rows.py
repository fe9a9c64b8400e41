"""The table of linear operators: how each is made of its parameters, and the matrix that it is.

`make` and `dense` take the library, gradtape or TensorFlow, and the parameters. `dense` says
the matrix with functions of tensors alone, so that its derivatives are those of the operator.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SEED = 7


class Row(NamedTuple):
    make: Callable[..., Any]
    dense: Callable[..., Any]
    parameters: dict[str, np.ndarray]
    hints: tuple[Any, Any, Any, Any]  # non-singular, self-adjoint, positive definite, square
    solvable: bool = True  # its systems have a solution, and a well-conditioned one
    dtype: Any = np.float64
    repeated: bool = False  # eigenvalues are, whose derivatives do not exist

    def operator(self, tf, parameters=None):
        return self.make(tf, *(self.parameters if parameters is None else parameters).values())

    def matrix(self, tf, parameters=None):
        return self.dense(tf, *(self.parameters if parameters is None else parameters).values())


def values(*shape, low=-1.0, high=1.0, seed=SEED):
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape)


def positive(*shape, seed=SEED):
    return values(*shape, low=1.0, high=2.0, seed=seed)


def near_identity(*shape, seed=SEED):
    """Matrices that are well conditioned, though no diagonal dominates by far."""
    return values(*shape, seed=seed) * 0.4 + 1.5 * np.eye(*shape[-2:])


def complex_values(*shape, seed=SEED):
    return values(*shape, seed=seed) + 1j * values(*shape, seed=seed + 1)


def full(tf, x, **hints):
    return tf.linalg.LinearOperatorFullMatrix(x, **hints)


def diag(tf, x, **hints):
    return tf.linalg.LinearOperatorDiag(x, **hints)


def tril(tf, x, **hints):
    return tf.linalg.LinearOperatorLowerTriangular(x, **hints)


def lower(tf, x):
    return tf.linalg.band_part(x, -1, 0)


def kron(tf, a, b):
    rows, columns = a.shape[-2] * b.shape[-2], a.shape[-1] * b.shape[-1]
    blocks = a[..., :, None, :, None] * b[..., None, :, None, :]
    return tf.reshape(blocks, [*blocks.shape[:-4], rows, columns])


def adjoint(tf, x):
    return tf.linalg.adjoint(x)


def stacked(tf, rows):
    """A matrix of blocks, in a batch shape that they have together."""
    batch = np.broadcast_shapes(*[tuple(block.shape[:-2]) for row in rows for block in row])
    wide = [
        tf.concat([tf.broadcast_to(b, [*batch, *b.shape[-2:]]) for b in row], axis=-1)
        for row in rows
    ]
    return tf.concat(wide, axis=-2)


def zeros(tf, rows, columns, dtype=np.float64):
    return tf.constant(np.zeros((rows, columns), dtype))


def symmetric(tf, x):
    return (x + tf.linalg.adjoint(x)) / 2 + 2 * tf.eye(x.shape[-1], dtype=x.dtype)


def circulant(tf, spectrum, dtype, depth=1):
    """By the matrix of the Fourier transform."""
    shape = tuple(spectrum.shape[-depth:])
    size = int(np.prod(shape))
    transform = np.ones((1, 1))
    for count in shape:
        grid = np.outer(np.arange(count), np.arange(count))
        transform = np.kron(transform, np.exp(-2j * np.pi * grid / count))
    flat = tf.reshape(tf.cast(spectrum, tf.complex128), [*spectrum.shape[:-depth], size])
    back = tf.constant(transform.conj().T / size)
    found = tf.matmul(back, flat[..., :, None] * tf.constant(transform))
    return found if dtype == np.complex128 else tf.math.real(found)


def even(tf, half):
    """The spectrum of a real symmetric matrix."""
    return tf.concat([half, half[..., 1:2]], axis=-1)


def toeplitz(tf, col, row):
    shape = np.broadcast_shapes(tuple(col.shape), tuple(row.shape))
    col, row = tf.broadcast_to(col, shape), tf.broadcast_to(row, shape)
    size = shape[-1]
    entries = tf.concat([tf.reverse(col, [len(shape) - 1]), row[..., 1:]], axis=-1)
    rows = [entries[..., size - 1 - i : 2 * size - 1 - i] for i in range(size)]
    return tf.stack(rows, axis=-2)


def tridiagonal(tf, upper, main, below):
    size = main.shape[-1]
    found = tf.linalg.diag(main)
    if size > 1:
        found = found + tf.linalg.diag(upper[..., :-1], k=1) + tf.linalg.diag(below[..., 1:], k=-1)
    return found


def householder(tf, v):
    squares = tf.math.real(v * tf.math.conj(v)) if v.dtype.is_complex else v * v
    length = tf.cast(tf.sqrt(tf.reduce_sum(squares, axis=-1, keepdims=True)), v.dtype)
    column = (v / length)[..., None]
    return tf.eye(v.shape[-1], dtype=v.dtype) - 2 * tf.matmul(column, adjoint(tf, column))


def with_adjoint(tf, operator):
    return tf.linalg.LinearOperatorComposition([operator, operator.H])


def low_rank(tf, base, u, d, v):
    product = u if d is None else u * d[..., None, :]
    return base + tf.matmul(product, adjoint(tf, u if v is None else v))


_TALL = (None, None, None, False)
_SQUARE = (None, None, None, True)
_SYMMETRIC = (None, True, None, True)
_POSITIVE = (True, True, True, True)
_REGULAR = (True, None, None, True)

ROWS = {
    "identity": Row(
        lambda tf: tf.linalg.LinearOperatorIdentity(3, dtype=tf.float64),
        lambda tf: tf.eye(3, dtype=tf.float64),
        {},
        _POSITIVE,
    ),
    "identity batch": Row(
        lambda tf: tf.linalg.LinearOperatorIdentity(3, batch_shape=[2], dtype=tf.float64),
        lambda tf: tf.eye(3, batch_shape=[2], dtype=tf.float64),
        {},
        _POSITIVE,
    ),
    "scaled identity": Row(
        lambda tf, m: tf.linalg.LinearOperatorScaledIdentity(3, m),
        lambda tf, m: m * tf.eye(3, dtype=m.dtype),
        {"m": positive()},
        _SYMMETRIC,
    ),
    "scaled identity batch": Row(
        lambda tf, m: tf.linalg.LinearOperatorScaledIdentity(3, m, is_positive_definite=True),
        lambda tf, m: m[..., None, None] * tf.eye(3, dtype=m.dtype),
        {"m": positive(2, 1)},
        _POSITIVE,
    ),
    "scaled identity complex": Row(
        lambda tf, m: tf.linalg.LinearOperatorScaledIdentity(3, m),
        lambda tf, m: m[..., None, None] * tf.eye(3, dtype=m.dtype),
        {"m": complex_values(2)},
        _SQUARE,
        dtype=np.complex128,
    ),
    "diag": Row(
        lambda tf, d: diag(tf, d), lambda tf, d: tf.linalg.diag(d), {"d": values(3) + 2}, _SYMMETRIC
    ),
    "diag batch": Row(
        lambda tf, d: diag(tf, d, is_positive_definite=True),
        lambda tf, d: tf.linalg.diag(d),
        {"d": positive(2, 1, 3)},
        _POSITIVE,
    ),
    "diag complex": Row(
        lambda tf, d: diag(tf, d),
        lambda tf, d: tf.linalg.diag(d),
        {"d": complex_values(2, 3)},
        _SQUARE,
        dtype=np.complex128,
    ),
    "lower triangular": Row(
        lambda tf, t: tril(tf, t, is_non_singular=True), lower, {"t": near_identity(3, 3)}, _REGULAR
    ),
    "lower triangular batch": Row(
        lambda tf, t: tril(tf, t), lower, {"t": near_identity(2, 3, 3)}, _SQUARE
    ),
    "full matrix": Row(full, lambda tf, x: x, {"x": near_identity(3, 3)}, _SQUARE),
    "full matrix batch": Row(
        lambda tf, x: full(tf, x, is_non_singular=True),
        lambda tf, x: x,
        {"x": near_identity(2, 1, 3, 3)},
        _REGULAR,
    ),
    "full matrix tall": Row(full, lambda tf, x: x, {"x": values(4, 3)}, _TALL),
    "full matrix wide batch": Row(full, lambda tf, x: x, {"x": values(2, 3, 4)}, _TALL),
    "full matrix positive": Row(
        lambda tf, x: full(tf, symmetric(tf, x), is_self_adjoint=True, is_positive_definite=True),
        symmetric,
        {"x": values(3, 3)},
        _POSITIVE,
    ),
    "full matrix complex": Row(
        full,
        lambda tf, x: x,
        {"x": near_identity(3, 3) + 0.3j * values(3, 3, seed=1)},
        _SQUARE,
        dtype=np.complex128,
    ),
    "full matrix complex positive": Row(
        lambda tf, x: full(tf, symmetric(tf, x), is_self_adjoint=True, is_positive_definite=True),
        symmetric,
        {"x": complex_values(2, 3, 3) * 0.5},
        _POSITIVE,
        dtype=np.complex128,
    ),
    "low rank update": Row(
        lambda tf, b, u: tf.linalg.LinearOperatorLowRankUpdate(
            diag(tf, b, is_positive_definite=True), u
        ),
        lambda tf, b, u: low_rank(tf, tf.linalg.diag(b), u, None, None),
        {"b": positive(4), "u": values(4, 2)},
        _POSITIVE,
    ),
    "low rank update positive batch": Row(
        lambda tf, b, u, d: tf.linalg.LinearOperatorLowRankUpdate(
            diag(tf, b, is_positive_definite=True), u, d, is_diag_update_positive=True
        ),
        lambda tf, b, u, d: low_rank(tf, tf.linalg.diag(b), u, d, None),
        {"b": positive(4), "u": values(2, 4, 2), "d": positive(2, 2)},
        _POSITIVE,
    ),
    "low rank update any": Row(
        lambda tf, b, u, d, v: tf.linalg.LinearOperatorLowRankUpdate(full(tf, b), u, d, v),
        lambda tf, b, u, d, v: low_rank(tf, b, u, d, v),
        {
            "b": near_identity(4, 4) * 2,
            "u": values(4, 2),
            "d": values(2),
            "v": values(2, 4, 2, seed=3),
        },
        _SQUARE,
    ),
    "low rank update symmetric": Row(
        lambda tf, b, u, d: tf.linalg.LinearOperatorLowRankUpdate(diag(tf, b), u, d),
        lambda tf, b, u, d: low_rank(tf, tf.linalg.diag(b), u, d, None),
        {"b": positive(3), "u": values(3, 1), "d": values(2, 1)},
        _SYMMETRIC,
    ),
    "low rank update complex": Row(
        lambda tf, b, u, d, v: tf.linalg.LinearOperatorLowRankUpdate(full(tf, b), u, d, v),
        lambda tf, b, u, d, v: low_rank(tf, b, u, d, v),
        {
            "b": near_identity(3, 3) * (2 + 1j),
            "u": complex_values(3, 2),
            "d": complex_values(2),
            "v": complex_values(3, 2, seed=3),
        },
        _SQUARE,
        dtype=np.complex128,
    ),
    "kronecker": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorKronecker([full(tf, a), full(tf, b)]),
        kron,
        {"a": near_identity(2, 2), "b": near_identity(3, 3)},
        _SQUARE,
    ),
    "kronecker of three": Row(
        lambda tf, a, b, c: tf.linalg.LinearOperatorKronecker(
            [diag(tf, a), tril(tf, b), full(tf, c)]
        ),
        lambda tf, a, b, c: kron(tf, kron(tf, tf.linalg.diag(a), lower(tf, b)), c),
        {"a": positive(2), "b": near_identity(2, 2, 2), "c": near_identity(1, 3, 3)},
        _SQUARE,
    ),
    "kronecker tall": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorKronecker([full(tf, a), full(tf, b)]),
        kron,
        {"a": values(3, 2), "b": values(2, 2, 1)},
        _TALL,
    ),
    "kronecker positive": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorKronecker(
            [
                diag(tf, a, is_positive_definite=True),
                full(tf, symmetric(tf, b), is_self_adjoint=True, is_positive_definite=True),
            ]
        ),
        lambda tf, a, b: kron(tf, tf.linalg.diag(a), symmetric(tf, b)),
        {"a": positive(2), "b": values(2, 2)},
        _POSITIVE,
    ),
    "kronecker complex": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorKronecker([full(tf, a), full(tf, b)]),
        kron,
        {"a": near_identity(2, 2) + 0.3j, "b": near_identity(2, 2, 2) - 0.2j},
        _SQUARE,
        dtype=np.complex128,
    ),
    "block diag": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorBlockDiag([full(tf, a), diag(tf, b)]),
        lambda tf, a, b: stacked(tf, [[a, zeros(tf, 2, 3)], [zeros(tf, 3, 2), tf.linalg.diag(b)]]),
        {"a": near_identity(2, 2), "b": positive(3)},
        _SQUARE,
    ),
    "block diag batch": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorBlockDiag(
            [tril(tf, a, is_non_singular=True), diag(tf, b, is_positive_definite=True)]
        ),
        lambda tf, a, b: stacked(
            tf, [[lower(tf, a), zeros(tf, 2, 3)], [zeros(tf, 3, 2), tf.linalg.diag(b)]]
        ),
        {"a": near_identity(2, 1, 2, 2), "b": positive(3, 3)},
        _REGULAR,
    ),
    "block diag positive": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorBlockDiag(
            [diag(tf, a, is_positive_definite=True), diag(tf, b, is_positive_definite=True)]
        ),
        lambda tf, a, b: tf.linalg.diag(tf.concat([a, b], axis=-1)),
        {"a": positive(2), "b": positive(1)},
        _POSITIVE,
    ),
    "block diag tall": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorBlockDiag(
            [full(tf, a), full(tf, b)], is_square=None
        ),
        lambda tf, a, b: stacked(tf, [[a, zeros(tf, 3, 2)], [zeros(tf, 2, 2), b]]),
        {"a": values(3, 2), "b": values(2, 2)},
        _TALL,
    ),
    "block lower triangular": Row(
        lambda tf, a, b, c: tf.linalg.LinearOperatorBlockLowerTriangular(
            [[full(tf, a)], [full(tf, b), diag(tf, c)]]
        ),
        lambda tf, a, b, c: stacked(tf, [[a, zeros(tf, 2, 3)], [b, tf.linalg.diag(c)]]),
        {"a": near_identity(2, 2), "b": values(3, 2), "c": positive(3)},
        _SQUARE,
    ),
    "block lower triangular batch": Row(
        lambda tf, a, b, c, d, e, f: tf.linalg.LinearOperatorBlockLowerTriangular(
            [
                [tril(tf, a, is_non_singular=True)],
                [full(tf, b), diag(tf, c, is_non_singular=True)],
                [full(tf, d), full(tf, e), full(tf, f, is_non_singular=True)],
            ]
        ),
        lambda tf, a, b, c, d, e, f: stacked(
            tf,
            [
                [lower(tf, a), zeros(tf, 1, 2), zeros(tf, 1, 2)],
                [b, tf.linalg.diag(c), zeros(tf, 2, 2)],
                [d, e, f],
            ],
        ),
        {
            "a": near_identity(1, 1),
            "b": values(2, 1),
            "c": positive(2, 2),
            "d": values(2, 2, 1),
            "e": values(2, 2),
            "f": near_identity(2, 2),
        },
        _REGULAR,
    ),
    "circulant": Row(
        lambda tf, s: tf.linalg.LinearOperatorCirculant(even(tf, s), input_output_dtype=tf.float64),
        lambda tf, s: circulant(tf, even(tf, s), np.float64),
        {"s": np.array([2.0, 1.5, 1.2])},
        _SYMMETRIC,
        repeated=True,
    ),
    "circulant complex": Row(
        lambda tf, s: tf.linalg.LinearOperatorCirculant(s, input_output_dtype=tf.complex128),
        lambda tf, s: circulant(tf, s, np.complex128),
        {"s": complex_values(2, 5) + 2},
        _SQUARE,
        dtype=np.complex128,
    ),
    "circulant positive": Row(
        lambda tf, s: tf.linalg.LinearOperatorCirculant(
            s, input_output_dtype=tf.complex128, is_positive_definite=True
        ),
        lambda tf, s: circulant(tf, s, np.complex128),
        {"s": positive(4)},
        _POSITIVE,
        dtype=np.complex128,
    ),
    "circulant 2d": Row(
        lambda tf, s: tf.linalg.LinearOperatorCirculant2D(s, input_output_dtype=tf.complex128),
        lambda tf, s: circulant(tf, s, np.complex128, 2),
        {"s": complex_values(2, 2, 3) + 2},
        _SQUARE,
        dtype=np.complex128,
    ),
    "circulant 3d": Row(
        lambda tf, s: tf.linalg.LinearOperatorCirculant3D(s, input_output_dtype=tf.complex128),
        lambda tf, s: circulant(tf, s, np.complex128, 3),
        {"s": positive(2, 3, 2)},
        _SYMMETRIC,
        dtype=np.complex128,
    ),
    "toeplitz": Row(
        lambda tf, c, r: tf.linalg.LinearOperatorToeplitz(c, r),
        toeplitz,
        {"c": values(4) + np.array([3, 0, 0, 0]), "r": values(4, seed=3) + np.array([3, 0, 0, 0])},
        _SQUARE,
    ),
    "toeplitz batch": Row(
        lambda tf, c, r: tf.linalg.LinearOperatorToeplitz(c, r),
        toeplitz,
        {"c": values(2, 3) + np.array([3, 0, 0]), "r": values(2, 3, seed=3) + np.array([3, 0, 0])},
        _SQUARE,
    ),
    "toeplitz complex": Row(
        lambda tf, c, r: tf.linalg.LinearOperatorToeplitz(c, r),
        toeplitz,
        {"c": complex_values(3) + np.array([3, 0, 0]), "r": complex_values(3, seed=3)},
        _SQUARE,
        dtype=np.complex128,
    ),
    "tridiag compact": Row(
        lambda tf, d: tf.linalg.LinearOperatorTridiag(d),
        lambda tf, d: tridiagonal(tf, d[..., 0, :], d[..., 1, :], d[..., 2, :]),
        {"d": values(3, 4) + np.array([[0], [3], [0]])},
        _SQUARE,
    ),
    "tridiag compact batch": Row(
        lambda tf, d: tf.linalg.LinearOperatorTridiag(d),
        lambda tf, d: tridiagonal(tf, d[..., 0, :], d[..., 1, :], d[..., 2, :]),
        {"d": values(2, 3, 4) + np.array([[0], [3], [0]])},
        _SQUARE,
    ),
    "tridiag sequence": Row(
        lambda tf, u, m, b: tf.linalg.LinearOperatorTridiag([u, m, b], diagonals_format="sequence"),
        tridiagonal,
        {"u": values(2, 3), "m": positive(2, 3) + 1, "b": values(2, 3, seed=4)},
        _SQUARE,
    ),
    "tridiag complex": Row(
        lambda tf, d: tf.linalg.LinearOperatorTridiag(d),
        lambda tf, d: tridiagonal(tf, d[..., 0, :], d[..., 1, :], d[..., 2, :]),
        {"d": complex_values(3, 3) + np.array([[0], [3], [0]])},
        _SQUARE,
        dtype=np.complex128,
    ),
    "tridiag matrix": Row(
        lambda tf, u, m, b: tf.linalg.LinearOperatorTridiag(
            tridiagonal(tf, u, m, b), diagonals_format="matrix"
        ),
        tridiagonal,
        {"u": values(3), "m": positive(3) + 1, "b": values(3, seed=4)},
        _SQUARE,
    ),
    "householder": Row(
        lambda tf, v: tf.linalg.LinearOperatorHouseholder(v),
        householder,
        {"v": values(2, 3)},
        (None, True, False, True),
    ),
    "householder complex": Row(
        lambda tf, v: tf.linalg.LinearOperatorHouseholder(v),
        householder,
        {"v": complex_values(3)},
        (None, True, False, True),
        dtype=np.complex128,
    ),
    "permutation": Row(
        lambda tf: tf.linalg.LinearOperatorPermutation([1, 2, 0], dtype=tf.float64),
        lambda tf: tf.constant(np.eye(3)[[1, 2, 0]]),
        {},
        _SQUARE,
    ),
    "permutation batch": Row(
        lambda tf: tf.linalg.LinearOperatorPermutation([[1, 2, 0], [0, 2, 1]], dtype=tf.float64),
        lambda tf: tf.constant(np.eye(3)[[[1, 2, 0], [0, 2, 1]]]),
        {},
        _SQUARE,
    ),
    "composition": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorComposition([full(tf, a), tril(tf, b)]),
        lambda tf, a, b: tf.matmul(a, lower(tf, b)),
        {"a": near_identity(2, 3, 3), "b": near_identity(1, 3, 3)},
        _SQUARE,
    ),
    "composition with adjoint": Row(
        lambda tf, a: with_adjoint(tf, tril(tf, a, is_non_singular=True)),
        lambda tf, a: tf.matmul(lower(tf, a), adjoint(tf, lower(tf, a))),
        {"a": near_identity(3, 3)},
        _POSITIVE,
    ),
    "composition tall": Row(
        lambda tf, a, b: tf.linalg.LinearOperatorComposition([full(tf, a), full(tf, b)]),
        lambda tf, a, b: tf.matmul(a, b),
        {"a": values(4, 2), "b": values(2, 3)},
        _TALL,
        solvable=False,
    ),
    "inversion": Row(
        lambda tf, a: tf.linalg.LinearOperatorInversion(full(tf, a)),
        lambda tf, a: tf.linalg.inv(a),
        {"a": near_identity(2, 3, 3)},
        _SQUARE,
    ),
    "adjoint": Row(
        lambda tf, a: tf.linalg.LinearOperatorAdjoint(full(tf, a)),
        adjoint,
        {"a": near_identity(3, 3)},
        _SQUARE,
    ),
    "adjoint complex": Row(
        lambda tf, a: tf.linalg.LinearOperatorAdjoint(full(tf, a)),
        adjoint,
        {"a": near_identity(3, 3) + 0.3j * values(3, 3, seed=5)},
        _SQUARE,
        dtype=np.complex128,
    ),
    "adjoint wide": Row(
        lambda tf, a: tf.linalg.LinearOperatorAdjoint(full(tf, a)),
        adjoint,
        {"a": values(2, 4, 2)},
        _TALL,
    ),
    "zeros": Row(
        lambda tf: tf.linalg.LinearOperatorZeros(3, batch_shape=[2], dtype=tf.float64),
        lambda tf: tf.zeros([2, 3, 3], tf.float64),
        {},
        (False, True, False, True),
        solvable=False,
    ),
    "zeros wide": Row(
        lambda tf: tf.linalg.LinearOperatorZeros(
            2, 3, dtype=tf.float64, is_square=False, is_self_adjoint=False
        ),
        lambda tf: tf.zeros([2, 3], tf.float64),
        {},
        (False, False, False, False),
        solvable=False,
    ),
}
