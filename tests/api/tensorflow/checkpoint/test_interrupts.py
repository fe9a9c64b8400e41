"""Saving and restoring, interrupted at every line: by an exception, as Ctrl-C raises one, and by a
signal handler that saves itself.
"""

import json
import linecache
import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gradtape as tf
import gradtape.train
from gradtape.api.tensorflow import checkpoint as checkpoint_package
from gradtape.core import buffered
from gradtape.core import variable as variable_module
from tests.moments import RAISES_WHERE_SIGNALS_DO

SAVING = str(Path(checkpoint_package.__file__).parent)
RESTORING = (SAVING, variable_module.__file__, buffered.__file__)


UNINTERRUPTED = (
    "with ",
    "try:",
    "self._state = state",
    "self._newest[folder] = mine",
    "self._latest_order = order",
)
COMPARISONS = (
    "if self._state is before",
    "if folder not in self._newest",
    "if self._latest_order > order",
)


class StopError(BaseException):
    """What a signal handler raises."""


def interrupted_at(number, work, interrupt, *, files=SAVING, opcodes=False):
    """Does the work, and calls `interrupt` before line (or instruction) number so-and-so;
    whether there is such a line.

    Where Python answers no signal, since nothing is called, there is none: between the end of a
    block and the call of `__exit__`, and between a comparison and the assignment that rests on it.
    """
    left = number

    def trace(frame, event, _argument):
        nonlocal left
        if not frame.f_code.co_filename.startswith(files):
            return None
        frame.f_trace_opcodes = opcodes
        # What ends a block has no line.
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno or 0).lstrip()
        if (
            event == ("opcode" if opcodes else "line")
            and line
            and not line.startswith(UNINTERRUPTED + opcodes * COMPARISONS)
        ):
            if left == 0:
                sys.settrace(None)
                left = -1
                interrupt()
                return None
            left -= 1
        return trace

    before = sys.gettrace()
    # Python 3.12 must know beforehand that a frame will ask for instructions.
    sys._getframe().f_trace_opcodes = opcodes
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return left < 0


def stop():
    raise StopError


def program(folder, max_to_keep=2):
    a, b = tf.Variable(np.zeros(5)), tf.Variable(0.0)
    return a, b, tf.train.CheckpointManager(tf.train.Checkpoint(a=a, b=b), folder, max_to_keep)


def give(a, b, value):
    a.assign(np.full(5, value))
    b.assign(value)


def restored(folder):
    """The number that both Variables of the latest checkpoint hold."""
    a, b, manager = program(folder)
    assert manager.restore_or_initialize() is not None
    (number,) = {*a.numpy().tolist(), float(b)}
    return number


def state_of(folder):
    return json.loads((folder / "checkpoint").read_text())


def on_disk(folder):
    return sorted(
        path.name.removesuffix(".safetensors")
        for path in folder.iterdir()
        if path.suffix == ".safetensors"
    )


FINE = pytest.mark.parametrize(
    ("opcodes", "stride"),
    [
        (False, 8),
        pytest.param(False, 1, marks=pytest.mark.slow),
        pytest.param(True, 5, marks=pytest.mark.slow),
    ],
    ids=["some lines", "lines", "instructions"],
)


@RAISES_WHERE_SIGNALS_DO
@FINE
def test_a_save_that_is_interrupted_anywhere_leaves_a_good_checkpoint(tmp_path, opcodes, stride):
    a, b, manager = program(tmp_path)
    number = 0
    reached = 1.0
    give(a, b, reached)
    manager.save()
    while True:
        give(a, b, reached + 1)
        try:
            hit = interrupted_at(number, manager.save, stop, opcodes=opcodes)
        except StopError:
            hit = True
        found = restored(tmp_path)
        assert found in (reached, reached + 1)
        assert int(manager.checkpoint.save_counter) >= 1
        give(a, b, reached + 2)
        path = manager.save()
        assert manager.latest_checkpoint == path
        reached = restored(tmp_path)
        assert reached == float(b)
        assert len(manager.checkpoints) == 2
        number += stride
        if not hit:
            break
    assert number > 100
    thread = threading.Thread(target=manager.save)  # no lock was left behind
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert on_disk(tmp_path) == sorted(state_of(tmp_path)["all_model_checkpoint_paths"])


@FINE
def test_a_handler_that_saves_while_a_save_runs(tmp_path, opcodes, stride):
    """The handler's checkpoint is whole when it returns; in the end the latest is that of the later
    moment, and none is left over.
    """
    number = 0
    while True:
        folder = tmp_path / f"{number % 2}-{number}"
        a, b, manager = program(folder)
        for value in (1.0, 2.0):
            give(a, b, value)
            manager.save()
        inner = []

        def handler(a=a, b=b, manager=manager, inner=inner, folder=folder):
            give(a, b, 7.0)
            inner.append(manager.save())
            assert restored(folder) == 7.0

        outer = []
        hit = interrupted_at(
            number,
            lambda manager=manager, outer=outer: outer.append(manager.save()),
            handler,
            opcodes=opcodes,
        )
        assert restored(folder) == (7.0 if hit else 2.0)
        assert outer != inner
        assert len(manager.checkpoints) == 2
        assert on_disk(folder) == sorted(state_of(folder)["all_model_checkpoint_paths"])
        give(a, b, 9.0)
        assert manager.save() not in (*outer, *inner)
        assert restored(folder) == 9.0
        assert on_disk(folder) == sorted(state_of(folder)["all_model_checkpoint_paths"])
        number += stride
        if not hit:
            break
    assert number > 100


@FINE
def test_a_handler_that_saves_by_the_checkpoint_itself(tmp_path, opcodes, stride):
    number = 0
    while True:
        folder = tmp_path / str(number)
        v = tf.Variable(1.0)
        checkpoint = tf.train.Checkpoint(v=v)
        paths = []

        def save(folder=folder, checkpoint=checkpoint, paths=paths):
            paths.append(checkpoint.save(folder / "model"))

        def handler(v=v, save=save):
            v.assign(7.0)
            save()

        hit = interrupted_at(number, save, handler, opcodes=opcodes)
        latest = tf.train.latest_checkpoint(folder)
        other = tf.train.Checkpoint(v=tf.Variable(0.0))
        other.restore(latest).assert_consumed()
        assert float(other.v) == (7.0 if hit else 1.0)
        assert len(set(paths)) == 1 + hit
        for path in paths:
            other.restore(path).assert_consumed()
        number += stride
        if not hit:
            break
    assert number > 80


@RAISES_WHERE_SIGNALS_DO
def test_a_handler_whose_save_is_interrupted_too(tmp_path):
    a, b, manager = program(tmp_path)
    give(a, b, 1.0)
    manager.save()
    for outer in range(0, 120, 11):
        for inner in range(0, 120, 13):

            def handler(inner=inner):
                interrupted_at(inner, manager.save, stop)
                raise StopError

            with pytest.raises(StopError):
                interrupted_at(outer, manager.save, handler)
            assert restored(tmp_path) == 1.0
    manager.save()
    assert on_disk(tmp_path) == sorted(state_of(tmp_path)["all_model_checkpoint_paths"])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals")
def test_signals_at_random_moments_of_saving(tmp_path):
    a, b, manager = program(tmp_path)
    moments = np.random.default_rng(0).uniform(1e-4, 6e-3, 60)
    saved = []

    def handler(_number, _frame):
        saved.append(manager.save())

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for number, moment in enumerate(moments):
            give(a, b, float(number))
            signal.setitimer(signal.ITIMER_REAL, moment)
            manager.save()
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            assert restored(tmp_path) == number
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert saved
    assert on_disk(tmp_path) == sorted(state_of(tmp_path)["all_model_checkpoint_paths"])


def test_a_handler_that_saves_while_another_thread_saves_and_the_program_writes(tmp_path):
    """The other thread waits for the Variables that the interrupted code writes, and the handler
    for nothing that the thread has.
    """
    from gradtape.core.writing import writing

    a, b, manager = program(tmp_path)
    give(a, b, 1.0)
    manager.save()
    waiting = threading.Event()
    thread = threading.Thread(target=lambda: (waiting.set(), manager.save()))
    with writing.lock:  # as in a step of a compiled function
        thread.start()
        waiting.wait()
        thread.join(0.2)
        ended = threading.Event()
        give(a, b, 2.0)
        manager.save()  # the handler, on this thread
        ended.set()
    thread.join(20)
    assert not thread.is_alive()
    assert ended.is_set()
    assert restored(tmp_path) == 2.0


# Restoring


class Slot:
    """What a variable of Keras looks like to a checkpoint."""

    def __init__(self, value):
        self.path, self.inner = "adam/momentum", tf.Variable(value)

    @property
    def __gradtape_variable__(self):
        return self.inner

    def assign(self, value):
        self.inner.assign(value)


def training(value):
    optimizer = type("Optimizer", (), {})()
    optimizer.variables = [Slot([value])]
    checkpoint = tf.train.Checkpoint(
        v=[tf.Variable([value, value]) for _ in range(3)],
        rng=tf.random.Generator.from_seed(int(value)),
        optimizer=optimizer,
    )
    checkpoint.save_counter.assign(int(value))
    return checkpoint


def values(checkpoint):
    found = [
        *checkpoint.v,
        checkpoint.rng.state,
        checkpoint.save_counter,
        checkpoint.optimizer.variables[0].inner,
    ]
    return [v.numpy().tolist() for v in found]


@RAISES_WHERE_SIGNALS_DO
@FINE
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_restore_that_is_interrupted_anywhere_gives_all_values_or_none(
    tmp_path, compiled, opcodes, stride
):
    path = training(5.0).write(tmp_path / "five")
    target = training(1.0)
    old, new = values(target), values(training(5.0))
    step = tf.function(lambda: [v.assign(v * 1.0) for v in target.v])
    number = 0
    while True:
        if compiled:
            step()  # the values are XLA's
        try:
            hit = interrupted_at(
                number, lambda: target.restore(path), stop, files=RESTORING, opcodes=opcodes
            )
        except StopError:
            hit = True
        assert values(target) in (old, new)
        for variable, value in zip(
            [*target.v, target.rng.state, target.save_counter], old[:-1], strict=True
        ):
            variable.assign(np.asarray(value).astype(variable.dtype.numpy))
        target.optimizer.variables[0].assign(old[-1])
        number += stride
        if not hit:
            break
    assert number > 100


def test_a_variable_that_refuses_its_value_leaves_all_others_as_they_were(tmp_path):
    path = training(5.0).write(tmp_path / "five")
    target = training(1.0)
    before = values(target)

    def refuse(_value):
        raise RuntimeError("not today")

    target.optimizer.variables[0].assign = refuse
    with pytest.raises(RuntimeError, match="not today"):
        target.restore(path)
    assert values(target) == before


@RAISES_WHERE_SIGNALS_DO
def test_two_interrupts_one_after_the_other(tmp_path):
    path = training(5.0).write(tmp_path / "five")
    target = training(1.0)
    before = values(target)

    def refuse(_value):
        raise StopError

    target.optimizer.variables[0].assign = refuse
    for number in range(40):

        def work(number=number):
            interrupted_at(
                number, lambda: target.restore(path), stop, files=f"{SAVING}{os.sep}restoring.py"
            )

        with pytest.raises(StopError):
            work()
        assert values(target) == before
