"""Learns the frequency response of an unknown filter from what goes in and what comes out,
through np.fft.

The response is one complex number for each frequency: how much the filter weakens it and by how
much it delays it. It is learnt by gradient descent. The gradient by a complex number z is the
direction in which the loss grows, so that z - rate * gradient descends as it does for real numbers.
"""

import numpy as np

import gradtape as tf

SAMPLES = 128
STEPS = 100
RATE = 0.2
NOISE = 0.01


def apply_filter(response, signals):
    """The signals with each of their frequencies multiplied by the response at that frequency."""
    return np.fft.irfft(response * np.fft.rfft(signals), n=SAMPLES)


def squared_error(response, signals, heard):
    return np.mean(np.sum((apply_filter(response, signals) - heard) ** 2, axis=-1))


def loss_and_gradient(response, signals, heard):
    response = tf.constant(response)
    with tf.GradientTape() as tape:
        tape.watch(response)
        loss = squared_error(response, signals, heard)
    return loss.numpy(), tape.gradient(loss, response).numpy()


def low_pass(cutoff, delay):
    """The filter to be found: it weakens what is above the cutoff,
    and delays everything by some samples.
    """
    frequencies = np.fft.rfftfreq(SAMPLES)
    return np.exp(-2j * np.pi * delay * frequencies) / np.sqrt(1 + (frequencies / cutoff) ** 4)


def learn(signals, heard):
    """The response, and the loss of every step."""
    response = np.ones(SAMPLES // 2 + 1, np.complex128)
    losses = []
    for _ in range(STEPS):
        loss, gradient = loss_and_gradient(response, signals, heard)
        response = response - RATE * gradient
        losses.append(loss)
    return response, losses


def main():
    rng = np.random.default_rng(0)
    signals = rng.standard_normal((20, SAMPLES))
    true_response = low_pass(cutoff=0.15, delay=3)
    heard = apply_filter(true_response, signals) + NOISE * rng.standard_normal(signals.shape)

    response, losses = learn(signals, heard)
    print(f"squared error: {losses[0]:.2f} at the start, {losses[-1]:.4f} in the end")
    print("frequency     0.05   0.15   0.30")
    for name, measured in ("true", true_response), ("learnt", response):
        gains = np.abs(measured)[[6, 19, 38]]
        print(f"{name + ' gain':<11}", *(f"{gain:6.3f}" for gain in gains))
    print(f"largest error of the response: {np.max(np.abs(response - true_response)):.4f}")


if __name__ == "__main__":
    main()
