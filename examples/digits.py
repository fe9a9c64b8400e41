"""Trains a classifier of handwritten digits with a GradientTape: `make demo`.

The digits are the 1,797 scans of 8 × 8 pixels that come with scikit-learn; a quarter of them is kept for the test. Leaves a
picture (out/digits.png) and a report of what the tape records in one training step (out/tape-report.txt).
"""

import argparse
import linecache
import math
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import gradtape as tf

BATCH = 64
NOISE = 0.2  # blurs the training digits a little, anew in every epoch, so that the network does not learn them by heart


class Network:
    """Layers of `relu(x @ w + b)`; the last one without relu gives a score for each digit."""

    def __init__(self, sizes, rng):
        self.weights = []
        self.biases = []
        for fan_in, fan_out in pairwise(sizes):
            scale = math.sqrt(2 / fan_in)
            self.weights.append(tf.Variable(scale * rng.standard_normal((fan_in, fan_out)), dtype=tf.float32))
            self.biases.append(tf.Variable(tf.zeros([fan_out])))
        self.variables = self.weights + self.biases

    def __call__(self, x):
        *hidden, (last_weight, last_bias) = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            x = tf.nn.relu(tf.matmul(x, weight) + bias)
        return tf.matmul(x, last_weight) + last_bias


class Adam:
    """The optimizer, written out: running means of each gradient and of its square set the size of a step."""

    def __init__(self, variables, rate=1e-3, decay=0.9, square_decay=0.999):
        self.variables = variables
        self.rate, self.decay, self.square_decay = rate, decay, square_decay
        self.means = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
        self.squares = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
        self.steps = 0

    def apply(self, gradients):
        self.steps += 1
        rate = self.rate * math.sqrt(1 - self.square_decay**self.steps) / (1 - self.decay**self.steps)
        for variable, gradient, mean, square in zip(self.variables, gradients, self.means, self.squares, strict=True):
            mean.assign_add((1 - self.decay) * (gradient - mean))
            square.assign_add((1 - self.square_decay) * (tf.square(gradient) - square))
            variable.assign_sub(rate * mean / (tf.sqrt(square) + 1e-7))


def cross_entropy(network, digits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=network(digits)))


def train(network, train_set, test_set, epochs, rng):
    """Returns the loss of every step, the test loss after every epoch, and the tape report of the first step."""
    digits, labels = train_set
    optimizer = Adam(network.variables)
    losses, test_losses, report = [], [], None
    progress = tqdm(range(epochs), desc="training", unit="epoch", ncols=100)
    for _ in progress:
        order = rng.permutation(len(digits))
        for start in range(0, len(digits) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            noise = NOISE * rng.standard_normal((BATCH, digits.shape[1]))
            x = tf.constant(digits[chosen] + noise, tf.float32)
            with tf.GradientTape() as tape:
                loss = cross_entropy(network, x, labels[chosen])
            if report is None:
                report = tape_report(loss)  # before gradient(), which lets go of the recording
            optimizer.apply(tape.gradient(loss, network.variables))
            losses.append(float(loss))
        test_losses.append(float(cross_entropy(network, *test_set)))
        progress.set_postfix(loss=f"{np.mean(losses[-len(digits) // BATCH :]):.3f}", test_loss=f"{test_losses[-1]:.3f}")
    return losses, test_losses, report


def tape_report(loss):
    """What the tape recorded on the way to `loss`: how often each op, and from which lines."""
    seen, waiting = {loss.node}, [loss.node]
    while waiting:
        for parent in waiting.pop().parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    ops = sorted((node for node in seen if node.rule is not None), key=lambda node: node.number)

    by_op = Counter(node.rule.name for node in ops)
    by_line = defaultdict(Counter)
    for node in ops:
        by_line[node.location()][node.rule.name] += 1

    lines = [f"One training step records {len(ops)} ops on {len(seen) - len(ops)} variables.", "", "By op:"]
    lines += [f"{count:5} × {name}" for name, count in by_op.most_common()]
    lines += ["", "By source line:"]
    for place, counts in by_line.items():
        recorded = ", ".join(f"{count} × {name}" for name, count in counts.items())
        lines += [
            f"  {Path(place.file).name}:{place.line}, in {place.function}: {recorded}",
            f"      {linecache.getline(place.file, place.line).strip()}",
        ]
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
    curve.semilogy(np.arange(1, len(losses) + 1) / steps_per_epoch, losses, color=grey, linewidth=0.6, label="training step")
    curve.semilogy(epochs, np.reshape(losses, (-1, steps_per_epoch)).mean(axis=1), color=blue, label="training, mean of an epoch")
    curve.semilogy(epochs, test_losses, color=red, label="test (without noise)")
    curve.set(xlabel="epoch", ylabel="cross entropy", xlim=(0, len(test_losses)))
    curve.set_title(f"Handwritten digits: {np.mean(predictions == labels):.1%} of {len(labels)} test digits are right")
    curve.grid(which="major", color="#e4e7eb")
    curve.spines[["top", "right"]].set_visible(False)
    curve.legend(frameon=False)

    bottom.suptitle("Test digits and what the network takes them for", fontsize="medium")
    for index, axes in zip(chosen, bottom.subplots(1, shown), strict=True):
        axes.imshow(digits[index].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        is_right = predictions[index] == labels[index]
        axes.set_title(str(predictions[index]), color="black" if is_right else red, fontweight="normal" if is_right else "bold")
        axes.set_xlabel("" if is_right else f"really {labels[index]}", color=red)
        axes.spines[:].set(color=grey if is_right else red, linewidth=0.8 if is_right else 2)
    figure.savefig(path, dpi=150, bbox_inches="tight", pad_inches=0.15)


def main():
    parser = argparse.ArgumentParser(description="Trains a classifier of handwritten digits with a GradientTape.")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out"), help="the folder for the picture and the report")
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    digits, labels = load_digits(return_X_y=True)
    digits = (digits / 16).astype(np.float32)
    split = train_test_split(digits, labels, test_size=0.25, random_state=args.seed, stratify=labels)
    train_digits, test_digits, train_labels, test_labels = split

    network = Network([64, 256, 128, 10], rng)
    losses, test_losses, report = train(network, (train_digits, train_labels), (test_digits, test_labels), args.epochs, rng)
    predictions = tf.argmax(network(test_digits), axis=1).numpy()

    args.out.mkdir(parents=True, exist_ok=True)
    picture, text = args.out / "digits.png", args.out / "tape-report.txt"
    draw(picture, losses, test_losses, test_digits, test_labels, predictions)
    text.write_text(report, encoding="utf-8")
    right = int(np.sum(predictions == test_labels))
    print(f"test accuracy: {100 * right / len(test_labels):.1f} % ({right} of {len(test_labels)} digits)")
    print(f"see {picture} and {text}")


if __name__ == "__main__":
    main()
