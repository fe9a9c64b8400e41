"""`TensorArray` in eager code. Answers and exceptions are TensorFlow's."""

import numpy as np
import pytest

import gradtape as tf

REFUSED = tf.errors.InvalidArgumentError


def array(**options):
    return tf.TensorArray(tf.float32, **{"size": 3, **options})


def test_write_and_read():
    a = array()
    assert a.write(0, 1.0).write(tf.constant(0), 2.0) is a
    assert (a.dtype, a.element_shape, a.dynamic_size, int(a.size()), a.handle) == (
        tf.float32,
        (),
        False,
        3,
        None,
    )
    assert a.read(0).numpy() == 2
    assert a.read(1).numpy() == 0, "an entry that was never written is zeros, if the shape is known"


def test_a_read_clears_unless_it_is_told_not_to():
    a = array().unstack([1.0, 2.0, 3.0])
    a.read(0)
    for again in (lambda: a.read(0), a.stack):
        with pytest.raises(REFUSED, match="clear_after_read"):
            again()
    assert a.write(0, 7.0).stack().numpy().tolist() == [7, 2, 3]
    assert a.stack().numpy().tolist() == [7, 2, 3]
    kept = array(clear_after_read=False).unstack([1.0, 2.0, 3.0])
    assert [kept.read(0).numpy(), kept.read(0).numpy()] == [1, 1]


@pytest.mark.parametrize("index", [3, -1])
def test_out_of_range(index):
    with pytest.raises(tf.errors.OutOfRangeError, match=str(index)):
        array().read(index)
    with pytest.raises(tf.errors.OutOfRangeError, match=str(index)):
        array().write(index, 1.0)
    with pytest.raises(tf.errors.OutOfRangeError, match=str(index)):
        array().gather([index])


def test_dtypes():
    assert array().write(0, 1).read(0).dtype == tf.float32
    with pytest.raises(REFUSED, match="int32"):
        array().write(0, tf.constant(1))


def test_shapes():
    a = array().write(1, [1.0, 2.0])
    assert a.element_shape == (2,)
    assert a.stack().numpy().tolist() == [[0, 0], [1, 2], [0, 0]]
    with pytest.raises(ValueError, match="shape"):
        a.write(0, [1.0])
    with pytest.raises(ValueError, match="shape"):
        array(element_shape=[2]).write(0, [1.0])
    with pytest.raises(ValueError, match="element_shape"):
        array().stack()
    assert array(element_shape=[2]).stack().shape == (3, 2)
    assert array(size=0, element_shape=[2]).stack().shape == (0, 2)
    assert array(size=0).stack().shape == (0,)


def test_unlike_shapes():
    a = array(infer_shape=False)
    for i, value in enumerate(([1.0, 2.0], [3.0], [4.0])):
        a = a.write(i, value)
    assert a.element_shape.rank is None
    assert a.concat().numpy().tolist() == [1, 2, 3, 4]


def test_growing():
    a = array(size=0, dynamic_size=True).write(2, 1.0)
    assert int(a.size()) == 3
    assert a.stack().numpy().tolist() == [0, 0, 1]
    assert int(array(dynamic_size=True).unstack([1.0, 2.0, 3.0, 4.0]).size()) == 4
    with pytest.raises(ValueError, match="4"):
        array().unstack([1.0, 2.0, 3.0, 4.0])


def test_many_at_once():
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert array().unstack(rows).gather([2, 0]).numpy().tolist() == [rows[2], rows[0]]
    assert array().unstack(rows).concat().numpy().tolist() == [1, 2, 3, 4, 5, 6]
    assert array().scatter([2, 0], [5.0, 6.0]).stack().numpy().tolist() == [6, 0, 5]
    parts = array().split([1.0, 2.0, 3.0, 4.0], [1, 0, 3])
    assert parts.concat().numpy().tolist() == [1, 2, 3, 4]
    assert parts.read(2).numpy().tolist() == [2, 3, 4]
    for wrong in (
        lambda: array().split([1.0, 2.0], [1, 0, 0]),
        lambda: array().split([1.0, 2.0], [1, 1]),
    ):
        with pytest.raises(REFUSED):
            wrong()
    with pytest.raises(REFUSED, match="scalar"):
        array().unstack([1.0, 2.0, 3.0]).concat()


def test_what_is_for_graphs():
    assert array().identity().flow.dtype == tf.int32
    with pytest.raises(NotImplementedError):
        array().grad("source")
    with pytest.raises(ValueError, match="size"):
        tf.TensorArray(tf.float32)
    with pytest.raises(ValueError, match="handle"):
        array(handle=1)
    closed = array()
    closed.close()
    assert int(closed.size()) == 0


def test_gradients_flow_through_it():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            a = array()
            for i in range(3):
                a = a.write(i, v[i] ** 3)
            y = a.stack()
        first = tape.gradient(y, v)
    np.testing.assert_allclose(first, [3, 12, 27])
    np.testing.assert_allclose(outer.gradient(first, v), [6, 12, 18])


def test_a_recurrence():
    """A cell that is run over time, its states read back one by one."""
    w = tf.Variable(0.5)
    with tf.GradientTape() as tape:
        states, state = tf.TensorArray(tf.float32, size=0, dynamic_size=True), tf.constant(1.0)
        for step in range(4):
            state = state * w
            states = states.write(step, state)
        total = tf.reduce_sum(states.gather([1, 3]))
    np.testing.assert_allclose(tape.gradient(total, w), 2 * 0.5 + 4 * 0.5**3)
