"""`gradtape.scipy.interpolate` against SciPy and differences."""

import math

import numpy as np
import pytest
import scipy.interpolate

import gradtape as tf
from gradtape.scipy import interpolate
from tests.scipy.checking import Row, check, values

X = np.array([0.0, 0.7, 1.5, 1.9, 3.0, 3.4, 4.1])
AT = np.array([[-0.3, 0.2, 1.0], [2.2, 3.1, 4.4]])
Y = values(7, 2)
ROUND = np.concatenate([values(6), values(6)[:1]])


def row(name, y=Y, at=AT, nu=0, x=X, **options):
    ours, theirs = getattr(interpolate, name), getattr(scipy.interpolate, name)
    return Row(
        lambda y, at: ours(x, y, **options)(at, nu),
        lambda y, at: theirs(x, y, **options)(at, nu),
        (y, at),
        second=nu == 0,
    )


def periodic(nu):
    def at(function):
        def call(y, x):
            y = tf.concat([y, y[:1]], 0) if function is interpolate else np.append(y, y[0])
            return function.CubicSpline(X, y, bc_type="periodic")(x, nu)

        return call

    return Row(at(interpolate), at(scipy.interpolate), (values(6), AT * 2))


ROWS = {
    "periodic": periodic(0),
    "periodic, slope": periodic(1),
    "pchip": row("PchipInterpolator"),
    "pchip, axis": Row(
        lambda y: interpolate.PchipInterpolator(X, y, axis=1)(AT),
        lambda y: scipy.interpolate.PchipInterpolator(X, y, axis=1)(AT),
        (values(2, 7, seed=4),),
    ),
    "pchip, rising": row("PchipInterpolator", np.array([0, 0.1, 0.2, 3, 3.1, 3.5, 9.0])),
    "pchip, slope": row("PchipInterpolator", nu=1),
    "spline, slope": row("make_interp_spline", nu=1),
    "spline, slope of slope": row("make_interp_spline", nu=2),
    "cubic, third derivative": row("CubicSpline", nu=3),
}
for k in (1, 2, 3, 4, 5):
    ROWS[f"spline of degree {k}"] = row("make_interp_spline", k=k)
PAIRS = {
    "slope and bend": ([(1, np.array([0.5, 0.2]))], [(2, np.array([-0.3, 0.0]))]),
    "both at the left": ([(1, np.ones(2)), (2, np.zeros(2))], None),
}
for name, bc in {"natural": "natural", "clamped": "clamped", **PAIRS}.items():
    ROWS[f"spline, {name}"] = row("make_interp_spline", bc_type=bc)
for bc in (
    "not-a-knot",
    "natural",
    "clamped",
    ("not-a-knot", "natural"),
    ((1, np.array([0.5, 0.1])), "not-a-knot"),
    ("clamped", (2, np.array([-0.3, 0.2]))),
):
    ROWS[f"cubic, {bc}"] = row("CubicSpline", bc_type=bc)
    for size in (2, 3):
        ROWS[f"cubic, {size} points, {bc}"] = row(
            "CubicSpline", values(size, 2), x=X[:size], bc_type=bc
        )
for extrapolate in (False, "periodic"):
    ROWS[f"pchip, extrapolate={extrapolate}"] = row(
        "PchipInterpolator", at=AT if extrapolate else np.abs(AT) * 0.9, extrapolate=extrapolate
    )

GRID = (np.array([0.0, 0.5, 2.0]), np.array([-1.0, 0.0, 0.3, 1.0]))
INSIDE = np.stack([values(5, low=0, high=2), values(5, seed=1)], axis=-1)
for method in ("linear", "nearest"):
    for fill in (math.nan, None, -1.0):
        ROWS[f"grid, {method}, {fill}"] = Row(
            lambda v, x, m=method, f=fill: interpolate.interpn(GRID, v, x, m, False, f),
            lambda v, x, m=method, f=fill: scipy.interpolate.RegularGridInterpolator(
                GRID, v, m, False, f
            )(x),
            (values(3, 4, 2), INSIDE * (1.6 if fill in (None, -1.0) else 1)),
            fixed=() if method == "linear" else (1,),
        )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ROWS)
def test_interpolate(name):
    check(ROWS[name])


def test_outside_is_nan_or_refused():
    f = interpolate.PchipInterpolator(X, Y[:, 0], extrapolate=False)
    np.testing.assert_array_equal(f([-1.0, 5.0, np.nan]), [np.nan] * 3)
    grid = interpolate.RegularGridInterpolator((X,), Y[:, 0], bounds_error=False)
    np.testing.assert_array_equal(grid([[-1.0], [5.0], [np.nan]]), [np.nan] * 3)
    strict = interpolate.RegularGridInterpolator((X,), Y[:, 0])
    with pytest.raises(ValueError, match=r"coordinate 0 must be between 0\.0 and 4\.1, got 5\.0"):
        strict([[5.0]])
    np.testing.assert_array_equal(tf.function(strict)(np.array([[5.0]])), [np.nan])


def test_coordinates_in_a_tuple():
    values_, at = values(3, 4), (INSIDE[:, :1], INSIDE[:, 1])
    found = interpolate.RegularGridInterpolator(GRID, values_)(at)
    expected = scipy.interpolate.RegularGridInterpolator(GRID, values_)(at)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_dtypes_and_empty_places():
    y = Y[:, 0].astype(np.float32)
    for f in (
        interpolate.CubicSpline(X, y),
        interpolate.make_interp_spline(X, y),
        interpolate.PchipInterpolator(X, y),
    ):
        assert f(np.float32(0.5)).dtype == tf.float32
        assert f(np.zeros((0, 3))).shape == (0, 3)
    spline = interpolate.make_interp_spline(X, Y, k=2)
    expected = scipy.interpolate.make_interp_spline(X, Y, k=2)
    np.testing.assert_allclose(spline.c, expected.c, rtol=1e-9)
    np.testing.assert_array_equal(spline.t, expected.t)
    assert spline.k == 2


@pytest.mark.parametrize(
    ("call", "error", "complaint"),
    [
        (lambda: interpolate.CubicSpline(X[:3], Y), ValueError, "as long as y along axis 0"),
        (lambda: interpolate.CubicSpline(X[::-1], Y), ValueError, "increase strictly"),
        (lambda: interpolate.CubicSpline(X[:1], Y[:1]), ValueError, "at least 2 points, got 1"),
        (lambda: interpolate.CubicSpline(X, Y, bc_type="free"), ValueError, "bc_type must be"),
        (lambda: interpolate.CubicSpline(X, Y * 1j), TypeError, "y is complex"),
        (
            lambda: interpolate.CubicSpline(X, Y, bc_type=((3, 0), (1, 0))),
            ValueError,
            "of order 1 or 2",
        ),
        (lambda: interpolate.PchipInterpolator(X, Y, extrapolate="no"), ValueError, "extrapolate"),
        (
            lambda: interpolate.make_interp_spline(X, Y, bc_type="periodic"),
            NotImplementedError,
            "use CubicSpline",
        ),
        (lambda: interpolate.interpn((X,), Y, [[0.0]], "cubic"), ValueError, "method must be"),
        (lambda: interpolate.interpn((X,), Y.T, [[0.0]]), ValueError, "values must have the axes"),
        (lambda: interpolate.interpn((X,), Y, [[0.0, 1.0]]), ValueError, "1 coordinates in its"),
        (
            lambda: tf.function(lambda x: interpolate.CubicSpline(x, Y)(0.1))(X),
            TypeError,
            "CubicSpline: x must be known",
        ),
    ],
)
def test_bad_input(call, error, complaint):
    with pytest.raises(error, match=complaint):
        call()
