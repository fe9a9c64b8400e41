"""Rows of `gradtape.api.numpy.linalg_norms`."""

from __future__ import annotations

import numpy as np

from .rows_linalg import complex_matrix, of
from .table import Row

INF = float("inf")


ROWS = [
    *[
        Row(
            "linalg.norm",
            lambda xp, x, ord=ord: xp.linalg.norm(x, ord),
            [(4,)],
            label=f"vector {ord}",
            differentiable=ord != 0,
        )
        for ord in (None, 1, 2, 3, 0.5, -1, -2, INF, -INF, 0)
    ],
    *[
        Row(
            "linalg.norm",
            lambda xp, x, ord=ord: xp.linalg.norm(x, ord),
            [(3, 4)],
            label=f"matrix {ord}",
        )
        for ord in (None, "fro", "nuc", 1, -1, 2, -2, INF, -INF)
    ],
    *[
        Row(
            "linalg.norm",
            lambda xp, x, ord=ord: xp.linalg.norm(x, ord, axis=(2, 0), keepdims=True),
            [(3, 2, 4)],
            label=f"axes {ord}",
        )
        for ord in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
    ],
    *[
        Row(
            "linalg.norm",
            lambda xp, x, ord=ord: xp.linalg.norm(x, ord, axis=1),
            [(2, 3)],
            domain="complex",
            label=f"complex {ord}",
        )
        for ord in (None, 1, 2, 3, INF, -INF)
    ],
    Row(
        "linalg.norm",
        lambda xp, x: xp.linalg.norm(x, "nuc"),
        [(3, 3)],
        domain=complex_matrix,
        label="complex nuc",
    ),
    *of("norm", [(2, 3, 2)], keywords={"keepdims": True}, label="all"),
    *of("norm", [(2, 3)], keywords={"axis": -1, "keepdims": True}, label="axis"),
    *of("norm", [(0,)], keywords={"ord": 1}, label="empty"),
    *of("norm", [(3,)], dtype="int32", differentiable=False, label="int32"),
    *of("vector_norm", [(2, 3)], [()]),
    *of(
        "vector_norm",
        [(2, 3, 4)],
        keywords={"axis": (2, 0), "ord": 3, "keepdims": True},
        label="axes",
    ),
    *of("vector_norm", [(2, 3)], keywords={"axis": 1, "ord": INF}, label="inf"),
    *of("matrix_norm", [(2, 3, 4)]),
    *of("matrix_norm", [(2, 3, 4)], keywords={"ord": "nuc", "keepdims": True}, label="nuc"),
    *[
        Row(
            "linalg.cond",
            lambda xp, x, p=p: xp.linalg.cond(x, p),
            [(3, 3)],
            domain="well_conditioned",
            label=str(p),
        )
        for p in (None, 2, -2, 1, -1, INF, -INF, "fro", "nuc")
    ],
    *of("cond", [(2, 3, 2)], domain="well_conditioned", label="batch"),
    *of(
        "matrix_rank",
        [(3, 3)],
        [(2, 3, 4)],
        [np.outer([1.0, 2.0, 3.0], [4.0, 5.0])],
        [np.zeros(3)],
        [(3,)],
        differentiable=False,
        result="int64",
    ),
    *of(
        "matrix_rank",
        [np.diag([5.0, 1.0, 1e-3])],
        keywords={"tol": 0.1, "hermitian": True},
        differentiable=False,
        result="int64",
        label="tol",
    ),
    *of(
        "matrix_rank",
        [np.diag([5.0, 1.0, 1e-3])],
        keywords={"rtol": 0.5},
        differentiable=False,
        result="int64",
        label="rtol",
    ),
]
