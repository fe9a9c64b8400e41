"""Sharpens a blurred, noisy picture: gradient descent on a picture that, blurred by np.fft,
should look like the given one.

Blurring loses the fine frequencies, so many pictures fit. Of those, the loss prefers pictures that
change little from pixel to pixel.
"""

import numpy as np

import gradtape as tf

SIZE = 64
STEPS = 300
RATE = 1.0
MOMENTUM = 0.9
NOISE = 0.005
SMOOTHNESS = 5e-4


def blur(picture, width):
    """The picture, each pixel spread as a Gaussian bell; the borders are joined,
    as frequencies have it.
    """
    rows, columns = np.fft.fftfreq(SIZE)[:, np.newaxis], np.fft.rfftfreq(SIZE)
    bell = np.exp(-2 * (np.pi * width) ** 2 * (rows**2 + columns**2))
    return np.fft.irfft2(np.fft.rfft2(picture) * bell, s=(SIZE, SIZE))


def variation(picture):
    """The sum of all steps from pixel to pixel, rounded off near 0 so that it has a derivative
    there.
    """
    down = np.diff(picture, axis=0, append=picture[:1])
    right = np.diff(picture, axis=1, append=picture[:, :1])
    return np.sum(np.sqrt(down**2 + right**2 + 1e-4))


def loss_of(picture, given, width):
    return 0.5 * np.sum((blur(picture, width) - given) ** 2) + SMOOTHNESS * variation(picture)


def loss_and_gradient(picture, given, width):
    picture = tf.constant(picture)
    with tf.GradientTape() as tape:
        tape.watch(picture)
        loss = loss_of(picture, given, width)
    return loss.numpy(), tape.gradient(loss, picture).numpy()


def sharpen(given, width):
    """The picture, and the loss of every step."""
    picture, velocity, losses = given, np.zeros_like(given), []
    for _ in range(STEPS):
        loss, gradient = loss_and_gradient(picture, given, width)
        velocity = MOMENTUM * velocity - RATE * gradient
        picture = picture + velocity
        losses.append(loss)
    return picture, losses


def shapes():
    """A picture to blur: a disc, a frame and stripes."""
    row, column = np.indices((SIZE, SIZE))
    disc = (row - 20) ** 2 + (column - 20) ** 2 < 11**2
    distance = np.maximum(np.abs(row - 44), np.abs(column - 44))
    frame = (distance < 13) & (distance > 8)
    stripes = (row > 44) & (column < 24) & (column // 4 % 2 == 0)
    return 1.0 * disc + 0.7 * frame + 0.5 * stripes


def decibels(picture, true_picture):
    """The peak signal-to-noise ratio."""
    return -10 * np.log10(np.mean((picture - true_picture) ** 2))


def main():
    true_picture, width = shapes(), 1.5
    given = blur(true_picture, width) + NOISE * np.random.default_rng(0).standard_normal(
        (SIZE, SIZE)
    )
    sharp, losses = sharpen(given, width)
    print(f"loss: {losses[0]:.2f} at the start, {losses[-1]:.2f} in the end")
    print(f"blurred: {decibels(given, true_picture):.1f} dB")
    print(f"sharpened: {decibels(sharp, true_picture):.1f} dB")


if __name__ == "__main__":
    main()
