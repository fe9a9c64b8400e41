"""The memory of Variables in compiled functions: nothing is copied that need not be,
and threads see whole values.
"""

from __future__ import annotations

import threading
import time

import jax
import numpy as np
import pytest

import gradtape as tf
from gradtape.core.xla.held_variable import held
from gradtape.engines.xla import devices as xla_devices
from gradtape.functions.staging import Part

pytestmark = pytest.mark.devices


@pytest.mark.waits
def test_a_training_step_writes_where_its_variables_are():
    w, m = (
        tf.Variable(np.ones((300, 300), np.float32)),
        tf.Variable(np.zeros((300, 300), np.float32)),
    )

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ w))
        m.assign(0.9 * m + tape.gradient(loss, w))
        w.assign_sub(0.01 * m)
        return loss

    x = tf.constant(np.ones((5, 300), np.float32))
    for _ in range(3):  # the first ones take over what NumPy has made, and are given copies
        step(x)
    places = [held(v).unsafe_buffer_pointer() for v in (w, m)]
    for _ in range(3):
        step(x)
    assert sorted(held(v).unsafe_buffer_pointer() for v in (w, m)) == sorted(places)


def test_what_somebody_has_seen_stays_as_it_was():
    v = tf.Variable(np.arange(4000, dtype=np.float32))
    add_one = tf.function(lambda: v.assign_add(tf.ones_like(v)))
    add_one()
    seen, view = v.read_value(), np.asarray(v.read_value().array)
    add_one()
    add_one()
    np.testing.assert_array_equal(seen, np.arange(4000) + 1)
    np.testing.assert_array_equal(view, np.arange(4000) + 1)
    np.testing.assert_array_equal(v, np.arange(4000) + 3)


def test_a_class_of_the_users_is_written_again_and_again():
    class Own(tf.Variable):
        pass

    v = Own(np.ones(3, np.float32))

    @tf.function
    def add_one():
        v.assign_add(tf.ones_like(v))

    for i in range(4):
        add_one()
        np.testing.assert_array_equal(v, np.full(3, i + 2))


def test_threads_read_what_another_one_writes():
    v = tf.Variable(np.zeros(5000, np.float32))
    add_one = tf.function(lambda: v.assign_add(tf.ones_like(v)), autograph=False)
    spread = tf.function(lambda: tf.reduce_max(v) - tf.reduce_min(v), autograph=False)
    add_one(), spread()
    found, failed = [], []

    def run(action):
        try:
            for _ in range(300):
                action()
        except Exception as error:  # noqa: BLE001 - it is looked at below
            failed.append(error)

    actions = [
        add_one,
        lambda: found.append(float(spread())),
        lambda: found.append(float(np.ptp(v.numpy()))),
    ]
    threads = [threading.Thread(target=run, args=[action]) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert set(found) == {0.0}
    np.testing.assert_array_equal(v, np.full(5000, 301))


@pytest.mark.parametrize("enabled", [False, True])
def test_jaxs_own_switch_changes_nothing(enabled):
    """Programs without 64-bit numbers run outside the switch for them, others inside."""
    x = np.float32([1.0, 2.0**-30])

    @tf.function
    def f(x):
        wide = tf.reduce_sum(tf.cast(x, tf.float64)) - 1.0
        return tf.cast(wide, tf.float32), tf.reduce_sum(x), tf.argmax(x, output_type=tf.int64)

    narrow = tf.function(lambda x: x * 2.0)
    with jax.enable_x64(enabled):
        exact, rounded, index = f(tf.constant(x))
        assert exact.numpy() == np.float32(2.0**-30)
        assert rounded.numpy() == 1.0
        assert index.dtype == tf.int64
        assert narrow(tf.constant(x)).dtype == tf.float32
        assert narrow(tf.constant(x, tf.float64)).dtype == tf.float64


def test_which_programs_need_the_switch(monkeypatch):
    made = []
    init = Part.__init__
    monkeypatch.setattr(
        Part, "__init__", lambda part, *args: made.append(part) or init(part, *args)
    )
    x = tf.constant([1.0, 2.0, 3.0])

    def is_narrow(body) -> bool:
        made.clear()
        tf.function(body, autograph=False)(x)
        return made[-1]._is_narrow

    assert is_narrow(lambda x: tf.reduce_mean(tf.nn.softmax(x) * 2.0))
    assert not is_narrow(lambda x: tf.cast(tf.cast(x, tf.float64) * 2.0, tf.float32))
    assert not is_narrow(
        lambda x: tf.scan(
            lambda s, a: tf.cast(tf.cast(s, tf.float64) + 1.0, tf.float32) * a, x, x[0]
        )
    )


@pytest.mark.waits
def test_a_large_variable_that_programs_read_has_one_copy_and_no_write_is_lost():
    size = 2**16 + 5
    for offset in range(4):  # whether JAX shares an array's memory depends on where it lies
        keep = np.empty(16 + offset, np.float32)
        variable = tf.Variable(np.arange(size, dtype=np.float32))
        first = tf.function(lambda v=variable: v[:3])
        assert first().numpy().tolist() == [0.0, 1.0, 2.0]
        if "array" in vars(variable) and variable.held.device.platform == "cpu":
            assert np.shares_memory(vars(variable)["array"], np.asarray(variable.held))
        variable.assign_add(tf.ones(size))
        assert variable.numpy()[:3].tolist() == [1.0, 2.0, 3.0]
        assert first().numpy().tolist() == [1.0, 2.0, 3.0]
        del keep


def test_a_program_that_reads_does_not_drop_what_another_thread_assigns():
    size = 2**20 + 5
    variable, zero, one = (
        tf.Variable(np.zeros(size, np.float32)),
        np.zeros(size, np.float32),
        np.ones(size, np.float32),
    )
    first = tf.function(lambda: tf.reduce_sum(variable[:8]))
    first()
    for attempt in range(30):
        variable.assign(zero)
        thread = threading.Thread(target=first)
        thread.start()
        time.sleep(0.0001 * (attempt % 10))
        variable.assign(one)
        thread.join()
        assert variable.numpy()[0] == 1.0


@pytest.fixture
def copies(monkeypatch):
    """The arrays that were copied for programs which write over them,
    because somebody else has them.
    """
    seen = []
    copied = xla_devices.copied
    monkeypatch.setattr(
        xla_devices, "copied", lambda array: seen.append(array.shape) or copied(array)
    )
    return seen


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("written_before", [False, True])
def test_what_a_tape_recorded_outlives_a_program_that_writes(copies, dtype, size, written_before):
    v, x = (
        tf.Variable(np.full(size, 2.0, dtype)),
        tf.constant(np.linspace(0.0, 1.0, size).astype(dtype)),
    )
    read = tf.function(lambda x: tf.sin(x) * v, autograph=False)
    write = tf.function(lambda x: v.assign_add(tf.ones_like(v)), autograph=False)
    value = 2.0
    if written_before:
        write(x)
        value = 3.0
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = read(x)
    for _ in range(3):
        write(x)
    for _ in range(2):
        np.testing.assert_allclose(
            tape.gradient(y, x).numpy(), np.cos(x.numpy()) * value, rtol=1e-5
        )
        np.testing.assert_allclose(tape.gradient(y, v).numpy(), np.sin(x.numpy()), rtol=1e-5)
    assert v.numpy()[0] == value + 3.0
    assert len(copies) <= 1
    del tape, y
    copies.clear()
    write(x)
    assert copies == []


def test_a_training_loop_copies_nothing(copies):
    v, x = tf.Variable([1.0, 2.0, 3.0]), tf.constant([0.5, 0.6, 0.7])
    loss = tf.function(lambda x: tf.reduce_sum(tf.sin(x * v)), autograph=False)
    update = tf.function(lambda g: v.assign_sub(0.1 * g), autograph=False)
    for _ in range(4):
        with tf.GradientTape() as tape:
            value = loss(x)
        update(tape.gradient(value, v))
    with tf.GradientTape(watch_accessed_variables=False):
        for _ in range(3):
            update(x)
    assert copies == []


def test_a_variable_given_as_an_argument_is_kept_too():
    v = tf.Variable([1.0, 2.0])
    square = tf.function(lambda w: w * w * w, autograph=False)
    write = tf.function(lambda w: w.assign_add([1.0, 1.0]), autograph=False)
    write(v)
    with tf.GradientTape(persistent=True) as tape:
        y = square(v)
    with tf.GradientTape(watch_accessed_variables=False):
        write(v)
    write(v)
    np.testing.assert_allclose(tape.gradient(y, v).numpy(), 3.0 * np.array([2.0, 3.0]) ** 2)
    np.testing.assert_allclose(v.numpy(), [4.0, 5.0])
