"""A signal whose handler raises, at moments of features that use NumPy, JAX and Keras: afterwards
the thread is as before, and everything works (see `moments.py`).
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

import gradtape as tf
from gradtape.functions.rerun import looked_into
from tests.moments import RAISES_WHERE_SIGNALS_DO, anywhere_at, differences, thread_now

pytestmark = pytest.mark.filterwarnings(
    # Python ignores what is raised while it deletes an object.
    "ignore::pytest.PytestUnraisableExceptionWarning"
)

ROWS = {}


def row(make):
    ROWS[make.__name__] = make
    return make


def loss_of(*variables):
    return tf.add_n([tf.reduce_sum(tf.tanh(v) * 0.0 + v) for v in variables])


def some_variables():
    return [tf.Variable(np.zeros(shape, np.float32)) for shape in [(), (3,), (40, 40)]]


def all_equal(variables):
    def check():
        found = {float(value) for v in variables for value in np.unique(v.numpy())}
        assert len(found) == 1, f"Variables of one step hold {found}"

    return check


@row
def stop_recording(_):
    x, tapes = tf.Variable(2.0), []

    def run():
        with tf.GradientTape() as tape:
            tapes[:] = [tape]
            y = x * x
            with tape.stop_recording():
                _ = x * 3.0
            y = y + x
        tape.gradient(y, x)

    def check():
        for tape in tapes:
            assert not tape.recording
            assert tape.scope is None or not tape.scope.paused

    return run, check


@row
def stop_recording_inside(_):
    """Who catches the exception in the tape's block goes on recording."""
    x = tf.Variable(2.0)

    def run():
        interrupted = None
        with tf.GradientTape() as tape:
            try:
                with tape.stop_recording():
                    _ = x * 3.0
            except KeyboardInterrupt as error:
                interrupted = error
            y = x * x
        assert float(tape.gradient(y, x)) == 4.0
        if interrupted is not None:
            raise interrupted

    return run, None


@row
def profile(_):
    variables, tapes = some_variables(), []

    def run():
        with tf.GradientTape(persistent=True) as tape:
            loss = loss_of(*variables)
        tapes[:] = [tape]
        with tf.profile() as measured:
            tape.gradient(loss, variables)
        assert measured.rows

    return run, lambda: own_rules(tapes)


@row
def a_new_function(_):
    """What is traced later depends on its Variables, not on the values that they had then."""
    variables = some_variables()

    def run():
        @tf.function
        def step():
            for variable in variables:
                variable.assign_add(tf.ones(variable.shape))

        step()

    def check():
        before = [variable.numpy() for variable in variables]
        run()
        run()
        for variable, value in zip(variables, before, strict=True):
            assert np.array_equal(variable.numpy(), value + 2.0)

    return run, check


@row
def check_numerics(_):
    variables, tapes = some_variables(), []

    def run():
        with tf.GradientTape(persistent=True) as tape:
            loss = loss_of(*variables)
        tapes[:] = [tape]
        tf.debugging.enable_check_numerics()
        tape.gradient(loss, variables)
        tf.debugging.disable_check_numerics()

    def check():
        state = thread_now()
        is_on = [bool(state[name]) for name in ("observers", "checker", "around_walk")]
        assert len(set(is_on)) == 1, "the checks are half on"
        tf.debugging.disable_check_numerics()
        own_rules(tapes)

    return run, check


def own_rules(tapes):
    for tape in tapes:
        kinds = {type(node.rule).__name__ for node in tape.scope.nodes if node is not None}
        assert not kinds & {"TimedRule", "_CheckingRule"}


@row
def why_nonfinite(_):
    x = tf.Variable([1.0, 0.0])

    def run():
        with tf.GradientTape(persistent=True) as tape:
            y = tf.reduce_sum(tf.sqrt(x) * tf.math.log(x))
        assert tape.why_nonfinite(y, x)

    return run, None


@row
def look_into_a_function(_):
    x, count = tf.Variable([1.0, 0.0]), tf.Variable(0.0)

    @tf.function
    def step(scale):
        count.assign_add(1.0)
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.sqrt(x * scale))
        return tape.gradient(y, x)

    def run():
        assert looked_into(lambda given: step(*given), [tf.constant(1.0)])

    def check():
        assert float(count) == 0.0

    return run, check


@row
def explain(_):
    x = tf.Variable([1.0, 2.0])

    def run():
        with tf.GradientTape(persistent=True) as tape:
            y = tf.reduce_sum(tf.stop_gradient(x))
        assert tape.gradient(y, x) is None
        assert str(tape.explain(y, x))

    return run, None


@row
def memory_limit(_):
    x = tf.Variable(np.ones((40, 40), np.float32))

    def run():
        with tf.GradientTape(memory_limit="30kB") as tape:
            y = x
            for _ in range(8):
                y = tf.tanh(y)
            y = tf.reduce_sum(y)
        tape.gradient(y, x)

    return run, None


@row
def host_call(_):
    variables = some_variables()

    @tf.function
    def step():
        for variable in variables:
            variable.assign_add(tf.ones(variable.shape))
        return tf.numpy_function(lambda x: np.add(x, 1.0), [variables[0]], tf.float32)

    return step, all_equal(variables)


@row
def op_by_op(_):
    variables = some_variables()

    @tf.function
    def step(x):
        for variable in variables:
            variable.assign_add(tf.ones(variable.shape))
        return tf.boolean_mask(x, x > 0.0)

    x = tf.constant([1.0, -1.0])
    return lambda: step(x), all_equal(variables)


@row
def profiled_step(_):
    variables = some_variables()

    @tf.function
    def step():
        for variable in variables:
            variable.assign_add(tf.ones(variable.shape))

    def run():
        with tf.profile():
            step()

    return run, all_equal(variables)


@row
def profiler_of_xla(folder):
    double = tf.function(lambda x: 2.0 * x)

    def run():
        with tf.profiler.experimental.Profile(folder):
            double(tf.constant(1.0))

    return run, None


@row
def sparse_jacobian(_):
    x = tf.constant([1.0, 2.0, 3.0])

    def run():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        tape.jacobian(y, x, sparse=True)

    return run, None


@row
def restore(folder):
    variables = some_variables()
    checkpoint, paths = tf.train.Checkpoint(v=variables), []
    for number in (0.0, 1.0):
        for variable in variables:
            variable.assign(tf.fill(variable.shape, number))
        paths.append(checkpoint.write(str(folder / str(number))))

    def run():
        checkpoint.restore(paths[0]).assert_consumed()
        checkpoint.restore(paths[1]).assert_consumed()

    return run, all_equal(variables)


@row
def adam(_):
    keras = tf.keras
    weight = keras.Variable(np.zeros((30, 30), np.float32))
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build([weight])
    gradient = tf.ones([30, 30])

    def check():
        assert len(np.unique(weight.numpy())) == 1

    return lambda: optimizer.apply_gradients([(gradient, weight)]), check


@row
def new_weight_in_a_function(_):
    keras = tf.keras

    def run():
        made = []

        @tf.function
        def step(x):
            if not made:
                made.append(keras.Variable(1.0))
            return made[0].value * x

        step(tf.constant(2.0))

    return run, None


@row
def explained_fit(_):
    keras = tf.keras
    model = keras.Sequential([keras.layers.Dense(3), keras.layers.Dense(2)])
    model.compile(keras.optimizers.SGD(0.0), loss=lambda y, out: tf.reduce_sum(out) / 0.0)
    x = np.ones((2, 2), np.float32)
    model.build((None, 2))

    def check():
        assert all("call" not in vars(layer) for layer in model._flatten_layers())

    callbacks = [tf.callbacks.ExplainNonFinite()]
    return lambda: model.fit(x, x, verbose=0, callbacks=callbacks), check


def raise_it():
    raise KeyboardInterrupt


@RAISES_WHERE_SIGNALS_DO
@pytest.mark.parametrize("name", ROWS)
def test_some_moments(name, tmp_path):
    at_moments(name, tmp_path, 100)


@RAISES_WHERE_SIGNALS_DO
@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_thousand_moments(name, tmp_path):
    at_moments(name, tmp_path, 1000)


def at_moments(name, folder, most):
    run, check = ROWS[name](folder)
    for _ in range(3):
        run()
    gc.collect()
    before = thread_now()
    count = anywhere_at(0, raise_it, run)
    tried = 0
    # Not a divisor of what repeats in it.
    for moment in range(1, count + 1, max(1, count // most) | 1):
        try:
            anywhere_at(moment, raise_it, run)
        except KeyboardInterrupt:
            tried += 1
        if check is not None:
            check()
        assert differences(before, thread_now()) == [], f"moment {moment}"
    run()
    assert tried > min(count, most) // 2
