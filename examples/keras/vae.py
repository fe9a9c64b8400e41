"""A variational autoencoder of handwritten digits: 64 pixels in, 8 numbers in between,
64 pixels out.

The encoder gives a normal distribution for each digit; a sample from it is
`mean + deviation * noise`, through which the tape passes. The model has a `train_step` of its own
with a tape, so that `fit` trains it with two parts of the loss, each with a metric.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import gradtape as tf
from gradtape import keras

layers = keras.layers

CODE = 8


class Autoencoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential(
            [layers.Dense(128, activation="relu"), layers.Dense(2 * CODE)]
        )
        self.decoder = keras.Sequential([layers.Dense(128, activation="relu"), layers.Dense(64)])
        self.reconstruction = keras.metrics.Mean("reconstruction")
        self.divergence = keras.metrics.Mean("divergence")

    @property
    def metrics(self):
        return [self.reconstruction, self.divergence]

    def encode(self, x):
        """The mean of the code of each digit, and the logarithm of its variance."""
        return tf.split(self.encoder(x), 2, axis=1)

    def call(self, x):
        """The digits as they come back from the means of their codes."""
        return tf.sigmoid(self.decoder(self.encode(x)[0]))

    def train_step(self, x):
        with tf.GradientTape() as tape:
            mean, log_variance = self.encode(x)
            code = mean + tf.exp(0.5 * log_variance) * tf.random.normal(mean.shape)
            pixels = tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=self.decoder(code))
            reconstruction = tf.reduce_mean(tf.reduce_sum(pixels, axis=1))
            per_number = 0.5 * (tf.square(mean) + tf.exp(log_variance) - 1.0 - log_variance)
            divergence = tf.reduce_mean(tf.reduce_sum(per_number, axis=1))
            loss = reconstruction + divergence
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_weights, strict=True))
        self.reconstruction.update_state(reconstruction)
        self.divergence.update_state(divergence)
        return {metric.name: metric.result() for metric in self.metrics}

    def dream(self, count):
        """Digits that were never written: decoded from random codes."""
        return tf.sigmoid(self.decoder(tf.random.normal([count, CODE])))


def load(seed=0):
    digits = (load_digits().data / 16).astype("float32")
    return train_test_split(digits, test_size=0.25, random_state=seed)


def train(digits, epochs=60):
    model = Autoencoder()
    model.compile(optimizer=keras.optimizers.Adam(3e-3))
    history = model.fit(digits, batch_size=67, epochs=epochs, verbose=0).history
    return model, history


def squared_error(digits, others):
    return float(np.mean((digits - others) ** 2))


def drawn(digits):
    """Digits side by side, in characters."""
    shades = np.array(list(" .:oO@"))
    rows = shades[np.clip((digits.reshape(-1, 8, 8) * 6).astype(int), 0, 5)]
    return ["  ".join("".join(digit[row]) for digit in rows) for row in range(8)]


def main():
    train_digits, test_digits = load()
    keras.utils.set_random_seed(0)
    tf.random.set_seed(0)
    model, history = train(train_digits)
    back = model(test_digits).numpy()
    print(
        f"loss: {history['reconstruction'][-1]:.1f} for the pixels, "
        f"{history['divergence'][-1]:.1f} for the codes"
    )
    print(f"error of the mean digit: {squared_error(test_digits, train_digits.mean(axis=0)):.4f}")
    print(f"error of the digits that come back: {squared_error(test_digits, back):.4f}")
    print("written, come back, and dreamt:")
    for digits in (test_digits[:6], back[:6], model.dream(6).numpy()):
        print("\n".join(drawn(digits)))


if __name__ == "__main__":
    main()
