"""How fast Keras trains on gradtape, TensorFlow and JAX: `python -m benchmarks.keras_training`.

Each backend that is installed has a process of its own. They train the same models from the same
weights, on the same batches, which is checked; then they are timed in turns, an epoch at a time,
and the fastest counts: whatever else the machine does can only add time.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

BACKENDS = {"gradtape": "jax", "tensorflow": "tensorflow", "jax": "jax"}
"""Keras's backends, and the package that each of them needs."""

BATCH, STEPS, ROUNDS = 32, 56, 15

Epoch = Callable[[], float]
"""Trains for an epoch: its loss."""


# The workloads, in a process whose environment names the backend


def keras() -> Any:
    """Keras on the backend of this process."""
    if os.environ["KERAS_BACKEND"] == "gradtape":
        import_module("gradtape")  # it puts the backend in
    return import_module("keras")


def data(*shape: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.random((BATCH * STEPS, *shape), dtype=np.float32), rng.integers(
        0, 10, BATCH * STEPS
    ).astype(np.int32)


def of_layers(*layers: Any) -> Any:
    """A model whose weights are the same in every process."""
    model, rng = keras().Sequential(layers), np.random.default_rng(1)
    model.set_weights([rng.normal(0, 0.1, w.shape).astype(np.float32) for w in model.get_weights()])
    return model


def dense_model() -> Any:
    layers = keras().layers
    return of_layers(
        layers.Input((64,)), layers.Dense(128, "relu"), layers.Dense(128, "relu"), layers.Dense(10)
    )


def convolutions() -> Any:
    layers = keras().layers
    first, second = (
        layers.Conv2D(channels, 3, activation="relu", padding="same") for channels in (16, 32)
    )
    return of_layers(
        layers.Input((8, 8, 1)),
        first,
        second,
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(10),
    )


def loss_and_optimizer() -> tuple[Any, Any]:
    return keras().losses.SparseCategoricalCrossentropy(from_logits=True), keras().optimizers.Adam()


def fitted(model: Any, x: Any, y: Any) -> Epoch:
    loss, optimizer = loss_and_optimizer()
    model.compile(optimizer, loss, metrics=["accuracy"])
    return lambda: model.fit(x, y, batch_size=BATCH, shuffle=False, verbose=0).history["loss"][0]


def loop(model: Any, *, compiled: bool) -> Epoch | None:
    """A loop of one's own with a tape, on the backends that have one."""
    backend = os.environ["KERAS_BACKEND"]
    if backend == "jax":
        return None
    tf, (loss_fn, optimizer) = import_module(backend), loss_and_optimizer()
    x, y = (tf.constant(array.reshape(STEPS, BATCH, *array.shape[1:])) for array in data(64))
    batches = list(zip(tf.unstack(x), tf.unstack(y), strict=True))

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    run = tf.function(step) if compiled else step
    return lambda: sum(float(loss) for loss in [run(x, y) for x, y in batches]) / STEPS


WORKLOADS: dict[str, Callable[[], Epoch | None]] = {
    "fit: dense 64-128-128-10": lambda: fitted(dense_model(), *data(64)),
    "fit: two convolutions, 8x8": lambda: fitted(convolutions(), *data(8, 8, 1)),
    "tape, eager: dense 64-128-128-10": lambda: loop(dense_model(), compiled=False),
    "tape, compiled: dense 64-128-128-10": lambda: loop(dense_model(), compiled=True),
}


def serve() -> None:
    """Answers a title on the standard input with the loss of an epoch and the seconds that a step
    took, or with nothing.
    """
    answers, sys.stdout = sys.stdout, sys.stderr
    epochs: dict[str, Epoch | None] = {}
    for title in map(str.strip, sys.stdin):
        if title not in epochs:
            epochs[title] = WORKLOADS[title]()
        epoch, start = epochs[title], perf_counter()
        answer = epoch and (epoch(), (perf_counter() - start) / STEPS)
        print(json.dumps(answer), file=answers, flush=True)


# The process that asks them


class Worker:
    """A process that runs Keras on one backend: `python -m module worker`."""

    def __init__(self, backend: str, module: str = "benchmarks.keras_training") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, "worker"],
            env=os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # where libraries greet
            text=True,
        )

    def ask(self, line: str) -> Any:
        """Its answer to a line; None if the backend does not have the workload."""
        print(line, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline() if self._process.stdout else ""
        if not answer:
            raise RuntimeError(f"A worker ended while it was asked for {line!r}.")
        return json.loads(answer)

    def close(self) -> None:
        self._process.communicate()


def workers(module: str = "benchmarks.keras_training") -> dict[str, Worker]:
    """A worker for each backend that is installed, by its name."""
    return {
        name: Worker(name, module)
        for name, needed in BACKENDS.items()
        if find_spec(needed) is not None
    }


def main() -> None:
    asked = workers()
    print(f"{'ms a step, batches of 32':38}" + "".join(f"{name:>20}" for name in asked))
    for title in WORKLOADS:
        # The loss of an epoch and the seconds a step.
        first = {name: worker.ask(title) for name, worker in asked.items()}
        losses = {name: answer[0] for name, answer in first.items() if answer is not None}
        if not np.allclose(list(losses.values()), losses["gradtape"], rtol=1e-3):
            raise AssertionError(f"{title}: the losses of the first epoch differ: {losses}")
        rounds = [{name: asked[name].ask(title) for name in losses} for _ in range(ROUNDS)]
        best = {name: min(answers[name][1] for answers in rounds) for name in losses}
        cells = [
            f"{1e3 * best[name]:.3f} ({best[name] / best['gradtape']:.2f}x)"
            if name in best
            else "-"
            for name in asked
        ]
        print(f"{title:38}" + "".join(f"{cell:>20}" for cell in cells), flush=True)
    print("In brackets: the multiple of gradtape's time.")
    for worker in asked.values():
        worker.close()


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["worker"] else main()
