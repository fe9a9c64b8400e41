"""The first calls of a function run on NumPy while XLA compiles it beside them, and give what the
compiled program gives.
"""

import functools
import gc
import subprocess
import sys
import textwrap
import threading
import weakref

import jax
import numpy as np
import pytest

import gradtape as tf
from gradtape.core.settings import settings
from gradtape.functions import ahead, beside, staging, worth

COMPILED = "/jax/core/compile/backend_compile_duration"


@pytest.fixture(autouse=True)
def compiles_beside():
    before = tf.config.get_visible_devices("GPU"), settings.wait_for_compilation
    tf.config.set_visible_devices([], "GPU")
    settings.wait_for_compilation = False
    yield
    beside._turns.wait()
    tf.config.set_visible_devices(before[0], "GPU")
    settings.wait_for_compilation = before[1]


@pytest.fixture
def gate(monkeypatch):
    """XLA compiles nothing beside before it is opened."""
    opened, compile_now = threading.Event(), staging.Part.compile

    def compile_later(part):
        assert opened.wait(60)
        compile_now(part)

    monkeypatch.setattr(staging.Part, "compile", compile_later)
    yield opened
    opened.set()
    beside._turns.wait()


@pytest.fixture
def draws_ahead(monkeypatch):
    """Random numbers are drawn ahead in a small program too."""
    monkeypatch.setattr(ahead, "_SHARE", 1.0)


def program_of(f):
    (concrete,) = f._concrete.values()
    return concrete


def is_compiled(f):
    return not program_of(f).is_waiting


def finish(gate):
    gate.set()
    beside._turns.wait()


# Programs: each makes a function of an array, and the Variables that it uses


def plain():
    return tf.function(lambda x: tf.reduce_sum(tf.tanh(x) ** 2)), []


def written():
    v = tf.Variable(tf.ones([3]))

    @tf.function
    def f(x):
        v.assign_add(tf.reduce_mean(x, 0))
        return v * 2.0

    return f, [v]


def training():
    w, b = tf.Variable(tf.fill([3, 2], 0.3)), tf.Variable(tf.zeros([2]))

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.gelu(x @ w + b) ** 2)
        for v, g in zip([w, b], tape.gradient(loss, [w, b]), strict=True):
            v.assign_sub(0.1 * g)
        return loss

    return f, [w, b]


def adam():
    layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
    layer.build([None, 3])
    optimizer = tf.keras.optimizers.Adam(0.05)
    optimizer.build(layer.trainable_variables)

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(x) ** 2)
        kernel_and_bias = layer.trainable_variables
        optimizer.apply(tape.gradient(loss, kernel_and_bias), kernel_and_bias)
        return loss

    return f, [*layer.trainable_variables, *optimizer.variables]


def second_order():
    v = tf.Variable([0.3, -0.2, 0.7])

    @tf.function
    def f(x):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = tf.reduce_sum(tf.sin(x * v) ** 3)
            g = inner.gradient(y, v)
        v.assign_sub(0.01 * outer.gradient(g, v))
        return y, g

    return f, [v]


def custom():
    scale = tf.Variable(2.0)

    @tf.custom_gradient
    def cube(z):
        return z**3, lambda g: g * 3.0 * z**2 * scale

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(cube(x))
        scale.assign_add(0.5)
        return tape.gradient(y, x)

    return f, [scale]


def structures():
    v = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def f(x):
        v.assign_add(1)
        return {"a": (x[0], None), "b": [tf.cast(x, tf.float64), v + 0, tf.shape(x)]}

    return f, [v]


def calling():
    inner, variables = training()
    return tf.function(lambda x: inner(x) + inner(2.0 * x)), variables


def looping():
    v = tf.Variable(tf.zeros([3]))

    @tf.function
    def f(x):
        for row in x:
            v.assign_add(row)
        return tf.reduce_sum(v)

    return f, [v]


def counting():
    n, m = tf.Variable(0, dtype=tf.int64), tf.Variable([250, 3], dtype=tf.uint8)
    half, z = tf.Variable(tf.ones([2], tf.bfloat16)), tf.Variable([1.0 + 2.0j])

    @tf.function
    def f(x):
        n.assign_add(2)
        m.assign_sub([3, 4])
        half.assign_add([0.1, 0.7])
        z.assign_sub([1.0j])
        return tf.cast(n, tf.float64) * tf.reduce_sum(tf.cast(x, tf.float64)), m * 2, half, z

    return f, [n, m, half, z]


def shared():
    v, w = tf.Variable(tf.ones([3])), tf.Variable(tf.zeros([3]))

    @tf.function
    def f(x):
        y = tf.reduce_sum(x, 0)
        before = v.read_value()
        v.assign(w)
        w.assign(before + y)
        return y, v, before, tf.identity(x), tf.reshape(x, [-1])

    return f, [v, w]


def drawing():
    tf.random.set_seed(4)
    generator = tf.random.Generator.from_seed(5)
    inner = tf.function(lambda x: x + tf.random.normal([3]))

    @tf.function
    def f(x):
        noise = tf.nn.dropout(inner(x) * inner(x), 0.5) + generator.normal([3])
        whole = tf.random.uniform([4], 0, 100, tf.int32), tf.random.shuffle(tf.range(5))
        return noise, whole, tf.random.stateless_uniform([2], tf.cast(x[0, :2] * 9.0, tf.int32))

    return f, []


def with_dropout():
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [layers.Dense(3, kernel_initializer="ones"), layers.Dropout(0.5, seed=1)]
    )
    model.build([None, 3])
    optimizer = tf.keras.optimizers.Adam(0.05)
    optimizer.build(model.trainable_variables)

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables))
        return loss

    return f, [v.value for v in model.variables]


def scattering():
    v = tf.Variable(np.arange(12.0).reshape(4, 3))
    n, u = tf.Variable(np.zeros((3, 2), np.int32)), tf.Variable(tf.ones([4]))

    @tf.function
    def f(x):
        rows = tf.cast(x, tf.float64)
        i = tf.cast(tf.abs(x[:, 0]) * 10.0, tf.int32) % 4
        v.scatter_sub(tf.IndexedSlices(rows, i))
        before = v * 1.0
        v.scatter_max(tf.IndexedSlices(rows, i))
        v.scatter_update(tf.IndexedSlices(rows[:1], i[:1]))
        n.scatter_nd_add([[0, 1], [1, 0]], [5, 6])
        n.scatter_nd_update(i[:1, None] % 3, tf.ones([1, 2], tf.int32))
        u.scatter_update(tf.IndexedSlices([5.0, 6.0], [1, 2]))
        u.scatter_div(tf.IndexedSlices([2.0, 2.0], [1, 1]))
        return before, tf.reduce_sum(n)

    return f, [v, n, u]


def branching():
    v, w = tf.Variable([0.3, -0.2, 0.7]), tf.Variable(tf.ones([3]))

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x * v)
            if y > 0.0:
                w.assign_add(x[0])
                z = tf.sin(y) * w
            else:
                z = y * tf.ones([3])
            k = tf.switch_case(tf.cast(y * 3.0, tf.int32), [lambda: v, lambda: w * v, lambda: v**3])
            loss = tf.reduce_sum(z * k)
        v_gradient, w_gradient = tape.gradient(loss, [v, w], unconnected_gradients="zero")
        v.assign_sub(0.1 * v_gradient)
        return loss, w_gradient, z

    return f, [v, w]


def recurrent():
    w, u = tf.Variable(np.full([3, 2], 0.3)), tf.Variable(np.array([[0.5, -0.1], [0.2, 0.9]]))

    @tf.function
    def f(x):
        x = tf.cast(x, tf.float64)
        xs = tf.stack([x, 2.0 * x, -x, x * x])

        def step(state, row):
            h, n = state
            return tf.tanh(row @ w + h @ u), n + tf.reduce_sum(row)

        with tf.GradientTape() as outer, tf.GradientTape() as tape:
            outer.watch(xs)
            first = tf.zeros([tf.shape(x)[0], 2], tf.float64), tf.constant(1.0, tf.float64)
            states, sums = tf.scan(step, xs, first)
            back = tf.foldr(lambda h, row: tf.sin(h + row @ w), xs, states[-1])
            loss = tf.reduce_sum(states**2) + sums[-1] * 0.1 + tf.reduce_sum(back)
            loss += tf.reduce_sum(tf.map_fn(lambda row: tf.exp(row @ w), xs))
            gradients = tape.gradient(loss, [w, u])
            norm = sum(tf.reduce_sum(g**2) for g in gradients)
        for v, g in zip([w, u], gradients, strict=True):
            v.assign_sub(0.01 * g)
        return loss, outer.gradient(norm, xs)

    return f, [w, u]


def until():
    v = tf.Variable([0.3, 0.2, 0.7])

    @tf.function
    def f(x):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                n, y = tf.constant(0), tf.abs(x[0]) + 0.1
                while tf.reduce_sum(y) < 20.0:
                    if n % 2 == 0:
                        y = y * (1.0 + v**2)
                    else:
                        y += v
                    n += 1
                    if n > 50:
                        break
                bounded = tf.while_loop(
                    lambda z: z[0] < 5.0, lambda z: (z * 1.5 + v,), (v,), maximum_iterations=7
                )[0]
                loss = tf.reduce_sum(y**2) + tf.reduce_sum(bounded)
            g = tape.gradient(loss, v)
            norm = tf.reduce_sum(g * g)
        second = outer.gradient(norm, v)
        v.assign_add(0.01 * tf.tanh(g))
        return n, loss, second

    return f, [v]


def batched_loops():
    v = tf.Variable([0.3, 0.2, 0.7])

    @tf.function
    def f(x):
        def each(row):
            n, y = tf.while_loop(
                lambda n, y: tf.reduce_sum(y) < 9.0,
                lambda n, y: (n + 1, y * 1.3 + tf.abs(v)),
                (0, tf.abs(row)),
            )
            chosen = tf.cond(row[0] > 0.0, lambda: y * v, lambda: tf.cumsum(y))
            return n, tf.foldl(lambda a, b: a * 0.5 + b, chosen, 0.0)

        with tf.GradientTape() as tape:
            n, y = tf.vectorized_map(each, x)
            loss = tf.reduce_sum(y)
        jacobian = tf.map_fn(lambda row: tf.sin(row) * v, x)
        v.assign_sub(0.01 * tf.tanh(tape.gradient(loss, v)))
        return n, y, jacobian

    return f, [v]


def drawing_in_loops():
    tf.random.set_seed(4)
    v = tf.Variable(tf.zeros([3]))

    @tf.function
    def f(x):
        noise = tf.map_fn(lambda row: row + tf.random.normal([3]), x)
        for _ in tf.range(3):
            v.assign_add(tf.random.uniform([3]))
        for _ in range(30):
            x = tf.tanh(x + 1.0)
        return noise, x

    return f, [v]


def layers():
    cells = [tf.keras.layers.LSTM(3, return_sequences=True), tf.keras.layers.GRU(2)]
    model = tf.keras.Sequential([tf.keras.Input([5, 3]), *cells])
    for seed, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(seed).normal(size=weight.shape) * 0.5)

    @tf.function
    def f(x):
        rows = tf.stack([x, -x, x * x, x + 1.0, x], axis=1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(rows) ** 2)
        for w, g in zip(model.weights, tape.gradient(loss, model.weights), strict=True):
            w.assign_sub(0.1 * g)
        return loss

    return f, [w.value for w in model.weights]


def generated(seed):
    """A program of random ops on two Variables, with a tape, an inner function and writes."""

    def make():
        rng = np.random.default_rng(seed)
        dtype = [tf.float32, tf.float64][rng.integers(2)]
        v, w = (tf.Variable(tf.cast(rng.uniform(0.3, 0.9, [3]), dtype)) for _ in range(2))
        unary = [
            tf.sin, tf.tanh, tf.nn.softplus, tf.cumsum, tf.sort, tf.identity, tf.stop_gradient,
            tf.nn.softmax, lambda x: x[..., ::-1], lambda x: tf.where(x > 0.5, x, 0.1 * x),
            lambda x: x - tf.reduce_mean(x, -1, keepdims=True), tf.exp, tf.nn.relu,
        ]  # fmt: skip
        binary = [
            tf.add, tf.multiply, tf.maximum, lambda x, y: x / (1.0 + y * y),
            lambda x, y: x + tf.gather(y, [2, 0, 1], axis=-1),
            lambda x, y: tf.einsum("...i,...i->...", x, y)[..., None] * x,
        ]  # fmt: skip
        plan = [(rng.integers(4), rng.integers(100, size=4)) for _ in range(12)]

        def body(x, *, writes):
            values = [x, v, w]
            for kind, (op, first, second, target) in plan:
                a, b = values[first % len(values)], values[second % len(values)]
                if kind < 2:
                    values.append(tf.tanh(binary[op % len(binary)](a, b)))
                elif kind == 2 or not writes:
                    values.append(tf.tanh(unary[op % len(unary)](tf.convert_to_tensor(a))))
                else:
                    new = tf.reduce_mean(tf.reshape(tf.convert_to_tensor(a), [-1, 3]), 0)
                    (v, w)[target % 2].assign(0.5 * new + 0.1)
            return values

        inner = tf.function(lambda x: body(x, writes=False)[-1])

        @tf.function
        def f(x):
            x = tf.cast(x, dtype)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                values = body(x, writes=True)
                loss = tf.reduce_sum(inner(values[-1] + x))
            step = tape.gradient(loss, [v, w, x], unconnected_gradients="zero")
            v.assign_sub(0.01 * tf.tanh(step[0]))
            w.assign_add(0.01 * tf.tanh(step[1]))
            return loss, values[3:], step[2], v.read_value()

        return f, [v, w]

    make.__name__ = f"generated_{seed}"
    return make


PROGRAMS = [
    plain, written, training, adam, second_order, custom, structures, calling, looping, counting,
    shared, drawing, with_dropout, scattering, branching, recurrent, until, batched_loops,
    drawing_in_loops, layers, *map(generated, range(4)),
]  # fmt: skip


def data(step=0, n=4):
    return tf.constant(np.random.default_rng(step).normal(size=(n, 3)).astype(np.float32))


def ran(make, before_call):
    """Results of six calls, and Variables after each."""
    f, variables = make()
    found = []
    for step in range(6):
        before_call(step)
        results = [r if r is None else r.numpy() for r in tf.nest.flatten(f(data(step)))]
        found.append(results + [v.numpy() for v in variables])
    return found


def agree(found, expected):
    for now, then in zip(found, expected, strict=True):
        for a, b in zip(now, then, strict=True):
            if a is None:
                assert b is None
            else:
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
                assert np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.sampled(4)
@pytest.mark.parametrize("ready", [1, 3, 6])
@pytest.mark.parametrize("make", PROGRAMS)
@pytest.mark.usefixtures("draws_ahead")
def test_whenever_it_is_compiled_results_and_variables_are_the_same(make, ready, gate):
    found = ran(make, lambda step: finish(gate) if step == ready else None)
    settings.wait_for_compilation = True
    agree(found, ran(make, lambda step: None))
    if make in (drawing, with_dropout, drawing_in_loops):
        return  # eager code draws other numbers
    tf.config.run_functions_eagerly(True)
    try:
        agree(found, ran(make, lambda step: None))
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize(
    "make",
    [
        plain,
        written,
        training,
        adam,
        second_order,
        custom,
        looping,
        counting,
        shared,
        drawing,
        with_dropout,
        scattering,
        branching,
        recurrent,
        until,
        batched_loops,
        layers,
    ],
)
@pytest.mark.usefixtures("draws_ahead")
def test_it_waits_on_numpy_and_runs_compiled_from_then_on(make, gate):
    f, _ = make()
    for step in range(3):
        f(data(step))
        assert not is_compiled(f)
    finish(gate)
    for step in range(3):
        f(data(step))
        assert is_compiled(f)


def little_but_random():
    return tf.function(lambda x: x + tf.random.normal([3])), []


def draws_from_results():
    def f(x):
        for _ in range(20):
            x = tf.tanh(x + 1.0)
        return tf.random.stateless_normal([3], tf.cast(x[0, :2] * 100.0, tf.int32))

    return tf.function(f), []


@pytest.mark.parametrize("make", [little_but_random, draws_from_results])
def test_what_numpy_would_do_otherwise_is_compiled_at_once(make, gate):
    f, _ = make()
    f(data())
    assert is_compiled(f)


def test_what_would_take_much_memory_on_numpy_waits(monkeypatch):
    def pairs(n):
        f = tf.function(lambda x: tf.reduce_sum(tf.abs(x[:, None] - x[None])))
        return f.get_concrete_function(tf.TensorSpec([n])).worth()

    assert pairs(100).can_be_replayed()
    assert pairs(100).memory < 2 * 10**5
    large = pairs(2**15)
    assert large.memory > 2**32
    monkeypatch.setattr(worth, "free_bytes", lambda: 4 * large.memory)
    assert large.can_be_replayed()
    monkeypatch.setattr(worth, "free_bytes", lambda: 4 * large.memory - 4)
    assert not large.can_be_replayed()
    assert pairs(100).can_be_replayed()


def test_numpy_keeps_only_what_is_still_needed(gate):
    made, most = [], []

    @tf.function
    def f(x):
        for _ in range(30):
            x = tf.sin(x)
        return x

    f(data())
    replay = program_of(f).program._replay

    def counted(run, given):
        (result,) = run(given)
        made.append(weakref.ref(result))
        most.append(sum(known() is not None for known in made))
        return [result]

    replay._steps = [s._replace(run=functools.partial(counted, s.run)) for s in replay._steps]
    f(data())
    assert len(most) == len(replay._steps) >= 30
    assert max(most) <= 3


def test_who_begins_to_wait_gets_what_is_compiled(gate):
    first, second = plain()[0], plain()[0]
    first(data())
    second(data())  # waits for its turn, which it need not
    tf.config.set_wait_for_compilation(True)
    second(data())
    assert is_compiled(second)
    threading.Timer(0.1, gate.set).start()
    first(data())
    assert is_compiled(first)


def test_a_handler_may_call_a_function_for_the_first_time_wherever_it_interrupts(gate):
    f, _ = plain()
    begin, inner = beside._turns.begin, []

    def in_the_lock(compiling):
        with beside._turns._lock:
            if not inner:
                inner.append(plain()[0])
                inner[0](data())
            begin(compiling)

    beside._turns.begin = in_the_lock
    try:
        f(data())
    finally:
        del beside._turns.begin
    finish(gate)
    for g in (f, inner[0]):
        g(data())
        assert is_compiled(g)


def test_a_thread_that_was_kept_from_starting_starts_in_the_next_call(monkeypatch):
    f, _ = plain()

    def interrupted(thread):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            f(data())
    f(data())
    beside._turns.wait()
    f(data())
    assert is_compiled(f)


def test_python_runs_once_and_one_program_is_compiled():
    compiled, runs = [], []

    def note(event, duration, **kwargs):
        if event == COMPILED:
            compiled.append(kwargs)

    @tf.function
    def f(x):
        runs.append(1)
        return tf.reduce_sum(tf.tanh(x) * 3.0)

    x = data()
    f_before = tf.function(lambda x: x + 1.0)
    f_before(x)
    beside._turns.wait()
    f_before(x)
    jax.monitoring.register_event_duration_secs_listener(note)
    try:
        for _ in range(3):
            f(x)
            beside._turns.wait()
    finally:
        jax.monitoring.unregister_event_duration_listener(note)
    assert (len(runs), len(compiled), f.experimental_get_tracing_count()) == (1, 1, 1)
    assert is_compiled(f)


def test_a_tape_outside_waits_for_its_program(gate):
    w = tf.Variable([1.0, 2.0, 3.0])
    f = tf.function(lambda x: tf.reduce_sum(x * w**2))
    x = data()
    for _ in range(2):
        f(x)
        with tf.GradientTape() as tape:
            y = f(x)
        expected = 2.0 * w.numpy() * x.numpy().sum(0)
        np.testing.assert_allclose(tape.gradient(y, w), expected, rtol=1e-5)


def test_several_shapes_each_have_their_own(gate):
    f, _ = plain()
    few = [data(n=n) for n in (1, 2)]
    expected = [np.sum(np.tanh(x.numpy()) ** 2) for x in few]
    for _ in range(2):
        np.testing.assert_allclose([f(x) for x in few], expected, rtol=1e-5)
    finish(gate)
    np.testing.assert_allclose([f(x) for x in few], expected, rtol=1e-5)
    assert all(not program.is_waiting for program in f._concrete.values())


def test_what_must_be_compiled_waits(gate):
    f = tf.function(lambda x: tf.tanh(x) + 1.0, jit_compile=True)
    f(data())
    assert is_compiled(f)


@pytest.mark.parametrize("how", ["set_wait_for_compilation", "enable_op_determinism"])
def test_where_bits_are_to_agree_it_waits(how, gate):
    if how == "enable_op_determinism":
        crowd = tf.config.experimental.enable_op_determinism.__globals__["crowd"]
        before = crowd.ignored
        tf.config.experimental.enable_op_determinism()
        crowd.ignored = before
    else:
        tf.config.set_wait_for_compilation(True)
    assert tf.config.get_wait_for_compilation()
    f, _ = plain()
    f(data())
    assert is_compiled(f)


def test_where_the_user_traces_with_jax_it_waits(gate):
    v = tf.Variable(1.0)

    @tf.function
    def f():
        v.assign_add(1.0)
        return v * 2.0

    f()
    with pytest.raises(TypeError, match="while JAX traces your own function"):
        jax.jit(lambda z: (f(), z)[1])(1.0)
    assert v.numpy() == 2.0


# What goes wrong


def test_if_it_cannot_be_compiled_the_call_after_says_why(monkeypatch):
    asked = []

    def fails(part):
        asked.append(part)
        raise RuntimeError("no memory for a program")

    monkeypatch.setattr(staging.Part, "compile", fails)
    f, _ = plain()
    first = f(data())
    beside._turns.wait()
    np.testing.assert_allclose(f(data()), first, rtol=1e-5)
    assert len(asked) == 1
    assert is_compiled(f)


def test_without_a_thread_it_is_compiled_by_the_next_call(monkeypatch):
    def none_left(thread):
        raise RuntimeError("can't start new thread")

    f, _ = plain()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none_left)
        first = f(data())
    np.testing.assert_allclose(f(data()), first, rtol=1e-5)
    assert is_compiled(f)
    g, _ = written()
    g(data())
    beside._turns.wait()
    g(data())
    assert is_compiled(g)


def test_an_error_of_an_op_leaves_the_variables_as_they_were(gate):
    v = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def f(i):
        v.assign_add([1.0, 1.0, 1.0])
        return tf.gather(v, i) * 2.0

    np.testing.assert_array_equal(f(tf.constant([0, 2])), [4.0, 8.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant([0, 7]))
    np.testing.assert_array_equal(v, [2.0, 3.0, 4.0])


def test_a_handler_that_writes_makes_the_call_start_again(gate, monkeypatch):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        y = tf.sin(x)
        v.assign(v * 2.0)
        return y

    x = data()
    f(x)
    replay = program_of(f).program._replay
    again, once = type(replay).__call__, [True]

    def interrupted(self, inputs):
        found = again(self, inputs)
        if once:
            once.clear()
            v.assign(100.0)
        return found

    monkeypatch.setattr(type(replay), "__call__", interrupted)
    f(x)
    assert v.numpy() == 200.0


def test_threads_lose_no_write():
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        v.assign_add(tf.reduce_sum(tf.ones_like(x)))
        return v + 0.0

    x, start = tf.ones([1]), threading.Barrier(6)

    def work():
        start.wait()
        for _ in range(50):
            f(x)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy() == 300.0


def test_a_function_that_is_dropped_is_freed_and_compiles_nothing(gate, monkeypatch):
    blocker, _ = plain()
    blocker(data())
    f, _ = written()
    f(data())
    compiling, gone = program_of(f).compiling, weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None
    monkeypatch.setattr(jax.stages.Lowered, "compile", None)
    assert compiling._to_do[0]() is None
    compiling.compile()
    assert compiling.is_done()


def test_many_functions_share_one_thread(gate):
    functions = [tf.function(lambda x, k=k: tf.tanh(x) * k) for k in range(8)]
    for f in functions:
        f(data())
    assert [t.name for t in threading.enumerate()].count("gradtape compiles") == 1
    finish(gate)
    for f in functions:
        f(data())
        assert is_compiled(f)
    assert "gradtape compiles" not in [t.name for t in threading.enumerate()]


ENDS = {
    "at once": ("", 0),
    "by an error": ("raise SystemExit(3)", 3),
    "by a signal": (
        """
        import os, signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it may have been ignored
        os.kill(os.getpid(), signal.SIGINT)
        """,
        -2,
    ),
    "in a child": (
        """
        import os, warnings
        warnings.simplefilter("ignore")
        child = os.fork()
        if not child:
            print(f.experimental_get_tracing_count(), flush=True)
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        """,
        0,
    ),
}


@pytest.mark.parametrize(("end", "status"), ENDS.values(), ids=ENDS)
def test_a_process_ends_while_programs_are_compiled(end, status):
    script = """
        import gradtape as tf
        v = tf.Variable(tf.ones([8, 8]))
        def body(x):
            for _ in range(30):
                x = tf.tanh(x @ v)
            v.assign_add(x)
            return tf.reduce_sum(x)
        f, g = tf.function(body), tf.function(body)
        print(float(f(tf.ones([8, 8]))) > 0, float(g(tf.ones([8, 8]))) > 0, flush=True)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script) + textwrap.dedent(end)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "True True" in done.stdout
    assert done.returncode == status, done.stderr


def test_a_loaded_function_is_not_run_op_by_op(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: tf.tanh(x) * 2.0, input_signature=[tf.TensorSpec([None, 3])])
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    closed = tf.function(lambda x: loaded.f(x) + 1.0)
    opened = tf.function(closed.python_function, input_signature=[tf.TensorSpec([None, 3])])
    for n in (1, 2, 3, 2):
        x = data(n=n)
        for f in (closed, opened):
            np.testing.assert_allclose(f(x), np.tanh(x.numpy()) * 2.0 + 1.0, rtol=1e-5)


@pytest.mark.parametrize(
    "write",
    [
        lambda v, at, x: v.scatter_update(tf.IndexedSlices(x, at)),
        lambda v, at, x: v.scatter_add(tf.IndexedSlices(x, at)),
        lambda v, at, x: v.scatter_nd_sub(at[:, None], x),
        lambda v, at, x: v.assign_add(tf.tensor_scatter_nd_add(v, at[:, None], x)),
    ],
)
def test_a_call_that_writes_at_places_keeps_none_of_those_it_was_given(write, gate):
    v = tf.Variable(tf.zeros([100, 100]))

    @tf.function(autograph=False)
    def step(at, x):
        write(v, at, x)
        return tf.reduce_sum(v)

    for _ in range(3):
        at, x = tf.constant(np.arange(40)), tf.ones([40, 100])
        alive = weakref.ref(at.array), weakref.ref(x.array)
        step(at, x)
        del at, x
        gc.collect()
        assert [found() for found in alive] == [None, None]
