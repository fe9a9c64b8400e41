"""Rows added at indices that repeat: whatever way is taken, the same numbers as one after the other."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.scatter import combine_rows


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum])
@pytest.mark.parametrize(("rows", "count"), [(10_000, 500), (300, 500), (20, 500), (1, 100), (5, 3), (7, 0), (3, 20_000)])
@pytest.mark.parametrize("shape", [(), (1,), (8,), (2, 3), (0,)])
def test_as_one_after_the_other(ufunc, rows, count, shape):
    rng = np.random.default_rng(rows + count)
    start = rng.uniform(0.5, 1.5, (rows, *shape))
    indices = rng.integers(0, rows, count).astype(np.int32)
    values = rng.uniform(0.9, 1.1, (count, *shape))
    expected, found = start.copy(), start.copy()
    ufunc.at(expected, indices, values)
    combine_rows(ufunc, found, indices, values)
    np.testing.assert_array_equal(found, expected)  # to the last bit: repeated rows keep their order


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
    np.testing.assert_array_equal(tape.gradient(y, table).numpy(), np.bincount(ids, minlength=40)[:, None] * np.ones(5))
