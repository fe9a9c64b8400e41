"""Keras's variables as sources of a tape, and in gradtape's functions."""

import numpy as np
import pytest

import gradtape as tf
import keras


@pytest.fixture
def v():
    return keras.Variable(np.array([1.0, 2.0], "float32"), name="v")


def test_a_gradient_by_a_variable(v):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * v) + tf.reduce_sum(tf.square(v))
    np.testing.assert_allclose(tape.gradient(y, v), [4.0, 8.0])


def test_sources_of_any_structure_keep_it(v):
    w = keras.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * w)
    found = tape.gradient(y, {"a": [v], "b": (w,)})
    np.testing.assert_allclose(found["a"][0], [3.0, 3.0])
    np.testing.assert_allclose(found["b"][0], 3.0)


def test_watched_variables_are_gradtapes_own(v):
    with tf.GradientTape() as tape:
        v + 1.0
    assert [type(found) for found in tape.watched_variables()] == [tf.Variable]
    assert tape.watched_variables()[0] is v.__gradtape_variable__


def test_a_variable_can_be_watched_alone(v):
    w = keras.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = tf.reduce_sum(v * w)
    found = tape.gradient(y, [v, w])
    np.testing.assert_allclose(found[0], [3.0, 3.0])
    assert found[1] is None


def test_a_variable_that_is_not_trainable_is_watched_only_if_asked(v):
    fixed = keras.Variable(np.array([1.0, 2.0], "float32"), trainable=False)
    with tf.GradientTape(persistent=True) as tape:
        y = fixed * 2.0
        tape.watch(fixed)
        z = fixed * 3.0
    assert tape.gradient(y, fixed) is None
    np.testing.assert_allclose(tape.gradient(z, fixed), [3.0, 3.0])


def test_an_unconnected_variable_can_give_zeros(v):
    with tf.GradientTape() as tape:
        y = tf.constant(1.0) * 2.0
    found = tape.gradient(y, v, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    np.testing.assert_array_equal(found, [0.0, 0.0])


def test_jacobians_and_second_derivatives(v):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v**3)
        g = tape.gradient(y, v)
    np.testing.assert_allclose(outer.jacobian(g, v), [[6.0, 0.0], [0.0, 12.0]])


def test_assigning_inside_a_tape_keeps_the_source(v):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v * v)
        v.assign([5.0, 5.0])
        y = y + tf.reduce_sum(v * v)
    np.testing.assert_allclose(tape.gradient(y, v), [12.0, 14.0])


def test_a_function_reads_and_writes_variables(v):
    @tf.function
    def step(x):
        v.assign_add(x)
        return v * 2.0

    np.testing.assert_allclose(step(tf.constant([1.0, 1.0])), [4.0, 6.0])
    np.testing.assert_allclose(step(tf.constant([1.0, 1.0])), [6.0, 8.0])
    np.testing.assert_allclose(v, [3.0, 4.0])


def test_a_tape_outside_a_function_reaches_a_variable(v):
    f = tf.function(lambda x: tf.reduce_sum(v * x))
    with tf.GradientTape() as tape:
        y = f(tf.constant([3.0, 4.0]))
    np.testing.assert_allclose(tape.gradient(y, v), [3.0, 4.0])


def test_a_layer_may_be_built_while_a_function_is_traced():
    layer = keras.layers.Dense(3)
    f = tf.function(lambda x: layer(x))
    first = f(tf.ones([2, 4]))
    assert first.shape == (2, 3)
    np.testing.assert_allclose(f(tf.ones([2, 4])), layer(tf.ones([2, 4])), rtol=1e-6)
    assert f.experimental_get_tracing_count() == 1


def test_branches_of_a_function_write_variables(v):
    @tf.function
    def step(x):
        keras.ops.cond(x > 0, lambda: v.assign(v + x), lambda: v.assign(v * 0.0))

    step(tf.constant(1.0))
    np.testing.assert_allclose(v, [2.0, 3.0])
    step(tf.constant(-1.0))
    np.testing.assert_allclose(v, [0.0, 0.0])


def test_reading_in_another_dtype_gives_a_gradient_in_the_variables_own(v):
    with keras.src.backend.AutocastScope("float16"):
        with tf.GradientTape() as tape:
            y = v.value
        assert y.dtype == tf.float16
    assert tape.gradient(y, v).dtype == tf.float32


def test_a_variable_without_a_value_is_no_source():
    with keras.StatelessScope():
        late = keras.Variable("zeros", shape=(2,), name="late")
        assert late.value.shape == (2,)
        said = f"'{late.path}' has no value yet: call or build its layer first"
        with pytest.raises(ValueError, match=said):
            late.__gradtape_variable__  # noqa: B018
    np.testing.assert_array_equal(late.__gradtape_variable__, [0.0, 0.0])


def test_embeddings_have_gradients_of_rows():
    layer = keras.layers.Embedding(5, 2)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(layer(np.array([1, 3, 1])))
    found = tape.gradient(y, layer.trainable_variables)[0]
    assert isinstance(found, tf.IndexedSlices)
    np.testing.assert_allclose(
        tf.convert_to_tensor(found), [[0, 0], [2, 2], [0, 0], [1, 1], [0, 0]]
    )


def test_a_copy_is_a_variable_of_its_own(v):
    import copy

    other = copy.deepcopy(v)
    other.assign([7.0, 7.0])
    np.testing.assert_allclose(v, [1.0, 2.0])
    assert other.__gradtape_variable__ is not v.__gradtape_variable__
