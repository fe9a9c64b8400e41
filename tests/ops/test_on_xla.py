"""The formulations that kernels choose by shape on XLA: each gives what NumPy gives, and
convolutions are compiled for all cores.
"""

import itertools

import numpy as np
import pytest

import gradtape as tf
from gradtape.ops.convolution import Windows, conv, conv_by_filter, conv_by_input

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


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize(
    ("sizes", "kernel", "strides", "dilations"),
    [
        ((9,), (4,), (1,), (1,)),
        ((9,), (2,), (3,), (2,)),
        ((9, 8), (3, 3), (1, 1), (1, 1)),
        ((9, 8), (3, 3), (2, 2), (1, 1)),
        ((9, 8), (4, 2), (2, 3), (1, 2)),
        ((9, 8), (5, 3), (1, 1), (2, 1)),
        ((5, 4, 3), (2, 3, 2), (1, 2, 1), (1, 1, 2)),
    ],
)
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("images", [0, 1, 3])
def test_depthwise_convolutions(sizes, kernel, strides, dilations, times, images, dtype):
    """With uneven padding, and several filters for each of the channels."""
    channels, padding = 3, ((2, 4), (0, 3), (3, 1))[: len(sizes)]
    windows = Windows(kernel, strides, padding, dilations)
    outputs = windows.outputs(sizes)
    x, w, y = (
        tf.constant(_normal(shape).astype(dtype))
        for shape in [
            (images, *sizes, channels),
            (*kernel, 1, channels * times),
            (images, *outputs, channels * times),
        ]
    )

    def step(x, w, y):
        same = {"windows": windows, "groups": channels}
        return [
            conv(x, w, **same),
            conv_by_input(w, y, **same, sizes=sizes),
            conv_by_filter(x, y, **same),
        ]

    rtol = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-2}[dtype]
    _compiled_as_eager(step, x, w, y, rtol=rtol)


def test_gradients_of_gradients_of_a_depthwise_convolution():
    x, w = tf.constant(_normal((2, 7, 6, 3))), tf.constant(_normal((3, 3, 3, 2)))

    def step(x, w):
        with tf.GradientTape() as outer:
            outer.watch([x, w])
            with tf.GradientTape() as tape:
                tape.watch([x, w])
                y = tf.nn.depthwise_conv2d(x, w, (1, 2, 2, 1), "SAME")
                loss = tf.reduce_sum(tf.sin(y))
            by_x, by_w = tape.gradient(loss, [x, w])
            penalty = tf.reduce_sum(by_x**3) + tf.reduce_sum(by_w**3)
        return outer.gradient(penalty, [x, w])

    _compiled_as_eager(step, x, w)


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


@pytest.mark.parametrize("columns", [5, 50])
@pytest.mark.parametrize("count", [100, 4096, 4097, 20_000, 50_176])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_and_infinity_pass_through_the_sum(count, columns, dtype):
    x = _normal((count, columns)).astype(dtype)
    x[3, 0], x[4, 1], x[-5, 1] = np.nan, np.inf, -np.inf
    x[6, 2], x[count // 2, 3] = np.inf, -np.inf

    @tf.function
    def by_bias(x, bias):
        with tf.GradientTape() as tape:
            tape.watch(bias)
            y = x * bias
        return tape.gradient(y, bias)

    found = by_bias(tf.constant(x), tf.ones(columns, dtype)).numpy()
    np.testing.assert_array_equal(found[:4], [np.nan, np.nan, np.inf, -np.inf])
    np.testing.assert_allclose(found[4:], x[:, 4:].sum(0), rtol=1e-3, atol=1e-3)
