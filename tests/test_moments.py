"""Every moment at which Python answers signals, in code that reads and writes Variables:
see `moments.py`.

A handler that raises must leave each Variable whole and nothing stuck. One that uses the very
Variables that are being written must not lose an update, or see a Tensor change that it has kept,
or leave functions with another value than eager code has.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.naming import scoped
from gradtape.core.thread import here
from gradtape.engines.xla import settings as xla_settings
from tests.interrupted import stuck
from tests.moments import RAISES_WHERE_SIGNALS_DO, at_moment

LARGE = 200 * 200  # elements, of which one copy is enough


class Stopped(BaseException):
    pass


def stop():
    raise Stopped


class Case:
    """A Variable whose elements are all equal, functions that read it and add 1 to it,
    and a `step` that adds 1 too.
    """

    adds = 1

    def __init__(self, size):
        self.variable = self.made(size)
        self.ones = tf.ones(self.variable.shape)
        self.read = tf.function(lambda: self.variable * 1.0)
        self.bump = tf.function(lambda: self.variable.assign_add(self.ones))
        self.set_to_1000 = tf.function(lambda: self.variable.assign(self.ones * 1000.0))
        for _ in range(3):
            self.set_to_1000()
            self.bump()
            self.read()
        self.kept = []

    def made(self, size):
        return tf.Variable(np.zeros((size // 4, 4), np.float32))

    def ready(self):
        """What comes before the step that is interrupted: it adds 1 too,
        so that it is known where the value is.
        """
        self.variable.assign_add(self.ones)

    def step(self):
        raise NotImplementedError

    def number(self):
        """The one number that all elements are, for functions and eager code alike."""
        compiled, eager = self.read().numpy(), self.variable.numpy()
        assert len(np.unique(eager)) == 1
        np.testing.assert_array_equal(compiled, eager)
        return float(eager.flat[0])

    def keep(self):
        tensor = self.variable.read_value()
        self.kept.append((tensor, tensor.numpy().copy()))

    def check(self):
        for tensor, before in self.kept:
            np.testing.assert_array_equal(tensor.numpy(), before)


class Assign(Case):
    adds = None  # it sets the value: what a handler adds may come before that

    def step(self):
        self.variable.assign(self.variable.numpy() + 1.0)


class AssignAdd(Case):
    def step(self):
        self.variable.assign_add(self.ones)


class AssignSubOfOneThatIsHeld(Case):
    def step(self):
        self.keep()
        self.variable.assign_sub(-self.ones)


class ScatterAdd(Case):
    """With indices that repeat, in the ways that few and many rows take."""

    def step(self):
        count = self.variable.shape[0]
        rows = tf.IndexedSlices(tf.fill([2 * count, 4], 0.5), np.tile(np.arange(count), 2))
        self.variable.scatter_add(rows)


class ScatterUpdate(Case):
    adds = None

    def step(self):
        new = self.variable + 1.0
        self.variable.scatter_update(tf.IndexedSlices(new, np.arange(self.variable.shape[0])))


class ScatterNd(Case):
    def step(self):
        places = np.stack(
            np.meshgrid(np.arange(self.variable.shape[0]), np.arange(4), indexing="ij"), -1
        )
        self.variable.scatter_nd_add(places.reshape(-1, 2), tf.ones(places.size // 2))


class ReadAfterAFunction(Case):
    """Eager code asks for what only functions have."""

    adds = 0

    def ready(self):
        self.bump()

    def step(self):
        self.variable.numpy()


class FunctionAfterEagerCode(Case):
    adds = 0

    def step(self):
        self.read()


class CallOnATape(Case):
    """The tape is lent the value, and has it still when the function after it has written."""

    def __init__(self, size):
        super().__init__(size)
        for _ in range(3):
            self.step()

    def step(self):
        with tf.GradientTape() as tape:
            y = self.read()
        self.bump()
        assert (
            float(tf.reduce_sum(tape.gradient(y, self.variable))) == self.ones.shape.num_elements()
        )


class Compiled(Case):
    def ready(self):
        self.bump()

    def step(self):
        self.bump()


class CompiledAfterEagerCode(Case):
    """The value has to be brought to XLA first."""

    def step(self):
        self.bump()


class CompiledWithAnArray(Case):
    """An argument that is converted takes the long way to the program."""

    def __init__(self, size):
        super().__init__(size)
        self.add = tf.function(lambda x: self.variable.assign_add(x))
        for _ in range(3):
            self.add(self.ones.numpy())

    def step(self):
        self.add(self.ones.numpy())


class CompiledWithTheVariable(Case):
    def __init__(self, size):
        super().__init__(size)
        self.add = tf.function(lambda variable: variable.assign_add(self.ones))
        for _ in range(3):
            self.add(self.variable)

    def step(self):
        self.add(self.variable)


class CompiledOnATape(Case):
    def __init__(self, size):
        super().__init__(size)
        self.add = tf.function(
            lambda: tf.reduce_sum(self.variable * self.variable.assign_add(self.ones))
        )
        for _ in range(3):
            self.step()

    def step(self):
        with tf.GradientTape() as tape:
            y = self.add()
        assert tape.gradient(y, self.variable) is not None


class Keras(Case):
    """An update of an optimizer's, which is to be the same whatever came in between."""

    optimizer = staticmethod(lambda: tf.keras.optimizers.SGD(1.0))

    def made(self, size):
        self.weights = tf.keras.Variable(np.zeros((size // 4, 4), np.float32))
        self.rule = self.optimizer()
        self.rule.build([self.weights])
        self.down = -tf.ones(self.weights.shape)
        return self.weights._value

    def ready(self):
        for state in self.rule.variables:
            if state is not self.rule._learning_rate:
                state.assign(state * 0)
        super().ready()

    def step(self):
        self.rule.apply([self.down])


class KerasMomentum(Keras):
    optimizer = staticmethod(lambda: tf.keras.optimizers.SGD(1.0, momentum=0.5))


class KerasAdam(Keras):
    optimizer = staticmethod(lambda: tf.keras.optimizers.Adam(1.0, epsilon=0.0))


CASES = [
    Assign, AssignAdd, AssignSubOfOneThatIsHeld, ScatterAdd, ScatterUpdate, ScatterNd,
    ReadAfterAFunction, FunctionAfterEagerCode, CallOnATape, Compiled, CompiledAfterEagerCode,
    CompiledWithAnArray, CompiledWithTheVariable, CompiledOnATape, Keras, KerasMomentum, KerasAdam,
]  # fmt: skip


def placed(case):
    """The same with a Variable on a second device."""

    class Placed(case):
        def made(self, size):
            with tf.device("/CPU:1"):
                return tf.Variable(np.zeros((size // 4, 4), np.float32))

    Placed.__name__ = f"Placed{case.__name__}"
    return Placed


if "device_count=2" in os.environ.get("XLA_FLAGS", ""):
    second = (AssignAdd, ScatterAdd, Compiled, CompiledWithAnArray, CompiledOnATape)
    CASES += [pytest.param(placed(case), marks=pytest.mark.devices) for case in second]
SIZES = [pytest.param(40, id="small"), pytest.param(LARGE, id="large", marks=pytest.mark.slow)]


def moments_of(case, size, act):
    """A case after a step with `act(case)` at the first of its moments, and the next, until there
    are no more; and where it began.
    """
    made, number, count = case(size), 0, 1
    while number < count:
        number, made.kept = number + 1, []
        before = made.number() + 1.0
        made.ready()
        count = number + 1
        try:
            found = at_moment(number, lambda: act(made), made.step)
            count = found.count
        except Stopped:
            found = None
        yield made, before, found
    assert number > 3


@pytest.mark.sampled(2)
@RAISES_WHERE_SIGNALS_DO
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", CASES)
def test_an_exception_leaves_a_variable_as_it_was_or_as_it_is_to_be(case, size):
    for made, before, _found in moments_of(case, size, lambda made: stop()):
        number = made.number()
        assert number == pytest.approx(before, abs=1e-3) or number == pytest.approx(
            before + (1.0 if case.adds is None else case.adds), abs=1e-3
        )
        made.check()
        assert stuck() == []


USES = {
    "reads": lambda made: made.keep(),
    "calls a function that only writes": lambda made: made.set_to_1000(),
    "calls a function": lambda made: made.read(),
    "calls a function that writes": lambda made: made.bump(),
    "adds": lambda made: made.variable.assign_add(made.ones),
    "scatters": lambda made: made.variable.scatter_add(
        tf.IndexedSlices(made.ones, np.arange(len(made.ones)))
    ),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("case", CASES)
def test_a_handler_uses_the_variable_that_is_being_written(case, use, size):
    writes = 0.0 if use in ("reads", "calls a function") else 1.0
    for made, before, found in moments_of(case, size, USES[use]):
        acted = found.number <= found.count
        possible = [before + (case.adds or 0.0) + writes * acted]
        if acted and use == "calls a function that only writes":
            possible = [1000.0, 1000.0 + (case.adds or 1.0)]
            if case.adds is None:
                possible.append(before + 1.0)
        elif case.adds is None:  # it may be written over
            possible = [before + 1.0, before + 1.0 + writes * acted]
        number = made.number()
        assert any(number == pytest.approx(value, abs=1e-2) for value in possible), found.where
        made.check()


@pytest.mark.waits
@pytest.mark.parametrize(
    "case",
    [AssignAdd, ScatterAdd, ScatterNd, ScatterUpdate, Assign, Keras, KerasMomentum, KerasAdam],
)
def test_what_nobody_else_holds_is_written_in_place(case):
    made = case(40)
    made.ready()
    address = made.variable.array.ctypes.data
    made.step()
    assert made.variable.array.ctypes.data == address


class Blocks:
    """Blocks whose end must come whatever happens, and what shows that it did."""

    @staticmethod
    def device():
        with tf.device("/CPU:0"), tf.device(None), tf.device("/CPU:0"):
            tf.tanh(tf.ones(3))

    @staticmethod
    def name_scope():
        with tf.name_scope("a"), tf.name_scope("b"):
            tf.Variable(1.0)

    @staticmethod
    def tapes():
        x = tf.Variable([1.0, 2.0])
        with tf.GradientTape(persistent=True) as outer:
            with tf.GradientTape() as tape:
                with tape.stop_recording():
                    x.numpy()
                y = tf.reduce_sum(tf.tanh(x) ** 2)
            z = tape.gradient(y, x)
        outer.jacobian(z, x)

    @staticmethod
    def accumulator():
        x = tf.constant(2.0)
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
            y = x * x
        accumulator.jvp(y)

    @staticmethod
    def recompute():
        x = tf.Variable([1.0, 2.0])
        tf.random.Generator.from_seed(1).normal([2])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.recompute_grad(lambda: tf.random.normal([2]) * x * x)())
        x.assign([7.0, 7.0])
        try:
            tape.gradient(y, x)
        finally:
            assert x.numpy().tolist() == [7.0, 7.0]

    @staticmethod
    def custom_gradient():
        w = tf.Variable(3.0)

        @tf.custom_gradient
        def scaled(x):
            return x * w, lambda g, variables=None: (g * w, [g * x])

        with tf.GradientTape() as tape:
            y = scaled(tf.constant(2.0))
        tape.gradient(y, w)

    @staticmethod
    def init_scope():
        with tf.GradientTape(), tf.init_scope():
            tf.tanh(1.0)

    @staticmethod
    def vectorized_map():
        tf.vectorized_map(lambda row: tf.reduce_sum(row**2), tf.ones([3, 2]))


BLOCKS = pytest.mark.parametrize(
    "block",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in ("tapes", "recompute") else [])
        for name in vars(Blocks)
        if not name.startswith("_")
    ],
)


def settings():
    state = here.state
    return (
        state.device,
        state.run,
        state.tensor,
        state.same_draws,
        scoped(""),
        xla_settings.preferred(),
    )


@RAISES_WHERE_SIGNALS_DO
@BLOCKS
def test_blocks_end_whenever_an_exception_arrives(block):
    call, before, number = getattr(Blocks, block), settings(), 0
    call()
    while True:
        number += 1
        try:
            at_moment(number, stop, call)
        except Stopped:
            assert stuck() == []
            assert settings() == before
            continue
        break
    assert number > 3
    assert stuck() == []


@BLOCKS
def test_a_handler_does_the_very_thing_that_it_interrupts(block):
    """What is guarded by a lock, or can be entered once only, must not wait for itself."""
    call, before, number, count = getattr(Blocks, block), settings(), 0, 1

    def apart():
        with tf.init_scope():
            call()

    apart()
    while number < count:
        number += 1
        count = at_moment(number, apart, call).count
        assert stuck() == []
        assert settings() == before
    assert number > 3


@pytest.mark.slow
def test_a_handler_while_jax_is_being_imported():
    """Half of JAX is in `sys.modules` then, and the handler asks whether arrays are JAX's."""
    code = """
import sys, tempfile
import gradtape as tf

v = tf.Variable([1.0, 2.0])
saved = []

def handle():
    with tf.init_scope(), tf.GradientTape() as tape:
        y = tf.reduce_sum(v * v)
    assert tape.gradient(y, v).numpy().tolist() == [2.0, 4.0]
    saved.append(tf.train.Checkpoint(v=v).write(tempfile.mkdtemp() + "/saved"))

class Importing:
    def find_spec(self, name, path=None, target=None):
        inner = ("jax", "jax._src.core", "jax._src.api", "jax._src.pjit")
        if name.startswith("jax.") and name.count(".") == 1 or name in inner:
            handle()

sys.meta_path.insert(0, Importing())
with tf.GradientTape() as tape:
    y = tf.function(lambda x: x * v)(2.0)
assert tape.gradient(y, v).numpy().tolist() == [2.0, 2.0]
assert len(saved) > 10, saved
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@RAISES_WHERE_SIGNALS_DO
def test_a_function_that_runs_op_by_op_changes_all_or_nothing():
    """What XLA cannot hold runs as Python: an exception gives its Variables their values back."""
    variables = [tf.Variable(tf.zeros(3)), tf.Variable(0.0)]

    @tf.function
    def step(x):
        for variable in variables:
            variable.assign_add(tf.ones(variable.shape))
        return tf.boolean_mask(x, x > 0.0)

    x = tf.constant([1.0, -1.0])
    step(x)
    number = 0
    while True:
        number += 1
        before = float(variables[1].numpy())
        try:
            at_moment(number, stop, lambda: step(x))
        except Stopped:
            found = {float(n) for v in variables for n in np.ravel(v.numpy())}
            assert found in ({before}, {before + 1.0})
            continue
        break
    assert number > 20


@RAISES_WHERE_SIGNALS_DO
@pytest.mark.slow
def test_an_interrupted_recording_gives_right_gradients_or_none():
    """Recordings drop what nobody needs now and then,
    which an exception must not leave half done.
    """
    x = tf.Variable(1.5)

    def steps(count):
        y = x * 1.0
        for _ in range(count):
            y = tf.tanh(y) * 1.0
        return y

    with tf.GradientTape() as whole:
        y = steps(400)
    expected = float(whole.gradient(y, x))
    total = at_moment(0, stop, lambda: record(steps, x)).count
    for number in range(1, total, max(1, total // 150)):
        with tf.GradientTape(persistent=True) as tape:
            y = steps(395)
            with contextlib.suppress(Stopped):
                at_moment(number, stop, lambda: [tf.tanh(x) for _ in range(400)])
            for _ in range(5):
                y = tf.tanh(y) * 1.0
        assert float(tape.gradient(y, x)) == pytest.approx(expected)


def record(steps, x):
    with tf.GradientTape():
        steps(400)


def test_an_update_ends_though_a_handler_reads_at_every_moment():
    """Who reads a Variable that is about to be written in place has it written elsewhere: the
    second attempt is not disturbed.
    """
    made, calls = Keras(40), []
    before = made.number()
    made.ready()

    at_moment(None, lambda: calls.append(made.variable.numpy()), made.step)
    assert len(calls) > 50
    assert made.number() == before + 2.0


def test_one_tape_in_a_handler_and_in_what_it_interrupts():
    """The random numbers of a recomputed block belong to a run of it,
    of which there can be two at once.
    """
    x = tf.Variable([1.0, 2.0])
    tf.random.set_seed(0)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(
            tf.recompute_grad(lambda: (tf.random.normal([2]) + tf.random.normal([2])) * x * x)()
        )
    expected = tape.gradient(y, x).numpy()
    number, count = 0, 1
    while number < count:
        number, found = number + 1, []
        count = at_moment(
            number,
            lambda: tape.gradient(y, x),
            lambda: found.append(tape.gradient(y, x)),  # noqa: B023
        ).count
        np.testing.assert_array_equal(found[0].numpy(), expected)
        assert stuck() == []
    assert number > 50


@RAISES_WHERE_SIGNALS_DO
@pytest.mark.parametrize(
    ("case", "kind"),
    [
        *itertools.product(
            [AssignAdd, Compiled, CompiledAfterEagerCode],
            [TypeError, AttributeError, RuntimeError, None],
        ),
        *itertools.product(
            [AssignAdd, Compiled, CompiledAfterEagerCode, Keras], [KeyError, TimeoutError]
        ),
    ],
)
def test_what_a_handler_raises_arrives_and_nothing_is_done_twice(case, kind):
    """Whatever class it is of: errors of these classes mean something on the way from a call to a
    program.
    """

    def fail():
        if kind is None:  # an error of gradtape's own, which the handler has caused
            tf.cast(1.0, "of a handler")
        raise kind("of a handler")

    made, number = case(40), 0
    while True:
        number += 1
        before = made.number() + 1.0
        made.ready()
        try:
            at_moment(number, fail, made.step)
        except Exception as error:  # noqa: BLE001
            # In an op, some of these become errors that name the op.
            assert "of a handler" in str(error)  # noqa: PT017 - or else nothing is raised
            assert made.number() in (before, before + 1.0)
            continue
        assert made.number() == before + 1.0
        break
    assert number > 3
