"""Rarer functions of `tf.nn`: morphology, fractional pooling, sampled losses,
isotonic regression, blocks and moments.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gradtape as tf
from gradtape.api.tensorflow.nn.candidates import (
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from gradtape.api.tensorflow.rearranging import batch_to_space, space_to_batch
from gradtape.errors import InvalidArgumentError
from tests.ops import checks


def random(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def check_derivatives(function, args, wanted):
    checks.check_gradient(function, args, wanted)
    checks.check_jvp(function, args, wanted)
    for outer, inner in product(["reverse", "forward"], repeat=2):
        checks.check_second_order(function, args, wanted, outer=outer, inner_mode=inner)


# Morphology


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("padding", "stride", "rate"), [("VALID", 1, 1), ("SAME", 2, 1), ("SAME", 1, 2)]
)
def test_dilation_and_erosion(padding, stride, rate):
    def dilated(x, w):
        return tf.nn.dilation2d(x, w, [1, stride, stride, 1], padding, "NHWC", [1, rate, rate, 1])

    def eroded(x, w):
        return tf.nn.erosion2d(x, w, [1, stride, stride, 1], padding, "NHWC", [1, rate, rate, 1])

    x, w = random(2, 5, 6, 2), random(2, 3, 2, seed=1)
    flat = tf.nn.pool(
        x, [2, 3], "MAX", stride, padding, dilations=[rate, rate] if stride == 1 else None
    )
    np.testing.assert_allclose(dilated(x, np.zeros_like(w)).numpy(), flat.numpy())
    np.testing.assert_allclose(eroded(x, w).numpy(), -dilated(-x, w[::-1, ::-1]).numpy())
    check_derivatives(dilated, [x, w], [0, 1])
    check_derivatives(eroded, [x, w], [0, 1])


def test_dilation_at_a_tie_and_of_integers():
    x = tf.zeros([1, 1, 3, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.dilation2d(x, tf.zeros([1, 2, 1]), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1])
    assert tape.gradient(y, x).numpy().ravel().tolist() == [1, 1, 0]
    ones = tf.ones([1, 2, 2, 1], tf.int32)
    assert tf.nn.dilation2d(
        ones, ones[0] * -5, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]
    ).numpy().tolist() == [[[[-4]] * 2] * 2]
    with pytest.raises(ValueError, match="NHWC"):
        tf.nn.dilation2d(x, tf.zeros([1, 2, 1]), [1, 1, 1, 1], "VALID", "NCHW", [1, 1, 1, 1])
    with pytest.raises(InvalidArgumentError, match="channels"):
        tf.nn.dilation2d(x, tf.zeros([1, 2, 3]), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1])


# Fractional pooling


@pytest.mark.sampled(4)
@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize(("name", "of"), [("max", np.max), ("avg", np.mean)])
def test_fractional_pooling(name, of, overlapping, pseudo_random):
    pool = {"max": tf.nn.fractional_max_pool, "avg": tf.nn.fractional_avg_pool}[name]

    def pooled(x):
        tf.random.set_seed(1)
        return pool(
            x, [1.0, 1.4, 1.7, 1.0], pseudo_random=pseudo_random, overlapping=overlapping, seed=3
        )

    x = random(2, 9, 10, 2)
    found, rows, columns = [part.numpy() for part in pooled(tf.constant(x))]
    assert found.shape == (2, 6, 5, 2)
    assert (rows[0], rows[-1], columns[0], columns[-1]) == (0, 9, 0, 10)
    assert set(np.diff(rows)) <= {1, 2}
    for i, j in np.ndindex(6, 5):
        window = x[
            :, rows[i] : rows[i + 1] + overlapping, columns[j] : columns[j + 1] + overlapping
        ]
        np.testing.assert_allclose(found[:, i, j], of(window, axis=(1, 2)))
    check_derivatives(lambda v: pooled(v)[0], [x], [0])


def test_fractional_pooling_refuses_to_enlarge():
    with pytest.raises(ValueError, match="at least 1"):
        tf.nn.fractional_max_pool(np.zeros((1, 4, 4, 1), np.float32), 0.5)


# Isotonic regression


def test_isotonic_regression():
    x = np.array([[4.0, 1.0, 2.0, 3.0, 0.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
    levelled, segments = tf.nn.isotonic_regression(x)
    np.testing.assert_allclose(levelled.numpy(), [[4, 2, 2, 2, 0], [3, 3, 3, 3, 3]])
    assert segments.numpy().tolist() == [[0, 1, 1, 1, 2], [0, 0, 0, 0, 0]]
    rising, _ = tf.nn.isotonic_regression(x, decreasing=False, axis=0)
    np.testing.assert_allclose(rising.numpy(), [[2.5, 1, 2, 3, 0], [2.5, 2, 3, 4, 5]])
    check_derivatives(lambda v: tf.nn.isotonic_regression(v, axis=1)[0], [random(2, 6, 3)], [0])


# Blocks


def test_blocks():
    x = random(2, 4, 6, 3)
    there = space_to_batch(x, [2, 3], [[0, 2], [1, 2]])
    assert there.shape == [12, 3, 3, 3]
    np.testing.assert_allclose(
        there.numpy()[2], np.pad(x, [(0, 0), (0, 2), (1, 2), (0, 0)])[0, ::2, 1::3]
    )
    np.testing.assert_allclose(batch_to_space(there, [2, 3], [[0, 2], [1, 2]]).numpy(), x)
    checks.check_gradient(lambda v: space_to_batch(v, [2, 3], [[0, 2], [1, 2]]), [x], [0])
    checks.check_gradient(
        lambda v: batch_to_space(v, [2, 3], [[0, 2], [1, 2]]), [there.numpy()], [0]
    )
    with pytest.raises(InvalidArgumentError, match="block_shape"):
        space_to_batch(x, [3, 3], [[0, 0], [0, 0]])
    with pytest.raises(InvalidArgumentError, match="not a multiple"):
        batch_to_space(x, [3, 3], [[0, 0], [0, 0]])


# Samples of classes


def test_candidate_samplers():
    true = [[0, 3], [1, 4]]
    for sampler in (uniform_candidate_sampler, log_uniform_candidate_sampler):
        found = sampler(true, 2, 6, True, 8)
        assert len(set(found.sampled_candidates.numpy().tolist())) == 6
        assert found.true_expected_count.shape == [2, 2]
        assert (found.sampled_expected_count.numpy() <= 1).all()
        assert sampler(true, 2, 100, False, 8).sampled_candidates.numpy().max() < 8
        with pytest.raises(InvalidArgumentError, match="cannot be sampled"):
            sampler(true, 2, 9, True, 8)
    np.testing.assert_allclose(
        uniform_candidate_sampler(true, 2, 4, False, 8).true_expected_count.numpy(), 0.5
    )
    by_zipf = log_uniform_candidate_sampler([[0]], 1, 4000, False, 100).sampled_candidates.numpy()
    np.testing.assert_allclose(np.mean(by_zipf == 0), np.log(2) / np.log(101), atol=0.03)


@pytest.mark.parametrize("loss", [tf.nn.nce_loss, tf.nn.sampled_softmax_loss])
@pytest.mark.parametrize("remove_accidental_hits", [False, True])
def test_sampled_losses(loss, remove_accidental_hits):
    labels = np.array([[1, 2], [3, 3], [0, 7]])
    sampled = (np.array([1, 5, 6, 4]), random(3, 2, low=0.1, seed=1), random(4, low=0.1, seed=2))

    def function(weights, biases, inputs):
        return loss(
            weights,
            biases,
            labels,
            inputs,
            4,
            8,
            num_true=2,
            sampled_values=sampled,
            remove_accidental_hits=remove_accidental_hits,
        )

    args = [random(8, 5), random(8, seed=3), random(3, 5, seed=4)]
    weights, biases, inputs = args
    true = (weights[labels] * inputs[:, None]).sum(-1) + biases[labels] - np.log(sampled[1])
    others = inputs @ weights[sampled[0]].T + biases[sampled[0]] - np.log(sampled[2])
    if remove_accidental_hits:
        others[0, 0] = -1e30
    both = np.concatenate([true, others], 1)
    target = np.array([0.5, 0.5, 0, 0, 0, 0])
    if loss is tf.nn.nce_loss:
        expected = (np.log1p(np.exp(both)) - np.where(target > 0, both * target, 0)).sum(1)
    else:
        expected = np.log(np.exp(both).sum(1)) - true.mean(1)
    np.testing.assert_allclose(function(*args).numpy(), expected, rtol=1e-9)
    check_derivatives(function, args, [0, 1, 2])


def test_the_weights_of_sampled_classes_have_sparse_gradients():
    weights, biases = tf.Variable(tf.ones([50, 4])), tf.Variable(tf.zeros([50]))
    with tf.GradientTape() as tape:
        loss = tf.nn.sampled_softmax_loss(
            weights, biases, [[3]], tf.ones([1, 4]), num_sampled=5, num_classes=50
        )
    gradients = tape.gradient(loss, [weights, biases])
    assert [type(gradient) for gradient in gradients] == [tf.IndexedSlices] * 2
    assert gradients[0].values.shape == [6, 4]


# Moments, dropout, convolution


def test_sufficient_statistics_make_moments():
    x = random(4, 5)
    for shift in (None, 0.3):
        mean, variance = tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0], shift=shift))
        np.testing.assert_allclose(mean.numpy(), x.mean(0))
        np.testing.assert_allclose(variance.numpy(), x.var(0))
    check_derivatives(
        lambda v: tf.nn.normalize_moments(*tf.nn.sufficient_statistics(v, [0], shift=0.3)), [x], [0]
    )


def test_general_dropout_keeps_what_the_sampler_says():
    drawn = np.array([0.1, 0.6, 0.3, 0.9], np.float32)
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    dropped = tf.nn.experimental.general_dropout(x, 0.5, uniform_sampler=lambda shape, dtype: drawn)
    assert dropped.numpy().tolist() == [0, 4, 0, 8]


@pytest.mark.parametrize(("padding", "shape"), [("VALID", [1, 6, 7, 2]), ("SAME", [1, 4, 5, 2])])
def test_atrous_conv2d_transpose_is_the_transpose(padding, shape):
    y, w, x = random(1, 4, 5, 3), random(2, 2, 2, 3, seed=1), random(*shape, seed=2)
    there = tf.nn.atrous_conv2d(x, w, 2, padding).numpy()
    back = tf.nn.atrous_conv2d_transpose(y, w, shape, 2, padding).numpy()
    np.testing.assert_allclose((there * y).sum(), (x * back).sum())


@pytest.mark.parametrize("values", [(-3.0, 3.0), (-79.0, 79.0), (-200.0, 100.0), (-1e30, 1e30)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_of_many_rows_is_exact_with_and_without_a_shift(values, dtype):
    x = np.random.default_rng(0).uniform(*values, (200, 64)).astype(dtype)
    wide = x.astype(np.longdouble)
    exponentials = np.exp(wide - wide.max(-1, keepdims=True))
    expected = exponentials / exponentials.sum(-1, keepdims=True)
    found = tf.nn.softmax(x).numpy()
    np.testing.assert_allclose(
        found, expected.astype(dtype), rtol=2e-5 if dtype == np.float32 else 1e-13, atol=1e-37
    )


def test_softmax_of_many_rows_passes_nan_on():
    x = np.zeros((100, 64), np.float32)
    x[3, 5] = np.nan
    found = np.isnan(tf.nn.softmax(x).numpy()).any(-1)
    assert np.flatnonzero(found).tolist() == [3]


@pytest.mark.parametrize("length", [1, 7, 64, 1000, 1025])
def test_sums_of_many_rows(length):
    x = np.random.default_rng(0).standard_normal((300, length)).astype(np.float32)
    exact = x.astype(np.float64).sum(-1)
    np.testing.assert_allclose(tf.reduce_sum(x, axis=-1), exact, atol=2e-5)
    np.testing.assert_allclose(tf.reduce_sum(x, axis=1, keepdims=True), exact[:, None], atol=2e-5)
    np.testing.assert_allclose(tf.reduce_mean(x[:, ::-1], axis=-1), exact / length, atol=2e-5)
