"""A generative adversarial network with two tapes: points on a tilted ellipse of noise,
learnt from samples alone.

The generator turns noise into points, the critic tells real points from made ones. Both losses are
computed once, and each network gets its gradient from its own tape. The generator never sees a real
point; what it learns comes through the critic.
"""

import numpy as np

import gradtape as tf
from gradtape import keras

layers = keras.layers

NOISE = 4
BATCH = 256
STEPS = 1500
MEAN = np.array([1.0, -0.5])
MIXING = np.array([[1.0, 0.0], [0.6, 0.4]])

cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)


def real_points(count, rng):
    """Normal points around MEAN with the covariance MIXING MIXINGᵀ."""
    return (MEAN + rng.standard_normal((count, 2)) @ MIXING.T).astype("float32")


def build():
    generator = keras.Sequential(
        [keras.Input((NOISE,)), layers.Dense(32, activation="relu"), layers.Dense(2)]
    )
    critic = keras.Sequential(
        [
            keras.Input((2,)),
            layers.Dense(64, activation="leaky_relu"),
            layers.Dense(64, activation="leaky_relu"),
            layers.Dense(1),
        ]
    )
    return generator, critic


def train(generator, critic, rng):
    generator_optimizer = keras.optimizers.Adam(
        keras.optimizers.schedules.CosineDecay(1e-3, STEPS), beta_1=0.5
    )
    critic_optimizer = keras.optimizers.Adam(
        keras.optimizers.schedules.CosineDecay(2e-3, STEPS), beta_1=0.5
    )

    @tf.function
    def train_step(real):
        noise = tf.random.normal([BATCH, NOISE])
        with tf.GradientTape() as generator_tape, tf.GradientTape() as critic_tape:
            made = generator(noise, training=True)
            about_real, about_made = critic(real, training=True), critic(made, training=True)
            generator_loss = cross_entropy(tf.ones_like(about_made), about_made)
            critic_loss = cross_entropy(tf.ones_like(about_real), about_real) + cross_entropy(
                tf.zeros_like(about_made), about_made
            )
        generator_gradients = generator_tape.gradient(generator_loss, generator.trainable_variables)
        critic_gradients = critic_tape.gradient(critic_loss, critic.trainable_variables)
        generator_optimizer.apply_gradients(
            zip(generator_gradients, generator.trainable_variables, strict=True)
        )
        critic_optimizer.apply_gradients(
            zip(critic_gradients, critic.trainable_variables, strict=True)
        )
        return generator_loss, critic_loss

    return [train_step(tf.constant(real_points(BATCH, rng))) for _ in range(STEPS)]


def moments(points):
    return points.mean(axis=0), np.cov(points.T)


def shown(array):
    return " ".join(f"{number:.2f}" for number in np.ravel(array))


def main():
    keras.utils.set_random_seed(0)
    tf.random.set_seed(0)
    generator, critic = build()
    losses = train(generator, critic, np.random.default_rng(0))
    mean, covariance = moments(generator(tf.random.normal([5000, NOISE])).numpy())
    generator_loss, critic_loss = np.mean(np.array(losses[-100:]), axis=0)
    print(
        f"losses: generator {generator_loss:.2f}, critic {critic_loss:.2f} (a critic that cannot "
        f"tell: {2 * np.log(2):.2f})"
    )
    print(f"mean: {shown(mean)} (of the real points: {shown(MEAN)})")
    print(f"covariance: {shown(covariance)} (of the real points: {shown(MIXING @ MIXING.T)})")


if __name__ == "__main__":
    main()
