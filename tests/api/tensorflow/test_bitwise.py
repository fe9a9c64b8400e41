"""`tf.bitwise`: dtypes, broadcasting, and what is refused."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import bitwise
from gradtape.errors import InvalidArgumentError

PAIRS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]


@pytest.mark.parametrize("name", PAIRS)
def test_they_broadcast_and_keep_the_dtype(name):
    for dtype in (tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.uint64):
        x, y = tf.constant([[1], [6]], dtype), tf.constant([1, 2, 3], dtype)
        result = getattr(bitwise, name)(x, y)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.numpy(), getattr(np, name)(x.numpy(), y.numpy()))


@pytest.mark.parametrize("name", PAIRS)
def test_numbers_take_the_dtype_of_the_tensor_beside_them(name):
    assert getattr(bitwise, name)(tf.constant([5], tf.int64), 1).dtype == tf.int64
    assert getattr(bitwise, name)(5, tf.constant([1], tf.uint8)).dtype == tf.uint8


@pytest.mark.parametrize("name", PAIRS)
def test_only_integers(name):
    for x, y in ((True, False), (1.0, 2.0), (tf.constant([1]), 1.5), (tf.constant([1j]), 1)):
        with pytest.raises(InvalidArgumentError):
            getattr(bitwise, name)(x, y)
    with pytest.raises(InvalidArgumentError):
        getattr(bitwise, name)(tf.constant([1, 2]), tf.constant([1, 2, 3]))


def test_invert():
    assert bitwise.invert(tf.constant([1, 2], tf.uint8)).numpy().tolist() == [254, 253]
    assert bitwise.invert([0, -1]).numpy().tolist() == [-1, 0]
    for wrong in (True, 1.0):
        with pytest.raises(InvalidArgumentError):
            bitwise.invert(wrong)
