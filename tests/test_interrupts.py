"""Signals at random moments: nothing is lost, nothing stays stuck,
and a handler may use gradtape (see `interrupted.py`).
"""

from __future__ import annotations

import contextlib
import gc
import json
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.blocks import Block, block
from gradtape.core.thread import here
from gradtape.engines.xla.collector import Uncollected
from tests.interrupted import SCENARIOS, stuck

ROOT = Path(__file__).parent.parent
KINDS = ["raise", "handle"]
SAMPLE = [
    ("eager", "raise"),
    ("eager", "handle"),
    ("compiled", "raise"),
    ("compiled", "handle"),
    ("fit", "raise"),
]


def interrupt(scenario, kind, count, seed):
    command = [sys.executable, "-m", "tests.interrupted", scenario, kind, str(count), str(seed)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failures"] == []
    assert found["handled"] >= count


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("scenario", "kind"), SAMPLE)
def test_some_moments(scenario, kind):
    interrupt(scenario, kind, 15, 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_five_hundred_moments(scenario, kind):
    interrupt(scenario, kind, 500, 1)


class Stopped(BaseException):
    pass


@pytest.mark.parametrize("moment", ["enter", "leave"])
@pytest.mark.parametrize("make", [
    tf.GradientTape,
    lambda: tf.autodiff.ForwardAccumulator(tf.constant(1.0), tf.constant(1.0)),
    lambda: here.state.only([tf.GradientTape()]),
], ids=["tape", "accumulator", "only"])  # fmt: skip
def test_a_block_ends_if_an_exception_comes_between(make, moment, monkeypatch):
    """As Python has it when a signal's exception arrives where a block begins or ends:
    nobody calls what would end it.
    """
    thing = make()
    kind = type(thing)
    begin, end = kind.enter, kind.leave

    def enter(self):
        begin(self)
        if moment == "enter":
            raise Stopped

    def leave(self):
        if moment == "leave" and not stopped:
            stopped.append(True)
            raise Stopped
        end(self)

    stopped = []
    monkeypatch.setattr(kind, "enter", enter)
    monkeypatch.setattr(kind, "leave", leave)
    with pytest.raises(Stopped), thing:
        pass
    assert stuck() == []
    monkeypatch.undo()
    with tf.GradientTape() as tape:
        x = tf.Variable(2.0)
        y = x * x
    assert float(tape.gradient(y, x)) == 4.0


def test_a_block_that_somebody_looks_at_goes_on():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        assert hasattr(tape, "__exit__")
        y = x * x
    assert float(tape.gradient(y, x)) == 4.0


def test_blocks_in_an_exit_stack_and_by_hand():
    x = tf.Variable(2.0)
    with contextlib.ExitStack() as stack:
        tape = stack.enter_context(tf.GradientTape())
        y = x * x
    assert float(tape.gradient(y, x)) == 4.0
    by_hand = tf.GradientTape()
    assert by_hand.__enter__() is by_hand
    y = x**3
    by_hand.__exit__(None, None, None)
    assert stuck() == []
    assert float(by_hand.gradient(y, x)) == 12.0


def test_a_generator_block():
    seen = []

    @block
    def outer(name):
        seen.append(f"begin {name}")
        try:
            yield
        finally:
            seen.append(f"end {name}")

    with outer("a"), pytest.raises(KeyError), outer("b"):
        raise KeyError

    @outer("c")
    def decorated():
        seen.append("inside")

    decorated()
    decorated()
    assert seen == ["begin a", "begin b", "end b", "end a", *["begin c", "inside", "end c"] * 2]
    assert isinstance(outer("d"), Block)


@pytest.mark.parametrize(
    "make",
    [tf.GradientTape, lambda: tf.autodiff.ForwardAccumulator(tf.constant(1.0), tf.constant(1.0))],
)
def test_what_was_entered_in_another_thread_is_refused_here(make):
    thing, errors = make(), []

    def leave():
        try:
            thing.__exit__(None, None, None)
        except RuntimeError as error:
            errors.append(str(error))

    with thing:
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
        assert thing.recording
    assert not thing.recording
    assert len(errors) == 1
    assert "was entered in another thread" in errors[0]


def test_an_error_of_a_handler_stays_what_it_is(monkeypatch):
    """A kernel may be interrupted by a handler that raises an error of its own."""
    x = tf.constant([1.0, 2.0])

    def interrupted(*args, **params):
        raise TimeoutError("after 3 s")

    monkeypatch.setattr(here.state, "run", interrupted)
    for call in (lambda: tf.tanh(x), lambda: tf.cumsum(x), lambda: tf.split(x, 2)):
        with pytest.raises(TimeoutError, match="after 3 s"):
            call()


def test_a_finalizer_may_use_gradtape_while_a_function_is_traced():
    """The collector may run it between any two allocations of JAX's.

    On Python 3.11 its code object lost references, until Python crashed.
    """
    squared = tf.function(lambda x: x * x)
    two = tf.constant(2.0)
    assert float(squared(two)) == 4.0
    runs = []

    class Finalized:
        def __init__(self):
            self.itself = self

        def __del__(self):
            with tf.init_scope():
                runs.append(float(squared(two)))

    def trace():
        return tf.function(lambda x: tf.reduce_sum(tf.tanh(x) * x)).get_concrete_function(
            tf.TensorSpec([3])
        )

    code, chance, thresholds = Finalized.__del__.__code__, random.Random(1), gc.get_threshold()
    trace()
    gc.collect()
    before = sys.getrefcount(code)
    for _ in range(150):
        Finalized()
        try:
            gc.set_threshold(chance.randrange(20, 700), 10, 10)
            trace()
        finally:
            gc.set_threshold(*thresholds)
        assert sys.getrefcount(code) >= before
    gc.collect()
    assert set(runs) == {4.0}
    assert len(runs) > 100


def test_the_collector_is_on_again_when_all_have_left():
    """Blocks of several threads end in any order;
    one that was switched off by its owner stays off.
    """
    first, second = Uncollected(), Uncollected()
    collects = gc.isenabled()
    assert collects
    try:
        with contextlib.ExitStack() as outer:
            outer.enter_context(second)
            with first:
                assert not gc.isenabled()
            assert not gc.isenabled()
        assert gc.isenabled()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert not gc.isenabled()
        second.__exit__(None, None, None)
        assert gc.isenabled()
        gc.disable()
        with first:
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert not Uncollected.entered
