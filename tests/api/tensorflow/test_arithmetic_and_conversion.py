"""Less common arithmetic and conversions: what the op table does not see,
with TensorFlow's answers.
"""

import numpy as np
import pytest

import gradtape as tf

REFUSED = tf.errors.InvalidArgumentError


def test_division():
    assert tf.realdiv([1.0, 2.0], [2.0, 0.0]).numpy().tolist() == [0.5, np.inf]
    assert tf.truncatediv([-7.0, 7.0], [2.0, -2.0]).numpy().tolist() == [-3, -3]
    assert tf.truncatemod([-7.0, 7.5], [2.0, -2.0]).numpy().tolist() == [-1, 1.5]
    assert tf.math.reciprocal_no_nan([2.0, 0.0]).numpy().tolist() == [0.5, 0]
    assert tf.math.reciprocal_no_nan([2j]).numpy().tolist() == [-0.5j]
    for wrong in (
        lambda: tf.realdiv([1], [2]),
        lambda: tf.truncatediv([1j], [2j]),
        lambda: tf.truncatemod([1], [0]),
        lambda: tf.math.reciprocal_no_nan([2]),
        lambda: tf.math.rint([1]),
    ):
        with pytest.raises(REFUSED):
            wrong()


def test_no_gradient_of_what_is_cut_off():
    x = tf.Variable([1.5, 2.5])
    with tf.GradientTape(persistent=True) as tape:
        results = [tf.truncatediv(x, 2.0), tf.math.rint(x)]
    assert [tape.gradient(y, x) for y in results] == [None, None]


def test_reciprocal_no_nan_has_zero_gradient_at_zero():
    x = tf.Variable([2.0, 0.0])
    with tf.GradientTape() as tape:
        y = tf.math.reciprocal_no_nan(x)
    assert tape.gradient(y, x).numpy().tolist() == [-0.25, 0]


def test_polyval():
    assert tf.math.polyval([tf.constant([1.0, 2.0]), 3.0], [2.0, 1.0]).numpy().tolist() == [5, 5]
    assert tf.math.polyval([1, 2], 3).dtype == tf.int32
    assert tf.math.polyval([], 3.0).numpy() == 0
    c, x = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.math.polyval([c, 1.0, c], x)
    assert [g.numpy() for g in tape.gradient(y, [c, x])] == [10, 13]
    for wrong in (tf.constant([1.0]), (1.0, 2.0)):
        with pytest.raises(ValueError, match="list"):
            tf.math.polyval(wrong, 3.0)


def test_accumulate_n():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.math.accumulate_n([v, v, [1.0, 1.0]], shape=[2], tensor_dtype=tf.float32)
    assert y.numpy().tolist() == [3, 5]
    assert tape.gradient(y, v).numpy().tolist() == [2, 2]
    one = tf.ones(2)
    for inputs, options, error in (
        ([], {}, ValueError), ([one, tf.ones(3)], {}, ValueError),
        ([one], {"shape": [3]}, ValueError), ([one], {"tensor_dtype": tf.int32}, TypeError),
        ([one, tf.ones(2, tf.int32)], {}, ValueError), (one, {}, ValueError),
    ):  # fmt: skip
        with pytest.raises(error):
            tf.math.accumulate_n(inputs, **options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 2.3132617, 3.407606]), ({"exclusive": True}, [-np.inf, 1, 2.3132617]),
        ({"exclusive": True, "reverse": True}, [3.3132617, 3, -np.inf]),
        ({"reverse": True}, [3.407606, 3.3132617, 3]),
    ],
)  # fmt: skip
def test_cumulative_logsumexp(options, expected):
    np.testing.assert_allclose(
        tf.math.cumulative_logsumexp([1.0, 2.0, 3.0], **options), expected, rtol=1e-6
    )


def test_gradient_of_an_exclusive_cumulative_logsumexp():
    x = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.math.cumulative_logsumexp(x, exclusive=True)
    np.testing.assert_allclose(tape.gradient(y, x), [1.2689414, 0.7310586, 0], rtol=1e-6)


def test_cumulative_logsumexp_refuses():
    for x, axis in (([1, 2], 0), ([1.0, 2.0], 3)):
        with pytest.raises(REFUSED):
            tf.math.cumulative_logsumexp(x, axis)


def test_approximate_top_k():
    x = tf.Variable([[1.0, 3.0, 2.0], [6.0, 5.0, 4.0]])
    with tf.GradientTape() as tape:
        values, indices = tf.math.approx_max_k(x, 2)
    assert values.numpy().tolist() == [[3, 2], [6, 5]]
    assert indices.numpy().tolist() == [[1, 2], [0, 1]]
    assert tape.gradient(values, x).numpy().tolist() == [[0, 1, 1], [1, 1, 0]]
    found = tf.math.approx_min_k(x, 1, reduction_dimension=0)
    assert found.values.numpy().tolist() == [[1, 3, 2]]
    assert found.indices.numpy().tolist() == [[0, 0, 0]]
    for operand, k in (([1.0], 5), ([1, 2], 1)):
        with pytest.raises(REFUSED):
            tf.math.approx_max_k(tf.constant(operand), k)


def test_sobol_sample():
    expected = [[0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75], [0.375, 0.375, 0.625]]
    assert tf.math.sobol_sample(3, 4).numpy().tolist() == expected
    skipped = tf.math.sobol_sample(2, 3, skip=4, dtype=tf.float64)
    assert skipped.dtype == tf.float64
    assert skipped.numpy().tolist() == [[0.875, 0.875], [0.625, 0.125], [0.125, 0.625]]
    for options in ({"dim": 0}, {"num_results": 0}, {"skip": -1}, {"dtype": tf.float16}):
        with pytest.raises(REFUSED):
            tf.math.sobol_sample(**{"dim": 2, "num_results": 2, **options})


# Conversions


def test_bitcast():
    assert tf.bitcast([1.0, 2.0], tf.uint8).numpy().tolist() == [[0, 0, 128, 63], [0, 0, 0, 64]]
    assert tf.bitcast([[1.0, 2.0]], tf.complex64).numpy().tolist() == [1 + 2j]
    assert tf.bitcast(tf.constant(1.0, tf.bfloat16), tf.uint16).numpy() == 0x3F80
    for value, dtype in (
        ([True], tf.uint8),
        (tf.constant([1], tf.uint8), tf.bool),
        (["a"], tf.uint8),
    ):
        with pytest.raises(REFUSED):
            tf.bitcast(value, dtype)
    with pytest.raises(REFUSED, match="size 4"):
        tf.bitcast(tf.constant([0, 0, 128], tf.uint8), tf.float32)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (tf.constant([1e300, -1e300, 2.0], tf.float64), tf.float32,
            [tf.float32.max, tf.float32.min, 2]),
        (tf.constant([1e10]), tf.float16, [65504]), (tf.constant([-5, 300]), tf.uint8, [0, 255]),
        (tf.constant([3e10, -3e10]), tf.int32, [2**31 - 1, -(2**31)]),
        (tf.constant([100000]), tf.float16, [65504]),
        (tf.constant([1e300 + 1e300j]), tf.complex64, [complex(tf.float32.max, tf.float32.max)]),
        (tf.constant([1e300], tf.float64), tf.complex64, [tf.float32.max]),
        (tf.constant([1, 2]), tf.float32, [1, 2]),
        (tf.constant([np.inf, 1.0]), tf.float64, [np.inf, 1]),
    ],
)  # fmt: skip
def test_saturate_cast(value, dtype, expected):
    found = tf.saturate_cast(value, dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.numpy(), np.array(expected, found.dtype.as_numpy_dtype))


def test_saturate_cast_has_a_gradient_inside_the_limits():
    x = tf.Variable([0.0, 1e300, 2.0], dtype=tf.float64)
    with tf.GradientTape() as tape:
        y = tf.saturate_cast(x, tf.float32)
    assert tape.gradient(y, x).numpy().tolist() == [1, 0, 1]


def test_saturate_cast_refuses_truth_values():
    for value, dtype in (([2.0], tf.bool), ([True], tf.float32)):
        with pytest.raises(TypeError):
            tf.saturate_cast(value, dtype)


@pytest.mark.parametrize(
    "op", [tf.multiply, tf.subtract, tf.divide, tf.maximum, tf.matmul], ids=lambda op: op.__name__
)
@pytest.mark.parametrize("array_dtype", [np.float32, np.float64, np.int32, ">f4", np.float16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_array_takes_the_dtype_of_the_tensor_beside_it(op, dtype, array_dtype):
    x, array = np.array([[1.0, 2.0], [3.0, 4.0]], dtype), np.array([[2, 4], [1, 8]], array_dtype)
    for swapped in (False, True):
        tensor = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            y = op(array, tensor) if swapped else op(tensor, array)
        expected = (
            op(tf.constant(array.astype(dtype)), x)
            if swapped
            else op(tf.constant(x), array.astype(dtype))
        )
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, expected)
        assert tape.gradient(y, tensor).dtype == dtype


def test_an_array_that_changes_later_leaves_a_gradient_as_it_is():
    x, array = tf.constant([1.0, 2.0]), np.array([3.0, 4.0], np.float32)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * array, array * x
    array[:] = 0
    assert (
        tape.gradient(y, x).numpy().tolist() == tape.gradient(z, x).numpy().tolist() == [3.0, 4.0]
    )
