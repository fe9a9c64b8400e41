"""What the table cannot say about `elementwise`, `by_function` and the ufuncs of
`scipy.special`.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import gradtape as tf
import gradtape.numpy as tnp
from gradtape.api.numpy import special
from gradtape.core.array_methods import COUNTERPARTS


def gradient(function, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    found = tape.gradient(y, x)
    return None if found is None else found.array.tolist()


# Kinks


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (lambda x: np.maximum(x, 1.0), [1.0], [1.0]),
        (lambda x: np.clip(x, -1, 1), [-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0]),
        (lambda x: np.abs(x), [-1.0, 0.0], [-1.0, 0.0]),
        (lambda x: np.hypot(x, 0.0), [0.0], [0.0]),
        (lambda x: np.sinc(x), [0.0], [0.0]),
        (lambda x: np.nan_to_num(x), [1.0, float("nan"), float("inf")], [1.0, 0.0, 0.0]),
        (lambda x: np.fmax(x, 1.0), [float("nan"), 2.0], [0.0, 1.0]),
        (lambda x: np.piecewise(x, [x > 0], [np.log, 0.0]), [0.0, 2.0], [0.0, 0.5]),
        (lambda x: np.where(x > 0, x, 0), [0.0, 2.0], [0.0, 1.0]),
        (lambda x: np.logaddexp(x, x), [0.0], [1.0]),
    ],
)
def test_derivatives_at_kinks(function, at, expected):
    assert gradient(function, at) == expected


def test_the_angle_of_real_numbers_is_a_constant():
    assert gradient(np.angle, [1.0, -1.0]) is None
    np.testing.assert_allclose(np.angle(tf.constant([1.0, -1.0])), [0, np.pi], rtol=1e-6)


def test_integers_have_no_nan():
    ints = tf.constant([1, 2])
    assert np.nan_to_num(ints) is ints


# Errors


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda x: np.where(x > 0, x), ValueError, "where: give both x and y"),
        (lambda x: tnp.where(x > 0, x), ValueError, "where: give both x and y"),
        (lambda x: np.select([x > 0], [x, x]), ValueError, "select: 1 conditions, but 2 choices"),
        (lambda x: np.select([], []), ValueError, "select"),
        (
            lambda x: np.select([x], [x]),
            TypeError,
            r"select: condlist\[0\] must be boolean, got dtype float32",
        ),
        (
            lambda x: np.piecewise(x, [x > 0], [1, 2, 3]),
            ValueError,
            "piecewise: 1 conditions and 3 functions",
        ),
        (lambda x: np.clip(x, 0, 1, min=0), ValueError, "clip: a bound was given twice"),
        (
            lambda x: np.ldexp(x, x),
            TypeError,
            r"ldexp: x2 must be integers, got dtype float32: write x1 \* 2.0\*\*x2",
        ),
        (lambda x: np.i0(x * 1j), TypeError, "i0: x must be real"),
        (lambda x: np.unwrap(x, axis=1), np.exceptions.AxisError, "unwrap: axis"),
        (
            lambda x: tnp.vectorize(lambda v: v, signature="(a)(b)")(x),
            ValueError,
            "signature='\\(a\\)\\(b\\)' is not a valid signature",
        ),
        (
            lambda x: tnp.vectorize(lambda v: v, signature="(a),(b)->()")(x),
            TypeError,
            "has 2 arguments, but 1 were given",
        ),
        (lambda x: tnp.vectorize(lambda v: v)(x[:0]), ValueError, "set otypes"),
        (
            lambda x: np.apply_along_axis(lambda v: v, 1, x),
            np.exceptions.AxisError,
            "apply_along_axis: axis",
        ),
        (
            lambda x: np.apply_along_axis(lambda v: v, 0, np.zeros((2, 0)) * x[0]),
            ValueError,
            "no slices along this axis",
        ),
        (
            lambda x: np.apply_along_axis(lambda v: (v, v), 0, x),
            TypeError,
            "must return one tensor, got a tuple",
        ),
        (
            lambda x: np.apply_over_axes(lambda v, axis: v[None, None], x, 0),
            ValueError,
            "rank 3 for one of rank 1",
        ),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call(tf.constant([0.5, -1.0]))


# vectorize


def test_vectorize_is_recorded():
    branch = tnp.vectorize(lambda a, b: a * b if a > b else b)
    assert branch([1.0, 5.0], 3.0).numpy().tolist() == [3.0, 15.0]
    assert gradient(lambda x: branch(x, 3.0), [1.0, 5.0]) == [0.0, 3.0]


def test_vectorize_with_several_results_and_types():
    both = tnp.vectorize(lambda a: (a, a > 1), otypes=["float64", bool])
    doubled, large = both(tf.constant([1.0, 2.0]))
    assert (doubled.dtype, large.dtype) == (tf.float64, tf.bool)
    empty, _ = both(tf.constant([]))
    assert (empty.shape, empty.dtype) == ((0,), tf.float64)


def test_vectorize_with_a_signature_and_excluded_arguments():
    inner = tnp.vectorize(
        lambda u, v, scale=1.0: tf.reduce_sum(u * v) * scale,
        signature="(n),(n)->()",
        excluded={"scale"},
    )
    found = inner(tf.ones([2, 3, 4]), tf.ones([3, 4]), scale=2.0)
    assert found.numpy().tolist() == [[8.0] * 3] * 2
    assert inner.__name__ == "<lambda>"
    assert tnp.vectorize(abs, doc="Ours.").__doc__ == "Ours."


# scipy.special


def test_the_derivative_by_an_order_is_refused_where_there_is_no_rule():
    order, x = tf.constant(1.5), tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([order, x])
        y = scipy.special.jv(order, x)
    assert tape.gradient(y, x) is not None
    with pytest.raises(LookupError, match=r"scipy_jv.*'order'"):
        tape.gradient(y, order)


def test_complex_arguments_of_special_functions_run_on_values():
    z = tf.constant([1.0 + 2.0j])
    with tf.GradientTape() as tape:
        tape.watch(z)
        found = scipy.special.gamma(z)
    assert tape.gradient(found, z) is None
    np.testing.assert_allclose(found.array, scipy.special.gamma(z.array))


def test_special_functions_of_integers_and_with_keywords():
    assert scipy.special.erf(tf.constant([1, 2])).dtype == tf.float32
    assert scipy.special.erf(tf.constant([1, 2], tf.int64)).dtype == tf.float64
    assert scipy.special.erf(tf.constant([1.0]), dtype=np.float64).dtype == tf.float64
    target = np.zeros(1)
    assert scipy.special.erf(tf.constant([1.0]), out=target) is target
    assert target[0] == pytest.approx(scipy.special.erf(1.0), rel=1e-6)


@pytest.mark.parametrize("branch", [0, -1, np.array([0, 1])])
def test_integers_beside_a_tensor_stay_integers_for_ufuncs_that_want_them(branch):
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(
        scipy.special.lambertw(tf.constant(x), branch), scipy.special.lambertw(x, branch)
    )


def test_the_table_of_special_functions_is_filled_by_the_first_call_of_any():
    for first in (lambda x: scipy.special.zeta(x, 1.0), scipy.special.ber, scipy.special.erf):
        for name in special.FUNCTIONS:
            COUNTERPARTS.pop(getattr(scipy.special, name, scipy.special._ufuncs._zeta), None)
        special.fill_table.cache_clear()
        found = first(tf.constant([2.0]))
        np.testing.assert_allclose(found.array, first(np.array([2.0])), rtol=1e-6)
        assert scipy.special.erf in COUNTERPARTS
    assert gradient(lambda x: scipy.special.zeta(x, 1.0), [2.0]) is not None


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (lambda x: scipy.special.boxcox(2.0, x), [0.0], np.log(2) ** 2 / 2),
        (lambda x: scipy.special.inv_boxcox(0.5, x), [0.0], -np.exp(0.5) / 8),
        (lambda x: scipy.special.exprel(x), [0.0], 0.5),
        (lambda x: scipy.special.log_ndtr(x), [-30.0], 30.033259),
        (lambda x: scipy.special.ellipk(x), [0.0], np.pi / 8),
        (lambda x: scipy.special.pseudo_huber(x, 0.0), [1.0], 0.0),
    ],
)
def test_derivatives_of_special_functions_at_removable_singularities(function, at, expected):
    assert gradient(function, at)[0] == pytest.approx(expected, rel=1e-6)
