"""`optimize.minimize`: training in one call, by every method, with Variables that stay whole."""

import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape.optimize import minimize

METHODS = ("L-BFGS-B", "BFGS", "CG", "Newton-CG", "TNC", "SLSQP", "trust-ncg", "trust-krylov",
           "trust-constr")  # fmt: skip


def parts(dtype):
    """Variables of several shapes, and a loss with its minimum at known values."""
    variables = {
        "a": tf.Variable(0.5, dtype=dtype),
        "b": [tf.Variable(np.zeros((2, 3)), dtype=dtype), tf.Variable([0.1, 0.2], dtype=dtype)],
    }

    def loss():
        a, (b, c) = variables["a"], variables["b"]
        return (
            (a - 2.0) ** 2
            + tf.reduce_sum((b - a * tf.ones_like(b)) ** 2)
            + tf.reduce_sum(tf.cosh(c - 1.0) - 1.0)
        )

    return variables, loss


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_methods_find_the_minimum(method, compiled):
    if compiled and method not in ("L-BFGS-B", "Newton-CG"):
        method = method.upper() if method == "BFGS" else "cg"  # case does not matter
    variables, loss = parts("float64")
    history = minimize(tf.function(loss) if compiled else loss, variables, method, tolerance=1e-7)
    np.testing.assert_allclose(variables["a"], 2.0, rtol=1e-4)
    np.testing.assert_allclose(variables["b"][0], 2 * np.ones((2, 3)), rtol=1e-4)
    np.testing.assert_allclose(variables["b"][1], [1.0, 1.0], rtol=1e-4)
    assert history.best < 1e-7
    assert float(loss()) == history.best
    lengths = {len(history.loss), len(history.gradient_norm), len(history.seconds)}
    assert lengths == {history.iterations + 1}
    assert history.loss[0] == pytest.approx(2.25 + 6 * 0.25 + 0.4331 + 0.3374, abs=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("compiled", [False, True])
def test_float32_goes_as_far_as_it_can(dtype, compiled):
    """Rosenbrock's function, in which steps are lost to rounding near the end."""
    x = tf.Variable(np.full(6, -1.0), dtype=dtype)
    loss = lambda: tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    history = minimize(loss, x, compile=compiled, tolerance=1e-10)
    np.testing.assert_allclose(x, np.ones(6), rtol=1e-3 if dtype == "float32" else 1e-8)
    assert x.dtype == dtype
    assert history.best == min(history.best, *history.loss)


def test_mixed_dtypes_and_sparse_gradients():
    table = tf.Variable(np.ones((4, 2)), dtype=tf.float32)
    scale = tf.Variable(1.0, dtype=tf.float64)
    target = np.array([[1.0, 2.0], [3.0, 4.0]])

    def loss():
        rows = tf.cast(tf.gather(table, [0, 2]), tf.float64)
        return tf.reduce_sum((scale * rows - target) ** 2) + (scale - 2.0) ** 2

    minimize(loss, [table, scale])
    np.testing.assert_allclose(table.numpy()[[0, 2]], target / 2, rtol=1e-4)
    np.testing.assert_array_equal(table.numpy()[[1, 3]], np.ones((2, 2)))


@pytest.mark.parametrize("compiled", [False, True])
def test_keras_models(compiled):
    tf.keras.utils.set_random_seed(3)
    model = tf.keras.Sequential(
        [tf.keras.Input((1,)), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(1)]
    )
    x = np.linspace(-1, 1, 20, dtype=np.float32)[:, None]
    y = np.sin(3 * x)
    loss = lambda x, y: tf.reduce_mean((model(x) - y) ** 2)
    history = minimize(
        tf.function(loss) if compiled else loss, model, args=(x, y), max_iterations=50
    )
    assert history.loss[0] > 0.1
    assert history.best < 1e-2
    assert history.iterations <= 50
    np.testing.assert_allclose(np.mean((model(x).numpy() - y) ** 2), history.best, rtol=1e-3)


def test_modules():
    class Scale(tf.Module):
        def __init__(self):
            super().__init__()
            self.factor = tf.Variable(1.0)

    module = Scale()
    minimize(lambda: (module.factor - 3.0) ** 2, module)
    assert float(module.factor) == pytest.approx(3.0)


def test_a_compiled_loss_is_traced_once():
    traces = []
    x = tf.Variable([3.0, 4.0])

    @tf.function
    def loss(scale):
        traces.append(1)
        return scale * tf.reduce_sum(tf.cosh(x))

    history = minimize(loss, x, args=(tf.constant(2.0),))
    assert history.evaluations > 3
    assert traces == [1]


class Interrupted(Exception):  # noqa: N818 - it stands for Ctrl-C
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, Interrupted])
@pytest.mark.parametrize("number", [1, 2, 5, 9])
@pytest.mark.parametrize("keep", ["best", "last"])
def test_interruptions_leave_the_variables_whole(error, number, keep):
    variables, loss = parts("float64")
    calls, met = [], []

    def interrupted():
        calls.append(1)
        if len(calls) == number:
            raise error
        value = loss()
        met.append((float(value), [v.numpy() for v in tf.nest.flatten(variables)]))
        return value

    start = [v.numpy() for v in tf.nest.flatten(variables)]
    with pytest.raises(error):
        minimize(interrupted, variables, keep=keep)
    now = [v.numpy() for v in tf.nest.flatten(variables)]
    if not met:
        expected = start
    elif keep == "best":
        expected = min(met, key=lambda pair: pair[0])[1]
    else:
        expected = next(values for _, values in met if np.array_equal(values[0], now[0]))
    for found, wanted in zip(now, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_an_interruption_while_the_best_values_are_put_back(monkeypatch):
    variables, loss = parts("float64")
    flat = tf.nest.flatten(variables)
    original, count = tf.Variable.assign, []

    def assign(self, *args, **kwargs):
        count.append(self)
        if len(count) > 3 and self is flat[1] and armed:
            armed.clear()
            raise KeyboardInterrupt
        return original(self, *args, **kwargs)

    armed = []
    evaluations = []

    def interrupted():
        evaluations.append([v.numpy() for v in flat])
        if len(evaluations) == 4:
            armed.append(1)
            monkeypatch.setattr(tf.Variable, "assign", assign)
            raise KeyboardInterrupt
        return loss()

    with pytest.raises(KeyboardInterrupt):
        minimize(interrupted, variables)
    monkeypatch.undo()
    now = [v.numpy() for v in flat]
    assert any(all(map(np.array_equal, now, point)) for point in evaluations[:3])


def test_callbacks_see_the_history_and_can_end_it():
    x = tf.Variable([3.0, 4.0])
    seen = []

    def callback(history):
        seen.append(history.loss[-1])
        return len(seen) == 3

    history = minimize(lambda: tf.reduce_sum(tf.cosh(x)), x, "BFGS", callback=callback)
    assert history.iterations == 3
    assert history.loss[1:] == seen
    assert history.message == "The callback ended it."
    assert float(tf.reduce_sum(tf.cosh(x))) == pytest.approx(history.best)


@pytest.mark.parametrize("method", METHODS)
def test_iterations_are_limited(method):
    x = tf.Variable(np.full(5, -1.0))
    loss = lambda: tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    history = minimize(loss, x, method, max_iterations=4)
    assert 1 <= history.iterations <= 5
    assert not history.success
    assert history.best < history.loss[0]


def test_progress(capsys):
    x = tf.Variable([3.0, 4.0])
    minimize(lambda: tf.reduce_sum(tf.cosh(x)), x, progress=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("iteration 2: loss ")
    assert len(lines) > 1


def test_nothing_is_recorded_around_it():
    x = tf.Variable([3.0, 4.0])
    with tf.GradientTape() as tape:
        minimize(lambda: tf.reduce_sum(x**2), x)
        y = tf.reduce_sum(x)
    np.testing.assert_array_equal(tape.gradient(y, x), [1.0, 1.0])


def test_plot(tmp_path, monkeypatch):
    x = tf.Variable([3.0, 4.0])
    history = minimize(lambda: tf.reduce_sum(x**2), x)
    history.plot(tmp_path / "loss.png")
    assert (tmp_path / "loss.png").stat().st_size > 1000
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        history.plot()


X = tf.Variable([1.0, 2.0])
BAD = {
    "loss": (lambda: minimize(3, X), TypeError, "loss must be a function"),
    "method": (
        lambda: minimize(lambda: X, X, "Nelder-Mead"), ValueError, "one that takes gradients",
    ),
    "shape": (lambda: minimize(lambda: X * 1.0, X), ValueError, r"got shape \(2,\)"),
    "variables": (
        lambda: minimize(lambda: X, [tf.constant(1.0)]), TypeError, "must be Variables",
    ),
    "dtype": (
        lambda: minimize(lambda: X, tf.Variable([1, 2])), TypeError, "has dtype int32",
    ),
    "nothing": (lambda: minimize(lambda: X, []), ValueError, "no variables to change"),
    "iterations": (
        lambda: minimize(lambda: X, X, max_iterations=0), ValueError, "at least 1, got 0",
    ),
    "keep": (lambda: minimize(lambda: X, X, keep="first"), ValueError, "keep must be 'best'"),
    "nan": (
        lambda: minimize(lambda: tf.reduce_sum(X) * np.nan, X), ValueError, "the loss is nan",
    ),
    "function": (
        lambda: tf.function(lambda: minimize(lambda: tf.reduce_sum(X), X) and X)(),
        RuntimeError,
        "cannot be part of a gradtape.function",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    call, error, message = BAD[case]
    with pytest.raises(error, match=message):
        call()
    np.testing.assert_array_equal(X, [1.0, 2.0])
