"""A tape with a memory limit: what it keeps, what it says, and what it does with all else that a
tape can do.
"""

import gc
import logging
import re
import threading
import weakref
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import gradtape as tf
from gradtape import extend
from gradtape.core.buffered import relying
from gradtape.core.limit.calls import Calls, KernelCall, Value
from gradtape.core.limit.segments import Dropped
from gradtape.core.thread import here
from tests.moments import RAISES_WHERE_SIGNALS_DO, at_moment

ARRAY = 64 * 32 * 4
LIMITS = [1, 8 * ARRAY]


def network(layers=24, seed=0):
    random = np.random.default_rng(seed)
    weights = [
        tf.Variable(random.standard_normal((32, 32)).astype(np.float32) / 5) for _ in range(layers)
    ]
    return tf.constant(random.standard_normal((64, 32)).astype(np.float32)), weights


def forward(x, weights):
    for weight in weights:
        x = tf.tanh(x @ weight)
    return x


def loss_of(x, weights):
    return tf.reduce_mean(tf.square(forward(x, weights)))


def dropped(tape):
    return sum(type(node.saved) is Dropped for scope in tape.scope.scopes() for node in scope.nodes)


def leaves(structure):
    return [
        tf.convert_to_tensor(leaf).numpy()
        for leaf in tf.nest.flatten(structure)
        if leaf is not None
    ]


def gradient(limit):
    x, weights = network()
    with tf.GradientTape(memory_limit=limit) as tape:
        loss = loss_of(x, weights)
    return tape.gradient(loss, weights)


def persistent(limit):
    x, weights = network()
    with tf.GradientTape(persistent=True, memory_limit=limit) as tape:
        tape.watch(x)
        hidden = forward(x, weights[:12])
        loss = loss_of(hidden, weights[12:])
    first = tape.gradient(loss, [x, *weights])
    for weight in weights:  # what was recorded is of the old values
        weight.assign(weight * 0.5)
    return [first, tape.gradient(hidden, [x, *weights[:12]]), tape.gradient(loss, [x, *weights])]


def entered_twice(limit):
    x, weights = network()
    with tf.GradientTape(persistent=True, memory_limit=limit) as tape:
        hidden = forward(x, weights[:12])
    weights[0].assign_add(tf.ones((32, 32)))
    with tape:
        loss = loss_of(hidden @ weights[0], weights[12:])
    return tape.gradient(loss, weights)


def reset(limit):
    x, weights = network()
    with tf.GradientTape(memory_limit=limit) as tape:
        forward(x, weights)
        tape.reset()
        loss = loss_of(x, weights)
    return tape.gradient(loss, weights)


def stopped(limit):
    x, weights = network()
    with tf.GradientTape(memory_limit=limit) as tape:
        hidden = forward(x, weights[:8])
        with tape.stop_recording():
            mask = forward(hidden, weights[8:16])
            weights[20].assign_sub(weights[20] * 0.1)
        loss = loss_of(hidden * mask, weights[16:])
    return tape.gradient(loss, weights)


def jacobians(limit):
    x, weights = network(6)
    found = []
    for options in ({"mode": "reverse"}, {"mode": "forward"}, {"experimental_use_pfor": False}):
        with tf.GradientTape(memory_limit=limit) as tape:
            tape.watch(x)
            y = tf.reduce_mean(forward(x, weights), axis=0)[:3]
        found.append(tape.jacobian(y, x, **options))
    with tf.GradientTape(memory_limit=limit) as tape:
        tape.watch(x)
        y = forward(x, weights)[:, :3]
    return [*found, tape.batch_jacobian(y, x)]


def jacobian_inside(limit):
    x, weights = network(6)
    with tf.GradientTape(memory_limit=limit) as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_mean(forward(x, weights), axis=0)[:3]
        loss = tf.reduce_sum(tf.square(inner.jacobian(y, x))) + loss_of(x, weights)
    return outer.gradient(loss, weights)


def per_example(limit):
    x, weights = network(6)
    with tf.GradientTape(memory_limit=limit) as tape:
        losses = tf.reduce_mean(forward(x, weights), axis=1)
    return tape.gradient_per_example(losses, weights)


def of_inner_tape(limit):
    x, weights = network()
    with tf.GradientTape() as outer:
        with tf.GradientTape(memory_limit=limit) as inner:
            inner.watch(x)
            loss = loss_of(x, weights)
        norm = tf.reduce_sum(tf.square(inner.gradient(loss, x)))
    return outer.gradient(norm, weights)


def of_outer_tape(limit):
    x, weights = network()
    with tf.GradientTape(memory_limit=limit) as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            loss = loss_of(x, weights)
        norm = tf.reduce_sum(tf.square(inner.gradient(loss, x)))
    return outer.gradient(norm, weights)


def of_both_tapes(limit):
    x, weights = network()
    with tf.GradientTape(memory_limit=limit) as outer:
        with tf.GradientTape(memory_limit=limit) as inner:
            inner.watch(x)
            loss = loss_of(x, weights)
        norm = tf.reduce_sum(tf.square(inner.gradient(loss, x)))
    return outer.gradient(norm, weights)


def watched_afterwards(limit):
    """A tape that watches a tensor which another one has saved sees it in that one's gradient."""
    x, weights = network(4)
    with tf.GradientTape(persistent=True, memory_limit=limit) as first:
        first.watch(x)
        y = tf.reduce_sum(tf.square(forward(x, weights) * x))
    with tf.GradientTape() as second:
        second.watch(x)
        g = first.gradient(y, x)
    return [g, second.gradient(g, x)]


def with_accumulator(limit):
    x, weights = network()
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forwards:
        with tf.GradientTape(memory_limit=limit) as tape:
            tape.watch(x)
            loss = loss_of(x, weights)
        g = tape.gradient(loss, x)
    return [g, forwards.jvp(g), forwards.jvp(loss)]


def sparse(limit):
    table = tf.Variable(np.random.default_rng(0).standard_normal((500, 32)).astype(np.float32))
    _, weights = network(12)
    with tf.GradientTape(memory_limit=limit) as tape:
        loss = 0.0
        for i in range(8):
            rows = tf.nn.embedding_lookup(table, tf.constant([(i * j) % 500 for j in range(64)]))
            loss = loss + loss_of(rows, weights)
    g = tape.gradient(loss, [table, *weights])
    assert isinstance(g[0], tf.IndexedSlices)
    return g


def user_holds_everything(limit):
    x, weights = network()
    held = [x]
    with tf.GradientTape(memory_limit=limit) as tape:
        for weight in weights:
            held.append(tf.tanh(held[-1] @ weight))
        loss = tf.add_n([tf.reduce_mean(h) for h in held])
    return tape.gradient(loss, weights)


def tensor_becomes_variable(limit):
    """The array of a Tensor that is gone may become the buffer of a Variable, and be written."""
    x, weights = network()
    state = tf.Variable(tf.zeros((64, 32)), trainable=False)
    with tf.GradientTape(memory_limit=limit) as tape:
        total = x
        for weight in weights:
            total = tf.tanh(total @ weight)
            state.assign(total + 1.0)
            state.assign_add(tf.ones((64, 32)))
            total = total * state
        loss = tf.reduce_mean(total)
    return tape.gradient(loss, weights)


def users_arrays_change(limit):
    x, weights = network()
    factors = np.ones((64, 32), np.float32)
    with tf.GradientTape(memory_limit=limit) as tape:
        hidden = x
        for weight in weights:
            factors *= 0.9
            hidden = tf.tanh(hidden @ weight) * tf.sin(x * factors)
        loss = tf.reduce_mean(hidden)
    return tape.gradient(loss, weights)


def functions_write_variables(limit):
    x, weights = network()
    state = tf.Variable(tf.ones((64, 32)), trainable=False)

    @tf.function
    def written(value):
        state.assign(state * 0.5 + value * 0.1)
        return value * state

    with tf.GradientTape(memory_limit=limit) as tape:
        hidden = x
        for weight in weights[:12]:
            hidden = tf.tanh(hidden @ weight) + state
            hidden = written(hidden)
        loss = tf.reduce_mean(hidden)
    return [loss, state.value(), tape.gradient(loss, weights[:12])]


SCENARIOS = [
    gradient, persistent, entered_twice, reset, stopped, jacobians, jacobian_inside, per_example,
    of_inner_tape, of_outer_tape, of_both_tapes, watched_afterwards, with_accumulator, sparse,
    user_holds_everything, tensor_becomes_variable, users_arrays_change,
    functions_write_variables,
]  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_results_are_those_without_a_limit(scenario, limit):
    expected, found = leaves(scenario(None)), leaves(scenario(limit))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not relying


def test_memory_is_freed_while_recording_and_in_the_walk():
    x, weights = network(100)
    with tf.GradientTape(memory_limit=30 * ARRAY) as tape:
        hidden, most, made = x, 0, []
        for weight in weights:
            hidden = tf.tanh(hidden @ weight)
            made.append(weakref.ref(hidden.array))
            most = max(most, sum(array() is not None for array in made))
        loss = tf.reduce_mean(hidden)
        del hidden
    assert dropped(tape) > 50
    assert 10 < most <= 32
    assert tape.memory().total <= 30 * ARRAY
    tape.gradient(loss, weights)
    assert not any(array() is not None for array in made)


def test_what_memory_tells_is_what_the_end_of_the_tape_frees():
    x, weights = network(40)
    with tf.GradientTape(memory_limit=20 * ARRAY) as tape:
        loss_of(x, weights)
    found = tape.memory()
    assert found.limit == 20 * ARRAY
    assert found.dropped > 20 * ARRAY
    assert found.why_over is None
    assert found.total + found.dropped >= 40 * ARRAY
    rows = [row for row in found.rows if row.op == "checkpoint"]
    assert sum(row.bytes for row in rows) > 0
    assert "will be computed again" in str(found)
    arrays = [weakref.ref(array) for array in tape._plan.held()]
    saved = dropped(tape)
    assert saved
    assert tape.memory().total == found.total  # to ask restores nothing
    assert dropped(tape) == saved
    del tape
    gc.collect()
    freed = {id(array()): array().nbytes for array in arrays if array() is not None}
    assert found.shared == sum(freed.values())


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64, tf.complex64])
def test_every_dtype_is_dropped(dtype):
    x, weights = network(40)
    with tf.GradientTape(memory_limit=20 * ARRAY * dtype.size // 4) as tape:
        hidden = tf.cast(x, dtype)
        for weight in weights:
            hidden = tf.tanh(hidden @ tf.cast(weight, dtype))
        loss = tf.math.real(tf.reduce_mean(tf.square(hidden)))
        del hidden
    assert tape.memory().dropped > 10 * ARRAY * dtype.size // 4
    assert tape.memory().why_over is None
    found = tape.gradient(loss, weights)
    with tf.GradientTape() as tape:
        hidden = tf.cast(x, dtype)
        for weight in weights:
            hidden = tf.tanh(hidden @ tf.cast(weight, dtype))
        loss = tf.math.real(tf.reduce_mean(tf.square(hidden)))
    for one, other in zip(found, tape.gradient(loss, weights), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_nothing_changes_below_the_limit():
    x, weights = network()
    with tf.GradientTape(memory_limit="1GB") as tape:
        loss = loss_of(x, weights)
    assert not dropped(tape)
    assert tape.memory().dropped == 0
    tape.gradient(loss, weights)


def test_what_the_user_lets_go_of_later_is_freed():
    x, weights = network(60)
    with tf.GradientTape(memory_limit=25 * ARRAY) as tape:
        hidden, held = x, []
        for weight in weights[:30]:
            hidden = tf.tanh(hidden @ weight)
            held.append(hidden)
        held.clear()
        loss = loss_of(hidden, weights[30:])
        del hidden
    assert tape.memory().why_over is None
    assert tape.memory().total <= 25 * ARRAY
    tape.gradient(loss, weights)


def test_a_persistent_tape_stays_within_its_limit_over_many_gradients():
    x, weights = network(60)
    with tf.GradientTape(persistent=True, memory_limit=25 * ARRAY) as tape:
        loss = loss_of(x, weights)
    for _ in range(3):
        tape.gradient(loss, weights)
        assert tape.memory().total <= 25 * ARRAY
        assert dropped(tape) > 20


def test_the_users_code_runs_once():
    ran = []

    def counted(xp, x):
        ran.append("kernel")
        return xp.tanh(x)

    own = extend.unary("limit_counted", counted, lambda g, out: g * (1 - out * out))

    def in_python(value):
        ran.append("python")
        return value * 2.0

    @tf.custom_gradient
    def custom(value):
        ran.append("custom")
        return tf.sin(value), lambda g: g * tf.cos(value)

    try:
        x, weights = network(10)
        with tf.GradientTape(memory_limit=1) as tape:
            hidden = x
            for weight in weights:
                hidden = custom(own(tf.py_function(in_python, [hidden @ weight], tf.float32)))
            loss = tf.reduce_mean(hidden)
            del hidden
        before = len(ran)
        tape.gradient(loss, weights)
        assert len(ran) == before
    finally:
        extend.forget("limit_counted")


def test_an_op_may_say_that_it_is_pure():
    ran = []

    def counted(xp, x):
        ran.append(x)
        return xp.tanh(x)

    own = extend.unary("limit_pure", counted, lambda g, out: g * (1 - out * out), pure=True)
    try:
        x, weights = network(30)
        with tf.GradientTape(memory_limit=1) as tape:
            hidden = x
            for weight in weights:
                hidden = own(hidden @ weight)
            loss = tf.reduce_mean(hidden)
            del hidden
        before = len(ran)
        tape.gradient(loss, weights)
        assert before < len(ran) <= 2 * before
    finally:
        extend.forget("limit_pure")


def test_each_call_runs_again_at_most_once(monkeypatch):
    ran = []
    again = KernelCall.again
    monkeypatch.setattr(
        KernelCall, "again", lambda call, values: ran.append(call) or again(call, values)
    )
    for limit in (1, 5 * ARRAY, 20 * ARRAY):
        ran.clear()
        x, weights = network(80)
        with tf.GradientTape(memory_limit=limit) as tape:
            loss = loss_of(x, weights)
        tape.gradient(loss, weights)
        assert ran
        assert len(ran) == len(set(ran)) <= 2 * 80 + 2


@pytest.mark.parametrize(
    ("given", "bytes_"),
    [(5, 5), (np.int64(7), 7), ("400MB", 400_000_000), ("1.5 GiB", 3 * 2**29), ("12", 12)],
)
def test_amounts(given, bytes_):
    assert tf.GradientTape(memory_limit=given)._limit == bytes_


@pytest.mark.parametrize("given", [0, -1, True, 1.5, "many", "5 parsecs", "0MB", [1], "-3MB"])
def test_an_amount_that_is_none(given):
    with pytest.raises(ValueError, match=r"GradientTape: memory_limit must be a positive integer"):
        tf.GradientTape(memory_limit=given)


def test_it_says_once_why_a_limit_cannot_be_kept(caplog):
    x, weights = network()
    with caplog.at_level(logging.WARNING, "gradtape"):
        for _ in range(2):
            with tf.GradientTape(memory_limit=ARRAY) as tape:
                hidden = x
                for weight in weights:
                    hidden = tf.nn.dropout(tf.tanh(hidden @ weight), 0.5)
                loss = tf.reduce_mean(hidden)
    (said,) = [record.getMessage() for record in caplog.records]
    assert f"memory_limit of {ARRAY:,} bytes cannot be kept" in said
    found = tape.memory()
    assert "cannot be computed again" in found.why_over
    given = int(re.search(r"([\d,]+) bytes cannot be computed", found.why_over)[1].replace(",", ""))
    assert 24 * 64 * 32 <= given <= 2 * 24 * 64 * 32  # the masks, and little else
    tape.gradient(loss, weights)


def test_inside_a_function_it_says_that_xla_plans_the_memory(caplog):
    x, weights = network(4)

    @tf.function
    def step():
        with tf.GradientTape(memory_limit=1) as tape:
            loss = loss_of(x, weights)
        return tape.gradient(loss, weights)

    with caplog.at_level(logging.WARNING, "gradtape"):
        found = step()
    assert [r.getMessage() for r in caplog.records if "XLA plans the memory" in r.getMessage()]
    with tf.GradientTape() as tape:
        loss = loss_of(x, weights)
    for one, other in zip(found, tape.gradient(loss, weights), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("stop", [1, 3, 7, 20])
def test_an_interrupt_while_segments_are_restored(stop, monkeypatch):
    x, weights = network()
    with tf.GradientTape(persistent=True, memory_limit=6 * ARRAY) as tape:
        loss = loss_of(x, weights)
    expected = leaves(gradient(None))
    again, count = KernelCall.again, 0

    def interrupted(call, values):
        nonlocal count
        count += 1
        if count == stop:
            raise KeyboardInterrupt
        return again(call, values)

    monkeypatch.setattr(KernelCall, "again", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tape.gradient(loss, weights)
    for one, other in zip(leaves(tape.gradient(loss, weights)), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_ask_the_same_tape():
    x, weights = network()
    with tf.GradientTape(persistent=True, memory_limit=6 * ARRAY) as tape:
        loss = loss_of(x, weights)
    found = []

    def ask():
        found.extend([leaves(tape.gradient(loss, weights)) for _ in range(3)])

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 9
    for one in found:
        for a, b in zip(one, found[0], strict=True):
            np.testing.assert_array_equal(a, b)


def test_tapes_of_several_threads():
    found = {}

    def work(i):
        found[i] = leaves(gradient(5 * ARRAY))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = leaves(gradient(None))
    for one in found.values():
        for a, b in zip(one, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    assert not relying


def test_other_ways_to_look_at_a_recording_restore_it():
    x, weights = network(12)
    with tf.GradientTape(memory_limit=1) as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.math.log(forward(x, weights)))
    assert dropped(tape)
    assert tape.why_nonfinite(loss).op == "log"
    assert len(tape.explain(loss, weights)) == 12
    assert tape.sparsity(loss, x).shape == (1, 64 * 32)
    with tf.profile() as profile:
        tape.gradient(loss, weights)
    assert any(row.pulls for row in profile.rows)


def test_what_was_given_is_forgotten():
    calls, given, made = Calls(), np.zeros(1000), np.ones(1000)
    value = calls.add(given, Value(None))
    other = calls.add(made, Value(KernelCall(np.sin, (value,), {}, 0)))
    assert calls.find(given) is value
    calls.forget_given()
    assert calls.find(given) is None
    assert calls.find(made) is other


def _interrupt():
    raise KeyboardInterrupt


@RAISES_WHERE_SIGNALS_DO
def test_an_interrupt_at_many_moments_of_a_walk():
    x, weights = network(12)

    def recorded():
        with tf.GradientTape(persistent=True, memory_limit=4 * ARRAY) as tape:
            return tape, loss_of(x, weights)

    tape, loss = recorded()
    moments = at_moment(None, lambda: None, lambda: tape.gradient(loss, weights)).count
    expected = leaves(tape.gradient(loss, weights))
    assert moments > 500
    for number in range(0, moments, 499):
        tape, loss = recorded()
        with suppress(KeyboardInterrupt):
            at_moment(number, _interrupt, partial(tape.gradient, loss, weights))
        for one, other in zip(leaves(tape.gradient(loss, weights)), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@RAISES_WHERE_SIGNALS_DO
def test_an_interrupt_at_many_moments_of_recording():
    x, weights = network(12)
    expected = leaves(gradient_of(x, weights, None))

    def recorded(tape, kept):
        with tape:
            hidden = x
            for weight in weights:
                hidden = tf.tanh(hidden @ weight)
                kept.append(tf.reduce_mean(tf.square(hidden)))

    moments = at_moment(
        None, lambda: None, partial(recorded, tf.GradientTape(memory_limit=4 * ARRAY), [])
    ).count
    assert moments > 1000
    for number in range(0, moments, 1501):
        tape, kept = tf.GradientTape(memory_limit=4 * ARRAY), []
        with suppress(KeyboardInterrupt):
            at_moment(number, _interrupt, partial(recorded, tape, kept))
        assert not relying
        assert not here.state.observers
        if kept:  # what was recorded before is there
            found = tape.gradient(kept[-1], weights[: len(kept)])
            with tf.GradientTape() as plain:
                loss = loss_of(x, weights[: len(kept)])
            for one, other in zip(found, plain.gradient(loss, weights[: len(kept)]), strict=True):
                np.testing.assert_array_equal(one.numpy(), other.numpy())
    for one, other in zip(leaves(gradient_of(x, weights, 4 * ARRAY)), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def gradient_of(x, weights, limit):
    with tf.GradientTape(memory_limit=limit) as tape:
        loss = loss_of(x, weights)
    return tape.gradient(loss, weights)


@pytest.mark.parametrize("small", [lambda s: s + s[-1:], lambda s: tf.concat([s[1:], s[:1]], 0)])
def test_a_small_view_does_not_keep_a_large_array(small):
    s = tf.Variable(np.linspace(0.0, 1.0, 20_000, dtype=np.float32))
    with tf.GradientTape(memory_limit="2MB") as tape:
        y = s
        for _ in range(100):
            y = tf.sin(small(y))
    found = tape.memory()
    assert found.dropped > 3e6
    assert found.total < 2.5e6
    assert found.why_over is None
