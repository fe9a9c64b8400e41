"""`gradtape.scipy.integrate.solve_ivp` and `odeint` against SciPy, differences and formulas."""

import math

import numpy as np
import pytest
import scipy.integrate

import gradtape as tf
from gradtape.scipy import integrate
from gradtape.scipy.integrate import gradients
from tests.scipy.checking import close, difference, values

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
P, START = np.array([1.1, 0.4, 0.1, 0.4]), np.array([3.0, 2.0])
AT = np.array([0.0, 0.4, 1.1, 1.5])
WEIGHTS = values(2, 4, seed=3)


def hares(t, y, p, drift=0.0):
    a, b = y[0], y[1]
    return [p[0] * a - p[1] * a * b + drift * t, p[2] * a * b - p[3] * b]


def expected(p, start, at, end=1.5, first=0.0):
    """SciPy's own, with better tolerances."""
    found = scipy.integrate.solve_ivp(
        hares, (first, end), start, "DOP853", at, args=(p, 0.3), rtol=1e-13, atol=1e-13
    )
    return np.sum(found.y * WEIGHTS)


def total(p, start, at, **options):
    found = integrate.solve_ivp(
        hares, (at[0], 1.5), start, t_eval=at, args=(p, 0.3), **{**TIGHT, **options}
    )
    return tf.reduce_sum(found.y * WEIGHTS)


def along(place, function=expected):
    args = [P, START, AT]
    direction = values(*args[place].shape, seed=9) * ([1, 1, 0][place] + 0.0)
    moved = lambda x: function(*[x if i == place else a for i, a in enumerate(args)])
    return direction, difference(moved, args[place], direction, 1e-2)


@pytest.fixture(params=["sensitivities", "adjoint"])
def way(request, monkeypatch):
    monkeypatch.setattr(gradients, "FEW", 1000 if request.param == "sensitivities" else 0)
    return request.param


def gradient(function, *sources):
    with tf.GradientTape() as tape:
        tape.watch(sources)
        y = function(*sources)
    return tape.gradient(y, sources)


METHODS = ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", METHODS)
def test_gradients_of_every_method(method, way):
    rough = {"rtol": 1e-8, "atol": 1e-9} if method in {"RK23", "Radau", "BDF"} else {}
    rtol = 1e-5 if rough else 1e-6
    p, start = tf.constant(P), tf.constant(START)
    found = gradient(lambda p, y: total(p, y, AT, method=method, **rough), p, start)
    close(total(P, START, AT, method=method, **rough), expected(P, START, AT), rtol, "value")
    for place, g in enumerate(found):
        direction, slope = along(place)
        close(np.sum(g * direction), slope, rtol, place)


def test_gradients_by_times(way):
    """By t_eval, where the states move with the right side, and by both ends."""
    rate = 0.7

    def last(first, middle, end, start):
        f = integrate.solve_ivp(
            lambda t, y: -rate * y, [first, end], [start], t_eval=[middle, end], **TIGHT
        )
        return f.y[0, 0] + 2 * f.y[0, 1]

    args = [tf.constant(np.array(v)) for v in (0.1, 0.5, 1.3, 2.0)]
    found = gradient(last, *args)
    a, b = (2.0 * math.exp(-rate * (t - 0.1)) for t in (0.5, 1.3))
    by = [rate * (a + 2 * b), -rate * a, -2 * rate * b, (a + 2 * b) / 2]
    np.testing.assert_allclose(found, by, rtol=1e-8)
    f = lambda end: integrate.solve_ivp(lambda t, y: -rate * y, [0.1, end], [2.0], **TIGHT).y[0, -1]
    np.testing.assert_allclose(gradient(f, args[2]), [-rate * b], rtol=1e-8)


def test_closures_of_variables_and_tensors(way):
    """What the right side closes over, backwards in time too."""
    rate = tf.Variable(np.array([0.5, 0.2]))
    base = tf.constant(np.array(0.3))
    for end in (2.0, -1.0):
        with tf.GradientTape() as tape:
            tape.watch(base)
            shift = base * base
            found = integrate.solve_ivp(
                lambda t, y: -rate * y + shift,  # noqa: B023
                (0.0, end),
                [4.0, 1.0],
                **TIGHT,
            )
            y = tf.reduce_sum(found.y[:, -1])
        by_rate, by_base = tape.gradient(y, [rate, base])

        def exact(r, s, end=end):
            return np.sum((np.array([4.0, 1.0]) - s / r) * np.exp(-r * end) + s / r)

        r = rate.numpy()
        np.testing.assert_allclose(y, exact(r, 0.09), rtol=1e-8)
        for i, e in enumerate(np.eye(2)):
            slope = difference(lambda x: exact(x, 0.09), r, e)
            np.testing.assert_allclose(by_rate[i], slope, rtol=1e-7)
        slope = difference(lambda x, r=r: exact(r, x * x), 0.3, 1.0)
        np.testing.assert_allclose(by_base, slope, rtol=1e-7)


def exponential(a, start, **options):
    """y' = -a y, with its exact second derivatives."""
    f = integrate.solve_ivp(lambda t, y: -a * y, (0, 1.5), start, t_eval=[0.5, 1.5], **TIGHT)
    return tf.reduce_sum(f.y)


A, Y0 = 0.8, np.array([2.0, -0.5])
BY_A2 = np.sum(Y0) * (0.25 * math.exp(-A * 0.5) + 2.25 * math.exp(-A * 1.5))
BY_A_Y = -(0.5 * math.exp(-A * 0.5) + 1.5 * math.exp(-A * 1.5)) * np.ones(2)


def test_second_order(way):
    a, start = tf.constant(np.array(A)), tf.constant(Y0)
    with tf.GradientTape() as outer:
        outer.watch([a, start])
        (by_a,) = gradient(lambda a: exponential(a, start), a)
    found = outer.gradient(by_a, [a, start])
    np.testing.assert_allclose(found[0], BY_A2, rtol=1e-6)
    np.testing.assert_allclose(found[1], BY_A_Y, rtol=1e-6)


def test_forward_mode_and_forward_over_reverse(way):
    a, start = tf.constant(np.array(A)), tf.constant(Y0)
    one = tf.constant(np.array(1.0))
    with tf.autodiff.ForwardAccumulator(a, one) as accumulator:
        y = exponential(a, start)
        by_a, by_start = gradient(lambda a, s: exponential(a, s), a, start)
    np.testing.assert_allclose(accumulator.jvp(y), np.sum(Y0) * BY_A_Y[0], rtol=1e-7)
    np.testing.assert_allclose(accumulator.jvp(by_a), BY_A2, rtol=1e-6)
    np.testing.assert_allclose(accumulator.jvp(by_start), BY_A_Y, rtol=1e-6)


def test_second_order_by_a_variable_closed_over():
    a = tf.Variable(np.array(A))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = exponential(a, Y0)
        by_a = tape.gradient(y, a)
    np.testing.assert_allclose(outer.gradient(by_a, a), BY_A2, rtol=1e-6)


@pytest.mark.parametrize("method", ["RK45", "BDF"])
def test_inside_a_function(method, way):
    scale = tf.Variable(np.array(1.0))

    def f(p, start):
        with tf.GradientTape() as tape:
            tape.watch([p, start])
            found = integrate.solve_ivp(
                lambda t, y: [scale * v for v in hares(t, y, p, 0.3)],
                (0.0, 1.5),
                start,
                method,
                AT,
                rtol=1e-8,
                atol=1e-9,
            )
            y = tf.reduce_sum(found.y * WEIGHTS)
        return y, tape.gradient(y, [p, start, scale])

    y, found = tf.function(f)(tf.constant(P), tf.constant(START))
    again, eager = f(tf.constant(P), tf.constant(START))
    np.testing.assert_allclose(y, again, rtol=1e-7)
    for g, e in zip(found, eager, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-6, atol=1e-7)
    with tf.GradientTape() as tape:
        y = tf.function(lambda: f(tf.constant(P), tf.constant(START))[0])()
    np.testing.assert_allclose(tape.gradient(y, scale), eager[2], rtol=1e-6)


def test_second_order_inside_a_function():
    def second(a):
        with tf.GradientTape() as outer:
            outer.watch(a)
            (by_a,) = gradient(lambda a: exponential(a, Y0), a)
        return outer.gradient(by_a, a)

    np.testing.assert_allclose(tf.function(second)(tf.constant(np.array(A))), BY_A2, rtol=1e-6)


def test_mapped_over_starts_and_parameters():
    a, starts = tf.constant(np.array([A, 0.3])), tf.constant(np.stack([Y0, Y0 + 1]))
    one = lambda a, start: (
        integrate.solve_ivp(
            lambda t, y, a: -a * y, (0, 1.5), start, t_eval=[0.5, 1.5], args=(a,), **TIGHT
        ).y
    )
    with tf.GradientTape() as tape:
        tape.watch([a, starts])
        found = tf.vectorized_map(lambda pair: one(*pair), (a, starts))
        y = tf.reduce_sum(found)
    by_a, by_starts = tape.gradient(y, [a, starts])
    for i in range(2):
        np.testing.assert_allclose(found[i], one(a[i], starts[i]), rtol=1e-9)
        both = gradient(lambda a, s: tf.reduce_sum(one(a, s)), a[i], starts[i])
        np.testing.assert_allclose(by_a[i], both[0], rtol=1e-7)
        np.testing.assert_allclose(by_starts[i], both[1], rtol=1e-7)


def test_a_jacobian_of_the_states():
    a = tf.constant(np.array([A]))
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = integrate.solve_ivp(lambda t, y: -a * y, (0, 1.5), Y0, t_eval=[0.5, 1.5], **TIGHT).y
    exact = [[-t * v * math.exp(-A * t) for t in (0.5, 1.5)] for v in Y0]
    np.testing.assert_allclose(tape.jacobian(y, a)[..., 0], exact, rtol=1e-7)


# Events


def fall(height, gravity, direction=0.0):
    def ground(t, y):
        return y[0]

    ground.terminal, ground.direction = True, direction
    return integrate.solve_ivp(
        lambda t, y: [y[1], -gravity],
        (0.0, 100.0),
        [height, 0.0],
        events=[ground, lambda t, y: y[1] + 1.0],
        **TIGHT,
    )


def test_the_time_of_a_terminal_event_has_derivatives(way):
    h, g = tf.constant(np.array(5.0)), tf.constant(np.array(9.8))
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([h, g])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([h, g])
            found = fall(h, g)
            time, speed = found.t[-1], found.y[1, -1]
            event = found.t_events[0][0] + found.y_events[0][0, 1]
        first = tape.gradient(time, [h, g])
    t = math.sqrt(2 * 5 / 9.8)
    np.testing.assert_allclose(time, t, rtol=1e-9)
    np.testing.assert_allclose(first, [t / 10, -t / 19.6], rtol=1e-7)
    # The speed is -sqrt(2 g h).
    np.testing.assert_allclose(tape.gradient(speed, [h, g]), [-9.8 * t / 10, -t / 2], rtol=1e-6)
    both = [t / 10 - 9.8 * t / 10, -t / 19.6 - t / 2]
    np.testing.assert_allclose(tape.gradient(event, [h, g]), both, rtol=1e-6)
    np.testing.assert_allclose(outer.gradient(first[0], h), -t / 100, rtol=1e-5)
    assert found.status == 1
    np.testing.assert_allclose(found.t_events[1], [1 / 9.8], rtol=1e-9)


def test_an_event_that_does_not_come_and_none_that_is_followed():
    found = fall(5.0, 9.8, direction=1.0)
    assert found.status == 0
    assert not found.t_events[0].size
    stopped = fall(5.0, 9.8)
    np.testing.assert_allclose(stopped.t[-1], math.sqrt(10 / 9.8), rtol=1e-9)


# Results


def test_the_result_is_scipys():
    ours = integrate.solve_ivp(hares, (0, 1.5), START, args=(P, 0.3), dense_output=True)
    theirs = scipy.integrate.solve_ivp(hares, (0, 1.5), START, args=(P, 0.3), dense_output=True)
    np.testing.assert_allclose(ours.t, theirs.t, rtol=1e-9)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-9)
    np.testing.assert_allclose(ours.sol(0.3), theirs.sol(0.3), rtol=1e-9)
    for name in ("status", "message", "success", "nfev", "njev", "nlu"):
        assert ours[name] == theirs[name]
    assert ours.derivative == f"forward sensitivities, {len(theirs.t) - 1} steps"
    many = integrate.solve_ivp(lambda t, y: -y, (0, 1), np.ones(30), method="BDF")
    assert many.derivative == f"adjoint, {many.t.shape[0] - 1} steps"


def test_no_times_and_the_first_alone():
    none = integrate.solve_ivp(hares, (0, 1), START, t_eval=[], args=(P,))
    assert none.y.shape == (2, 0)
    assert none.t.shape == (0,)
    start = tf.constant(START)
    f = lambda s: integrate.solve_ivp(hares, (0, 1), s, t_eval=[0.0], args=(P,)).y
    np.testing.assert_allclose(gradient(f, start)[0], [1, 1])
    np.testing.assert_array_equal(f(start)[:, 0], START)
    f = lambda s: integrate.solve_ivp(hares, (1, 1), s, args=(P,)).y[:, -1]
    np.testing.assert_allclose(gradient(f, start)[0], [1, 1])
    f = lambda s: integrate.solve_ivp(hares, (0, 1), s, t_eval=[], args=(P,)).y
    np.testing.assert_allclose(gradient(f, start)[0], [0, 0])


def test_dtypes():
    f = lambda s: integrate.solve_ivp(lambda t, y: -y, (0, 1), s).y
    assert f(np.ones(2, np.float32)).dtype == tf.float32
    assert f(tf.constant([1.0])).dtype == tf.float32
    assert f([1.0]).dtype == f(np.ones(2)).dtype == f(np.array([1])).dtype == tf.float64
    start = tf.constant([1.0, 2.0])
    (g,) = gradient(f, start)
    assert g.dtype == tf.float32


def test_odeint():
    at = np.array([0.0, 0.5, 2.0])
    swapped = lambda y, t, p: hares(t, y, p, 0.3)
    found = integrate.odeint(swapped, START, at, (P,))
    theirs = scipy.integrate.odeint(swapped, START, at, (P,))
    np.testing.assert_allclose(found, theirs, rtol=1e-6)
    again = integrate.odeint(hares, START, at, (P, 0.3), tfirst=True)
    np.testing.assert_array_equal(found, again)
    p = tf.constant(P)
    (g,) = gradient(lambda p: integrate.odeint(swapped, START, at, (p,), rtol=1e-10, atol=1e-12), p)
    f = lambda p: np.sum(scipy.integrate.odeint(swapped, START, at, (p,), rtol=1e-12, atol=1e-13))
    for i, e in enumerate(np.eye(4)):
        np.testing.assert_allclose(g[i], difference(f, P, e, 1e-2), rtol=1e-6)
    y = tf.function(lambda p: integrate.odeint(swapped, START, at, (p,)))(p)
    np.testing.assert_allclose(y, theirs, rtol=1e-6)


# Failures


def test_a_solution_that_ends_early_warns():
    explodes = lambda t, y: y * y
    with pytest.warns(RuntimeWarning, match="solve_ivp: the solver stopped at t = "):
        found = integrate.solve_ivp(explodes, (0.0, 2.0), [1.0])
    assert not found.success
    at = np.array([0.5, 1.9])
    compiled = tf.function(lambda y: integrate.solve_ivp(explodes, (0, 2), y, t_eval=at).y)
    with pytest.warns(RuntimeWarning, match="the solver stopped"):
        y = compiled(np.ones(1)).numpy()
    np.testing.assert_allclose(y, [[2.0, np.nan]], rtol=1e-2)


def test_an_assigned_variable_is_refused():
    a = tf.Variable(np.array(A))
    with tf.GradientTape() as tape:
        y = exponential(a, Y0)
    a.assign(1.0)
    with pytest.raises(RuntimeError, match="was assigned between the solution and its derivative"):
        tape.gradient(y, a)


def test_a_variable_that_is_used_only_later_is_refused(way):
    early, late = tf.Variable(np.array(A)), tf.Variable(np.array(A))
    f = lambda t, y: -(early if float(t) < 0.5 else late) * y
    with tf.GradientTape() as tape:
        y = integrate.solve_ivp(f, (0, 1), Y0).y[:, -1]
    with pytest.raises(RuntimeError, match="at some times, but not at the start"):
        tape.gradient(y, early)


def complex_right(t, y):
    return tf.complex(y, y)


@pytest.mark.parametrize(
    ("call", "error", "complaint"),
    [
        (lambda: integrate.solve_ivp(1, (0, 1), [1.0]), TypeError, "fun must be a function"),
        (lambda: integrate.solve_ivp(hares, (0, 1, 2), [1.0]), ValueError, "must be two times"),
        (lambda: integrate.solve_ivp(hares, (0, 1), [1j]), TypeError, "y0 is complex"),
        (lambda: integrate.solve_ivp(hares, (0, 1), ["a"]), TypeError, "y0 must hold real"),
        (lambda: integrate.solve_ivp(hares, (0, 1), [[1.0]]), ValueError, "y0 must be a vector"),
        (lambda: integrate.solve_ivp(hares, (0, 1), START, args=P), TypeError, "must be a tuple"),
        (
            lambda: integrate.solve_ivp(hares, (0, 1), START, jac=hares),
            ValueError,
            "jac is computed by a tape",
        ),
        (
            lambda: integrate.solve_ivp(complex_right, (0, 1), START),
            TypeError,
            "fun returned complex numbers",
        ),
        (
            lambda: integrate.solve_ivp(lambda t, y: y[:1], (0, 1), START),
            ValueError,
            "as many numbers as y has, 2",
        ),
        (
            lambda: integrate.solve_ivp(hares, (0, 1), START, t_eval=[0, 1, 0.5], args=(P,)),
            ValueError,
            "times must be in order",
        ),
        (lambda: integrate.odeint(hares, START, []), ValueError, "at least one time"),
        (
            lambda: tf.function(lambda y: integrate.solve_ivp(hares, (0, 1), y).y)(START),
            ValueError,
            "t_eval must be given",
        ),
        (
            lambda: tf.function(
                lambda y: integrate.solve_ivp(hares, (0, 1), y, t_eval=AT, events=hares).y
            )(START),
            NotImplementedError,
            "events and dense_output are not available",
        ),
        (
            lambda: tf.vectorized_map(
                lambda a: integrate.solve_ivp(lambda t, y: a * y, (0, 1), [1.0], t_eval=[1.0]).y,
                tf.constant([1.0, 2.0]),
            ),
            NotImplementedError,
            "pass it in args",
        ),
    ],
)
def test_bad_input(call, error, complaint):
    with pytest.raises(error, match=complaint):
        call()
