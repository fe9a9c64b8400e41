"""`gradtape.scipy.integrate.quad` and `quad_vec` against SciPy, differences and formulas."""

import math
import warnings

import numpy as np
import pytest
import scipy.integrate

import gradtape as tf
from gradtape.scipy import integrate
from tests.scipy.checking import Row, check

ONE, TWO = np.array(1.3), np.array(0.4)


def bell(x, width, height):
    exp = np.exp if isinstance(x, float) else tf.exp
    return height * exp(-((x / width) ** 2)) * x


def waves(x, rates):
    exp = np.exp if isinstance(x, float) else tf.exp
    return exp(-rates * x) * x


ROWS = {
    "quad": Row(
        lambda a, b, w, h: integrate.quad(bell, a, b, (w, h))[0],
        lambda a, b, w, h: np.float64(scipy.integrate.quad(bell, a, b, (w, h), epsabs=1e-13)[0]),
        (TWO, ONE, ONE + 1, TWO),
    ),
    "quad, to infinity": Row(
        lambda a, w: integrate.quad(bell, a, math.inf, (w, 2.0))[0],
        lambda a, w: np.float64(scipy.integrate.quad(bell, a, np.inf, (w, 2.0), epsabs=1e-13)[0]),
        (TWO, ONE),
    ),
    "quad, points": Row(
        lambda w: integrate.quad(bell, 0, 2, (w, 2.0), points=[1.0])[0],
        lambda w: np.float64(scipy.integrate.quad(bell, 0, 2, (w, 2.0), points=[1.0])[0]),
        (ONE,),
    ),
    "quad_vec": Row(
        lambda a, b, r: integrate.quad_vec(waves, a, b, args=(r,))[0],
        lambda a, b, r: scipy.integrate.quad_vec(waves, float(a), float(b), args=(r,))[0],
        (TWO, ONE, np.array([[0.5, 1.0], [2.0, 3.0]])),
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_integrals(name):
    check(ROWS[name])


def test_closures():
    rates = tf.Variable(np.array([0.5, 2.0]))
    base = tf.constant(np.array(0.7))
    for compiled in (False, True):

        def f():
            with tf.GradientTape() as outer:
                with tf.GradientTape() as tape:
                    tape.watch(base)
                    scale = base * base
                    found, error = integrate.quad_vec(
                        lambda x: scale * tf.exp(-rates * x),
                        0.0,
                        math.inf,
                    )
                    y = tf.reduce_sum(found)
                by = tape.gradient(y, [rates, base])
                z = tf.reduce_sum(by[0])
            return y, error, by, outer.gradient(z, rates)

        y, error, by, second = tf.function(f)() if compiled else f()
        r = rates.numpy()
        np.testing.assert_allclose(y, np.sum(0.49 / r), rtol=1e-9)
        assert 0 <= float(error) < 1e-6
        np.testing.assert_allclose(by[0], -0.49 / r**2, rtol=1e-7)
        np.testing.assert_allclose(by[1], np.sum(1.4 / r), rtol=1e-7)
        np.testing.assert_allclose(second, 0.98 / r**3, rtol=1e-6)


def test_infinite_limits_have_no_gradients_and_errors_are_numbers():
    low, high = tf.constant(-math.inf), tf.constant(math.inf)
    with tf.GradientTape() as tape:
        tape.watch([low, high])
        found, error = integrate.quad(lambda x: tf.exp(-x * x), low, high)
    np.testing.assert_allclose(found, math.sqrt(math.pi), rtol=1e-10)
    assert isinstance(error, float)
    assert [float(g) for g in tape.gradient(found, [low, high])] == [0.0, 0.0]


def test_turned_and_empty_intervals():
    f = lambda x: x * x
    np.testing.assert_allclose(integrate.quad(f, 1.0, 0.0)[0], -1 / 3, rtol=1e-12)
    assert integrate.quad(f, 1.0, 1.0)[0] == 0.0
    assert integrate.quad_vec(lambda x: x * np.zeros((2, 0)), 0.0, 1.0)[0].shape == (2, 0)


def test_what_does_not_converge_warns():
    with pytest.warns(scipy.integrate.IntegrationWarning):
        integrate.quad(lambda x: 1 / x, 0.0, 1.0)
    with pytest.warns(RuntimeWarning, match="quad_vec: the integral did not converge"):
        integrate.quad_vec(lambda x: x**-0.9 * np.ones(2), 0.0, 1.0, limit=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        integrate.quad(lambda x: x**-0.5, 0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "error", "complaint"),
    [
        (lambda: integrate.quad(1, 0, 1), TypeError, "the integrand must be a function"),
        (lambda: integrate.quad(bell, [0, 1], 1), ValueError, "quad: a must be one number"),
        (lambda: integrate.quad(lambda x: [x, x], 0, 1), ValueError, "use quad_vec"),
        (lambda: integrate.quad(lambda x: tf.complex(x, x), 0, 1), TypeError, "is complex"),
    ],
)
def test_bad_input(call, error, complaint):
    with pytest.raises(error, match=complaint):
        call()
