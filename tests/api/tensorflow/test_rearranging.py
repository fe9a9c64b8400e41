"""Blocks, sequences, partitions and patches. Answers are TensorFlow's."""

import numpy as np
import pytest

import gradtape as tf

REFUSED = tf.errors.InvalidArgumentError


def image(*shape):
    return tf.reshape(tf.range(float(np.prod(shape))), shape)


def test_space_to_batch():
    x = image(1, 4, 4, 1)
    found = tf.space_to_batch(x, [2, 2], [[0, 0], [0, 0]])
    assert found.shape == (4, 2, 2, 1)
    assert found.numpy().reshape(4, 4).tolist() == [
        [0, 2, 8, 10],
        [1, 3, 9, 11],
        [4, 6, 12, 14],
        [5, 7, 13, 15],
    ]
    back = tf.batch_to_space(found, [2, 2], [[0, 0], [1, 0]])
    np.testing.assert_array_equal(back, x[:, :, 1:])
    np.testing.assert_array_equal(tf.batch_to_space(found, 2, [[0, 0], [0, 0]]), x)
    assert tf.space_to_batch_nd(tf.ones([1, 4]), [2], [[0, 2]]).shape == (2, 3)


def test_blocks_of_three_axes_and_back():
    x = image(2, 4, 2, 6, 3)
    there = tf.space_to_batch(x, [2, 1, 3], [[0, 0], [1, 0], [2, 1]])
    assert there.shape == (12, 2, 3, 3, 3)
    np.testing.assert_array_equal(tf.batch_to_space(there, [2, 1, 3], [[0, 0], [1, 0], [2, 1]]), x)


@pytest.mark.parametrize(
    ("shape", "block", "paddings"),
    [
        ([1, 4], 2, [[0, 0]]), ([1, 4], [2], [[1, 0]]), ([1, 4], [2], [[-1, 1]]),
        ([1], [2], [[0, 0]]), ([1, 4], [0], [[0, 0]]), ([1, 4, 4], [2, 2], [[0, 0]]),
    ],
)  # fmt: skip
def test_space_to_batch_refuses(shape, block, paddings):
    with pytest.raises(REFUSED, match="space_to_batch"):
        tf.space_to_batch(tf.ones(shape), block, paddings)


def test_batch_to_space_refuses():
    for shape, crops in (([3, 2, 2], [[0, 0], [0, 0]]), ([4, 2, 2], [[0, 0], [3, 2]])):
        with pytest.raises(REFUSED, match="batch_to_space"):
            tf.batch_to_space(tf.ones(shape), [2, 2], crops)


def test_blocks_have_gradients():
    x = tf.Variable(image(1, 4))
    with tf.GradientTape() as tape:
        y = tf.space_to_batch(x, [2], [[0, 0]]) * [[1.0, 2.0], [3.0, 4.0]]
    assert tape.gradient(y, x).numpy().tolist() == [[1, 3, 2, 4]]


def test_reverse_sequence():
    rows = [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert tf.reverse_sequence(rows, [3, 2], seq_axis=1).numpy().tolist() == [
        [3, 2, 1, 4],
        [6, 5, 7, 8],
    ]
    columns = [[1, 2], [3, 4], [5, 6]]
    assert tf.reverse_sequence(columns, [3, 2], seq_axis=0, batch_axis=1).numpy().tolist() == [
        [5, 4],
        [3, 2],
        [1, 6],
    ]
    x = tf.Variable([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        y = tf.reverse_sequence(x, [2], seq_axis=1) * [1.0, 2.0, 3.0]
    assert tape.gradient(y, x).numpy().tolist() == [[2, 1, 3]]


@pytest.mark.parametrize(
    ("lengths", "axis"),
    [([5, 2], 1), ([-1, 2], 1), ([2], 1), ([2, 2], 0), ([2, 2], -1), ([2, 2], 3)]
)  # fmt: skip
def test_reverse_sequence_refuses(lengths, axis):
    with pytest.raises(REFUSED):
        tf.reverse_sequence([[1, 2, 3, 4], [5, 6, 7, 8]], lengths, seq_axis=axis)


def test_reverse_sequence_needs_an_axis():
    with pytest.raises(TypeError, match="seq_axis"):
        tf.reverse_sequence([[1, 2]], [1])


def test_dynamic_partition():
    parts = tf.dynamic_partition([[1, 2], [3, 4]], [[0, 1], [1, 0]], 3)
    assert [part.numpy().tolist() for part in parts] == [[1, 4], [2, 3], []]
    parts = tf.dynamic_partition([1.0, 2.0], 1, 2)
    assert [part.shape for part in parts] == [(0, 2), (1, 2)]
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        first, second = tf.dynamic_partition(x, [1, 0, 1], 2)
        y = tf.reduce_sum(first) + 2.0 * tf.reduce_sum(second * second)
    assert tape.gradient(y, x).numpy().tolist() == [4, 1, 12]


@pytest.mark.parametrize(
    ("numbers", "count"), [([0, 2], 2), ([0, -1], 2), ([0, 1, 1], 2), ([0, 0], 0)]
)
def test_dynamic_partition_refuses(numbers, count):
    with pytest.raises(REFUSED, match="dynamic_partition"):
        tf.dynamic_partition([1.0, 2.0], numbers, count)


def test_dynamic_stitch():
    found = tf.dynamic_stitch(
        [6, [4, 1], [[5, 2], [0, 3]]],
        [[61, 62], [[41, 42], [11, 12]], [[[51, 52], [21, 22]], [[1, 2], [31, 32]]]],
    )
    assert found.numpy().tolist() == [
        [1, 2],
        [11, 12],
        [21, 22],
        [31, 32],
        [41, 42],
        [51, 52],
        [61, 62],
    ]
    assert tf.dynamic_stitch([tf.zeros([0], tf.int32)], [tf.zeros([0, 2])]).shape == (0, 2)


def test_dynamic_stitch_gives_no_gradient_to_what_is_written_over():
    a, b = tf.Variable([1.0, 3.0]), tf.Variable([2.0])
    with tf.GradientTape() as tape:
        y = tf.dynamic_stitch([[0, 1], [1]], [a, b])
    assert y.numpy().tolist() == [1, 2]
    assert [g.numpy().tolist() for g in tape.gradient(y, [a, b])] == [[1, 0], [1]]


@pytest.mark.parametrize(
    ("indices", "data", "error"),
    [
        ([[0, 1]], [[1.0]], REFUSED), ([[-1]], [[1.0]], REFUSED),
        ([[0]], [[1.0], [2.0]], ValueError), ([], [], REFUSED),
        ([[0], [1]], [[[1.0]], [[1.0, 2.0]]], REFUSED),
    ],
)  # fmt: skip
def test_dynamic_stitch_refuses(indices, data, error):
    with pytest.raises(error):
        tf.dynamic_stitch(indices, data)


def test_scattered_extremes():
    assert tf.tensor_scatter_nd_max(
        [0.0] * 4, [[1], [3], [1]], [1.0, -1.0, 5.0]
    ).numpy().tolist() == [0, 5, 0, 0]
    assert tf.tensor_scatter_nd_min(
        [[0, 0], [0, 0]], [[1], [1]], [[1, -1], [5, -3]]
    ).numpy().tolist() == [[0, 0], [0, -3]]
    a, b = tf.Variable([0.0, 1.0, 2.0]), tf.Variable([1.0, 1.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.tensor_scatter_nd_max(a, [[1], [1], [2]], b)
    by_a, by_b = tape.gradient(y, [a, b])
    np.testing.assert_allclose(by_a, [1, 1 / 3, 0], rtol=1e-6)
    np.testing.assert_allclose(by_b, [1 / 3, 1 / 3, 1], rtol=1e-6)
    for indices, updates in (([[2]], [1.0]), ([[1]], [1.0, 2.0]), ([[0, 0]], [1.0])):
        with pytest.raises(REFUSED):
            tf.tensor_scatter_nd_max([0.0, 0.0], indices, updates)


def test_volume_patches():
    x = image(1, 4, 4, 4, 1) + 1.0
    found = tf.extract_volume_patches(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "VALID")
    assert found.shape == (1, 2, 2, 2, 8)
    assert found[0, 0, 0, 0].numpy().tolist() == [1, 2, 5, 6, 17, 18, 21, 22]
    corner = tf.extract_volume_patches(x, [1, 3, 3, 3, 1], [1, 2, 2, 2, 1], "SAME")[
        0, 1, 1, 1
    ].numpy()
    assert corner[[0, 1, 3, 4, 9, 10, 12, 13]].tolist() == [43, 44, 47, 48, 59, 60, 63, 64]
    assert np.count_nonzero(corner) == 8
    channels = image(1, 2, 2, 2, 2)
    assert tf.extract_volume_patches(channels, [1, 2, 2, 2, 1], [1] * 5, "VALID").numpy().reshape(
        -1
    ).tolist() == [*range(16)]


def test_volume_patches_have_a_gradient():
    x = tf.Variable(tf.ones([1, 1, 1, 3, 1]))
    with tf.GradientTape() as tape:
        y = tf.extract_volume_patches(x, [1, 1, 1, 2, 1], [1] * 5, "VALID")
    assert tape.gradient(y, x).numpy().reshape(-1).tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("shape", "sizes", "padding", "error"),
    [
        ([1, 4, 4, 4, 1], [2, 3, 3, 3, 1], "SAME", tf.errors.UnimplementedError),
        ([1, 4, 4, 4, 1], [1, 3, 3, 3, 1], "X", REFUSED),
        ([1, 4, 4, 4, 1], [3, 3, 3], "SAME", REFUSED), ([2, 2], [1, 3, 3, 3, 1], "SAME", REFUSED),
    ],
)  # fmt: skip
def test_volume_patches_refuse(shape, sizes, padding, error):
    with pytest.raises(error):
        tf.extract_volume_patches(tf.ones(shape), sizes, [1] * 5, padding)
