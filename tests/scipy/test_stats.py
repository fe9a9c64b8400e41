"""`gradtape.scipy.stats` against SciPy and differences."""

import numpy as np
import pytest
import scipy.stats

import gradtape as tf
from gradtape.scipy import stats
from tests.scipy.checking import Row, check, values

X = np.array([-1.3, 0.2, 0.7, 1.4, 3.1])
POSITIVE = np.array([0.3, 0.7, 1.4, 3.1])
UNIT = np.array([0.1, 0.45, 0.83])
BEYOND = POSITIVE + 1
# Where the derivatives are, and the shapes.
CONTINUOUS = {
    "norm": (X,),
    "t": (X, 3.4),
    "gamma": (POSITIVE, 2.3),
    "beta": (UNIT, 1.4, 2.2),
    "expon": (POSITIVE,),
    "uniform": (UNIT,),
    "laplace": (X,),
    "logistic": (X,),
    "cauchy": (X,),
    "lognorm": (POSITIVE, 0.7),
    "chi2": (POSITIVE, 3.3),
    "invgamma": (POSITIVE, 2.2),
    "weibull_min": (POSITIVE, 1.7),
    "pareto": (BEYOND, 2.6),
    "halfnorm": (POSITIVE,),
}
COUNTS = np.array([0.0, 1.0, 2.0, 5.0])
DISCRETE = {
    "poisson": (COUNTS, 2.3),
    "binom": (COUNTS, 6.0, 0.3),
    "bernoulli": (COUNTS[:2], 0.3),
    "geom": (COUNTS[1:], 0.3),
    "nbinom": (COUNTS, 3.5, 0.4),
}
ROWS = {}
for name, (x, *shapes) in CONTINUOUS.items():
    for function in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"):
        ROWS[f"{name}.{function}"] = Row(
            getattr(getattr(stats, name), function),
            getattr(getattr(scipy.stats, name), function),
            (x * 1.5 + 0.1, *shapes, 0.1, 1.5),
            # A second derivative by the shape of an incomplete function is a difference itself.
            second=function in {"logpdf", "pdf"},
        )
for name, (k, *shapes) in DISCRETE.items():
    for function in ("logpmf", "pmf", "cdf", "logcdf"):
        ROWS[f"{name}.{function}"] = Row(
            getattr(getattr(stats, name), function),
            getattr(getattr(scipy.stats, name), function),
            (k, *shapes),
            fixed=(0, 1) if name == "binom" else (0,),
            second="cdf" not in function,
        )
COVARIANCE = np.array([[2.0, 0.3], [0.3, 1.0]])


def symmetric(matrix):
    return (matrix + matrix.T) / 2


for function in ("logpdf", "pdf"):
    ROWS[f"multivariate_normal.{function}"] = Row(
        lambda x, m, c, f=function: getattr(stats.multivariate_normal, f)(
            x, m, (c + tf.transpose(c)) / 2
        ),
        lambda x, m, c, f=function: getattr(scipy.stats.multivariate_normal, f)(x, m, symmetric(c)),
        (values(3, 2), values(2), COVARIANCE),
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ROWS)
def test_stats(name):
    check(ROWS[name])


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("function", ["logpdf", "pdf", "cdf", "sf"])
def test_outside_and_wrong_parameters(name, function):
    shapes = CONTINUOUS[name][1:]
    at = np.array([-2.0, -0.1, 0.9, 1.5, np.nan])
    ours, theirs = (getattr(getattr(m, name), function) for m in (stats, scipy.stats))
    np.testing.assert_allclose(ours(at, *shapes), theirs(at, *shapes), rtol=1e-9)
    np.testing.assert_array_equal(ours(at, *shapes, 0, -1.0), np.full(5, np.nan))
    for i in range(len(shapes)):
        wrong = [-1.0 if i == j else s for j, s in enumerate(shapes)]
        np.testing.assert_array_equal(ours(at, *wrong), np.full(5, np.nan))


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("function", ["logpmf", "pmf", "cdf"])
def test_between_and_outside_integers(name, function):
    shapes = DISCRETE[name][1:]
    at = np.array([-2.0, -0.5, 0.0, 0.5, 1.0, 7.0, 7.5])
    ours, theirs = (getattr(getattr(m, name), function) for m in (stats, scipy.stats))
    np.testing.assert_allclose(ours(at, *shapes), theirs(at, *shapes), rtol=1e-9)
    np.testing.assert_allclose(ours(at, *shapes, loc=1), theirs(at, *shapes, loc=1), rtol=1e-9)
    wrong = [*shapes[:-1], -1.0]
    np.testing.assert_array_equal(ours(at, *wrong), np.full(7, np.nan))


def test_gradients_outside_are_zero_not_nan():
    x = tf.constant(np.array([-1.0, 0.5]))
    a = tf.constant(np.array(2.0))
    with tf.GradientTape() as tape:
        tape.watch([x, a])
        y = tf.reduce_sum(stats.gamma.pdf(x, a))
    by_x, by_a = tape.gradient(y, [x, a])
    assert by_x[0] == 0
    assert np.isfinite(by_a)


def test_variances_and_one_number():
    x = values(3, 2)
    for cov in (2.0, np.array([2.0, 0.5])):
        expected = scipy.stats.multivariate_normal.logpdf(x, np.zeros(2), cov)
        np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, cov=cov), expected)
    assert stats.multivariate_normal.logpdf(np.zeros((0, 2))).shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "complaint"),
    [
        (lambda: stats.gamma.logpdf(X), TypeError, "gamma.logpdf: a is missing"),
        (lambda: stats.gamma.logpdf(X, 1, b=2), TypeError, "the arguments are x, a, loc, scale"),
        (lambda: stats.norm.logpdf(X, 0, 1, 2), TypeError, "got 4 by position"),
        (lambda: stats.norm.logpdf(X * 1j), TypeError, "x is complex"),
        (
            lambda: stats.multivariate_normal.logpdf(X, cov=COVARIANCE),
            ValueError,
            r"cov must have shape \(5, 5\)",
        ),
    ],
)
def test_bad_input(call, error, complaint):
    with pytest.raises(error, match=complaint):
        call()
