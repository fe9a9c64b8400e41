"""Small models, one for each kind of layer whose files must mean the same on every backend."""

import numpy as np

import keras
from keras import layers


def dense():
    return keras.Sequential(
        [keras.Input((3,)), layers.Dense(4, activation="gelu"), layers.Dense(2)]
    )


def convolution():
    return keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.Conv2D(3, 3, padding="same", strides=2, use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Conv2DTranspose(2, 2),
            layers.GlobalAveragePooling2D(),
        ]
    )


def recurrent():
    return keras.Sequential(
        [
            keras.Input((5,), dtype="int32"),
            layers.Embedding(7, 3, mask_zero=True),
            layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
            layers.GRU(2),
        ]
    )


def attention():
    x = keras.Input((4, 6))
    y = layers.MultiHeadAttention(2, 3)(x, x)
    return keras.Model(x, layers.LayerNormalization()(layers.Add()([x, y])))


MODELS = {
    "dense": dense,
    "convolution": convolution,
    "recurrent": recurrent,
    "attention": attention,
}


def optimizer_for(kind):
    """Adam, but for an embedding, whose rows that occur twice in a batch Adam squares one by one on
    TensorFlow, and summed elsewhere.
    """
    return (
        keras.optimizers.SGD(0.05, momentum=0.9)
        if kind == "recurrent"
        else keras.optimizers.Adam(0.01)
    )


SHAPES = {"dense": (8, 3), "convolution": (8, 6, 6, 2), "recurrent": (8, 5), "attention": (8, 4, 6)}
RESULTS = {"dense": (8, 2), "convolution": (8, 2), "recurrent": (8, 2), "attention": (8, 4, 6)}


def batch_for(kind):
    """Eight examples for a model and what it should say to them, the same in every program."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 7, SHAPES[kind]) if kind == "recurrent" else rng.normal(size=SHAPES[kind])
    return x.astype("int32" if kind == "recurrent" else "float32"), rng.normal(
        size=RESULTS[kind]
    ).astype("float32")
