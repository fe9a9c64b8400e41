"""`gradtape.scipy.optimize`: values as SciPy's, derivatives as differences of SciPy's results."""

import numpy as np
import pytest
from scipy import optimize

import gradtape as tf
from gradtape.scipy import optimize as ours
from tests.scipy.differences import check_derivatives, close, slope

W = np.array([1.0, -2.0, 3.0])
AT = np.array([0.7, 1.3, 2.1])
START = np.array([0.9, 1.1, 1.0])


def system(x, a):
    return x**3 + a * x - x[::-1] - a[::-1]


def bowl(x, a, xp):
    total = xp.reduce_sum if xp is tf else np.sum
    return total(xp.exp(0.3 * x) - a * x + 0.5 * (x - a[::-1]) ** 2) + 0.1 * total(x) ** 2


def number(x, a, xp):
    return xp.exp(x) - a[0] * x - a[1] - a[2] * xp.sin(x)


T = np.linspace(-1.0, 1.0, 8)


def misfit(p, a, xp):
    y = xp.sin(2 * a[0] * T + a[1]) + a[2] * T**2
    return p[0] + p[1] * T + 0.5 * p[2] ** 2 * (1.5 * T**2 - 0.5) - y


TIGHT = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}

ROOTS = {
    "root": ("root", {"tol": 1e-13}),
    "root lm": ("root", {"tol": 1e-13, "method": "lm"}),
    "root by differences": ("root", {"tol": 1e-13, "jac": False}),
    "krylov": ("root", {"tol": 1e-12, "method": "krylov"}),
    "df-sane": ("root", {"tol": 1e-12, "method": "df-sane"}),
    "fsolve": ("fsolve", {"xtol": 1e-13}),
}


@pytest.mark.parametrize("case", ROOTS)
def test_roots(case):
    name, options = ROOTS[case]

    def objective(a):
        found = getattr(ours, name)(system, START, (a,), **options)
        return tf.reduce_sum((found if name == "fsolve" else found.x) * W)

    reference = lambda a: optimize.root(system, START, (a,), tol=1e-13).x @ W
    check_derivatives(objective, reference, AT, compiled=case == "root")


def bracketed(f, a, xp, **options):
    return f(lambda x, a: number(x, a, xp), args=(a,), **options)


SCALARS = {
    "brentq": lambda a: ours.brentq(lambda x, a: number(x, a, tf), 0.5, 3.0, (a,)),
    "newton": lambda a: ours.newton(lambda x: number(x, a, tf), 2.0, tol=1e-14),
    "bracket": lambda a: bracketed(ours.root_scalar, a, tf, bracket=[0.5, 3.0]).root,
    "start": lambda a: bracketed(ours.root_scalar, a, tf, x0=2.0, xtol=1e-14).root,
    **{
        m: lambda a, m=m: (
            bracketed(ours.root_scalar, a, tf, method=m, bracket=[0.5, 3.0], xtol=1e-14).root
        )
        for m in ("bisect", "brenth", "ridder", "toms748")
    },
    "secant": lambda a: bracketed(ours.root_scalar, a, tf, x0=2.0, x1=2.1, xtol=1e-14).root,
    "halley": lambda a: (
        bracketed(ours.root_scalar, a, tf, method="halley", x0=2.0, xtol=1e-14).root
    ),
}


@pytest.mark.parametrize("case", SCALARS)
def test_zeros_of_one_number(case):
    reference = lambda a: optimize.brentq(lambda x: number(x, a, np), 0.5, 3.0, xtol=1e-14)
    check_derivatives(SCALARS[case], reference, [2.0, 0.7, 0.3], compiled=case == "brentq")


WITH_GRADIENT = ("CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "SLSQP", "dogleg", "trust-ncg",
                 "trust-krylov", "trust-exact", "trust-constr")  # fmt: skip
WITHOUT = ("Nelder-Mead", "Powell", "COBYLA", "COBYQA")
PRECISE = {
    "TNC": {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-12, "maxfun": 1000},
    "L-BFGS-B": {"ftol": 1e-16, "gtol": 1e-10},
    "SLSQP": {"ftol": 1e-16},
    "trust-constr": {"gtol": 1e-10, "xtol": 1e-14},
    "Newton-CG": {"xtol": 1e-12},
    "Nelder-Mead": {"fatol": 1e-15, "xatol": 1e-9, "maxiter": 2000, "maxfev": 2000},
    "Powell": {"ftol": 1e-15, "xtol": 1e-10},
    "COBYLA": {"tol": 1e-9},
    "COBYQA": {"final_tr_radius": 1e-9},
}


def minimum_of(a):
    found = optimize.minimize(
        lambda x: bowl(x, a, np), START, method="BFGS", options={"gtol": 1e-6}
    ).x
    for _ in range(3):  # Newton's method, by differences of an exact gradient
        gradient = lambda x: 0.3 * np.exp(0.3 * x) - a + x - a[::-1] + 0.2 * np.sum(x) * np.ones(3)
        hessian = np.diag(0.09 * np.exp(0.3 * found) + 1) + 0.2 * np.ones((3, 3))
        found = found - np.linalg.solve(hessian, gradient(found))
    return found


@pytest.mark.parametrize("method", [*WITH_GRADIENT, *WITHOUT])
def test_minima(method):
    options = PRECISE.get(method, {"gtol": 1e-8})

    def objective(a):
        found = ours.minimize(lambda x: bowl(x, a, tf), START, method=method, options=options)
        return tf.reduce_sum(found.x * W) + found.fun

    reference = lambda a: minimum_of(a) @ W + bowl(minimum_of(a), a, np)
    rtol = 1e-6 if method in WITH_GRADIENT else 1e-4
    if method == "BFGS":
        check_derivatives(objective, reference, AT, rtol=rtol)
    by = tf.grad(objective)(tf.constant(AT)).numpy()
    close(by, [slope(lambda s, e=e: reference(AT + s * e)) for e in np.eye(3)], rtol)


@pytest.mark.parametrize(
    "bounds",
    [[(0.0, 1.0), (None, 0.5), (None, None)], optimize.Bounds([0.0, -9, -9], [1.0, 0.5, 9])],
    ids=["pairs", "Bounds"],
)
def test_unknowns_at_a_bound_stay_there(bounds):
    def found(a):
        return ours.minimize(
            lambda x: bowl(x, a, tf), [0.5, 0.2, 1.0], bounds=bounds, options={"gtol": 1e-11}
        ).x

    def reference(a):
        """At 1.0 and 0.5 the first two are stuck: the third is what makes its slope zero."""
        f = lambda z: 0.3 * np.exp(0.3 * z) - a[2] + z - a[0] + 0.2 * (z + 1.5)
        return optimize.brentq(f, -9, 9, xtol=1e-14)

    at = np.array([2.0, 1.8, 2.1])
    close(found(tf.constant(at)), [1.0, 0.5, reference(at)])
    check_derivatives(
        lambda a: found(a)[2], reference, at, compiled=isinstance(bounds, list), second=False
    )
    with tf.GradientTape() as tape:
        a = tf.Variable(at)
        x = found(a)[:2]
    close(tape.gradient(x, a), np.zeros(3))


FITS = {
    "lm": {"method": "lm"},
    "trf": {},
    "dogbox": {"method": "dogbox"},
    "by differences": {"jac": False},
    "sparse": {"jac_sparsity": np.ones((8, 3))},
    "bounded": {"bounds": ([-9, -9, -9], 9)},
    **{loss: {"loss": loss, "f_scale": 0.5} for loss in ("soft_l1", "huber", "cauchy", "arctan")},
}
LOSSES = {  # with their slopes
    "linear": (lambda z: z, np.ones_like),
    "soft_l1": (lambda z: 2 * (np.sqrt(1 + z) - 1), lambda z: 1 / np.sqrt(1 + z)),
    "huber": (
        lambda z: np.where(z <= 1, z, 2 * np.sqrt(z) - 1),
        lambda z: np.where(z <= 1, 1, 1 / np.sqrt(np.maximum(z, 1))),
    ),
    "cauchy": (np.log1p, lambda z: 1 / (1 + z)),
    "arctan": (np.arctan, lambda z: 1 / (1 + z**2)),
}


@pytest.mark.parametrize("case", FITS)
def test_fits(case):
    options = FITS[case]
    at, start = np.array([1.1, 0.4, 1.0]), np.array([0.5, 0.5, 1.5])

    def objective(a):
        found = ours.least_squares(
            lambda p, a: misfit(p, a, tf), start, args=(a,), **TIGHT, **options
        )
        return tf.reduce_sum(found.x * W) + found.cost + found.fun[0]

    scale = options.get("f_scale", 1.0)
    rho, slope_of_rho = LOSSES[options.get("loss", "linear")]
    known = {"loss": options.get("loss", "linear"), "f_scale": scale}

    def reference(a):
        """SciPy's fit, made exact by a root of the gradient."""
        f = lambda p: misfit(p, a, np)
        by = lambda p: np.stack([np.ones(8), T, p[2] * (1.5 * T**2 - 0.5)], 1)
        gradient = lambda p: by(p).T @ (slope_of_rho((f(p) / scale) ** 2) * f(p))
        p = optimize.least_squares(f, start, jac=by, max_nfev=2000, **TIGHT, **known).x
        p = optimize.root(gradient, p, tol=1e-15).x
        return p @ W + 0.5 * scale**2 * np.sum(rho((f(p) / scale) ** 2)) + f(p)[0]

    check_derivatives(
        objective, reference, at, rtol=1e-6, second=case == "lm", compiled=case == "trf"
    )


def test_large_fits_have_sparse_jacobians():
    size = 400
    asked = []

    def residual(x):
        asked.append(1)
        return tf.concat([x - a * np.linspace(0, 1, size), 0.1 * (x[1:] - x[:-1])], 0)

    a = tf.Variable(2.0, dtype=tf.float64)
    with tf.GradientTape() as tape:
        found = ours.least_squares(residual, np.zeros(size), **TIGHT)
        y = tf.reduce_sum(found.x**2)
    assert tf.is_tensor(found.x)
    assert not isinstance(found.jac, np.ndarray)  # a sparse one
    close(tape.gradient(y, a), 2 * float(y) / 2.0)


@pytest.mark.parametrize("sigma", [None, 1.5 + T])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-5.0, 5.0)])
def test_curve_fit(sigma, bounds):
    data = np.exp(-T) + 0.1 * np.sin(5 * T)
    model = lambda xp: lambda t, a, b: a * xp.exp(-b * t)

    def objective(y):
        (a, b), _ = ours.curve_fit(model(tf), T, y, sigma=sigma, bounds=bounds, **TIGHT)
        return a + 2 * b

    def reference(y):
        a, b = optimize.curve_fit(model(np), T, y, sigma=sigma, **TIGHT)[0]
        return a + 2 * b

    check_derivatives(objective, reference, data, rtol=1e-5, second=False, compiled=False)
    for absolute in (False, True):
        known = {"sigma": sigma, "absolute_sigma": absolute}
        _, found = ours.curve_fit(model(tf), T, data, **known)
        _, expected = optimize.curve_fit(model(np), T, data, **known)
        close(found, expected, rtol=1e-4)


def test_results_are_scipys_with_tensors():
    found = ours.minimize(lambda x: tf.reduce_sum((x - 1.0) ** 2), np.zeros(2))
    expected = optimize.minimize(
        lambda x: np.sum((x - 1.0) ** 2), np.zeros(2), jac=lambda x: 2 * (x - 1)
    )
    assert isinstance(found, optimize.OptimizeResult)
    assert {*expected} <= {*found}
    assert found.nfev == expected.nfev
    assert tf.is_tensor(found.x)
    assert tf.is_tensor(found.fun)
    assert found.derivative.startswith("implicit, residual ")


def test_models_of_keras_in_an_objective():
    tf.keras.utils.set_random_seed(1)
    layer = tf.keras.layers.Dense(2, activation="tanh")
    layer.build((None, 2))

    def objective():
        energy = lambda x: tf.reduce_sum(layer(x[None]) ** 2) + tf.reduce_sum((x - 0.5) ** 2)
        return tf.reduce_sum(ours.minimize(energy, tf.zeros(2), tol=1e-4).x ** 2)

    kernel = layer.kernel
    with tf.GradientTape() as tape:
        y = objective()
    gradient = tape.gradient(y, kernel).numpy()

    def moved(s):
        before = kernel.numpy()
        kernel.assign(before + s * np.array([[1.0, 0.0], [0.0, 0.0]], np.float32))
        value = float(objective())
        kernel.assign(before)
        return value

    close(gradient[0, 0], slope(moved, step=0.05), rtol=2e-2)


REFUSED = {
    "constraints": (
        lambda: ours.minimize(tf.reduce_sum, [1.0], constraints={"type": "eq", "fun": len}),
        NotImplementedError,
        "minimum with constraints",
    ),
    "jac": (lambda: ours.minimize(tf.reduce_sum, [1.0], jac=len), ValueError, "computed by a tape"),
    "hess": (lambda: ours.minimize(tf.reduce_sum, [1.0], hess=len), ValueError, "hess is computed"),
    "bounds": (
        lambda: ours.minimize(tf.reduce_sum, [1.0], bounds=[(tf.Variable(1.0), 2.0)]),
        TypeError,
        "no derivatives by bounds",
    ),
    "two numbers": (
        lambda: ours.minimize(lambda x: x, [1.0, 2.0]),
        ValueError,
        r"got shape \(2,\)",
    ),
    "loss": (
        lambda: ours.least_squares(lambda x: x, [1.0], loss=len),
        ValueError,
        "loss must be one of",
    ),
    "no start": (lambda: ours.root_scalar(lambda x: x), ValueError, "a start x0 is needed"),
    "two starts": (lambda: ours.newton(lambda x: x, [1.0, 2.0]), ValueError, "x0 must be one"),
    "bracket": (
        lambda: ours.brentq(lambda x: x, tf.Variable(-1.0), 1.0),
        TypeError,
        "no derivatives by bracket",
    ),
    "no convergence": (
        lambda: ours.brentq(lambda x: x, -1.0, 2.0, maxiter=1),
        RuntimeError,
        "brentq: no convergence",
    ),
    "newton": (
        lambda: ours.newton(lambda x: x**2 + 1, 3.0, maxiter=3),
        RuntimeError,
        "newton: no convergence",
    ),
    "sigma": (
        lambda: ours.curve_fit(lambda t, a: a * t, T, T, sigma=np.eye(8)),
        NotImplementedError,
        "one entry for each",
    ),
    "p0": (lambda: ours.curve_fit(lambda t, *p: t, T, T), ValueError, "p0 is needed"),
    "linprog": (lambda: ours.linprog([1.0]), NotImplementedError, "corner of its constraints"),
    "milp": (lambda: ours.milp([1.0]), NotImplementedError, "integers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


def test_minima_that_are_no_points_have_no_derivatives():
    a = tf.Variable(1.0, dtype=tf.float64)
    with tf.GradientTape() as tape, pytest.warns(RuntimeWarning, match="is singular"):
        x = ours.minimize(lambda x: (x[0] + x[1] - a) ** 2, np.zeros(2)).x
    assert np.isnan(tape.gradient(x, a))
