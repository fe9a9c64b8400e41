"""`tf.debugging.enable_check_numerics` in compiled functions: the error of eager code, with the op
and the line; nothing is written.
"""

from __future__ import annotations

import inspect
import re
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.xla.held_variable import held
from gradtape.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def checking():
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()


# Functions of a scalar that are finite at 4 and have the op `bad` of a scalar, which is not finite
# at 0, in some place.


def at_the_top(bad, x):
    return bad(x) * 2.0


def masked(bad, x):
    return tf.where(x > 1.0, bad(x), x)


def in_a_branch(bad, x):
    return tf.cond(x < 9.0, lambda: bad(x), lambda: x)


def in_an_if(bad, x):
    if x < 9.0:
        return bad(x)
    return x


def in_a_case(bad, x):
    return tf.case([(x > 9.0, lambda: x)], default=lambda: bad(x) + x)


def in_a_for(bad, x):
    y = x
    for step in tf.range(3):
        y = y + bad(x) * tf.cast(step, x.dtype)
    return y


def in_a_while_loop(bad, x):
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + bad(x)), (0, x))[1]


def in_a_scan(bad, x):
    return tf.scan(lambda state, row: state + bad(row), tf.stack([x, x]), initializer=x)


def in_a_map(bad, x):
    return tf.map_fn(bad, tf.stack([x + 1.0, x]))


def in_a_batch(bad, x):
    return tf.vectorized_map(bad, tf.stack([x + 1.0, x]))


def in_a_function(bad, x):
    return tf.function(lambda x: bad(x))(x) + 1.0


def in_a_function_in_a_branch(bad, x):
    inner = tf.function(lambda x: bad(x))
    return tf.cond(x < 9.0, lambda: inner(x), lambda: x)


def in_recomputed_code(bad, x):
    return tf.recompute_grad(lambda x: bad(x))(x)


def in_a_custom_gradient(bad, x):
    return tf.custom_gradient(lambda x: (bad(x), lambda g: g))(x)


def beside_numbers_that_pass(bad, x):
    return tf.reshape(tf.stack([bad(x), tf.maximum(x, 1.0), tf.exp(-x)]), [3, 1]), tf.range(3) // 1


PLACES = [
    at_the_top, masked, in_a_branch, in_an_if, in_a_case, in_a_for, in_a_while_loop, in_a_scan,
    in_a_map, in_a_batch, in_a_function, in_a_function_in_a_branch, in_recomputed_code,
    in_a_custom_gradient, beside_numbers_that_pass,
]  # fmt: skip
OPS = {
    "log": (lambda x: tf.math.log(x), "Inf"),
    "divide": (lambda x: x / (x * x), "NaN"),
    "lgamma": (lambda x: tf.math.lgamma(-x * 0.9 - tf.cast(x < 1.0, x.dtype)), "Inf"),
}
CASES = [
    pytest.param(
        place,
        name,
        dtype,
        id=f"{place.__name__}-{name}-{dtype}",
        marks=[] if (name, dtype) in often else pytest.mark.slow,
    )
    for often in [{("log", "float32")}]
    for place in PLACES
    for name in OPS
    for dtype in ("float32", "float64", "bfloat16")
]


def line_of(text):
    lines, start = inspect.getsourcelines(inspect.getmodule(line_of))
    return next(i for i, line in enumerate(lines, start=start + 1) if text in line)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("place", "name", "dtype"), CASES)
def test_a_program_refuses_what_eager_code_refuses(place, name, dtype):
    bad, found = OPS[name]
    fine, zero = tf.constant(4.0, dtype), tf.constant(0.0, dtype)
    f = tf.function(lambda x: place(bad, x))
    for ours, theirs in zip(
        tf.nest.flatten(f(fine)), tf.nest.flatten(place(bad, fine)), strict=True
    ):
        np.testing.assert_allclose(
            *(tf.cast(t, tf.float64) for t in (ours, theirs)),
            rtol=1e-2 if dtype == "bfloat16" else 1e-4,
        )
    with pytest.raises(InvalidArgumentError) as eager:
        place(bad, zero)
    assert re.match(rf"{name}\(.*the result has {found} values", str(eager.value))
    for _ in range(2):  # and again, in the program that is there
        with pytest.raises(InvalidArgumentError) as compiled:
            f(zero)
        message = str(compiled.value)
        ours, theirs = (
            text.partition(" (found")[0].replace("[2]", "[]")
            for text in (message, str(eager.value))
        )
        assert ours == theirs  # but for the sizes of a batch
        assert (
            "the op ran at "
            f"{__file__}:{line_of(f'{name!r}'.replace(chr(39), chr(34)) + ': (lambda')}, in"
        ) in message
    f(fine)
    assert f.experimental_get_tracing_count() == 1


# Gradients


def slope(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


def root(x):
    return tf.sqrt(x)  # the root


@pytest.mark.parametrize(
    "f",
    [
        tf.function(lambda x: slope(root, x)),
        lambda x: slope(tf.function(root), x),
        tf.function(lambda x: slope(tf.function(root), x)),
        tf.function(lambda x: slope(lambda x: tf.cond(x < 9.0, lambda: root(x), lambda: x), x)),
        lambda x: slope(tf.function(lambda x: tf.cond(x < 9.0, lambda: root(x), lambda: x)), x),
        tf.function(lambda x: slope(lambda x: tf.map_fn(root, tf.stack([x, x])), x)),
        tf.function(lambda x: slope(lambda x: tf.vectorized_map(root, tf.stack([x, x])), x)),
        tf.function(lambda x: tf.vectorized_map(lambda x: slope(root, x), tf.stack([x, x]))),
    ],
)
def test_a_gradient_names_the_op_and_its_line(f):
    f(tf.constant(4.0))
    with pytest.raises(InvalidArgumentError) as raised:
        f(tf.constant(0.0))
    message = str(raised.value)
    assert "The gradient of sqrt by its argument 0 has Inf values" in message
    assert f"the op ran at {__file__}:{line_of('# the root')}, in root" in message


def test_second_order():
    f = tf.function(lambda x: slope(lambda x: slope(lambda x: x**1.5, x), x))
    np.testing.assert_allclose(f(tf.constant(4.0)), 0.375)
    with pytest.raises(InvalidArgumentError, match="Inf"):
        f(tf.constant(0.0))


def test_rows_of_a_table():
    table = tf.Variable([[0.0], [4.0]])

    @tf.function
    def step(rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sqrt(tf.gather(table, rows)))
        table.scatter_sub(tape.gradient(loss, table))
        return loss

    step(tf.constant([1]))
    before = table.numpy()
    with pytest.raises(InvalidArgumentError, match="gradient of sqrt"):
        step(tf.constant([0, 1]))
    np.testing.assert_array_equal(table, before)


# Variables


@pytest.mark.parametrize("size", [3, 50_000])
def test_variables_hold_the_values_from_before_the_call(size):
    """Although a program may write over the memory of the values that it is given."""
    v, count = tf.Variable(tf.ones([size])), tf.Variable(0)

    @tf.function
    def step(x):
        count.assign_add(1)
        v.assign(v * 2.0)
        v.assign(v / x)
        count.assign_add(1)
        return tf.reduce_sum(v)

    tf.debugging.disable_check_numerics()
    step(tf.constant(1.0))  # a program without checks, which has taken the Variables over
    tf.debugging.enable_check_numerics()
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="divide"):
            step(tf.constant(0.0))
        np.testing.assert_array_equal(v, np.full(size, 2.0))
        assert int(count) == 2
    step(tf.constant(1.0))
    np.testing.assert_array_equal(v, np.full(size, 4.0))
    with pytest.raises(InvalidArgumentError, match="divide"):
        step(tf.constant(0.0))
    np.testing.assert_array_equal(v, np.full(size, 4.0))
    assert int(count) == 4
    tf.debugging.disable_check_numerics()
    step(tf.constant(2.0))
    memory = held(v)
    step(tf.constant(1.0))
    assert memory.is_deleted()  # the program without checks is in use again
    np.testing.assert_array_equal(v, np.full(size, 8.0))


def test_random_numbers_go_on_where_they_were():
    f = tf.function(lambda x: tf.random.normal([3]) / x)
    tf.random.set_seed(3)
    first, second = f(tf.constant(1.0)), f(tf.constant(1.0))
    tf.random.set_seed(3)
    with pytest.raises(InvalidArgumentError, match="divide"):
        f(tf.constant(0.0))
    np.testing.assert_array_equal(f(tf.constant(1.0)), first)
    np.testing.assert_array_equal(f(tf.constant(1.0)), second)


# What is checked, and when


def test_what_only_moves_values_is_not_to_blame():
    f = tf.function(
        lambda x: (
            tf.gather(tf.transpose(tf.concat([x, x], 0)), [1])
            if x.shape[0] == 1
            else tf.maximum(x, 0.0)
        )
    )
    f(tf.constant([[1.0, np.inf]]))
    f(tf.constant([np.nan, np.inf]))
    with pytest.raises(InvalidArgumentError, match="add"):
        tf.function(lambda x: x + 1.0)(tf.constant([np.inf]))


def test_checks_end_when_they_are_disabled():
    times = []

    @tf.function
    def f(x):
        times.append(x)
        return tf.math.log(x)

    tf.debugging.disable_check_numerics()
    assert float(f(tf.constant(0.0))) == -np.inf
    tf.debugging.enable_check_numerics()
    with pytest.raises(InvalidArgumentError, match="log"):
        f(tf.constant(0.0))
    with pytest.raises(InvalidArgumentError, match="log"):
        f.get_concrete_function(tf.TensorSpec([]))(tf.constant(0.0))
    tf.debugging.disable_check_numerics()
    assert float(f(tf.constant(0.0))) == -np.inf
    # Traced twice, and run op by op where a check had failed.
    assert len(times) == 3
    assert f.experimental_get_tracing_count() == 1


def test_concrete_functions_that_were_made_before():
    tf.debugging.disable_check_numerics()
    f = tf.function(lambda x: tf.math.log(x))
    made = [
        f.get_concrete_function(tf.TensorSpec([2])),
        f.get_concrete_function(tf.TensorSpec([None])),
    ]
    x = tf.constant([1.0, 0.0])
    for concrete in made:
        assert concrete(x).numpy().tolist() == [0.0, -np.inf]
    tf.debugging.enable_check_numerics()
    for concrete in made:
        with pytest.raises(InvalidArgumentError, match="log"):
            concrete(x)


def test_methods_and_keyword_arguments():
    class Model:
        @tf.function
        def loss(self, x, scale=1.0):
            return tf.math.log(x) * scale

    with pytest.raises(InvalidArgumentError, match="log"):
        Model().loss(tf.constant(0.0), scale=tf.constant(2.0))


def test_other_threads_are_not_checked():
    f = tf.function(lambda x: tf.math.log(x))
    found = []

    def run():
        found.append(float(f(tf.constant(0.0))))

    with pytest.raises(InvalidArgumentError):
        f(tf.constant(0.0))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [-np.inf]


def test_functions_that_run_eagerly():
    tf.config.run_functions_eagerly(True)
    try:
        with pytest.raises(InvalidArgumentError, match="log"):
            tf.function(lambda x: tf.math.log(x))(tf.constant(0.0))
    finally:
        tf.config.run_functions_eagerly(False)


def test_a_loop_that_only_its_bound_ends_is_explained():
    @tf.function
    def f(x):
        while tf.reduce_sum(x) < 1.0:
            tf.autograph.experimental.set_loop_options(maximum_iterations=3)
            x = x * 1.0
        return tf.math.log(x)

    with pytest.raises(InvalidArgumentError, match="the result has NaN") as raised:
        f(tf.constant([-1.0]))
    assert "made NaN at index" in raised.value.__notes__[0]
