"""The column of XLA: each row of NumPy's functions in a compiled function, values and gradients,
against eager code on NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape
from gradtape.core.tensor import Tensor

from .table import Row, all_rows

VALUES_DECIDE = {
    "allclose", "argwhere", "array_equal", "array_equiv", "bincount", "flatnonzero",
    "histogram_bin_edges", "intersect1d", "ix_", "lexsort", "linalg.matrix_rank", "linalg.qr",
    "nonzero", "piecewise", "ravel_multi_index", "roots", "setdiff1d", "setxor1d", "special.ber",
    "special.kei", "special.zetac", "trim_zeros", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "unravel_index", "where",
}  # fmt: skip
"""Functions that may refuse a call in a program, since they look at values."""

DIFFERENT = {
    "argmin complex 2x3": "XLA has no order of complex numbers",
    "linalg.eig": "before 2.5, NumPy's result is real where all eigenvalues are",
    "linalg.eigvals": "before 2.5, NumPy's result is real where all eigenvalues are",
    "max nan 3": "XLA takes 0 times infinity, in the gradient at a NaN, for 0",
    "polymul leading zero 3,2": "a program cannot drop a leading zero",
    "reciprocal": "integers become floats",
    "roots": "a program cannot drop a leading zero, and NumPy's result is real where all roots are",
}
"""Rows, or functions of which some rows differ, and why."""

TOLERANCE = {2: 4e-3, 4: 1e-4, 8: 1e-8, 16: 1e-8}  # by the size of a number


def outcome(row: Row, tensors: list[Tensor]) -> list[Tensor]:
    """The tensors among the results, and the gradients of the sum of their squares by the arguments
    to differentiate by.
    """
    sources = [tensors[i] for i in row.by] if row.differentiable else []
    with gradtape.GradientTape() as tape:
        tape.watch(sources)
        found = [
            part
            for part in gradtape.nest.flatten(row.call(gradtape.numpy, *tensors))
            if isinstance(part, Tensor)
        ]
        floats = [part for part in found if part.dtype.is_floating or part.dtype.is_complex]
        total = (
            gradtape.add_n(
                [gradtape.cast(gradtape.reduce_sum(gradtape.abs(p * p)), "float64") for p in floats]
            )
            if floats
            else None
        )
    gradients = tape.gradient(total, sources) if sources and total is not None else []
    return [*found, *(gradtape.convert_to_tensor(g) for g in gradients if g is not None)]


def compiled(row: Row, tensors: list[Tensor]) -> list[Tensor] | str:
    """The same in one program, or the words with which it was refused."""
    try:
        return gradtape.function(lambda given: outcome(row, given), autograph=False)(tensors)
    except (TypeError, gradtape.errors.OperatorNotAllowedInGraphError) as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.id)
        for row in all_rows()
        if row.id not in DIFFERENT and row.name not in DIFFERENT
    ],
)
def test_compiled_is_eager(row):
    tensors = [gradtape.constant(a) for a in row.make(row.dtypes[0])]
    expected = outcome(row, tensors)
    results = compiled(row, tensors)
    if isinstance(results, str):
        assert row.name in VALUES_DECIDE, results
        assert "function" in results
        return
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        a, b = np.asarray(result.numpy()), np.asarray(wanted.numpy())
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        tolerance = TOLERANCE[b.dtype.itemsize] if b.dtype.kind in "fc" else 0
        largest = np.abs(b[np.isfinite(b)]).max(initial=1) if b.dtype.kind in "fc" else 0
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * largest)


def test_the_tables_name_only_rows():
    rows = all_rows()
    assert VALUES_DECIDE <= {row.name for row in rows}
    assert set(DIFFERENT) <= {row.name for row in rows} | {row.id for row in rows}
