"""Input pipelines: batches a second, beside other libraries: `python -m benchmarks.data`.

Each pipeline is built once and gone through several times, in turns with the others, and the best
pass counts. Of the libraries those take part that this Python has: TensorFlow's tf.data, Grain and
PyTorch's DataLoader. NumPy is the limit: batches gathered in a loop, without any library.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

import gradtape
from benchmarks.results import Figures

ROWS, BATCH = 60_000, 64
GENERATED = 6_400
ROUNDS = 3
STEP = 0.01  # seconds of a training step, and of making a batch, where the two overlap
NUMPY, GRADTAPE, TENSORFLOW, GRAIN, TORCH = "NumPy", "gradtape", "tf.data", "Grain", "PyTorch"

Pipeline = Callable[[], Iterable[Any]]
"""A pass over batches."""
Contenders = dict[str, Pipeline]


def images() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.integers(0, 256, (ROWS, 28, 28), np.uint8), random.integers(0, 10, ROWS)


def libraries() -> dict[str, Any]:
    """gradtape and TensorFlow, which speak the same language."""
    found = {GRADTAPE: gradtape}
    if find_spec("tensorflow") is not None:
        import tensorflow  # noqa: ICN001, PLC0415 - `tf` is the library that a pipeline is given

        found[TENSORFLOW] = tensorflow
    return found


# The pipelines


def shuffled_batches() -> Contenders:
    """Slices of 60,000 images, shuffled over all, in batches of 64."""
    x, y = images()
    x = x.astype(np.float32)

    def by_hand() -> Iterator[Any]:
        order = np.random.default_rng(0).permutation(ROWS)
        for start in range(0, ROWS, BATCH):
            chosen = order[start : start + BATCH]
            yield x.take(chosen, axis=0), y.take(chosen, axis=0)

    found: Contenders = {NUMPY: by_hand}
    for name, tf in libraries().items():
        dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(ROWS).batch(BATCH)
        found[name] = lambda dataset=dataset: dataset
    if find_spec("grain") is not None:
        import grain  # noqa: PLC0415 - if it is there

        source = grain.MapDataset.source(_Pairs(x, y)).shuffle(seed=1).batch(BATCH)
        found[GRAIN] = source.to_iter_dataset
    if find_spec("torch") is not None:
        import torch  # noqa: PLC0415 - if it is there

        tensors = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
        found[TORCH] = lambda: torch.utils.data.DataLoader(tensors, BATCH, shuffle=True)
    return found


class _Pairs:
    """A source for Grain."""

    def __init__(self, x: Any, y: Any) -> None:
        self._x, self._y = x, y

    def __len__(self) -> int:
        return len(self._x)

    def __getitem__(self, place: int) -> Any:
        return self._x[place], self._y[place]


def mapped_batches(parallel: Any = None) -> Contenders:
    """A function of each image before batching: bytes to floats, and a label to ones and zeros."""
    x, y = images()

    def by_hand() -> Iterator[Any]:
        table = np.eye(10, dtype=np.float32)
        order = np.random.default_rng(0).permutation(ROWS)
        for start in range(0, ROWS, BATCH):
            chosen = order[start : start + BATCH]
            yield x[chosen].astype(np.float32) / np.float32(255), table[y[chosen]]

    found: Contenders = {NUMPY: by_hand}
    for name, tf in libraries().items():
        dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(ROWS)
        dataset = dataset.map(_prepared(tf), num_parallel_calls=parallel).batch(BATCH)
        found[name] = lambda dataset=dataset: dataset
    return found


def _prepared(tf: Any) -> Callable[..., Any]:
    return lambda image, label: (tf.cast(image, tf.float32) / 255.0, tf.one_hot(label, 10))


def numpy_batches() -> Contenders:
    """A function of NumPy's, called for each image, before batching."""
    x, y = images()
    x, y = x[:GENERATED], y[:GENERATED]

    def flipped(image: Any) -> Any:
        return image[:, ::-1].astype(np.float32)

    found: Contenders = {}
    for name, tf in libraries().items():
        dataset = tf.data.Dataset.from_tensor_slices((x, y)).map(
            lambda image, label, tf=tf: (tf.numpy_function(flipped, [image], tf.float32), label)
        )
        found[name] = lambda dataset=dataset: dataset.batch(BATCH)
    return found


def generated_batches() -> Contenders:
    """Images that a generator yields, in batches."""
    x, y = images()
    x = x[:GENERATED].astype(np.float32)

    def pairs() -> Iterator[Any]:
        yield from zip(x, y[:GENERATED], strict=True)

    def by_hand() -> Iterator[Any]:
        held = []
        for pair in pairs():
            held.append(pair)
            if len(held) == BATCH:
                yield tuple(np.stack(column) for column in zip(*held, strict=True))
                held = []

    found: Contenders = {NUMPY: by_hand}
    for name, tf in libraries().items():
        signature = tf.TensorSpec([28, 28], tf.float32), tf.TensorSpec([], tf.int64)
        dataset = tf.data.Dataset.from_generator(pairs, output_signature=signature).batch(BATCH)
        found[name] = lambda dataset=dataset: dataset
    return found


PIPELINES: dict[str, Callable[[], Contenders]] = {
    "slices, shuffle, batch": shuffled_batches,
    "slices, shuffle, map, batch": mapped_batches,
    "the same, AUTOTUNE": lambda: mapped_batches(-1),
    "slices, map of numpy_function, batch": numpy_batches,
    "generator, batch": generated_batches,
}

LIMITS = {
    "slices, shuffle, batch": 12.0,
    "slices, shuffle, map, batch": 3.0,
    "slices, map of numpy_function, batch": 3.0,
    "generator, batch": 1.0,
}
"""How many times as long tf.data is to take."""


# Measuring


def batches_per_second(contenders: Contenders, rounds: int = ROUNDS) -> dict[str, float]:
    """The best pass of each, in turns; the first pass of all is not counted."""
    best = dict.fromkeys(contenders, 0.0)
    for turn in range(rounds + 1):
        for name, pipeline in contenders.items():
            start, count = time.perf_counter(), 0
            for _ in pipeline():
                count += 1
            if turn:
                best[name] = max(best[name], count / (time.perf_counter() - start))
    return best


def overlap(tf: Any, steps: int = 30) -> tuple[float, float]:
    """Seconds for steps on batches that take as long to make: without prefetch, and with it."""

    def slow() -> Iterator[Any]:
        for number in range(steps):
            time.sleep(STEP)
            yield number

    dataset = tf.data.Dataset.from_generator(slow, output_signature=tf.TensorSpec([], tf.int64))
    return _trained(dataset), _trained(dataset.prefetch(2))


def _trained(dataset: Iterable[Any]) -> float:
    start = time.perf_counter()
    for _ in dataset:
        time.sleep(STEP)
    return time.perf_counter() - start


def table(figures: dict[str, dict[str, float]]) -> str:
    """Batches a second, and how many times tf.data's that is."""
    names = list(dict.fromkeys(name for row in figures.values() for name in row))
    head = [*names, *(["gradtape / tf.data"] if TENSORFLOW in names else [])]
    lines = [f"| pipeline | {' | '.join(head)} |", "|---|" + "---:|" * len(head)]
    for title, row in figures.items():
        cells = [f"{row[name]:,.0f}" if name in row else "" for name in names]
        if TENSORFLOW in names:
            cells.append(f"{row[GRADTAPE] / row[TENSORFLOW]:.1f}" if TENSORFLOW in row else "")
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def figures(quick: bool) -> dict[str, Figures]:
    """The seconds of a batch, by pipeline and library; a quick run has no slow pipelines."""
    chosen = dict(list(PIPELINES.items())[: 1 if quick else None])
    return {
        "data": {
            title: {name: 1 / speed for name, speed in batches_per_second(build()).items()}
            for title, build in chosen.items()
        }
    }


def main() -> None:
    found = {title: batches_per_second(build()) for title, build in PIPELINES.items()}
    print(f"\nBatches of {BATCH} a second.\n\n{table(found)}\n")
    for name, tf in libraries().items():
        alone, ahead = overlap(tf)
        print(f"{name}: 30 steps {alone:.2f} s, with prefetch {ahead:.2f} s")


if __name__ == "__main__":
    main()
