"""The same pipelines in tf.data and here: their elements, cardinalities and specs, and which
errors they raise.

A pipeline is a function of the library. Orders of shuffled elements differ; what is said about
them is compared by counting.
"""

from __future__ import annotations

import collections
import gzip
import itertools
from typing import Any

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a pipeline is given

import gradtape

LIBRARIES = tensorflow, gradtape
Point = collections.namedtuple("Point", "x y")
X = np.arange(24, dtype=np.float32).reshape(6, 2, 2)
TEXTS = np.array(["a", "bb", "", "dddd"])


def same(one: Any, two: Any) -> bool:
    """Whether elements are equal, with their containers and dtypes."""
    if isinstance(one, dict):
        return (
            isinstance(two, dict)
            and one.keys() == two.keys()
            and all(same(one[key], two[key]) for key in one)
        )
    if isinstance(one, (tuple, list)):
        return (
            type(one).__name__ == type(two).__name__
            and len(one) == len(two)
            and all(map(same, one, two))
        )
    one, two = np.asarray(one), np.asarray(two)
    if one.dtype.kind != two.dtype.kind or one.shape != two.shape:
        return False
    if one.dtype.kind in "SO":
        return bool((one == two).all())
    return one.dtype == two.dtype and bool(np.allclose(one, two, equal_nan=True))


def elements(dataset: Any) -> list[Any]:
    return list(itertools.islice(dataset.as_numpy_iterator(), 50))


def ranged(tf, n=10):
    return tf.data.Dataset.range(n)


def slices(tf, tensors):
    return tf.data.Dataset.from_tensor_slices(tensors)


def rows(tf):
    """Elements of different lengths."""
    return ranged(tf, 7).map(lambda n: tf.fill([n], tf.cast(n, tf.int32)))


def generated(tf):
    def pairs():
        for i in range(5):
            yield i, [float(i)] * i

    return tf.data.Dataset.from_generator(
        pairs, output_signature=(tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.float32))
    )


def positive(tf, n):
    tf.debugging.assert_none_equal(n, tf.constant(3, tf.int64))
    return n


PIPELINES = {
    # Sources
    "range": lambda tf: ranged(tf),
    "range up": lambda tf: tf.data.Dataset.range(2, 9, 3),
    "range down": lambda tf: tf.data.Dataset.range(9, 2, -2),
    "range empty": lambda tf: tf.data.Dataset.range(3, 3),
    "range type": lambda tf: tf.data.Dataset.range(3, output_type=tf.float32),
    "counter": lambda tf: tf.data.Dataset.counter(4, -3).take(3),
    "slices": lambda tf: slices(tf, X),
    "slices list": lambda tf: slices(tf, [[1, 2], [3, 4]]),
    "slices floats": lambda tf: slices(tf, [1.0, 2.0]),
    "slices texts": lambda tf: slices(tf, TEXTS.tolist()),
    "slices tuple": lambda tf: slices(tf, (X, np.arange(6))),
    "slices dict": lambda tf: slices(tf, {"b": X, "a": [1, 2, 3, 4, 5, 6]}),
    "slices nested": lambda tf: slices(tf, ({"a": [1, 2]}, ([3, 4], ["x", "y"]))),
    "slices named": lambda tf: slices(tf, Point([1, 2], [3.0, 4.0])),
    "slices empty": lambda tf: slices(tf, np.zeros((0, 3), np.float32)),
    "slices bool": lambda tf: slices(tf, [True, False]),
    "slices float64": lambda tf: slices(tf, np.ones((2, 2))),
    "slices tensor": lambda tf: slices(tf, tf.constant([[1, 2], [3, 4]])),
    "slices variable": lambda tf: slices(tf, tf.Variable([1.0, 2.0])),
    "tensors": lambda tf: tf.data.Dataset.from_tensors((X, [1, 2])),
    "tensors scalar": lambda tf: tf.data.Dataset.from_tensors(3),
    "tensors repeated": lambda tf: tf.data.Dataset.from_tensors({"a": 1}).repeat(3),
    "generator": generated,
    "generator types": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([(1, "a"), (2, "b")]), output_types=(tf.int64, tf.string)
    ),
    "generator shapes": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([{"a": [1, 2]}]), output_types={"a": tf.int64}, output_shapes={"a": [2]}
    ),
    "generator args": lambda tf: tf.data.Dataset.from_generator(
        lambda n: iter(range(n)), args=[4], output_signature=tf.TensorSpec([], tf.int64)
    ),
    # Which elements
    "take": lambda tf: ranged(tf).take(3),
    "take more": lambda tf: ranged(tf).take(30),
    "take none": lambda tf: ranged(tf).take(0),
    "take all": lambda tf: ranged(tf).take(-1),
    "skip": lambda tf: ranged(tf).skip(7),
    "skip more": lambda tf: ranged(tf).skip(70),
    "skip all": lambda tf: ranged(tf).skip(-1),
    "skip then take": lambda tf: ranged(tf).skip(2).take(3),
    "shard": lambda tf: ranged(tf).shard(3, 1),
    "shard of shard": lambda tf: ranged(tf, 20).shard(3, 1).shard(2, 1),
    "shard more": lambda tf: ranged(tf, 2).shard(3, 2),
    "repeat": lambda tf: ranged(tf, 3).repeat(3),
    "repeat none": lambda tf: ranged(tf, 3).repeat(0),
    "repeat for ever": lambda tf: ranged(tf, 3).repeat().take(8),
    "repeat endless": lambda tf: ranged(tf, 3).repeat(),
    "repeat -1": lambda tf: ranged(tf, 3).repeat(-1),
    "repeat of nothing": lambda tf: ranged(tf, 0).repeat(),
    "repeat then shard": lambda tf: ranged(tf, 5).repeat(2).shard(3, 2),
    "enumerate": lambda tf: slices(tf, X).enumerate(start=3),
    "enumerate then skip": lambda tf: ranged(tf).enumerate().skip(4),
    "unique": lambda tf: slices(tf, [3, 1, 3, 2, 1]).unique(),
    "unique texts": lambda tf: slices(tf, ["a", "b", "a"]).unique(),
    "filter": lambda tf: ranged(tf).filter(lambda n: n % 3 == 0),
    "filter pairs": lambda tf: slices(tf, ([1, 2, 3], [3, 2, 1])).filter(lambda a, b: a >= b),
    "take_while": lambda tf: ranged(tf).take_while(lambda n: n < 4),
    "concatenate": lambda tf: ranged(tf, 3).concatenate(ranged(tf, 2)),
    "concatenate shapes": lambda tf: slices(tf, [[1, 2]]).concatenate(slices(tf, [[1, 2, 3]])),
    "concatenate endless": lambda tf: ranged(tf, 3).concatenate(ranged(tf, 2).repeat()).take(7),
    "concatenate unknown": lambda tf: ranged(tf, 3).concatenate(
        ranged(tf, 2).filter(lambda n: True)
    ),
    # Several datasets
    "zip": lambda tf: tf.data.Dataset.zip((ranged(tf, 3), ranged(tf, 5))),
    "zip arguments": lambda tf: tf.data.Dataset.zip(ranged(tf, 3), slices(tf, X)),
    "zip one": lambda tf: tf.data.Dataset.zip(ranged(tf, 3)),
    "zip dict": lambda tf: tf.data.Dataset.zip({"a": ranged(tf, 3), "b": slices(tf, X)}),
    "zip nested": lambda tf: tf.data.Dataset.zip((ranged(tf, 2), (ranged(tf, 3), slices(tf, X)))),
    "zip endless": lambda tf: tf.data.Dataset.zip((ranged(tf, 3), ranged(tf, 2).repeat())),
    "zip unknown": lambda tf: tf.data.Dataset.zip(
        (ranged(tf, 3), ranged(tf, 2).filter(lambda n: True))
    ),
    "zip of pairs": lambda tf: tf.data.Dataset.zip((slices(tf, ([1, 2], [3, 4])), ranged(tf, 2))),
    "choose": lambda tf: tf.data.Dataset.choose_from_datasets(
        [ranged(tf, 3), ranged(tf, 9).skip(5)], slices(tf, np.array([0, 1, 1, 0, 1]))
    ),
    "choose until empty": lambda tf: tf.data.Dataset.choose_from_datasets(
        [ranged(tf, 1), ranged(tf, 9)], slices(tf, np.array([0, 1, 0, 1, 1]))
    ),
    "choose past empty": lambda tf: tf.data.Dataset.choose_from_datasets(
        [ranged(tf, 1), ranged(tf, 9)],
        slices(tf, np.array([0, 1, 0, 1, 1])),
        stop_on_empty_dataset=False,
    ),
    # Functions
    "map": lambda tf: ranged(tf).map(lambda n: n * n),
    "map pairs": lambda tf: slices(tf, ([1, 2], [3, 4])).map(lambda a, b: a * b),
    "map nested": lambda tf: slices(tf, ({"x": [1, 2]}, [3, 4])).map(lambda d, b: d["x"] * b),
    "map dict": lambda tf: slices(tf, {"x": [1, 2], "y": [3, 4]}).map(
        lambda d: {"z": d["x"] + d["y"], "x": d["x"]}
    ),
    "map pops": lambda tf: slices(tf, {"x": [1, 2], "y": [3, 4]}).map(
        lambda d: (d, d.pop("y"))
    ).map(lambda d, y: (d["x"], y)),
    "map list": lambda tf: ranged(tf, 3).map(lambda n: [n, n + 1]),
    "map tuple": lambda tf: ranged(tf, 3).map(lambda n: (n, (n, {"a": n}))),
    "map number": lambda tf: ranged(tf, 3).map(lambda n: 5),
    "map text": lambda tf: ranged(tf, 3).map(lambda n: "text"),
    "map if": lambda tf: ranged(tf, 6).map(
        lambda n: tf.cond(n > 2, lambda: n, lambda: -n)
    ),
    "map parallel": lambda tf: ranged(tf).map(lambda n: n + 1, num_parallel_calls=3),
    "map autotune": lambda tf: ranged(tf).map(lambda n: n + 1, num_parallel_calls=tf.data.AUTOTUNE),
    "map numpy": lambda tf: ranged(tf, 4).map(
        lambda n: tf.numpy_function(lambda v: v * 2, [n], tf.int64)
    ),
    "map then batch": lambda tf: slices(tf, X).map(lambda x: (x / 2.0, x[0])).batch(4),
    "map then shard": lambda tf: ranged(tf).map(lambda n: n * n).shard(3, 1).batch(2),
    "map repeated": lambda tf: slices(tf, X).map(lambda x: x - 1.0).repeat(2).batch(5),
    "map one hot": lambda tf: ranged(tf, 5).map(lambda n: tf.one_hot(n, 4)).batch(2),
    "map of batches": lambda tf: ranged(tf, 7).batch(3).map(lambda b: tf.reduce_sum(b)),
    "map reduces": lambda tf: slices(tf, X).map(lambda x: x - tf.reduce_mean(x)).batch(3),
    "scan": lambda tf: ranged(tf, 5).scan(np.int64(1), lambda s, n: (s + n, s * n)),
    "scan pairs": lambda tf: slices(tf, ([1, 2], [3, 4])).scan(
        (0, 1), lambda s, e: ((s[0] + e[0], s[1] * e[1]), s[0] + e[1])
    ),
    "flat_map": lambda tf: ranged(tf, 4).flat_map(lambda n: tf.data.Dataset.range(n)),
    "flat_map rows": lambda tf: slices(tf, [[1, 2], [3, 4]]).flat_map(
        lambda row: tf.data.Dataset.from_tensor_slices(row)
    ),
    "interleave": lambda tf: ranged(tf, 5).interleave(
        lambda n: tf.data.Dataset.from_tensors(n).repeat(3), cycle_length=2, block_length=2
    ),
    "interleave lengths": lambda tf: ranged(tf, 6).interleave(
        lambda n: tf.data.Dataset.range(n), cycle_length=3, block_length=1
    ),
    "interleave one": lambda tf: ranged(tf, 4).interleave(
        lambda n: tf.data.Dataset.range(n), cycle_length=1
    ),
    "interleave long blocks": lambda tf: ranged(tf, 5).interleave(
        lambda n: tf.data.Dataset.range(n + 1), cycle_length=2, block_length=10
    ),
    "interleave parallel": lambda tf: ranged(tf, 5).interleave(
        lambda n: tf.data.Dataset.from_tensors(n).repeat(3),
        cycle_length=2,
        num_parallel_calls=2,
        deterministic=True,
    ),
    # Batches
    "batch": lambda tf: ranged(tf).batch(4),
    "batch drop": lambda tf: ranged(tf).batch(4, drop_remainder=True),
    "batch large": lambda tf: ranged(tf).batch(40),
    "batch large drop": lambda tf: ranged(tf).batch(40, drop_remainder=True),
    "batch of batch": lambda tf: ranged(tf).batch(2).batch(2),
    "batch pairs": lambda tf: slices(tf, (X, {"y": np.arange(6)})).batch(4),
    "batch texts": lambda tf: slices(tf, TEXTS).batch(3),
    "batch filtered": lambda tf: ranged(tf).filter(lambda n: n % 2 == 0).batch(2),
    "batch empty": lambda tf: ranged(tf, 0).batch(2),
    "batch parallel": lambda tf: ranged(tf).batch(4, num_parallel_calls=2, deterministic=True),
    "batch concatenated": lambda tf: ranged(tf, 3).concatenate(ranged(tf, 4)).batch(2),
    "batch zipped": lambda tf: tf.data.Dataset.zip((slices(tf, X), ranged(tf, 4))).batch(3),
    "batch repeated": lambda tf: ranged(tf, 3).repeat(2).batch(4),
    "batches repeated": lambda tf: ranged(tf, 3).batch(2).repeat(2),
    "batch enumerated": lambda tf: slices(tf, TEXTS).enumerate().batch(3),
    "padded": lambda tf: rows(tf).padded_batch(3, padded_shapes=[None]),
    "padded default": lambda tf: rows(tf).padded_batch(3),
    "padded to": lambda tf: rows(tf).padded_batch(4, padded_shapes=[8], padding_values=-1),
    "padded drop": lambda tf: rows(tf).padded_batch(4, [None], drop_remainder=True),
    "padded pairs": lambda tf: generated(tf).padded_batch(
        2, padded_shapes=([], [None]), padding_values=(None, 9.0)
    ),
    "padded texts": lambda tf: tf.data.Dataset.from_generator(
        lambda: iter([["a"], ["b", "c"]]), output_signature=tf.TensorSpec([None], tf.string)
    ).padded_batch(2),
    "unbatch": lambda tf: slices(tf, X).unbatch(),
    "unbatch batches": lambda tf: ranged(tf, 5).batch(2).unbatch(),
    "unbatch drop": lambda tf: ranged(tf, 5).batch(2, drop_remainder=True).unbatch(),
    "unbatch pairs": lambda tf: slices(tf, (X, {"a": np.ones((6, 2))})).unbatch(),
    "rebatch": lambda tf: ranged(tf).batch(4).rebatch(3),
    "rebatch drop": lambda tf: ranged(tf).batch(4).rebatch(3, drop_remainder=True),
    "rebatch larger": lambda tf: ranged(tf).batch(2).rebatch(7),
    "rebatch turns": lambda tf: ranged(tf, 12).batch(4).rebatch([3, 1, 2]),
    "window": lambda tf: ranged(tf, 7).window(3).flat_map(lambda w: w.batch(3)),
    "window shift": lambda tf: ranged(tf, 7).window(3, shift=1).flat_map(lambda w: w.batch(3)),
    "window gap": lambda tf: ranged(tf, 12).window(2, shift=5).flat_map(lambda w: w.batch(3)),
    "window stride": lambda tf: ranged(tf, 9).window(3, 2, 2).flat_map(lambda w: w.batch(3)),
    "window drop": lambda tf: ranged(tf, 9)
    .window(3, 2, 2, drop_remainder=True)
    .flat_map(lambda w: w.batch(3)),
    "window pairs": lambda tf: slices(tf, ([1, 2, 3], [4, 5, 6]))
    .window(2)
    .flat_map(lambda a, b: tf.data.Dataset.zip((a.batch(2), b.batch(2)))),
    "window dict": lambda tf: slices(tf, {"a": [1, 2, 3]})
    .window(2)
    .flat_map(lambda d: d["a"].batch(2)),
    "group_by_window": lambda tf: ranged(tf).group_by_window(
        lambda n: n % 3, lambda key, ds: ds.batch(2), window_size=2
    ),
    "group_by_window sizes": lambda tf: ranged(tf).group_by_window(
        lambda n: n % 2, lambda key, ds: ds.batch(9), window_size_func=lambda key: key + 2
    ),
    "bucket": lambda tf: rows(tf).bucket_by_sequence_length(
        lambda r: tf.shape(r)[0], [3, 5], [2, 2, 2]
    ),
    "bucket boundary": lambda tf: rows(tf).bucket_by_sequence_length(
        lambda r: tf.shape(r)[0], [3, 8], [2, 2, 2], pad_to_bucket_boundary=True
    ),
    "bucket drop": lambda tf: rows(tf).bucket_by_sequence_length(
        lambda r: tf.shape(r)[0], [3, 5], [2, 2, 2], drop_remainder=True, padding_values=7
    ),
    # What is kept
    "cache": lambda tf: ranged(tf, 4).map(lambda n: n * 2).cache().repeat(2),
    "cache batch": lambda tf: ranged(tf, 4).map(lambda n: n * 2).cache().repeat(2).batch(3),
    "prefetch": lambda tf: ranged(tf).prefetch(2),
    "prefetch autotune": lambda tf: ranged(tf).prefetch(tf.data.AUTOTUNE),
    "ignore_errors": lambda tf: ranged(tf, 6).map(lambda n: positive(tf, n)).ignore_errors(),
    "ignore_errors of batches": lambda tf: ranged(tf, 6)
    .map(lambda n: positive(tf, n))
    .batch(2)
    .ignore_errors(),
    "apply": lambda tf: ranged(tf).apply(lambda ds: ds.take(2)),
    "options": lambda tf: ranged(tf).with_options(tf.data.Options()),
    "assert_cardinality": lambda tf: ranged(tf)
    .filter(lambda n: n < 3)
    .apply(tf.data.experimental.assert_cardinality(3)),
    # Rest
    "shuffle one": lambda tf: ranged(tf).shuffle(1),
    "shuffle counts": lambda tf: ranged(tf).shuffle(10).batch(3).map(lambda b: tf.shape(b)),
    "sample one": lambda tf: tf.data.Dataset.sample_from_datasets(
        [ranged(tf, 3), ranged(tf, 5)], weights=[0.0, 1.0], seed=1
    ),
}  # fmt: skip

# Cardinalities that we know and TensorFlow does not, or says otherwise, with the reason.
KNOWN_HERE = {
    "sample one": "datasets of weight 0 are left out",
}
# Specs that are more exact here: TensorFlow's tracing forgets sizes that this one knows.
EXACT_HERE = {"map numpy": "the shape that the first results have"}


@pytest.mark.parametrize("name", PIPELINES)
def test_elements(name):
    wanted, found = (elements(PIPELINES[name](tf)) for tf in LIBRARIES)
    assert len(found) == len(wanted)
    for number, (one, two) in enumerate(zip(wanted, found, strict=True)):
        assert same(one, two), f"element {number}: TensorFlow {one!r}, here {two!r}"


@pytest.mark.parametrize("name", [name for name in PIPELINES if name not in KNOWN_HERE])
def test_cardinality(name):
    wanted, found = (int(PIPELINES[name](tf).cardinality()) for tf in LIBRARIES)
    assert found == wanted


@pytest.mark.parametrize("name", [name for name in PIPELINES if name not in EXACT_HERE])
def test_element_spec(name):
    wanted, found = (repr(PIPELINES[name](tf).element_spec) for tf in LIBRARIES)
    assert found == wanted


def test_the_second_pass_is_the_first():
    for name, pipeline in PIPELINES.items():
        dataset = pipeline(gradtape)
        one, two = elements(dataset), elements(dataset)
        assert len(one) == len(two), name
        assert all(map(same, one, two)), name


# Errors

ERRORS = {
    "batch 0": lambda tf: ranged(tf).batch(0),
    "shuffle 0": lambda tf: ranged(tf).shuffle(0),
    "shard index": lambda tf: ranged(tf).shard(2, 2),
    "shard 0": lambda tf: ranged(tf).shard(0, 0),
    "different rows": lambda tf: slices(tf, ([1, 2], [1, 2, 3])),
    "slices of a scalar": lambda tf: slices(tf, 3),
    "batch of different sizes": lambda tf: elements(rows(tf).batch(3)),
    "padded too small": lambda tf: elements(rows(tf).padded_batch(7, [2])),
    "generator of a wrong shape": lambda tf: elements(
        tf.data.Dataset.from_generator(
            lambda: iter([[1, 2]]), output_signature=tf.TensorSpec([3], tf.int32)
        )
    ),
    "generator that is none": lambda tf: tf.data.Dataset.from_generator(
        [1, 2], output_signature=tf.TensorSpec([], tf.int32)
    ),
    "generator without signature": lambda tf: tf.data.Dataset.from_generator(lambda: iter([1])),
    "zip of a list": lambda tf: tf.data.Dataset.zip([ranged(tf)]),
    "concatenate dtypes": lambda tf: ranged(tf).concatenate(slices(tf, [1.0])),
    "no function": lambda tf: ranged(tf).map(3),
    "flat_map of a tensor": lambda tf: elements(ranged(tf).flat_map(lambda n: n)),
    "filter of a number": lambda tf: elements(ranged(tf).filter(lambda n: n)),
    "len of endless": lambda tf: len(ranged(tf).repeat()),
    "len of unknown": lambda tf: len(ranged(tf).filter(lambda n: True)),
    "single of none": lambda tf: ranged(tf, 0).get_single_element(),
    "single of two": lambda tf: ranged(tf, 2).get_single_element(),
    "get_next at the end": lambda tf: iter(ranged(tf, 0)).get_next(),
    "reduce of another dtype": lambda tf: ranged(tf).reduce(0.0, lambda s, n: n),
    "no file": lambda tf: elements(tf.data.TextLineDataset("/no/such/file")),
    "no files": lambda tf: tf.data.Dataset.list_files("/no/such/*"),
    "cardinality that is wrong": lambda tf: elements(
        ranged(tf).apply(tf.data.experimental.assert_cardinality(3))
    ),
    "choice out of range": lambda tf: elements(
        tf.data.Dataset.choose_from_datasets([ranged(tf)], slices(tf, np.array([0, 1])))
    ),
    "interleave 0": lambda tf: ranged(tf).interleave(lambda n: ranged(tf), cycle_length=0),
    "prefetch -3": lambda tf: ranged(tf).prefetch(-3),
    "range 0": lambda tf: tf.data.Dataset.range(1, 5, 0),
}
# Where the class of the error differs: TensorFlow's kernels know no Python classes.
PYTHONS = {
    "generator of a wrong shape": ValueError,
    "no function": TypeError,
    "flat_map of a tensor": TypeError,
}


@pytest.mark.parametrize("name", ERRORS)
def test_both_refuse(name):
    with pytest.raises(Exception) as wanted:
        ERRORS[name](tensorflow)
    with pytest.raises(Exception) as found:
        ERRORS[name](gradtape)
    assert str(found.value)
    if name in PYTHONS:
        assert isinstance(found.value, PYTHONS[name])
    else:
        assert type(found.value).__name__ == type(wanted.value).__name__


# Single values

VALUES = {
    "reduce": lambda tf: ranged(tf).reduce(np.int64(1), lambda s, n: s + n),
    "reduce pairs": lambda tf: slices(tf, ([1, 2], [3, 4])).reduce(
        (0, 1), lambda s, e: (s[0] + e[0], s[1] * e[1])
    ),
    "reduce nothing": lambda tf: ranged(tf, 0).reduce(np.int64(7), lambda s, n: s + n),
    "single": lambda tf: ranged(tf, 1).get_single_element(),
    "len": lambda tf: len(ranged(tf).batch(3)),
    "bool": lambda tf: bool(ranged(tf, 0)),
    "next": lambda tf: next(iter(ranged(tf))),
    "optional": lambda tf: iter(ranged(tf)).get_next_as_optional().get_value(),
    "optional at the end": lambda tf: iter(ranged(tf, 0)).get_next_as_optional().has_value(),
    "constants": lambda tf: (
        tf.data.AUTOTUNE,
        tf.data.INFINITE_CARDINALITY,
        tf.data.UNKNOWN_CARDINALITY,
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    wanted, found = (VALUES[name](tf) for tf in LIBRARIES)
    assert same(wanted, found)


# Files


def test_files(tmp_path):
    text = tmp_path / "a.txt"
    text.write_bytes(b"one\r\ntwo\n\nfour\r\nfive")
    packed = tmp_path / "b.txt.gz"
    packed.write_bytes(gzip.compress(b"x\ny\n"))
    records = tmp_path / "c.bin"
    records.write_bytes(b"headaabbccfoot")
    (tmp_path / "empty.txt").write_bytes(b"")

    def pipelines(tf):
        lines = tf.data.TextLineDataset
        yield lines(str(text))
        yield lines([str(text), str(tmp_path / "empty.txt"), str(text)]).skip(1)
        yield lines(str(packed), compression_type="GZIP")
        yield lines(tf.data.Dataset.from_tensor_slices([str(text)]))
        yield tf.data.FixedLengthRecordDataset(str(records), 2, header_bytes=4, footer_bytes=4)
        yield tf.data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
        yield tf.data.Dataset.list_files(
            [str(tmp_path / "*.gz"), str(tmp_path / "*.bin")], shuffle=False
        )

    for one, two in zip(pipelines(tensorflow), pipelines(gradtape), strict=True):
        assert elements(one) == elements(two)
        assert int(one.cardinality()) == int(two.cardinality())


# Shuffled elements


def orders(tf, build, passes=2):
    dataset = build(tf)
    return [[int(n) for n in dataset] for _ in range(passes)]


@pytest.mark.parametrize("tf", LIBRARIES)
@pytest.mark.parametrize("seed", [None, 3])
def test_passes_are_reshuffled_unless_told_not_to(tf, seed):
    one, two = orders(tf, lambda tf: ranged(tf, 100).shuffle(100, seed=seed))
    assert one != two
    assert sorted(one) == sorted(two) == list(range(100))
    one, two = orders(
        tf, lambda tf: ranged(tf, 100).shuffle(100, seed=seed, reshuffle_each_iteration=False)
    )
    assert one == two
    (both,) = orders(tf, lambda tf: ranged(tf, 50).shuffle(50, seed=seed).repeat(2), passes=1)
    assert sorted(both[:50]) == sorted(both[50:]) == list(range(50))
    assert both[:50] != both[50:]


@pytest.mark.parametrize("tf", LIBRARIES)
def test_seeds_decide_the_orders(tf):
    def seeded(tf):
        tf.random.set_seed(5)
        return ranged(tf, 100).shuffle(100)

    def own(tf):
        return ranged(tf, 100).shuffle(100, seed=8)

    assert orders(tf, seeded) == orders(tf, seeded)
    tf.random.set_seed(6)
    with_one = orders(tf, own)
    assert orders(tf, own) == with_one
    tf.random.set_seed(7)
    assert orders(tf, own) != with_one


@pytest.mark.parametrize("buffer", [2, 5, 30])
def test_where_elements_come_out_of_a_buffer(buffer):
    """How often the elements come at each place, in both: the same but for chance."""
    size, passes = 30, 400

    def places(tf):
        dataset = ranged(tf, size).shuffle(buffer)
        counts = np.zeros((size, size))
        for _ in range(passes):
            found = np.array([int(n) for n in dataset.as_numpy_iterator()])
            counts[found, np.arange(size)] += 1
        return counts / passes

    wanted, found = map(places, LIBRARIES)
    # No element can come earlier than a full buffer allows.
    assert found[np.subtract.outer(np.arange(size), np.arange(size)) >= buffer].sum() == 0
    assert np.abs(wanted - found).max() < 5 * np.sqrt(0.5 / passes)
    assert np.abs(wanted - found).mean() < 0.02
