"""Tables in CSV files, read by TensorFlow and here: elements, specs, and where errors come.

Quotes that are wrong are left out: TensorFlow loses the records after them. So are lines that end
with a carriage return alone, for which it finds no names.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a table is read with

import gradtape

LIBRARIES = tensorflow, gradtape
FIELDS = (
    "1", "-20", "2.5", "1e39", "3000000000", "", "", "NA", " 7 ", "abc", "é", '"q"', '"a,b"',
    '"a""b"', '"a\nb"', "inf", "0x10", "+5",
)  # fmt: skip
DEFAULTS = (
    lambda tf: tf.int32,
    lambda tf: tf.string,
    lambda tf: [0.5],
    lambda tf: [""],
    lambda tf: tf.constant([3], tf.int64),
    lambda tf: tf.constant([], tf.float64),
)


def outcomes(make: Any, tf: Any) -> Any:
    try:
        dataset = make(tf)
        spec = [(list(s.shape), s.dtype.name) for s in tf.nest.flatten(dataset.element_spec)]
    except Exception as error:  # noqa: BLE001 - which one it is, is compared
        return type(error).__name__
    found, elements = [], iter(dataset)
    while len(found) < 40:
        try:
            leaves = tf.nest.flatten(next(elements))
            found.append([np.asarray(leaf).tolist() for leaf in leaves])
        except StopIteration:
            break
        except tf.errors.InvalidArgumentError:
            found.append("InvalidArgumentError")
    return spec, found


def written(draw: random.Random, path: Any) -> tuple[int, bool]:
    """Writes a table of fields, of which some columns are numbers; gives its width and header."""
    width, header = draw.randint(1, 4), draw.random() < 0.5
    kinds = [draw.choice([FIELDS, FIELDS[:2], FIELDS[:3], FIELDS[9:15]]) for _ in range(width)]
    lines = [",".join(map(draw.choice, kinds)) for _ in range(draw.randint(0, 8))]
    if header:
        lines.insert(0, ",".join("abcd"[:width]))
    end = draw.choice(["\n", "\r\n"])
    path.write_bytes((end.join(lines) + end * (draw.random() < 0.8)).encode())
    return width, header


@pytest.mark.parametrize("seed", range(60))
def test_records(tmp_path, seed):
    draw = random.Random(seed)
    width, header = written(draw, tmp_path / "table.csv")
    defaults = [draw.choice(DEFAULTS) for _ in range(width)]
    options: dict[str, Any] = {"header": header, "na_value": draw.choice(["", "NA"])}
    if draw.random() < 0.3:
        options["select_cols"] = sorted(draw.sample(range(width + 1), width))

    def make(tf):
        wanted = [default(tf) for default in defaults]
        return tf.data.experimental.CsvDataset(str(tmp_path / "table.csv"), wanted, **options)

    one, two = (outcomes(make, tf) for tf in LIBRARIES)
    assert str(one) == str(two)


@pytest.mark.filterwarnings("ignore:overflow encountered")  # TensorFlow's, of 1e39
@pytest.mark.parametrize("seed", range(60))
def test_tables(tmp_path, seed):
    draw = random.Random(seed)
    width, header = written(draw, tmp_path / "table.csv")
    options: dict[str, Any] = {"num_epochs": draw.choice([1, 2]), "shuffle": False}
    options |= {"header": header, "na_value": draw.choice(["", "NA"])}
    options["ignore_errors"] = draw.random() < 0.3
    if not header:
        options["column_names"] = list("abcd"[:width])
    if width > 1 and draw.random() < 0.4:
        options["label_name"] = "b"
    elif draw.random() < 0.3:
        options["select_columns"] = draw.choice([["a"], [0]])

    def make(tf):
        return tf.data.experimental.make_csv_dataset(str(tmp_path / "table.csv"), 2, **options)

    one, two = (outcomes(make, tf) for tf in LIBRARIES)
    assert str(one) == str(two)
