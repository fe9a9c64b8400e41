"""Rows of `gradtape.api.numpy.linalg_decompositions`.

The signs of real factors are those that LAPACK gives and do not change along a central difference;
of complex factors and of the columns that complete a basis, what is compared does not depend on
phases and rotations.
"""

from __future__ import annotations

import numpy as np

from .rows_linalg import complex_matrix, of
from .table import Row


def spread(rng, shape):
    """Matrices whose eigenvalues and singular values are real and lie apart."""
    a = rng.uniform(-0.3, 0.3, shape)
    return a + np.eye(*shape[-2:]) * np.arange(1.0, 2 * shape[-1], 2)


def turning(rng, shape):
    """Matrices with complex eigenvalues."""
    block = np.array([[0.0, 2.0, 0.0], [-2.0, 0.5, 0.0], [0.0, 0.0, 3.0]])
    return rng.uniform(-0.2, 0.2, shape) + block


def complex_spread(rng, shape):
    return spread(rng, shape) + 1j * rng.uniform(-0.3, 0.3, shape)


def hermitian(xp, x):
    return x + xp.conj(xp.linalg.matrix_transpose(x))


def sizes(xp, x):
    """Squared sizes: without phases."""
    return xp.real(x * xp.conj(x))


def projector(xp, columns):
    """The projection onto the space of columns: without rotations."""
    return xp.matmul(columns, xp.conj(xp.linalg.matrix_transpose(columns)))


def outputs(name, form, **keywords):
    """A call whose outputs are brought into a form that does not depend on phases."""
    return lambda xp, x: [
        part(xp, out)
        for part, out in zip(form, getattr(xp.linalg, name)(x, **keywords), strict=True)
    ]


def same(xp, x):
    return x


def added_columns(count):
    return lambda xp, x: projector(xp, x[:, count:])


ROWS = [
    *[
        Row(
            "linalg.cholesky",
            lambda xp, x, upper=upper: xp.linalg.cholesky(hermitian(xp, x), upper=upper),
            [shape],
            domain=domain,
            label="upper" if upper else "",
        )
        for upper in (False, True)
        for shape, domain in (
            ((3, 3), "spd"),
            ((2, 2, 2), "spd"),
            ((3, 3), complex_spread),
            ((0, 0), "spd"),
        )
    ],
    *of("qr", [(3, 3)], [(4, 2)], [(2, 4)], [(2, 3, 2)], domain=spread),
    *of("qr", [(4, 2)], [(2, 3)], domain=spread, keywords={"mode": "r"}, label="r"),
    *of("qr", [(3, 3)], [(2, 3)], domain=spread, keywords={"mode": "complete"}, label="complete"),
    Row(
        "linalg.qr",
        outputs("qr", [added_columns(2), same], mode="complete"),
        [(4, 2)],
        domain=spread,
        label="complete",
    ),
    Row(
        "linalg.qr",
        outputs(
            "qr", [projector, lambda xp, r: xp.matmul(xp.conj(xp.linalg.matrix_transpose(r)), r)]
        ),
        [(3, 2)],
        domain=complex_spread,
        label="complex",
    ),
    *of("qr", [(3, 2)], domain=spread, keywords={"mode": "raw"}, differentiable=False, label="raw"),
    *of("svd", [(3, 3)], [(2, 3, 3)], [(0, 0)], domain=spread),
    *of(
        "svd", [(4, 2)], [(2, 4)], domain=spread, keywords={"full_matrices": False}, label="reduced"
    ),
    Row(
        "linalg.svd",
        outputs("svd", [added_columns(2), same, same]),
        [(4, 2)],
        domain=spread,
        label="full",
    ),
    *of("svd", [(3, 2)], domain=spread, keywords={"compute_uv": False}, label="values"),
    *of("svd", [(3, 3)], domain=spread, keywords={"hermitian": True}, label="hermitian"),
    *of(
        "svd",
        [(2, 3, 3)],
        domain=spread,
        keywords={"hermitian": True, "compute_uv": False},
        label="hermitian values",
    ),
    Row(
        "linalg.svd",
        outputs("svd", [sizes, same, sizes], full_matrices=False),
        [(3, 2)],
        domain=complex_spread,
        label="complex",
    ),
    *of("svdvals", [(3, 2)], [(2, 2, 3)], domain=spread),
    *of("svdvals", [(3, 2)], domain=complex_spread, label="complex"),
    *of("eigh", [(3, 3)], [(2, 2, 2)], [(0, 0)], domain=spread),
    *of("eigh", [(3, 3)], domain=spread, keywords={"UPLO": "U"}, label="upper"),
    Row(
        "linalg.eigh",
        lambda xp, x: outputs("eigh", [same, sizes])(xp, hermitian(xp, x)),
        [(3, 3)],
        domain=complex_spread,
        label="complex",
    ),
    Row(
        "linalg.eigh",
        lambda xp, x: outputs("eigh", [same, sizes], UPLO="U")(xp, hermitian(xp, x)),
        [(3, 3)],
        domain=complex_spread,
        label="complex upper",
    ),
    *of("eigvalsh", [(3, 3)], [(2, 2, 2)], domain=spread),
    *of("eigvalsh", [(3, 3)], domain=spread, keywords={"UPLO": "U"}, label="upper"),
    Row(
        "linalg.eigvalsh",
        lambda xp, x: xp.linalg.eigvalsh(hermitian(xp, x)),
        [(3, 3)],
        domain=complex_spread,
        label="complex",
    ),
    *of("eig", [(3, 3)], [(2, 2, 2)], domain=spread),
    Row("linalg.eig", outputs("eig", [same, sizes]), [(3, 3)], domain=turning, label="turning"),
    Row(
        "linalg.eig",
        outputs("eig", [same, sizes]),
        [(3, 3)],
        domain=complex_spread,
        label="complex",
    ),
    *of("eigvals", [(3, 3)], [(2, 2, 2)], domain=spread),
    *of("eigvals", [(0, 0)]),
    *of("eigvals", [(2, 2)], dtype="int32", domain="integers", differentiable=False),
    *of("eigvals", [(3, 3)], domain=turning, label="turning"),
    *of("eigvals", [(3, 3)], domain=complex_matrix, label="complex"),
]
