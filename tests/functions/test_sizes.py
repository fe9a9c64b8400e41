"""Functions whose shapes keep changing: new shapes run op by op, with the same meaning, and are
compiled when that pays.
"""

import logging

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.xla import devices as xla_devices
from gradtape.functions.sizes import FEW

pytestmark = pytest.mark.waits
OPEN = [tf.TensorSpec([None, 3])]
HOW = {
    "signature": {"input_signature": OPEN},
    "relaxed": {"reduce_retracing": True},
    "no signature": {},
}
ORDERS = {
    "new": [1, 2, 3, 4, 5, 6, 7],
    "repeated": [2, 2, 2, 3, 3, 2],
    "back to the first": [2, 3, 4, 5, 6, 7, 2, 7, 2, 3],
}


@pytest.fixture(autouse=True, scope="module")
def on_the_host():
    """On an accelerator every shape is compiled."""
    before = tf.config.get_visible_devices("GPU")
    tf.config.set_visible_devices([], "GPU")
    yield
    tf.config.set_visible_devices(before, "GPU")


def rows(n, seed=0):
    return tf.constant(np.random.default_rng(n + seed).normal(size=(n, 3)).astype(np.float32))


# Programs: each makes a function of an array, and the Variables that it uses


def assigns():
    v, w = tf.Variable(tf.ones([3])), tf.Variable(1.0)

    def f(x):
        v.assign_add(tf.reduce_mean(x, axis=0))
        w.assign(w * 2.0 + tf.reduce_sum(v))
        return v * w

    return f, [v, w]


def trains():
    v, b = tf.Variable(tf.ones([3, 1])), tf.Variable([0.5])

    def f(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(x @ v) + b))
        for variable, g in zip((v, b), tape.gradient(loss, (v, b)), strict=True):
            variable.assign_sub(0.1 * g)
        return loss

    return f, [v, b]


def nested():
    v = tf.Variable(tf.ones([3]))

    @tf.function
    def inner(x, factor):
        v.assign_add(tf.reduce_sum(x, axis=0) * 0.1)
        return tf.sin(x * v) * factor

    def f(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(inner(x, 2.0)) + tf.reduce_mean(inner(x + 1.0, 3.0))
        v.assign_sub(0.01 * tape.gradient(y, v))
        return y, {"shape": tf.shape(x)}

    return f, [v]


def nested_and_insisted():
    v = tf.Variable(tf.ones([3]))

    @tf.function(jit_compile=True)
    def inner(x):
        return tf.reduce_sum(tf.exp(-x * x) * v)

    def f(x):
        v.assign(v * inner(x))
        return inner(x * 2.0)

    return f, [v]


def conditional():
    v = tf.Variable(1.0)

    def f(x):
        total = tf.reduce_sum(x)
        return tf.cond(total > 0.0, lambda: x * v.assign_add(1.0), lambda: x - v)

    return f, [v]


def branches():
    v = tf.Variable(1.0)

    def f(x):
        if tf.reduce_sum(x) > 0.0:
            v.assign_add(1.0)
            y = x * v
        else:
            y = -x
        return y

    return f, [v]


def loops():
    def f(x):
        count = tf.constant(0)
        while tf.reduce_max(tf.abs(x)) > 0.3:
            x = x / 2.0
            count += 1
        return x, count

    return f, []


def rows_in_a_loop():
    def f(x):
        total = tf.zeros([3])
        for row in x:
            total = tf.tanh(total + row)
        return total

    return f, []


def mapped():
    return lambda x: tf.map_fn(lambda row: row * tf.reduce_sum(row), x), []


def scanned():
    return lambda x: tf.scan(lambda state, row: tf.sin(state * row), x, tf.ones([3])), []


def in_an_array():
    def f(x):
        array = tf.TensorArray(tf.float32, size=x.shape[0])
        for i in tf.range(tf.shape(x)[0]):
            array = array.write(i, tf.square(x[i]))
        return array.stack()

    return f, []


def second_order():
    v = tf.Variable(tf.ones([3]))

    def f(x):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.sin(x * v) ** 2)
            slope = tf.reduce_sum(inner.gradient(y, v) ** 2)
        found = outer.gradient(slope, v)
        v.assign_sub(0.01 * found)
        return found

    return f, [v]


def without_a_tape():
    def f(x):
        y = tf.reduce_sum(x**3)
        return tf.gradients(tf.gradients(y, x)[0], x)[0]

    return f, []


def of_unknown_shape():
    return lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0.0)) * tf.ones_like(x), []


def custom():
    @tf.custom_gradient
    def clipped(x):
        return x * 2.0, lambda g: tf.clip_by_value(g, -0.1, 0.1)

    return lambda x: tf.reduce_sum(clipped(tf.sin(x))), []


PROGRAMS = [
    assigns, trains, nested, nested_and_insisted, conditional, branches, loops, rows_in_a_loop,
    mapped, scanned, in_an_array, second_order, of_unknown_shape, custom,
]  # fmt: skip
WITH_GRADIENTS = [
    trains, nested, conditional, branches, loops, rows_in_a_loop, mapped, scanned, in_an_array,
    of_unknown_shape, custom,
]  # fmt: skip


# Ways to call them


def plainly(f, x, variables):
    return f(x)


def under_a_tape(f, x, variables):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = sum(tf.reduce_sum(t) for t in tf.nest.flatten(f(x)) if t.dtype.is_floating)
    return y, tape.gradient(y, [x, *variables])


def under_a_tape_with_zeros(f, x, variables):
    """In eager code there is no path to what another branch would read."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = sum(tf.reduce_sum(t) for t in tf.nest.flatten(f(x)) if t.dtype.is_floating)
    return y, tape.gradient(y, [x, *variables], unconnected_gradients="zero")


def under_two_tapes(f, x, variables):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = sum(tf.reduce_sum(t**2) for t in tf.nest.flatten(f(x)) if t.dtype.is_floating)
        slope = tape.gradient(y, x)
    return slope, outer.gradient(slope, x)


def forward(f, x, variables):
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = f(x)
    return accumulator.jvp(y)


def outcomes(make, call, order, options, wrap=True):
    """All results of some calls, and the Variables' values after each of them."""
    python, variables = make()
    function = tf.function(python, **options) if wrap else python
    found = []
    for number, n in enumerate(order):
        result = call(function, rows(n, number), variables)
        found.append([None if t is None else np.asarray(t) for t in tf.nest.flatten(result)])
        found.append([v.numpy() for v in variables])
    return found


def assert_equal(found, expected):
    for step, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert (x is None) == (y is None)
            if x is None:
                continue
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-5, err_msg=f"step {step}")


def compiled_at_once(*given):
    tf.config.set_compile_every_shape(True)
    try:
        return outcomes(*given)
    finally:
        tf.config.set_compile_every_shape(False)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("options", HOW.values(), ids=HOW)
@pytest.mark.parametrize("make", PROGRAMS)
def test_a_program_means_the_same(make, options, order):
    found = outcomes(make, plainly, order, options)
    assert_equal(found, outcomes(make, plainly, order, options, False))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("call", [under_a_tape_with_zeros, under_two_tapes, forward])
@pytest.mark.parametrize("make", WITH_GRADIENTS)
def test_derivatives_mean_the_same(make, call):
    found = outcomes(make, call, ORDERS["back to the first"], HOW["signature"])
    assert_equal(found, outcomes(make, call, ORDERS["back to the first"], {}, False))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("call", [plainly, under_a_tape])
@pytest.mark.parametrize("make", [*PROGRAMS, without_a_tape])
def test_it_means_what_it_means_if_every_shape_is_compiled(make, call):
    given = make, call, ORDERS["back to the first"], HOW["signature"]
    assert_equal(outcomes(*given), compiled_at_once(*given))


def test_random_numbers_are_new_each_time_and_follow_the_seed():
    def drawn():
        tf.random.set_seed(3)
        f = tf.function(lambda x: x + tf.random.normal(tf.shape(x)), input_signature=OPEN)
        return [f(tf.zeros([n, 3])).numpy() for n in (2, 3, 4, 4, 2, 2)]

    first, again = drawn(), drawn()
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[2], first[3])
    assert not np.array_equal(first[4], first[5])


# Nothing is done by halves


class StopError(Exception):
    """What the code of a user raises."""


@pytest.mark.parametrize("options", HOW.values(), ids=HOW)
def test_an_error_leaves_all_variables_as_they_were(options):
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    fails = []

    @tf.function(**options)
    def f(x):
        v.assign_add(tf.reduce_sum(x))
        if fails:
            raise StopError
        w.assign(v * 2.0)
        return w + 0.0

    for n in range(1, FEW + 2):
        f(tf.ones([n, 3]))
    before = float(v), float(w)
    fails.append(1)
    with pytest.raises(StopError):
        f(tf.ones([9, 3]))
    assert (float(v), float(w)) == before
    fails.clear()
    assert float(f(tf.ones([9, 3]))) == 2.0 * (before[0] + 27.0)


@pytest.mark.parametrize("calls", [0, FEW], ids=["first", "new"])
def test_an_interrupt_leaves_all_variables_as_they_were(calls, monkeypatch):
    v, w = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function(input_signature=OPEN)
    def f(x):
        v.assign(v + tf.reduce_sum(x))
        w.assign(w + v)
        return w + 0.0

    for n in range(1, 1 + calls):
        f(tf.ones([n, 3]))
    before, tell, count = (float(v), float(w)), tf.Variable.tell_recorders, []

    def interrupted(self, *args, **kwargs):
        if here_too := not tf.inside_function():
            count.append(1)
        if here_too and len(count) == 2:
            raise KeyboardInterrupt
        return tell(self, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(tf.Variable, "tell_recorders", interrupted)
        with pytest.raises(KeyboardInterrupt):
            f(tf.ones([9, 3]))
    assert len(count) >= 2
    assert (float(v), float(w)) == before


# What is compiled, and when


def compiled(f):
    """How many programs it has that are compiled."""
    return sum(not (p.runs_eagerly or p.is_waiting) for p in f._concrete.values())


def test_open_sizes_are_compiled_when_they_come_back():
    f = tf.function(lambda x: tf.tanh(x) + 1.0, input_signature=OPEN)
    found = []
    for n in (2, 3, 3, 2, 2, 3):
        f(tf.ones([n, 3]))
        found.append(compiled(f))
    assert found == [0, 0, 1, 2, 2, 2]


def test_relaxed_sizes_are_compiled_when_they_come_back():
    f = tf.function(lambda x: tf.tanh(x) + 1.0, reduce_retracing=True)
    found = []
    for n in (2, 3, 3, 4, 4):
        f(tf.ones([n, 3]))
        found.append(compiled(f))
    assert found == [1, 1, 2, 2, 3]


def test_without_a_signature_a_few_shapes_are_compiled_at_once():
    f = tf.function(lambda x: tf.tanh(x) + 1.0)
    for n in range(1, FEW + 1):
        f(tf.ones([n]))
        assert compiled(f) == n
    for n in range(FEW + 1, 2 * FEW):
        for _ in range(3):
            f(tf.ones([n]))
    assert compiled(f) == FEW


def test_of_many_shapes_those_are_compiled_that_are_called_often():
    f = tf.function(lambda x: tf.tanh(x) + 1.0, input_signature=OPEN)
    for n in range(1, 2 * FEW):
        f(tf.ones([n, 3]))
    assert compiled(f) == 0
    worth = f._concrete.values()[0].worth().pays_in_call()
    for _ in range(worth - 2):
        f(tf.ones([7, 3]))
    assert compiled(f) == 0
    f(tf.ones([7, 3]))
    assert compiled(f) == 1


def test_a_long_loop_is_compiled_at_once():
    @tf.function(input_signature=OPEN)
    def f(x):
        while tf.reduce_max(x) < 1000.0:
            x = x + 1.0
        return x

    for n in range(1, FEW + 3):
        f(tf.ones([n, 3]))
        assert compiled(f) == n


def test_another_dtype_or_python_value_is_no_other_size():
    f = tf.function(lambda x, n: x * n)
    for n in range(2 * FEW):
        f(tf.constant(1.0), n)
    f(tf.constant(1), 1)
    assert compiled(f) == 2 * FEW + 1


@pytest.mark.parametrize("options", [{"jit_compile": True}, {"check_parity": True}])
def test_what_is_insisted_on_is_compiled(options):
    f = tf.function(lambda x: tf.tanh(x), input_signature=OPEN, **options)
    for n in range(1, FEW + 3):
        f(tf.ones([n, 3]))
    assert compiled(f) == FEW + 2


def test_a_function_that_is_insisted_on_is_compiled_wherever_it_is_called():
    inner = tf.function(lambda x: tf.tanh(x), jit_compile=True)
    f = tf.function(lambda x: inner(x) + 1.0, input_signature=OPEN)
    for n in range(1, FEW + 3):
        f(tf.ones([n, 3]))
    assert compiled(inner) == FEW + 2


def test_on_an_accelerator_every_shape_is_compiled(monkeypatch):
    known = xla_devices.devices()
    monkeypatch.setattr(xla_devices, "devices", lambda: {**known, "GPU:0": object()})
    f = tf.function(lambda x: tf.tanh(x), input_signature=OPEN)
    for n in range(1, FEW + 3):
        f(tf.ones([n, 3]))
        assert compiled(f) == n


def test_a_block_that_names_the_host_changes_nothing():
    f = tf.function(lambda x: tf.tanh(x), input_signature=OPEN)
    with tf.device("/CPU:0"):
        for n in range(1, FEW + 3):
            f(tf.ones([n, 3]))
    assert compiled(f) == 0


@pytest.mark.usefixtures("every_shape_is_compiled")
def test_the_setting_compiles_all():
    f = tf.function(lambda x: tf.tanh(x), input_signature=OPEN)
    for n in range(1, FEW + 3):
        f(tf.ones([n, 3]))
    assert compiled(f) == FEW + 2


def test_a_concrete_function_with_open_sizes_waits_too():
    f = tf.function(lambda x: tf.tanh(x) * 2.0)
    program = f.get_concrete_function(tf.TensorSpec([None, 3]))
    for n in (2, 3, 4, 3):
        x = rows(n)
        np.testing.assert_allclose(program(x), 2.0 * np.tanh(x.numpy()), rtol=1e-6)
    assert compiled(f) == 1
    assert f.experimental_get_tracing_count() == 1


def test_what_only_a_traced_function_has_is_compiled():
    f = tf.function(without_a_tape()[0], input_signature=OPEN)
    for n in range(1, FEW + 3):
        x = rows(n)
        np.testing.assert_allclose(f(x), 6.0 * x.numpy(), rtol=1e-5)
    assert compiled(f) == FEW + 1  # all but the first


# What the user sees


def test_traces_are_counted_as_before():
    python = lambda x: tf.tanh(x)
    counts = {}
    for name, options in HOW.items():
        f = tf.function(python, **options)
        counts[name] = []
        for n in (1, 2, 3, 4, 5, 6, 6, 1):
            f(tf.ones([n, 3]))
            counts[name].append(f.experimental_get_tracing_count())
    assert counts["signature"] == [1] * 8
    assert counts["relaxed"] == [1, 2, 2, 2, 2, 2, 2, 2]
    assert counts["no signature"] == [1, 2, 3, 4, 5, 6, 6, 6]


@pytest.mark.parametrize("new", [0, FEW])
def test_a_call_whose_python_raises_is_no_trace(new):
    fails = []

    @tf.function
    def f(x):
        if fails:
            raise StopError
        return tf.tanh(x)

    for n in range(1, new + 1):
        f(tf.ones([n]))
    fails.append(1)
    with pytest.raises(StopError):
        f(tf.ones([9]))
    assert f.experimental_get_tracing_count() == new
    fails.clear()
    f(tf.ones([9]))
    assert f.experimental_get_tracing_count() == new + 1


@pytest.mark.parametrize("new", [0, FEW])
def test_a_call_whose_op_fails_is_a_trace(new):
    @tf.function
    def f(x, limit):
        tf.debugging.assert_less(tf.reduce_sum(x), limit)
        return tf.tanh(x)

    for n in range(1, new + 1):
        f(tf.ones([n]), tf.constant(99.0))
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.ones([9]), tf.constant(1.0))
    assert f.experimental_get_tracing_count() == new + 1


def test_a_function_that_is_called_by_one_with_open_sizes_is_traced_once():
    inner = tf.function(lambda x: tf.tanh(x))
    f = tf.function(lambda x: inner(x) + 1.0, input_signature=OPEN)
    for n in range(1, 8):
        f(tf.ones([n, 3]))
    assert inner.experimental_get_tracing_count() == 1


def test_the_first_call_runs_the_python_once():
    runs = []
    f = tf.function(lambda x: runs.append(x.shape[0]) or tf.tanh(x), input_signature=OPEN)
    for n in (2, 3, 2, 2):
        f(tf.ones([n, 3]))
    assert runs == [2, 3]


def test_effects_happen_in_every_call(capfd):
    @tf.function(input_signature=OPEN)
    def f(x):
        tf.print("rows:", tf.shape(x)[0])
        return x

    order = [1, 2, 3, 4, 5, 6, 6, 1, 1]
    for n in order:
        f(tf.ones([n, 3]))
    assert capfd.readouterr().err.split("\n")[:-1] == [f"rows: {n}" for n in order]


def test_the_log_says_once_what_changes(caplog):
    f = tf.function(lambda x, y: x + y)
    with caplog.at_level(logging.WARNING, logger="gradtape"):
        for n in range(1, 4 * FEW):
            f(tf.ones([n, 3]), tf.ones([3]))
    (said,) = [record.getMessage() for record in caplog.records]
    assert "'x' changed from" in said
    assert "'y'" not in said
    assert "pad what is passed to a few sizes" in said
    assert "set_compile_every_shape" in said


def test_a_few_sizes_are_not_worth_a_word(caplog):
    f = tf.function(lambda x: x + 1.0, input_signature=OPEN)
    with caplog.at_level(logging.WARNING, logger="gradtape"):
        for n in (1, 2, 3, 4, 1, 2, 3, 4):
            f(tf.ones([n, 3]))
    assert not caplog.records
