"""What an error shows that leaves a function: the lines of the user's code and the message; and
errors that stay what they are.
"""

import traceback

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.messages import chain_of

X = tf.ones([2, 3])
WRONG = tf.ones([4, 5])


def product(x):
    return tf.matmul(x, WRONG)


def in_an_if(x):
    if tf.reduce_sum(x) > 0:
        x = tf.matmul(x, WRONG)
    return x


def in_a_loop(x):
    for _ in tf.range(3):
        while tf.reduce_sum(x) < 10:
            x = x + tf.matmul(x, WRONG)
    return x


def in_a_helper(x):
    return product(x) + product(x)


def in_cond(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: product(x), lambda: x)


def in_map_fn(x):
    return tf.map_fn(lambda row: row + tf.ones([7]), x)


def in_a_gradient(x):
    @tf.custom_gradient
    def twice(y):
        return 2 * y, lambda upstream: product(upstream)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = twice(x)
    return tape.gradient(y, x)


@tf.function
def nested(x):
    return product(x)


def in_a_nested_function(x):
    return nested(x * 2)


def users_own(x):
    try:
        return {}["key"]
    except KeyError as error:
        raise LookupError("my message") from error


def of_python(x):
    return x.no_such_attribute


def sum_of_a_wrong_axis(x):
    return tf.reduce_sum(x, axis=5)


def in_python_code(x):
    return tf.py_function(lambda array: np.ones(3) @ np.ones(4), [x], tf.TensorSpec([], tf.float32))


def while_it_runs(x):
    tf.debugging.assert_less(x, 1.0, message="too large")
    return x


# The function, its lines in the traceback, outermost first, and a part of the message.
ROWS = [
    (product, ["tf.matmul(x, WRONG)"], "matmul(float32[2, 3], float32[4, 5])"),
    (in_an_if, ["x = tf.matmul(x, WRONG)"], "matmul(float32[2, 3], float32[4, 5])"),
    (in_a_loop, ["x = x + tf.matmul(x, WRONG)"], "matmul(float32[2, 3], float32[4, 5])"),
    (in_a_helper, ["product(x) + product(x)", "tf.matmul(x, WRONG)"],
        "matmul(float32[2, 3], float32[4, 5])"),
    (in_cond, ["tf.cond(", "tf.cond(", "tf.matmul(x, WRONG)"],
        "matmul(float32[2, 3], float32[4, 5])"),
    (in_map_fn, ["tf.map_fn(", "row + tf.ones([7])"], "float32[7]"),
    (in_a_gradient, ["tape.gradient("], "matmul(float32[2, 3], float32[4, 5])"),
    (in_a_nested_function, ["nested(x * 2)", "product(x)", "tf.matmul(x, WRONG)"],
        "matmul(float32[2, 3], float32[4, 5])"),
    (users_own, ['raise LookupError("my message")'], "my message"),
    (of_python, ["x.no_such_attribute"], "no_such_attribute"),
    (sum_of_a_wrong_axis, ["tf.reduce_sum(x, axis=5)"], "axis=5"),
    (in_python_code, None, "matmul"),
    (while_it_runs, None, "too large"),
]  # fmt: skip
WITH_A_CAUSE = (users_own, in_python_code)  # that is the user's too


def frames_of(error):
    return traceback.extract_tb(error.__traceback__)


def is_users(frame):
    return frame.filename == __file__


def error_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    ("function", "lines", "message"), ROWS, ids=[row[0].__name__ for row in ROWS]
)
def test_only_the_users_frames_are_shown(function, lines, message, times):
    compiled = tf.function(function)
    for _ in range(times):
        error = error_of(lambda: compiled(X))
    assert message in str(error)
    frames = frames_of(error)
    assert all(map(is_users, frames))
    if lines is not None:
        inside = frames[
            next(i for i, frame in enumerate(frames) if "compiled(X)" in frame.line) + 1 :
        ]
        assert len(inside) == len(lines)
        assert all(line in frame.line for line, frame in zip(lines, inside, strict=True))
    shown = "".join(traceback.format_exception(error))
    assert "jax" not in shown.lower()
    assert shown.count("Traceback (most recent call last)") == 1 + (function in WITH_A_CAUSE)


def test_a_cause_that_is_the_users_is_shown():
    error = error_of(lambda: tf.function(users_own)(X))
    assert isinstance(error.__cause__, KeyError)
    assert all(is_users(frame) for frame in frames_of(error.__cause__))


def test_methods_and_lambdas():
    class Model:
        @tf.function
        def step(self, x):
            return product(x)

    for call in [lambda: Model().step(X), lambda: tf.function(lambda x: product(x))(X)]:
        assert all(map(is_users, frames_of(error_of(call))))


def test_a_tape_around_and_a_concrete_function():
    compiled = tf.function(product)
    with tf.GradientTape() as tape:
        tape.watch(X)
        recorded = error_of(lambda: compiled(X))
    asked = error_of(lambda: compiled.get_concrete_function(X))
    for error in [recorded, asked]:
        assert all(map(is_users, frames_of(error)))
        assert "tf.matmul(x, WRONG)" in frames_of(error)[-1].line


def test_all_of_it_on_request(monkeypatch):
    monkeypatch.setenv("GRADTAPE_FULL_TRACEBACK", "1")
    error = error_of(lambda: tf.function(in_an_if)(X))
    assert len(frames_of(error)) > 20
    assert error.__cause__ is not None
    assert "jax" in "".join(traceback.format_exception(error))
    monkeypatch.setenv("GRADTAPE_FULL_TRACEBACK", "0")
    assert len(frames_of(error_of(lambda: tf.function(in_an_if)(X)))) < 6


def test_all_of_it_by_tensorflows_switch():
    tf.debugging.disable_traceback_filtering()
    try:
        error = error_of(lambda: tf.function(in_an_if)(X))
    finally:
        tf.debugging.enable_traceback_filtering()
    assert len(frames_of(error)) > 20
    assert all(map(is_users, frames_of(error_of(lambda: tf.function(in_an_if)(X)))))


def test_a_trimmed_error_keeps_nothing_of_the_libraries_alive():
    error = error_of(lambda: tf.function(product)(X))
    assert [found.__traceback__ is not None for found in chain_of(error)] == [True]


# Errors that stay what they are


def endless(x):
    def further(y):
        return further(y + 1)

    return further(x)


def raising(error):
    def body(x):
        raise error

    return body


KINDS = {
    "deep": (endless, RecursionError),
    "recursion": (raising(RecursionError("r")), RecursionError),
    "memory": (raising(MemoryError("m")), MemoryError),
    "interrupt": (raising(KeyboardInterrupt()), KeyboardInterrupt),
    "exit": (raising(SystemExit(3)), SystemExit),
}
PLACES = {
    "eager": lambda body: body,
    "function": lambda body: tf.function(body),
    "nested": lambda body: tf.function(lambda x: tf.function(body)(x)),
    "without AutoGraph": lambda body: tf.function(body, autograph=False),
    "cond": lambda body:
        tf.function(lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: body(x), lambda: x)),
    "while_loop": lambda body:
        tf.function(lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 9, body, [x])),
    "map_fn": lambda body: tf.function(lambda x: tf.map_fn(body, x)),
    "vectorized_map": lambda body: lambda x: tf.vectorized_map(body, x),
    "recompute_grad": lambda body: tf.function(lambda x: tf.recompute_grad(body)(x)),
    "numpy_function": lambda body: tf.function(lambda x: tf.numpy_function(body, [x], tf.float32)),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_python_itself_stay_what_they_are(place, kind):
    body, expected = KINDS[kind]
    with pytest.raises(expected) as caught:
        PLACES[place](body)(X)
    assert type(caught.value) is expected
    # And everything works.
    np.testing.assert_array_equal(tf.function(lambda x: x + 1)(X), 2 * np.ones([2, 3]))


def test_a_chain_that_leads_back_to_itself_ends():
    error, other = ValueError("a"), KeyError("b")
    error.__cause__, other.__context__ = other, error
    assert list(chain_of(error)) == [error, other]
    error.__cause__ = error
    assert list(chain_of(error)) == [error]
