"""parse_example and its kin: what they give, and what they refuse; tests_tf compares more."""

import numpy as np
import pytest

import gradtape as tf
from tests.io.test_messages import example, feature

FIXED = {"x": tf.io.FixedLenFeature([2], tf.float32)}
VARYING = {"x": tf.io.VarLenFeature(tf.float32)}
SEQUENCE = {"x": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True)}
A = example(x=feature(float_list=[1.0, 2.0]), s=feature(bytes_list=[b"a"])).SerializeToString()
B = example(x=feature(float_list=[3.0, 4.0])).SerializeToString()


def sequence(context=None, **lists):
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=context or {}),
        feature_lists=tf.train.FeatureLists(
            feature_list={k: tf.train.FeatureList(feature=v) for k, v in lists.items()}
        ),
    ).SerializeToString()


@pytest.mark.parametrize("make", [list, tuple, np.array, tf.constant, tf.Variable])
def test_a_batch_is_given_in_many_ways(make):
    found = tf.io.parse_example(make([A, B]), FIXED)["x"]
    np.testing.assert_array_equal(found, [[1, 2], [3, 4]])
    assert found.dtype == tf.float32


@pytest.mark.parametrize("make", [bytes, tf.constant, tf.Variable, np.array])
def test_one_is_given_in_many_ways(make):
    for parse in (tf.io.parse_example, tf.io.parse_single_example):
        np.testing.assert_array_equal(parse(make(A), FIXED)["x"], [1, 2])


def test_an_empty_batch():
    found = tf.io.parse_example([], FIXED | {"s": tf.io.VarLenFeature(tf.string)})
    assert found["x"].shape == (0, 2)
    assert found["s"].dense_shape.numpy().tolist() == [0, 0]
    assert found["s"].dtype == tf.string


def test_scalars_and_shapes():
    one = example(i=feature(int64_list=[-5]), m=feature(float_list=range(6))).SerializeToString()
    found = tf.io.parse_single_example(
        one, {"i": tf.io.FixedLenFeature((), "int64"), "m": tf.io.FixedLenFeature([2, 3], float)}
    )
    assert found["i"].numpy() == -5
    np.testing.assert_array_equal(found["m"], np.arange(6).reshape(2, 3))


def test_results_do_not_share_memory_with_defaults():
    spec = {"y": tf.io.FixedLenFeature([1], tf.float32, default_value=[7.0])}
    one, other = (tf.io.parse_single_example(A, spec)["y"] for _ in range(2))
    assert one.numpy().base is not other.numpy().base or one is not other
    np.testing.assert_array_equal(one, [7.0])


def test_inside_a_function():
    @tf.function
    def parse(data):
        return tf.io.parse_single_example(data, FIXED)["x"] * 2.0

    np.testing.assert_array_equal(parse(tf.constant(A)), [2, 4])
    np.testing.assert_array_equal(parse(tf.constant(B)), [6, 8])


fixed, entries = tf.io.FixedLenFeature, tf.io.FixedLenSequenceFeature
BAD = [
    (fixed([2], tf.float32), [A, b"\xff\xff"], "in example 1 the 2 bytes are no serialized tf.tr"),
    (fixed([3], tf.float32), [A], "'x' has 2 values, but its shape .3. has 3"),
    (fixed([2], tf.int64), [A], "in example 0 the feature 'x' holds float32, not int64"),
    (fixed([2], tf.float32), [A, b""], r"1 there is no feature 'x' \(float32\), and no default"),
    (fixed([2], tf.float64), [A], "'x' has dtype float64, but an Example holds only"),
    (fixed([2], tf.float32, 7.0), [A], "default_value of the feature 'x' has 1 values"),
    (entries([3], tf.float32, True), [A], "'x' has 2 values, which are no whole number"),
    (entries([0], tf.float32, True), [A], "no whole number"),
    (entries([], tf.float32, True, [1.0, 2.0]), [A], "must be a scalar"),
    (tf.io.SparseFeature("i", "x", tf.float32, 9), [A], "'i' has 0 indices for 2 values of 'x'"),
    (fixed([2], tf.float32), [[A]], "must be a scalar or a vector"),
]


@pytest.mark.parametrize(("spec", "serialized", "says"), BAD)
def test_what_is_refused(spec, serialized, says):
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        tf.io.parse_example(serialized, {"x": spec})


WRONG = [
    (lambda: tf.io.parse_example([A], {}), "name at least one"),
    (lambda: tf.io.parse_example([A], None), "name at least one"),
    (lambda: tf.io.parse_single_example(A, {}), "name at least one"),
    (lambda: tf.io.parse_single_example([A], FIXED), "scalar.*use parse_example"),
    (lambda: tf.io.parse_example([1], FIXED), "serialized must hold strings, got dtype int32"),
    (lambda: tf.io.parse_example([A], {"x": 3}), "'x' must be a FixedLenFeature"),
    (lambda: tf.io.parse_example([A], {"x": tf.io.FixedLenFeature([], None)}), "has no dtype"),
    (
        lambda: tf.io.parse_example([A], {"x": tf.io.FixedLenFeature([None], tf.float32)}),
        "use a FixedLenSequenceFeature",
    ),
    (
        lambda: tf.io.parse_example([A], {"x": tf.io.FixedLenFeature([1, None], tf.float32)}),
        "All sizes of the feature 'x' must be known",
    ),
    (
        lambda: tf.io.parse_example([A], {"x": tf.io.FixedLenSequenceFeature([], tf.float32)}),
        "allow_missing=True",
    ),
    (
        lambda: tf.io.parse_example(
            [A], {"x": tf.io.SparseFeature(["i"], "x", tf.float32, [1, 2])}
        ),
        "1 names in index_key, but 2 numbers",
    ),
    (lambda: tf.io.parse_sequence_example([A]), "give context_features or sequence_features"),
    (lambda: tf.io.parse_sequence_example([A], SEQUENCE), "'x' of the context must be"),
    (lambda: tf.io.parse_sequence_example([A], None, FIXED), "feature list 'x' must be"),
    (
        lambda: tf.io.parse_sequence_example(
            [sequence()], None, {"x": tf.io.FixedLenSequenceFeature([], tf.float32, True, 1.0)}
        ),
        "takes no default_value",
    ),
]


@pytest.mark.parametrize(("call", "says"), WRONG)
def test_wrong_arguments(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_a_ragged_list_of_features_says_what_to_use():
    with pytest.raises(NotImplementedError, match="use a VarLenFeature"):
        tf.io.parse_sequence_example([b""], None, {"x": tf.io.RaggedFeature(tf.float32)})


def test_a_scalar_string_is_a_tensor():
    found = tf.io.parse_single_example(A, {"s": tf.io.FixedLenFeature([], tf.string)})["s"]
    assert found.shape == ()
    assert found.dtype == tf.string
    assert found.numpy() == b"a"
    assert (found + b"!").numpy() == b"a!"


def test_names_of_examples_stand_in_errors():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"in example 1 \(second\) the 1 byte"):
        tf.io.parse_example([A, b"\xff"], FIXED, example_names=["first", "second"])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"in example \(mine\) the 1 byte"):
        tf.io.parse_single_example(b"\xff", FIXED, example_names="mine")
    with pytest.raises(tf.errors.InvalidArgumentError, match="1 example_names for 2 examples"):
        tf.io.parse_example([A, B], FIXED, example_names=["first"])


def test_indices_outside_are_refused():
    """TensorFlow lets them pass, and fails later or not at all."""
    for index in (9, -1):
        one = example(i=feature(int64_list=[index]), x=feature(float_list=[1.0]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"index {index}.*outside"):
            tf.io.parse_single_example(
                one.SerializeToString(), {"x": tf.io.SparseFeature("i", "x", tf.float32, 9)}
            )


def test_sequences_that_are_refused():
    steps = [feature(float_list=[1.0, 2.0]), feature(float_list=[3.0])]
    fixed = {"x": tf.io.FixedLenSequenceFeature([2], tf.float32)}
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"example 1 'x\[1\]' has 1 values"):
        tf.io.parse_sequence_example([sequence(x=steps[:1]), sequence(x=steps)], None, fixed)
    with pytest.raises(tf.errors.InvalidArgumentError, match="there is no feature list 'x'"):
        tf.io.parse_single_sequence_example(sequence(), None, fixed)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'x\[0\]' holds float32, not string"):
        tf.io.parse_single_sequence_example(
            sequence(x=steps), None, {"x": tf.io.VarLenFeature(tf.string)}
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no serialized tf\.train\.Seq"):
        tf.io.parse_single_sequence_example(b"\xff", None, fixed)


def test_json_examples():
    text = '{"features": {"feature": {"x": {"floatList": {"value": [1, 2]}}}}}'
    found = tf.io.decode_json_example([[text]])
    assert found.shape == (1, 1)
    assert tf.io.parse_single_example(found[0, 0], FIXED)["x"].numpy().tolist() == [1, 2]
    for wrong in ("{", '{"feature": 1}', b"\xff"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"json_examples\[1\] .*"):
            tf.io.decode_json_example([text, wrong])
