"""Elementwise work on large arrays that threads share: the same numbers, whoever computes them."""

import math
import multiprocessing
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.numpy import blas, threads
from gradtape.engines.numpy.crowding import Crowd
from gradtape.ops.registry import registry
from gradtape.ops.written import shares

SHARING = sorted(name for name, op in registry.items() if shares(op) and op.pulls[0] is not None)


@pytest.fixture(autouse=True)
def nobody_else(monkeypatch):
    """Other programs on the machine of the tests do not matter."""
    crowd = Crowd()
    crowd.ignored = True
    monkeypatch.setattr(threads, "crowd", crowd)
    monkeypatch.setattr(blas, "crowd", crowd)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(threads, "_BLOCK", 7)
    monkeypatch.setattr(threads, "_last_product", -math.inf)
    monkeypatch.setattr(threads, "_BLAS_SHARES", True)
    threads.set_threads(3)
    yield
    threads.set_threads(0)


def test_the_functions_of_one_variable_share():
    assert {"exp", "tanh", "sqrt", "sigmoid", "log", "relu", "negative"} <= set(SHARING)


@pytest.mark.parametrize("name", SHARING)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_shared_kernel_and_its_derivative_are_the_plain_ones_bit_for_bit(
    small_blocks, name, dtype
):
    op = registry[name]
    x, g = (np.random.default_rng(seed).uniform(0.1, 0.9, (5, 10)).astype(dtype) for seed in (0, 1))
    with np.errstate(all="ignore"):
        plain = op.kernel(x)
        np.testing.assert_array_equal(threads.shared(op.kernel, x), plain)
        assert threads.shared(op.kernel, x).dtype == plain.dtype
        pull = op.pulls[0]
        saved = [{"x": x, "out": plain}[value] for value in op.saves[0]]
        np.testing.assert_array_equal(threads.shared(pull, g, *saved), pull(g, *saved))


@pytest.mark.parametrize("size", [0, 1, 6, 7, 8, 20, 21, 22, 1000])
def test_every_length(small_blocks, size):
    x = np.linspace(0.0, 3.0, size)
    np.testing.assert_array_equal(threads.shared(np.exp, x), np.exp(x))
    np.testing.assert_array_equal(threads.shared(lambda a, b: a * b - a, x, x + 1), x * (x + 1) - x)


def test_views_with_gaps_and_other_shapes_go_the_plain_way(small_blocks):
    x = np.arange(60.0).reshape(6, 10)
    np.testing.assert_array_equal(threads.shared(np.sqrt, x.T), np.sqrt(x.T))
    np.testing.assert_array_equal(threads.shared(np.add, x, x[:1]), x + x[:1])
    assert threads.shared(np.sum, x) == x.sum()  # not elementwise: its result says so


@pytest.mark.parametrize("product", ["matmul", "conv"])
def test_nothing_is_shared_while_the_threads_of_blas_hold_the_cores(small_blocks, product):
    seen = set()

    def noting(x):
        seen.add(threading.get_ident())
        return x + 1

    x = np.zeros(100)
    threads.shared(noting, x)
    assert len(seen) > 1
    if product == "matmul":
        tf.matmul(tf.ones([200, 200]), tf.ones([200, 200]))
    else:
        tf.nn.conv2d(tf.ones([8, 32, 32, 8]), tf.ones([3, 3, 8, 8]), 1, "SAME")
    seen.clear()
    np.testing.assert_array_equal(threads.shared(noting, x), x + 1)
    assert seen == {threading.get_ident()}
    threads._last_product -= 2 * threads._SETTLED
    threads.shared(noting, x)
    assert len(seen) > 1


def test_a_gradient_through_a_large_array_is_that_of_one_thread():
    values = np.linspace(-2.0, 2.0, threads.VERY_LARGE + 123, dtype=np.float32)

    def gradient():
        x = tf.constant(values)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sqrt(tf.exp(tf.sigmoid(tf.tanh(x)))))
        return tape.gradient(y, x).numpy()

    with_threads = gradient()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    try:
        assert tf.config.threading.get_intra_op_parallelism_threads() == 1
        np.testing.assert_array_equal(gradient(), with_threads)
    finally:
        tf.config.threading.set_intra_op_parallelism_threads(0)
    part = slice(1000, 1010)
    t = np.tanh(values[part].astype(np.float64))
    s = 1 / (1 + np.exp(-t))
    np.testing.assert_allclose(
        with_threads[part], 0.5 * np.exp(s / 2) * s * (1 - s) * (1 - t * t), rtol=2e-6
    )


def test_only_the_main_thread_shares_its_work():
    threads.set_threads(4)
    try:
        assert threads.threads() == 4
        found = []
        worker = threading.Thread(target=lambda: found.append(threads.threads()))
        worker.start()
        worker.join()
        assert found == [1]
    finally:
        threads.set_threads(0)


def test_omp_num_threads_is_heeded(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads.threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "none")
    assert threads.threads() >= 1


def test_what_a_thread_raises_arrives(small_blocks):
    def late(x):
        if x.size > 1 and x[0] > 30:
            raise ArithmeticError("too late")
        return x

    with pytest.raises(ArithmeticError, match="too late"):
        threads.shared(late, np.arange(60.0))


def test_nothing_warns_in_the_threads(small_blocks):
    with np.errstate(all="ignore"):
        assert np.isinf(threads.shared(np.log, np.zeros(60))).all()


def test_a_negative_number_of_threads_is_refused():
    with pytest.raises(ValueError, match="num_threads must be 0 or more, got -1"):
        tf.config.threading.set_intra_op_parallelism_threads(-1)


def _work(queue):
    queue.put(threads.shared(np.exp, np.zeros(60)).sum())


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork"
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_forked_child_makes_threads_of_its_own(small_blocks):
    threads.shared(np.exp, np.zeros(60))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_work, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == 60
    child.join()


def test_a_variable_is_still_written_in_place_beside_the_threads_of_the_pool(small_blocks):
    threads.shared(np.exp, np.zeros(60))
    assert threading.active_count() > 1
    assert threads.other_threads() == 0, threading.enumerate()
    v = tf.Variable(np.zeros(1000, np.float32))
    buffer = v.array.ctypes.data
    v.assign_add(np.ones(1000, np.float32))
    assert v.array.ctypes.data == buffer
    assert v.numpy().sum() == 1000.0


@pytest.fixture
def always_worth(small_blocks, monkeypatch):
    monkeypatch.setattr(threads, "_WORTH", 0.0)


@pytest.mark.parametrize("size", [0, 1, 6, 7, 8, 20, 21, 22, 1000])
def test_blocks_of_every_length(always_worth, size):
    x, y = np.linspace(0.0, 3.0, size), np.linspace(1.0, 2.0, size)
    np.testing.assert_array_equal(threads.in_blocks(np.hypot, x, y, size=7), np.hypot(x, y))


def test_blocks_of_arrays_that_are_not_contiguous(always_worth):
    x = np.linspace(0.0, 3.0, 60, dtype=np.float32).reshape(6, 10).T
    found = threads.in_blocks(np.sqrt, x, size=7)
    np.testing.assert_array_equal(found, np.sqrt(x))
    assert found.dtype == np.float32


def test_threads_take_blocks_in_turns(always_worth):
    """All of them, each once; within one nothing is shared again."""
    seen, met, both = [], set(), threading.Barrier(2, timeout=20)

    def function(x):
        if seen and threading.get_ident() not in met:
            met.add(threading.get_ident())
            both.wait()  # for the other thread
        seen.append((threading.get_ident(), float(x[0]), threads.threads()))
        return x

    threads.set_threads(2)
    threads.in_blocks(function, np.arange(70.0), size=7)
    idents, firsts, counts = zip(*seen, strict=True)
    assert sorted(firsts) == [7.0 * i for i in range(10)]
    assert len(set(idents)) == 2
    assert set(counts[1:]) == {1}
    assert threads.threads() == 2


def test_an_error_in_a_block_reaches_the_caller_and_sharing_goes_on(always_worth):
    def function(x):
        if x[0] > 50:
            raise ValueError("in a block")
        return x

    for _ in range(2):
        with pytest.raises(ValueError, match="in a block"):
            threads.in_blocks(function, np.arange(70.0), size=7)
    assert threads.threads() == 3
