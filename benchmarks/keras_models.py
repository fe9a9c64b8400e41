"""Ten ordinary Keras models on gradtape, TensorFlow and JAX: `python -m benchmarks.keras_models`.

For each the first step of `fit`, a step of `fit`, and `predict` of one batch. Each backend has a
process of its own. They begin with the same weights, train on the same batches, and their losses
must agree after the first step. Then they are timed in turns, and the fastest turn counts. What is
compiled beside the first step is waited for before anything else is timed. Names that titles begin
with, as arguments, choose some of the models.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.keras_training import Worker, keras, workers
from benchmarks.results import Figures

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


def variational() -> Task:
    """A variational autoencoder of convolutions: Keras's example. What is drawn hardly counts, so
    that the losses agree: the deviations are small.
    """
    layers, ops = keras().layers, keras().ops

    class Sampling(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.seed = keras().random.SeedGenerator(1)

        def call(self, inputs: Any) -> Any:
            mean, log_variance = inputs
            divergence = -0.5 * (1 + log_variance - ops.square(mean) - ops.exp(log_variance))
            self.add_loss(ops.mean(ops.sum(divergence, axis=1)))
            drawn = keras().random.normal(ops.shape(mean), seed=self.seed)
            return mean + ops.exp(0.5 * log_variance) * drawn

    def convolution(kind: Any, channels: int) -> Any:
        return kind(channels, 3, strides=2, padding="same", activation="relu")

    x = inputs = layers.Input((28, 28, 1))
    x = convolution(layers.Conv2D, 64)(convolution(layers.Conv2D, 32)(x))
    x = layers.Dense(16, "relu")(layers.Flatten()(x))
    small = keras().initializers.Constant(-20)
    x = Sampling()([layers.Dense(2)(x), layers.Dense(2, bias_initializer=small)(x)])
    x = layers.Reshape((7, 7, 64))(layers.Dense(7 * 7 * 64, "relu")(x))
    x = convolution(layers.Conv2DTranspose, 64)(x)
    x = convolution(layers.Conv2DTranspose, 32)(x)
    out = layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x)
    images = pixels(128, 28, 28, 1)
    return Task(keras().Model(inputs, out), images, images, "binary_crossentropy")


def adversarial() -> Task | None:
    """Keras's example of a conditional GAN, for the backends that have a tape."""
    backend = os.environ["KERAS_BACKEND"]
    if backend == "jax":
        return None
    tf, layers = import_module(backend), keras().layers

    def halved(channels: int) -> list[Any]:
        return [layers.Conv2D(channels, 3, strides=2, padding="same"), layers.LeakyReLU(0.2)]

    def doubled(channels: int) -> list[Any]:
        kind = layers.Conv2DTranspose
        return [kind(channels, 4, strides=2, padding="same"), layers.LeakyReLU(0.2)]

    class Adversarial(keras().Model):
        def __init__(self) -> None:
            super().__init__()
            self.judge = keras().Sequential(
                [
                    layers.Input((28, 28, 11)),
                    *halved(64),
                    *halved(128),
                    layers.GlobalMaxPooling2D(),
                    layers.Dense(1),
                ]
            )
            self.painter = keras().Sequential(
                [
                    layers.Input((138,)),
                    layers.Dense(7 * 7 * 138),
                    layers.LeakyReLU(0.2),
                    layers.Reshape((7, 7, 138)),
                    *doubled(128),
                    *doubled(128),
                    layers.Conv2D(1, 7, padding="same", activation="sigmoid"),
                ]
            )
            self.optimizers = [keras().optimizers.Adam(3e-4) for _ in range(2)]
            self.built = True

        def call(self, x: Any) -> Any:
            return self.painter(x[1])

        def train_step(self, data: Any) -> Any:
            (real, drawn), is_real = data[0], data[1]
            kinds = real[..., 1:]
            measure = keras().losses.BinaryCrossentropy(from_logits=True)

            def stepped(network: Any, optimizer: Any, loss_of: Callable[[], Any]) -> Any:
                with tf.GradientTape() as tape:
                    loss = loss_of()
                weights = network.trainable_weights
                optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
                return loss

            def painted() -> Any:
                return tf.concat([self.painter(drawn), kinds], -1)

            both, truth = tf.concat([painted(), real], 0), tf.concat([1 - is_real, is_real], 0)
            judged = stepped(
                self.judge, self.optimizers[0], lambda: measure(truth, self.judge(both))
            )
            stepped(
                self.painter, self.optimizers[1], lambda: measure(is_real, self.judge(painted()))
            )
            return {"judged": judged}

    images = pixels(64, 28, 28, 11)
    drawn = np.random.default_rng(3).standard_normal((64, 138), dtype=np.float32)
    return Task(Adversarial(), (images, drawn), np.ones((64, 1), np.float32), "mse")


MODELS: dict[str, Callable[[], Task | None]] = {
    "LSTM, 100 x 32, 64 units": lstm,
    "embedding, bidirectional LSTM and GRU, masks": text,
    "convolutional autoencoder, 28 x 28, batch 64": autoencoder,
    "U-Net, 64 x 64, batch 16": u_net,
    "MobileNetV2, 96 x 96, batch 16": mobile_net,
    "ResNet50, 64 x 64, batch 8": res_net,
    "tabular, 3 dense layers, batch 64": tabular,
    "transformer, 2 layers of 64, 32 x 64": transformer,
    "variational autoencoder, 28 x 28, batch 128": variational,
    "conditional GAN, 28 x 28, batch 64": adversarial,
}


@contextmanager
def _waiting() -> Iterator[None]:
    """A block in which gradtape's calls wait for XLA; the first step of the next model does not."""
    if os.environ["KERAS_BACKEND"] != "gradtape":
        yield
        return
    config = import_module("gradtape").config
    config.set_wait_for_compilation(True)
    try:
        yield
    finally:
        config.set_wait_for_compilation(False)


class _Service:
    """What a worker does: `first TITLE`, then `fit` and `predict` of that model."""

    def __init__(self) -> None:
        self._task: Task | None = None
        self._steps = 1

    def first(self, title: str) -> tuple[float, float] | None:
        """The loss and the seconds of the first step, the compilation with it; None if the backend
        does not have the model.
        """
        made = MODELS[title]()
        if made is None:
            return None
        weighted(made.model).compile(keras().optimizers.Adam(1e-3), made.loss)
        self._task, self._steps = made, 1
        return self._fit()

    def ready(self) -> None:
        """Compiles all that is timed, and counts the steps of a turn."""
        with _waiting():
            self._fit()
            self.predict()
            self._steps = max(1, int(_SECONDS / self._fit()[1]))
            self._fit()

    def fit(self) -> float:
        """The seconds of a step."""
        return self._fit()[1] / self._steps

    def predict(self) -> float:
        """The seconds of `predict` for one batch."""
        assert self._task is not None
        x, start, count = self._task.x, perf_counter(), 0
        while count < 3 or perf_counter() - start < _SECONDS / 3:
            self._task.model.predict(x, batch_size=len(self._task.y), verbose=0)
            count += 1
        return (perf_counter() - start) / count

    def _fit(self) -> tuple[float, float]:
        assert self._task is not None
        model, x, y, _ = self._task
        x = tuple(map(self._repeated, x)) if isinstance(x, tuple) else self._repeated(x)
        y, size = self._repeated(y), len(y)
        start = perf_counter()
        history = model.fit(x, y, batch_size=size, epochs=1, shuffle=False, verbose=0)
        seconds = perf_counter() - start
        loss, *_ = history.history.values()
        return float(loss[0]), seconds

    def _repeated(self, array: Any) -> Any:
        return np.concatenate([array] * self._steps)


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
    answers = {name: answer for name, answer in answers.items() if answer is not None}
    losses = {name: loss for name, (loss, _) in answers.items()}
    if not np.allclose(list(losses.values()), losses["gradtape"], rtol=1e-3):
        raise AssertionError(f"{title}: the losses of the first step differ: {losses}")
    for name in answers:
        asked[name].ask("ready")
    times: dict[str, dict[str, float]] = {"fit": {}, "predict": {}}
    for _ in range(ROUNDS):
        for method, best in times.items():
            for name in answers:
                best[name] = min(best.get(name, np.inf), asked[name].ask(method))
    return Row({name: seconds for name, (_, seconds) in answers.items()}, **times)


NAMES = {"gradtape": "gradtape", "tensorflow": "Keras on TensorFlow", "jax": "Keras on JAX"}
QUICK = ("tabular",)  # models of a quick run


def figures(quick: bool) -> dict[str, Figures]:
    """The seconds that each backend takes, by model."""
    asked = workers(_MODULE)
    rows = {title: row(title, asked) for title in MODELS if not quick or title.startswith(QUICK)}
    for worker in asked.values():
        worker.close()
    return {
        f"keras_{what}": {
            title: {NAMES[name]: seconds for name, seconds in getattr(found, what).items()}
            for title, found in rows.items()
        }
        for what in Row._fields
    }


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
            if n in found.fit
            else "-"
            for n in asked
        ]
        print(f"{title:46}" + "".join(f"{cell:>28}" for cell in cells), flush=True)
    for worker in asked.values():
        worker.close()


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["worker"] else main(sys.argv[1:])
