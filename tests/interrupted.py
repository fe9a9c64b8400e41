"""A program that interrupts itself: `python -m tests.interrupted SCENARIO raise|handle COUNT SEED`
prints what was found, as JSON.

A timer's signal arrives at a random moment of some steps. Its handler raises KeyboardInterrupt, as
Ctrl-C does, or uses gradtape: it reads the Variables, runs ops and a tape, calls a function and
saves a checkpoint. Every step adds 1 to all Variables of the scenario, so that they are equal at
every moment at which somebody can look, and count the steps.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
import time

import numpy as np

import gradtape as tf
from gradtape.core.thread import here

SHAPES = [(), (3,), (64, 65), (2, 0, 3)]


class Scenario:
    """Variables, and a step that adds 1 to each."""

    def __init__(self):
        self.variables = [tf.Variable(np.zeros(shape, np.float32)) for shape in SHAPES]
        self.step = self.make()

    def make(self):
        raise NotImplementedError

    def values(self):
        """The number of steps that each Variable has seen; fails if the elements of one differ."""
        found = []
        for variable in self.variables:
            values = np.unique(variable.numpy())
            assert len(values) <= 1, f"a part of a Variable was written: {values}"
            found += values.tolist()
        return found

    def loss(self):
        return tf.add_n(
            [tf.reduce_sum(tf.tanh(v) * 0.0 - v) for v in self.variables[: len(SHAPES)]]
        )

    def update(self, gradients):
        for variable, gradient in zip(self.variables, gradients, strict=True):
            variable.assign_sub(gradient)


class Eager(Scenario):
    """A tape, and one Variable after the other: each is whole,
    but a step is not one thing in eager code.
    """

    together = False

    def make(self):
        def step():
            with tf.GradientTape() as tape:
                loss = self.loss()
            self.update(tape.gradient(loss, self.variables))

        return step


class Assign(Scenario):
    together = False

    def make(self):
        def step():
            for variable in self.variables:
                variable.assign(variable + 1.0)
                variable.assign_add(tf.ones(variable.shape))
                variable.assign_sub(tf.ones(variable.shape))

        return step


class Compiled(Scenario):
    together = True

    def make(self):
        @tf.function
        def step():
            with tf.GradientTape() as tape:
                loss = self.loss()
            self.update(tape.gradient(loss, self.variables))
            return loss

        return step


class Wide(Compiled):
    """With numbers of 64 bits, which take another way into XLA."""

    def __init__(self):
        super().__init__()
        self.variables.append(tf.Variable(np.zeros(5)))
        self.step = self.make()

    def loss(self):
        return tf.cast(super().loss(), tf.float64) - sum(
            tf.reduce_sum(v) for v in self.variables[len(SHAPES) :]
        )


class Nested(Compiled):
    """Functions in functions, in branches and loops, and a tape outside."""

    def make(self):
        loss = tf.function(self.loss)
        update = tf.function(self.update)

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                value = tf.cond(x > 0.0, loss, lambda: 2.0 * loss())
            update(tape.gradient(value, self.variables))
            return x * value

        def run():
            x = tf.constant(1.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = step(x)
            tape.gradient(y, x)

        return run


class Tracing(Compiled):
    """Every step is a new function, so that most of the time is spent in tracing and compiling."""

    def make(self):
        make = super().make
        return lambda: make()()


class Save(Compiled):
    """A checkpoint after every step: what was saved last can be restored,
    and is one of the last two steps.
    """

    def make(self):
        self.folder = tempfile.mkdtemp()
        self.manager = tf.train.CheckpointManager(
            tf.train.Checkpoint(v=self.variables), self.folder, max_to_keep=2
        )
        step = super().make()

        def run():
            step()
            self.manager.save()

        return run

    def values(self):
        now = super().values()
        latest = tf.train.latest_checkpoint(self.folder)
        if latest is not None:
            saved = [tf.Variable(np.zeros(shape, np.float32)) for shape in SHAPES]
            tf.train.Checkpoint(v=saved).restore(latest).assert_consumed()
            numbers = {float(n) for v in saved for n in np.unique(v.numpy())}
            assert len(numbers) == 1, f"a checkpoint holds {numbers}"
            assert now[0] - 2 <= numbers.pop() <= now[0], "a checkpoint was lost"
        return now


class Fit(Scenario):
    together = True

    def make(self):
        keras = tf.keras
        owner = self

        class Line(keras.Model):
            def __init__(self):
                super().__init__()
                self.parts = [self.add_weight(shape=shape, initializer="zeros") for shape in SHAPES]

            def call(self, x):
                return -tf.add_n([tf.reduce_sum(part) for part in self.parts]) + 0.0 * x

        self.model = Line()
        self.model.compile(
            optimizer=keras.optimizers.SGD(1.0), loss=lambda y, out: tf.reduce_mean(out)
        )
        x = np.zeros((6, 1), np.float32)
        self.model.build((None, 1))
        owner.variables = [part._value for part in self.model.parts]
        return lambda: self.model.fit(x, x, batch_size=2, epochs=1, verbose=0)

    def values(self):
        found = super().values()
        assert int(self.model.optimizer.iterations.numpy()) == found[0], (
            "the optimizer has not counted with the model"
        )
        return found


SCENARIOS = {
    kind.__name__.lower(): kind
    for kind in (Eager, Assign, Compiled, Wide, Nested, Tracing, Save, Fit)
}


def stuck():
    """What of this thread's state is not as it was at first."""
    state = here.state
    expected = {
        "recorders": (),
        "scope": None,
        "pushers": (),
        "levels": (),
        "trace": None,
        "draws": None,
        "walking": False,
    }
    return [
        f"{name} is {getattr(state, name)!r}"
        for name, value in expected.items()
        if getattr(state, name) != value
    ]


def works(scenario):
    """Whether everything works afterwards."""
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    assert float(tape.gradient(y, x)) == 6.0
    before = scenario.values()
    scenario.step()
    assert scenario.values()[0] > before[0], "a step did nothing"


def in_handler(scenario, failures):
    """What a handler may do: read, compute, differentiate, call a function, save."""
    saved = tf.train.Checkpoint(v=scenario.variables)
    squared = tf.function(lambda x: x * x)

    def handle():
        with tf.init_scope():  # it may arrive while a function is being traced
            use()

    def use():
        try:
            found = scenario.values()
            if scenario.together and len(set(found)) > 1:
                failures.append(f"a handler saw {found}")
            x = tf.constant([1.0, 2.0, 3.0])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.math.softplus(x) ** 2)
            assert tape.gradient(y, x).shape == (3,)
            assert float(squared(tf.constant(2.0))) == 4.0
            saved.write(f"{tempfile.gettempdir()}/interrupted-{id(scenario)}")
        except Exception as error:  # noqa: BLE001 - it is reported
            failures.append(f"{type(error).__name__} in a handler: {error}")

    return handle


def main(name, kind, count, seed):
    scenario, failures, chance = SCENARIOS[name](), [], random.Random(seed)
    handled = 0
    handle = in_handler(scenario, failures)
    handle()
    assert not failures, failures

    def on_signal(number, frame):
        nonlocal handled
        handled += 1
        if kind == "raise":
            raise KeyboardInterrupt
        handle()

    for _ in range(4):
        scenario.step()
    start = time.perf_counter()
    for _ in range(3):
        scenario.step()
    duration = (time.perf_counter() - start) / 3
    signal.signal(signal.SIGALRM, on_signal)
    for attempt in range(count):
        before = handled
        try:
            signal.setitimer(signal.ITIMER_REAL, 1e-6 + chance.random() * duration * 1.2)
            while handled == before:
                scenario.step()
        except KeyboardInterrupt:
            pass
        try:
            found = scenario.values()
            if scenario.together and len(set(found)) > 1:
                failures.append(f"attempt {attempt}: Variables of one step hold {found}")
                break
            failures += [f"attempt {attempt}: {problem}" for problem in stuck()]
            works(scenario)
        except Exception as error:  # noqa: BLE001 - it is reported
            failures.append(f"attempt {attempt}: {type(error).__name__}: {error}")
        if not scenario.together:
            for variable in scenario.variables:
                variable.assign(tf.zeros(variable.shape))
        if len(failures) > 5:
            break
    sys.stdout.write(json.dumps({"handled": handled, "failures": failures}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
