"""Trains Keras's models for some steps: on TensorFlow from the start, with a checkpoint after the
first, and on gradtape from that checkpoint, which is restored before anything is built.

Prints the losses of the later steps as JSON. Its argument is the folder of the checkpoints.
"""

import itertools
import json
import os
import sys

import numpy as np

if os.environ["KERAS_BACKEND"] == "gradtape":
    import gradtape as tf
else:
    import tensorflow as tf

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")


def sequential():
    return tf.keras.Sequential([tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)])


def subclassed():
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = tf.keras.layers.Dense(4), tf.keras.layers.Dense(1)

        def build(self, shape):
            self.hidden.build(shape)
            self.out.build((None, 4))

        def call(self, x):
            return self.out(self.hidden(x))

    return Model()


def losses(make, optimizer, compiled, path):
    """Those of the steps after the first."""
    model = make()
    options = {"momentum": 0.9} if optimizer == "SGD" else {}
    made = getattr(tf.keras.optimizers, optimizer)(0.05, **options)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=made)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(tf.constant(X)) - 1.0) ** 2)
        variables = model.trainable_variables
        made.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    if compiled:
        step = tf.function(step)
    if os.environ["KERAS_BACKEND"] == "tensorflow":
        step()
        checkpoint.write(path)
        return [float(step()) for _ in range(3)]
    status = checkpoint.restore(path)
    status.assert_existing_objects_matched()
    got = [float(step()) for _ in range(3)]
    status.assert_consumed()
    return got


json.dump(
    {
        name: losses(make, optimizer, compiled, f"{sys.argv[1]}/{name}")
        for make, optimizer, compiled in itertools.product(
            [sequential, subclassed], ["SGD", "Adam"], [False, True]
        )
        for name in [f"{make.__name__}-{optimizer}-{compiled}"]
    },
    sys.stdout,
)
