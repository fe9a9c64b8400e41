"""Rows of `arithmetic`, `elementary`, `logic`, `elementwise` and `by_function`."""

from __future__ import annotations

import numpy as np

from .table import Row, elementwise

NAMES = {
    "real": ("sin", "cos", "tanh", "sinh", "cosh", "exp", "exp2", "expm1", "arctan", "atan",
        "arcsinh", "asinh", "square", "negative",
             "positive", "absolute", "abs", "fabs", "conj", "conjugate", "deg2rad", "rad2deg",
             "radians", "degrees", "sinc", "i0", "real",
             "nan_to_num", "real_if_close"),
    "positive": ("log", "log2", "log10", "log1p", "sqrt", "reciprocal", "cbrt"),
    "unit": ("tan", "arcsin", "asin", "arccos", "acos", "arctanh", "atanh"),
    "above_one": ("arccosh", "acosh"),
}  # fmt: skip
COMPLEX = ("sin", "cos", "tan", "tanh", "sinh", "cosh", "exp", "exp2", "log", "log2", "log10",
    "log1p", "expm1", "sqrt", "square", "arctan",
           "arcsin", "arccos", "arcsinh", "arccosh", "arctanh", "negative", "positive", "absolute",
           "conj", "reciprocal", "sign", "real",
           "imag", "angle", "sinc", "nan_to_num")  # fmt: skip
PAIRS = (
    "add",
    "subtract",
    "multiply",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "arctan2",
    "atan2",
    "hypot",
    "logaddexp",
    "logaddexp2",
)
QUOTIENTS = ("divide", "true_divide", "remainder", "mod", "fmod")
POWERS = ("power", "pow", "float_power")
STEPS = ("floor", "ceil", "trunc", "rint", "fix", "isfinite", "isinf", "isnan", "isposinf",
    "isneginf", "isreal", "iscomplex", "signbit",
         "logical_not", "spacing", "round", "around", "iscomplexobj", "isrealobj")  # fmt: skip
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "isclose",
               "allclose", "array_equal", "array_equiv")  # fmt: skip
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm")
INTEGERS = ("negative", "absolute", "square", "sign", "sqrt", "exp", "sin", "invert", "bitwise_not",
    "bitwise_invert", "bitwise_count",
            "floor", "rint", "conj", "deg2rad", "cbrt", "log1p", "isnan", "reciprocal",
            "round")  # fmt: skip
HALVES = np.array([0.5, 1.5, -2.5, 2.4])


def far_from_zero(rng, shape):
    return rng.uniform(0.4, 2, shape) * rng.choice([-1, 1], shape)


def kinked(rng, shape):
    """Numbers that are not near the kinks of a clip at -1 and 1."""
    return rng.choice([-1.6, -0.5, 0.3, 1.4], shape) + rng.uniform(-0.2, 0.2, shape)


def calls(names, *domains, **options):
    return [row for name in names for row in elementwise(name, *domains, **options)]


def integers(name, *shapes, **options):
    return [
        Row(
            name,
            lambda xp, *args: getattr(xp, name)(*args),
            list(shapes),
            dtype=dtype,
            differentiable=False,
            label=dtype,
            **options,
        )
        for dtype in ("int8", "int16", "int32", "int64", "uint8")
    ]


ROWS = [
    *[row for domain, names in NAMES.items() for row in calls(names, domain)],
    *calls(COMPLEX, "complex"),
    *calls(PAIRS, "real", "real"),
    *calls(QUOTIENTS, "real", far_from_zero),
    *calls(("add", "subtract", "multiply", "divide"), "complex", "complex", label="complex"),
    *calls(POWERS, "positive", "real"),
    *calls(("power",), "complex", "complex", label="complex"),
    *calls(STEPS, "real", differentiable=False),
    *calls(("imag", "angle"), far_from_zero, differentiable=False, label="real"),
    *calls(("sign",), far_from_zero, second=False, label="real"),
    *calls(COMPARISONS, "real", "real", differentiable=False),
    *calls(("floor_divide",), "real", far_from_zero, differentiable=False),
    *calls(("divmod",), "real", far_from_zero),
    *calls(("copysign",), far_from_zero, far_from_zero, wanted=[0]),
    *calls(("nextafter",), "real", "real", wanted=[0], second=False),
    *calls(("frexp",), "positive"),
    *calls(("modf",), "real"),
    *calls(("less", "greater_equal"), "complex", "complex", differentiable=False, label="complex"),
    *[row for name in BITS for row in integers(name, (2, 3), (3,))],
    *[row for name in INTEGERS for row in integers(name, (2, 3))],
    *[row for name in ("add", "subtract", "multiply", "maximum", "less", "equal",
        "logical_and") for row in integers(name, (2, 3), (3,))],
    *[Row(name, lambda xp, x, name=name: getattr(xp, name)(x, 3), [(4,)], dtype="int32",
        differentiable=False)
      for name in ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift")],
    *[Row(name, lambda xp, *args, name=name: getattr(xp, name)(*args), [(2, 3)] * count,
        dtype="bool", differentiable=False, label="bool")
      for name,
      count in (("add", 2), ("multiply", 2), ("logical_or", 2), ("bitwise_and", 2), ("less", 2),
          ("maximum", 2), ("logical_not", 1),
                          ("invert", 1), ("sqrt", 1), ("absolute", 1))],
    Row("divide", lambda xp, x: xp.divide(x, 4), [(3,)], dtype="int32", differentiable=False,
        result="float64", label="integers"),
    Row("divide", lambda xp, x: xp.divide(x, 4), [(3,)], dtype="int8", differentiable=False,
        result="float32", label="bytes"),
    Row("floor_divide", lambda xp, x: xp.floor_divide(x, 3), [(4,)], dtype="int32",
        differentiable=False, label="integers"),
    Row("power", lambda xp, x: xp.power(x, 3), [(2, 3)], label="cube"),
    Row("power", lambda xp, x: xp.power(2.0, x), [(2, 3)], label="of two"),
    Row("maximum", lambda xp, x: xp.maximum(x, 0), [(2, 3)], label="with a number"),
    Row("subtract", lambda xp, x: xp.subtract(1.5, x), [(2, 3)], label="from a number"),
    Row("multiply", lambda xp, x: xp.multiply(np.arange(3.0), x), [(2, 3)], label="with an array"),
    Row("heaviside", lambda xp, x, y: xp.heaviside(x, y), [np.array([-1.0, 0.0, 2.0]), (3,)],
        wanted=[1], second=False),
    Row("ldexp", lambda xp, x: xp.ldexp(x, [1, -2, 3]), [(2, 3)]),
    Row("ldexp", lambda xp, x: xp.ldexp(x, 4), [()], label="scalar"),
    Row("round", lambda xp, x: xp.round(x, 2), [(2, 3)], differentiable=False, label="decimals"),
    Row("round", lambda xp, x: xp.round(x), [HALVES], differentiable=False, label="halves"),
    Row("angle", lambda xp, z: xp.angle(z, deg=True), [(2, 3)], domain="complex", label="degrees"),
    Row("where", lambda xp, x, y: xp.where(np.array([True, False, True]), x, y), [(2, 3), (3,)]),
    Row("where", lambda xp, x: xp.where(x > 0, x, 0), [(2, 3)], label="with a number"),
    Row("where", lambda xp, x: xp.where(x > 0), [(2, 3)], differentiable=False, label="indices",
        result="int64"),
    Row("where", lambda xp, x, y: xp.where(x, x, y), [(0, 3), (3,)], label="empty"),
    Row("select", lambda xp, x, y: xp.select([x < -0.5, x < 0.5], [x * 2, y], 3.0), [(2, 3), (3,)]),
    Row("select", lambda xp, x, y: xp.select([x < 0, x < 1], [x * x, x], y), [(2, 3), ()],
        label="default"),
    Row("piecewise", lambda xp, x: xp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v**2]),
        [(2, 3)]),
    Row("piecewise",
        lambda xp, x: xp.piecewise(x, [x < -0.5, x > 0.5],
            [1.0, lambda v, k: v * k, lambda v, k: v], 3.0), [(7,)], label="otherwise"),
    Row("piecewise", lambda xp, x: xp.piecewise(x, x > 0, [lambda v: v**0.5]), [(5,)],
        label="one condition"),
    Row("clip", lambda xp, x: xp.clip(x, -1, 1), [(2, 3)], domain=kinked),
    Row("clip", lambda xp, x: xp.clip(x, None, 1.0), [(2, 3)], domain=kinked, label="above"),
    Row("clip", lambda xp, x, low: xp.clip(x, min=low), [(2, 3), (3,)],
        domain=[kinked, lambda rng, shape: rng.uniform(-1.1, -0.9, shape)], label="below"),
    Row("clip", lambda xp, x: xp.clip(x, 1, 3), [(5,)], dtype="int32", differentiable=False,
        label="integers"),
    Row("nan_to_num", lambda xp, x: xp.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0),
        [np.array([1.0, np.nan, np.inf, -np.inf])], label="values"),
    Row("unwrap", lambda xp, x: xp.unwrap(x, axis=0), [(5, 2)],
        domain=lambda rng, shape: rng.uniform(-9, 9, shape), second=False),
    Row("unwrap", lambda xp, x: xp.unwrap(x, period=4), [(6,)],
        domain=lambda rng, shape: rng.uniform(-9, 9, shape), label="period", second=False),
    Row("apply_along_axis", lambda xp, x: xp.apply_along_axis(lambda row: row * row[0], 0, x),
        [(2, 3)]),
    Row("apply_along_axis", lambda xp, x: xp.apply_along_axis(lambda row: row[0] * row[1], 1, x),
        [(2, 3)], label="numbers"),
    Row("apply_along_axis", lambda xp, x: xp.apply_along_axis(lambda row: row[:, None] * row, 1, x),
        [(2, 3, 2)], label="matrices"),
    Row("apply_over_axes", lambda xp, x: xp.apply_over_axes(xp.sum, x, [0, 2]), [(2, 3, 2)]),
]  # fmt: skip
