"""Python's control flow in a function gives what it gives in eager code: values, and gradients with tapes outside and inside."""

from __future__ import annotations

import functools
import linecache
import logging
import threading
import traceback

import numpy as np
import pytest

import gradtape as tf
import gradtape.autograph

CASES = []


def case(*inputs, differentiable=True):
    """Adds a function to the table, with the lists of arguments to call it with."""

    def add(f):
        CASES.extend(pytest.param(f, given, differentiable, id=f"{f.__name__}-{i}") for i, given in enumerate(inputs))
        return f

    return add


def numbers(*values):
    return [(float(value),) for value in values]


X = [0.5, -1.2, 0.8, 2.0]
BOTH_SIGNS = numbers(1.5, -0.5)


@case(*BOTH_SIGNS)
def if_else(x):
    if x > 0:
        y = x * x
    else:
        y = tf.sin(x)
    return y


@case(*BOTH_SIGNS)
def if_alone(x):
    y = x * 2
    if x > 0:
        y = y * x
        y += 1
    return y


@case(*numbers(-2.0, -0.5, 0.5, 2.0))
def elif_chain(x):
    if x < -1:
        y = x * 2
    elif x < 0:
        y = x * 3
    elif x < 1:
        y = x**2
    else:
        y = x**3
    return y


@case(*numbers(-2.0, -0.5, 0.5, 2.0))
def nested_ifs(x):
    y = x
    if x > 0:
        y = y * 2
        if x > 1:
            y = y * x
        z = y
    else:
        if x > -1:
            y = tf.exp(y)
        z = -y
    return y + z


@case(*BOTH_SIGNS)
def if_on_python_values(x):
    if x.shape == ():
        y = x * 2
    else:
        y = x.there_is_no_such_thing
    return y if x.dtype == tf.float64 else None


@case(*BOTH_SIGNS)
def numbers_in_branches(x):
    if x > 0:
        scale, shift = 2, 0.5
    else:
        scale, shift = 3, x
    return x * tf.cast(scale, x.dtype) + shift


@case(*BOTH_SIGNS)
def structures_in_branches(x):
    state = {"a": x, "b": (x * 2, [x * 3])}
    if x > 0:
        state = {"a": x * 5, "b": (x, [x * x])}
    return state["a"] + state["b"][0] * state["b"][1][0]


@case(*numbers(3.0, 0.5, -1.0))
def early_return(x):
    if x > 2:
        return x * 10
    if x > 0:
        return x * x
    return -x


@case(*numbers(3.0, 0.5, -1.0))
def return_from_nested(x):
    y = x * 2
    if x > 0:
        if x > 1:
            return y * y, x
        y = y + 1
    return y, x * 3


@case(*BOTH_SIGNS)
def ternary(x):
    return (x * x if x > 0 else tf.cos(x)) + (1.0 if x < 0 else x)


@case(*numbers(-2.0, 0.5, 3.0))
def logic(x):
    y = x
    if x > 0 and x < 1 or not x > -1:
        y = y * 7
    if not (x > 0 and not x > 2):
        y = y + x * x
    return y


@case(*numbers(-2.0, 0.5, 3.0))
def comparison_chain(x):
    return x * 2 if -1 < x <= 1 < 2 else x * 3


@case(*numbers(0.0, 2.0))
def truth_of_numbers(x):
    y = x + 1
    if x:
        y = y * 2
    return y * (2.0 if not x else x)


@case(*numbers(1.0, 30.0))
def while_bounded(x):
    while x < 20:
        tf.autograph.experimental.set_loop_options(maximum_iterations=8)
        x = x * 1.5 + tf.sin(x)
    return x


@case(*numbers(1.0, 30.0), differentiable=False)
def while_unbounded(x):
    steps = 0
    while x < 20:
        x = x * 2
        steps += 1
    return x, steps


@case(*numbers(0.5, 0.7))
def while_counted(x):
    i = tf.constant(0)
    y = x
    while i < 4:
        y = tf.tanh(x * y) + y
        i += 1
    return y


@case(*numbers(0.5))
def while_on_python_values(x):
    i = 0
    while i < 3:
        x = x * x + i
        i += 1
    return x


@case(*numbers(0.5, 2.0))
def while_that_becomes_the_programs(x):
    go_on = True
    while go_on:
        tf.autograph.experimental.set_loop_options(maximum_iterations=5)
        x = x * 1.5
        go_on = x < 4
    return x


@case(*numbers(1.0, 5.0))
def while_with_break(x):
    while x < 100:
        tf.autograph.experimental.set_loop_options(maximum_iterations=10)
        x = x * 2
        if x > 30:
            break
        x = x + 1
    return x


@case(*numbers(1.0, 5.0))
def while_with_continue_and_return(x):
    total = x * 0
    while total < 50:
        tf.autograph.experimental.set_loop_options(maximum_iterations=30)
        x = x + 1
        if x < 3:
            continue
        total = total + x
        if total > 20:
            return total * 2
    return total


@case(([*X],))
def for_rows(x):
    total = tf.zeros((), x.dtype)
    for value in x:
        total = total * value + tf.sin(value)
    return total


@case(([X, X],))
def for_rows_of_a_matrix(x):
    total = tf.zeros_like(x[0])
    for row in x:
        total = tf.tanh(total + row * row)
    return total


@case((X,))
def for_python_number_as_total(x):
    total = 0.0
    for value in x:
        total += value * value
    return total


@case((X,))
def for_whole_number_as_total(x):
    total = 0
    for value in x:
        total = total + value
    return total


@case((X,))
def for_total_that_gets_a_shape(x):
    total = 0.0
    for value in x:
        total = total + value * x
    return total


@case((X,))
def for_state_none_at_first(x):
    state = None
    for value in x:
        state = value if state is None else tf.tanh(state * value) + state
    return state


@case((X,))
def for_range_known(x):
    total = x[0] * 0
    for i in tf.range(4):
        total = total + x[i] ** 2 * tf.cast(i, x.dtype)
    return total


@case((X,))
def for_range_with_step(x):
    total = x[0] * 0
    for i in tf.range(3, -1, -2):
        total = total * 2 + x[i]
    return total


@case((X,))
def for_python_range(x):
    for i in range(3):
        x = x * x[i]
    return x


@case((X,))
def for_python_range_of_a_tensor(x):
    total = x[0] * 0
    for i in range(tf.size(x) - 1):
        total = total + x[i] * x[i + 1]
    return total


@case((X, 3), (X, 0), differentiable=False)
def for_range_unknown(x, n):
    total = x[0]
    for i in tf.range(n):
        total = total + x[i]
    return total


@case((X, 3), (X, 0))
def for_range_bounded(x, n):
    total = x[0]
    for i in range(n):
        tf.autograph.experimental.set_loop_options(maximum_iterations=4)
        total = total * x[i]
    return total


@case((X, 1), (X, 4), differentiable=False)
def for_range_with_start_and_step_unknown(x, n):
    total = x[0]
    for i in tf.range(n, -1, -n):
        total = total + tf.cast(i, x.dtype)
    return total


@case((X,), ([0.1, 0.2, 0.3, 0.1],), ([9.0, 1.0, 1.0, 1.0],))
def for_with_break(x):
    total = x[0] * 0
    for value in x:
        if total > 1:
            break
        total = total + value * value
    return total


@case((X,), ([-0.1, -0.2, -0.3, -0.1],))
def for_with_return(x):
    for value in x:
        if value > 0.6:
            return value * value
    return tf.reduce_sum(x)


@case((X,))
def for_with_continue(x):
    total = x[0] * 0
    for value in x:
        if value < 0:
            continue
        total = total + tf.sqrt(value)
    return total


@case((X,), ([0.1, 0.2, 0.3, 0.1],))
def python_for_with_break(x):
    total = x[0] * 0
    for i in range(4):
        total = total + x[i] ** 2
        if total > 1:
            break
        total = total * 1.5
    return total


@case((X,), ([-0.1, -0.2, -0.3, -0.1],))
def python_for_with_return(x):
    for i in range(4):
        if x[i] > 0.6:
            return x[i] * i
    return x[0]


@case((X,))
def for_enumerate(x):
    total = x[0] * 0
    for i, value in enumerate(x, start=1):
        total = total + value * tf.cast(i, x.dtype)
    return total


@case((X, [X, X]))
def for_zip(x, y):
    total = x[0] * 0
    for a, (b, c) in zip(x, zip(y, x[::-1], strict=False), strict=False):
        total = total * a + tf.reduce_sum(b) * c
    return total


@case((X,))
def variable_of_a_loop_afterwards(x):
    for value in x:
        last = value * 2
    return last + value


@case((X,))
def nested_loops(x):
    total = x[0] * 0
    for a in x:
        for b in x:
            if a < b:
                total = total + a * b
            else:
                total = total - a
    return total


@case((X,))
def loop_in_a_branch(x):
    y = x[0]
    if x[1] < 0:
        for value in x:
            y = y * value + 1
    else:
        y = y * 2
    return y


@case((X,))
def structures_in_loops(x):
    state = {"sum": x[0] * 0, "powers": [x[0], x[0]]}
    for value in x:
        first, second = state["powers"]
        state = {"sum": state["sum"] + value, "powers": [first * value, second + first]}
    return state["sum"] * state["powers"][0] + state["powers"][1]


@case((X,))
def unpacked_targets(x):
    a, b = x[0], x[1]
    for _ in tf.range(3):
        a, b = a + b, a * b
    return a, b


def helper(x):
    if x > 0:
        return x * x
    return x * 3


def factorial(n):
    if n <= 1:
        return 1.0
    return n * factorial(n - 1)


@case(*BOTH_SIGNS)
def calls_other_functions(x):
    return helper(x) + helper(-x) * factorial(4)


@case(*BOTH_SIGNS)
def calls_lambdas(x):
    f = lambda v: v * 2 if v > 0 else v * v
    g = lambda v, times=3: f(v) * times
    return f(x) + g(-x)


@case(*BOTH_SIGNS)
def calls_inner_functions(x):
    scale = 2.0

    def inner(v):
        nonlocal scale
        if v > 0:
            v = v * scale
        scale = scale + 1
        return v * scale

    return inner(x) + inner(-x) + scale


def doubled(f):
    @functools.wraps(f)
    def call(*args):
        found = f(*args)
        if found > 0:
            found = found * 2
        return found

    return call


@doubled
def decorated(x):
    return x * 5 if x < 0 else x * 7


@case(*BOTH_SIGNS)
def calls_decorated_functions(x):
    return decorated(x) + functools.partial(decorated)(-x)


class Model:
    """Methods, attributes and inheritance."""

    def __init__(self, scale):
        self.scale = scale
        self.__private = 2.0

    def plain(self, x):
        return x * self.scale if x > 0 else x * self.__private

    def __call__(self, x):
        if x > 0:
            x = self.plain(x)
        return x + 1

    @staticmethod
    def static(x):
        return x if x > 0 else -x

    @classmethod
    def of_class(cls, x):
        return cls.static(x) if x < 1 else x * 2


class Derived(Model):
    def plain(self, x):
        if x > 1:
            x = super().plain(x)
        return x * 3


@case(*BOTH_SIGNS)
def calls_methods(x):
    model = Derived(4.0)
    return model(x) + model.plain(x) + Model.static(x) + model.of_class(-x)


@case(*BOTH_SIGNS)
def sets_attributes(x):
    model = Model(1.0)
    if x > 0:
        model.scale = x * 2
    else:
        model.scale = x * 3
    return model.scale * x


@case((X,))
def attributes_in_loops(x):
    model = Model(x[0])
    for value in x:
        model.scale = model.scale * value + 1
    return model.scale


@case(*BOTH_SIGNS)
def entries_of_dicts(x):
    found = {"y": x}
    if x > 0:
        found["y"] = x * x
    return found["y"]


@case((X,))
def functions_given_to_ours(x):
    return tf.map_fn(helper, x), tf.foldl(lambda a, b: a * b if b > 0 else a, x)


@case((X,))
def functions_given_to_builtins(x):
    first, *rest = map(helper, [x[0], x[1]])
    return functools.reduce(lambda a, b: a + b if a > 0 else b, [x[2], first, *rest])


@case((X,), ([-1.0, -2.0, -3.0, -4.0],))
def builtins(x):
    y = min(x[0], x[1]) + max(x[2], 0.5, x[3]) + abs(x[0])
    if any(value > 1 for value in x) and not all(value > 1 for value in x):
        y = y * 2
    return y * len(x) + float(int(x[3] * 3)) * bool(x[1])


@case((X,))
def comprehensions(x):
    return [value * 2 if value > 0 else -value for value in x if value.shape == ()]


@case(*BOTH_SIGNS)
def exceptions(x):
    y = x
    try:
        if x > 0:
            y = y * 2
        raise KeyError("gone")
    except (KeyError, ValueError) as error:
        y = y * len(error.args)
    else:
        y = y * 5
    finally:
        y = y + 1
    return y


@case(*BOTH_SIGNS)
def with_blocks(x):
    with tf.name_scope("block"):
        if x > 0:
            return x * 2
        y = x * 3
    return y


@case((X,))
def tape_in_a_loop(x):
    total = x * 0
    for value in x:
        with tf.GradientTape() as tape:
            tape.watch(value)
            if value > 0:
                y = value**3
            else:
                y = tf.sin(value)
        total = total + tape.gradient(y, value) * x
    return total


@case((X,))
def tape_around_a_loop(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = x[0] * 0
        for value in x:
            if value > 0:
                total = total * value + value**2
    return tape.gradient(total, x)


@case((X,))
def tape_around_a_loop_with_break(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = x[0] * 0
        for value in x:
            total = total * value + value**2
            if total > 1:
                break
    return tape.gradient(total, x) * total


@case((X,))
def calls_a_function(x):
    inner = tf.function(helper)
    total = x[0] * 0
    for value in x:
        total = total + inner(value)
    return total


@case(*BOTH_SIGNS)
def a_mark_in_the_middle(x):
    (y := x * 2)
    if (z := y + 1) > 0:
        y = y * z
    del z
    assert y.shape == (), f"{y} is no scalar"
    return y


def tensors(given):
    return [tf.constant(value, tf.int32 if isinstance(value, int) else tf.float64) for value in given]


def floats(args):
    return [arg for arg in args if arg.dtype.is_floating]


def total(result):
    return tf.add_n([tf.reduce_sum(tf.cast(leaf, tf.float64)) for leaf in tf.nest.flatten(result)])


def outside(f, args):
    with tf.GradientTape() as tape:
        tape.watch(floats(args))
        y = total(f(*args))
    return tape.gradient(y, floats(args), unconnected_gradients="zero")


def assert_same(actual, expected):
    tf.nest.assert_same_structure(actual, expected)
    for a, b in zip(tf.nest.flatten(actual), tf.nest.flatten(expected), strict=True):
        b = tf.convert_to_tensor(b)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("f", "given", "differentiable"), CASES)
def test_agrees_with_eager_code(f, given, differentiable):
    args = tensors(given)
    assert_same(tf.function(f)(*args), f(*args))
    if not differentiable:
        return
    expected = outside(f, args)
    assert_same(outside(tf.function(f), args), expected)
    assert_same(tf.function(lambda *xs: outside(f, xs))(*args), expected)


SECOND_ORDER = [if_else, while_bounded, for_rows, for_with_break, structures_in_loops, nested_loops, for_with_return]


@pytest.mark.parametrize("f", SECOND_ORDER, ids=lambda f: f.__name__)
def test_second_order_and_forward_mode(f):
    (x,) = tensors(next(param.values[1] for param in CASES if param.values[0] is f))
    compiled = tf.function(f)
    assert_same(outside(lambda v: outside(compiled, [v]), [x]), outside(lambda v: outside(f, [v]), [x]))
    for run in (f, compiled):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = total(run(x))
        tangent = accumulator.jvp(y)
        np.testing.assert_allclose(tangent.numpy(), np.sum(outside(f, [x])[0].numpy()), rtol=1e-10)


def one_example(value, others):
    y = value
    if value > 0:
        y = y * value
    for other in others:
        y = y + other * value
        if y > 3:
            break
    while y < 1:
        tf.autograph.experimental.set_loop_options(maximum_iterations=10)
        y = y + 0.5 * value * value
    for _ in tf.range(2):
        y = y * 1.5
    return y


def test_vmap_in_a_function():
    (x,) = tensors([X])

    def one_by_one(x):
        return tf.stack([one_example(value, x) for value in x])

    def together(x):
        return tf.vectorized_map(lambda value: one_example(value, x), x)

    assert_same(tf.function(together)(x), one_by_one(x))
    assert_same(outside(tf.function(together), [x]), outside(one_by_one, [x]))
    per_example = tf.function(lambda x: tf.vectorized_map(lambda value: outside(lambda v: one_example(v, x), [value])[0], x))
    assert_same(per_example(x), tf.stack([outside(lambda v: one_example(v, x), [value])[0] for value in x]))
