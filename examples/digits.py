"""Trains a classifier of handwritten digits with Keras layers,
Adam and a GradientTape: `make demo`.

The digits are the 1,797 scans of 8 × 8 pixels that come with scikit-learn; a quarter of them is
kept for the test. Leaves a picture (out/digits.png) and a report of what the tape records in one
training step (out/tape-report.txt).
"""

import argparse
import linecache
from collections import Counter
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


def tape_report(network, digits, labels):
    """What a tape records in one step: how often each op,
    and what each layer and the loss did, line by line.
    """
    # As long as there is the tape, there is what it has recorded.
    with tf.GradientTape() as tape:  # noqa: F841
        x, last_of = digits, {}
        for layer in network.layers:
            x = layer(x, training=True)
            last_of[layer.name] = x.node
        loss = cross_entropy(labels, x)
    last_of["loss"] = loss.node

    seen, waiting = {loss.node}, [loss.node]
    while waiting:
        for parent in waiting.pop().parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    ops = sorted((node for node in seen if node.rule is not None), key=lambda node: node.number)

    lines = [
        f"One training step records {len(ops)} ops on {len(seen) - len(ops)} variables.",
        "",
        "By op:",
    ]
    lines += [
        f"{count:5} × {name}"
        for name, count in Counter(node.rule.name for node in ops).most_common()
    ]
    lines += ["", "By layer, in order, with the lines that ran the ops:"]
    start = 0
    for name, last in last_of.items():
        if last is None:  # nothing that depends on a variable
            lines.append(f"  {name}: records nothing")
            continue
        lines.append(f"  {name}")
        for node in ops:
            if start < node.number <= last.number:
                place = node.location()
                code = linecache.getline(place.file, place.line).strip()
                lines += [
                    f"      {node.rule.name}, in {Path(place.file).name}:{place.line}",
                    f"          {code}",
                ]
        start = last.number
    return "\n".join(lines) + "\n"


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
        "--out", type=Path, default=Path("out"), help="the folder for the picture and the report"
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
    report = tape_report(network, train_digits[:BATCH], train_labels[:BATCH])
    losses, test_losses = train(
        network, (train_digits, train_labels), (test_digits, test_labels), args.epochs, rng
    )
    predictions = tf.argmax(network(test_digits), axis=1).numpy()

    args.out.mkdir(parents=True, exist_ok=True)
    picture, text = args.out / "digits.png", args.out / "tape-report.txt"
    draw(picture, losses, test_losses, test_digits, test_labels, predictions)
    text.write_text(report, encoding="utf-8")
    right = int(np.sum(predictions == test_labels))
    print(
        f"test accuracy: {100 * right / len(test_labels):.1f} % ({right} of "
        f"{len(test_labels)} digits)"
    )
    print(f"see {picture} and {text}")


if __name__ == "__main__":
    main()
