"""What eager code can do, a function does: shapes and loop lengths that are known only when it
runs, with derivatives of every kind.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import re

import numpy as np
import pytest

import gradtape as tf

from .open_programs import LOOP, ONE, OTHER, PROGRAMS, SHAPE, SIX

by_name = pytest.mark.parametrize("name", PROGRAMS)
of_shapes = pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if PROGRAMS[name].kind == SHAPE]
)
of_loops = pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if PROGRAMS[name].kind == LOOP]
)


def compiled(name, **options):
    return tf.function(PROGRAMS[name].function, **options)


def as_python(name):
    """A program as eager code: converted, so that the bounds of its loops hold."""
    return tf.autograph.to_graph(PROGRAMS[name].function)


def check(found, expected):
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


def check_derivative(found, expected):
    """Where the way that is taken does not lead to a source, eager code says None and TensorFlow's
    functions zeros; both are right here.
    """
    if expected is None:
        assert found is None or not np.any(found.numpy())
    else:
        check(found, expected)


def every(name):
    """The arguments of a program, with its value and gradient for them."""
    program = PROGRAMS[name]
    return [
        (program.tensors(number), *expected) for number, expected in enumerate(program.expected)
    ]


def first_order(f, x, *others):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, *others)
    return y, tape.gradient(y, x)


def second_order(f, x, *others):
    with tf.GradientTape() as outer:
        outer.watch(x)
        _, first = first_order(f, x, *others)
    return first, outer.gradient(first, x)


@by_name
def test_values_and_traces(name):
    f = compiled(name)
    for arguments, value, _ in every(name):
        result = f(*arguments)
        assert result.shape == np.shape(value)
        check(result, value)
    assert f.experimental_get_tracing_count() == 1


@by_name
def test_gradients(name):
    f = compiled(name)
    for arguments, value, gradient in every(name):
        found = first_order(f, *arguments)
        check(found[0], value)
        check(found[1], gradient)
    assert f.experimental_get_tracing_count() == 1


@by_name
def test_a_tape_inside(name):
    @tf.function
    def f(x, *others):
        return first_order(PROGRAMS[name].function, x, *others)

    for arguments, value, gradient in every(name):
        found = f(*arguments)
        check(found[0], value)
        check(found[1], gradient)
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.sampled(4)
@by_name
def test_a_persistent_tape(name):
    f = compiled(name)
    for (x, *others), _, gradient in every(name):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x, *others)
            z = y * 2.0
        check(tape.gradient(y, x), gradient)
        check(tape.gradient(z, x), np.multiply(2.0, gradient))
        check(tape.gradient(y, x), gradient)


@pytest.mark.sampled(4)
@by_name
def test_second_order(name):
    f, plain = compiled(name), as_python(name)
    for arguments, _, _ in every(name):
        for found, right in zip(
            second_order(f, *arguments), second_order(plain, *arguments), strict=True
        ):
            check_derivative(found, right)


@by_name
def test_forward_mode(name):
    f, plain = compiled(name), as_python(name)
    for (x, *others), _, _ in every(name):
        tangents = []
        for function in (f, plain):
            with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
                y = function(x, *others)
            tangents.append(accumulator.jvp(y))
        check_derivative(*tangents)


@pytest.mark.sampled(2)
@by_name
def test_inside_another_function(name):
    """A function that calls one that XLA cannot hold is one like that itself."""
    inner = compiled(name)

    @tf.function
    def f(x, *others):
        return inner(x * 1.0, *others) * 2.0

    for arguments, value, gradient in every(name):
        found = first_order(f, *arguments)
        check(found[0], np.multiply(2.0, value))
        check(found[1], np.multiply(2.0, gradient))
    assert f.experimental_get_tracing_count() == inner.experimental_get_tracing_count() == 1


@pytest.mark.sampled(3)
@by_name
def test_concrete_functions(name):
    ((first, _, _), *_) = every(name)
    f = compiled(name).get_concrete_function(*first)
    for arguments, value, gradient in every(name):
        found = first_order(f, *arguments)
        check(found[0], value)
        check(found[1], gradient)


@of_shapes
def test_jit_compile_insists(name):
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        compiled(name, jit_compile=True)(*PROGRAMS[name].tensors(0))


@of_loops
def test_gradients_of_loops_compile(name):
    f = compiled(name, jit_compile=True)
    for arguments, value, slope in every(name):
        check(f(*arguments), value)
        check(first_order(f, *arguments)[1], slope)


@of_shapes
def test_the_log_says_why_once(name, caplog):
    f = compiled(name)
    with caplog.at_level(logging.INFO, logger="gradtape"):
        for _ in range(2):
            for arguments, _, _ in every(name):
                first_order(f, *arguments)
    (message,) = [
        record.getMessage()
        for record in caplog.records
        if "open_programs.py" in record.getMessage()
    ]
    code = PROGRAMS[name].function.__code__
    (line,) = re.findall(r"open_programs\.py:(\d+)", message)
    assert code.co_firstlineno < int(line) <= max(end for _, _, end in code.co_lines() if end)
    assert "XLA" in message


def test_what_xla_can_hold_is_not_logged(caplog):
    f = tf.function(lambda x: tf.cond(x > 0.0, lambda: x * x, lambda: x))
    with caplog.at_level(logging.INFO, logger="gradtape"):
        first_order(f, tf.constant(2.0))
    assert not caplog.records


@of_loops
def test_a_loop_of_unknown_length_compiles_forward(name):
    """Its Python runs once, and not again in the calls that follow, of which none is recorded."""
    runs = []

    @tf.function
    def f(*arguments):
        runs.append(1)
        return PROGRAMS[name].function(*arguments)

    for arguments, value, _ in every(name):
        check(f(*arguments), value)
    assert len(runs) == 1


def test_new_shapes_are_new_traces():
    f = compiled("boolean_mask")
    for x in ([1.0, -2.0, 3.0], [1.0, 2.0, 3.0], [1.0, -2.0], [-1.0, -2.0], [3.0, 4.0, -5.0]):
        check(f(tf.constant(x)), [value**2 for value in x if value > 0.0])
    assert f.experimental_get_tracing_count() == 2
    f(tf.constant([[1.0, -1.0]]))
    f(tf.constant([1.0, -2.0, 3.0], tf.float64))
    assert f.experimental_get_tracing_count() == 4


def test_python_values_are_new_traces():
    f = tf.function(lambda x, power: tf.boolean_mask(x, x > 0.0) ** power)
    x = tf.constant(ONE)
    check(f(x, 2), [1.0, 9.0])
    check(f(x, 3), [1.0, 27.0])
    check(f(x, 2), [1.0, 9.0])
    assert f.experimental_get_tracing_count() == 2


def test_a_signature_is_one_trace():
    f = compiled("boolean_mask", input_signature=[tf.TensorSpec([None], tf.float32)])
    for x in ([1.0, -2.0, 3.0], [1.0, -2.0], [], [4.0]):
        check(f(tf.constant(x, tf.float32)), [value**2 for value in x if value > 0.0])
    assert f.experimental_get_tracing_count() == 1


def test_functions_that_it_calls_are_compiled():
    runs = []

    @tf.function
    def heavy(x):
        runs.append(1)
        return tf.sin(x) * x

    @tf.function
    def f(x):
        return tf.boolean_mask(heavy(x), x > 0.0)

    for values in (ONE, OTHER, ONE):
        x = np.array(values, np.float32)
        y, gradient = first_order(f, tf.constant(x))
        check(y, (np.sin(x) * x)[x > 0.0])
        check(gradient, np.where(x > 0.0, np.sin(x) + x * np.cos(x), 0.0))
    assert len(runs) == 1
    assert heavy.experimental_get_tracing_count() == 1


def test_functions_that_it_calls_with_new_sizes_are_traced_for_each():
    inner = tf.function(lambda kept: tf.reduce_sum(kept * kept))

    @tf.function
    def f(x):
        return inner(tf.boolean_mask(x, x > 0.0))

    for values in (ONE, OTHER, [1.0, 2.0, 3.0]):
        y, gradient = first_order(f, tf.constant(values))
        check(y, sum(value**2 for value in values if value > 0.0))
        check(gradient, [2.0 * value if value > 0.0 else 0.0 for value in values])
    assert f.experimental_get_tracing_count() == 1


def test_reads_variables_as_they_are():
    scale = tf.Variable(2.0)
    f = tf.function(lambda x: tf.reduce_sum(tf.boolean_mask(x * scale, x > 0.0)))
    x = tf.constant(ONE)
    for value in (2.0, 5.0):
        scale.assign(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        check(y, 4.0 * value)
        by_x, by_scale = tape.gradient(y, [x, scale])
        check(by_x, [value, 0.0, value])
        check(by_scale, 4.0)
        assert tape.watched_variables() == (scale,)


def test_captures_tensors_and_variables_in_a_loop_of_unknown_length():
    scale, captured = tf.Variable(2.0), tf.constant(3.0)

    @tf.function
    def f(x, n):
        y = x
        for _ in tf.range(n):
            y = y * scale + captured
        return y

    x = tf.constant(1.0)
    for n, expected, by_x, by_scale, by_captured in (
        (0, 1.0, 1.0, None, None),
        (1, 5.0, 2.0, 1.0, 1.0),
        (2, 13.0, 4.0, 7.0, 3.0),
    ):
        with tf.GradientTape() as tape:
            tape.watch([x, captured])
            y = f(x, tf.constant(n))
        check(y, expected)
        for found, right in zip(
            tape.gradient(y, [x, scale, captured]), (by_x, by_scale, by_captured), strict=True
        ):
            check_derivative(found, right)


def test_assigns_variables():
    total, calls = tf.Variable(0.0), tf.Variable(0, dtype=tf.int32)

    @tf.function
    def f(x):
        kept = tf.boolean_mask(x, x > 0.0)
        total.assign_add(tf.reduce_sum(kept))
        calls.assign_add(1)
        return total * 2.0

    check(f(tf.constant(ONE)), 8.0)
    check(f(tf.constant(OTHER)), 14.0)
    check(total, 7.0)
    check(calls, 2)
    assert f.experimental_get_tracing_count() == 1


def test_variables_change_together_or_not_at_all():
    first, second = tf.Variable(1.0), tf.Variable(10.0)

    @tf.function
    def f(x, n):
        first.assign_add(1.0)
        y = tf.reshape(x, [n, 2])  # six elements: n must be 3
        second.assign_add(1.0)
        return y * first

    f(tf.constant(SIX), tf.constant(3))
    assert (float(first), float(second)) == (2.0, 11.0)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        f(tf.constant(SIX), tf.constant(4))
    assert (float(first), float(second)) == (2.0, 11.0)
    check(f(tf.constant(SIX), tf.constant(3)), np.reshape(SIX, [3, 2]) * 3.0)
    assert (float(first), float(second)) == (3.0, 12.0)


def test_a_gradient_step_inside():
    """The tape, the mask and the update are one function."""
    weight = tf.Variable(2.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.boolean_mask(x * weight, x > 0.0) ** 2)
        weight.assign_sub(0.01 * tape.gradient(loss, weight))
        return loss

    check(step(tf.constant(ONE)), 40.0)
    check(weight, 1.6)
    check(step(tf.constant(OTHER)), 9.0 * 1.6**2)
    check(weight, 1.6 - 0.01 * 18.0 * 1.6)


def test_a_mask_in_a_rule():
    @tf.custom_gradient
    def op(q):
        def rule(g):
            return tf.zeros_like(q) + tf.reduce_sum(tf.boolean_mask(g * q, q > 0.0))

        return tf.reduce_sum(q * q), rule

    f = tf.function(lambda x: op(x))
    check(first_order(f, tf.constant(ONE))[1], [4.0, 4.0, 4.0])
    check(first_order(f, tf.constant(OTHER))[1], [3.0, 3.0, 3.0])


def test_what_raises_in_eager_code_raises_as_there():
    f = tf.function(lambda x: tf.boolean_mask(x, tf.concat([x, x], 0) > 0.0))
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        f(tf.constant(ONE))


def test_random_numbers_follow_the_seed():
    """A call that runs on gradtape's own ops draws new numbers every time."""
    tf.random.set_seed(3)
    f = tf.function(lambda x: (tf.random.uniform([3]), tf.boolean_mask(x, x > 0.0)))
    first, second = f(tf.constant(ONE))[0], f(tf.constant(ONE))[0]
    assert np.any(first.numpy() != second.numpy())


def test_batches_of_it():
    f = compiled("for_of_unknown_length")
    xs = tf.constant([1.0, 2.0, 3.0])
    y, gradient = first_order(lambda xs: tf.map_fn(lambda x: f(x, tf.constant(2)), xs), xs)
    check(y, [1.0, 8.0, 27.0])
    check(gradient, [3.0, 12.0, 27.0])


def test_jacobians_of_it():
    f = compiled("boolean_mask")
    x = tf.constant(ONE)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    check(tape.jacobian(y, x), [[2.0, 0.0, 0.0], [0.0, 0.0, 6.0]])


def test_methods():
    class Model:
        def __init__(self):
            self.scale = tf.Variable(2.0)

        @tf.function
        def __call__(self, x):
            return tf.boolean_mask(x * self.scale, x > 0.0)

    one, other = Model(), Model()
    other.scale.assign(3.0)
    check(one(tf.constant(ONE)), [2.0, 6.0])
    check(other(tf.constant(ONE)), [3.0, 9.0])


# What XLA cannot hold is not hidden by a handler of the user's code


def with_except(f):
    def caught(*arguments):
        try:
            return f(*arguments)
        except Exception:  # noqa: BLE001
            return tf.constant(-1.0)

    return caught


def with_suppress(f):
    def caught(*arguments):
        result = tf.constant(-1.0)
        with contextlib.suppress(TypeError, ValueError):
            result = f(*arguments)
        return result

    return caught


def with_except_around_a_function(f):
    inner = tf.function(f)
    return with_except(lambda *arguments: inner(*arguments))


def with_except_in_a_called_function(f):
    inner = tf.function(with_except(f))
    return lambda *arguments: inner(*arguments)


def with_two(f):
    return with_except(with_except(f))


HANDLERS = [
    with_except,
    with_suppress,
    with_except_around_a_function,
    with_except_in_a_called_function,
    with_two,
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("handler", HANDLERS)
@of_shapes
def test_a_handler_does_not_change_the_result(name, handler):
    f = tf.function(handler(PROGRAMS[name].function))
    for arguments, value, gradient in every(name):
        check(f(*arguments), value)
        check_derivative(first_order(f, *arguments)[1], gradient)


def test_a_handler_in_a_branch_does_not_change_the_result():
    mask = with_except(lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0.0)))

    @tf.function
    def f(x):
        y = tf.constant(0.0)
        if tf.reduce_sum(x) > 0.0:
            y = mask(x)
        for _ in tf.range(2):
            y += mask(x)
        return y

    assert float(f(tf.constant(ONE))) == 12.0
    assert float(f(tf.constant([-5.0, 1.0]))) == 2.0


def test_what_has_another_way_inside_is_still_compiled(caplog):
    """A Jacobian by batches fails here, and one row after the other works."""

    @tf.custom_gradient
    def squared(x):
        def gradient(g):
            return tf.py_function(lambda g, x: 2.0 * g * x, [g, x], tf.TensorSpec([3]))

        return x * x, gradient

    @tf.function(jit_compile=True)
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = squared(x)
        return tape.jacobian(y, x)

    x = tf.constant([1.0, 2.0, 3.0])
    np.testing.assert_allclose(f(x), np.diag([2.0, 4.0, 6.0]))
    assert "op by op" not in caplog.text


def test_a_concrete_function_that_runs_op_by_op_knows_its_variables():
    read, written = tf.Variable(2.0), tf.Variable(0.0, trainable=False)

    @tf.function
    def f(x):
        written.assign_add(1.0)
        return read * tf.boolean_mask(x, x > 0.0)

    concrete = f.get_concrete_function(tf.TensorSpec([2]))
    for _ in range(2):
        assert concrete(tf.constant([3.0, -1.0])).numpy().tolist() == [6.0]
        assert {v.ref() for v in concrete.variables} == {read.ref(), written.ref()}
        assert [v.ref() for v in concrete.trainable_variables] == [read.ref()]
        assert [v.ref() for v in f.written_variables()] == [written.ref()]
    assert float(written) == 2.0


def test_variables_that_are_arguments_are_not_captured():
    v = tf.Variable(2.0)
    f = tf.function(lambda v, x: v * tf.boolean_mask(x, x > 0.0))
    f(v, tf.constant([3.0, -1.0]))
    concrete = f.get_concrete_function(v, tf.TensorSpec([2]))
    assert concrete.variables == ()


def test_a_bound_holds_whatever_handlers_there_are():
    calls, total = [], tf.Variable(0.0)

    @tf.function
    def f(x):
        total.assign_add(1.0)
        calls.append(1)
        y = tf.boolean_mask(x, x > 0.0)
        try:
            while tf.reduce_sum(y) < 1000.0:
                tf.autograph.experimental.set_loop_options(maximum_iterations=2)
                y = y * 2.0
        except Exception:  # noqa: BLE001
            y = y * 0.0
        return y

    for i in (1, 2, 3):
        np.testing.assert_array_equal(f(tf.constant(ONE)), [4.0, 12.0])
        assert float(total) == i
    before = len(calls)
    f(tf.constant(ONE))
    assert len(calls) == before + 1


def test_without_autograph_a_bound_does_nothing():
    @tf.function(autograph=False)
    def f(x):
        y = tf.boolean_mask(x, x > 0.0)
        for _ in range(3):
            tf.autograph.experimental.set_loop_options(maximum_iterations=2)
            y = y * 2.0
        return y

    np.testing.assert_array_equal(f(tf.constant(ONE)), [8.0, 24.0])


def with_an_axis():
    """The public functions of one tensor and an `axis`, or of a list of tensors and one."""
    found = {}
    for prefix, space in (("", tf), ("math.", tf.math), ("nn.", tf.nn), ("linalg.", tf.linalg)):
        for name in space.__all__:
            function = getattr(space, name)
            with contextlib.suppress(TypeError, ValueError):
                parameters = list(inspect.signature(function).parameters.values())
                needed = [p for p in parameters if p.default is p.empty and p.name != "axis"]
                if "axis" in [p.name for p in parameters] and len(needed) == 1:
                    found[prefix + name] = function
    return found


WITH_AN_AXIS = with_an_axis()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("branch", [False, True])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", WITH_AN_AXIS)
def test_an_axis_that_is_a_tensor(name, listed, branch):
    """Whatever error a function of the library makes of what XLA cannot compile."""
    x, axis = tf.constant([[2.0, 0.5, 1.0], [0.25, 3.0, 1.5]]), tf.constant(1)

    def call(given, axis):
        return WITH_AN_AXIS[name](given, axis=[axis] if listed else axis)

    for given in (x, x > 1.0, [x, x]):
        with contextlib.suppress(TypeError, ValueError, tf.errors.InvalidArgumentError):
            expected = call(given, axis)
            break
    else:  # it takes no such axis
        return
    alone = lambda axis: call(given, axis)
    in_a_branch = lambda axis: tf.cond(axis > 0, lambda: alone(axis), lambda: alone(axis))
    found = tf.function(in_a_branch if branch else alone)(axis)
    for ours, theirs in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        check(ours, theirs)


@pytest.mark.parametrize("branch", [False, True])
def test_an_error_that_was_made_of_another_one_is_no_reason_to_fail(branch):
    class MineError(Exception):
        pass

    def positive(x):
        try:
            return tf.boolean_mask(x, x > 0.0)
        except Exception as error:
            raise MineError from error

    def f(x):
        total = lambda: tf.reduce_sum(positive(x) ** 2)
        return tf.cond(x[0] > 0.0, total, lambda: x[0]) if branch else total()

    x = tf.constant([1.0, -2.0, 3.0])
    value, gradient = first_order(tf.function(f), x)
    check(value, 10.0)
    check(gradient, [2.0, 0.0, 6.0])


def test_the_users_own_errors_stay_what_they_are():
    @tf.function
    def f(x):
        if tf.boolean_mask(x, x > 0.0).shape[0] == 2:
            raise KeyError("mine")
        return x

    check(f(tf.constant([1.0, -2.0])), [1.0, -2.0])
    with pytest.raises(KeyError, match="mine"):
        f(tf.constant([1.0, 2.0]))
