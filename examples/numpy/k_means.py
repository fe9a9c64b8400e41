"""k-means by gradient descent on its loss, the mean squared distance of the points to their nearest
centre.

A minimum over the centres has a gradient where one of them is the nearest: it goes to that one.
With clusters of equal size, a rate of half the number of clusters moves each centre to the mean of
its points, which is the step of the usual algorithm.
"""

import numpy as np

import gradtape as tf

STEPS = 40


def squared_distances(points, centres):
    """Of every point to every centre."""
    return np.sum((points[:, np.newaxis] - centres) ** 2, axis=-1)


def loss_of(centres, points):
    return np.mean(np.min(squared_distances(points, centres), axis=1))


def loss_and_gradient(centres, points):
    centres = tf.constant(centres)
    with tf.GradientTape() as tape:
        tape.watch(centres)
        loss = loss_of(centres, points)
    return loss.numpy(), tape.gradient(loss, centres).numpy()


def spread_out(points, count):
    """Points to start from: each is the one that is farthest from those before it."""
    chosen = points[:1]
    for _ in range(count - 1):
        farthest = np.argmax(np.min(squared_distances(points, chosen), axis=1))
        chosen = np.concatenate([chosen, points[farthest : farthest + 1]])
    return chosen


def k_means(points, count):
    """The centres, and the loss of every step."""
    centres = spread_out(points, count)
    losses = []
    for _ in range(STEPS):
        loss, gradient = loss_and_gradient(centres, points)
        centres = centres - 0.5 * count * gradient
        losses.append(loss)
    return centres, losses


def main():
    rng = np.random.default_rng(0)
    true_centres = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 4.0], [5.0, 5.0], [-3.0, 3.0]])
    owners = np.repeat(np.arange(len(true_centres)), 100)
    points = true_centres[owners] + 0.6 * rng.standard_normal((len(owners), 2))

    centres, losses = k_means(points, len(true_centres))
    nearest = np.argmin(squared_distances(true_centres, centres), axis=1)
    print(f"mean squared distance: {losses[0]:.3f} at the start, {losses[-1]:.3f} in the end")
    for true, found in zip(true_centres, centres[nearest], strict=True):
        print(
            f"true centre ({true[0]:5.2f}, {true[1]:5.2f}), found ({found[0]:5.2f}, "
            f"{found[1]:5.2f})"
        )


if __name__ == "__main__":
    main()
