"""Zeros with a sign, infinities and NaN in elementwise functions and reductions,
as the standard lists them.
"""

import math

import numpy as np
import pytest

import gradtape as tf
import gradtape.array_api as xp

inf, nan, pi = math.inf, math.nan, math.pi

# function: the arguments, and the result in the last place
UNARY = {
    "abs": [(nan, nan), (-0.0, 0.0), (-inf, inf)],
    "acos": [(nan, nan), (1.5, nan), (-1.5, nan), (1.0, 0.0)],
    "acosh": [(nan, nan), (0.5, nan), (1.0, 0.0), (inf, inf)],
    "asin": [(nan, nan), (1.5, nan), (-1.5, nan), (0.0, 0.0), (-0.0, -0.0)],
    "asinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "atan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, pi / 2), (-inf, -pi / 2)],
    "atanh": [
        (nan, nan),
        (-1.5, nan),
        (1.5, nan),
        (-1.0, -inf),
        (1.0, inf),
        (0.0, 0.0),
        (-0.0, -0.0),
    ],
    "ceil": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (-0.5, -0.0)],
    "cos": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)],
    "cosh": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf)],
    "exp": [(nan, nan), (0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0)],
    "expm1": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0)],
    "floor": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0)],
    "log": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log10": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "log1p": [(nan, nan), (-2.0, nan), (-1.0, -inf), (-0.0, -0.0), (0.0, 0.0), (inf, inf)],
    "log2": [(nan, nan), (-1.0, nan), (0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf)],
    "reciprocal": [(0.0, inf), (-0.0, -inf), (inf, 0.0), (-inf, -0.0), (nan, nan)],
    "round": [
        (nan, nan),
        (inf, inf),
        (-inf, -inf),
        (0.0, 0.0),
        (-0.0, -0.0),
        (0.5, 0.0),
        (1.5, 2.0),
        (2.5, 2.0),
        (-0.5, -0.0),
    ],
    "sign": [(-2.0, -1.0), (-0.0, 0.0), (0.0, 0.0), (2.0, 1.0), (nan, nan)],
    "signbit": [
        (0.0, False),
        (-0.0, True),
        (inf, False),
        (-inf, True),
        (2.0, False),
        (-2.0, True),
        (nan, False),
        (-nan, True),
    ],
    "sin": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sinh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "sqrt": [(nan, nan), (-1.0, nan), (0.0, 0.0), (-0.0, -0.0), (inf, inf)],
    "tan": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "tanh": [(nan, nan), (0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0)],
    "trunc": [(nan, nan), (inf, inf), (-inf, -inf), (0.0, 0.0), (-0.0, -0.0), (-0.5, -0.0)],
    "isfinite": [(inf, False), (-inf, False), (nan, False), (1.0, True)],
    "isinf": [(inf, True), (-inf, True), (nan, False), (1.0, False)],
    "isnan": [(inf, False), (nan, True), (1.0, False)],
}

BINARY = {
    "add": [(nan, 1.0, nan), (inf, -inf, nan), (inf, inf, inf), (inf, 1.0, inf), (-0.0, -0.0, -0.0),
        (-0.0, 0.0, 0.0), (1.0, -1.0, 0.0)],
    "atan2": [
        (nan, 1.0, nan), (1.0, nan, nan), (1.0, 0.0, pi / 2), (1.0, -0.0, pi / 2), (0.0, 1.0, 0.0),
        (0.0, 0.0, 0.0), (0.0, -0.0, pi), (0.0, -1.0, pi), (-0.0, 1.0, -0.0), (-0.0, 0.0, -0.0),
        (-0.0, -0.0, -pi), (-0.0, -1.0, -pi), (-1.0, 0.0, -pi / 2), (1.0, inf, 0.0),
        (1.0, -inf, pi), (-1.0, inf, -0.0), (-1.0, -inf, -pi), (inf, 1.0, pi / 2),
        (-inf, 1.0, -pi / 2), (inf, inf, pi / 4), (inf, -inf, 3 * pi / 4), (-inf, inf, -pi / 4),
        (-inf, -inf, -3 * pi / 4),
    ],
    "copysign": [(2.0, -0.0, -2.0), (-2.0, 0.0, 2.0), (2.0, nan, 2.0), (2.0, -nan, -2.0),
        (nan, 1.0, nan)],
    "divide": [
        (nan, 1.0, nan), (inf, inf, nan), (0.0, 0.0, nan), (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0),
        (0.0, -1.0, -0.0), (1.0, 0.0, inf), (1.0, -0.0, -inf), (-1.0, 0.0, -inf), (inf, -1.0, -inf),
        (1.0, inf, 0.0), (1.0, -inf, -0.0),
    ],
    "equal": [(nan, nan, False), (inf, inf, True), (-0.0, 0.0, True), (inf, -inf, False)],
    "floor_divide": [(nan, 1.0, nan), (inf, inf, nan), (0.0, 0.0, nan), (0.0, 1.0, 0.0),
        (1.0, 0.0, inf), (-1.0, 0.0, -inf), (1.0, inf, 0.0)],
    "greater": [(nan, 1.0, False), (inf, 1.0, True), (1.0, -inf, True)],
    "hypot": [(inf, nan, inf), (nan, -inf, inf), (nan, 1.0, nan), (0.0, -0.0, 0.0)],
    "logaddexp": [(nan, 1.0, nan), (inf, 1.0, inf), (1.0, inf, inf), (-inf, -inf, -inf)],
    "maximum": [(nan, 1.0, nan), (1.0, nan, nan)],
    "minimum": [(nan, 1.0, nan), (1.0, nan, nan)],
    "multiply": [(nan, 1.0, nan), (inf, 0.0, nan), (-0.0, inf, nan), (inf, -inf, -inf),
        (-0.0, 1.0, -0.0)],
    "nextafter": [(nan, 1.0, nan), (1.0, nan, nan), (0.0, -0.0, -0.0), (-0.0, 0.0, 0.0)],
    "pow": [
        (1.0, nan, 1.0), (nan, 0.0, 1.0), (nan, -0.0, 1.0), (nan, 2.0, nan), (2.0, inf, inf),
        (2.0, -inf, 0.0), (-1.0, inf, 1.0), (0.5, inf, 0.0), (0.5, -inf, inf), (inf, 2.0, inf),
        (inf, -2.0, 0.0), (-inf, 3.0, -inf), (-inf, 2.0, inf), (-inf, -3.0, -0.0), (0.0, 2.0, 0.0),
        (0.0, -2.0, inf), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, -3.0, -inf), (-2.0, 0.5, nan),
    ],
    "remainder": [(nan, 1.0, nan), (inf, 1.0, nan), (1.0, 0.0, nan), (0.0, 1.0, 0.0),
        (-0.0, 1.0, 0.0), (0.0, -1.0, -0.0), (1.0, inf, 1.0), (-1.0, -inf, -1.0)],
    "subtract": [(nan, 1.0, nan), (inf, inf, nan), (inf, -inf, inf), (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0)],
}  # fmt: skip

UNARY_CASES = [(name, x, out) for name, cases in UNARY.items() for x, out in cases]
BINARY_CASES = [(name, x, y, out) for name, cases in BINARY.items() for x, y, out in cases]


def same(found, expected):
    """Equal to rounding, with the same sign of zero."""
    number = float(found)
    if isinstance(expected, bool):
        return found.dtype == xp.bool and bool(found) is expected
    if math.isnan(expected):
        return math.isnan(number)
    return math.isclose(number, expected, rel_tol=1e-6) and math.copysign(
        1, number
    ) == math.copysign(1, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "x", "expected"), UNARY_CASES)
def test_unary(name, x, expected, dtype):
    found = getattr(xp, name)(tf.constant([x, x], dtype))
    assert same(found[1], expected)
    assert same(getattr(xp, name)(tf.constant(x, dtype)), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "x", "y", "expected"), BINARY_CASES)
def test_binary(name, x, y, expected, dtype):
    assert same(getattr(xp, name)(tf.constant(x, dtype), tf.constant(y, dtype)), expected)
    assert same(getattr(xp, name)(tf.constant([x, x], dtype), y)[0], expected)


def test_the_check_knows_the_sign_of_zero():
    assert not same(tf.constant(0.0), -0.0)
    assert not same(tf.constant(0.0), nan)
    assert same(tf.constant(-0.0), -0.0)


@pytest.mark.parametrize("name", ["max", "min", "mean", "prod", "std", "sum", "var"])
def test_nan_goes_through_reductions(name):
    assert math.isnan(float(getattr(xp, name)(tf.constant([1.0, nan, 2.0]))))


@pytest.mark.parametrize(
    ("name", "expected"), [("sum", 0.0), ("prod", 1.0), ("any", False), ("all", True)]
)
def test_reductions_of_nothing(name, expected):
    assert same(getattr(xp, name)(xp.zeros(0)), expected)


@pytest.mark.parametrize(
    ("name", "number"),
    [("sum", 1j), ("sqrt", -4 + 0j), ("exp", 1j * pi), ("abs", 3 + 4j), ("sign", 3 + 4j)],
)
def test_complex_numbers(name, number):
    expected = {"sum": 1j, "sqrt": 2j, "exp": -1, "abs": 5, "sign": 0.6 + 0.8j}[name]
    np.testing.assert_allclose(
        getattr(xp, name)(xp.asarray([number], dtype=xp.complex128)).numpy(), [expected], atol=1e-12
    )
