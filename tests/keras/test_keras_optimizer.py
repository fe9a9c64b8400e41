"""Optimizers: updates in place against Keras's own formulas, gradients of rows,
gradtape's Variables, minimize.
"""

import numpy as np
import pytest

import gradtape as tf
import keras

RNG = np.random.default_rng(0)
OPTIMIZERS = [
    lambda: keras.optimizers.SGD(0.1),
    lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    lambda: keras.optimizers.SGD(0.1, weight_decay=0.01),
    lambda: keras.optimizers.Adam(0.1),
    lambda: keras.optimizers.AdamW(0.1, weight_decay=0.01),
    lambda: keras.optimizers.Adam(
        keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5), clipnorm=1.0
    ),
    lambda: keras.optimizers.Adam(0.1, amsgrad=True),
    lambda: keras.optimizers.RMSprop(0.1),
]


def values(*shapes):
    return [RNG.normal(size=shape).astype("float32") for shape in shapes]


def updated(make, start, gradients, step=lambda optimizer, pairs: optimizer.apply_gradients(pairs)):
    """The variables after some steps, each with its own gradients."""
    optimizer, variables = make(), [keras.Variable(value) for value in start]
    for row in gradients:
        step(optimizer, list(zip(map(tf.constant, row), variables, strict=True)))
    return [v.numpy() for v in variables]


def compiled_step():
    runs = {}

    def step(optimizer, pairs):
        gradients, variables = zip(*pairs, strict=True)
        run = runs.setdefault(
            0, tf.function(lambda *gs: optimizer.apply(list(gs), list(variables)))
        )
        optimizer.build(list(variables)) if not optimizer.built else None
        run(*gradients)

    return step


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_eager_updates_are_those_of_keras(make):
    """Inside a function Keras's own formulas run."""
    shapes = [(3, 2), (4,), (), (70000,)]
    start, gradients = values(*shapes), [values(*shapes) for _ in range(3)]
    eager = updated(make, start, gradients)
    compiled = updated(make, start, gradients, compiled_step())
    for a, b, before in zip(eager, compiled, start, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        assert not np.allclose(a, before)


@pytest.mark.parametrize("make", OPTIMIZERS)
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_rows_update_as_dense_ones(make, compiled):
    table, rows = values((6, 2), (4, 2))
    indices = np.array([1, 4, 1, 0])

    def apply(gradient):
        optimizer, variable = make(), keras.Variable(table)
        optimizer.build([variable])

        def step(gradient):
            optimizer.apply([gradient], [variable])

        def step_of_rows(rows):
            optimizer.apply(
                [tf.IndexedSlices(rows, tf.constant(indices), tf.constant([6, 2]))], [variable]
            )

        for _ in range(3):
            if gradient is rows:
                (tf.function(step_of_rows) if compiled else step_of_rows)(tf.constant(rows))
            else:
                step(tf.constant(gradient))
        return variable.numpy()

    dense = np.zeros((6, 2), "float32")
    np.add.at(dense, indices, rows)
    np.testing.assert_allclose(apply(rows), apply(dense), rtol=1e-4, atol=1e-6)


def test_plain_descent_touches_only_the_rows():
    variable = keras.Variable(np.zeros((3, 1), "float32"))
    variable.assign([[np.nan], [1.0], [np.inf]])
    keras.optimizers.SGD(0.5).apply([tf.IndexedSlices([[2.0]], [1], [3, 1])], [variable])
    np.testing.assert_array_equal(variable, [[np.nan], [0.0], [np.inf]])


def test_an_update_in_place_leaves_what_was_read_alone():
    variable = keras.Variable(np.ones(3, "float32"))
    before = variable.value
    with tf.GradientTape() as tape:
        y = variable * variable
        keras.optimizers.SGD(0.5).apply([tf.ones(3)], [variable])
    np.testing.assert_array_equal(before, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(variable, [0.5, 0.5, 0.5])
    np.testing.assert_array_equal(tape.gradient(y, variable), [2.0, 2.0, 2.0])


@pytest.mark.parametrize("make", OPTIMIZERS[:1] + OPTIMIZERS[4:5])
def test_a_gradient_of_another_shape_is_refused(make):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        make().apply([tf.ones(3)], [keras.Variable(np.ones(2, "float32"))])


@pytest.mark.parametrize("make", OPTIMIZERS[:1] + OPTIMIZERS[4:5])
def test_plain_arrays_are_gradients_too(make):
    variable = keras.Variable(np.ones(2, "float32"))
    make().apply([np.ones(2, "float32")], [variable])
    np.testing.assert_allclose(variable, [0.9, 0.9], rtol=1e-5)


def test_a_gradient_that_is_the_variables_own_memory_stays():
    a, b = keras.Variable(np.full(2, 3.0, "float32")), keras.Variable(np.full(2, 5.0, "float32"))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(a * b)
    found = tape.gradient(y, [a, b])
    keras.optimizers.SGD(1.0).apply(found, [a, b])
    np.testing.assert_array_equal(a, [-2.0, -2.0])
    np.testing.assert_array_equal(b, [2.0, 2.0])


def test_an_update_step_of_ones_own_is_used():
    class Doubling(keras.optimizers.SGD):
        def update_step(self, gradient, variable, learning_rate):
            self.assign(variable, variable * 2.0)

    variable = keras.Variable(1.0)
    Doubling().apply([tf.constant(1.0)], [variable])
    assert float(variable) == 2.0


def test_gradtapes_own_variables_and_those_inside_keras_are_updated():
    own, layer = tf.Variable([1.0, 2.0]), keras.Variable(3.0)
    optimizer = keras.optimizers.SGD(0.5)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(own * layer)
    found = tape.gradient(y, [own, layer])
    optimizer.apply_gradients(zip(found, [own, layer], strict=True))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(own * layer)
    watched = tape.watched_variables()
    optimizer.apply_gradients(zip(tape.gradient(y, watched), watched, strict=True))
    np.testing.assert_allclose(own, [-0.5 - 0.75, 0.5 - 0.75])
    np.testing.assert_allclose(layer, 1.5)


def test_minimize_takes_a_function_or_a_tape():
    x = tf.Variable(2.0)
    optimizer = keras.optimizers.SGD(0.25)
    optimizer.minimize(lambda: x * x, [x])
    assert float(x) == 1.0
    with tf.GradientTape() as tape:
        loss = x * x
    optimizer.minimize(loss, [x], tape=tape)
    assert float(x) == 0.5
    optimizer.minimize(lambda: x * x, lambda: [x])
    assert float(x) == 0.25
    with pytest.raises(ValueError, match="minimize: if loss is a tensor, give the tape"):
        optimizer.minimize(loss, [x])


@pytest.mark.parametrize("compiled", [False, True])
def test_accumulated_gradients_and_averages(compiled):
    def make():
        return keras.optimizers.SGD(
            1.0,
            gradient_accumulation_steps=2,
            use_ema=True,
            ema_momentum=0.5,
            ema_overwrite_frequency=4,
        )

    step = (
        compiled_step() if compiled else lambda optimizer, pairs: optimizer.apply_gradients(pairs)
    )
    (found,) = updated(make, [np.zeros(2, "float32")], [[np.ones(2, "float32")]] * 2, step)
    np.testing.assert_allclose(found, [-1.0, -1.0])


def test_a_loss_scale_factor_takes_rows():
    variable = keras.Variable(np.zeros((3, 1), "float32"))
    optimizer = keras.optimizers.SGD(1.0, loss_scale_factor=4.0)
    optimizer.apply([tf.IndexedSlices([[8.0]], [1], [3, 1])], [variable])
    np.testing.assert_array_equal(variable, [[0.0], [-2.0], [0.0]])


def test_stateless_application_changes_no_variable():
    variable = keras.Variable(np.ones(2, "float32"))
    optimizer = keras.optimizers.Adam(0.1)
    optimizer.build([variable])
    state = [v.value for v in optimizer.variables]
    (new,), new_state = optimizer.stateless_apply(state, [tf.ones(2)], [variable.value])
    np.testing.assert_allclose(new, [0.9, 0.9], rtol=1e-5)
    assert int(new_state[0]) == 1
    np.testing.assert_array_equal(variable, [1.0, 1.0])
