"""Eight ordinary Keras models on gradtape, TensorFlow and JAX: `python -m benchmarks.keras_models`.

For each the first step of `fit`, a step of `fit`, and `predict` of one batch. Each backend has a
process of its own. They begin with the same weights, train on the same batches, and their losses
must agree after the first step. Then they are timed in turns, and the fastest turn counts.
"""

import json
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.keras_training import Worker, keras, workers

ROUNDS = 5
_SECONDS = 0.7  # of training in a turn, at least one step
_MODULE = "benchmarks.keras_models"


class Task(NamedTuple):
    """A model, a batch of its data, and how it is trained."""

    model: Any
    x: Any
    y: Any
    loss: str


def weighted(model: Any) -> Any:
    """The model with weights that are the same in every process; scales, offsets and running means
    are those that Keras begins with.
    """
    rng, weights = np.random.default_rng(1), []
    for w in model.get_weights():
        size = max(1, int(np.prod(w.shape[:-1])))
        weights.append(rng.normal(0, size**-0.5, w.shape).astype(w.dtype) if w.ndim > 1 else w)
    model.set_weights(weights)
    return model


def pixels(count: int, *shape: int) -> Any:
    return np.random.default_rng(0).random((count, *shape), dtype=np.float32)


def numbers(count: int, below: int, *shape: int) -> Any:
    return np.random.default_rng(2).integers(0, below, (count, *shape)).astype(np.int32)


def lstm() -> Task:
    layers = keras().layers
    model = keras().Sequential(
        [layers.Input((100, 32)), layers.LSTM(64), layers.Dense(10, "softmax")]
    )
    return Task(model, pixels(32, 100, 32), numbers(32, 10), "sparse_categorical_crossentropy")


def text() -> Task:
    layers = keras().layers
    model = keras().Sequential(
        [
            layers.Input((60,), dtype="int32"),
            layers.Embedding(5000, 32, mask_zero=True),
            layers.Bidirectional(layers.LSTM(32, return_sequences=True)),
            layers.Bidirectional(layers.GRU(32)),
            layers.Dense(1, "sigmoid"),
        ]
    )
    words = numbers(32, 5000, 60)
    words *= np.arange(60) < numbers(32, 60)[:, None]  # of different lengths
    return Task(model, words, numbers(32, 2).astype(np.float32)[:, None], "binary_crossentropy")


def autoencoder() -> Task:
    layers = keras().layers

    def convolution(kind: Any, channels: int) -> Any:
        return kind(channels, 3, strides=2, padding="same", activation="relu")

    model = keras().Sequential(
        [
            layers.Input((28, 28, 1)),
            convolution(layers.Conv2D, 32),
            convolution(layers.Conv2D, 64),
            convolution(layers.Conv2DTranspose, 64),
            convolution(layers.Conv2DTranspose, 32),
            layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
        ]
    )
    x = pixels(64, 28, 28, 1)
    return Task(model, x, x, "binary_crossentropy")


def u_net() -> Task:
    layers = keras().layers

    def twice(x: Any, channels: int) -> Any:
        for _ in range(2):
            x = layers.Conv2D(channels, 3, padding="same", activation="relu")(x)
        return x

    x = inputs = layers.Input((64, 64, 3))
    skipped = []
    for channels in (8, 16):
        x = twice(x, channels)
        skipped.append(x)
        x = layers.MaxPooling2D()(x)
    x = twice(x, 32)
    for channels in (16, 8):
        x = layers.Conv2DTranspose(channels, 2, strides=2)(x)
        x = twice(layers.Concatenate()([x, skipped.pop()]), channels)
    model = keras().Model(inputs, layers.Conv2D(4, 1, activation="softmax")(x))
    return Task(
        model, pixels(16, 64, 64, 3), numbers(16, 4, 64, 64), "sparse_categorical_crossentropy"
    )


def mobile_net() -> Task:
    model = keras().applications.MobileNetV2((96, 96, 3), weights=None, classes=10)
    return Task(model, pixels(16, 96, 96, 3), numbers(16, 10), "sparse_categorical_crossentropy")


def res_net() -> Task:
    model = keras().applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10)
    return Task(model, pixels(8, 64, 64, 3), numbers(8, 10), "sparse_categorical_crossentropy")


def tabular() -> Task:
    layers = keras().layers
    model = keras().Sequential(
        [
            layers.Input((32,)),
            layers.Dense(64, "relu"),
            layers.Dense(64, "relu"),
            layers.Dense(1, "sigmoid"),
        ]
    )
    return Task(
        model, pixels(64, 32), numbers(64, 2).astype(np.float32)[:, None], "binary_crossentropy"
    )


def transformer() -> Task:
    layers = keras().layers
    x = inputs = layers.Input((64,), dtype="int32")
    x = layers.Embedding(2000, 64)(x)
    for _ in range(2):
        attended = layers.MultiHeadAttention(4, 16)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, attended]))
        hidden = layers.Dense(64)(layers.Dense(256, "gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, hidden]))
    out = layers.Dense(10, "softmax")(layers.GlobalAveragePooling1D()(x))
    return Task(
        keras().Model(inputs, out),
        numbers(32, 2000, 64),
        numbers(32, 10),
        "sparse_categorical_crossentropy",
    )


MODELS: dict[str, Callable[[], Task]] = {
    "LSTM, 100 x 32, 64 units": lstm,
    "embedding, bidirectional LSTM and GRU, masks": text,
    "convolutional autoencoder, 28 x 28, batch 64": autoencoder,
    "U-Net, 64 x 64, batch 16": u_net,
    "MobileNetV2, 96 x 96, batch 16": mobile_net,
    "ResNet50, 64 x 64, batch 8": res_net,
    "tabular, 3 dense layers, batch 64": tabular,
    "transformer, 2 layers of 64, 32 x 64": transformer,
}


class _Service:
    """What a worker does: `first TITLE`, then `fit` and `predict` of that model."""

    def __init__(self) -> None:
        self._task: Task | None = None
        self._steps = 1

    def first(self, title: str) -> tuple[float, float]:
        """The loss and the seconds of the first step, the compilation with it."""
        made = MODELS[title]()
        weighted(made.model).compile(keras().optimizers.Adam(1e-3), made.loss)
        self._task, self._steps = made, 1
        return self._fit()

    def fit(self) -> float:
        """The seconds of a step."""
        seconds = self._fit()[1] / self._steps
        if self._steps == 1:  # it is known only now how long a step takes
            self._fit()  # what is compiled beside is ready, or nearly
            self._steps = max(1, int(_SECONDS / self._fit()[1]))
            return self.fit() if self._steps > 1 else seconds
        return seconds

    def predict(self) -> float:
        """The seconds of `predict` for one batch."""
        assert self._task is not None
        start, count = perf_counter(), 0
        while count < 3 or perf_counter() - start < _SECONDS / 3:
            self._task.model.predict(self._task.x, batch_size=len(self._task.x), verbose=0)
            count += 1
        return (perf_counter() - start) / count

    def _fit(self) -> tuple[float, float]:
        assert self._task is not None
        model, x, y, _ = self._task
        x, y = (np.concatenate([a] * self._steps) for a in (x, y))
        start = perf_counter()
        size = len(self._task.x)
        history = model.fit(x, y, batch_size=size, epochs=1, shuffle=False, verbose=0)
        return float(history.history["loss"][0]), perf_counter() - start


def serve() -> None:
    """Answers lines on the standard input."""
    answers, sys.stdout = sys.stdout, sys.stderr
    service = _Service()
    for line in map(str.strip, sys.stdin):
        method, _, title = line.partition(" ")
        answer = getattr(service, method)(*([title] if title else []))
        print(json.dumps(answer), file=answers, flush=True)


# The process that asks them


class Row(NamedTuple):
    """The seconds that each backend takes."""

    first: dict[str, float]
    fit: dict[str, float]
    predict: dict[str, float]


def row(title: str, asked: dict[str, Worker]) -> Row:
    """The times of a model."""
    answers = {name: worker.ask(f"first {title}") for name, worker in asked.items()}
    losses = {name: loss for name, (loss, _) in answers.items()}
    if not np.allclose(list(losses.values()), losses["gradtape"], rtol=1e-3):
        raise AssertionError(f"{title}: the losses of the first step differ: {losses}")
    for worker in asked.values():
        worker.ask("fit")
        worker.ask("predict")
    times: dict[str, dict[str, float]] = {"fit": {}, "predict": {}}
    for _ in range(ROUNDS):
        for method, best in times.items():
            for name, worker in asked.items():
                best[name] = min(best.get(name, np.inf), worker.ask(method))
    return Row({name: seconds for name, (_, seconds) in answers.items()}, **times)


def main(titles: list[str]) -> None:
    """Prints a line a model; of those whose title begins with one of `titles`, if any are given."""
    asked = workers(_MODULE)
    print("ms: a step of fit (predict of a batch; the first step)")
    print(f"{'':46}" + "".join(f"{name:>28}" for name in asked))
    for title in MODELS:
        if titles and not title.startswith(tuple(titles)):
            continue
        found = row(title, asked)
        cells = [
            f"{1e3 * found.fit[n]:.2f} ({1e3 * found.predict[n]:.2f}; {1e3 * found.first[n]:.0f})"
            for n in asked
        ]
        print(f"{title:46}" + "".join(f"{cell:>28}" for cell in cells), flush=True)
    for worker in asked.values():
        worker.close()


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["worker"] else main(sys.argv[1:])
