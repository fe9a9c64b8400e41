"""What operators do, beside the same on their dense matrix: the columns of the table."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.api.tensorflow.linalg.operators.rows import Row, complex_values, values


class Method(NamedTuple):
    of_operator: Callable[..., Any]  # of the library, the operator and x
    of_matrix: Callable[..., Any]  # the same of the dense matrix
    side: str = ""  # what x is: "domain" or "range" vectors of these sizes, "matrix", or nothing
    square: bool = False
    solvable: bool = False
    self_adjoint: bool = False
    positive: bool = False
    by_eigenvalues: bool = False

    def fits(self, row: Row) -> bool:
        _, self_adjoint, positive, square = row.hints
        return not (
            (self.square and not square)
            or (self.solvable and not row.solvable)
            or (self.self_adjoint and not self_adjoint)
            or (self.positive and not positive)
        )

    def is_differentiable(self, row: Row) -> bool:
        return bool(row.parameters) and not (row.repeated and self.by_eigenvalues)

    def argument(self, row: Row, shape: tuple[int, ...], batch=None) -> Any:
        """The x for an operator of a shape; None if there is none."""
        *own, rows, columns = shape
        batch = tuple(own) if batch is None else batch
        shapes = {
            "domain": (*batch, columns, 2),
            "domain adjoint": (*batch, 2, columns),
            "range": (*batch, rows, 2),
            "range adjoint": (*batch, 2, rows),
            "domain vector": (*batch, columns),
            "range vector": (*batch, rows),
            "matrix": (*batch, rows, columns),
        }
        if not self.side:
            return None
        made = complex_values if row.dtype == np.complex128 else values
        return made(*shapes[self.side], seed=11)


def adjoint(tf, x):
    return tf.linalg.adjoint(x)


def times(tf, a, v):
    return tf.squeeze(tf.matmul(a, v[..., None]), -1)


def solved(tf, a, b):
    return tf.matmul(tf.linalg.inv(a), b)


def log_size(tf, a):
    return tf.math.log(tf.abs(tf.linalg.det(a)))


def spectrum(tf, a):
    return tf.linalg.svd(a, compute_uv=False)


def condition(tf, a):
    found = spectrum(tf, a)
    return tf.reduce_max(found, -1) / tf.reduce_min(found, -1)


def hermitian(tf, a):
    return (a + adjoint(tf, a)) / 2


METHODS = {
    "to_dense": Method(lambda tf, op, x: op.to_dense(), lambda tf, a, x: a),
    "matmul": Method(lambda tf, op, x: op.matmul(x), lambda tf, a, x: tf.matmul(a, x), "domain"),
    "matmul operator": Method(lambda tf, op, x: op @ x, lambda tf, a, x: tf.matmul(a, x), "domain"),
    "matmul adjoint": Method(
        lambda tf, op, x: op.matmul(x, adjoint=True),
        lambda tf, a, x: tf.matmul(adjoint(tf, a), x),
        "range",
    ),
    "matmul adjoint_arg": Method(
        lambda tf, op, x: op.matmul(x, adjoint_arg=True),
        lambda tf, a, x: tf.matmul(a, adjoint(tf, x)),
        "domain adjoint",
    ),
    "matmul both adjoint": Method(
        lambda tf, op, x: op.matmul(x, adjoint=True, adjoint_arg=True),
        lambda tf, a, x: tf.matmul(adjoint(tf, a), adjoint(tf, x)),
        "range adjoint",
    ),
    "matmul from the left": Method(
        lambda tf, op, x: tf.matmul(x, op), lambda tf, a, x: tf.matmul(x, a), "range adjoint"
    ),
    "matvec": Method(
        lambda tf, op, x: op.matvec(x), lambda tf, a, x: times(tf, a, x), "domain vector"
    ),
    "matvec adjoint": Method(
        lambda tf, op, x: op.matvec(x, adjoint=True),
        lambda tf, a, x: times(tf, adjoint(tf, a), x),
        "range vector",
    ),
    "solve": Method(
        lambda tf, op, x: op.solve(x),
        lambda tf, a, x: solved(tf, a, x),
        "range",
        square=True,
        solvable=True,
    ),
    "solve adjoint": Method(
        lambda tf, op, x: op.solve(x, adjoint=True),
        lambda tf, a, x: solved(tf, adjoint(tf, a), x),
        "domain",
        square=True,
        solvable=True,
    ),
    "solve adjoint_arg": Method(
        lambda tf, op, x: op.solve(x, adjoint_arg=True),
        lambda tf, a, x: solved(tf, a, adjoint(tf, x)),
        "range adjoint",
        square=True,
        solvable=True,
    ),
    "solvevec": Method(
        lambda tf, op, x: op.solvevec(x),
        lambda tf, a, x: times(tf, tf.linalg.inv(a), x),
        "range vector",
        square=True,
        solvable=True,
    ),
    "solvevec adjoint": Method(
        lambda tf, op, x: op.solvevec(x, adjoint=True),
        lambda tf, a, x: times(tf, tf.linalg.inv(adjoint(tf, a)), x),
        "domain vector",
        square=True,
        solvable=True,
    ),
    "determinant": Method(
        lambda tf, op, x: op.determinant(), lambda tf, a, x: tf.linalg.det(a), square=True
    ),
    "log_abs_determinant": Method(
        lambda tf, op, x: tf.math.real(op.log_abs_determinant()),
        lambda tf, a, x: log_size(tf, a),
        square=True,
        solvable=True,
    ),
    "trace": Method(
        lambda tf, op, x: op.trace(), lambda tf, a, x: tf.reduce_sum(tf.linalg.diag_part(a), -1)
    ),
    "diag_part": Method(lambda tf, op, x: op.diag_part(), lambda tf, a, x: tf.linalg.diag_part(a)),
    "add_to_tensor": Method(
        lambda tf, op, x: op.add_to_tensor(x), lambda tf, a, x: a + x, "matrix"
    ),
    "eigvals": Method(
        lambda tf, op, x: tf.sort(tf.math.real(op.eigvals()), axis=-1),
        lambda tf, a, x: tf.sort(tf.math.real(tf.linalg.eigvalsh(hermitian(tf, a))), axis=-1),
        square=True,
        self_adjoint=True,
        by_eigenvalues=True,
    ),
    "cond": Method(
        lambda tf, op, x: tf.math.real(op.cond()),
        lambda tf, a, x: condition(tf, a),
        solvable=True,
        by_eigenvalues=True,
    ),
    "adjoint": Method(lambda tf, op, x: op.adjoint().to_dense(), lambda tf, a, x: adjoint(tf, a)),
    "inverse": Method(
        lambda tf, op, x: op.inverse().to_dense(),
        lambda tf, a, x: tf.linalg.inv(a),
        square=True,
        solvable=True,
    ),
    "cholesky": Method(
        lambda tf, op, x: op.cholesky().to_dense(),
        lambda tf, a, x: tf.linalg.cholesky(hermitian(tf, a)),
        square=True,
        positive=True,
    ),
    "square": Method(
        lambda tf, op, x: op.matmul(op).to_dense(), lambda tf, a, x: tf.matmul(a, a), square=True
    ),
    "quotient": Method(
        lambda tf, op, x: op.solve(tf.linalg.LinearOperatorFullMatrix(x)).to_dense(),
        lambda tf, a, x: solved(tf, a, x),
        "matrix",
        square=True,
        solvable=True,
    ),
}
