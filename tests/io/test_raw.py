"""decode_raw, base 64, compressed strings, CSV and tensors as strings: what they refuse, and how.
tests_tf compares what they give with TensorFlow.
"""

import gzip

import numpy as np
import pytest

import gradtape as tf
from gradtape.io import messages

REFUSED = [
    (lambda: tf.io.decode_raw(b"abc", tf.int16), "3 bytes are no whole number of int16s"),
    (lambda: tf.io.decode_raw([b"a", b"bc"], tf.int8), r"input_bytes\[1\] has 2 bytes"),
    (lambda: tf.io.decode_raw(b"abc", tf.string), "out_type must be a dtype of numbers"),
    (lambda: tf.io.decode_raw(b"a", tf.int16, fixed_length=3), "fixed_length=3 must be a positive"),
    (lambda: tf.io.decode_base64(["YQ", "a+"]), r"input\[1\] is not in base 64.*b'a\+'"),
    (lambda: tf.io.decode_compressed(b"x", "LZ4"), "must be '', 'GZIP' or 'ZLIB', got 'LZ4'"),
    (lambda: tf.io.decode_csv(["1,2"], [[1]]), "record 0 has 2 fields, but there are 1"),
    (lambda: tf.io.decode_csv(["1", "x"], [[1]]), "field 0 of record 1 is no int32: b'x'"),
    (lambda: tf.io.decode_csv(["1", ""], [tf.int32]), "record 1 has 0 fields"),
    (lambda: tf.io.decode_csv(["1,2", "1,"], [[1], tf.int32]), "field 1 of record 1 is empty"),
    (lambda: tf.io.decode_csv(['"a'], [tf.string]), "in record 0 a quote is not closed"),
    (lambda: tf.io.decode_csv(['"a"b'], [tf.string]), "is not doubled"),
    (lambda: tf.io.decode_csv(["a\n"], [tf.string]), "has a quote or a line end inside"),
    (lambda: tf.io.decode_csv(["1"], [tf.bool]), "has dtype bool: a column can have float32"),
    (lambda: tf.io.decode_csv(["1"], [[1, 2]]), r"record_defaults\[0\] has 2 values: give one"),
    (lambda: tf.io.decode_csv(["1"], [[1]], field_delim="::"), "must be one character, got '::'"),
    (lambda: tf.io.parse_tensor(b"\xff", tf.int8), "1 bytes are no serialized TensorProto"),
    (lambda: tf.io.parse_tensor(tf.io.serialize_tensor(1), tf.int8), "holds int32.*is int8"),
    (lambda: tf.io.parse_tensor([b"a"], tf.int8), r"serialized must be a scalar, got shape \(1,\)"),
]


@pytest.mark.parametrize(("call", "says"), REFUSED)
def test_what_is_refused(call, says):
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        call()


@pytest.mark.parametrize("call", [
    lambda: tf.io.decode_raw(3, tf.int8), lambda: tf.io.encode_base64([1]),
    lambda: tf.io.decode_compressed(1.5), lambda: tf.io.decode_csv([1], [[1]]),
    lambda: tf.io.parse_tensor(3, tf.int8),
])  # fmt: skip
def test_numbers_in_the_place_of_strings(call):
    with pytest.raises(ValueError, match="must hold strings, got dtype"):
        call()


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_compressed_strings_that_are_damaged(kind):
    whole = gzip.compress(b"text")
    with pytest.raises(tf.errors.DataLossError, match="decode_compressed: it"):
        tf.io.decode_compressed([whole[:-3]], kind)


def test_a_dtype_stands_for_a_field_that_must_be_there():
    """TensorFlow takes only empty tensors for it."""
    number, text = tf.io.decode_csv(["1,a"], [tf.int64, str])
    assert (number.dtype, text.dtype) == (tf.int64, tf.string)


def test_wrong_columns():
    for chosen, says in ([[1, 0], "increasing"], [[-1, 0], "increasing"], [[0], "names 1 columns"]):
        with pytest.raises(ValueError, match=says):
            tf.io.decode_csv(["1,2"], [[1], [1]], select_cols=chosen)


@pytest.mark.parametrize("dtype", [d for d in tf.dtypes.ALL if d is not tf.string])
def test_every_dtype_goes_through_a_string(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype.numpy)
    found = tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant(array)), dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.numpy(), array)
    assert found.numpy().flags.writeable
    turned = tf.io.serialize_tensor(array.T[::-1])
    np.testing.assert_array_equal(tf.io.parse_tensor(turned, dtype).numpy(), array.T[::-1])


def proto(**fields):
    sizes = fields.pop("shape", ())
    made = messages.TensorProto(**fields)
    for size in sizes:
        made.tensor_shape.dim.add(size=size)
    return made.SerializeToString()


@pytest.mark.parametrize(("fields", "says"), [
    ({"dtype": 99}, "dtype number 99"), ({"dtype": 0}, "dtype number 0"),
    ({"dtype": 1, "shape": [-1]}, "is unknown"), ({"dtype": 1, "shape": [-1, -1]}, "is unknown"),
    ({"dtype": 1, "shape": [2**30, 2**30]}, "larger than such a message can be"),
    ({"dtype": 1, "shape": [2**40], "float_val": [1.0]}, "larger than such a message can be"),
    ({"dtype": 7, "shape": [2**40], "string_val": [b"a"]}, "larger than such a message can be"),
    ({"dtype": 1, "shape": [3], "tensor_content": b"1234"}, "4 bytes are no tensor of float32"),
    ({"dtype": 7, "tensor_content": b"a"}, "1 bytes are no tensor of string"),
])  # fmt: skip
def test_hostile_tensors(fields, says):
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        tf.io.parse_tensor(proto(**fields), tf.float32)


def test_float8_values_one_by_one():
    data = proto(dtype=25, float8_val=b"\x38\x40", shape=[2])
    assert tf.io.parse_tensor(data, tf.dtypes.float8_e4m3fn).numpy().tolist() == [1.0, 2.0]


def test_inside_a_function():
    double = tf.function(lambda x: tf.io.parse_tensor(tf.io.serialize_tensor(x * 2.0), tf.float32))
    assert double(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]
