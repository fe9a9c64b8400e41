"""Rows of tf.linalg."""

from table import COMPLEX, REAL, Arg, at, fixed, positive, real, row, rows_of

ANY = REAL + COMPLEX
SQUARE = at(
    [
        [[2.0, 0.3, -0.5], [0.1, 1.5, 0.4], [-0.2, 0.6, 3.0]],
        [[1.0, -0.7, 0.2], [0.5, 2.5, 0.1], [0.3, -0.4, -2.0]],
    ]
)
TALL = at([[2.0, 0.3], [0.1, 1.5], [-0.2, 0.6], [0.7, -0.9]])
COMPLEX_SQUARE = at([[2.0 + 0.5j, 0.3 - 0.2j], [0.1j, 1.5 - 1.0j]])


REPEATED = [[3.0, 1.0, 1.0], [1.0, 3.0, 1.0], [1.0, 1.0, 3.0]]  # its eigenvalues are 2, 2 and 5


def symmetric(*shape: int) -> Arg:
    """What stands in one triangle stands in the other,
    as the functions of Hermitian matrices ask for.
    """
    return positive(shape[-1], *shape[:-1])


def of_symmetric(name, **params):
    """A function that sees one triangle only: the row goes through the symmetric part,
    so that both triangles count.
    """

    def call(tf, x):
        return getattr(tf.linalg, name)((x + tf.linalg.adjoint(x)) / 2.0, **params)

    return call


def without_signs(tf, u, v):
    """Products that do not change with the sign, or phase, of a column."""
    return tf.matmul(u * v[..., None, :], u, adjoint_b=True)


def svd(tf, x):
    s, u, v = tf.linalg.svd(x)
    return [s, tf.matmul(u * tf.cast(s * s, u.dtype)[..., None, :], v, adjoint_b=True)]


def eigh(tf, x):
    values, vectors = tf.linalg.eigh((x + tf.linalg.adjoint(x)) / 2.0)
    return [values, without_signs(tf, vectors, tf.cast(values * values, vectors.dtype))]


def eig(tf, x):
    """Eigenvalues have no order, and eigenvectors no length: the sum of a function,
    and a quotient.
    """
    values, vectors = tf.linalg.eig(x)
    return [
        tf.reduce_sum(values * values * values, -1),
        tf.reduce_sum(values[None, :] * vectors[1:] / vectors[:1]),
    ]


ROWS = [
    *rows_of("tf.linalg.matmul", real(2, 3), real(3, 4), dtypes=ANY),
    row("tf.linalg.matmul", real(2, 3, 4), real(2, 5, 4), note="transpose_b", transpose_b=True),
    row("tf.linalg.matmul", real(4, 3), real(4, 2), note="adjoint_a", adjoint_a=True, dtypes=ANY),
    row("tf.linalg.matmul", real(2, 1, 3, 4), real(5, 4, 2), note="broadcast"),
    row("tf.linalg.matmul", fixed([[1, 2], [3, 4]]), fixed([[1, 2], [3, 4]]), note="int"),
    row("tf.linalg.matvec", real(2, 3, 4), real(2, 4), dtypes=ANY),
    row("tf.linalg.matvec", real(4, 3), real(4), note="transpose", transpose_a=True),
    *rows_of("tf.linalg.adjoint tf.linalg.matrix_transpose", real(2, 3, 4), dtypes=ANY),
    row("tf.linalg.band_part", real(2, 4, 4), 1, 0),
    row("tf.linalg.band_part", real(3, 4), -1, 1, note="upper"),
    row("tf.linalg.cross", real(2, 3), real(2, 3)),
    row("tf.linalg.diag", real(2, 3)),
    row("tf.linalg.diag", real(2, 3), note="k", k=1, padding_value=2.0),
    row("tf.linalg.diag", real(2, 3), note="bands", k=(-1, 0), num_cols=4),
    row("tf.linalg.diag_part", real(2, 3, 4)),
    row("tf.linalg.diag_part", real(3, 4), note="bands", k=(-1, 1), padding_value=9.0),
    row("tf.linalg.set_diag", real(2, 3, 3), real(2, 3)),
    row("tf.linalg.set_diag", real(3, 4), real(3), note="k", k=1),
    row("tf.linalg.tensor_diag", real(2, 3)),
    row("tf.linalg.tensor_diag_part", real(2, 3, 2, 3)),
    row("tf.linalg.trace", real(2, 3, 4), dtypes=ANY),
    row("tf.linalg.global_norm", real(2, 3), real(2),
        call=lambda tf, x, y: tf.linalg.global_norm([x, None, y])),
    row("tf.linalg.normalize", real(2, 3), axis=1),
    row("tf.linalg.normalize", real(2, 3), note="one", ord=1),
    row("tf.linalg.cholesky", symmetric(2, 3), call=of_symmetric("cholesky"), dtypes=ANY),
    row("tf.linalg.cholesky", symmetric(3), note="one triangle"),
    row("tf.linalg.cholesky_solve", symmetric(3), real(3, 2),
        call=lambda tf, x, y: tf.linalg.cholesky_solve(tf.linalg.cholesky(x), y)),
    row("tf.linalg.det", SQUARE),
    row("tf.linalg.det", at([[1.0, 2.0], [2.0, 4.0]]), note="singular"),
    row("tf.linalg.det", COMPLEX_SQUARE, note="complex", dtypes=COMPLEX),
    row("tf.linalg.slogdet", SQUARE, call=lambda tf, x: list(tf.linalg.slogdet(x))),
    row("tf.linalg.slogdet", COMPLEX_SQUARE, call=lambda tf, x: list(tf.linalg.slogdet(x)),
        note="complex", dtypes=COMPLEX),
    row("tf.linalg.logdet", symmetric(2, 3)),
    row("tf.linalg.inv", SQUARE),
    row("tf.linalg.inv", COMPLEX_SQUARE, note="complex", dtypes=COMPLEX),
    row("tf.linalg.inv", SQUARE, note="adjoint", adjoint=True),
    row("tf.linalg.solve", SQUARE, real(2, 3, 2)),
    row("tf.linalg.solve", COMPLEX_SQUARE, real(2, 1), note="adjoint", adjoint=True,
        dtypes=COMPLEX),
    row("tf.linalg.triangular_solve", SQUARE, real(2, 3, 2)),
    row("tf.linalg.triangular_solve", SQUARE, real(2, 3, 2), note="upper", lower=False,
        adjoint=True),
    row("tf.linalg.lstsq", TALL, real(4, 2)),
    row("tf.linalg.lstsq", TALL, real(4, 2), note="regularised", l2_regularizer=0.5),
    row("tf.linalg.lstsq", TALL, real(4, 2), note="not fast", fast=False),
    row("tf.linalg.pinv", TALL),
    row("tf.linalg.qr", TALL, call=lambda tf, x: list(tf.linalg.qr(x))),
    row("tf.linalg.qr", at([[2.0, 0.3, 1.0], [0.1, 1.5, -1.0]]),
        call=lambda tf, x: list(tf.linalg.qr(x)), note="wide"),
    row("tf.linalg.qr", TALL, call=lambda tf, x: tf.linalg.qr(x, full_matrices=True)[1],
        note="full"),
    row("tf.linalg.svd", SQUARE, compute_uv=False, note="values"),
    row("tf.linalg.svd", TALL, call=svd),
    row("tf.linalg.svd", COMPLEX_SQUARE, call=svd, note="complex", dtypes=COMPLEX),
    row("tf.linalg.eigh", symmetric(2, 3), call=eigh, dtypes=ANY),
    row("tf.linalg.eigvalsh", symmetric(3), call=of_symmetric("eigvalsh"), dtypes=ANY),
    row("tf.linalg.eigvalsh", symmetric(3), note="one triangle"),
    row("tf.linalg.eig", COMPLEX_SQUARE, call=eig, dtypes=COMPLEX),
    row("tf.linalg.eigvals", COMPLEX_SQUARE,
        call=lambda tf, x: tf.reduce_sum(tf.linalg.eigvals(x) ** 3, -1), dtypes=COMPLEX),
    row("tf.linalg.expm", SQUARE),
    row("tf.linalg.expm", COMPLEX_SQUARE, note="complex", dtypes=COMPLEX),
    row("tf.linalg.sqrtm", symmetric(3)),
    row("tf.linalg.sqrtm", COMPLEX_SQUARE, note="complex", dtypes=COMPLEX),
    row("tf.linalg.lu", SQUARE, call=lambda tf, x: list(tf.linalg.lu(x))),
    *[row(f"tf.linalg.{name}", at(REPEATED), note="repeated") for name in ("det", "inv", "expm",
        "sqrtm")],
    row("tf.linalg.cholesky", at(REPEATED), call=of_symmetric("cholesky"), note="repeated"),
    row("tf.linalg.logdet", at(REPEATED), call=of_symmetric("logdet"), note="repeated"),
    row("tf.linalg.slogdet", at(REPEATED), call=lambda tf, x: tf.linalg.slogdet(x)[1],
        note="repeated"),
    row("tf.linalg.solve", at(REPEATED), real(3, 2), note="repeated"),
    row("tf.linalg.eigvalsh", at(REPEATED),
        call=lambda tf, x: tf.reduce_sum(tf.linalg.eigvalsh((x + tf.transpose(x)) / 2.0) ** 3),
        note="repeated"),
    row("tf.linalg.svd", at(REPEATED),
        call=lambda tf, x: tf.reduce_sum(tf.linalg.svd(x, compute_uv=False) ** 4), note="repeated"),
    row("tf.linalg.expm", at([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]),
        note="nilpotent"),
    row("tf.linalg.det", at([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), note="nilpotent"),
    row("tf.linalg.lstsq", at([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]), real(3, 2),
        note="singular", l2_regularizer=0.5),
    row("tf.linalg.matrix_rank", fixed([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]])),
]  # fmt: skip
