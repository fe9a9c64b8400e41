"""Tapes and threads: a tape belongs to the thread that entered it, Variables and watched Tensors may be shared."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gradtape as tf

THREADS = 8


def in_thread(function, *args):
    """Runs a function in a thread of its own, and gives its result or raises its exception."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *args).result()


def in_step(function, count=THREADS):
    """Runs `function(i)` in several threads that start together; the results in order."""
    barrier = threading.Barrier(count)

    def run(i):
        barrier.wait()
        return function(i)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.fixture
def eager_switching():
    """Lets Python switch threads as often as it can, so that a gap between two steps is found."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


# Whose tape it is


def test_an_op_in_another_thread_is_not_recorded():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = in_thread(lambda: x * x)
        z = y * x
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, x).numpy() == 9.0


def test_a_variable_read_in_another_thread_is_not_watched():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        in_thread(lambda: v * v)
    assert tape.watched_variables() == ()


def test_a_new_thread_records_nothing_although_its_parent_does():
    with tf.GradientTape():

        def inside():
            with tf.GradientTape() as own:
                y = v * v
            return own.gradient(y, v).numpy()

        v = tf.Variable(3.0)
        assert in_thread(inside) == 6.0


def test_a_finished_tape_can_be_differentiated_in_another_thread():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = v * v
    assert in_thread(tape.gradient, y, v).numpy() == 6.0


def test_a_tape_entered_in_a_worker_can_be_differentiated_in_the_main_thread():
    v = tf.Variable(3.0)

    def record():
        with tf.GradientTape() as tape:
            return tape, v * v

    tape, y = in_thread(record)
    assert tape.gradient(y, v).numpy() == 6.0


def test_the_gradient_is_recorded_by_the_thread_that_asks_for_it():
    x = tf.constant(3.0)
    with tf.GradientTape() as inner:
        inner.watch(x)
        y = x * x

    def second_order():
        with tf.GradientTape() as outer:
            outer.watch(x)
            dx = inner.gradient(y, x)
        return dx, outer.gradient(dx, x).numpy()

    with tf.GradientTape() as bystander:
        bystander.watch(x)
        dx, second = in_thread(second_order)
    assert second == 2.0
    assert bystander.gradient(dx, x) is None


def test_an_accumulator_belongs_to_its_thread():
    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        y, z = in_thread(lambda: x * x), x * x
    assert accumulator.jvp(y) is None
    assert accumulator.jvp(z).numpy() == 6.0


def test_an_exception_in_a_thread_leaves_the_others_alone():
    v = tf.Variable(3.0)

    def fail():
        with tf.GradientTape():
            _ = v * v
            raise KeyError

    with tf.GradientTape() as tape:
        with pytest.raises(KeyError):
            in_thread(fail)
        y = v * v
    assert tape.gradient(y, v).numpy() == 6.0


# Many at once


@pytest.mark.usefixtures("eager_switching")
def test_eight_threads_with_a_tape_each_and_shared_variables():
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    def work(i):
        found = []
        for k in range(50):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum((v[None] @ w) ** 2) * float(i) + tf.reduce_sum(v) * float(k)
            found.append([g.numpy() for g in tape.gradient(y, [v, w])])
        return found

    a, b = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    product = a @ b
    for i, found in enumerate(in_step(work)):
        for k, (dv, dw) in enumerate(found):
            np.testing.assert_array_equal(dv, 2.0 * i * (b @ product) + k)
            np.testing.assert_array_equal(dw, 2.0 * i * np.outer(a, product))


@pytest.mark.usefixtures("eager_switching")
def test_eight_threads_that_watch_the_same_tensor():
    x = tf.constant([1.0, 2.0])

    def work(i):
        found = []
        for _ in range(100):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * float(i)
                z = y * x
            found.append(tape.gradient(z, x).numpy().tolist())
        return found

    for i, found in enumerate(in_step(work)):
        assert found == [[2.0 * i, 4.0 * i]] * 100


def test_threads_that_watch_the_same_tensor_at_the_same_time():
    x = tf.constant(3.0)
    barrier = threading.Barrier(THREADS)

    def work(i):
        with tf.GradientTape() as tape:
            tape.watch(x)
            barrier.wait()  # all tapes are recording now
            y = x * x * float(i)
            barrier.wait()
        return tape.gradient(y, x).numpy()

    assert in_step(work) == [6.0 * i for i in range(THREADS)]


def test_a_tensor_of_one_tape_is_a_constant_for_the_tapes_of_other_threads():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x

        def elsewhere(i):
            with tf.GradientTape() as own:
                own.watch(x)
                z = y * x * float(i)
            return own.gradient(z, x).numpy()

        assert in_step(elsewhere) == [9.0 * i for i in range(THREADS)]
    assert tape.gradient(y, x).numpy() == 6.0


@pytest.mark.usefixtures("eager_switching")
def test_nested_tapes_in_eight_threads():
    x = tf.Variable(2.0)

    def work(i):
        found = []
        for _ in range(30):
            with tf.GradientTape() as outer:
                with tf.GradientTape() as inner:
                    y = x**3 * float(i)
                dx = inner.gradient(y, x)
            found.append((dx.numpy(), outer.gradient(dx, x).numpy()))
        return found

    for i, found in enumerate(in_step(work)):
        assert found == [(12.0 * i, 12.0 * i)] * 30


def test_one_finished_persistent_tape_differentiated_in_eight_threads():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        ys = [x * x * float(i) for i in range(THREADS)]
    gradients = in_step(lambda i: tape.gradient(ys[i], x).numpy().tolist())
    assert gradients == [[2.0 * i, 4.0 * i] for i in range(THREADS)]


@pytest.mark.usefixtures("eager_switching")
@pytest.mark.parametrize("method", ["assign", "assign_add"])
def test_a_write_in_one_thread_never_changes_what_another_has_read(method):
    v = tf.Variable(np.zeros(1000, np.float32))
    done = threading.Event()

    def write():
        try:
            for k in range(3000):
                getattr(v, method)(np.full(1000, float(k % 7), np.float32))
        finally:
            done.set()

    def changed():
        count = 0
        while not done.is_set():
            with tf.GradientTape() as tape:
                x = v.read_value()
                y = x * x
            once, gradient, again = x.numpy(), tape.gradient(y, v).numpy(), x.numpy()
            count += not (np.array_equal(once, again) and np.array_equal(gradient, 2.0 * once))
        return count

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(changed) for _ in range(2)]
        pool.submit(write).result()
        assert [reader.result() for reader in readers] == [0, 0]


def test_ops_write_themselves_out_once_when_threads_meet_at_their_first_call():
    code = """
import threading
import gradtape as tf
x = tf.constant([1.0, 2.0])
barrier, found = threading.Barrier(8), []
def work():
    barrier.wait()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.exp(x) * x - x / 2.0
    found.append(tape.gradient(y, x).numpy().tolist())
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(found) == 8 and all(f == found[0] for f in found), found
"""
    subprocess.run([sys.executable, "-c", code], check=True)
