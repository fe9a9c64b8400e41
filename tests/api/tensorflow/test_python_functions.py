"""`py_function` and `numpy_function`.

Answers and exceptions are TensorFlow's, but second derivatives work.
"""

import numpy as np
import pytest

import gradtape as tf


def test_py_function_gives_what_the_dtypes_ask_for():
    assert tf.py_function(lambda x: x * 2, [1.0], tf.float32).numpy() == 2
    several = tf.py_function(lambda x, y: [x + y, 3], [1.0, 2.0], [tf.float32, tf.int32])
    assert [(x.dtype, x.numpy()) for x in several] == [(tf.float32, 3), (tf.int32, 3)]
    assert tf.py_function(lambda x: None, [1.0], []) == []
    assert (
        tf.py_function(lambda x: np.float64(3), [1.0], tf.TensorSpec([], tf.float32)).dtype
        == tf.float32
    )


def test_py_function_hands_over_tensors():
    seen = []
    tf.py_function(lambda *args: seen.extend(args), [tf.Variable(1.0), 2, np.ones(2)], [])
    assert [type(x) for x in seen] == [tf.Tensor] * 3
    assert [x.dtype for x in seen] == [tf.float32, tf.int32, tf.float64]


def test_py_function_as_a_decorator():
    @tf.py_function(Tout=tf.float32)
    def double(x):
        return x * 2

    assert double(1.0).numpy() == 2


def test_py_function_is_differentiable_twice():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.py_function(lambda x: x**3, [x], tf.float32)
        first = inner.gradient(y, x)
    assert first.numpy() == 12
    assert outer.gradient(first, x).numpy() == 12


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ValueError, tf.errors.InvalidArgumentError), (TypeError, tf.errors.InvalidArgumentError),
        (KeyError, tf.errors.UnknownError), (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (ZeroDivisionError, tf.errors.UnknownError),
    ],
)  # fmt: skip
def test_exceptions(raised, expected):
    def fail(*args):
        raise raised("because")

    with pytest.raises(expected, match="because") as found:
        tf.py_function(fail, [1.0], tf.float32)
    assert found.type is expected
    assert isinstance(found.value.__cause__, raised)
    with pytest.raises(raised):
        tf.numpy_function(fail, [1.0], tf.float32)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [(lambda x: x, tf.int32), (lambda x: None, tf.float32), (lambda x: [x], [tf.float32] * 2)],
)
def test_py_function_refuses_another_result(function, wanted):
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.py_function(function, [1.0], wanted)


def test_the_dtype_is_needed():
    for function in (tf.py_function, tf.numpy_function):
        with pytest.raises(TypeError, match="Tout"):
            function(lambda x: x, [1.0])


def test_numpy_function():
    seen = []

    def double(x):
        seen.append(type(x))
        return x * 2

    x = tf.Variable([1.0])
    with tf.GradientTape() as tape:
        y = tf.numpy_function(double, [x], tf.float32)
    assert seen == [np.ndarray]
    assert y.numpy().tolist() == [2]
    assert tape.gradient(y, x) is None
    two = tf.numpy_function(lambda x: (x, x + 1), [np.float32(1)], [tf.float32, tf.float32])
    assert [x.numpy() for x in two] == [1, 2]

    @tf.numpy_function(Tout=tf.float32)
    def triple(x):
        return x * 3

    assert triple(tf.constant(1.0)).numpy() == 3


@pytest.mark.parametrize("wrap", [tf.py_function, tf.numpy_function])
@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("out", [tf.float32, tf.TensorSpec([])])
def test_python_code_in_a_function_may_call_functions(wrap, captured, warm, out):
    """Also in the trial run that finds the shape of the result."""
    c = tf.constant(2.0)
    inner = tf.function((lambda a: a * c) if captured else (lambda a: a * 2.0))
    if warm:
        inner(tf.constant(1.0))
    called = inner if wrap is tf.py_function else lambda a: inner(tf.constant(a)).numpy()
    f = tf.function(lambda x: wrap(called, [x], out) + 1.0)
    for x in (3.0, 4.0):
        assert float(f(tf.constant(x))) == 2.0 * x + 1.0


UNFORESEEN = {
    "fewer": lambda x: x[x > 0.0],
    "turned": lambda x: x.T if x[0, 0] > 1.0 else x,
    "more axes": lambda x: x[None] if x[0, 0] > 1.0 else x,
    "none": lambda x: x[:0] if x[0, 0] > 1.0 else x,
    "fails on ones": lambda x: x[: {2: 1}[int(x[0, 0])]],
}
TWO_ROWS = np.array([[2.0, -3.0, 4.0], [5.0, 6.0, -7.0]], np.float32)


def with_unforeseen_shapes(wrap, name):
    """A function whose Python code returns shapes that no trial run tells, and what it computes."""
    python = UNFORESEEN[name]
    if wrap is tf.numpy_function:
        called = python
    else:
        turn = name == "turned"
        called = lambda x: tf.transpose(x) if turn and x[0, 0] > 1.0 else x if turn else python(x)
    return lambda x: wrap(called, [x * 1.0], tf.float32), python(TWO_ROWS)


@pytest.mark.parametrize("wrap", [tf.py_function, tf.numpy_function])
@pytest.mark.parametrize("name", UNFORESEEN)
def test_results_of_unforeseen_shapes(name, wrap):
    f, expected = with_unforeseen_shapes(wrap, name)
    inner, total = tf.function(f), tf.Variable(0.0)

    def counted(x):
        total.assign_add(1.0)
        return inner(x) * 2.0

    outer = tf.function(counted)
    for i in (1, 2):
        np.testing.assert_array_equal(outer(tf.constant(TWO_ROWS)), 2.0 * expected)
        assert float(total) == i
    np.testing.assert_array_equal(inner(tf.constant(TWO_ROWS)), expected)
    program = tf.function(f).get_concrete_function(tf.TensorSpec([2, 3]))
    np.testing.assert_array_equal(program(tf.constant(TWO_ROWS)), expected)
    assert inner.experimental_get_tracing_count() == outer.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match="give Tout as a TensorSpec"):
        tf.function(f, jit_compile=True)(tf.constant(TWO_ROWS))


@pytest.mark.parametrize("name", UNFORESEEN)
def test_gradients_of_results_of_unforeseen_shapes(name):
    f, _ = with_unforeseen_shapes(tf.py_function, name)

    def derivatives(f):
        x = tf.constant(TWO_ROWS)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x) ** 3
            first = tape.gradient(y, x)
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            z = f(x)
        return first, outer.gradient(first, x), accumulator.jvp(z)

    for found, wanted in zip(derivatives(tf.function(f)), derivatives(f), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("order", ["first", "second", "forward", "forward over reverse"])
@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("name", UNFORESEEN)
def test_derivatives_inside_a_function_of_results_of_unforeseen_shapes(name, power, inner, order):
    """A program may run the derivative of Python code before the code itself, or without it."""
    python = UNFORESEEN[name] if name != "turned" else lambda x: tf.transpose(x)
    # The gradient does not need the results.
    f = lambda x: tf.reduce_sum(tf.py_function(lambda x: python(x) ** power, [x], x.dtype))
    total = tf.function(f) if inner else f

    def first(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = total(x)
        return tape.gradient(y, x, unconnected_gradients="zero")

    def second(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = first(x)
        return tape.gradient(y, x, unconnected_gradients="zero")

    def pushed(derived):
        def run(x):
            with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
                y = derived(x)
            return accumulator.jvp(y, unconnected_gradients="zero")

        return run

    derived = {
        "first": first,
        "second": second,
        "forward": pushed(total),
        "forward over reverse": pushed(first),
    }[order]
    for dtype in (tf.float32, tf.float64):  # XLA chooses the order by sizes too
        x = tf.constant(TWO_ROWS, dtype)
        np.testing.assert_array_equal(tf.function(derived)(x), derived(x))


@pytest.mark.parametrize("branch", [True, False])
def test_results_of_unforeseen_shapes_in_a_branch(branch):
    @tf.function
    def f(x, condition):
        y = tf.zeros([6])
        if condition:
            y = tf.numpy_function(UNFORESEEN["fewer"], [x], tf.float32)
        return y + 1.0

    found = f(tf.constant(TWO_ROWS), tf.constant(branch))
    expected = UNFORESEEN["fewer"](TWO_ROWS) if branch else np.zeros(6)
    np.testing.assert_array_equal(found, expected + 1.0)


def test_a_result_of_an_unforeseen_dtype():
    half = lambda x: x // 2 if x % 2 == 0 else x / np.float32(2)
    f = tf.function(lambda x: tf.numpy_function(half, [x], tf.float64))
    one, two = tf.constant(1), tf.constant(2)
    assert [float(f(two)), float(f(one))] == [1.0, 0.5]
