"""An LSTM that reads handwritten digits as sequences: eight rows of eight pixels,
from top to bottom.

The network says after every row which digit it takes this for, and learns from all eight answers:
it gets better as it sees more of a digit. The training step is written with a tape, clips the
gradients, and is compiled; the loop over the rows is XLA's.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gradtape as tf
from gradtape import keras

BATCH = 64
EPOCHS = 40


class Reader(keras.Model):
    """Scores for the ten digits after each row."""

    def __init__(self):
        super().__init__()
        # So that it does not learn the training digits by heart.
        self.noise = keras.layers.GaussianNoise(0.25)
        self.lstm = keras.layers.LSTM(64, return_sequences=True)
        self.scores = keras.layers.Dense(10)

    def call(self, rows):
        return self.scores(self.lstm(self.noise(rows)))


def load(seed=0):
    digits, labels = load_digits(return_X_y=True)
    digits = (digits.reshape(-1, 8, 8) / 16).astype("float32")
    return train_test_split(digits, labels, test_size=0.25, random_state=seed, stratify=labels)


def train(digits, labels):
    """A reader that has learnt from what it said after each row."""
    model = Reader()
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    steps = EPOCHS * (len(digits) // BATCH)
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(1e-2, steps))

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            scores = model(x, training=True)
            loss = cross_entropy(tf.repeat(y[:, None], scores.shape[1], axis=1), scores)
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    rng = np.random.default_rng(0)
    for _ in range(EPOCHS):
        order = rng.permutation(len(digits))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            train_step(tf.constant(digits[chosen]), tf.constant(labels[chosen]))
    return model


def accuracy_by_rows(model, digits, labels):
    """How many digits are right after one row, after two, and so on."""
    guesses = tf.argmax(model(digits), axis=2).numpy()
    return np.mean(guesses == labels[:, None], axis=0)


def main():
    train_digits, test_digits, train_labels, test_labels = load()
    keras.utils.set_random_seed(0)
    model = train(train_digits, train_labels)
    for rows, accuracy in enumerate(accuracy_by_rows(model, test_digits, test_labels), start=1):
        print(f"{rows} of 8 rows read: {accuracy:.1%} of the test digits are right")


if __name__ == "__main__":
    main()
