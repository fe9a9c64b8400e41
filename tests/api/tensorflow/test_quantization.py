"""`tf.quantization`: values, gradients that pass straight through in every mode and order,
and what is refused.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape import quantization as q
from gradtape.errors import InvalidArgumentError

INPUTS = [-1.3, -1.17, -1.0, 0.0, 2.9, 2.92, 2.95, 3.5]
INSIDE = [0, 1, 1, 1, 1, 1, 0, 0]  # the range from -1.1 to 3 in 3 bits is nudged to -1.1714, 2.9286
WEIGHTS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def three_bits(x, low, high):
    return q.fake_quant_with_min_max_vars(x, low, high, num_bits=3)


@pytest.fixture
def args():
    return [tf.constant(INPUTS), tf.constant(-1.1), tf.constant(3.0)]


def test_values(args):
    step = 4.1 / 7
    expected = [round(min(max(x, -2 * step), 5 * step) / step) * step for x in INPUTS]
    np.testing.assert_allclose(three_bits(*args).numpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(
        q.fake_quant_with_min_max_args(args[0], -1.1, 3.0, 3).numpy(), three_bits(*args).numpy()
    )
    channels = q.fake_quant_with_min_max_vars_per_channel(
        tf.stack([args[0]] * 2, 1), [-1.1, -2.0], [3.0, 1.5], 3
    ).numpy()
    np.testing.assert_array_equal(channels[:, 0], three_bits(*args).numpy())
    np.testing.assert_array_equal(channels[:, 1], three_bits(args[0], -2.0, 1.5).numpy())


def test_zero_stays_zero():
    for bits in range(2, 17):
        assert q.fake_quant_with_min_max_args([0.0], -0.7, 2.3, bits).numpy().tolist() == [0.0]


def test_gradients(args):
    with tf.GradientTape() as tape:
        tape.watch(args)
        loss = tf.reduce_sum(three_bits(*args) * WEIGHTS)
    by_input, by_low, by_high = tape.gradient(loss, args)
    np.testing.assert_array_equal(by_input.numpy(), np.multiply(WEIGHTS, INSIDE))
    assert (by_low.numpy(), by_high.numpy()) == (1.0, 15.0)
    same = q.fake_quant_with_min_max_vars_gradient(WEIGHTS, *args, num_bits=3)
    np.testing.assert_array_equal(same.backprops_wrt_input.numpy(), by_input.numpy())
    assert (same.backprop_wrt_min.numpy(), same.backprop_wrt_max.numpy()) == (1.0, 15.0)
    only = q.fake_quant_with_min_max_args_gradient(WEIGHTS, args[0], -1.1, 3.0, 3)
    np.testing.assert_array_equal(only.numpy(), by_input.numpy())


def test_gradients_of_channels():
    x, low, high = (
        tf.constant([[-5.0, 0.0], [0.5, 9.0]]),
        tf.constant([-1.0, -1.0]),
        tf.constant([1.0, 1.0]),
    )
    with tf.GradientTape() as tape:
        tape.watch([x, low, high])
        y = q.fake_quant_with_min_max_vars_per_channel(x, low, high)
    gradients = [g.numpy().tolist() for g in tape.gradient(y, [x, low, high])]
    assert gradients == [[[0.0, 1.0], [1.0, 0.0]], [1.0, 0.0], [0.0, 1.0]]
    given = q.fake_quant_with_min_max_vars_per_channel_gradient(tf.ones([2, 2]), x, low, high)
    assert [g.numpy().tolist() for g in given] == gradients


def test_the_empty_range_passes_everything():
    x, zero = tf.constant([-1.0, 2.0]), tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = q.fake_quant_with_min_max_vars(x, zero, zero)
    assert y.numpy().tolist() == [0.0, 0.0]
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 1.0]


def test_forward_mode(args):
    tangents = [tf.constant(WEIGHTS), tf.constant(10.0), tf.constant(100.0)]
    with tf.autodiff.ForwardAccumulator(args, tangents) as accumulator:
        y = three_bits(*args)
    assert accumulator.jvp(y).numpy().tolist() == [10.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0, 100.0]


def test_second_order(args):
    """The gradient of sum(f(x)²) is 2 f(x) where x is inside, and the gradient of that is 2."""
    x = args[0]
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            loss = tf.reduce_sum(three_bits(*args) ** 2)
        first = inner.gradient(loss, x)
    np.testing.assert_allclose(first.numpy(), 2 * three_bits(*args).numpy() * INSIDE)
    np.testing.assert_array_equal(outer.gradient(first, x).numpy(), np.multiply(INSIDE, 2))


def test_batches(args):
    x = tf.stack([args[0], args[0] * 2])
    low = tf.constant([-1.1, -0.5])
    with tf.GradientTape() as tape:
        tape.watch(low)
        batched = tf.vmap(lambda x, low: three_bits(x, low, 3.0))(x, low)
    for i in range(2):
        np.testing.assert_array_equal(batched[i].numpy(), three_bits(x[i], low[i], 3.0).numpy())
    assert tape.gradient(batched, low).numpy().tolist() == [1.0, 3.0]


def test_numbers_that_are_not_finite():
    x = [np.nan, np.inf, -np.inf]
    np.testing.assert_array_equal(
        q.fake_quant_with_min_max_args(x, -4, 3, 3).numpy(), [np.nan, 3, -4]
    )
    for function in (q.quantize_and_dequantize, q.quantize_and_dequantize_v2):
        np.testing.assert_array_equal(
            function(x, -4.0, 3.0, num_bits=3, range_given=True).numpy(), [np.nan, 3, -4]
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes(dtype):
    x = tf.constant([0.6, 9.0], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = q.fake_quant_with_min_max_args(x, -4, 3, 3)
    assert y.dtype == tape.gradient(y, x).dtype == x.dtype
    assert y.numpy().astype(float).tolist() == [1.0, 3.0]


# Rounding to a range that may come from the input


def test_quantize_and_dequantize():
    x = tf.constant([-2.5, -0.4, 0.5, 1.5, 3.0])
    given = q.quantize_and_dequantize_v2(x, -2.0, 1.5, num_bits=3, range_given=True)
    assert given.numpy().tolist() == [-2.0, -0.5, 0.5, 1.5, 1.5]
    found = q.quantize_and_dequantize_v2(x, 0.0, 0.0, num_bits=3)
    assert found.numpy().tolist() == [-2.0, 0.0, 0.0, 2.0, 3.0]
    up = q.quantize_and_dequantize_v2(x, 0.0, 0.0, num_bits=3, round_mode="HALF_UP")
    assert up.numpy().tolist() == [-2.0, 0.0, 1.0, 2.0, 3.0]
    unsigned = q.quantize_and_dequantize_v2(
        x, 0.0, 7.0, signed_input=False, num_bits=3, range_given=True
    )
    assert unsigned.numpy().tolist() == [0.0, 0.0, 0.0, 2.0, 3.0]


def test_a_range_for_each_channel():
    x = tf.constant([[-7.0, 1.4], [3.2, -2.0]])
    found = q.quantize_and_dequantize_v2(x, [0.0, 0.0], [0.0, 0.0], num_bits=4, axis=1)
    np.testing.assert_array_equal(
        found[:, 0].numpy(), q.quantize_and_dequantize_v2(x[:, 0], 0.0, 0.0, num_bits=4).numpy()
    )
    np.testing.assert_array_equal(
        found[:, 1].numpy(), q.quantize_and_dequantize_v2(x[:, 1], 0.0, 0.0, num_bits=4).numpy()
    )


@pytest.mark.parametrize("range_given", [False, True])
def test_straight_through_where_the_input_is_in_the_range(range_given):
    args = [tf.constant([-2.5, -1.0, 0.5, 2.0, 3.0]), tf.constant(-1.0), tf.constant(2.0)]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(args)
        second = tf.reduce_sum(
            q.quantize_and_dequantize_v2(*args, range_given=range_given) * [1.0, 2.0, 3.0, 4.0, 5.0]
        )
        first = tf.reduce_sum(q.quantize_and_dequantize(*args, range_given=range_given))
    by_input, by_low, by_high = tape.gradient(second, args)
    assert by_input.numpy().tolist() == [0.0, 2.0, 3.0, 4.0, 0.0]
    assert (by_low.numpy(), by_high.numpy()) == (0.0, 0.0)
    by_input, by_low, by_high = tape.gradient(first, args)
    assert by_input.numpy().tolist() == [1.0] * 5
    assert by_low is None
    assert by_high is None


def test_nothing_to_round():
    assert q.quantize_and_dequantize_v2(tf.zeros([0]), 0.0, 0.0).shape == (0,)
    assert q.fake_quant_with_min_max_vars(tf.zeros([0]), 0.0, 1.0).shape == (0,)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (InvalidArgumentError, lambda: q.fake_quant_with_min_max_args([1.0], num_bits=17)),
        (InvalidArgumentError, lambda: q.fake_quant_with_min_max_args([1.0], num_bits=1)),
        (InvalidArgumentError, lambda: q.fake_quant_with_min_max_args([1.0], 3.0, 1.0)),
        (InvalidArgumentError, lambda: q.fake_quant_with_min_max_args([1.0], 0.0, 0.0)),
        (ValueError, lambda: q.fake_quant_with_min_max_args(tf.constant([1]))),
        (InvalidArgumentError, lambda: q.fake_quant_with_min_max_vars([1.0], [0.0], [1.0])),
        (
            InvalidArgumentError,
            lambda: q.fake_quant_with_min_max_vars_per_channel([1.0, 2.0], [0.0], [1.0, 1.0]),
        ),
        (
            InvalidArgumentError,
            lambda: q.fake_quant_with_min_max_vars_per_channel([1.0, 2.0], 0.0, 1.0),
        ),
        (
            InvalidArgumentError,
            lambda: q.fake_quant_with_min_max_vars_per_channel(1.0, [0.0], [1.0]),
        ),
        (
            InvalidArgumentError,
            lambda: q.fake_quant_with_min_max_vars_gradient([1.0], [1.0, 2.0], 0.0, 1.0),
        ),
        (
            InvalidArgumentError,
            lambda: q.quantize_and_dequantize_v2([1.0], 2.0, -1.0, range_given=True),
        ),
        (
            InvalidArgumentError,
            lambda: q.quantize_and_dequantize_v2([1.0], 0.0, 1.0, round_mode="UP"),
        ),
        (InvalidArgumentError, lambda: q.quantize_and_dequantize_v2([1.0], 0.0, 1.0, num_bits=0)),
        (InvalidArgumentError, lambda: q.quantize_and_dequantize_v2([1, 2], 0.0, 1.0)),
        (
            InvalidArgumentError,
            lambda: q.quantize_and_dequantize_v2([1.0], [0.0], [1.0], range_given=True),
        ),
    ],
)
def test_wrong_arguments(error, call):
    with pytest.raises(error) as raised:
        call()
    assert raised.type is error
