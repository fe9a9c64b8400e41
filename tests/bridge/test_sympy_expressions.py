"""`bridge.from_sympy`: an expression is an op, and its derivatives are SymPy's."""

import inspect

import numpy as np
import pytest
import sympy

import gradtape as tf
from gradtape.bridge import black_box, from_sympy
from gradtape.bridge.sympy_code import _FUNCTIONS, code_of

x, y = sympy.symbols("x y")
A, B = tf.constant([[0.5], [1.25]], tf.float64), tf.constant([1.0, 2.0, 0.3], tf.float64)


def close(found, expected, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=1e-13)


f = from_sympy(sympy.sin(x) * y**2 + sympy.exp(x * y) / sympy.sqrt(x**2 + 1), [x, y])


def here(x, y):
    return tf.sin(x) * y**2 + tf.exp(x * y) / tf.sqrt(x**2 + 1)


def derivatives(f, a, b):
    with tf.GradientTape(persistent=True) as third:
        third.watch([a, b])
        with tf.GradientTape(persistent=True) as second:
            second.watch([a, b])
            with tf.GradientTape(persistent=True) as first:
                first.watch([a, b])
                out = f(a, b)
            gradient = first.gradient(out, [a, b])
        mixed = second.gradient(gradient[0], b)
    jacobian = first.jacobian(out, a)
    with tf.autodiff.ForwardAccumulator([a, b], [a, b]) as outer:
        with tf.autodiff.ForwardAccumulator([a, b], [a, b]) as inner:
            out = f(a, b)
        tangent = inner.jvp(out)
    with tf.autodiff.ForwardAccumulator(a, a) as forward:
        with tf.GradientTape() as tape:
            tape.watch(b)
            out = f(a, b)
        by_b = tape.gradient(out, b)
    return {
        "out": out,
        "by a": gradient[0],
        "by b": gradient[1],
        "mixed": mixed,
        "third": third.gradient(mixed, a),
        "jacobian": jacobian,
        "jvp": tangent,
        "second jvp": outer.jvp(tangent),
        "jvp of gradient": forward.jvp(by_b),
        "map": tf.vectorized_map(lambda row: f(row, b), a),
        "map over the other": tf.vectorized_map(lambda element: f(a, element), b),
    }


@pytest.mark.parametrize("way", ["eager", "function"])
def test_derivatives(way):
    run = lambda a, b: derivatives(f, a, b)
    found = run(A, B) if way == "eager" else tf.function(run)(A, B)
    for name, expected in derivatives(here, A, B).items():
        close(found[name], expected)


SAMPLES = {
    "exp(x)": 0.5, "log(x)": 0.5, "sqrt(x)": 0.5, "cbrt(x)": 0.5, "x**3": 0.5, "x**-2": 0.5,
    "x**pi": 0.5, "2**x": 0.5, "x**x": 0.5, "1/(x+1)": 0.5, "pi*x + E": 0.5,
    "Rational(1,3)*x": 0.5, "sin(x)": 0.5, "cos(x)": 0.5, "tan(x)": 0.5, "cot(x)": 0.5,
    "sec(x)": 0.5, "csc(x)": 0.5, "asin(x)": 0.5, "acos(x)": 0.5, "atan(x)": 0.5, "acot(x)": 0.5,
    "asec(x)": 1.5, "acsc(x)": 1.5, "atan2(x, 2)": 0.5, "sinh(x)": 0.5, "cosh(x)": 0.5,
    "tanh(x)": 0.5, "coth(x)": 0.5, "sech(x)": 0.5, "csch(x)": 0.5, "asinh(x)": 0.5,
    "acosh(x)": 1.5, "atanh(x)": 0.5, "acoth(x)": 1.5, "asech(x)": 0.5, "acsch(x)": 0.5,
    "sinc(x)": 0.5, "Abs(x)": -0.5, "sign(x)*x": -0.5, "floor(x)*x": 2.5, "ceiling(x)*x": 2.5,
    "frac(x)*x": 2.7, "Mod(x, 2)*x": -2.5, "elliptic_e(x)": 0.5,
    "Max(x, x**2, 0)": 0.5, "Min(x, 1-x)": 0.7, "Heaviside(x)*x": 0.5,
    "Piecewise((x**2, x < 0), (sin(x), x < 1), (x, True))": 0.5,
    "Piecewise((1, And(x > 0, Not(x > 1))), (2, Or(x > 5, Eq(x, 7))), (x, True))": 3.0,
    "erf(x)": 0.5, "erfc(x)": 0.5, "erfi(x)": 0.5, "erfinv(x)": 0.5, "erfcinv(x)": 0.5,
    "fresnels(x)": 0.5, "fresnelc(x)": 0.5, "Ei(x)": 0.5, "expint(2, x)": 0.5, "Si(x)": 0.5,
    "Ci(x)": 0.5, "Shi(x)": 0.5, "Chi(x)": 0.5, "gamma(x)": 1.5, "loggamma(x)": 1.5,
    "factorial(x)": 1.5, "digamma(x)": 1.5, "polygamma(2, x)": 1.5, "zeta(3, x)": 1.5,
    "beta(x, 2)": 1.5, "uppergamma(2, x)": 1.5, "lowergamma(2, x)": 1.5, "besselj(2, x)": 1.5,
    "bessely(1, x)": 1.5, "besseli(1, x)": 1.5, "besselk(2, x)": 1.5, "airyai(x)": 0.5,
    "airybi(x)": 0.5, "airyaiprime(x)": 0.5, "airybiprime(x)": 0.5, "elliptic_k(x)": 0.5,
    "binomial(5, 2)*x": 0.5, "sin(2)*x": 0.5, "besselj(0, 2)*x": 0.5, "sin(x)**2 + sin(x)**3": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("text", SAMPLES)
def test_functions(text):
    """Values and derivatives are those that SymPy computes with 30 digits."""
    expression, at = sympy.sympify(text, {"x": x}), SAMPLES[text]
    point = tf.constant(at, tf.float64)
    g = from_sympy(expression, x)
    with tf.GradientTape() as tape:
        tape.watch(point)
        value = g(point)
    slope = tape.gradient(value, point)
    real = sympy.Symbol("x", real=True)
    # SymPy has no digits of that one.
    exact = expression.xreplace({x: real}).replace(sympy.erfcinv, lambda z: sympy.erfinv(1 - z))
    close(value, float(exact.subs(real, at).evalf(30)), rtol=1e-10)
    step = sympy.Rational(1, 10**8)
    at = sympy.Rational(at)
    ahead, back = (exact.subs(real, at + s).evalf(40) for s in (step, -step))
    close(slope, float((ahead - back) / (2 * step)), rtol=1e-8)


def test_every_function_is_tried():
    written = {"where", "maximum", "minimum", "square", "power", "equal", "step"}
    conditions = {name for name in _FUNCTIONS if name in CONDITIONS}
    tried = " ".join(SAMPLES)
    missing = [n for n in _FUNCTIONS if f"{n}(" not in tried and n not in written | conditions]
    assert missing == []


CONDITIONS = {
    "Equality": sympy.Eq(x, y), "Unequality": sympy.Ne(x, y), "StrictLessThan": x < y,
    "StrictGreaterThan": x > y, "LessThan": x <= y, "GreaterThan": x >= y,
    "And": (x > 1) & (y > 1), "Or": (x > 1) | (y > 1), "Xor": (x > 1) ^ (y > 1), "Not": ~(x > 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name):
    g = from_sympy(sympy.Piecewise((x, CONDITIONS[name]), (-x, True)), [x, y])
    expected = sympy.lambdify([x, y], CONDITIONS[name])
    for a in (0.0, 1.0, 2.0):
        for b in (0.0, 1.0, 2.0):
            assert g(a, b).numpy() == (a if expected(a, b) else -a)


def test_value_and_partials_share_what_is_common():
    source = inspect.getsource(f._call.with_partials((0, 1))._code)
    assert source.count("exp(") == source.count("sin(") == 1
    assert source.count("return") == 1


def test_structures_and_matrices():
    g = from_sympy(
        {"a": x + y, "b": [sympy.Integer(2), sympy.Matrix([[x, y], [x * y, 1]])]}, [x, y]
    )
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        found = g(v, 3)
    assert found["a"].numpy().tolist() == [4, 5]
    assert found["b"][0].numpy().tolist() == [2, 2]
    assert found["b"][1].numpy().tolist() == [[[1, 3], [3, 1]], [[2, 3], [6, 1]]]
    assert tape.gradient(found["b"][1], v).numpy().tolist() == [4, 4]
    assert tape.gradient(found["b"][0], v) is None
    assert from_sympy([x, y], [x, y])(x=1, y=2)[1].numpy() == 2


def test_dtypes():
    g = from_sympy(x * sympy.pi + y, [x, y])
    assert g(tf.constant(1, tf.int32), 2).dtype == tf.float32
    assert g(tf.constant(1.0, tf.float16), 2.5).dtype == tf.float16
    assert g(tf.constant(1.0, tf.float64), tf.constant(1.0)).dtype == tf.float64


def test_variables_in_a_compiled_step():
    a, b = tf.Variable(1.0), tf.Variable(1.0)
    rosenbrock = from_sympy((1 - x) ** 2 + 10 * (y - x**2) ** 2, [x, y])

    @tf.function
    def step():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                value = rosenbrock(a, b)
            gradient = tape.gradient(value, [a, b])
        by_b = outer.gradient(gradient[1], b)
        b.assign_sub(gradient[1] / by_b)
        return value

    a.assign(0.5)
    step()
    close(b, 0.25, rtol=1e-6)


def test_symbols_stand_for_real_numbers():
    g = from_sympy(sympy.Abs(x) + sympy.sqrt(x**2), x)
    v = tf.Variable(-2.0)
    with tf.GradientTape() as tape:
        z = g(v)
    assert (z.numpy(), tape.gradient(z, v).numpy()) == (4, -2)


def test_symbolic_manual_numerical_and_recorded_derivatives_agree():
    """One function, differentiated in the four ways there are."""
    expression = sympy.exp(-(x**2)) * sympy.cos(3 * x)

    @tf.custom_gradient
    def manual(x):
        bell, wave = tf.exp(-(x**2)), tf.cos(3 * x)
        return bell * wave, lambda g: -g * bell * (2 * x * wave + 3 * tf.sin(3 * x))

    ways = {
        "tape": lambda x: tf.exp(-(x**2)) * tf.cos(3 * x),
        "symbolic": from_sympy(expression, x),
        "manual": manual,
        "finite difference": black_box(
            lambda x: np.exp(-(x**2)) * np.cos(3 * x), elementwise=True
        ),
        "complex step": black_box(
            lambda x: np.exp(-(x**2)) * np.cos(3 * x), "complex-step", elementwise=True
        ),
    }  # fmt: skip
    points = tf.constant(np.linspace(-2, 2, 41))
    exact = [float(expression.diff(x).subs(x, p).evalf(30)) for p in points.numpy()]
    off = {}
    for name, way in ways.items():
        with tf.GradientTape() as outer:
            outer.watch(points)
            with tf.GradientTape() as tape:
                tape.watch(points)
                values = way(points)
            gradient = tape.gradient(values, points)
        off[name] = np.max(np.abs(gradient.numpy() - exact))
        second = outer.gradient(gradient, points).numpy()
        twice = sympy.lambdify(x, expression.diff(x, 2))(points.numpy())
        np.testing.assert_allclose(second, twice, atol=1e-6)
    assert max(off[name] for name in ("tape", "symbolic", "manual", "complex step")) < 1e-14
    assert off["finite difference"] < 1e-9


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: from_sympy(x, "x"), TypeError, "must be SymPy symbols, got 'x'"),
        (lambda: from_sympy(x, [x, x]), ValueError, "a symbol is given twice"),
        (lambda: from_sympy(x + y, x), ValueError, r"a symbol y that is not among .*\['x'\]"),
        (lambda: from_sympy(x, x)(), TypeError, r"one value for each of the symbols \['x'\]"),
        (lambda: from_sympy(x, x)(1, z=2), TypeError, r"1 by position and \['z'\] by name"),
        (lambda: from_sympy(x, x)(1j), TypeError, "argument 'x' has dtype complex128"),
        (lambda: from_sympy(sympy.LambertW(x), x), NotImplementedError, "SymPy's LambertW"),
        (lambda: from_sympy(sympy.Function("h")(x), x), NotImplementedError, "SymPy's h: rewrite"),
        (lambda: from_sympy(sympy.I * x, x), NotImplementedError, "I is no real number"),
        (lambda: from_sympy(sympy.Sum(x, (y, 1, 3)), x), NotImplementedError, "SymPy's Sum"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_derivative_that_gradtape_has_no_function_for():
    g = from_sympy(sympy.zeta(x), x)
    v = tf.Variable(3.0)
    assert 1.2 < g(v).numpy() < 1.21
    with pytest.raises(NotImplementedError, match="no function for SymPy's"), tf.GradientTape():
        g(v)


def test_code_of_a_constant():
    assert code_of([sympy.Integer(3), sympy.oo], [])(float) == (3.0, float("inf"))
