"""RaggedFeature in parse_example; tests_tf compares more."""

import numpy as np
import pytest

import gradtape as tf
from tests.io.test_messages import example, feature

R = tf.io.RaggedFeature


def numbers(**lists):
    found = {name: feature(int64_list=values) for name, values in lists.items()}
    return example(**found).SerializeToString()


BOTH = [
    numbers(
        v=[1, 2, 3, 4], lengths=[1, 0, 3], splits=[0, 1, 1, 4], starts=[0, 1, 1],
        limits=[1, 1, 4], ids=[0, 2, 2, 2], outer=[2, 1], halves=[2],
    ),
    numbers(
        v=[5, 6], lengths=[2, 0], splits=[0, 2, 2], starts=[0, 2],
        limits=[2, 2], ids=[0, 0], outer=[1, 1], halves=[1],
    ),
]  # fmt: skip
ROWS = [[[1], [], [2, 3, 4]], [[5, 6], []]]

PARTITIONS = {
    "lengths": ([R.RowLengths("lengths")], ROWS),
    "splits": ([R.RowSplits("splits")], ROWS),
    "starts": ([R.RowStarts("starts")], ROWS),
    "limits": ([R.RowLimits("limits")], ROWS),
    "ids": ([R.ValueRowIds("ids")], [ROWS[0], [[5, 6]]]),
    "uniform": ([R.UniformRowLength(2)], [[[1, 2], [3, 4]], [[5, 6]]]),
    "two": (
        [R.RowLengths("outer"), R.RowLengths("lengths")],
        [[[[1], []], [[2, 3, 4]]], [[[5, 6]], [[]]]],
    ),
    "pairs": (
        [R.RowLengths("halves"), R.UniformRowLength(2)], [[[[1, 2], [3, 4]]], [[[5, 6]]]]
    ),
    "pairs of rows": (
        [R.UniformRowLength(1), R.RowLengths("lengths")],
        [[[[1]], [[]], [[2, 3, 4]]], [[[5, 6]], [[]]]],
    ),
    "none": ([], [[1, 2, 3, 4], [5, 6]]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize("kind", PARTITIONS)
def test_values_are_partitioned(kind, dtype):
    partitions, wanted = PARTITIONS[kind]
    features = {"r": R(tf.int64, "v", partitions, row_splits_dtype=dtype)}
    batch = tf.io.parse_example(BOTH, features)["r"]
    assert batch.to_list() == wanted
    assert batch.row_splits.dtype == dtype
    assert tf.io.parse_example(BOTH[1:], features)["r"].to_list() == wanted[1:]
    assert tf.io.parse_example([], features)["r"].to_list() == []
    one = tf.io.parse_single_example(BOTH[0], features)["r"]
    assert (one.to_list() if hasattr(one, "to_list") else one.numpy().tolist()) == wanted[0]
    assert isinstance(one, tf.RaggedTensor) is (kind not in {"none", "uniform"})


def test_the_name_is_that_of_the_values_unless_told_otherwise():
    text = example(s=feature(bytes_list=[b"a", b"b"])).SerializeToString()
    found = tf.io.parse_example([text, BOTH[0]], {"s": R(tf.string)})["s"]
    assert found.to_list() == [[b"a", b"b"], []]
    assert found.dtype == tf.string


WRONG = [
    ([R.RowLengths("outer")], "example 0 'outer' does not partition the 4 values.*RowLengths"),
    ([R.RowSplits("ids")], "'ids' does not partition"),
    ([R.ValueRowIds("lengths")], "'lengths' does not partition"),
    ([R.RowLengths("nothing")], "'nothing' does not partition"),
    ([R.UniformRowLength(3)], "4 rows of 'r' are no whole number of rows of 3"),
    ([R.UniformRowLength(0)], "UniformRowLength must be at least 1, got 0"),
    (["lengths"], "partitions must be RaggedFeature.RowSplits"),
]


@pytest.mark.parametrize(("partitions", "says"), WRONG)
def test_wrong_partitions_are_refused(partitions, says):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=says):
        tf.io.parse_example(BOTH, {"r": R(tf.int64, "v", partitions)})


def test_in_a_pipeline(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for record in BOTH:
            writer.write(record)
    features = {"r": R(tf.int64, "v", [R.RowLengths("lengths")])}
    together = tf.data.TFRecordDataset(path).batch(2)
    found = together.map(lambda batch: tf.io.parse_example(batch, features))
    (rows,) = [element["r"] for element in found]
    assert rows.to_list() == ROWS
    apart = tf.data.TFRecordDataset(path).map(lambda one: tf.io.parse_single_example(one, features))
    assert [element["r"].to_list() for element in apart] == ROWS
    (batch,) = [element["r"] for element in apart.batch(2)]
    assert batch.to_list() == ROWS
    np.testing.assert_array_equal(
        tf.reduce_sum(batch, axis=-1).to_tensor(), [[1, 0, 9], [11, 0, 0]]
    )
