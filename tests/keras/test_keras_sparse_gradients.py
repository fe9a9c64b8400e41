"""Gradients that are rows of an embedding, in all of Keras's optimizers."""

import numpy as np
import pytest

import gradtape as tf
import keras

ROWS = np.array([0, 2, 4, 2])
OPTIMIZERS = {
    "adadelta": lambda: keras.optimizers.Adadelta(100.0),
    "adafactor": lambda: keras.optimizers.Adafactor(clip_threshold=0.5),
    "adagrad": lambda: keras.optimizers.Adagrad(),
    "adam": lambda: keras.optimizers.Adam(),
    "adam_amsgrad": lambda: keras.optimizers.Adam(amsgrad=True),
    "adamax": lambda: keras.optimizers.Adamax(),
    "adamw": lambda: keras.optimizers.AdamW(),
    "ftrl": lambda: keras.optimizers.Ftrl(),
    "lamb": lambda: keras.optimizers.Lamb(),
    "lion": lambda: keras.optimizers.Lion(),
    "loss_scale": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.5)),
    "nadam": lambda: keras.optimizers.Nadam(),
    "rmsprop": lambda: keras.optimizers.RMSprop(),
    "rmsprop_centered": lambda: keras.optimizers.RMSprop(momentum=0.05, centered=True),
    "sgd": lambda: keras.optimizers.SGD(0.5),
    "sgd_clipped": lambda: keras.optimizers.SGD(0.5, global_clipnorm=0.1),
    "sgd_momentum": lambda: keras.optimizers.SGD(0.5, momentum=0.05),
    "sgd_nesterov": lambda: keras.optimizers.SGD(0.5, momentum=0.05, nesterov=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_update_as_the_same_dense_gradient(name):
    rng = np.random.default_rng(0)
    by_rows, by_dense = (keras.Variable(np.ones((5, 3), "float32")) for _ in range(2))
    first, second = OPTIMIZERS[name](), OPTIMIZERS[name]()
    for _ in range(3):
        values = rng.normal(size=(4, 3)).astype("float32")
        rows = tf.IndexedSlices(values, ROWS, [5, 3])
        first.apply([rows], [by_rows])
        second.apply([tf.convert_to_tensor(rows)], [by_dense])
        np.testing.assert_allclose(by_rows, by_dense, rtol=1e-5, atol=1e-6)
    assert not np.allclose(by_rows, 1.0)


@pytest.mark.parametrize("name", ["sgd", "loss_scale"])
@pytest.mark.parametrize("compiled", [False, True])
def test_plain_descent_leaves_all_other_rows_alone(name, compiled):
    """What is not finite there would spread if they were written."""
    variable, optimizer = keras.Variable(np.zeros((3, 1), "float32")), OPTIMIZERS[name]()
    variable.assign([[np.nan], [1.0], [np.inf]])

    def step(values):
        scale = optimizer.scale_loss(tf.ones([]))
        optimizer.apply(
            [tf.IndexedSlices(values * scale, tf.constant([1]), tf.constant([3, 1]))], [variable]
        )

    (tf.function(step) if compiled else step)(tf.constant([[2.0]]))
    np.testing.assert_array_equal(variable, [[np.nan], [0.0], [np.inf]])


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_an_embedding_learns_the_same_in_every_way(name):
    ids, wanted = np.array([[1, 3], [3, 0]]), np.array([[0.5], [-0.5]], "float32")

    def model():
        keras.utils.set_random_seed(4)
        made = keras.Sequential(
            [keras.layers.Embedding(5, 2), keras.layers.Flatten(), keras.layers.Dense(1)]
        )
        made(ids)
        return made

    def loop(step, made):
        optimizer = OPTIMIZERS[name]()

        def train(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((made(x) - y) ** 2)
            gradients = tape.gradient(loss, made.trainable_variables)
            assert isinstance(gradients[0], tf.IndexedSlices)
            optimizer.apply(gradients, made.trainable_variables)

        train = step(train)
        for _ in range(3):
            train(tf.constant(ids), tf.constant(wanted))
        return made.get_weights()

    def fitted(made, **how):
        made.compile(OPTIMIZERS[name](), "mse", **how)
        made.fit(ids, wanted, epochs=3, shuffle=False, verbose=0)
        return made.get_weights()

    expected = loop(lambda f: f, model())
    for found in (loop(tf.function, model()), fitted(model()), fitted(model(), run_eagerly=True)):
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    untouched = model().get_weights()[0][[2, 4]]
    np.testing.assert_allclose(expected[0][[2, 4]], untouched)


def test_rows_can_be_assigned():
    class Setting(keras.optimizers.SGD):
        def update_step(self, gradient, variable, learning_rate):
            self.assign(variable, gradient)
            self.assign_add(variable, gradient)

    for values in (tf.constant([[2.0]]), tf.constant([[2.0]], tf.float64)):
        variable = keras.Variable(np.ones((3, 1), "float32"))
        Setting().apply([tf.IndexedSlices(values, [1], [3, 1])], [variable])
        np.testing.assert_array_equal(variable, [[1.0], [4.0], [1.0]])
