"""`tape.show` folds what a Keras model recorded by its layers."""

import numpy as np

import gradtape as tf
from gradtape import keras


def groups(model, shape):
    """The titles of the groups of a step, in order, and how many ops each has."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(np.ones(shape, "float32"), training=True))
    data = tape.show(target=loss).data
    counts = {}
    for row in data["ops"]["row"]:
        group = data["groups"][data["rows"][row]["group"]]
        key = group["kind"], group["title"]
        counts[key] = counts.get(key, 0) + 1
    return counts, data


def test_layers_are_told_apart_by_their_variables():
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(4, name="first"),
            keras.layers.Dense(4, name="second"),
            keras.layers.BatchNormalization(name="norm_a"),
            keras.layers.BatchNormalization(name="norm_b"),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(2, name="last"),
        ],
        name="net",
    )
    counts, data = groups(model, (3, 8))
    assert [title for kind, title in counts if kind == "layer"] == [
        "first", "second", "norm_a", "norm_b", "Dropout", "last",
    ]  # fmt: skip
    assert counts["layer", "first"] == counts["layer", "second"] == counts["layer", "last"] == 2
    assert counts["layer", "norm_a"] == counts["layer", "norm_b"]
    details = {group["title"]: group["detail"] for group in data["groups"]}
    assert details["second"] == "Dense, net/second"
    assert details["Dropout"] == "layer"
    # The lines are those of the layers.
    texts = [dict(file["lines"]) for file in data["files"]]
    codes = [texts[row["file"]][row["line"]] for row in data["rows"]]
    assert any("matmul(inputs, self.kernel)" in code for code in codes)


def test_a_layer_of_ones_own_and_a_shared_one():
    class Scale(keras.layers.Layer):
        def build(self, shape):
            self.factor = self.add_weight(shape=(), initializer="ones", name="factor")

        def call(self, x):
            return x * self.factor

    scale = Scale(name="scale")
    model = keras.Sequential([keras.Input((2,)), scale, keras.layers.Dense(2, name="dense"), scale])
    counts, _ = groups(model, (1, 2))
    assert [title for kind, title in counts if kind == "layer"] == ["scale", "dense"]
    assert counts["layer", "scale"] >= 2
