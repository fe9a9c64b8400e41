"""Rows of `gradtape.api.numpy.products`."""

from __future__ import annotations

from .table import Row


def named(name, **keywords):
    return lambda xp, *args: getattr(xp, name)(*args, **keywords)


def of(name, *shapes, keywords=None, **options):
    return [Row(name, named(name, **(keywords or {})), list(pair), **options) for pair in shapes]


def einsum(equation, *shapes, **options):
    return Row(
        "einsum",
        lambda xp, *args: xp.einsum(equation, *args),
        list(shapes),
        label=equation,
        **options,
    )


ROWS = [
    *of(
        "matmul",
        [(2, 3), (3, 4)],
        [(3,), (3,)],
        [(2, 3), (3,)],
        [(3,), (3, 2)],
        [(2, 2, 3), (3, 2)],
        [(3,), (2, 3, 2)],
        [(2, 1, 2, 3), (3,)],
        [(0, 3), (3, 2)],
        [(2, 0), (0, 3)],
    ),
    *of("matmul", [(2, 3), (3, 2)], domain="complex", label="complex"),
    *of("matmul", [(2, 3), (3, 2)], dtype="int32", differentiable=False, label="int32"),
    *of("matmul", [(2, 3), (3, 2)], dtype="bool", differentiable=False, label="bool"),
    *of(
        "matmul", [(2, 3, 4), (4, 3, 5)], keywords={"axes": [(0, 2), (0, 2), (0, 1)]}, label="axes"
    ),
    *of("vecdot", [(2, 3), (2, 3)], [(3,), (2, 3)], [(3,), (3,)], [(0, 3), (3,)]),
    *of("vecdot", [(2, 3), (2, 3)], domain="complex", label="complex"),
    *of("vecdot", [(3, 2), (3, 2)], keywords={"axis": 0, "keepdims": True}, label="axis"),
    *of("vecdot", [(3, 2), (2, 3)], keywords={"axes": [0, 1]}, label="axes"),
    *of("matvec", [(2, 3), (3,)], [(2, 3), (4, 3)], [(4, 2, 3), (3,)], since="2.2.0"),
    *of("matvec", [(2, 3), (3,)], domain="complex", label="complex", since="2.2.0"),
    *of("vecmat", [(2,), (2, 3)], [(4, 2), (2, 3)], [(2,), (4, 2, 3)], since="2.2.0"),
    *of("vecmat", [(2,), (2, 3)], domain="complex", label="complex", since="2.2.0"),
    *of(
        "dot",
        [(), (2, 3)],
        [(3,), (3,)],
        [(2, 3), (3, 2)],
        [(2, 3), (3,)],
        [(2, 2, 3), (3,)],
        [(2, 3), (2, 3, 2)],
        [(3,), (2, 3, 2)],
        [(0,), (0,)],
    ),
    *of("dot", [(3,), (3,)], domain="complex", label="complex"),
    *of("dot", [(3,), (3,)], dtype="bool", differentiable=False, label="bool"),
    *of("vdot", [(2, 3), (2, 3)], [(2, 3), (6,)], [(), ()]),
    *of("vdot", [(2, 2), (2, 2)], domain="complex", label="complex"),
    *of("inner", [(3,), (3,)], [(2, 3), (4, 3)], [(), (2, 3)], [(2, 2, 3), (3,)]),
    *of("outer", [(3,), (2,)], [(2, 2), (3,)], [(), (2,)]),
    *of("outer", [(3,), (2,)], domain="complex", label="complex"),
    *of("tensordot", [(2, 3, 4), (3, 4, 2)]),
    *of("tensordot", [(2, 3), (2, 4)], keywords={"axes": (0, 0)}, label="axes"),
    *of("tensordot", [(2, 3, 4), (4, 2)], keywords={"axes": ([0, -1], [1, 0])}, label="lists"),
    *of("tensordot", [(2,), (3,)], keywords={"axes": 0}, label="outer"),
    *of("kron", [(2, 3), (2, 2)], [(3,), (2,)], [(2, 2), (3,)], [(), (2, 2)], [(2,), (2, 1, 2)]),
    *of("cross", [(3,), (3,)], [(2, 3), (3,)], [(4, 1, 3), (2, 3)]),
    *of("cross", [(3, 2), (3, 2)], keywords={"axis": 0}, label="axis"),
    *of("cross", [(3, 2), (2, 3)], keywords={"axisa": 0, "axisc": 0}, label="axes"),
    *of("trace", [(3, 3)], [(2, 3)], [(3, 3, 2)]),
    *of("trace", [(2, 3, 4)], keywords={"offset": 1, "axis1": 2, "axis2": 0}, label="axes"),
    *of("trace", [(3, 3)], dtype="int8", differentiable=False, label="int8"),
    einsum("ij,jk->ik", (2, 3), (3, 4)),
    einsum("ij,jk", (2, 3), (3, 4)),
    einsum("ba", (2, 3)),
    einsum("ii->i", (3, 3)),
    einsum("ii", (3, 3)),
    einsum("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    einsum("i...->...", (2, 3)),
    einsum("i, ij, j", (2,), (2, 3), (3,)),
    einsum("ij,ij->", (2, 3), (2, 3), domain="complex"),
    einsum("ij,jk->ik", (2, 1), (3, 4)),
    einsum("i->", (0,)),
    Row(
        "einsum",
        lambda xp, x, y: xp.einsum(x, [0, 1], y, [1, 2], [2, 0]),
        [(2, 3), (3, 4)],
        label="lists",
    ),
    Row(
        "einsum",
        lambda xp, x: xp.einsum(x, [0, Ellipsis], [Ellipsis, 0]),
        [(2, 3, 2)],
        label="lists",
    ),
    Row(
        "einsum",
        lambda xp, x, y: xp.einsum("ij,jk->ik", x, y, optimize=True),
        [(2, 3), (3, 4)],
        label="optimize",
    ),
    Row(
        "einsum_path",
        lambda xp, x, y: xp.einsum_path("ij,jk,kl->il", x, y, x),
        [(3, 3), (3, 3)],
        differentiable=False,
    ),
    *[
        row
        for mode in ("full", "same", "valid")
        for name in ("convolve", "correlate")
        for row in [
            *of(
                name,
                [(5,), (3,)],
                [(2,), (5,)],
                [(4,), (4,)],
                [(6,), (4,)],
                [(4,), (7,)],
                keywords={"mode": mode},
                label=mode,
            ),
            *of(
                name,
                [(4,), (3,)],
                [(3,), (4,)],
                keywords={"mode": mode},
                domain="complex",
                label=f"{mode} complex",
            ),
        ]
    ],
    *of("convolve", [(4,), (3,)], dtype="int32", differentiable=False, label="int32"),
]
