"""`bridge.black_box`: derivatives of functions of which only the values are known."""

import math
import warnings

import numpy as np
import pytest

import gradtape as tf
from gradtape.bridge import black_box


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape)


def close(found, expected, rtol):
    expected = np.asarray(expected)
    np.testing.assert_allclose(
        np.asarray(found), expected, rtol=rtol, atol=rtol * np.abs(expected).max(initial=0)
    )


X, Y, ROWS = values(3), values(3, seed=1), values(4, 3, seed=2)


def single(x, y):
    return {"a": np.sin(x) * y**2 + x.sum() / y, "b": [x @ y]}


def batch(x, y):
    return {"a": np.sin(x) * y**2 + x.sum(-1, keepdims=True) / y, "b": [(x * y).sum(-1)]}


def here(x, y):
    return {"a": tf.sin(x) * y**2 + tf.reduce_sum(x) / y, "b": [tf.tensordot(x, y, 1)]}


def jacobians(x, y):
    size = x.shape[-1]
    eye = np.eye(size)
    by_x = np.cos(x) * y**2 * eye + 1 / y[:, None]
    by_y = (2 * np.sin(x) * y - x.sum() / y**2) * eye
    return [by_x, by_y, y, x]


def jacobians_of_batch(x, y):
    found = [jacobians(*row) for row in zip(x, y, strict=True)]
    return [np.stack(column) for column in zip(*found, strict=True)]


BOXES = {
    "differences": (black_box(single), 1e-9, 1e-6),
    "differences, batched": (black_box(batch, batched=True), 1e-9, 1e-6),
    "complex step": (black_box(single, "complex-step"), 1e-14, 1e-9),
    "complex step, batched": (black_box(batch, "complex-step", batched=True), 1e-14, 1e-9),
    "given": (black_box(single, jacobians), 1e-14, 1e-9),
    "given, batched": (black_box(batch, jacobians_of_batch, batched=True), 1e-14, 1e-9),
}


def derivatives(f, x, y):
    x, y, rows = tf.constant(x), tf.constant(y), tf.constant(ROWS)
    with tf.GradientTape() as second:
        second.watch([x, y])
        with tf.GradientTape(persistent=True) as first:
            first.watch([x, y, rows])
            out = f(x, y)
            both = tf.reduce_sum(out["a"]) * out["b"][0]
            mapped = tf.vectorized_map(lambda row: f(row, y)["a"], rows)
        gradient = first.gradient(both, [x, y])
        norm = tf.reduce_sum(gradient[0] ** 2)
    found = {"value": out["a"], "gradient": gradient[0], "gradient by y": gradient[1]}
    found["second"] = second.gradient(norm, y)
    found["jacobian"] = first.jacobian(out["a"], x)
    found["map"] = mapped
    found["gradient of map"] = first.gradient(mapped, rows)
    found["gradient of map by what is shared"] = first.gradient(mapped, y)
    with tf.autodiff.ForwardAccumulator([x, y], [y, x]) as accumulator:
        out = f(x, y)
    found["jvp"] = accumulator.jvp(out["a"])
    with tf.autodiff.ForwardAccumulator(x, y) as outer:
        with tf.autodiff.ForwardAccumulator(x, x) as inner:
            out = f(x, y)
        tangent = inner.jvp(out["a"])
    found["second jvp"] = outer.jvp(tangent)
    return found


EXPECTED = {name: np.asarray(value) for name, value in derivatives(here, X, Y).items()}


@pytest.fixture(scope="module", params=[*BOXES])
def box(request):
    return BOXES[request.param]


@pytest.mark.parametrize("way", ["eager", "function"])
def test_derivatives(box, way):
    f, first, second = box
    run = lambda x, y: derivatives(f, x, y)
    found = run(X, Y) if way == "eager" else tf.function(run)(tf.constant(X), tf.constant(Y))
    for name, value in found.items():
        close(value, EXPECTED[name], second if "second" in name else first)


def test_a_compiled_program_calls_it_back():
    f = black_box(lambda x: np.exp(x), elementwise=True)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(lambda x: f(x) * 2, jit_compile=True)(x)
    close(tape.gradient(y, x), 2 * np.exp([1, 2]), 1e-6)


def test_estimates_hold():
    f = black_box(single)
    (a_by_x, a_by_y), (b_by_x, b_by_y) = f.estimates(X, Y)
    exact = jacobians(X, Y)
    for estimate, true in zip([a_by_x, a_by_y, b_by_x, b_by_y], exact, strict=True):
        off = np.abs(estimate.value - true)
        assert np.all(off <= estimate.error + 1e-15)
        assert np.all(estimate.error < 1e-8)
    given = black_box(single, jacobians).estimates(X, Y)
    close(given[0][0].value, exact[0], 1e-14)
    assert not given[0][0].error.any()
    exactly = black_box(lambda x: x**3, "complex-step").estimates(2.0)[0]
    assert abs(exactly.value - 12) <= exactly.error < 1e-13


@pytest.mark.parametrize("x", [1e-8, 1e-3, 1.0, 1e3, 1e8])
def test_arguments_of_all_sizes(x):
    (estimate,) = black_box(lambda x: np.log(x)).estimates(np.float64(x))
    assert abs(estimate.value * x - 1) < 1e-7
    assert abs(estimate.value - 1 / x) <= estimate.error


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_derivatives_are_taken_in_double_precision(dtype):
    seen = set()

    def f(x):
        seen.add(x.dtype.name)
        return x * x

    x = tf.constant([1.5, 2.5], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = black_box(f, "complex-step")(x)
    gradient = tape.gradient(y, x)
    assert y.dtype == gradient.dtype == dtype
    assert gradient.numpy().astype(float).tolist() == [3, 5]
    assert seen == {dtype, "complex128", "float64"}


def test_values_in_single_precision_get_larger_steps():
    f = black_box(lambda x: np.sin(x.astype(np.float32)))
    (estimate,) = f.estimates(1.0)
    assert abs(estimate.value - np.cos(1)) <= estimate.error < 1e-3


def test_noise():
    noisy = lambda x: np.sin(x) + 1e-5 * np.sin(1e9 * x)
    with pytest.warns(RuntimeWarning, match="may be off by .* Set `precision`"):
        black_box(noisy).estimates(1.0)
    (estimate,) = black_box(noisy, precision=1e-5, tolerance=0.01).estimates(1.0)
    assert abs(estimate.value - np.cos(1)) <= estimate.error < 1e-2
    black_box(noisy, tolerance=1e4).estimates(1.0)
    smooth = black_box(lambda x: np.sin(50 * x), step=1e-4)
    assert abs(smooth.estimates(1.0)[0].value - 50 * np.cos(50)) < 1e-6


def test_what_is_not_smooth_warns():
    x = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = black_box(lambda x: np.sign(x))(x)
    with pytest.warns(RuntimeWarning, match="derivative by argument 0 may be off"):
        tape.gradient(y, x)


def test_a_complex_step_through_what_is_not_analytic():
    with pytest.warns(RuntimeWarning, match=r"gives a derivative of \[0.\].*is not analytic"):
        black_box(lambda x: (x * np.conj(x)) ** 0.5 + 0j * x, "complex-step").estimates(2.0)


def refused(f):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = black_box(f, "complex-step")(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: np.abs(x), "result 0 has dtype float64 where an argument is complex"),
        (lambda x: x.real, "use derivative='finite-difference'"),
        (lambda x: math.sin(x), "does not take the complex arguments .*not 'complex'"),
    ],
)
def test_the_complex_step_refuses_what_gives_no_complex_numbers(f, words):
    with pytest.raises(TypeError, match=words):
        refused(f)


def test_the_number_of_calls():
    calls = []

    def f(x):
        calls.append(x.shape)
        return (x**2).sum(-1)

    def gradient(box, x):
        x = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = box(x)
        calls.clear()
        found = tape.gradient(y, x)
        close(found, 2 * x, 1e-9)
        return len(calls)

    x = values(50)
    assert gradient(black_box(f), x) <= 2 * (1 + 4 * 50)
    assert gradient(black_box(f, batched=True), x) <= 3
    assert gradient(black_box(f, "complex-step", batched=True), x) <= 6
    assert gradient(black_box(lambda x: f(x[..., None]), elementwise=True), x) <= 9
    tangent = tf.constant(x)
    calls.clear()
    with tf.autodiff.ForwardAccumulator(tangent, tangent) as accumulator:
        y = black_box(f)(tangent)
    close(accumulator.jvp(y), 2 * (x**2).sum(), 1e-9)
    assert len(calls) <= 10


def test_elementwise_functions_broadcast():
    f = black_box(lambda x, y: x**2 * y, elementwise=True)
    x, y = tf.Variable(X), tf.Variable(values(2, 1))
    with tf.GradientTape(persistent=True) as tape:
        z = f(x, y)
    assert z.shape == (2, 3)
    close(tape.gradient(z, x), 2 * X * y.numpy().sum(), 1e-9)
    close(tape.gradient(z, y), np.full((2, 1), (X**2).sum()), 1e-9)
    given = black_box(lambda x: x**3, lambda x: 3 * x**2, elementwise=True)
    with tf.GradientTape() as tape:
        z = given(x)
    close(tape.gradient(z, x), 3 * X**2, 1e-14)


def test_integers_keywords_methods_and_numbers():
    f = black_box(lambda x, n, scale=1: (x**n * scale, n + 1, 7))
    x, n = tf.Variable(2.0), tf.constant(3)
    with tf.GradientTape(persistent=True) as tape:
        power, more, seven = f(x, n, scale=10)
    assert power.numpy() == 80
    assert more.numpy() == 4
    assert seven.numpy() == 7
    close(tape.gradient(power, x), 120, 1e-6)
    assert tape.gradient(power, n) is None
    assert tape.gradient(more, x) is None


def test_the_function_may_write_to_its_arguments():
    def f(x):
        x += 1
        return x

    x = tf.constant([1.0])
    assert black_box(f)(x).numpy() == [2]
    assert x.numpy() == [1]


def test_empty_arguments():
    x = tf.zeros([0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = black_box(lambda x: x.sum() + 1)(x)
    assert y.numpy() == 1
    assert tape.gradient(y, x).shape == (0,)
    assert tf.vectorized_map(black_box(lambda x: x * 2), tf.zeros([0, 3])).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: black_box(3), TypeError, "f must be a function, got 3"),
        (lambda: black_box(abs, "exact"), ValueError, "derivative must be 'finite-difference'"),
        (lambda: black_box(abs, step=-1), ValueError, "step must be positive, got -1"),
        (lambda: black_box(abs)(), TypeError, "there must be an argument"),
        (lambda: black_box(abs)("text"), TypeError, "argument 0 holds strings"),
        (lambda: black_box(lambda x: "no")(1.0), TypeError, "result 0 is 'no' of type str"),
        (
            lambda: black_box(lambda x: x.sum(), batched=True)([1.0, 2.0]),
            ValueError,
            r"result 0 has shape \(\) for a batch of 1",
        ),
        (
            lambda: black_box(lambda x: x, lambda x: [x, x]).estimates(1.0),
            ValueError,
            "derivative must return 1 arrays.* got 2",
        ),
        (
            lambda: black_box(lambda x: x, lambda x: x).estimates([1.0, 2.0]),
            ValueError,
            r"array of shape \(2, 2\) by argument 0, got \(2,\)",
        ),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_complex_numbers_have_no_derivatives():
    z = tf.constant(1 + 2j)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = black_box(lambda z: z * z)(z)
    assert y.numpy() == -3 + 4j
    with pytest.raises(TypeError, match="no derivatives by complex arguments"):
        tape.gradient(y, z)


def test_shapes_that_depend_on_values_leave_the_program():
    f = black_box(lambda x: x[x > 1])
    x = tf.constant([0.5, 2.0, 3.0])
    assert tf.function(lambda x: f(x) * 2)(x).numpy().tolist() == [4, 6]


def test_nothing_is_said_of_points_that_are_tried():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (estimate,) = black_box(lambda x: np.sqrt(x)).estimates(1e-5)
    assert abs(estimate.value * 2 * np.sqrt(1e-5) - 1) < 1e-7
