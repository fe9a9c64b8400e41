"""Trains a classifier of handwritten digits with Keras layers,
Adam and a GradientTape: `make demo`.

The digits are the 1,797 scans of 8 × 8 pixels that come with scikit-learn; a quarter of them is
kept for the test. Leaves a picture (out/digits.png) and a page that shows what the tape records in
one training step (out/tape.html).
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import gradtape as tf
from gradtape import keras

BATCH = 64
# Blurs the training digits a little, anew in every step, so that the network does not learn them by
# heart.
NOISE = 0.2

cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def build():
    """A network that gives a score for each digit."""
    return keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.GaussianNoise(NOISE),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dense(10),
        ]
    )


def train(network, train_set, test_set, epochs, rng):
    """Returns the loss of every step, and the test loss after every epoch."""
    digits, labels = train_set
    steps = epochs * (len(digits) // BATCH)
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, steps))
    losses, test_losses = [], []
    progress = tqdm(range(epochs), desc="training", unit="epoch", ncols=100)
    for _ in progress:
        order = rng.permutation(len(digits))
        for start in range(0, len(digits) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            with tf.GradientTape() as tape:
                loss = cross_entropy(labels[chosen], network(digits[chosen], training=True))
            gradients = tape.gradient(loss, network.trainable_variables)
            optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
            losses.append(float(loss))
        test_losses.append(float(cross_entropy(test_set[1], network(test_set[0]))))
        progress.set_postfix(
            loss=f"{np.mean(losses[-(len(digits) // BATCH) :]):.3f}",
            test_loss=f"{test_losses[-1]:.3f}",
        )
    return losses, test_losses


def tape_page(path, network, digits, labels):
    """Leaves a page to look at: what a tape records in one step, with the bytes, the time and the
    gradient of every line.
    """
    with tf.profile() as times:
        with tf.GradientTape(persistent=True) as tape:
            loss = cross_entropy(labels, network(digits, training=True))
        tape.gradient(loss, network.trainable_variables)
    return tape.show(path, target=loss, profile=times)


def draw(path, losses, test_losses, digits, labels, predictions):
    """The loss during training, above a row of test digits with what the network takes them for."""
    grey, blue, red = "#9aa5b1", "#1f5fa8", "#c8322b"
    shown = 12
    wrong = np.flatnonzero(predictions != labels)[:3]  # the failures are what one wants to see
    right = np.flatnonzero(predictions == labels)[: shown - len(wrong)]
    chosen = np.random.default_rng(0).permutation(np.concatenate([wrong, right]))

    figure = Figure(figsize=(10, 5.6), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[3, 1.1])
    curve = top.subplots()
    steps_per_epoch = len(losses) // len(test_losses)
    epochs = 1 + np.arange(len(test_losses))
    curve.semilogy(
        np.arange(1, len(losses) + 1) / steps_per_epoch,
        losses,
        color=grey,
        linewidth=0.6,
        label="training step",
    )
    curve.semilogy(
        epochs,
        np.reshape(losses, (-1, steps_per_epoch)).mean(axis=1),
        color=blue,
        label="training, mean of an epoch",
    )
    curve.semilogy(epochs, test_losses, color=red, label="test (without noise)")
    curve.set(xlabel="epoch", ylabel="cross entropy", xlim=(0, len(test_losses)))
    curve.set_title(
        f"Handwritten digits: {np.mean(predictions == labels):.1%} of {len(labels)} test digits "
        "are right"
    )
    curve.grid(which="major", color="#e4e7eb")
    curve.spines[["top", "right"]].set_visible(False)
    curve.legend(frameon=False)

    bottom.suptitle("Test digits and what the network takes them for", fontsize="medium")
    for index, axes in zip(chosen, bottom.subplots(1, shown), strict=True):
        axes.imshow(digits[index].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        is_right = predictions[index] == labels[index]
        axes.set_title(
            str(predictions[index]),
            color="black" if is_right else red,
            fontweight="normal" if is_right else "bold",
        )
        axes.set_xlabel("" if is_right else f"really {labels[index]}", color=red)
        axes.spines[:].set(color=grey if is_right else red, linewidth=0.8 if is_right else 2)
    figure.savefig(path, dpi=150, bbox_inches="tight", pad_inches=0.15)


def main():
    parser = argparse.ArgumentParser(
        description="Trains a classifier of handwritten digits with Keras and a GradientTape."
    )
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out", type=Path, default=Path("out"), help="the folder for the picture and the page"
    )
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    keras.utils.set_random_seed(args.seed)
    digits, labels = load_digits(return_X_y=True)
    digits = (digits / 16).astype(np.float32)
    split = train_test_split(
        digits, labels, test_size=0.25, random_state=args.seed, stratify=labels
    )
    train_digits, test_digits, train_labels, test_labels = split

    network = build()
    losses, test_losses = train(
        network, (train_digits, train_labels), (test_digits, test_labels), args.epochs, rng
    )
    predictions = tf.argmax(network(test_digits), axis=1).numpy()

    args.out.mkdir(parents=True, exist_ok=True)
    picture, page = args.out / "digits.png", args.out / "tape.html"
    draw(picture, losses, test_losses, test_digits, test_labels, predictions)
    tape_page(page, network, train_digits[:BATCH], train_labels[:BATCH])
    right = int(np.sum(predictions == test_labels))
    print(
        f"test accuracy: {100 * right / len(test_labels):.1f} % ({right} of "
        f"{len(test_labels)} digits)"
    )
    print(f"see {picture} and {page}")


if __name__ == "__main__":
    main()
