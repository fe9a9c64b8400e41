"""Special functions by their public names: what they take, what they refuse, and derivatives that
TensorFlow does not have.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
import scipy.special

import gradtape as tf

UNARY = {
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "erfinv": scipy.special.erfinv,
    "erfcinv": scipy.special.erfcinv,
    "ndtri": scipy.special.ndtri,
    "lgamma": scipy.special.gammaln,
    "digamma": scipy.special.digamma,
    "bessel_i0": scipy.special.i0,
    "bessel_i0e": scipy.special.i0e,
    "bessel_i1": scipy.special.i1,
    "bessel_i1e": scipy.special.i1e,
    "special.bessel_j0": scipy.special.j0,
    "special.bessel_j1": scipy.special.j1,
    "special.bessel_k0": scipy.special.k0,
    "special.bessel_k0e": scipy.special.k0e,
    "special.bessel_k1": scipy.special.k1,
    "special.bessel_k1e": scipy.special.k1e,
    "special.bessel_y0": scipy.special.y0,
    "special.bessel_y1": scipy.special.y1,
    "special.dawsn": scipy.special.dawsn,
    "special.expint": scipy.special.expi,
    "special.fresnel_cos": lambda x: scipy.special.fresnel(x)[1],
    "special.fresnel_sin": lambda x: scipy.special.fresnel(x)[0],
    "special.spence": scipy.special.spence,
}


def public(name):
    return reduce(getattr, name.split("."), tf.math)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x = np.array([0.2, 0.6, 0.9])
    for dtype, tolerance in (
        (tf.float64, 1e-14),
        (tf.float32, 1e-6),
        (tf.float16, 2e-3),
        (tf.bfloat16, 2e-2),
    ):
        y = public(name)(tf.constant(x, dtype))
        assert y.dtype == dtype
        np.testing.assert_allclose(
            y.numpy().astype(np.float64), UNARY[name](x), rtol=4 * tolerance, atol=tolerance
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match=name.removeprefix("special.")):
        public(name)(tf.constant([1, 2]))


@pytest.mark.parametrize("name", ["igamma", "igammac", "zeta", "polygamma"])
def test_binary_refuses_integers(name):
    with pytest.raises(tf.errors.InvalidArgumentError, match=name):
        public(name)(tf.constant([1, 2]), tf.constant([1, 2]))


def test_plain_numbers_take_the_dtype_of_the_tensor_beside_them():
    x = tf.constant([0.25, 0.5], tf.float64)
    assert (
        tf.math.igamma(2, x).dtype
        == tf.math.zeta(x + 2, 1.0).dtype
        == tf.math.betainc(2.0, 3, x).dtype
        == tf.float64
    )
    np.testing.assert_allclose(
        tf.math.betainc(2.0, 3, x).numpy(), scipy.special.betainc(2, 3, [0.25, 0.5])
    )


def test_lbeta():
    x = tf.constant([[1.0, 2.0, 3.0], [0.5, 0.5, 4.0]], tf.float64)
    expected = scipy.special.gammaln(x.numpy()).sum(-1) - scipy.special.gammaln(x.numpy().sum(-1))
    np.testing.assert_allclose(tf.math.lbeta(x).numpy(), expected)
    assert tf.math.lbeta(tf.zeros([3, 0])).numpy().tolist() == [-np.inf] * 3
    with pytest.raises(tf.errors.InvalidArgumentError, match="lbeta"):
        tf.math.lbeta(1.0)


def gradients(function, *args):
    tensors = [tf.constant(arg) for arg in args]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        y = function(*tensors)
    return [None if g is None else g.numpy() for g in tape.gradient(y, tensors)]


def test_conventions():
    assert gradients(tf.math.erfinv, 1.0) == [np.inf]
    assert gradients(tf.math.xlog1py, 0.0, -1.0) == [0, 0]
    assert gradients(tf.math.nextafter, 1.0, 2.0) == [1, 0]
    assert gradients(tf.math.polygamma, 1.0, 2.0)[0] is None
    np.testing.assert_allclose(gradients(tf.math.special.spence, 1.0), [-1])
    np.testing.assert_allclose(gradients(tf.math.bessel_i1, 0.0), [0.5])


CASES = {
    "igamma": (tf.math.igamma, (1.5, 2.0)),
    "igammac": (tf.math.igammac, (3.0, 1.2)),
    "betainc": (tf.math.betainc, (1.5, 0.7, 0.4)),
    "zeta": (tf.math.zeta, (2.5, 1.3)),
}


@pytest.mark.parametrize("name", CASES)
def test_third_derivatives_by_all_parameters(name):
    """Along one direction, by three nested accumulators,
    against differences of the second derivative by two.
    """
    function, at = CASES[name]
    along = [0.5, -0.3, 0.2][: len(at)]

    def derivative(t, order):
        if order == 0:
            return function(
                *[tf.constant(x, tf.float64) + t * a for x, a in zip(at, along, strict=True)]
            )
        with tf.autodiff.ForwardAccumulator(t, tf.ones_like(t)) as accumulator:
            y = derivative(t, order - 1)
        return accumulator.jvp(y)

    step = 1e-4
    above, below = (float(derivative(tf.constant(d, tf.float64), 2)) for d in (step, -step))
    np.testing.assert_allclose(
        float(derivative(tf.constant(0.0, tf.float64), 3)),
        (above - below) / (2 * step),
        rtol=1e-6,
        atol=1e-7,
    )
