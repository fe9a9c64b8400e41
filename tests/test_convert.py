"""The one door: what TensorFlow's and NumPy's functions make of plain values,
alone and beside Tensors.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape.convert import NUMPY, TENSORFLOW, as_indices, as_tensor, operand, pair_of_floats
from gradtape.errors import InvalidArgumentError

ALONE = [  # a value, and the dtypes that it has by either policy
    (1.5, "float32", "float32"),
    (2, "int32", "int32"),
    (2**40, "int64", "int64"),
    (True, "bool", "bool"),
    (1j, "complex128", "complex64"),
    ([1.0, 2.0], "float32", "float32"),
    ([], "float32", "float32"),
    (np.float64(1), "float64", "float64"),
    (np.arange(3, dtype=np.int8), "int8", "int8"),
    (np.array(1j), "complex128", "complex128"),
]


@pytest.mark.parametrize(
    ("value", "by_tensorflow", "by_numpy"), ALONE, ids=[repr(row[0]) for row in ALONE]
)
def test_alone(value, by_tensorflow, by_numpy):
    assert TENSORFLOW.tensor(value, "f: x").dtype.name == by_tensorflow
    assert NUMPY.tensor(value, "f: x").dtype.name == by_numpy


BESIDE = [  # a Tensor's dtype, a value beside it, and the dtypes that this takes
    ("float64", 1.5, "float64", "float64"),
    ("float16", 2, "float16", "float16"),
    ("int8", 2, "int8", "int8"),
    ("int32", 1.5, "float32", "float32"),
    ("float32", np.ones(2), "float32", "float32"),
    ("int32", [], "int32", "int32"),
    ("complex64", 1.5, "complex64", "complex64"),
    ("float32", 1j, "complex64", "complex64"),
]


@pytest.mark.parametrize(("dtype", "value", "by_tensorflow", "by_numpy"), BESIDE)
@pytest.mark.parametrize("turned", [False, True])
def test_beside_a_tensor(dtype, value, by_tensorflow, by_numpy, turned):
    pair = [tf.ones([2], dtype), value]
    for policy, expected in ((TENSORFLOW, by_tensorflow), (NUMPY, by_numpy)):
        found = policy.tensors(pair[::-1] if turned else pair, "f: values")
        assert found[0 if turned else 1].dtype.name == expected
        assert found[1 if turned else 0].dtype.name == dtype


def test_beside_tensors_of_several_dtypes():
    """TensorFlow asks the first one, NumPy all of them."""
    values = [tf.ones([2], "float32"), 1.5, tf.ones([2], "float64")]
    assert TENSORFLOW.tensors(values, "f: values")[1].dtype == tf.float32
    assert NUMPY.tensors(values, "f: values")[1].dtype == tf.float64


def test_numbers_beside_arrays_of_numpy():
    values = [np.ones(2, np.float64), 1.5]
    assert [t.dtype.name for t in NUMPY.tensors(values, "f: values")] == ["float64", "float64"]
    assert [t.dtype.name for t in TENSORFLOW.tensors(values, "f: values")] == ["float64", "float32"]


class Own:
    def __gradtape_tensor__(self):
        return tf.constant([1.0])


@pytest.mark.parametrize("policy", [TENSORFLOW, NUMPY], ids=["tensorflow", "numpy"])
def test_what_is_a_tensor_is_read_alike(policy):
    x, v = tf.constant([1.0]), tf.Variable([1.0])
    assert policy.tensor(x, "x") is x
    for value in (v, Own(), [x[0], 2.0]):
        assert isinstance(operand(value), tf.Tensor)
        np.testing.assert_array_equal(policy.tensor(value, "x").numpy().reshape(-1)[0], 1.0)
    with tf.GradientTape() as tape:
        y = policy.tensor(v, "x") * 2.0
    assert tape.gradient(y, v).numpy() == [2.0]


class Gone:
    """An array whose values cannot be had."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError("its device is gone")


@pytest.mark.parametrize("policy", [TENSORFLOW, NUMPY], ids=["tensorflow", "numpy"])
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([[1.0], [1.0, 2.0]], "different lengths"),
        ((1.0, [2.0]), "different lengths"),
        ([np.ones(2), np.ones(3)], "different lengths"),
        ([np.ones((2, 3)), np.ones((3, 3))], "different lengths"),
        (object(), "object"),
        (Gone(), "device is gone"),
        ([Gone(), Gone()], "device is gone"),
    ],
)
def test_what_is_refused_names_the_argument(policy, value, says):
    with pytest.raises((TypeError, ValueError), match=f"(?s)f: x.*{says}"):
        policy.tensor(value, "f: x")


def test_only_numpys_policy_refuses_masked_arrays():
    masked = np.ma.masked_array([1.0], [True])
    with pytest.raises(TypeError, match=r"f: x is a masked array"):
        NUMPY.tensor(masked, "f: x")
    assert TENSORFLOW.tensor(masked, "f: x").numpy() == [1.0]


def test_the_place_in_a_list_is_named():
    with pytest.raises((TypeError, ValueError), match=r"f: values\[1\]"):
        TENSORFLOW.tensors([tf.constant(1.0), object()], "f: values")


def test_indices_are_integers():
    assert as_indices([1, 2], "f: indices").dtype == tf.int32
    with pytest.raises(InvalidArgumentError, match="f: indices must be integers"):
        as_indices([1.0], "f: indices")


def test_a_converted_tensor_keeps_its_dtype():
    with pytest.raises(ValueError, match=r"use gradtape\.cast"):
        as_tensor(tf.constant(1.0), "int32")


def test_an_array_that_a_tape_may_keep_is_copied():
    array, x = np.ones(2, np.float32), tf.constant([1.0, 2.0])
    assert pair_of_floats(x, array)[1].array is array
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = pair_of_floats(x * 1.0, array)[1]
    assert y.array is not array
    del tape
