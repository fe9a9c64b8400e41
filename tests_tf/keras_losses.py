"""Crossentropies of what softmax and sigmoid gave, as a program: test_keras.py runs it on
TensorFlow and on gradtape.

Prints a JSON object: for each case the loss and the gradient by the logits, or the loss before and
after a step of `fit`.
"""

import itertools
import json
import os
import sys
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if os.environ["KERAS_BACKEND"] == "gradtape":
    import gradtape as tf
else:
    import tensorflow as tf
import numpy as np

import keras

ROWS = np.array(
    [[30.0, 0.0, 0.0], [0.0, 1.0, 2.0], [-200.0, 90.0, 0.0], [0.0, 0.0, 0.0]], np.float32
)
CLASSES = np.array([1, 2, 0, 0])
HOT = np.eye(3, dtype=np.float32)[CLASSES]
EYE = keras.initializers.Identity()


def dense(activation):
    """A layer that computes the activation of what it is given."""
    layer = keras.layers.Dense(3, activation=activation, use_bias=False, kernel_initializer=EYE)
    layer.build((None, 3))
    return layer


def functional(activation):
    inputs = keras.Input((3,))
    return keras.Model(inputs, dense(activation)(inputs))


def activated(activation):
    """Ways to an activation, by name: all that users write."""
    inner = dense(activation)

    class Subclassed(keras.Model):
        def call(self, x):
            return inner(x)

    in_tf = tf.nn.softmax if activation == "softmax" else tf.sigmoid
    return {
        "keras.activations": getattr(keras.activations, activation),
        "keras.ops": getattr(keras.ops, activation),
        "layer": keras.layers.Softmax()
        if activation == "softmax"
        else keras.layers.Activation("sigmoid"),
        "dense": dense(activation),
        "functional": functional(activation),
        "sequential": keras.Sequential([keras.Input((3,)), dense(activation)]),
        "subclassed": Subclassed(),
        "tf": in_tf,
        "rounded once more": lambda x: getattr(keras.ops, activation)(x) * 1.0,
        "identity": lambda x: tf.identity(getattr(keras.ops, activation)(x)),
    }


def losses():
    """Crossentropies by name, each with its targets."""
    weights = np.array([1.0, 0.5, 2.0, 0.0], np.float32)
    found = {
        "sparse": (CLASSES, keras.losses.SparseCategoricalCrossentropy()),
        "sparse, ignoring": (CLASSES, keras.losses.SparseCategoricalCrossentropy(ignore_class=2)),
        "sparse, from logits": (
            CLASSES,
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        ),
        "sparse metric": (CLASSES, keras.metrics.sparse_categorical_crossentropy),
        "sparse op": (CLASSES, keras.ops.sparse_categorical_crossentropy),
        "categorical": (HOT, keras.losses.CategoricalCrossentropy()),
        "categorical, smooth": (HOT, keras.losses.CategoricalCrossentropy(label_smoothing=0.1)),
        "categorical op": (HOT, keras.ops.categorical_crossentropy),
        "categorical function": (HOT, keras.losses.categorical_crossentropy),
        "focal": (HOT, keras.losses.CategoricalFocalCrossentropy()),
        "binary": (HOT, keras.losses.BinaryCrossentropy()),
        "binary, smooth": (HOT, keras.losses.BinaryCrossentropy(label_smoothing=0.1)),
        "binary, from logits": (HOT, keras.losses.BinaryCrossentropy(from_logits=True)),
        "binary op": (HOT, keras.ops.binary_crossentropy),
        "binary focal": (HOT, keras.losses.BinaryFocalCrossentropy()),
    }
    weighted = keras.losses.SparseCategoricalCrossentropy()
    found["sparse, weighted"] = (CLASSES, lambda y, p: weighted(y, p, sample_weight=weights))
    return found


def plain(value):
    return np.asarray(value, np.float64).round(6).tolist()


def custom_loops():
    """Losses and their gradients, in eager code and in a function; one function for all losses,
    to compile less.
    """
    for activation in ("softmax", "sigmoid"):
        for way, activate in activated(activation).items():

            def step(x, activate=activate):
                found = []
                for targets, loss in losses().values():
                    with tf.GradientTape() as tape:
                        tape.watch(x)
                        value = tf.reduce_sum(loss(targets, activate(x)))
                    found.append((value, tape.gradient(value, x)))
                return found

            for mode, run in (("eager", step), ("function", tf.function(step, autograph=False))):
                for name, (value, gradient) in zip(losses(), run(tf.constant(ROWS)), strict=True):
                    yield f"{activation}, {way}, {name}, {mode}", [plain(value), plain(gradient)]


def axes():
    """Logits that are not along the last axis."""
    x = np.moveaxis(ROWS, -1, 0)[None]
    hot = np.moveaxis(HOT, -1, 0)[None]
    loss = keras.losses.CategoricalCrossentropy(axis=1)
    for way, activate in (("keras", keras.ops.softmax), ("tf", tf.nn.softmax)):

        def step(x, activate=activate):
            return loss(hot, activate(x, axis=1))

        yield f"axis 1, {way}, eager", [plain(step(tf.constant(x)))]
        yield (
            f"axis 1, {way}, function",
            [plain(tf.function(step, autograph=False)(tf.constant(x)))],
        )


def fitted():
    """What `fit`, `evaluate` and `train_on_batch` say, and the weights after a step."""
    for eagerly, (activation, loss, targets) in itertools.product(
        (True, False),
        (
            ("softmax", "sparse_categorical_crossentropy", CLASSES),
            ("softmax", "categorical_crossentropy", HOT),
            ("sigmoid", "binary_crossentropy", HOT),
            ("softmax", "binary_crossentropy", HOT),
        ),
    ):
        model = functional(activation)
        metric = "sparse_categorical_crossentropy" if targets is CLASSES else loss
        model.compile("sgd", loss, metrics=[metric], run_eagerly=eagerly)
        history = model.fit(ROWS, targets, batch_size=4, epochs=2, verbose=0, shuffle=False).history
        found = [
            history["loss"],
            plain(model.evaluate(ROWS, targets, verbose=0)),
            plain(model.get_weights()[0]),
        ]
        yield f"{activation}, {loss}, {'run eagerly' if eagerly else 'fit'}", found


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.stdout.write(json.dumps(dict(itertools.chain(custom_loops(), axes(), fitted()))))
