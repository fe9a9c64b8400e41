"""Runs a row in both libraries and tells where the results differ,
and which derivatives in gradtape are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given
from derivatives import FLOATING, outcome, weighted
from table import Row

import gradtape

ROUNDING = {
    "bfloat16": 2e-2,
    "float16": 2e-3,
    "float32": 2e-5,
    "float64": 1e-11,
    "complex64": 2e-5,
    "complex128": 1e-11,
}
HALF = ("float16", "bfloat16")
COLUMNS = ("value", "gradient", "second")  # derivatives of order 0, 1 and 2


NO_KERNEL = re.compile(
    r"CPU implementations do not yet support|not supported on CPU|on CPU is only supported "
    r"for|only supports the NHWC tensor format|"
    r"only supports N\w+ on device type CPU"
)
"""What TensorFlow says if it knows a derivative, but has nothing to compute it with on this
processor: oneDNN knows more on some.
"""


def differences(row: Row, column: str, dtype: str, ours: Any = gradtape) -> list[str]:
    """A line for every difference in a column of a row; what fails in TensorFlow is one,
    what fails in gradtape is an error.

    Where TensorFlow has no kernel for a derivative on this processor, quotients of differences are
    in its place.
    """
    order = COLUMNS.index(column)
    arrays = row.arrays(dtype)
    results = [plain(ours, result) for result in outcome(ours, row, arrays, order)]
    try:
        expected = [plain(tensorflow, result) for result in outcome(tensorflow, row, arrays, order)]
    except Exception as error:  # noqa: BLE001  # whatever it raises, the libraries differ
        if order and NO_KERNEL.search(str(error)):
            return errors(row, column, ours)
        return [f"{dtype}: TensorFlow raises {type(error).__name__}: {str(error)[:300]}"]
    if len(results) != len(expected):
        return [f"{dtype}: {len(results)} results instead of {len(expected)}"]
    growth = 2.0 if dtype in HALF else 10.0  # each derivative rounds more often
    tolerance = max(ROUNDING[dtype], row.tolerance) * growth**order
    pairs = zip(results, expected, strict=True)
    return [
        f"{dtype}, {column} {i}: {line}"
        for i, (a, b) in enumerate(pairs)
        for line in compared(a, b, tolerance)
    ]


def in_tensorflow(row: Row, column: str, dtype: str) -> bool:
    """Whether TensorFlow can do it, which has kernels for some dtypes only."""
    try:
        outcome(tensorflow, row, row.arrays(dtype), COLUMNS.index(column))
    except Exception:  # noqa: BLE001  # a missing kernel has many types of error
        return False
    return True


def errors(row: Row, column: str, ours: Any = gradtape) -> list[str]:
    """A line for every derivative in gradtape that is not the quotient of differences of what
    stands in the column before.
    """
    order = COLUMNS.index(column)
    dtype = "complex128" if "complex128" in row.dtypes else "float64"
    arrays = row.arrays(dtype)
    single = any(
        gradtape.is_tensor(r) and r.dtype.name == "float32" for r in outcome(ours, row, arrays, 0)
    )
    step, tolerance = (1e-2, 1e-4) if single else (1e-5, 1e-5)
    lines = []
    for i, result in zip(row.wanted, outcome(ours, row, arrays, order), strict=True):
        found = (
            np.zeros_like(arrays[i])
            if result is None
            else gradtape.convert_to_tensor(result).numpy()
        )
        quotients = quotients_of(row, arrays, i, order - 1, step)
        if not close(found, quotients, tolerance):
            lines.append(f"{column} {i}:\n{found}\ninstead of\n{quotients}")
    return lines


def quotients_of(row: Row, arrays: list[Any], i: int, order: int, step: float) -> np.ndarray:
    """The gradient of the weighted sum by argument i, by central differences;
    for complex numbers, by both parts.
    """
    found = np.zeros_like(arrays[i])
    for at in np.ndindex(found.shape):
        for unit in (1.0, 1.0j) if found.dtype.kind == "c" else (1.0,):
            ends = []
            for sign in (1.0, -1.0):
                moved = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
                moved[i][at] += sign * step * unit
                ends.append(float(weighted(gradtape, outcome(gradtape, row, moved, order), order)))
            found[at] += unit * (ends[0] - ends[1]) / (2.0 * step)
    return found


def plain(tf: Any, value: Any) -> Any:
    """A result as something that both libraries share."""
    if isinstance(value, tf.IndexedSlices):
        return ("sparse", tf.convert_to_tensor(value).numpy())
    if isinstance(value, tf.TensorShape):
        return value.as_list()
    if isinstance(value, tf.DType):
        return value.name
    if tf.is_tensor(value):
        return np.asarray(value.numpy())
    return value


def compared(ours: Any, theirs: Any, tolerance: float) -> Iterator[str]:
    """A line for each difference of two results."""
    if isinstance(ours, tuple) != isinstance(theirs, tuple):
        yield f"{'sparse' if isinstance(ours, tuple) else 'not sparse'} in gradtape alone"
        return
    if isinstance(ours, tuple):
        ours, theirs = ours[1], theirs[1]
    if not (isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray)):
        if type(ours) is not type(theirs) or ours != theirs:
            yield f"{ours!r} instead of {theirs!r}"
        return
    if ours.dtype != theirs.dtype:
        yield f"dtype {ours.dtype} instead of {theirs.dtype}"
    elif ours.shape != theirs.shape:
        yield f"shape {ours.shape} instead of {theirs.shape}"
    elif not close(ours, theirs, tolerance):
        yield f"\n{ours}\ninstead of\n{theirs}"


def close(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> bool:
    if not theirs.dtype.name.startswith(FLOATING):
        return bool(np.array_equal(ours, theirs))
    tolerance = max(tolerance, ROUNDING[theirs.dtype.name])
    kind = complex if theirs.dtype.kind == "c" else float
    ours, theirs = ours.astype(kind), theirs.astype(kind)
    finite = np.abs(theirs[np.isfinite(theirs)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    return bool(np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale, equal_nan=True))
