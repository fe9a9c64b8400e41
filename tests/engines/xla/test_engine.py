"""What is set up in JAX and in Python around a call of JAX's, and ends with it whatever arrives:
settings, traces, the collector.
"""

import gc
import os
import sys
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import programs as xla_programs
from gradtape.engines.xla.engine import Uncollected
from tests.moments import RAISES_WHERE_SIGNALS_DO, at_moment

jax = xla_engine.load()


def switch():
    return jax.numpy.arange(2.0).dtype.name


@RAISES_WHERE_SIGNALS_DO
def test_the_switch_for_wide_numbers_ends_at_whatever_moment_an_exception_arrives():
    def interrupted():
        raise KeyboardInterrupt

    def used():
        with xla_engine.wide():
            pass

    used()
    count = at_moment(None, lambda: None, used).count
    assert count > 10
    for number in range(1, count + 1):
        with pytest.raises(KeyboardInterrupt):
            at_moment(number, interrupted, used)
        gone = (switch(), gc.isenabled(), len(Uncollected.entered))
        assert gone == ("float32", True, 0), number


def test_a_switch_of_the_users_own_is_left_alone():
    with jax.enable_x64(True):
        with tf.init_scope():
            assert switch() == "float64"
        assert switch() == "float64"
        tf.function(lambda x: x * 2)(tf.constant(1.0))
        assert switch() == "float64"
    assert switch() == "float32"


def test_inside_a_trace_the_switch_is_as_outside():
    seen = []

    @tf.function
    def f(x):
        with tf.init_scope():
            seen.append(switch())
        return x + 1

    f(tf.constant(1.0, tf.float64))
    with jax.enable_x64(True):
        f(tf.constant([1.0], tf.float64))
    assert seen == ["float32", "float64"]


@pytest.mark.parametrize("ends", ["wide", "call_compiled"])
def test_a_trace_that_jax_did_not_leave_is_left(ends):
    """As if an exception had arrived when JAX was about to leave it."""
    traces = xla_engine._traces()
    before = traces.trace

    def interrupted():
        traces.set_trace(None)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        if ends == "wide":
            with xla_engine.wide():
                interrupted()
        else:
            xla_engine.call_compiled(interrupted)
    assert traces.trace is before
    assert float(jax.numpy.ones(3).sum()) == 3.0


def test_threads_leave_the_collector_as_it_was():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work():
        for _ in range(200):
            with Uncollected():
                pass
            xla_engine.call_uncollected(int)

    try:
        for _ in range(20):
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert gc.isenabled()
            assert not Uncollected.entered
    finally:
        sys.setswitchinterval(interval)
        gc.enable()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        xla_engine.call_uncollected(int)
        with Uncollected():
            xla_engine.call_uncollected(int)
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there the collector is not switched off")
def test_a_call_inside_a_block_of_another_thread_leaves_it_off_until_that_ends():
    block = Uncollected()
    seen = []

    def called():
        block.__enter__()
        seen.append(gc.isenabled())

    xla_engine.call_uncollected(called)
    seen.append(gc.isenabled())
    block.leave()
    seen.append(gc.isenabled())
    assert seen == [False, False, True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_fork_in_the_midst_of_a_block_collects():
    entered, done = threading.Event(), threading.Event()

    def work():
        with Uncollected():
            entered.set()
            done.wait()

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def program():
    """A compiled function that writes over its first input."""
    add = lambda v, x: [v + x]
    return xla_programs.Guarded(jax.jit(add, donate_argnums=(0,)), add)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
@pytest.mark.parametrize("is_on", [True, False])
def test_a_fork_in_the_midst_of_another_threads_call_leaves_the_collector_as_it_was(is_on):
    inside, done = threading.Event(), threading.Event()
    thread = threading.Thread(
        target=xla_engine.call_uncollected, args=(lambda: (inside.set(), done.wait()),)
    )
    was_on = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        thread.start()
        inside.wait()
        child = os.fork()
        if child == 0:
            os._exit(int(gc.isenabled()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == is_on
    finally:
        done.set()
        thread.join()
        assert gc.isenabled() == is_on
        (gc.enable if was_on else gc.disable)()


def test_a_program_that_is_not_prepared_does_nothing():
    guarded = program()
    v, x = jax.numpy.zeros(3), jax.numpy.ones(3)
    with pytest.raises(xla_programs.UnpreparedError):
        list(guarded.program(v, x))
    assert not v.is_deleted()
    (found,) = guarded.prepare(jax.numpy.zeros(3), x)
    (found,) = guarded.program(found, x)
    np.testing.assert_array_equal(found, [2.0, 2.0, 2.0])
    with jax.default_matmul_precision("highest"), pytest.raises(xla_programs.UnpreparedError):
        list(guarded.program(found, x))  # a setting that programs depend on has changed
    assert not found.is_deleted()
    list(guarded.program(found, x))
    assert found.is_deleted()
