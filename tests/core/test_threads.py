"""Tapes and threads: a tape belongs to the thread that entered it,
Variables and watched Tensors may be shared.
"""

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


# Writing from several threads


def _rows(shape, value):
    return tf.IndexedSlices(tf.fill([3, *shape[1:]], value), tf.constant([0, 1, 1]))


WRITES = {
    "assign_add": (lambda v: v.assign_add(tf.ones(v.shape)), [1.0, 1.0]),
    "assign_sub": (lambda v: v.assign_sub(tf.ones(v.shape)), [-1.0, -1.0]),
    "scatter_add": (lambda v: v.scatter_add(_rows(v.shape, 1.0)), [1.0, 2.0]),
    "scatter_sub": (lambda v: v.scatter_sub(_rows(v.shape, 1.0)), [-1.0, -2.0]),
    "scatter_nd_add": (
        lambda v: v.scatter_nd_add([[0], [1], [1]], tf.ones([3, *v.shape[1:]])),
        [1.0, 2.0],
    ),
}
KINDS_OF_CODE = {
    "eager": (lambda write: write, lambda write: write),
    "compiled": (tf.function, tf.function),
    "both": (lambda write: write, tf.function),
}


@pytest.mark.parametrize("kinds", KINDS_OF_CODE)
@pytest.mark.parametrize("shape", [(4,), (100, 1000)], ids=str)
@pytest.mark.parametrize("method", WRITES)
def test_no_update_is_lost(method, shape, kinds, eager_switching):
    write, change = WRITES[method]
    v = tf.Variable(np.zeros(shape, np.float32))
    ways = [make(lambda: write(v) is None) for make in KINDS_OF_CODE[kinds]]
    for way in ways:
        way()
    in_step(lambda i: [ways[i % 2]() for _ in range(20)], 4)
    found = v.numpy().reshape(shape[0], -1)
    np.testing.assert_array_equal(found[0], 82 * change[0])
    np.testing.assert_array_equal(found[1], 82 * change[1])


@pytest.mark.parametrize("make", [lambda step: step, tf.function], ids=["eager", "compiled"])
def test_an_assignment_is_seen_before_or_after_a_step(make, eager_switching):
    """One thread adds 1 over and over, another assigns 1000 once:
    the end is at least 1000 and what came after it.
    """
    v = tf.Variable(np.zeros(50_000, np.float32))
    add = make(lambda: v.assign_add(tf.ones(v.shape)) is None)
    add()
    big = np.full(50_000, 1000.0, np.float32)
    for _ in range(10):
        v.assign(np.zeros(50_000, np.float32))
        in_step(lambda i: v.assign(big) if i else [add() for _ in range(10)], 2)
        assert np.unique(v.numpy()).size == 1
        assert 1000.0 <= v.numpy()[0] <= 1010.0


FORKED = """
import os, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import gradtape as tf

v = tf.Variable(np.ones(70_000, np.float32))
add, double = tf.function(lambda x: v.assign_add(x)), tf.function(lambda x: 2.0 * x)
x = tf.constant(np.ones(70_000, np.float32))
for _ in range(4):
    add(x), double(x)
large = tf.ones([1500, 1500])
tf.tanh(large)
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
for call in (
    lambda: add(x),
    lambda: double(x),
    lambda: tf.function(lambda x: x)(x),
    lambda: double.get_concrete_function(x)(x),
):
    try:
        call()
    except RuntimeError as error:
        assert "spawn" in str(error), error
    else:
        os._exit(3)
with tf.GradientTape() as tape:
    y = tf.reduce_sum(v * v) + tf.reduce_sum(tf.tanh(large)) * 0.0
assert float(tape.gradient(y, v)[0]) == 10.0
v.assign_add(x)
assert float(v[0]) == 6.0
os._exit(0)
"""


def test_a_forked_process_refuses_functions_at_once_and_goes_on_in_eager_code():
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_process_that_was_forked_before_the_first_function_may_use_them():
    code = """
import os, sys, warnings
warnings.simplefilter("ignore")
import gradtape as tf

double = tf.function(lambda x: 2.0 * x)
child = os.fork()
found = float(double(tf.constant(2.0)))
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os._exit(0 if found == 4.0 else 1)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
