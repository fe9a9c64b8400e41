"""`clip_by_global_norm`, `clip_by_norm`, `clip_by_value` and `linalg.global_norm`."""

import math

import numpy as np
import pytest

import gradtape as tf


def slices(values, indices, rows):
    return tf.IndexedSlices(tf.constant(values), tf.constant(indices), tf.constant([rows]))


def values(tensor):
    return tensor.numpy().tolist()


def gradient_of(function, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


# clip_by_global_norm


def test_clip_by_global_norm_scales_all_tensors_alike():
    clipped, norm = tf.clip_by_global_norm([tf.constant([3.0]), tf.constant([[4.0]])], 2.5)
    assert isinstance(clipped, list)
    assert norm.numpy() == 5.0
    np.testing.assert_allclose(values(clipped[0]) + values(clipped[1])[0], [1.5, 2.0], rtol=1e-6)


def test_clip_by_global_norm_leaves_short_gradients_alone():
    clipped, norm = tf.clip_by_global_norm((tf.constant([3.0]), tf.constant([4.0])), 10.0)
    assert norm.numpy() == 5.0
    np.testing.assert_allclose([g.numpy()[0] for g in clipped], [3.0, 4.0], rtol=1e-6)


def test_clip_by_global_norm_lets_none_pass():
    clipped, norm = tf.clip_by_global_norm([None, tf.constant([3.0, 4.0]), None], 10.0)
    assert (clipped[0], clipped[2]) == (None, None)
    assert norm.numpy() == 5.0


@pytest.mark.parametrize("nothing", [[], [None], [None, None]], ids=repr)
def test_clip_by_global_norm_of_nothing(nothing):
    clipped, norm = tf.clip_by_global_norm(nothing, 1.0)
    assert clipped == nothing
    assert norm.numpy() == 0.0


def test_clip_by_global_norm_of_zeros():
    clipped, norm = tf.clip_by_global_norm([tf.zeros([2])], 1.0)
    assert values(clipped[0]) == [0.0, 0.0]
    assert norm.numpy() == 0.0


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_clip_by_global_norm_of_an_infinite_norm_is_nan_everywhere(bad):
    clipped, norm = tf.clip_by_global_norm([tf.constant([1.0]), tf.constant([bad])], 1.0)
    assert not math.isfinite(norm.numpy())
    assert all(math.isnan(g.numpy()[0]) for g in clipped)


def test_clip_by_global_norm_keeps_slices_and_does_not_merge_their_rows():
    clipped, norm = tf.clip_by_global_norm([slices([3.0, 4.0], [0, 0], 3)], 2.5)
    assert isinstance(clipped[0], tf.IndexedSlices)
    assert norm.numpy() == 5.0  # not 7
    assert values(clipped[0].indices) == [0, 0]
    np.testing.assert_allclose(values(clipped[0].values), [1.5, 2.0], rtol=1e-6)


def test_clip_by_global_norm_keeps_the_dtype_of_each_tensor():
    clipped, norm = tf.clip_by_global_norm(
        [tf.constant([3.0]), tf.constant([4.0], tf.float64)], 2.5
    )
    assert norm.numpy() == 5.0
    assert [g.dtype for g in clipped] == [tf.float32, tf.float64]
    np.testing.assert_allclose([g.numpy()[0] for g in clipped], [1.5, 2.0], rtol=1e-6)


def test_clip_by_global_norm_takes_a_norm():
    clipped, norm = tf.clip_by_global_norm(
        [tf.constant([3.0, 4.0])], 5.0, use_norm=tf.constant(10.0)
    )
    np.testing.assert_allclose(values(clipped[0]), [1.5, 2.0], rtol=1e-6)
    assert norm.numpy() == 10.0


@pytest.mark.parametrize(
    "wrong",
    [lambda x: x, lambda x: {"a": x}, lambda x: (g for g in [x])],
    ids=["Tensor", "dict", "generator"],
)
def test_clip_by_global_norm_takes_a_sequence(wrong):
    with pytest.raises(TypeError):
        tf.clip_by_global_norm(wrong(tf.constant([1.0])), 1.0)


def test_clip_by_global_norm_is_differentiable():
    x = tf.constant([3.0, 4.0])
    gradient = gradient_of(lambda x: tf.clip_by_global_norm([x], 1.0)[0][0][0], x)
    np.testing.assert_allclose(gradient.numpy(), [16 / 125, -12 / 125], rtol=1e-5)


def test_global_norm():
    assert tf.linalg.global_norm([tf.constant([[3.0]]), None, tf.constant([4.0])]).numpy() == 5.0
    assert tf.linalg.global_norm([slices([3.0, 4.0], [1, 1], 2)]).numpy() == 5.0
    with pytest.raises(TypeError):
        tf.linalg.global_norm(tf.constant([1.0]))


# clip_by_norm


def test_clip_by_norm():
    np.testing.assert_allclose(
        values(tf.clip_by_norm(tf.constant([3.0, 4.0]), 2.5)), [1.5, 2.0], rtol=1e-6
    )
    assert values(tf.clip_by_norm(tf.constant([3.0, 4.0]), 10.0)) == [3.0, 4.0]


def test_clip_by_norm_along_an_axis():
    clipped = tf.clip_by_norm(tf.constant([[3.0, 4.0], [0.3, 0.4]]), 1.0, axes=[1])
    np.testing.assert_allclose(clipped.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_clip_by_norm_is_safe_at_zero():
    zeros = tf.zeros([3])
    assert values(tf.clip_by_norm(zeros, 1.0)) == [0.0, 0.0, 0.0]
    assert np.isfinite(gradient_of(lambda x: tf.clip_by_norm(x, 1.0), zeros).numpy()).all()


def test_a_negative_norm_counts_as_zero():
    assert np.abs(tf.clip_by_norm(tf.constant([3.0, 4.0]), -1.0).numpy()).max() == 0.0


def test_clip_by_norm_keeps_slices():
    clipped = tf.clip_by_norm(slices([3.0, 4.0], [2, 0], 3), 2.5)
    assert isinstance(clipped, tf.IndexedSlices)
    assert values(clipped.indices) == [2, 0]
    np.testing.assert_allclose(values(clipped.values), [1.5, 2.0], rtol=1e-6)


# clip_by_value


def test_clip_by_value():
    assert values(tf.clip_by_value(tf.constant([-5.0, 0.5, 5.0]), -1.0, 1.0)) == [-1.0, 0.5, 1.0]
    assert values(
        tf.clip_by_value(tf.constant([[-5.0], [5.0]]), tf.constant([[-1.0], [-2.0]]), 1.0)
    ) == [[-1.0], [1.0]]


def test_the_gradient_of_clip_by_value_is_one_between_the_bounds_and_at_them():
    x = tf.constant([-2.0, -1.0, 0.0, 1.0, 2.0])
    assert values(gradient_of(lambda x: tf.clip_by_value(x, -1.0, 1.0), x)) == [
        0.0,
        1.0,
        1.0,
        1.0,
        0.0,
    ]


def test_clip_by_value_keeps_slices():
    clipped = tf.clip_by_value(slices([3.0, -4.0], [2, 0], 3), -1.0, 1.0)
    assert isinstance(clipped, tf.IndexedSlices)
    assert values(clipped.values) == [1.0, -1.0]
    assert values(clipped.indices) == [2, 0]


def test_the_bounds_of_clip_by_value_cannot_broaden_the_shape():
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.clip_by_value(tf.constant([1.0, 2.0]), tf.zeros([3, 2]), tf.ones([3, 2]))
