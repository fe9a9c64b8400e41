"""`tf.shape` of RaggedTensors and SparseTensors."""

import numpy as np
import pytest

import gradtape as tf

RAGGED = {
    "rows": (tf.ragged.constant([[1, 2], [3]]), [2, (2, 1)]),
    "two levels": (tf.ragged.constant([[[1], [2, 3]], []]), [2, (2, 0), (1, 2)]),
    "inner axes": (tf.RaggedTensor.from_row_splits(np.zeros((3, 4)), [0, 1, 3]), [2, (1, 2), 4]),
    "equally long": (tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 2), [2, 2]),
    "empty": (tf.RaggedTensor.from_row_splits(np.zeros(0), [0]), [0, ()]),
}


@pytest.mark.parametrize("name", RAGGED)
@pytest.mark.parametrize("dtype", [None, tf.int64])
def test_the_shape_of_a_ragged_tensor(name, dtype):
    ragged, lengths = RAGGED[name]
    shape = tf.shape(ragged, dtype) if dtype else tf.shape(ragged)
    assert shape.static_lengths() == lengths
    assert shape.rank == len(lengths) == int(tf.rank(ragged))
    assert shape.num_row_partitions == ragged.ragged_rank
    assert shape.dtype == (dtype or tf.int32)
    assert repr(shape).startswith("<DynamicRaggedShape lengths=[")
    for axis, length in enumerate(lengths):
        uniform = isinstance(length, int)
        assert shape.is_uniform(axis) == uniform
        if uniform:
            for place in (axis, axis - len(lengths)):
                assert int(shape[place]) == length
                assert shape[place].dtype == shape.dtype
        else:
            with pytest.raises(ValueError, match=rf"axis {axis} differ.*row_lengths\(\)"):
                shape[axis]
    assert shape[:1].numpy().tolist() == lengths[:1]
    with pytest.raises(IndexError, match="no axis 9"):
        shape[9]
    with pytest.raises(TypeError, match=r"bounding_shape\(\)"):
        tf.convert_to_tensor(shape)


def test_the_shape_in_a_function():
    @tf.function
    def f(ragged, sparse):
        shape = tf.shape(ragged)
        return tf.zeros([shape[0], 2]), tf.shape(sparse), tf.size(sparse), tf.rank(sparse)

    zeros, shape, size, rank = f(RAGGED["rows"][0], tf.sparse.from_dense([[1, 0], [0, 2], [0, 0]]))
    assert zeros.shape == [2, 2]
    assert (shape.numpy().tolist(), int(size), int(rank)) == ([3, 2], 6, 2)


@pytest.mark.parametrize("shape", [[3], [3, 2], [2, 0, 4]])
def test_the_shape_of_a_sparse_tensor(shape):
    sparse = tf.sparse.from_dense(np.ones(shape))
    assert tf.shape(sparse).numpy().tolist() == shape
    assert tf.shape(sparse).dtype == tf.size(sparse).dtype == tf.int32
    assert tf.shape(sparse, tf.int64).dtype == tf.size(sparse, tf.int64).dtype == tf.int64
    assert int(tf.size(sparse)) == np.prod(shape)
    assert int(tf.rank(sparse)) == len(shape)
