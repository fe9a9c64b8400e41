"""Files: what TensorFlow writes gradtape reads, and the other way round."""

from __future__ import annotations

import os

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given

import gradtape
from gradtape.io.tfrecord import read_records

LIBRARIES = [gradtape, tensorflow]
RECORDS = [b"", b"a", os.urandom(1000), bytes(10**5), b"end"]


# TFRecords


def in_tensorflow(path, kind=""):
    return [record.numpy() for record in tensorflow.data.TFRecordDataset(str(path), kind)]


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
@pytest.mark.parametrize("tf", LIBRARIES, ids=["gradtape", "tensorflow"])
def test_records_are_read_by_both(tmp_path, tf, kind):
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path, kind) as writer:
        for record in RECORDS:
            writer.write(record)
            writer.flush()
    assert list(read_records(path, kind)) == in_tensorflow(path, kind) == RECORDS


def test_files_are_the_same_byte_for_byte(tmp_path):
    found = []
    for tf in LIBRARIES:
        with tf.io.TFRecordWriter(str(tmp_path / "records")) as writer:
            for record in RECORDS:
                writer.write(record)
        found.append((tmp_path / "records").read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("changed", range(35))
def test_what_tensorflow_finds_damaged_gradtape_does(tmp_path, changed):
    path = str(tmp_path / "records")
    with gradtape.io.TFRecordWriter(path) as writer:
        writer.write(b"abc")
        writer.write(b"")
    data = bytearray((tmp_path / "records").read_bytes())
    data[changed] ^= 1
    (tmp_path / "records").write_bytes(data)
    for read in (in_tensorflow, lambda path: list(read_records(path))):
        with pytest.raises((tensorflow.errors.DataLossError, gradtape.errors.DataLossError)):
            read(path)


# Examples

SPECS = {
    "f2": lambda io, tf: io.FixedLenFeature([2], tf.float32),
    "f2 default": lambda io, tf: io.FixedLenFeature([2], tf.float32, [7.0, 8.0]),
    "f21 default": lambda io, tf: io.FixedLenFeature([2, 1], tf.float32, [7.0, 8.0]),
    "i": lambda io, tf: io.FixedLenFeature([], tf.int64, -1),
    "s": lambda io, tf: io.FixedLenFeature([1], tf.string, "none"),
    "f0": lambda io, tf: io.FixedLenFeature([0], tf.float32),
    "sequence": lambda io, tf: io.FixedLenSequenceFeature([], tf.float32, True),
    "sequence of 2": lambda io, tf: io.FixedLenSequenceFeature([2], tf.float32, True, -1.0),
    "sequence of s": lambda io, tf: io.FixedLenSequenceFeature([], tf.string, True),
    "var f": lambda io, tf: io.VarLenFeature(tf.float32),
    "var i": lambda io, tf: io.VarLenFeature(tf.int64),
    "var s": lambda io, tf: io.VarLenFeature(tf.string),
    "double": lambda io, tf: io.FixedLenFeature([], tf.float64),
    "open": lambda io, tf: io.FixedLenFeature([None], tf.float32),
    "not missing": lambda io, tf: io.FixedLenSequenceFeature([], tf.float32),
    "no type": lambda io, tf: io.VarLenFeature(None),
}
FEATURES = {
    "missing": {},
    "no kind": {"x": {}},
    "f": {"x": {"float_list": [1.5, -2.0]}},
    "four": {"x": {"float_list": [1.0, 2.0, 3.0, 4.0]}},
    "one": {"x": {"float_list": [1.0]}},
    "empty": {"x": {"float_list": []}},
    "i": {"x": {"int64_list": [-(2**63)]}},
    "ii": {"x": {"int64_list": [1, 2]}},
    "s": {"x": {"bytes_list": [b"\xff\0"]}},
    "ss": {"x": {"bytes_list": [b"", b"b"]}},
}
LISTS = {"bytes_list": "BytesList", "float_list": "FloatList", "int64_list": "Int64List"}


def feature(tf, lists):
    return tf.train.Feature(
        **{kind: getattr(tf.train, LISTS[kind])(value=v) for kind, v in lists.items()}
    )


def features(tf, named):
    return tf.train.Features(feature={k: feature(tf, v) for k, v in named.items()})


def example(tf, named):
    return tf.train.Example(features=features(tf, named)).SerializeToString()


def sequence(tf, named, lists):
    found = {
        key: tf.train.FeatureList(feature=[feature(tf, step) for step in steps])
        for key, steps in lists.items()
    }
    return tf.train.SequenceExample(
        context=features(tf, named), feature_lists=tf.train.FeatureLists(feature_list=found)
    ).SerializeToString()


def plain(tf, value):
    """A result as something that both libraries share."""
    if isinstance(value, dict):
        return {key: plain(tf, value[key]) for key in sorted(value)}
    if isinstance(value, (tuple, list)):
        return [plain(tf, entry) for entry in value]
    if isinstance(value, tf.sparse.SparseTensor):
        return [plain(tf, part) for part in (value.indices, value.values, value.dense_shape)]
    return value.dtype.name, value.shape.as_list(), np.asarray(value).tolist()


def outcome(tf, call):
    """The results, or the kind of the error."""
    try:
        return plain(tf, call(tf))
    except (tf.errors.OpError, ValueError, TypeError) as error:
        return "error", isinstance(error, tf.errors.OpError)


def same(call):
    ours, theirs = (outcome(tf, call) for tf in LIBRARIES)
    assert ours == theirs
    return ours


def test_messages_are_the_same_on_the_wire():
    for named in FEATURES.values():
        data = [example(tf, named) for tf in LIBRARIES]
        assert data[0] == data[1]
        assert (
            gradtape.train.Example.FromString(data[1]).SerializeToString()
            == tensorflow.train.Example.FromString(data[0]).SerializeToString()
        )
    found = [sequence(tf, FEATURES["f"], {"w": [FEATURES["s"]["x"], {}]}) for tf in LIBRARIES]
    assert found[0] == found[1]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("given", FEATURES)
def test_single_examples(given, spec):
    data = example(gradtape, FEATURES[given])
    specs = lambda tf: {"x": SPECS[spec](tf.io, tf)}
    one = same(lambda tf: tf.io.parse_single_example(data, specs(tf)))
    assert one == same(lambda tf: tf.io.parse_example(data, specs(tf)))


@pytest.mark.parametrize("spec", SPECS)
def test_batches_of_examples(spec):
    rng = np.random.default_rng(len(spec))
    specs = lambda tf: {"x": SPECS[spec](tf.io, tf)}
    right = []
    for named in FEATURES.values():
        data = example(gradtape, named)
        if not isinstance(same(lambda tf, d=data: tf.io.parse_example([d], specs(tf))), tuple):
            right.append(data)
    for size in (0, 2, 5):
        if right:
            batch = [right[i] for i in rng.integers(0, len(right), size)]
            same(lambda tf, b=batch: tf.io.parse_example(tf.constant(b, tf.string), specs(tf)))
    batch = [example(gradtape, named) for named in FEATURES.values()]
    same(lambda tf: tf.io.parse_example(batch, specs(tf)))


@pytest.mark.parametrize(
    ("keys", "size", "is_sorted"),
    [("i", 10, False), (["i"], [10], False), (["i", "j"], [10, 3], False), ("i", 10, True)],
)
def test_sparse_features(keys, size, is_sorted):
    rows = [
        example(gradtape, {"i": {"int64_list": [3, 1, 1]}, "j": {"int64_list": [0, 2, 1]},
                           "x": {"float_list": [1.0, 2.0, 3.0]}}),
        example(gradtape, {}),
    ]  # fmt: skip
    spec = lambda tf: {"y": tf.io.SparseFeature(keys, "x", tf.float32, size, is_sorted)}
    assert not isinstance(same(lambda tf: tf.io.parse_example(rows, spec(tf))), tuple)
    same(lambda tf: tf.io.parse_single_example(rows[0], spec(tf)))


SEQUENCES = {
    "both": (
        {"c": {"int64_list": [1]}},
        {"w": [[1.0, 2.0], [3.0, 4.0]], "v": [[1.0], [], [2.0, 3.0]]},
    ),
    "short": ({"c": {"int64_list": [2]}}, {"w": [[5.0, 6.0]], "v": [[9.0]]}),
    "empty": ({"c": {"int64_list": [3]}}, {"w": [], "v": []}),
    "missing": ({}, {}),
    "wrong": ({"c": {"int64_list": [4]}}, {"w": [[1.0]], "v": []}),
}  # fmt: skip


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("names", [[n] for n in SEQUENCES] + [["both", "short", "empty"], []])
def test_sequence_examples(names, missing):
    rows = [
        sequence(
            gradtape, named,
            {key: [{"float_list": step} for step in steps] for key, steps in lists.items()},
        )
        for named, lists in (SEQUENCES[name] for name in names)
    ]  # fmt: skip
    context = lambda io, tf: {
        "c": io.FixedLenFeature([], tf.int64, 0),
        "d": io.VarLenFeature(tf.string),
    }
    lists = lambda io, tf: {
        "w": io.FixedLenSequenceFeature([2], tf.float32, missing),
        "v": io.VarLenFeature(tf.float32),
    }
    both = lambda tf: (context(tf.io, tf), lists(tf.io, tf))
    same(lambda tf: tf.io.parse_sequence_example(tf.constant(rows, tf.string), *both(tf)))
    if len(rows) == 1:
        same(lambda tf: tf.io.parse_single_sequence_example(rows[0], *both(tf)))
        same(lambda tf: tf.io.parse_sequence_example(rows[0], *both(tf)))
        same(lambda tf: tf.io.parse_single_sequence_example(rows[0], None, lists(tf.io, tf)))
        same(lambda tf: tf.io.parse_single_sequence_example(rows[0], context(tf.io, tf)))


def test_json_examples():
    text = '{"features": {"feature": {"x": {"floatList": {"value": [1, 2]}}}}}'
    same(lambda tf: tf.io.parse_example(
        tf.io.decode_json_example([text]), {"x": tf.io.VarLenFeature(tf.float32)}
    ))  # fmt: skip
    same(lambda tf: tf.io.decode_json_example("{"))
