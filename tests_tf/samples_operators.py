"""Rows of the classes of `tf.linalg.LinearOperator`: products and solutions, by every parameter."""

from table import at, positive, real, row

SQUARE = at([[2.0, 0.3, -0.5], [0.1, 1.5, 0.4], [-0.2, 0.6, 3.0]])
DIAGONAL = at([2.0, 1.5, 3.0])


def sample(name, make, *parameters, size=3, **options):
    """A row for a class, whose operator is made of the parameters."""

    def call(tf, x, *parts):
        operator = make(getattr(tf.linalg, f"LinearOperator{name}"), tf.linalg, *parts)
        return [operator.matmul(x), operator.solve(x), operator.diag_part()]

    return row(f"tf.linalg.LinearOperator{name}", real(size, 2), *parameters, call=call, **options)


def full(linalg, x):
    return linalg.LinearOperatorFullMatrix(x)


ROWS = [
    sample("Adjoint", lambda cls, linalg, a: cls(full(linalg, a)), SQUARE),
    sample("BlockDiag",
        lambda cls, linalg, a, d: cls([full(linalg, a), linalg.LinearOperatorDiag(d)]),
        SQUARE, at([2.0]), size=4),
    sample("BlockLowerTriangular",
        lambda cls, linalg, a, b, d: cls(
            [[full(linalg, a)], [full(linalg, b), linalg.LinearOperatorDiag(d)]]),
        SQUARE, real(1, 3), at([2.0]), size=4),
    sample("Circulant",
        lambda cls, linalg, s: cls(s, input_output_dtype=s.dtype), at([2.0, 1.0, 3.0]),
        dtypes=("complex64", "complex128")),
    sample("Circulant2D",
        lambda cls, linalg, s: cls(s, input_output_dtype=s.dtype), at([[2.0, 1.0], [3.0, 4.0]]),
        size=4, dtypes=("complex64", "complex128")),
    sample("Circulant3D",
        lambda cls, linalg, s: cls(s, input_output_dtype=s.dtype), at([[[2.0, 1.0], [3.0, 4.0]]]),
        size=4, dtypes=("complex64", "complex128")),
    sample("Composition",
        lambda cls, linalg, a, d: cls([full(linalg, a), linalg.LinearOperatorDiag(d)]),
        SQUARE, DIAGONAL),
    sample("Diag", lambda cls, linalg, d: cls(d), DIAGONAL),
    sample("FullMatrix", lambda cls, linalg, a: cls(a), SQUARE),
    sample("Householder", lambda cls, linalg, v: cls(v), DIAGONAL),
    sample("Inversion", lambda cls, linalg, a: cls(full(linalg, a)), SQUARE),
    sample("Kronecker",
        lambda cls, linalg, a, d: cls([full(linalg, a), linalg.LinearOperatorDiag(d)]),
        SQUARE, at([2.0, 3.0]), size=6),
    sample("LowRankUpdate",
        lambda cls, linalg, d, u: cls(
            linalg.LinearOperatorDiag(d, is_positive_definite=True), u), DIAGONAL, real(3, 2)),
    sample("LowRankUpdate",
        lambda cls, linalg, a, u, d, v: cls(full(linalg, a), u, d, v),
        SQUARE, real(3, 1), at([0.5]), real(3, 1), note="any"),
    sample("LowerTriangular", lambda cls, linalg, a: cls(a), SQUARE),
    sample("ScaledIdentity", lambda cls, linalg, m: cls(3, m), at(2.0)),
    sample("Toeplitz", lambda cls, linalg, c, r: cls(c, r), DIAGONAL, at([2.0, 0.4, -0.3])),
    sample("Tridiag", lambda cls, linalg, d: cls(d),
        at([[0.3, 0.4, 0.0], [2.0, 1.5, 3.0], [0.0, 0.6, -0.5]])),
    row("tf.linalg.LinearOperatorFullMatrix", positive(3), note="cholesky",
        call=lambda tf, x: tf.linalg.LinearOperatorFullMatrix(
            (x + tf.transpose(x)) / 2.0, is_self_adjoint=True, is_positive_definite=True
        ).cholesky().to_dense()),
]  # fmt: skip
