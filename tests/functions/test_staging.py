"""Compiled steps that write Variables lose nothing where JAX runs Python code of its own in the
midst of a call.
"""

import contextlib
import gc
import sys
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.xla.loading import load
from gradtape.functions.staging import Part, Staged

jax = load()


def counting(dtype="float32"):
    v = tf.Variable(np.zeros(5, dtype))

    @tf.function
    def step(x):
        v.assign_add(x)
        return tf.reduce_sum(v)

    x = tf.ones([5], dtype)
    for _ in range(5):
        step(x)
    return v, step, x


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl-C right after XLA was handed the buffers for good, in what JAX does in Python."""
    execute = jax._src.interpreters.pxla.ExecuteReplicated
    original = execute.__call__

    def call(self, *args):
        original(self, *args)
        raise KeyboardInterrupt

    return lambda: monkeypatch.setattr(execute, "__call__", call), monkeypatch.undo


@pytest.mark.waits
@pytest.mark.parametrize(
    ("dtype", "setting"),
    [
        ("float32", lambda: jax.default_matmul_precision("highest")),
        ("float64", lambda: jax.default_matmul_precision("highest")),
        # Programs of float64 may run with it already, and then there is nothing to interrupt.
        ("float32", lambda: jax.enable_x64(True)),
    ],
    ids=["precision-float32", "precision-float64", "x64-float32"],
)
def test_a_change_of_jax_settings_in_an_interrupted_call_loses_nothing(dtype, setting, interrupted):
    v, step, x = counting(dtype)
    interrupt, undo = interrupted
    with setting():
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            step(x)
        undo()
        np.testing.assert_array_equal(v.numpy(), np.full(5, 5.0))
        assert step(x).numpy() == 30.0
    assert step(x).numpy() == 35.0


@pytest.mark.waits
def test_what_runs_in_a_garbage_collection_finds_a_value_and_loses_none():
    """On Python 3.11 a collection may begin in the midst of a call,
    and with it handlers and finalizers.
    """
    v, step, x = counting()
    pending, writes = False, 0

    def callback(phase, info):
        nonlocal pending, writes
        if pending and phase == "start":  # once in each call, or it would never get further
            pending = False
            v.assign_add(np.ones(5, np.float32))
            writes += 1

    gc.callbacks.append(callback)
    thresholds = gc.get_threshold()
    try:
        for i in range(300):
            gc.set_threshold(20 + i % 60, 10, 10)
            pending = True
            step(x)
        pending = False
    finally:
        gc.callbacks.remove(callback)
        gc.set_threshold(*thresholds)
    assert writes > 20
    np.testing.assert_array_equal(v.numpy(), np.full(5, 305.0 + writes))


def test_eager_and_compiled_writes_in_turn_are_prepared_once(monkeypatch):
    v, step, x = counting()
    prepared = []
    monkeypatch.setattr("gradtape.functions.staging.copied", prepared.append)
    for _ in range(3):
        v.assign(v * 2.0)
        step(x)
    assert not prepared


@pytest.mark.waits
def test_a_call_that_jax_takes_for_one_that_still_runs_is_begun_again(monkeypatch):
    """JAX may keep in mind a call that an exception of a signal handler has ended."""
    _v, step, _x = counting()
    original, calls = Part._called, []

    def stuck(self, given, writes):
        calls.append(1)
        if len(calls) == 1:
            raise RecursionError("Recursively calling <weakref at 0x1; to 'ClosedJaxpr' at 0x2>")
        return original(self, given, writes)

    monkeypatch.setattr(Part, "_called", stuck)
    assert step(tf.Tensor(np.ones(5, np.float32))).numpy() == 30.0
    assert len(calls) == 2


class Helped(tf.Variable):
    def __getattr__(self, name):
        return self.lookup(name)

    def lookup(self, name):
        raise AttributeError(name)


class Asked(tf.Variable):
    def __getattribute__(self, name):
        return super().__getattribute__(name)


class Lambda(tf.Variable):
    __getattr__ = lambda self, name: (
        {}[name] if name == "surprise" else object.__getattribute__(self, name)
    )


class Forwards(tf.Variable):
    """Answers what it does not have from another Variable, which a function has had."""

    def __getattr__(self, name):
        return getattr(INNER, name)


INNER = tf.Variable([1.0, 2.0])


@pytest.mark.parametrize("kind", [Helped, Asked, Lambda, Forwards])
def test_variables_of_users_classes_are_asked_for_nothing_that_they_do_not_have(kind):
    read_inner = tf.function(lambda: INNER * 1.0)
    read_inner()
    variable = kind([10.0, 10.0])
    read = tf.function(lambda: variable * 1.0)

    @tf.function
    def write():
        variable.assign_add([1.0, 1.0])
        return variable * 1.0

    for i in range(4):
        np.testing.assert_array_equal(read().numpy(), variable.numpy())
        variable.assign_add([1.0, 1.0])
        np.testing.assert_array_equal(read().numpy(), np.full(2, 11.0 + 2 * i))
        np.testing.assert_array_equal(write().numpy(), np.full(2, 12.0 + 2 * i))
        np.testing.assert_array_equal(variable.numpy(), np.full(2, 12.0 + 2 * i))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("writes", [False, True])
def test_a_function_runs_where_jax_is_to_compile_nothing(dtype, writes):
    v, step, x = counting(dtype)
    f = step if writes else tf.function(lambda x: tf.reduce_sum(x + v))
    f(x)
    with jax.disable_jit():
        found = f(x).numpy()
    assert found == (5 * 7.0 if writes else 5 * 6.0)
    assert f(x).numpy() == (5 * 8.0 if writes else 5 * 6.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_that_jax_is_told_to_look_for_loses_no_variable(dtype):
    v, step, x = counting(dtype)
    quotient, bad = tf.function(lambda x: x / x), tf.function(lambda x: x * np.nan)(x)
    quotient(x)
    step(bad)  # from now on the shortest way, since it is a compiled function's result
    v.assign(np.full(5, 5.0, dtype))
    step(x)
    v.assign(np.full(5, 5.0, dtype))
    with jax.debug_nans(True):
        for _ in range(3):
            step(x)
        for argument in (x * np.nan, bad, bad):
            with pytest.raises(FloatingPointError, match="invalid value"):
                step(argument)
        with pytest.raises(FloatingPointError, match="invalid value"):
            quotient(tf.zeros([5], dtype))
    np.testing.assert_array_equal(v.numpy(), np.full(5, 8.0))
    assert step(x).numpy() == 45.0


@pytest.mark.devices
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_in_variables_on_several_devices_is_found(dtype):
    with placed(on_a_device=True):
        v = tf.Variable(np.ones(2, dtype))
    w, x = tf.Variable(np.ones(2, dtype)), tf.ones([2], dtype)

    @tf.function
    def step(x):
        v.assign_add(x)
        w.assign_add(x)
        return tf.reduce_sum(x)

    step(x)
    with jax.debug_nans(True):
        for _ in range(2):
            with pytest.raises(FloatingPointError, match="invalid value"):
                step(x * np.nan)
    step(x)
    for variable in (v, w):
        np.testing.assert_array_equal(variable.numpy(), np.full(2, 3.0))


def test_threads_call_new_functions_at_once():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    errors = []

    def work(f, x, barrier):
        barrier.wait()
        try:
            for _ in range(3):
                np.testing.assert_array_equal(f(x).numpy(), x.numpy() * 2)
        except Exception as error:  # noqa: BLE001 - it is looked at below
            errors.append(error)

    try:
        for _ in range(10):
            f, x, barrier = tf.function(lambda x: x * 2), tf.ones([3]), threading.Barrier(6)
            threads = [threading.Thread(target=work, args=(f, x, barrier)) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []


# Inside what the user's own code traces with JAX


TRACES = {
    "jit": lambda f: jax.jit(lambda z: (f(), z)[1])(1.0),
    "scan": lambda f: jax.lax.scan(lambda c, z: (f(), (c, z))[1], 0.0, jax.numpy.ones(2)),
    "eval_shape": lambda f: jax.eval_shape(lambda z: (f(), z)[1], 1.0),
}


def placed(on_a_device):
    """A block for a Variable's place: another device, where there are several."""
    devices = tf.config.list_logical_devices("CPU")
    return tf.device(devices[-1].name if on_a_device else "CPU:0")


@pytest.mark.devices
@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
@pytest.mark.parametrize("on_a_device", [False, True])
@pytest.mark.parametrize("calls_before", [0, 1, 4])
@pytest.mark.parametrize("tape", [False, True])
@pytest.mark.parametrize("writes", [False, True])
def test_a_variable_never_holds_what_only_a_trace_of_the_users_knows(
    trace, on_a_device, calls_before, tape, writes
):
    with placed(on_a_device):
        v = tf.Variable([1.0, 2.0])

    @tf.function
    def f():
        if writes:
            v.assign_add([1.0, 1.0])
        return v * 2.0

    def call():
        with tf.GradientTape() if tape else contextlib.nullcontext():
            f()

    for _ in range(calls_before):
        f()
    before = v.numpy()
    refused = pytest.raises(TypeError, match="while JAX traces your own function")
    with refused if writes else contextlib.nullcontext():
        trace(call)
    np.testing.assert_array_equal(v.numpy(), before)
    np.testing.assert_array_equal(f().numpy(), (before + writes) * 2.0)


@pytest.mark.devices
@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
@pytest.mark.parametrize("size", [2, 40_000])
def test_eager_writes_inside_a_trace_of_the_users_leave_values(trace, size):
    with placed(on_a_device=True):
        v = tf.Variable(tf.ones([size]))
    one = np.ones(size, np.float32)

    def writes():
        v.assign(one)
        v.assign_add(one)
        v.scatter_nd_add([[0]], [1.0])

    trace(writes)
    expected = np.full(size, 2.0)
    expected[0] = 3.0
    np.testing.assert_array_equal(v.numpy(), expected)
    np.testing.assert_array_equal(tf.function(lambda: v * 2.0)().numpy(), 2 * expected)


@pytest.mark.parametrize(
    "make",
    [lambda: tf.random.uniform([2]), lambda: tf.py_function(lambda: 1.0, [], tf.float32)],
    ids=["random", "py_function"],
)
def test_what_else_keeps_something_is_refused_there_and_works_afterwards(make):
    f = tf.function(make)
    with pytest.raises(TypeError, match="draws random numbers or calls Python functions"):
        jax.jit(lambda z: (f(), z)[1])(1.0)
    assert np.isfinite(f().numpy()).all()


@pytest.mark.waits
def test_a_handler_in_a_prepared_call_calls_the_function_and_is_itself_interrupted(monkeypatch):
    """The handler's call is prepared for itself: it is not given Variables for good with the
    permission of the call that it interrupts.
    """
    v, step, x = counting()
    execute, calls = jax._src.interpreters.pxla.ExecuteReplicated, []
    original = execute.__call__

    def call(self, *args):
        original(self, *args)
        calls.append(1)
        if len(calls) == 1:
            step(x)  # as a signal handler would
        raise KeyboardInterrupt

    with jax.default_matmul_precision("highest"):
        monkeypatch.setattr(execute, "__call__", call)
        with pytest.raises(KeyboardInterrupt):
            step(x)
        monkeypatch.undo()
    assert len(calls) == 2
    np.testing.assert_array_equal(v.numpy(), np.full(5, 5.0))
    assert step(x).numpy() == 30.0


def test_what_is_needed_is_what_leads_there():
    """The equations found by going back from the outputs are those that a look at each, from the
    last to the first, finds.
    """

    def body(mark, *arrays):
        rng, known = np.random.default_rng(5), list(arrays)
        for _ in range(60):
            first, second = rng.integers(0, len(known), 2)
            known.append(known[first] * known[second] if rng.random() < 0.7 else known[first] + 1)
        return known[-9:]

    staged = Staged(body, [((2,), np.float32)] * 3)
    equations = staged.jaxpr.eqns
    for output in staged.outputs:
        for known in ((), (equations[20].outvars[0],), equations[-1].invars):
            stops = {id(v) for v in known}
            wanted, found = {id(output)} - stops, []
            for number in reversed(range(len(equations))):
                if any(id(v) in wanted for v in equations[number].outvars):
                    found.append(number)
                    wanted.update(id(v) for v in equations[number].invars if id(v) not in stops)
            assert staged.needed_for([output], stops) == found[::-1]


def test_a_training_step_of_a_dense_layer_is_few_equations():
    """Each takes time to trace, whatever the size of the layer."""

    def equations(count):
        variables = [tf.Variable(tf.ones([4, 4] if i % 2 == 0 else [4])) for i in range(2 * count)]

        @tf.function(autograph=False)
        def step(x):
            with tf.GradientTape() as tape:
                for w, b in zip(variables[::2], variables[1::2], strict=True):
                    x = tf.tanh(x @ w + b)
                loss = tf.reduce_mean(tf.square(x))
            for variable, g in zip(variables, tape.gradient(loss, variables), strict=True):
                variable.assign_sub(0.1 * g)
            return loss

        program = step.get_concrete_function(tf.TensorSpec([2, 4])).program
        return [equation.primitive.name for equation in program.compiled_plain()._jaxpr.eqns]

    two, three = equations(2), equations(3)
    assert len(three) - len(two) <= 21
    assert not {"jit", "pjit"} & set(three)
