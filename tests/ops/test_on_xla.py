"""The formulations that kernels choose by shape on XLA: each gives what NumPy gives, and
convolutions are compiled for all cores.
"""

import itertools

import numpy as np
import pytest

import gradtape as tf
from gradtape.ops.convolution import Windows, conv_by_input

# channels, filters, kernel, strides, padding, dilations, images
CONVOLUTIONS = {
    "few elements": (1, 8, (3, 3), 1, "SAME", 1, 3),
    "few elements, strides": (3, 8, (3, 3), 2, "SAME", 1, 3),
    "few elements, one image": (2, 5, (2, 3), 1, "VALID", 2, 1),
    "few filters": (16, 2, (3, 3), 1, "SAME", 1, 3),
    "few filters, uneven padding": (16, 2, (3, 2), 1, [[0, 0], [3, 1], [0, 4], [0, 0]], 1, 2),
    "few filters, dilated": (16, 2, (3, 3), 1, "SAME", 2, 2),
    "few filters, strides": (16, 2, (3, 3), 2, "VALID", 1, 2),
    "half as many filters": (24, 12, (3, 3), 1, "SAME", 1, 3),
    "half as many filters, more padding than the kernel": (
        24,
        12,
        (2, 2),
        1,
        [[0, 0], [3, 2], [2, 3], [0, 0]],
        1,
        3,
    ),
    "few channels": (4, 32, (3, 3), 1, "VALID", 1, 3),
    "more of both": (12, 16, (3, 3), 1, "SAME", 1, 3),
    "one element": (12, 16, (1, 1), 2, "VALID", 1, 3),
    "strides": (12, 16, (3, 3), 2, "SAME", 1, 3),
    "a stride for each axis": (12, 16, (4, 3), (3, 2), "VALID", 1, 3),
    "strides that step over elements": (12, 16, (2, 1), 3, "SAME", 1, 3),
    "strides, few channels": (2, 32, (4, 4), 2, "SAME", 1, 3),
    "strides, more padding than the kernel": (
        12,
        16,
        (2, 3),
        2,
        [[0, 0], [4, 1], [3, 5], [0, 0]],
        1,
        3,
    ),
    "strides that cut off elements": (12, 16, (3, 2), 4, "VALID", 1, 3),
    "kernel longer than the input": (12, 16, (8, 3), 1, "SAME", 1, 3),
    "kernel longer than the input, strides": (12, 16, (3, 10), 2, "SAME", 1, 3),
    "kernel longer than the input, dilated": (12, 16, (3, 3), 1, "SAME", 4, 3),
    "kernel longer than the output": (12, 16, (5, 5), 1, "VALID", 1, 3),
}


def _normal(shape):
    return np.random.default_rng(0).standard_normal(shape)


def _compiled_as_eager(step, *arrays, rtol=1e-9):
    for eager, compiled in zip(step(*arrays), tf.function(step)(*arrays), strict=True):
        np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=rtol, atol=rtol)


def _convolution(strides, padding, dilations):
    def step(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            y = tf.nn.conv2d(x, w, strides, padding, dilations=dilations)
            loss = tf.reduce_sum(y * tf.sin(y))
        return [y, *tape.gradient(loss, [x, w])]

    return step


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name):
    channels, filters, kernel, strides, padding, dilations, images = CONVOLUTIONS[name]
    x = tf.constant(_normal((images, 7, 9, channels)))
    w = tf.constant(_normal((*kernel, channels, filters)))
    _compiled_as_eager(_convolution(strides, padding, dilations), x, w)


@pytest.mark.parametrize(
    ("axes", "kernel", "stride", "dilation"),
    [
        *itertools.product([1], [2, 3, 5], [2, 3, 4], [1, 2, 3, 4]),
        (2, 3, 2, 3),
        (3, 2, 3, 2),
    ],
)
def test_strides_with_dilations(axes, kernel, stride, dilation):
    """The op itself: the public functions take one of the two."""
    sizes = (9, 5, 4)[:axes]
    windows = Windows(
        (kernel,) * axes, (stride, 2, 1)[:axes], ((3, 9), (8, 4), (9, 9))[:axes], (dilation,) * axes
    )
    w = tf.constant(_normal((*windows.kernel, 11, 9)))
    y = tf.constant(_normal((2, *windows.outputs(sizes), 9)))

    def step(w, y):
        return [conv_by_input(w, y, windows=windows, groups=1, sizes=sizes)]

    _compiled_as_eager(step, w, y)


@pytest.mark.parametrize(("dtype", "rounding"), [(tf.float16, 2**-10), (tf.bfloat16, 2**-7)])
@pytest.mark.parametrize("name", ["few elements", "few filters", "few channels"])
def test_convolutions_in_half_precision_are_rounded_once(name, dtype, rounding):
    channels, filters, kernel, strides, padding, dilations, images = CONVOLUTIONS[name]
    x, w = (
        tf.cast(_normal((images, 7, 9, channels)), dtype),
        tf.cast(_normal((*kernel, channels, filters)), dtype),
    )

    def step(x, w):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.conv2d(x, w, strides, padding, dilations=dilations)
        return [y, tape.gradient(y, x)]

    exact = step(tf.cast(x, tf.float64), tf.cast(w, tf.float64))
    for found, right in zip(tf.function(step)(x, w), exact, strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(
            tf.cast(found, tf.float64).numpy(), right.numpy(), rtol=rounding / 2, atol=2e-5
        )


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("pool", [tf.nn.max_pool2d, tf.nn.avg_pool2d])
def test_pools_side_by_side(pool, size):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = pool(x, size, size, "SAME")
            loss = tf.reduce_sum(y * y)
        return [y, tape.gradient(loss, x)]

    _compiled_as_eager(step, tf.constant(_normal((2, 11, 10, 3))))


@pytest.mark.parametrize("shape", [(64, 65), (8, 30, 20), (4, 4, 260, 1), (3, 5000)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("ones", [(), (1, 1)])
def test_the_gradient_of_a_bias(shape, dtype, ones):
    def step(x, bias):
        with tf.GradientTape() as tape:
            tape.watch(bias)
            y = x * bias + bias
        return [tape.gradient(y, bias)]

    x = tf.constant(_normal(shape).astype(dtype))
    bias = tf.constant(np.ones((*ones, *shape[-1:])[-len(shape) :], dtype))
    _compiled_as_eager(step, x, bias, rtol={"float16": 5e-2, "float64": 1e-9}.get(dtype, 1e-4))


@pytest.mark.parametrize("count", [1000, 4096, 4097, 50_176, 99_991, 1_000_000])
@pytest.mark.parametrize("compiled", [True, False])
def test_the_gradient_of_a_bias_is_added_up_accurately(count, compiled):
    def by_bias(x, bias):
        with tf.GradientTape() as tape:
            tape.watch(bias)
            y = x * bias
        return tape.gradient(y, bias)

    x = tf.constant(np.full((count, 5), 0.1, np.float32))
    found = (tf.function(by_bias) if compiled else by_bias)(x, tf.ones(5)).numpy()
    np.testing.assert_allclose(found, np.full(5, np.float64(np.float32(0.1)) * count), rtol=1e-4)


def test_nan_and_infinity_pass_through_the_sum():
    x = _normal((100, 50)).astype(np.float32)
    x[3, 0], x[4, 1], x[5, 1] = np.nan, np.inf, -np.inf
    x[6, 2] = np.inf

    @tf.function
    def by_bias(x, bias):
        with tf.GradientTape() as tape:
            tape.watch(bias)
            y = x * bias
        return tape.gradient(y, bias)

    found = by_bias(tf.constant(x), tf.ones(50)).numpy()
    np.testing.assert_array_equal(np.isnan(found[:3]), [True, True, False])
    assert found[2] == np.inf
