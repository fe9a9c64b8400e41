"""Rows of `gradtape.api.numpy.linalg`."""

from __future__ import annotations

import numpy as np

from .table import Row

SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]])


def complex_matrix(rng, shape):
    """Complex matrices with a diagonal that dominates."""
    return (
        rng.uniform(-0.5, 0.5, shape) + 1j * rng.uniform(-0.5, 0.5, shape) + 2 * np.eye(*shape[-2:])
    )


def named(name, **keywords):
    return lambda xp, *args: getattr(xp.linalg, name)(*args, **keywords)


def of(name, *shapes, keywords=None, **options):
    return [
        Row(f"linalg.{name}", named(name, **(keywords or {})), list(given), **options)
        for given in shapes
    ]


def like_a_matrix(rng, shape):
    """Tensors that are well conditioned as matrices of six rows and columns."""
    return rng.uniform(-1, 1, shape) + 3 * np.eye(6).reshape(shape)


ROWS = [
    *of("matmul", [(2, 3), (3, 2)]),
    *of("vecdot", [(2, 3), (2, 3)]),
    *of("vecdot", [(3, 2), (3, 2)], keywords={"axis": 0}, domain="complex", label="axis"),
    *of("outer", [(3,), (2,)]),
    *of("tensordot", [(2, 3), (3, 4)], keywords={"axes": 1}),
    *of("cross", [(2, 3), (3,)]),
    *of("cross", [(3, 2), (3, 2)], keywords={"axis": 0}, label="axis"),
    *[
        Row("linalg.multi_dot", lambda xp, *args: xp.linalg.multi_dot(args), list(shapes))
        for shapes in (
            [(2, 3), (3, 4)],
            [(10, 2), (2, 10), (10, 3)],
            [(3,), (3, 2), (2, 4), (4,)],
            [(2, 3), (3, 4), (4, 2), (2, 3)],
            [(3,), (3, 2)],
        )
    ],
    *[
        Row(
            "linalg.matrix_power",
            lambda xp, x, n=n: xp.linalg.matrix_power(x, n),
            [(3, 3)],
            domain="well_conditioned",
            label=str(n),
            differentiable=n != 0,
        )
        for n in (-2, 0, 1, 2, 3, 5, 8)
    ],
    *of("matrix_power", [(2, 2, 2)], keywords={"n": 3}, label="batch"),
    *of(
        "matrix_power",
        [(2, 2)],
        keywords={"n": 3},
        dtype="int32",
        differentiable=False,
        label="int32",
    ),
    *of("matrix_transpose", [(2, 3)], [(2, 3, 4)]),
    *of("diagonal", [(3, 3)], [(2, 3, 4)]),
    *of("diagonal", [(3, 4)], keywords={"offset": 1}, label="offset"),
    *of("trace", [(3, 3)], [(2, 3, 3)]),
    *of("trace", [(3, 4)], keywords={"offset": -1}, label="offset"),
    *of(
        "solve",
        [(3, 3), (3,)],
        [(3, 3), (3, 2)],
        [(2, 3, 3), (2, 3, 2)],
        [(2, 3, 3), (3, 2)],
        [(2, 3, 3), (3,)],
        [(0, 0), (0,)],
        domain=["well_conditioned", "real"],
    ),
    *of("solve", [(3, 3), (3,)], domain=[complex_matrix, "complex"], label="complex"),
    *of("inv", [(3, 3)], [(2, 2, 2)], [(0, 0)], domain="well_conditioned"),
    *of("inv", [(3, 3)], domain=complex_matrix, label="complex"),
    *of("inv", [np.array([[2, 1], [1, 3]])], dtype="int32", differentiable=False, label="int32"),
    *of("pinv", [(3, 3)], [(4, 2)], [(2, 4)], [(2, 3, 2)], domain="well_conditioned"),
    *of("pinv", [(3, 2)], domain=complex_matrix, label="complex"),
    *of("pinv", [(3, 2)], domain="well_conditioned", keywords={"rtol": None}, label="rtol"),
    *of(
        "pinv",
        [(2, 3, 2)],
        domain="well_conditioned",
        keywords={"rcond": [1e-8, 1e-9]},
        label="rcond",
    ),
    Row(
        "linalg.pinv",
        lambda xp, x: xp.linalg.pinv(x + xp.linalg.matrix_transpose(x), hermitian=True),
        [(3, 3)],
        domain="well_conditioned",
        label="hermitian",
    ),
    *of(
        "lstsq",
        [(4, 2), (4,)],
        [(4, 2), (4, 3)],
        [(3, 3), (3,)],
        [(2, 3), (2,)],
        domain=["well_conditioned", "real"],
    ),
    *of("lstsq", [(4, 2), (4, 2)], domain=[complex_matrix, "complex"], label="complex"),
    *of("tensorinv", [(2, 3, 6)], domain=like_a_matrix),
    *of("tensorinv", [(3, 3)], domain="well_conditioned", keywords={"ind": 1}, label="ind"),
    *of("tensorsolve", [(2, 3, 6), (2, 3)], domain=[like_a_matrix, "real"]),
    *of(
        "tensorsolve",
        [(6, 2, 3), (2, 3)],
        domain=[like_a_matrix, "real"],
        keywords={"axes": (0,)},
        label="axes",
    ),
    *of("det", [(3, 3)], [(2, 2, 2)], [(0, 0)]),
    *of("det", [SINGULAR], label="singular"),
    *of("det", [(3, 3)], domain="complex", label="complex"),
    *of("slogdet", [(3, 3)], [(2, 2, 2)], domain="well_conditioned"),
    *of("slogdet", [(3, 3)], domain=complex_matrix, label="complex"),
]
