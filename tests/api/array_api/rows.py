"""One row or more for every function of the standard: which arrays it is called with, of which
dtypes, and what it gives.
"""

from typing import Any, NamedTuple

import numpy as np

KINDS = {
    "b": ["bool"],
    "i": ["int8", "int16", "int32", "int64"],
    "u": ["uint8", "uint16", "uint32", "uint64"],
    "f": ["float32", "float64"],
    "c": ["complex64", "complex128"],
}

DEFAULT = {"i": "int32", "u": "uint32"}


class Row(NamedTuple):
    """`call(xp, *arrays)` on arrays of each dtype of `kinds`; `gives` is the rule for the dtype of
    every array in the result.

    NumPy itself is the reference, through the same `call` or through `reference(*arrays)`.
    """

    name: str
    call: Any
    arrays: list[Any]
    kinds: str
    gives: str = "same"
    reference: Any = None


def expected_dtype(gives: str, dtype: str) -> str:
    """The dtype of a result by the rule of a row, for arguments of `dtype`."""
    if gives == "same":
        return dtype
    if gives == "real":
        return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    if gives == "complex":
        return {"float32": "complex64", "float64": "complex128"}.get(dtype, dtype)
    if gives == "sum":  # at least the default integer
        kind = np.dtype(dtype).kind
        return DEFAULT[kind] if kind in DEFAULT and np.dtype(dtype).itemsize < 4 else dtype
    return "int64" if gives == "index" else gives


A = np.array([1, 2, 3])
B = np.array([3, 2, 2])
UNIT = np.array([0.25, 0.5, 0.75])
M = np.array([[4, 1], [2, 3]])
S = np.array([[4, 1], [1, 3]])
T = np.arange(1, 7).reshape(2, 3)
C = np.arange(1, 9).reshape(2, 2, 2)


def unary(names: str, kinds: str, gives: str = "same", values: Any = A) -> list[Row]:
    return [
        Row(name, lambda xp, x, name=name: getattr(xp, name)(x), [values], kinds, gives)
        for name in names.split()
    ]


def binary(names: str, kinds: str, gives: str = "same", values: Any = (A, B)) -> list[Row]:
    return [
        Row(name, lambda xp, x, y, name=name: getattr(xp, name)(x, y), list(values), kinds, gives)
        for name in names.split()
    ]


ELEMENTWISE = [
    *unary("abs", "iufc", "real"),
    *unary("acos asin atanh", "fc", values=UNIT),
    *unary("acosh asinh atan cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt tan tanh", "fc"),
    *unary("bitwise_invert", "biu"),
    *unary("ceil floor trunc", "iuf", values=A * 1.5),
    *unary("round", "iufc", values=A * 1.5),
    *unary("conj negative positive reciprocal sign square", "fc"),
    *unary("negative positive sign square", "iu"),
    *unary("imag real", "c", "real"),
    *unary("isfinite isinf isnan", "iufc", "bool"),
    *unary("logical_not", "b"),
    *unary("signbit", "f", "bool"),
    *binary("add divide multiply pow subtract", "fc"),
    *binary("add multiply pow", "iu"),
    *binary("subtract", "i"),
    *binary("atan2 copysign hypot logaddexp nextafter", "f"),
    *binary("bitwise_and bitwise_or bitwise_xor", "biu"),
    *binary("bitwise_left_shift bitwise_right_shift", "iu"),
    *binary("equal not_equal", "biufc", "bool"),
    *binary("greater greater_equal less less_equal", "iuf", "bool"),
    *binary("floor_divide maximum minimum remainder", "iuf"),
    *binary("logical_and logical_or logical_xor", "b"),
    Row("clip", lambda xp, x: xp.clip(x, 2, max=3), [A], "iuf", "same", lambda x: np.clip(x, 2, 3)),
    Row("clip", lambda xp, x: xp.clip(x, min=2), [A], "iuf"),
    Row("clip", lambda xp, x, low, high: xp.clip(x, low, high), [T, A - 1, A + 1], "iuf"),
]

CREATION = [
    Row("arange", lambda xp: xp.arange(3), [], "", "int32"),
    Row("arange", lambda xp: xp.arange(1, stop=8, step=3), [], "", "int32"),
    Row("arange", lambda xp: xp.arange(0.0, 1.0, 0.25), [], "", "float32"),
    Row("asarray", lambda xp: xp.asarray([[1, 2], [3, 4]]), [], "", "int32"),
    Row("asarray", lambda xp: xp.asarray([1, 2.5]), [], "", "float32"),
    Row("asarray", lambda xp: xp.asarray([True, False]), [], "", "bool"),
    Row("asarray", lambda xp: xp.asarray([1, 2j]), [], "", "complex64"),
    Row("asarray", lambda xp, x: xp.asarray(x, copy=True), [T], "biufc"),
    Row("empty", lambda xp: xp.empty((2, 0)), [], "", "float32"),
    Row("empty_like", lambda xp, x: xp.empty_like(x), [T[:, :0]], "biufc"),
    Row("eye", lambda xp: xp.eye(2, 3, k=1), [], "", "float32"),
    Row("from_dlpack", lambda xp, x: xp.from_dlpack(x), [T], "biufc"),
    Row("full", lambda xp: xp.full((2, 3), 7), [], "", "int32"),
    Row("full", lambda xp: xp.full(2, 1.5), [], "", "float32"),
    Row("full", lambda xp: xp.full(2, True), [], "", "bool"),
    Row("full", lambda xp: xp.full(2, 1j), [], "", "complex64"),
    Row("full_like", lambda xp, x: xp.full_like(x, 1), [T], "biufc"),
    Row("linspace", lambda xp: xp.linspace(0.0, 1.0, num=5), [], "", "float32"),
    Row("linspace", lambda xp: xp.linspace(1, 3, 4, endpoint=False), [], "", "float32"),
    Row("meshgrid", lambda xp, x, y: xp.meshgrid(x, y, indexing="ij"), [A, B[:2]], "iufc"),
    Row("ones", lambda xp: xp.ones((2, 3)), [], "", "float32"),
    Row("ones_like", lambda xp, x: xp.ones_like(x), [T], "biufc"),
    Row("tril", lambda xp, x: xp.tril(x, k=-1), [C], "iufc"),
    Row("triu", lambda xp, x: xp.triu(x, k=1), [C], "iufc"),
    Row("zeros", lambda xp: xp.zeros(3), [], "", "float32"),
    Row("zeros_like", lambda xp, x: xp.zeros_like(x), [T], "biufc"),
]

MANIPULATION = [
    Row("broadcast_arrays", lambda xp, x, y: xp.broadcast_arrays(x, y), [T, A], "biufc"),
    Row("broadcast_to", lambda xp, x: xp.broadcast_to(x, (2, 3)), [A], "biufc"),
    Row("concat", lambda xp, x, y: xp.concat([x, y], axis=1), [T, T[:, :2]], "biufc"),
    Row("concat", lambda xp, x, y: xp.concat((x, y), axis=None), [T, A], "biufc"),
    Row("expand_dims", lambda xp, x: xp.expand_dims(x, axis=1), [T], "biufc"),
    Row("flip", lambda xp, x: xp.flip(x, axis=1), [T], "biufc"),
    Row("flip", lambda xp, x: xp.flip(x), [T], "biufc"),
    Row("moveaxis", lambda xp, x: xp.moveaxis(x, 0, -1), [C], "biufc"),
    Row("permute_dims", lambda xp, x: xp.permute_dims(x, (1, 0)), [T], "biufc"),
    Row("repeat", lambda xp, x: xp.repeat(x, 2, axis=1), [T], "biufc"),
    Row("repeat", lambda xp, x: xp.repeat(x, xp.asarray([2, 0, 1])), [A], "biufc"),
    Row("reshape", lambda xp, x: xp.reshape(x, (3, -1)), [T], "biufc"),
    Row("roll", lambda xp, x: xp.roll(x, (1, -1), axis=(0, 1)), [T], "biufc"),
    Row("roll", lambda xp, x: xp.roll(x, 2), [T], "biufc"),
    Row("squeeze", lambda xp, x: xp.squeeze(x, axis=0), [T[None]], "biufc"),
    Row("stack", lambda xp, x, y: xp.stack([x, y], axis=-1), [A, B], "biufc"),
    Row("tile", lambda xp, x: xp.tile(x, (2, 1, 2)), [T], "biufc"),
    Row("unstack", lambda xp, x: xp.unstack(x, axis=1), [T], "biufc"),
]

SEARCHING = [
    Row("argmax", lambda xp, x: xp.argmax(x, axis=1, keepdims=True), [M], "iuf", "index"),
    Row("argmin", lambda xp, x: xp.argmin(x), [M], "iuf", "index"),
    Row("argsort", lambda xp, x: xp.argsort(x, axis=0), [M], "iuf", "index"),
    Row(
        "argsort",
        lambda xp, x: xp.argsort(x, descending=True),
        [B],
        "iuf",
        "index",
        lambda x: np.arange(3),
    ),
    Row(
        "count_nonzero",
        lambda xp, x: xp.count_nonzero(x, axis=1, keepdims=True),
        [T - 1],
        "biufc",
        "index",
    ),
    Row("nonzero", lambda xp, x: xp.nonzero(x), [T - 1], "biufc", "index"),
    Row(
        "searchsorted", lambda xp, x, y: xp.searchsorted(x, y, side="right"), [A, B], "iuf", "index"
    ),
    Row(
        "searchsorted",
        lambda xp, x, y: xp.searchsorted(x, y, sorter=xp.asarray([2, 1, 0])),
        [A[::-1].copy(), B],
        "iuf",
        "index",
    ),
    Row("sort", lambda xp, x: xp.sort(x, axis=0), [M], "iuf"),
    Row(
        "sort",
        lambda xp, x: xp.sort(x, descending=True),
        [M],
        "iuf",
        "same",
        lambda x: -np.sort(-x.astype(float)),
    ),
    Row("take", lambda xp, x: xp.take(x, xp.asarray([2, 0]), axis=1), [T], "biufc"),
    Row(
        "take_along_axis",
        lambda xp, x: xp.take_along_axis(x, xp.asarray([[1], [0]]), axis=1),
        [T],
        "biufc",
    ),
    Row("unique_values", lambda xp, x: xp.unique_values(x), [B], "iufc"),
    Row("where", lambda xp, x, y: xp.where(x == y, x, 0), [A, B], "iufc"),
    Row("where", lambda xp, x, y: xp.where(x == y, x, y), [A, B], "biufc"),
]

STATISTICS = [
    Row("all", lambda xp, x: xp.all(x, axis=1, keepdims=True), [T - 1], "biufc", "bool"),
    Row("any", lambda xp, x: xp.any(x), [T - 1], "biufc", "bool"),
    Row("cumulative_prod", lambda xp, x: xp.cumulative_prod(x, axis=0), [T], "iufc", "sum"),
    Row(
        "cumulative_sum",
        lambda xp, x: xp.cumulative_sum(x, include_initial=True),
        [A],
        "iufc",
        "sum",
    ),
    Row("diff", lambda xp, x: xp.diff(x, axis=0, n=1), [T], "iufc"),
    Row("diff", lambda xp, x, y: xp.diff(x, prepend=y, append=y), [A, A[:1]], "iufc"),
    Row("max", lambda xp, x: xp.max(x, axis=(0, 1)), [T], "iuf"),
    Row("mean", lambda xp, x: xp.mean(x, axis=0), [T], "fc"),
    Row("min", lambda xp, x: xp.min(x, axis=-1, keepdims=True), [T], "iuf"),
    Row("prod", lambda xp, x: xp.prod(x, axis=()), [T], "iufc", "sum"),
    Row("prod", lambda xp, x: xp.prod(x), [A], "iufc", "sum"),
    Row("std", lambda xp, x: xp.std(x, correction=1.0), [T], "f"),
    Row("sum", lambda xp, x: xp.sum(x, axis=1, keepdims=True), [T], "iufc", "sum"),
    Row("sum", lambda xp, x: xp.sum(x, axis=0), [T[:0]], "iufc", "sum"),
    Row("var", lambda xp, x: xp.var(x, axis=(0,), correction=0.5), [T], "f"),
]

PRODUCTS = [
    Row("matmul", lambda xp, x, y: xp.matmul(x, y), [T, T.T.copy()], "iufc"),
    Row("matrix_transpose", lambda xp, x: xp.matrix_transpose(x), [C], "biufc"),
    Row("tensordot", lambda xp, x, y: xp.tensordot(x, y, axes=1), [T, T.T.copy()], "iufc"),
    Row("tensordot", lambda xp, x, y: xp.tensordot(x, y, axes=((0, 1), (0, 1))), [T, T], "iufc"),
    Row("vecdot", lambda xp, x, y: xp.vecdot(x, y, axis=0), [T, T], "iufc"),
]

LINALG = [
    Row("cholesky", lambda xp, x: xp.linalg.cholesky(x), [S], "fc"),
    Row("cholesky", lambda xp, x: xp.linalg.cholesky(x, upper=True), [S], "fc"),
    Row("cross", lambda xp, x, y: xp.linalg.cross(x, y, axis=0), [A[:, None], B[:, None]], "ifc"),
    Row("det", lambda xp, x: xp.linalg.det(x), [M], "fc"),
    Row("diagonal", lambda xp, x: xp.linalg.diagonal(x, offset=1), [C], "biufc"),
    Row("eigvalsh", lambda xp, x: xp.linalg.eigvalsh(x), [S], "fc", "real"),
    Row("inv", lambda xp, x: xp.linalg.inv(x), [M], "fc"),
    Row("matmul", lambda xp, x, y: xp.linalg.matmul(x, y), [T, A], "iufc"),
    Row("matrix_norm", lambda xp, x: xp.linalg.matrix_norm(x, keepdims=True), [C], "fc", "real"),
    Row("matrix_norm", lambda xp, x: xp.linalg.matrix_norm(x, ord=1), [C], "fc", "real"),
    Row("matrix_norm", lambda xp, x: xp.linalg.matrix_norm(x, ord="nuc"), [C], "fc", "real"),
    Row("matrix_power", lambda xp, x: xp.linalg.matrix_power(x, -2), [M], "fc"),
    Row("matrix_rank", lambda xp, x: xp.linalg.matrix_rank(x, rtol=0.1), [C], "fc", "index"),
    Row("matrix_transpose", lambda xp, x: xp.linalg.matrix_transpose(x), [C], "biufc"),
    Row("outer", lambda xp, x, y: xp.linalg.outer(x, y), [A, B[:2]], "iufc"),
    Row("pinv", lambda xp, x: xp.linalg.pinv(x, rtol=0.01), [T], "fc"),
    Row("solve", lambda xp, x, y: xp.linalg.solve(x, y), [M, A[:2]], "fc"),
    Row("svdvals", lambda xp, x: xp.linalg.svdvals(x), [T], "fc", "real"),
    Row("tensordot", lambda xp, x, y: xp.linalg.tensordot(x, y, axes=1), [T, A], "iufc"),
    Row("trace", lambda xp, x: xp.linalg.trace(x, offset=0), [C], "iufc", "sum"),
    Row("vecdot", lambda xp, x, y: xp.linalg.vecdot(x, y), [T, A], "iufc"),
    Row(
        "vector_norm",
        lambda xp, x: xp.linalg.vector_norm(x, axis=1, keepdims=True, ord=3),
        [T],
        "fc",
        "real",
    ),
    Row("vector_norm", lambda xp, x: xp.linalg.vector_norm(x, ord=np.inf), [T], "fc", "real"),
]

FFT = [
    *[
        Row(
            name,
            lambda xp, x, name=name: getattr(xp.fft, name)(x, n=4, axis=0, norm="ortho"),
            [T * 1.0],
            "fc",
            "complex",
        )
        for name in ("fft", "ifft")
    ],
    *[
        Row(
            name,
            lambda xp, x, name=name: getattr(xp.fft, name)(x, s=(2, 2), axes=(0, 1)),
            [T * 1.0],
            "fc",
            "complex",
        )
        for name in ("fftn", "ifftn")
    ],
    *[
        Row(name, lambda xp, x, name=name: getattr(xp.fft, name)(x, n=4), [T * 1.0], "f", "complex")
        for name in ("rfft", "ihfft")
    ],
    Row("rfftn", lambda xp, x: xp.fft.rfftn(x, norm="forward"), [T * 1.0], "f", "complex"),
    *[
        Row(name, lambda xp, x, name=name: getattr(xp.fft, name)(x, n=4), [T * 1.0], "c", "real")
        for name in ("irfft", "hfft")
    ],
    Row("irfftn", lambda xp, x: xp.fft.irfftn(x), [T * 1.0], "c", "real"),
    Row("fftfreq", lambda xp: xp.fft.fftfreq(5, d=0.5), [], "", "float32"),
    Row("rfftfreq", lambda xp: xp.fft.rfftfreq(5, d=0.5), [], "", "float32"),
    Row("fftshift", lambda xp, x: xp.fft.fftshift(x, axes=(1,)), [T * 1.0], "fc"),
    Row("ifftshift", lambda xp, x: xp.fft.ifftshift(x), [T * 1.0], "fc"),
]

ROWS = [*ELEMENTWISE, *CREATION, *MANIPULATION, *SEARCHING, *STATISTICS, *PRODUCTS]
