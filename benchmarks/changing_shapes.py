"""Training on sequences that all have other lengths: `python -m benchmarks.changing_shapes`.

A small text classifier with attention is trained for some epochs of 60 batches, each of another
length, by a compiled function whose signature leaves sizes open. The first epoch has everything
that a user waits for: tracing, compiling, and what is done in the place of that. Each run has a
process of its own; they take turns, and the fastest counts.
"""

import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.results import Figures

BATCH, WORDS, WIDTH, RATE = 16, 1000, 64, 0.1
LENGTHS = range(20, 80)
EPOCHS, PROCESSES = 3, 5
FIRST, LATER = "the first epoch", "a later epoch"

CONTENDERS = {
    "gradtape.function": ("gradtape", "open"),
    "gradtape.function, every shape compiled": ("gradtape", "compiled"),
    "gradtape": ("gradtape", "eager"),
    "tf.function": ("tensorflow", "open"),
    "TensorFlow": ("tensorflow", "eager"),
}
SLOW = "gradtape.function, every shape compiled"


# The workload, in a process of its own


def weights(tf: Any, rng: np.random.Generator) -> list[Any]:
    shapes = [(WORDS, WIDTH), *[(WIDTH, WIDTH)] * 4, (WIDTH,), (WIDTH, 2), (2,)]
    return [
        tf.Variable((rng.standard_normal(s) / np.sqrt(s[0])).astype(np.float32)) for s in shapes
    ]


def training_step(tf: Any, variables: list[Any]) -> Any:
    table, query, key, value, hidden, bias, last, last_bias = variables

    def step(tokens: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            mask = tf.cast(tokens > 0, tf.float32)
            x = tf.gather(table, tokens)
            scores = tf.matmul(tf.matmul(x, query), tf.matmul(x, key), transpose_b=True) / 8.0
            scores += (mask[:, None, :] - 1.0) * 1e9
            x += tf.matmul(tf.nn.softmax(scores), tf.matmul(x, value))
            x = tf.nn.relu(tf.matmul(x, hidden) + bias) * mask[:, :, None]
            x = tf.reduce_sum(x, 1) / tf.reduce_sum(mask, 1, keepdims=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=tf.matmul(x, last) + last_bias
            )
            loss = tf.reduce_mean(losses)
        for variable, g in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(RATE * tf.convert_to_tensor(g))
        return loss

    return step


def epochs(package: str, how: str, count: int) -> tuple[list[float], float]:
    """The seconds that each epoch takes, and the last loss."""
    tf, rng = import_module(package), np.random.default_rng(0)
    step = training_step(tf, weights(tf, rng))
    if how != "eager":
        specs = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)]
        step = tf.function(step, input_signature=specs)
        tf.function(lambda x: x + 1.0)(tf.constant(1.0))  # loads what the library needs for it
    if how == "compiled":
        tf.config.set_compile_every_shape(True)
    batches = [
        (rng.integers(1, WORDS, (BATCH, n), np.int32), rng.integers(0, 2, BATCH, np.int32))
        for n in rng.permutation(LENGTHS)
    ]
    found, loss = [], 0.0
    for _ in range(count):
        start = perf_counter()
        for tokens, labels in batches:
            loss = float(step(tf.constant(tokens), tf.constant(labels)))
        found.append(perf_counter() - start)
    return found, loss


# Measuring


def measured(names: list[str], processes: int, count: int) -> dict[str, list[float]]:
    """The least seconds of each epoch."""
    best: dict[str, list[float]] = {}
    losses: dict[str, float] = {}
    for turn in range(processes):
        for name in names:
            if name == SLOW and turn:
                continue
            command = [sys.executable, "-m", "benchmarks.changing_shapes", *CONTENDERS[name]]
            done = subprocess.run(
                [*command, str(count)], capture_output=True, text=True, check=True
            )
            taken, losses[name] = json.loads(done.stdout.splitlines()[-1])
            best[name] = list(map(min, taken, best.get(name, taken)))
    np.testing.assert_allclose(list(losses.values()), losses[names[0]], rtol=1e-3)
    return best


def figures(quick: bool) -> dict[str, Figures]:
    """The seconds of the first epoch and of the fastest later one."""
    names = [
        name
        for name, (package, _) in CONTENDERS.items()
        if find_spec(package) is not None and not (quick and name == SLOW)
    ]
    best = measured(names, 2 if quick else PROCESSES, EPOCHS)
    return {
        "changing_shapes": {
            FIRST: {name: taken[0] for name, taken in best.items()},
            LATER: {name: min(taken[1:]) for name, taken in best.items()},
        }
    }


def main() -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    for row, found in figures(quick=False)["changing_shapes"].items():
        print(f"{row}: " + ", ".join(f"{name} {taken:.2f} s" for name, taken in found.items()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(epochs(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
    else:
        main()
