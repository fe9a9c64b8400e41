"""A small transformer learns to sort: eight digits go in, the same digits come out in order.

Every place of the result has to look at all of the places that were given, which is what attention
is for. The blocks are a layer of one's own made of Keras's layers; the loop is a tape in a compiled
function, with weight decay and a warm-up of the learning rate.
"""

import numpy as np

import gradtape as tf
from gradtape import keras

layers = keras.layers

LENGTH = 8
SYMBOLS = 10
WIDTH = 48
STEPS = 400
BATCH = 128


class Block(layers.Layer):
    """Attention over all places, then a small network at each place;
    both add to what they were given.
    """

    def __init__(self, heads=4):
        super().__init__()
        self.attention = layers.MultiHeadAttention(heads, WIDTH // heads)
        self.network = keras.Sequential(
            [layers.Dense(2 * WIDTH, activation="gelu"), layers.Dense(WIDTH)]
        )
        self.before_attention = layers.LayerNormalization()
        self.before_network = layers.LayerNormalization()

    def call(self, x):
        y = self.before_attention(x)
        x = x + self.attention(y, y)
        return x + self.network(self.before_network(x))


class Sorter(keras.Model):
    """Scores for the symbol at each place of the result."""

    def __init__(self, blocks=2):
        super().__init__()
        self.symbols = layers.Embedding(SYMBOLS, WIDTH)
        self.places = layers.Embedding(LENGTH, WIDTH)
        self.blocks = [Block() for _ in range(blocks)]
        self.scores = layers.Dense(SYMBOLS)

    def call(self, sequence):
        x = self.symbols(sequence) + self.places(tf.range(LENGTH))
        for block in self.blocks:
            x = block(x)
        return self.scores(x)


def examples(count, rng):
    """Sequences, and the same sequences sorted."""
    sequences = rng.integers(0, SYMBOLS, (count, LENGTH)).astype("int32")
    return tf.constant(sequences), tf.constant(np.sort(sequences, axis=1))


def train(rng):
    """A trained model, and the loss of every step."""
    model = Sorter()
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, STEPS - 50, warmup_target=4e-3, warmup_steps=50
    )
    optimizer = keras.optimizers.AdamW(rate, weight_decay=1e-2)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = cross_entropy(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return model, [float(train_step(*examples(BATCH, rng))) for _ in range(STEPS)]


def main():
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    model, losses = train(rng)
    sequences, in_order = examples(1000, rng)
    found = tf.argmax(model(sequences), axis=2).numpy()
    print(f"loss: {losses[0]:.2f} at the start, {losses[-1]:.3f} at the end")
    print(f"places right: {np.mean(found == in_order.numpy()):.1%}")
    for sequence, result in zip(sequences.numpy()[:3], found[:3], strict=True):
        print("".join(map(str, sequence)), "sorted is", "".join(map(str, result)))


if __name__ == "__main__":
    main()
