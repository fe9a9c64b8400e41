"""The columns of the table of NumPy functions: what is checked for every row of every family."""

from __future__ import annotations

import numpy as np
import pytest

from . import checks
from .table import all_rows

ROWS = all_rows()

# NumPy's own functions ask a Tensor, which calls those of `gradtape.numpy`: of these by themselves
# a sample is enough.
SAMPLED = {"gradtape.numpy": pytest.mark.sampled(4)}
namespaces = pytest.mark.parametrize(
    "xp",
    [
        pytest.param(xp, id=name, marks=SAMPLED.get(name, ()))
        for name, xp in checks.NAMESPACES.items()
    ],
)


def each(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.id)


@namespaces
@each(ROWS)
def test_values_and_dtypes(row, xp):
    for dtype in dict.fromkeys(row.dtypes):
        checks.check_values(row, dtype, xp)
    checks.check_variables(row, row.dtypes[0], xp)


@namespaces
@each(ROWS)
def test_is_recorded_or_has_no_gradient(row, xp):
    (checks.check_recorded if row.differentiable else checks.check_not_recorded)(row, xp)


@pytest.mark.sampled(3)
@each([row for row in ROWS if row.differentiable and row.finite])
def test_derivatives(row):
    checks.check_derivatives(row, np)
    if row.second:
        checks.check_second_order(row, np)
