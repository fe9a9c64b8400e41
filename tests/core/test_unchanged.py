"""What `unchanged` and `Unwritten` put back."""

import pytest

import gradtape as tf
from gradtape.core.unchanged import Unwritten, unchanged


def test_variables_and_random_numbers_are_as_before():
    tf.random.set_seed(3)
    expected = tf.random.normal([3]).numpy()
    tf.random.set_seed(3)
    v = tf.Variable([1.0, 2.0])
    with unchanged():
        v.assign_add([1.0, 1.0])
        tf.random.normal([2])
    assert v.numpy().tolist() == [1.0, 2.0]
    assert (tf.random.normal([3]).numpy() == expected).all()


def test_they_are_if_it_fails():
    v = tf.Variable(1.0)
    with pytest.raises(KeyError), unchanged():
        v.assign(2.0)
        raise KeyError
    assert v.numpy() == 1.0


def test_writes_that_are_final_stay():
    v = tf.Variable(1.0)
    with Unwritten() as writes:
        v.assign(2.0)
        writes.are_final = True
    assert v.numpy() == 2.0
    assert writes.written() == [v]
