"""A convolutional network for handwritten digits, trained with `fit`,
and a picture of what it looks at.

`fit` compiles the step, shuffles the digits, and measures after every epoch on a part that it keeps
back. A tape then gives the gradient of a digit's score by the pixels: it shows which pixels speak
for the digit, and which against it.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gradtape as tf
from gradtape import keras

layers = keras.layers

BATCH = 64
EPOCHS = 20


def load(seed=0):
    digits, labels = load_digits(return_X_y=True)
    digits = (digits.reshape(-1, 8, 8, 1) / 16).astype("float32")
    return train_test_split(digits, labels, test_size=0.25, random_state=seed, stratify=labels)


def build():
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(32, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dropout(0.4),
            layers.Dense(10),
        ]
    )


def train(model, digits, labels):
    steps = EPOCHS * len(digits) // BATCH
    model.compile(
        optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(4e-3, steps)),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model.fit(
        digits, labels, batch_size=BATCH, epochs=EPOCHS, validation_split=0.1, verbose=0
    )


def evidence(model, digit, label):
    """How much each pixel speaks for the label: its value times the gradient of the label's
    score.
    """
    image = tf.constant(digit[None])
    with tf.GradientTape() as tape:
        tape.watch(image)
        score = model(image)[0, label]
    return (tape.gradient(score, image) * image)[0, :, :, 0].numpy()


def drawn(evidence):
    """One sign for each pixel: + speaks for the digit, - against it."""
    limit = 0.15 * np.abs(evidence).max()
    return [
        "".join("+" if e > limit else "-" if e < -limit else "." for e in row) for row in evidence
    ]


def main():
    train_digits, test_digits, train_labels, test_labels = load()
    keras.utils.set_random_seed(0)
    model = build()
    history = train(model, train_digits, train_labels).history
    _, accuracy = model.evaluate(test_digits, test_labels, verbose=0)
    print(f"accuracy while training: {', '.join(f'{a:.1%}' for a in history['val_accuracy'][::5])}")
    print(f"test accuracy: {accuracy:.1%}")
    for digit, label in zip(test_digits[:2], test_labels[:2], strict=True):
        print(f"what speaks for a {label}, and against it:")
        print("\n".join(drawn(evidence(model, digit, label))))


if __name__ == "__main__":
    main()
