"""Counting and finding: bincount, histograms, unique, searchsorted, masks, permutations.

Answers are TensorFlow's.
"""

import numpy as np
import pytest

import gradtape as tf

MATRIX = [[1, 1, 3], [0, 2, 0]]


@pytest.mark.parametrize(
    ("arr", "options", "expected"),
    [
        ([1, 1, 3], {}, [0, 2, 0, 1]), (MATRIX, {}, [2, 2, 1, 1]),
        (MATRIX, {"axis": 0}, [2, 2, 1, 1]), (MATRIX, {"axis": -1}, [[0, 2, 0, 1], [2, 0, 1, 0]]),
        ([1, 1, 3], {"minlength": 6}, [0, 2, 0, 1, 0, 0]), ([1, 1, 3], {"maxlength": 2}, [0, 2]),
        ([1, 1, 3], {"binary_output": True}, [0, 1, 0, 1]), ([], {}, []),
        (MATRIX, {"axis": -1, "maxlength": 2, "binary_output": True}, [[0, 1], [1, 0]]),
    ],
)  # fmt: skip
def test_bincount(arr, options, expected):
    found = tf.math.bincount(arr, **options)
    assert found.dtype == tf.int32
    assert found.numpy().tolist() == expected


def test_bincount_of_weights_is_differentiable():
    w = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with tf.GradientTape() as tape:
        counts = tf.math.bincount(MATRIX, weights=w, axis=-1)
        y = counts * [1.0, 2.0, 3.0, 4.0]
    assert counts.numpy().tolist() == [[0, 3, 0, 3], [10, 0, 5, 0]]
    assert tape.gradient(y, w).numpy().tolist() == [[2, 2, 4], [1, 3, 1]]


def test_bincount_dtypes():
    assert tf.math.bincount([1], dtype=tf.int64).dtype == tf.int64
    assert tf.math.bincount([1], weights=[3]).dtype == tf.int32


@pytest.mark.parametrize(
    ("arr", "options", "error"),
    [
        ([1, -3], {}, tf.errors.InvalidArgumentError),
        ([1], {"weights": [1.0, 2.0]}, tf.errors.InvalidArgumentError),
        ([[1]], {"axis": 1}, ValueError),
        ([1], {"weights": [1.0], "binary_output": True}, ValueError),
    ],
)  # fmt: skip
def test_bincount_refuses(arr, options, error):
    with pytest.raises(error):
        tf.math.bincount(arr, **options)


def test_confusion_matrix():
    assert tf.math.confusion_matrix([1, 2, 2], [2, 2, 0]).numpy().tolist() == [
        [0, 0, 0],
        [0, 0, 1],
        [1, 0, 1],
    ]
    assert tf.math.confusion_matrix([[1], [0]], [1, 0]).numpy().tolist() == [[1, 0], [0, 1]]
    assert tf.math.confusion_matrix([1.0], [0], num_classes=2).numpy().tolist() == [[0, 0], [1, 0]]
    assert tf.math.confusion_matrix([1, 2], [2, 2], weights=[0.5, 2.0]).numpy().tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [0, 0, 2],
    ]
    assert tf.math.confusion_matrix([], []).shape == (0, 0)


def test_confusion_matrix_has_a_gradient_by_its_weights():
    w = tf.Variable([0.5, 2.0])
    with tf.GradientTape() as tape:
        y = tf.math.confusion_matrix([0, 1], [1, 1], weights=w, dtype=tf.float32) * [
            [1.0, 2.0],
            [3.0, 4.0],
        ]
    assert tape.gradient(y, w).numpy().tolist() == [2, 4]


@pytest.mark.parametrize(
    ("labels", "predictions", "options", "error"),
    [
        ([1, 2], [2, 2], {"num_classes": 2}, tf.errors.InvalidArgumentError),
        ([1, -2], [2, 2], {}, tf.errors.InvalidArgumentError),
        ([1, 0], [1, 0, 1], {}, tf.errors.InvalidArgumentError),
        ([1, 0], [1, 0], {"weights": [1.0]}, ValueError),
    ],
)  # fmt: skip
def test_confusion_matrix_refuses(labels, predictions, options, error):
    with pytest.raises(error):
        tf.math.confusion_matrix(labels, predictions, **options)


def test_histograms():
    values = [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]
    assert tf.histogram_fixed_width(values, [0.0, 5.0], nbins=5).numpy().tolist() == [2, 1, 1, 0, 2]
    assert tf.histogram_fixed_width([1, 2], [0, 5], nbins=5, dtype=tf.int64).numpy().tolist() == [
        0,
        1,
        1,
        0,
        0,
    ]
    assert tf.histogram_fixed_width_bins(
        [values[:2], values[2:4]], [0.0, 5.0], nbins=5
    ).numpy().tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([1.0], {"value_range": [5.0, 0.0]}), ([1.0], {"value_range": [0.0, 5.0], "nbins": 0}),
        ([1.0], {"value_range": [1.0]}), ([np.nan], {"value_range": [0.0, 5.0]}),
        ([1.0], {"value_range": [0.0, 5.0], "dtype": tf.float32}),
    ],
)  # fmt: skip
def test_histograms_refuse(values, options):
    for function in (tf.histogram_fixed_width, tf.histogram_fixed_width_bins):
        with pytest.raises(tf.errors.InvalidArgumentError, match="histogram"):
            function(values, **options)


def test_unique():
    found = tf.unique_with_counts([3.0, 1.0, 3.0, 2.0])
    assert [x.numpy().tolist() for x in found] == [[3, 1, 2], [0, 1, 0, 2], [2, 1, 1]]
    assert [x.dtype for x in found] == [tf.float32, tf.int32, tf.int32]
    y, idx = tf.unique(["b", "a", "b"], out_idx=tf.int64)
    assert y.numpy().tolist() == [b"b", b"a"]
    assert idx.dtype == tf.int64
    assert tf.unique(tf.constant([2, 1, 2], tf.bfloat16)).y.numpy().tolist() == [2, 1]
    assert tf.unique([np.nan, np.nan, 1.0]).idx.numpy().tolist() == [0, 1, 2]
    assert tf.unique(tf.zeros([0])).y.shape == (0,)


def test_unique_is_differentiable_as_the_gather_it_is():
    x = tf.Variable([3.0, 1.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.unique(x).y
    assert tape.gradient(y, x).numpy().tolist() == [1, 1, 0]


def test_unique_refuses():
    with pytest.raises(tf.errors.InvalidArgumentError, match="vector"):
        tf.unique([[1]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="out_idx"):
        tf.unique([1], out_idx=tf.int16)


def test_searchsorted():
    assert tf.searchsorted([1.0, 3.0, 5.0], [0.0, 3.0, 6.0]).numpy().tolist() == [0, 1, 3]
    rows = [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    found = tf.searchsorted(rows, [[0.0, 3.0], [6.0, 7.0]], side="right", out_type=tf.int64)
    assert found.dtype == tf.int64
    assert found.numpy().tolist() == [[0, 2], [3, 3]]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.searchsorted(rows, [0.0, 3.0])
    with pytest.raises(ValueError, match="side"):
        tf.searchsorted([1.0], [1.0], side="x")


def test_sequence_mask():
    assert tf.sequence_mask([1, 3, 2]).numpy().tolist() == [
        [True, False, False],
        [True, True, True],
        [True, True, False],
    ]
    assert tf.sequence_mask([[1, 3], [2, 0]], 2, dtype=tf.float32).numpy().tolist() == [
        [[1, 0], [1, 1]],
        [[1, 1], [0, 0]],
    ]
    assert tf.sequence_mask(2, 3).numpy().tolist() == [True, True, False]
    assert tf.sequence_mask(tf.zeros([0], tf.int32)).shape == (0, 0)
    with pytest.raises(ValueError, match="maxlen"):
        tf.sequence_mask([1], [3])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.sequence_mask([1], -2)


def test_invert_permutation():
    assert tf.math.invert_permutation([2, 0, 1]).numpy().tolist() == [1, 2, 0]
    for wrong in ([0, 0, 1], [0, 3, 1], [[0]], [0.0]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.math.invert_permutation(wrong)


def test_order_of_elements():
    assert tf.math.is_non_decreasing([1, 1, 2]).numpy()
    assert tf.math.is_non_decreasing([]).numpy()
    assert not tf.math.is_strictly_increasing([[1, 1], [2, 3]]).numpy()
    assert not tf.math.is_strictly_increasing([1.0, np.nan]).numpy()
    with pytest.raises(TypeError):
        tf.math.is_strictly_increasing([False, True])


def test_unravel_index():
    assert tf.unravel_index([2, 5, 7], [3, 3]).numpy().tolist() == [[0, 1, 2], [2, 2, 1]]
    assert tf.unravel_index(5, [3, 3]).numpy().tolist() == [1, 2]
    assert tf.unravel_index(tf.constant([1], tf.int64), [3]).dtype == tf.int64
    for indices, dims in (([9], [3, 3]), ([[1]], [3, 3]), ([0], [0, 3])):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.unravel_index(indices, dims)
