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


def test_variables_in_branches_and_loops():
    v, count = tf.Variable(1.0, dtype=tf.float64), tf.Variable(0)

    def step(x):
        if x > 0:
            v.assign(v * x)
        else:
            v.assign_sub(1.0)
            count.assign_add(1)
        for value in [x, x * 2]:
            if v > value:
                v.assign_add(value)
        for i in tf.range(3):
            count.assign_add(i)
            v.assign(v * 0.5 + x)
        while count < 10:
            count.assign_add(2)
        return v + 1

    compiled = tf.function(step)
    found = {}
    for run in (step, compiled):
        v.assign(1.5)
        count.assign(0)
        found[run] = [(run(tf.constant(x, tf.float64)).numpy(), v.numpy(), count.numpy()) for x in (2.0, -1.0, 3.0)]
    np.testing.assert_allclose(found[compiled], found[step])


def test_gradients_by_variables_in_branches_and_loops():
    v = tf.Variable([1.0, 2.0], dtype=tf.float64)

    def loss(x):
        y = x
        for _ in tf.range(3):
            if tf.reduce_sum(y) < 5:
                y = y * v + x
        return y

    for x in (tf.constant([1.0, 1.0], tf.float64), tf.constant([9.0, 1.0], tf.float64)):
        gradients = []
        for run in (loss, tf.function(loss)):
            with tf.GradientTape() as tape:
                y = run(x)
            gradients.append(tape.gradient(y, v, unconnected_gradients="zero"))
        assert_same(gradients[1], gradients[0])


def test_a_variable_is_a_condition():
    flag, limit = tf.Variable(True), tf.Variable(3)

    @tf.function
    def f(x):
        i = 0
        while i < limit:
            x = x * 2
            i += 1
        return x if flag else -x

    assert f(tf.constant(1.0)).numpy() == 8
    flag.assign(False)
    limit.assign(1)
    assert f(tf.constant(1.0)).numpy() == -2


def test_a_block_sees_its_variables_as_they_were():
    """Backward steps run bodies again, when the variables of the function hold other things."""

    def f(x):
        gradients = []
        for scale in (2.0, 3.0):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = x * scale if x > 0 else x
                z = x
                for _ in tf.range(2):
                    z = z * x * scale
                if z > 0:
                    z = z * scale
            gradients.append((tape, y, z))
        scale, z = "gone", None
        return [tape.gradient([y, z], x) for tape, y, z in gradients]

    x = tf.constant(1.5, tf.float64)
    assert_same(tf.function(f)(x), f(x))


def test_a_method_is_a_function():
    class Layer:
        def __init__(self, scale):
            self.scale = tf.Variable(scale)

        @tf.function
        def __call__(self, x):
            return self.half(x) if x > 0 else x * self.scale

        def half(self, x):
            if x > 4:
                return x
            return x / 2

    layer, other = Layer(2.0), Layer(5.0)
    found = [call(tf.constant(x)).numpy() for call in (layer, other) for x in (2.0, 6.0, -1.0)]
    assert found == [1, 6, -2, 1, 6, -5]


def test_closures_globals_and_defaults_are_the_functions_own():
    @tf.function
    def f(x, k=2.0, *, shift=1.0):
        if x > 0:
            x = x * k + shift + outer + GLOBAL
        return x

    outer = 10.0
    assert f(tf.constant(1.0)).numpy() == 113
    assert f(tf.constant(1.0), k=3.0, shift=0.0).numpy() == 113
    outer = 20.0
    assert f(tf.constant([1.0])).numpy() == 123


GLOBAL = 100.0


def test_several_lambdas_in_a_line():
    f, g, h = tf.function(lambda x: x if x > 0 else -x), tf.function(lambda x: 2 * x if x > 0 else x), lambda x: (lambda x: x if x < 0 else 3 * x)(x)  # fmt: skip
    found = [k(tf.constant(x)).numpy() for k in (f, g, tf.function(h)) for x in (2.0, -2.0)]
    assert found == [2, 2, 4, -2, 6, -2]


def defined_by_exec(source, name="f"):
    namespace = {"tf": tf}
    exec(source, namespace)
    return namespace[name]


def test_what_has_no_source_runs_as_it_is(caplog):
    f = defined_by_exec("def f(x):\n    return x * 2\ndef g(x):\n    y = x\n    if x > 0:\n        y = f(x)\n    return y\n", "g")
    compiled = tf.function(f)
    with caplog.at_level(logging.WARNING, "gradtape"):
        for x in (tf.constant(1.0), tf.constant([1.0])):
            with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=r"<string>:5, in g: .*'g'.*source"):
                compiled(x)
    (record,) = caplog.records
    assert "could not convert g" in record.getMessage()


def test_what_cannot_be_converted_runs_as_it_is(caplog):
    def f(x):
        for _ in [1]:
            x = x * 2
        else:
            x = x + 1
        return x

    def g(x):
        return f(x) if x > 0 else x

    with caplog.at_level(logging.WARNING, "gradtape"):
        assert tf.function(g)(tf.constant(2.0)).numpy() == 5
    assert "loop with else" in caplog.text


def test_generators_run_as_they_are(caplog):
    def pairs(x):
        yield x, 1.0
        yield -x, 2.0

    @tf.function
    def f(x):
        total = 0.0
        for value, weight in pairs(x):
            if value > 0:
                total += value * weight
        return total

    with caplog.at_level(logging.WARNING, "gradtape"):
        assert (f(tf.constant(3.0)).numpy(), f(tf.constant(-3.0)).numpy()) == (3, 6)
    assert not caplog.records


def test_autograph_false_and_do_not_convert():
    def f(x):
        if x > 0:
            return x
        return -x

    line = f.__code__.co_firstlineno + 1
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=rf"test_autograph.py:{line}, in .*autograph=False"):
        tf.function(f, autograph=False)(tf.constant(1.0))
    marked = tf.autograph.experimental.do_not_convert(f)
    assert marked(tf.constant(-1.0)).numpy() == 1
    for compiled in (tf.function(marked), tf.function(lambda x: marked(x))):
        with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=rf"test_autograph.py:{line}, in .*do_not_convert"):
            compiled(tf.constant(1.0))


def test_to_graph_and_to_code():
    converted = tf.autograph.to_graph(helper)
    assert converted(tf.constant(3.0)).numpy() == 9
    assert tf.function(converted, autograph=False)(tf.constant(-3.0)).numpy() == -9
    assert "ag__.if_stmt" in tf.autograph.to_code(helper)
    assert tf.autograph.to_graph(Model(2.0).plain)(tf.constant(3.0)).numpy() == 6
    alone = tf.autograph.to_graph(calls_other_functions, recursive=False)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(alone, autograph=False)(tf.constant(1.0))
    with pytest.raises(ValueError, match="to_graph: f cannot be converted"):
        tf.autograph.to_graph(defined_by_exec("def f(x): return x"))
    with pytest.raises(TypeError, match="to_code: entity"):
        tf.autograph.to_code(3)


def test_functions_run_eagerly():
    f = tf.function(for_with_break)
    (x,) = tensors([X])
    tf.config.run_functions_eagerly(True)
    try:
        assert_same(f(x), for_with_break(x))
    finally:
        tf.config.run_functions_eagerly(False)
    assert_same(f(x), for_with_break(x))


# Errors name the variable and the line.


def line_of(f, text):
    """Where a text stands in a function."""
    code = f.__code__
    lines = linecache.getlines(code.co_filename)
    return next(i for i in range(code.co_firstlineno, len(lines) + 1) if text in lines[i - 1])


def undefined_in_one_branch(x):
    if x[0] > 0:
        y = x
    return y


def undefined_in_first_branch(x):
    if x[0] > 0:
        pass
    else:
        y = x
    return y


def none_in_one_branch(x):
    y = None
    if x[0] > 0:
        y = x
    return y


def returned_in_one_branch(x):
    if x[0] > 0:
        return x


def shapes_of_branches(x):
    if x[0] > 0:
        y = x
    else:
        y = x[0]
    return y


def dtypes_of_branches(x):
    y = tf.constant(1)
    if x[0] > 0:
        y = x[0]
    return y


def structures_of_branches(x):
    y = [x, x]
    if x[0] > 0:
        y = [x]
    return y


def objects_of_branches(x):
    y = "first"
    if x[0] > 0:
        y = "second"
    return x if y == "first" else -x


def values_of_an_expression(x):
    return x if x[0] > 0 else x[0]


def condition_of_many(x):
    if x > 0:
        x = x * 2
    return x


def shape_in_a_loop(x):
    y = x
    while y[0] < 10:
        y = tf.concat([y, y], 0)
    return y


def shape_in_a_for(x):
    y = x
    for i in tf.range(3):
        y = tf.concat([y, y], 0)
    return y


def dtype_in_a_loop(x):
    y = tf.constant(1)
    for value in x:
        y = tf.cast(y, x.dtype) + value
    return y


def object_in_a_loop(x):
    name = "a"
    for value in x:
        name = name + "a"
    return x if name == "a" else value


def structure_in_a_loop(x):
    y = (x, x)
    for value in x:
        y = (*y, value)
    return y


def none_in_a_loop(x):
    y = None
    while x[0] < 3:
        x = x * 2
        y = x
    return y


def used_before_it_is_there(x):
    for value in x:
        y = y + value
    return y


def assigned_by_a_callee(x):
    total = x[0]

    def add(value):
        nonlocal total
        total = total + value

    if x[0] > 0:
        add(x[1])
    return total


def bound_that_is_a_tensor(x):
    for value in x:
        tf.autograph.experimental.set_loop_options(maximum_iterations=tf.cast(x[0], tf.int32))
        x = x * value
    return x


ERRORS = [
    (undefined_in_one_branch, ValueError, "if x", "'y' is undefined after the other branch"),
    (undefined_in_first_branch, ValueError, "if x", "'y' is undefined after the first branch"),
    (none_in_one_branch, ValueError, "if x", "'y' is None"),
    (returned_in_one_branch, ValueError, None, "returned only where"),
    (shapes_of_branches, ValueError, "if x", "'y' has the shape"),
    (dtypes_of_branches, TypeError, "if x", "'y' has the dtype"),
    (structures_of_branches, ValueError, "if x", "'y' has another structure"),
    (objects_of_branches, TypeError, "if x", "'y' is 'second'"),
    (values_of_an_expression, ValueError, "return x", "the value of the conditional expression"),
    (condition_of_many, ValueError, "if x", "shape .2,. is ambiguous"),
    (shape_in_a_loop, ValueError, "while y", "'y' has the shape"),
    (shape_in_a_for, ValueError, "for i", "'y' has the shape"),
    (dtype_in_a_loop, TypeError, "for value", "'y' has the dtype int32"),
    (object_in_a_loop, TypeError, "for value", "'name' changes from 'a' to 'aa'"),
    (structure_in_a_loop, ValueError, "for value", "'y' has another structure"),
    (none_in_a_loop, ValueError, "while x", "'y' is None before"),
    (used_before_it_is_there, UnboundLocalError, None, "'y'"),
    (assigned_by_a_callee, ValueError, "if x", "'total' is assigned by a function"),
    (bound_that_is_a_tensor, ValueError, "for value", "maximum_iterations"),
]


@pytest.mark.parametrize(("f", "error", "line", "words"), ERRORS, ids=[entry[0].__name__ for entry in ERRORS])
def test_errors(f, error, line, words):
    place = "" if line is None else rf"test_autograph.py:{line_of(f, line)}: "
    with pytest.raises(error, match=place + r"[\s\S]*" + words):
        tf.function(f)(tf.constant([1.0, 2.0]))


# The user's own lines


def test_recorded_ops_are_where_the_user_wrote_them():
    def f(x):
        y = x * 2
        if x > 0:  # the line of the call
            y = tf.exp(y)
        for _ in tf.range(2):
            y = tf.sin(y)
        z = (
            tf.cos(y)
            if x.shape == ()
            else y
        )  # fmt: skip
        found.extend(node.location() for node in (y.node, z.node))
        with tf.GradientTape() as tape:
            tape.watch(y)
            w = y if y.shape.rank else tf.tanh(y)
        found.append(w.node.location())
        return z

    found = []
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        tf.function(f)(x)
    assert [(place.line, place.function) for place in found[:3]] == [
        (line_of(f, text), f.__qualname__) for text in ("for _ in", "tf.cos(y)", "tf.tanh(y)")
    ]
    assert {place.file for place in found} == {__file__}


def test_tracebacks_show_the_users_lines():
    def fails(value):
        if value > 0:
            value = value.no_such_attribute
        return value

    def f(x):
        for value in x:
            x = x * fails(value)
        return x

    with pytest.raises(AttributeError, match="no_such_attribute") as caught:
        tf.function(f)(tf.constant([1.0, 2.0]))
    shown = [(frame.lineno, frame.name) for frame in traceback.extract_tb(caught.value.__traceback__) if frame.filename == __file__]
    expected = [("for value", f), ("x * fails", f), ("if value", fails), ("no_such", fails)]
    assert [line for line, _ in shown[1:]] == [line_of(g, text) for text, g in expected]
    assert [name for _, name in shown[1:]] == [g.__name__ for _, g in expected]


def test_code_after_a_line_continuation():
    def f(x):
        y = x + \
            1
        if y > 0:
            z = y
        return z  # noqa: F821

    with pytest.raises(ValueError, match=rf"test_autograph.py:{line_of(f, 'if y')}: 'z'"):
        tf.function(f)(tf.constant(1.0))


def test_a_function_is_converted_once(caplog):
    def make(k):
        def f(x):
            return x * k if x > 0 else x

        return tf.function(f)

    tf.autograph.set_verbosity(1)
    try:
        with caplog.at_level(logging.INFO, "gradtape"):
            found = [make(k)(tf.constant(x)).numpy() for k in (2.0, 3.0) for x in (1.0, -1.0)]
    finally:
        tf.autograph.set_verbosity(0)
    assert found == [2, -1, 3, -1]
    assert len(caplog.records) == 1


def test_functions_are_converted_in_many_threads():
    found = {}

    def work(k):
        found[k] = float(tf.function(elif_chain)(tf.constant(k / 4 - 1.5)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {k: float(elif_chain(tf.constant(k / 4 - 1.5))) for k in range(12)}
    np.testing.assert_allclose([found[k] for k in range(12)], [expected[k] for k in range(12)], rtol=1e-6)
