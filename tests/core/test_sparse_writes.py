"""The `scatter_*` methods of Variables: rows and coordinates, indices that repeat,
and those that are out of range.
"""

import numpy as np
import pytest

import gradtape as tf


def slices(values, indices):
    return tf.IndexedSlices(tf.constant(values), tf.constant(indices))


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("scatter_add", [11.0, 2.0, 7.0]),
        ("scatter_sub", [-9.0, 2.0, -1.0]),
        ("scatter_mul", [10.0, 2.0, 12.0]),
        ("scatter_div", [0.1, 2.0, 0.75]),
        ("scatter_min", [1.0, 2.0, 3.0]),
        ("scatter_max", [10.0, 2.0, 4.0]),
        ("scatter_update", [10.0, 2.0, 4.0]),
    ],
)
def test_scatter(method, expected):
    v = tf.Variable([1.0, 2.0, 3.0])
    result = getattr(v, method)(slices([10.0, 4.0], [0, 2]))
    np.testing.assert_allclose(v.numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)
    with pytest.raises(TypeError):
        getattr(v, method)(tf.constant([1.0]))


def test_repeated_indices_add_up():
    v = tf.Variable([0.0, 0.0])
    v.scatter_add(slices([1.0, 2.0, 4.0], [0, 0, 1]))
    assert v.numpy().tolist() == [3.0, 4.0]
    v.scatter_nd_add([[1], [1]], [1.0, 2.0])
    assert v.numpy().tolist() == [3.0, 7.0]


def test_batch_scatter_update():
    v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    v.batch_scatter_update(slices([[10.0], [20.0]], [[0], [2]]))
    assert v.numpy().tolist() == [[10.0, 2.0, 3.0], [4.0, 5.0, 20.0]]
    with pytest.raises(TypeError):
        v.batch_scatter_update(tf.constant([1.0]))


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("scatter_nd_add", [[1.0, 12.0], [7.0, 4.0]]),
        ("scatter_nd_sub", [[1.0, -8.0], [-1.0, 4.0]]),
        ("scatter_nd_update", [[1.0, 10.0], [4.0, 4.0]]),
        ("scatter_nd_min", [[1.0, 2.0], [3.0, 4.0]]),
        ("scatter_nd_max", [[1.0, 10.0], [4.0, 4.0]]),
    ],
)
def test_scatter_nd(method, expected):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    getattr(v, method)([[0, 1], [1, 0]], [10.0, 4.0])
    assert v.numpy().tolist() == expected


@pytest.mark.parametrize(
    "scatter",
    [
        lambda v: v.scatter_add(slices([1.0], [2])),
        lambda v: v.scatter_update(slices([1.0], [-1])),
        lambda v: v.scatter_nd_update([[2]], [1.0]),
        lambda v: v.scatter_nd_add([[-1]], [1.0]),
        lambda v: v.sparse_read([5]),
        lambda v: v.gather_nd([[5]]),
    ],
)
def test_indices_out_of_range_are_refused(scatter):
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        scatter(v)
    assert v.numpy().tolist() == [1.0, 2.0]
