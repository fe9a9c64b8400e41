"""Rows added at indices that repeat: whatever way is taken,
the same numbers as one after the other.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.numpy.scatter import all_within, combine_rows


@pytest.mark.parametrize(
    "ufunc", [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum]
)
@pytest.mark.parametrize(
    ("rows", "count"), [(10_000, 500), (300, 500), (20, 500), (1, 100), (5, 3), (7, 0), (3, 20_000)]
)
@pytest.mark.parametrize("shape", [(), (1,), (8,), (2, 3), (0,)])
def test_as_one_after_the_other(ufunc, rows, count, shape):
    rng = np.random.default_rng(rows + count)
    start = rng.uniform(0.5, 1.5, (rows, *shape))
    indices = rng.integers(0, rows, count).astype(np.int32)
    values = rng.uniform(0.9, 1.1, (count, *shape))
    expected, found = start.copy(), start.copy()
    ufunc.at(expected, indices, values)
    combine_rows(ufunc, found, indices, values)
    # To the last bit: repeated rows keep their order.
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64])
def test_dtypes_and_layouts(dtype):
    rng = np.random.default_rng(0)
    values = rng.integers(-5, 5, (400, 6)).astype(dtype)
    indices = rng.integers(0, 50, 400)
    expected = np.zeros((50, 6), dtype)
    np.add.at(expected, indices, values)
    found = np.zeros((6, 50), dtype).T
    combine_rows(np.add, found, indices, values[:, ::-1][:, ::-1])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "complex64", "int8", "uint16", "bool"]
)
@pytest.mark.parametrize("shape", [(3,), (2, 2), (0,)])
def test_rows_of_every_width_in_rounds(dtype, shape):
    rng = np.random.default_rng(0)
    dtype = tf.as_dtype(dtype).as_numpy_dtype
    values, indices = rng.integers(0, 3, (400, *shape)).astype(dtype), rng.integers(0, 100, 400)
    expected, found = np.zeros((100, *shape), dtype), np.zeros((100, *shape), dtype)
    for index, value in zip(indices, values, strict=True):
        expected[index] = np.add(expected[index], value)
    combine_rows(np.add, found, indices, values)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", ">i4"]
)
def test_indices_within_an_axis_of_any_size(dtype):
    for size in (1, 100, 127, 128, 200, 256, 40_000, 70_000, 2**31, 2**32 + 5):
        largest = min(size - 1, np.iinfo(dtype).max)
        assert all_within(np.array([0, largest], dtype), size)
        if largest < np.iinfo(dtype).max:
            assert not all_within(np.array([0, largest + 1], dtype), size)
        if np.dtype(dtype).kind == "i":
            assert not all_within(np.array([0, -1], dtype), size)
    assert all_within(np.array([], dtype), 0)


def test_a_negative_index_of_few_bits_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="-1"):
        tf.gather(tf.constant(np.arange(1000.0)), tf.constant(np.array([-1, 0], np.int8)))


def test_a_variable_takes_one_value_for_all_rows():
    table = tf.Variable(np.zeros((100, 3), np.float32))
    table.scatter_add(tf.IndexedSlices(tf.constant(2.0), tf.constant([5] * 80)))
    assert table.numpy()[5].tolist() == [160.0] * 3
    assert table.numpy().sum() == 480.0


def test_the_gradient_of_a_gather_with_many_repeats():
    table = tf.constant(np.ones((40, 5), np.float32))
    ids = np.random.default_rng(1).integers(0, 40, 300)
    with tf.GradientTape() as tape:
        tape.watch(table)
        y = tf.reduce_sum(tf.gather(table * 1.0, ids))
    np.testing.assert_array_equal(
        tape.gradient(y, table).numpy(), np.bincount(ids, minlength=40)[:, None] * np.ones(5)
    )


def test_one_row_by_a_scalar_index():
    v = tf.Variable(np.zeros((3, 2), np.float32))
    v.scatter_add(tf.IndexedSlices(tf.constant(2.0), tf.constant(1)))
    v.scatter_update(tf.IndexedSlices(tf.constant([5.0, 6.0]), tf.constant(0)))
    assert v.numpy().tolist() == [[5.0, 6.0], [2.0, 2.0], [0.0, 0.0]]


def test_whole_numbers_are_not_divided_in_place():
    v = tf.Variable([4, 8])
    with pytest.raises(TypeError, match="scatter_div: the variable is int32"):
        v.scatter_div(tf.IndexedSlices([2], [0]))
    assert v.numpy().tolist() == [4, 8]
