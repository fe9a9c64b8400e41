"""One model, trained in three ways: a loop of one's own with a tape, `fit`,
and half precision with a scaled loss.

The task is to tell which of ten digits a scan of 8 × 8 pixels shows; a quarter of scikit-learn's
1,797 scans is kept for the test. All three ways use Keras's layers, losses and optimizers as
TensorFlow's users know them, and all of them compile their step.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gradtape as tf
from gradtape import keras

BATCH = 64
EPOCHS = 25

cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def load(seed=0):
    digits, labels = load_digits(return_X_y=True)
    digits = (digits / 16).astype("float32")
    return train_test_split(digits, labels, test_size=0.25, random_state=seed, stratify=labels)


def build(dtype="float32"):
    """Scores for the ten digits; with "mixed_float16" the layers compute in 16 bits,
    while weights and scores keep 32.
    """
    return keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.GaussianNoise(0.2, dtype=dtype),
            keras.layers.Dense(256, activation="relu", dtype=dtype),
            keras.layers.Dense(128, activation="relu", dtype=dtype),
            keras.layers.Dense(10, dtype="float32"),
        ]
    )


def adam(examples):
    steps = EPOCHS * (len(examples) // BATCH)
    return keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, steps))


def batches(digits, labels, rng):
    """All batches of one epoch, in a new order."""
    order = rng.permutation(len(digits))
    for start in range(0, len(order) - BATCH + 1, BATCH):
        chosen = order[start : start + BATCH]
        yield tf.constant(digits[chosen]), tf.constant(labels[chosen])


def accuracy(model, digits, labels):
    return float(np.mean(tf.argmax(model(digits), axis=1).numpy() == labels))


def train_with_a_tape(digits, labels):
    """The loop written out: record, differentiate, apply."""
    model, optimizer, rng = build(), adam(digits), np.random.default_rng(0)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    for _ in range(EPOCHS):
        for x, y in batches(digits, labels, rng):
            train_step(x, y)
    return model


def train_with_fit(digits, labels):
    """The same by Keras's own loop."""
    model = build()
    model.compile(optimizer=adam(digits), loss=cross_entropy, metrics=["accuracy"])
    model.fit(digits, labels, batch_size=BATCH, epochs=EPOCHS, verbose=0)
    return model


def train_in_half_precision(digits, labels):
    """Small gradients would be zero in 16 bits, so the loss is scaled up, and the gradients down
    again before they are applied.

    A step whose gradients are not finite changes no weight; the scale is halved instead.
    """
    model, rng = build("mixed_float16"), np.random.default_rng(0)
    optimizer = keras.mixed_precision.LossScaleOptimizer(adam(digits), initial_scale=2.0**15)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x, training=True))
            scaled_loss = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled_loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    for _ in range(EPOCHS):
        for x, y in batches(digits, labels, rng):
            train_step(x, y)
    return model


WAYS = {
    "a tape": train_with_a_tape,
    "fit": train_with_fit,
    "half precision": train_in_half_precision,
}


def main():
    train_digits, test_digits, train_labels, test_labels = load()
    for name, train in WAYS.items():
        keras.utils.set_random_seed(1)
        model = train(train_digits, train_labels)
        print(
            f"{name + ':':<16} {accuracy(model, test_digits, test_labels):.1%} of the test digits "
            "are right"
        )


if __name__ == "__main__":
    main()
