"""Small files in the format of the data sets that public programs download.

The numbers are made up: a class is a bright square at a place of its own in a noisy picture, so
that a model can learn it; prices are linear in their features. They show that a program runs and
its loss falls, nothing more.
"""

from __future__ import annotations

import gzip
import pickle
import struct
from pathlib import Path

import numpy as np

_TRAIN, _TEST = 800, 200  # the batch sizes that programs choose go into these, 32 too


def _pictures(random, count, classes, size, channels):
    labels = random.integers(0, classes, count)
    pictures = random.integers(0, 60, (count, size, size, channels))
    for picture, label in zip(pictures, labels, strict=True):
        row, column = divmod(int(label) % 16, 4)
        step = size // 4
        picture[row * step : (row + 1) * step, column * step : (column + 1) * step] += 190
    return pictures.astype(np.uint8), labels.astype(np.uint8)


def write_stand_ins(folder: Path) -> None:
    """Writes MNIST, Fashion-MNIST, CIFAR-100, Boston housing, IMDb, iris and a text."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    _write_mnist(folder, random)
    _write_cifar(folder, random)
    _write_tables(folder, random)
    text = "the tape records what it watches, and gives its gradient back; so the loss falls. "
    for name in ("shakespeare.txt", "nietzsche.txt", "nietzcshe.txt"):
        (folder / name).write_text(text * 300, encoding="utf-8")


def _write_mnist(folder, random):
    x_train, y_train = _pictures(random, _TRAIN, 10, 28, 1)
    x_test, y_test = _pictures(random, _TEST, 10, 28, 1)
    x_train, x_test = x_train[..., 0], x_test[..., 0]
    np.savez(folder / "mnist.npz", x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
    for part, pictures, labels in (("train", x_train, y_train), ("t10k", x_test, y_test)):
        with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">4i", 2051, *pictures.shape) + pictures.tobytes())
        with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2i", 2049, len(labels)) + labels.tobytes())


def _write_cifar(folder, random):
    def write(path, key, classes, count):
        pictures, labels = _pictures(random, count, classes, 32, 3)
        rows = pictures.transpose(0, 3, 1, 2).reshape(count, -1)
        names = {b"data": rows, key: labels.tolist()}
        if key == b"fine_labels":
            names[b"coarse_labels"] = (labels // 5).tolist()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(names))

    hundred = folder / "cifar-100-python-target" / "cifar-100-python"
    write(hundred / "train", b"fine_labels", 100, _TRAIN)
    write(hundred / "test", b"fine_labels", 100, _TEST)


def _write_tables(folder, random):
    features = random.normal(size=(506, 13))
    prices = 22.0 + features @ random.normal(size=13)
    np.savez(folder / "boston_housing.npz", x=features, y=prices)
    reviews = np.empty(_TRAIN, dtype=object)
    for k in range(_TRAIN):
        reviews[k] = random.integers(1, 2000, random.integers(20, 200)).tolist()
    labels = random.integers(0, 2, _TRAIN)
    np.savez(folder / "imdb.npz", x_train=reviews, y_train=labels, x_test=reviews, y_test=labels)
    kinds = random.integers(0, 3, 150)
    leaves = random.normal(size=(150, 4)) * 0.3 + 1.0 + 2.0 * kinds[:, None]
    for name, part in (("iris_training.csv", slice(0, 120)), ("iris_test.csv", slice(120, 150))):
        rows = ["x,4,setosa,versicolor,virginica"]
        for leaf, kind in zip(leaves[part], kinds[part], strict=True):
            rows.append(",".join(f"{value:.1f}" for value in leaf) + f",{kind}")
        (folder / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
