"""Everything that slides windows, over every layout and every way that a window fits or does not
fit.

From each function, each data format and each geometry, columns are made: channels first equals
channels last, an axis that is too short for a window gives an empty result and zeros as gradients,
derivatives, compiled equals eager, and `vectorized_map` equals a loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import gradtape as tf
from tests.ops import checks

LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


@dataclass(frozen=True)
class Windowed:
    """A function of images and perhaps filters, whose shape is made from that of the windows and
    the channels.
    """

    name: str
    spatial: int
    call: object
    filters: object = None
    first: bool = True
    channels: int = 2
    strides: bool = True
    dilations: bool = True
    explicit: bool = True


@dataclass(frozen=True)
class Geometry:
    """One number for each axis, of which a function takes as many as it has."""

    name: str
    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1, 1)
    dilations: tuple[int, ...] = (1, 1, 1)
    padding: object = "VALID"


GEOMETRIES = [
    Geometry("fits", (4, 5, 3), (2, 3, 1)),
    Geometry("same", (4, 3, 3), (3, 2, 2), strides=(2, 1, 2), padding="SAME"),
    Geometry("dilated", (5, 4, 3), (2, 2, 2), dilations=(2, 1, 2)),
    Geometry("explicit", (3, 4, 2), (3, 2, 2), strides=(1, 2, 1), padding=[(1, 2), (0, 1), (1, 0)]),
    Geometry("one more than the input", (2, 4, 3), (3, 2, 2)),
    Geometry("far more than the input", (2, 2, 2), (7, 6, 5)),
    Geometry("more than the input, with strides", (2, 5, 2), (7, 2, 2), strides=(3, 2, 1)),
    Geometry("more when dilated", (4, 5, 3), (3, 2, 2), dilations=(2, 1, 1)),
    Geometry(
        "more than the input and its padding",
        (2, 4, 3),
        (6, 2, 2),
        padding=[(1, 1), (0, 1), (0, 0)],
    ),
]


def _full(kernel, channels):
    return (*kernel, channels, 3)


def _grouped(kernel, channels):
    return (*kernel, channels // 2, 4)


def _depthwise(kernel, channels):
    return (*kernel, channels, 2)


def _of_channels(kernel, channels):
    return (*kernel, channels)


def _whole(numbers):
    return [1, *numbers, 1]


def _named(f):
    return lambda x, w, k, s, p, d, r: f(x, w, s, p, data_format=d, dilations=r)


def _pooled(f):
    return lambda x, w, k, s, p, d, r: f(x, k, s, p, data_format=d)


WINDOWED = [
    Windowed("conv1d", 1, _named(tf.nn.conv1d), _full),
    Windowed("conv2d", 2, _named(tf.nn.conv2d), _full),
    Windowed("conv2d in groups", 2, _named(tf.nn.conv2d), _grouped),
    Windowed("conv3d", 3, _named(tf.nn.conv3d), _full),
    Windowed("convolution", 3, _named(tf.nn.convolution), _full),
    Windowed(
        "depthwise_conv2d", 2,
        lambda x, w, k, s, p, d, r: tf.nn.depthwise_conv2d(x, w,
            s if isinstance(s, int) else [1, 1, *s] if d == "NCHW" else _whole(s), p, d, r),
        _depthwise,
    ),
    Windowed(
        "separable_conv2d", 2,
        lambda x, w, k, s, p, d, r: tf.nn.separable_conv2d(x, w, tf.ones([1, 1, 4, 2], x.dtype),
            [1, 1, *s] if d == "NCHW" else _whole(s), p, d, r),
        _depthwise,
    ),
    Windowed("atrous_conv2d", 2, lambda x, w, k, s, p, d, r: tf.nn.atrous_conv2d(x, w, r[0], p),
        _full, first=False, strides=False),
    *[
        Windowed(f"{kind}_pool{n}d", n, _pooled(getattr(tf.nn, f"{kind}_pool{n}d")),
            dilations=False)
        for kind in ("max", "avg") for n in (1, 2, 3)
    ],
    *[
        Windowed(f"pool {kind}", 2,
            lambda x, w, k, s, p, d, r, kind=kind:
                tf.nn.pool(x, k, kind, s, p, data_format=d, dilations=r), explicit=False)
        for kind in ("MAX", "AVG")
    ],
    Windowed("max_pool_with_argmax", 2,
        lambda x, w, k, s, p, d, r: tf.nn.max_pool_with_argmax(x, k, s, p)[0], first=False,
        dilations=False),
    *[
        Windowed(
            name, 2, lambda x, w, k, s, p, d, r, f=f: f(x, w, _whole(s), p, d, _whole(r)),
            _of_channels, first=False, explicit=False,
        )
        for name, f in (("dilation2d", tf.nn.dilation2d), ("erosion2d", tf.nn.erosion2d))
    ],
    Windowed(
        "extract_patches", 2,
        lambda x, w, k, s, p, d, r: tf.image.extract_patches(x, _whole(k), _whole(s), _whole(r), p),
        first=False, explicit=False,
    ),
    Windowed(
        "extract_volume_patches", 3,
        lambda x, w, k, s, p, d, r: tf.extract_volume_patches(x, _whole(k), _whole(s), p),
        first=False, dilations=False, explicit=False,
    ),
]  # fmt: skip


EVERYDAY = {"explicit", "one more than the input"}


def cases(*, first=(False, True), everyday=None):
    """Every function with every geometry that it takes; those outside `everyday`,
    if it is given, are slow.
    """
    for one in WINDOWED:
        for geometry in GEOMETRIES:
            n = one.spatial
            if set(geometry.strides[:n]) != {1} and not one.strides:
                continue
            if set(geometry.dilations[:n]) != {1} and (
                not one.dilations or (not one.strides and len(set(geometry.dilations[:n])) > 1)
            ):
                continue
            if not isinstance(geometry.padding, str) and not (
                one.explicit and (one.filters is not None or _is_narrow(geometry, n))
            ):
                continue
            for channels_first in first:
                if one.first or not channels_first:
                    layout = FIRST[n] if channels_first else LAST[n]
                    slow = everyday is not None and geometry.name not in everyday
                    marks = pytest.mark.slow if slow else ()
                    yield pytest.param(
                        one,
                        geometry,
                        channels_first,
                        id=f"{one.name} {layout} {geometry.name}",
                        marks=marks,
                    )


def _is_narrow(geometry, spatial):
    """Pools refuse padding that is as wide as the window."""
    return all(
        max(pair) < size
        for pair, size in zip(geometry.padding[:spatial], geometry.kernel[:spatial], strict=True)
    )


def made(one, geometry, channels_first, seed=0):
    """The function of its arrays, and the arrays: distinct numbers,
    so that no window has two maxima.
    """
    rng, n = np.random.default_rng(seed), one.spatial
    kernel, strides, dilations = (
        list(v[:n]) for v in (geometry.kernel, geometry.strides, geometry.dilations)
    )
    padding = geometry.padding
    if not isinstance(padding, str):
        inside = [list(pair) for pair in padding[:n]]
        padding = [[0, 0], [0, 0], *inside] if channels_first else [[0, 0], *inside, [0, 0]]
    shape = (2, *geometry.sizes[:n], one.channels)
    x = rng.permutation(np.linspace(-2.0, 2.0, int(np.prod(shape)))).reshape(shape)
    if channels_first:
        x = np.moveaxis(x, -1, 1)
    arrays = (
        [x]
        if one.filters is None
        else [x, rng.uniform(-1.0, 1.0, one.filters(kernel, one.channels))]
    )
    layout = (FIRST if channels_first else LAST)[n]

    def function(x, w=None):
        return one.call(x, w, kernel, strides, padding, layout, dilations)

    return function, arrays


def expected_shape(one, geometry):
    """The spatial part of the result."""
    found = []
    for axis in range(one.spatial):
        size, stride = geometry.sizes[axis], geometry.strides[axis]
        reach = (geometry.kernel[axis] - 1) * geometry.dilations[axis] + 1
        if geometry.padding == "SAME":
            found.append(-(-size // stride))
        else:
            size += 0 if geometry.padding == "VALID" else sum(geometry.padding[axis])
            found.append(max(0, (size - reach) // stride + 1))
    return found


def with_gradients(function):
    """The result, and the gradients of a sum that every element of it changes in a way of its
    own.
    """

    def step(*arrays):
        with tf.GradientTape() as tape:
            tape.watch(arrays)
            y = function(*arrays)
            weights = tf.cast(tf.reshape(tf.range(1, tf.size(y) + 1), tf.shape(y)), y.dtype)
            total = tf.reduce_sum(tf.sin(y) * weights)
        return [y, *tape.gradient(total, arrays)]

    return step


@pytest.mark.parametrize(("one", "geometry", "channels_first"), list(cases()))
def test_shapes_and_gradients(one, geometry, channels_first):
    function, arrays = made(one, geometry, channels_first)
    y, *gradients = with_gradients(function)(*map(tf.constant, arrays))
    spatial = y.shape.as_list()[2:] if channels_first else y.shape.as_list()[1:-1]
    assert spatial == expected_shape(one, geometry)
    if 0 in spatial:
        for gradient, array in zip(gradients, arrays, strict=True):
            assert gradient.numpy().tolist() == np.zeros_like(array).tolist()
    checks.check_gradient(function, arrays, range(len(arrays)))
    checks.check_adjoint(function, arrays, range(len(arrays)))
    checks.check_layouts(function, arrays, range(len(arrays)))


@pytest.mark.parametrize(("one", "geometry", "channels_first"), list(cases(first=(True,))))
def test_channels_first_equals_channels_last(one, geometry, channels_first):
    function, arrays = made(one, geometry, channels_first=True)
    other, others = made(one, geometry, channels_first=False)
    y, gradient, *rest = (
        t.numpy()
        for t in with_gradients(lambda x, *w: np.moveaxis(function(x, *w), 1, -1))(
            *map(tf.constant, arrays)
        )
    )
    wanted, by_input, *by_filters = (
        t.numpy() for t in with_gradients(other)(*map(tf.constant, others))
    )
    np.testing.assert_allclose(y, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.moveaxis(gradient, 1, -1), by_input, rtol=1e-12, atol=1e-12)
    for found, right in zip(rest, by_filters, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("one", "geometry", "channels_first"), list(cases(everyday=EVERYDAY)))
def test_compiled_equals_eager(one, geometry, channels_first):
    function, arrays = made(one, geometry, channels_first)
    step, tensors = with_gradients(function), [tf.constant(a) for a in arrays]
    for found, right in zip(tf.function(step)(*tensors), step(*tensors), strict=True):
        assert found.shape == right.shape
        np.testing.assert_allclose(found.numpy(), right.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("one", "geometry", "channels_first"), list(cases(everyday=EVERYDAY)))
def test_vectorized_equals_a_loop(one, geometry, channels_first):
    function, _ = made(one, geometry, channels_first)
    examples = [made(one, geometry, channels_first, seed)[1] for seed in range(3)]
    checks.check_batching(function, examples)
    checks.check_batched_gradient(function, examples, range(len(examples[0])))
