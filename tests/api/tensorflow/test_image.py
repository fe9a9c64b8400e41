"""`tf.image`: values that TensorFlow gives, derivatives of every order, and errors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gradtape as tf
from gradtape import image
from gradtape.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from tests.ops import checks

ROW = np.array([1.0, 2.0, 4.0, 8.0, 3.0], np.float32).reshape(1, 1, 5, 1)
RESIZED = {
    ("bilinear", False): ([1.33333, 4, 4.66667], [1, 1.57143, 2.57143, 4, 6.85714, 5.85714, 3]),
    ("bilinear", True): (
        [1.42857, 4.44444, 5.14286],
        [1, 1.57143, 2.57143, 4, 6.85714, 5.85714, 3],
    ),
    ("nearest", False): ([1, 4, 3], [1, 2, 2, 4, 8, 8, 3]),
    ("nearest", True): ([1, 4, 3], [1, 2, 2, 4, 8, 8, 3]),
    ("bicubic", False): (
        [1.20664, 4, 4.51527],
        [0.94184, 1.42644, 2.44091, 4, 7.45319, 6.06279, 2.7092],
    ),
    ("bicubic", True): (
        [1.23077, 4.64186, 5.26154],
        [0.94175, 1.42659, 2.44023, 4, 7.45481, 6.06371, 2.70874],
    ),
    ("lanczos3", False): (
        [1.17054, 4, 4.61894],
        [0.97014, 1.42361, 2.32138, 4, 7.83427, 6.03904, 2.49809],
    ),
    ("lanczos3", True): (
        [1.00229, 4.82904, 5.36392],
        [0.97014, 1.42361, 2.32138, 4, 7.83427, 6.03904, 2.49809],
    ),
    ("lanczos5", False): (
        [1.33147, 4, 4.65472],
        [0.8864, 1.59952, 2.19492, 4, 7.85256, 6.05012, 2.43705],
    ),
    ("lanczos5", True): (
        [0.84678, 4.91149, 5.38876],
        [0.8864, 1.59952, 2.19492, 4, 7.85256, 6.05012, 2.43705],
    ),
    ("area", False): ([1.4, 4.4, 5], [1, 1.6, 2.4, 4, 7.2, 6, 3]),
    ("area", True): ([1.4, 4.4, 5], [1, 1.6, 2.4, 4, 7.2, 6, 3]),
    ("gaussian", False): (
        [1.33924, 4.21301, 4.69622],
        [1.071, 1.60428, 2.54894, 4.21301, 6.69626, 5.82928, 3.355],
    ),
    ("gaussian", True): (
        [1.6344, 4.35908, 5.11032],
        [1.071, 1.60428, 2.54894, 4.21301, 6.69626, 5.82928, 3.355],
    ),
    ("mitchellcubic", False): (
        [1.26893, 4.11111, 4.6514],
        [1, 1.48955, 2.5068, 4.11111, 7.07596, 5.94059, 3],
    ),
    ("mitchellcubic", True): (
        [1.41045, 4.52794, 5.21761],
        [1, 1.48955, 2.5068, 4.11111, 7.07596, 5.94059, 3],
    ),
}


def random(*shape, low=0.0, high=1.0, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def check_derivatives(function, args, wanted):
    checks.check_gradient(function, args, wanted)
    checks.check_jvp(function, args, wanted)
    for outer, inner in product(["reverse", "forward"], repeat=2):
        checks.check_second_order(function, args, wanted, outer=outer, inner_mode=inner)


# Sizes


@pytest.mark.parametrize(("method", "antialias"), RESIZED)
def test_resize_along_rows_and_columns(method, antialias):
    for expected in RESIZED[method, antialias]:
        wide = image.resize(ROW, [1, len(expected)], method=method, antialias=antialias)
        high = image.resize(
            ROW.transpose(0, 2, 1, 3), [len(expected), 1], method=method, antialias=antialias
        )
        np.testing.assert_allclose(wide.numpy().ravel(), expected, atol=2e-5)
        np.testing.assert_allclose(high.numpy().ravel(), expected, atol=2e-5)


# Sizes whose quotients single precision rounds across an integer, with the rows and columns that
# TensorFlow fills.
FILLED = [
    ((28, 32), (15, 14), (1, 13), (0, 13)),
    ((31, 47), (15, 29), (0, 15), (3, 25)),
    ((36, 32), (30, 29), (0, 29), (1, 27)),
    ((36, 7), (25, 24), (0, 24), (9, 13)),
    ((56, 28), (52, 43), (0, 51), (8, 33)),
]


@pytest.mark.parametrize(("size", "target", "rows", "columns"), FILLED)
@pytest.mark.parametrize("method", ["bilinear", "nearest", "area"])
def test_resize_with_pad_rounds_as_tensorflow(size, target, rows, columns, method):
    filled = image.resize_with_pad(
        np.ones((2, *size, 1), np.float32), *target, method=method
    ).numpy()
    expected = np.zeros((2, *target, 1))
    expected[:, slice(*rows), slice(*columns)] = 1.0
    np.testing.assert_allclose(filled, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("size", "wanted", "at", "taken"), [(24, 44, 27, 15), (48, 37, 18, 23), (2, 55, 27, 0)]
)
def test_the_nearest_of_two_that_are_equally_near_is_tensorflows(size, wanted, at, taken):
    numbers = np.arange(size, dtype=np.float32).reshape(1, size, 1)
    assert image.resize(numbers, [1, wanted], method="nearest")[0, at, 0] == taken
    assert (
        image.resize(numbers.transpose(1, 0, 2), [wanted, 1], method="nearest")[at, 0, 0] == taken
    )


@pytest.mark.parametrize(
    ("size", "wanted", "at", "reached", "missed"), [(14, 31, 15, [8], [5]), (28, 46, 11, [5], [8])]
)
def test_the_gaussian_reaches_as_far_as_tensorflows(size, wanted, at, reached, missed):
    weights = np.array(
        [
            image.resize(one.reshape(1, size, 1), [1, wanted], method="gaussian")[0, at, 0]
            for one in np.eye(size, dtype="f")
        ]
    )
    np.testing.assert_allclose(weights[reached], 0.009074741, rtol=1e-4)
    assert not weights[missed].any()


def test_an_image_that_would_have_no_pixels_is_refused():
    for function in (
        lambda x: image.resize(x, [17, 1], preserve_aspect_ratio=True, method="nearest"),
        lambda x: image.resize_with_pad(x, 1, 1),
    ):
        with pytest.raises(InvalidArgumentError, match="cannot be resized"):
            function(np.ones((14, 42, 1), np.float32))


@pytest.mark.parametrize(("method", "antialias"), RESIZED)
@pytest.mark.parametrize("size", [(2, 3), (9, 8), (4, 5), (1, 1)])
def test_resize_is_linear_in_both_modes_and_every_order(method, antialias, size):
    x, tangent = random(2, 4, 5, 2, dtype=np.float32), random(2, 4, 5, 2, seed=1, dtype=np.float32)

    def resized(value):
        return image.resize(value, size, method=method, antialias=antialias)

    expected = resized(tangent).numpy()
    (pushed,) = checks.pushed(resized, [tf.constant(x)], [0], [tf.constant(tangent)])
    np.testing.assert_allclose(pushed.numpy(), expected, atol=1e-5)
    cotangent = random(*expected.shape, seed=2, dtype=np.float32)
    (pulled,) = checks.pulled(resized, [tf.constant(x)], [0], [tf.constant(cotangent)])
    np.testing.assert_allclose(
        (pulled.numpy() * tangent).sum(), (cotangent * expected).sum(), rtol=1e-4, atol=1e-4
    )
    u = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(u)
        with tf.GradientTape() as inner:
            inner.watch(u)
            loss = tf.reduce_sum(resized(u) ** 3)
        first = inner.gradient(loss, u)
    second = outer.gradient(first, u, output_gradients=tf.constant(tangent))
    (wanted,) = checks.pulled(resized, [u], [0], [tf.constant(6 * resized(x).numpy() * expected)])
    np.testing.assert_allclose(second.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-4)


def test_resize_shapes_and_dtypes():
    assert image.resize(np.zeros((3, 4, 1), np.uint8), [3, 4]).dtype == tf.float32
    assert image.resize(np.zeros((3, 4, 1), np.uint8), [2, 2], method="nearest").dtype == tf.uint8
    assert image.resize(
        np.zeros((1, 10, 7, 1), np.float32), [5, 5], preserve_aspect_ratio=True
    ).shape == [1, 5, 4, 1]
    assert image.resize(np.zeros((0, 3, 7, 1), np.float32), [5, 5]).shape == [0, 5, 5, 1]
    for wrong in ({"size": [2]}, {"size": [2.0, 2.0]}, {"size": [2, 2], "method": "best"}):
        with pytest.raises(ValueError, match="resize"):
            image.resize(ROW, **wrong)
    with pytest.raises(ValueError, match="height, width, channels"):
        image.resize(np.zeros((2, 2), np.float32), [2, 2])
    with pytest.raises(InvalidArgumentError, match="resize"):
        image.resize(ROW, [0, 2])


def test_a_pixel_that_is_not_finite_stays_where_it_is():
    x = np.ones((1, 1, 8, 1), np.float32)
    x[0, 0, 0] = np.nan
    assert np.isnan(image.resize(x, [1, 16]).numpy().ravel()).tolist() == [True] * 3 + [False] * 13
    cotangent = np.ones((1, 1, 4, 1), np.float32)
    cotangent[0, 0, 0] = np.inf
    (pulled,) = checks.pulled(
        lambda v: image.resize(v, [1, 4]), [tf.constant(x)], [0], [tf.constant(cotangent)]
    )
    assert np.isfinite(pulled.numpy().ravel()).tolist() == [False] * 2 + [True] * 6


def test_resize_under_vmap():
    x = random(3, 4, 5, 1, dtype=np.float32)
    mapped = tf.vmap(lambda one: image.resize(one, [2, 7]))(tf.constant(x))
    np.testing.assert_allclose(mapped.numpy(), image.resize(x, [2, 7]).numpy(), rtol=1e-6)


def test_resize_with_pad_and_with_crop_or_pad():
    padded = image.resize_with_pad(np.ones((1, 4, 2, 1), np.float32), 4, 4).numpy()[0, :, :, 0]
    assert padded.tolist() == [[0, 1, 1, 0]] * 4
    x = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
    assert image.resize_with_crop_or_pad(x, 5, 2).numpy()[:, :, 0].tolist() == [
        [0, 0],
        [1, 2],
        [5, 6],
        [9, 10],
        [0, 0],
    ]


BOXES = np.array(
    [
        [0.02, 0.03, 0.96, 0.91],
        [0.11, 0.23, 0.73, 0.81],
        [0.92, 0.11, 0.23, 0.52],
        [-0.31, 0.13, 1.23, 0.93],
    ]
)  # between pixels


@pytest.mark.parametrize("size", [[3, 4], [1, 1]])
def test_crop_and_resize_has_derivatives_by_images_and_boxes(size):
    check_derivatives(
        lambda x, b: image.crop_and_resize(x, b, [0, 1, 1, 0], size),
        [random(2, 6, 5, 2), BOXES],
        [0, 1],
    )


def test_crop_and_resize():
    x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    box = np.array([[0.0, 0.5, 1.0, 1.5]], np.float32)
    found = image.crop_and_resize(x, box, [0], [3, 3], extrapolation_value=-1.0).numpy()[0, :, :, 0]
    assert found.tolist() == [[1, 2, -1], [4, 5, -1], [7, 8, -1]]
    nearest = image.crop_and_resize(
        x, [[0.0, 0.0, 1.0, 1.0]], [0], [2, 5], method="nearest"
    ).numpy()[0, :, :, 0]
    assert nearest.tolist() == [[0, 1, 1, 2, 2], [6, 7, 7, 8, 8]]
    with pytest.raises(OutOfRangeError, match="box_indices"):
        image.crop_and_resize(x, box, [1], [3, 3])
    with pytest.raises(InvalidArgumentError, match="boxes"):
        image.crop_and_resize(x, box, [0, 0], [3, 3])


# Places


@pytest.mark.parametrize(
    "function",
    [
        lambda x: image.crop_to_bounding_box(x, 1, 0, 2, 3),
        lambda x: image.pad_to_bounding_box(x, 1, 0, 6, 5),
        lambda x: image.central_crop(x, 0.5),
        image.flip_left_right,
        image.flip_up_down,
        image.transpose,
        image.rot90,
        lambda x: image.rot90(x, 2),
        lambda x: image.rot90(x, -1),
        lambda x: (
            image.extract_glimpse(x, [2, 2], np.full((x.shape[0], 2), 0.3), noise="zero")
            if x.shape.rank == 4
            else x * 1.0
        ),
        lambda x: image.stateless_random_crop(x, [*x.shape[:-3], 2, 2, 1], [1, 2]),
        lambda x: image.stateless_random_flip_left_right(x, [1, 2]),
        lambda x: image.stateless_random_flip_up_down(x, [3, 2]),
    ],
)
@pytest.mark.parametrize("shape", [(4, 3, 2), (2, 4, 3, 2)])
def test_moves_have_derivatives(function, shape):
    checks.check_gradient(function, [random(*shape)], [0])
    checks.check_jvp(function, [random(*shape)], [0])


def test_rot90_turns_against_the_clock():
    x = np.arange(6).reshape(2, 3, 1)
    for k in range(-1, 5):
        assert np.array_equal(image.rot90(x, k).numpy(), np.rot90(x, k))


def test_central_crop_of_odd_and_even_sizes():
    sizes = [
        image.central_crop(np.zeros((n, n, 1)), f).shape[0]
        for n in (5, 6, 100)
        for f in (0.1, 0.33, 0.5, 0.87, 0.99)
    ]
    assert sizes == [1, 3, 3, 5, 5, 2, 2, 4, 6, 6, 10, 34, 50, 88, 100]


@pytest.mark.parametrize(
    ("padding", "rates", "strides"), [("VALID", 1, 1), ("SAME", 1, 2), ("SAME", 2, 1)]
)
def test_extract_patches(padding, rates, strides):
    def patches(x):
        return image.extract_patches(
            x, [1, 2, 3, 1], [1, strides, strides, 1], [1, rates, rates, 1], padding
        )

    x = random(2, 5, 6, 2)
    identity = np.eye(12).reshape(2, 3, 2, 12)
    expected = tf.nn.conv2d(x, identity, strides, padding, dilations=rates)
    np.testing.assert_allclose(patches(tf.constant(x)).numpy(), expected.numpy())
    checks.check_gradient(patches, [x], [0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: image.crop_to_bounding_box(x, 0, 0, 9, 2),
        lambda x: image.crop_to_bounding_box(x, -1, 0, 2, 2),
        lambda x: image.crop_to_bounding_box(x, 0, 0, 0, 2),
        lambda x: image.pad_to_bounding_box(x, 0, 0, 1, 2),
        lambda x: image.pad_to_bounding_box(x[0], 0, 0, 9, 9),
        lambda x: image.central_crop(x, 0.0),
        lambda x: image.flip_left_right(x[0]),
        lambda x: image.resize_with_pad(x, 0, 3),
        lambda x: image.random_brightness(x, -1.0),
        lambda x: image.random_contrast(x, 2.0, 1.0),
        lambda x: image.random_hue(x, 0.7),
        lambda x: image.adjust_gamma(x, -1.0),
        lambda x: image.adjust_hue(x, 2.0),
        lambda x: image.per_image_standardization(x[0]),
        lambda x: image.grayscale_to_rgb(x),
    ],
)
def test_value_errors(call):
    with pytest.raises(ValueError, match=r"must be|is not inside|must have|must not"):
        call(np.zeros((4, 4, 3), np.float32))


# Colours

INTEGERS = np.array([[[200, 100, 50], [10, 250, 128]]], np.uint8)
FLOATS = np.array([[[0.8, 0.4, 0.2], [0.1, 0.9, 0.5]]], np.float32)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: image.adjust_brightness(x, 0.2), [251, 151, 101, 61, 255, 179]),
        (lambda x: image.adjust_contrast(x, 0.5), [152, 137, 69, 57, 212, 108]),
        (lambda x: image.adjust_gamma(x, 2.0), [157, 39, 9, 0, 245, 64]),
        (lambda x: image.adjust_hue(x, 0.25), [75, 200, 50, 10, 12, 250]),
        (lambda x: image.adjust_saturation(x, 0.5), [200, 150, 125, 130, 250, 189]),
        (image.rgb_to_grayscale, [124, 164]),
        (
            lambda x: image.convert_image_dtype(x, tf.int16),
            [25600, 12800, 6400, 1280, 32000, 16384],
        ),
        (lambda x: image.convert_image_dtype(x, tf.int8), [100, 50, 25, 5, 125, 64]),
    ],
)
def test_integers(function, expected):
    assert function(tf.constant(INTEGERS)).numpy().ravel().tolist() == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (image.rgb_to_hsv, [0.055556, 0.75, 0.8, 0.416667, 0.888889, 0.9]),
        (image.hsv_to_rgb, [0.184, 0.12, 0.2, 0.5, 0.32, 0.05]),
        (image.rgb_to_yuv, [0.4968, -0.146059, 0.265992, 0.6152, -0.056691, -0.451976]),
        (image.yuv_to_rgb, [1.027977, 0.526019, 1.612825, 0.669942, -0.545489, 1.928856]),
        (image.rgb_to_yiq, [0.4968, 0.302629, 0.022345, 0.6152, -0.348183, -0.293713]),
        (image.yiq_to_rgb, [1.306559, 0.561754, 0.69815, 1.2708, -0.468414, -0.043951]),
        (
            image.per_image_standardization,
            [0.775672, -0.204124, -0.694022, -0.938971, 1.020621, 0.040825],
        ),
    ],
)
def test_floats(function, expected):
    np.testing.assert_allclose(function(FLOATS).numpy().ravel(), expected, atol=2e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: image.adjust_brightness(x, 0.2),
        lambda x: image.adjust_contrast(x, 1.5),
        lambda x: image.adjust_gamma(x, 1.7, 0.9),
        lambda x: image.adjust_hue(x, 0.2),
        lambda x: image.adjust_saturation(x, 0.7),
        image.rgb_to_hsv,
        image.hsv_to_rgb,
        image.rgb_to_grayscale,
        image.rgb_to_yuv,
        lambda x: image.grayscale_to_rgb(x[..., :1]),
        lambda x: image.image_gradients(x),
        image.sobel_edges,
        image.total_variation,
    ],
)
def test_colours_have_derivatives(function):
    check_derivatives(function, [random(1, 3, 4, 3, low=0.1, high=0.9)], [0])


def test_factors_have_derivatives():
    check_derivatives(
        lambda x, c: image.adjust_contrast(x, c), [random(1, 3, 4, 3), np.array(1.5)], [0, 1]
    )
    check_derivatives(
        lambda x, d: image.adjust_hue(x, d), [random(1, 3, 4, 3), np.array(0.21)], [0, 1]
    )


def test_gray_pixels_have_finite_gradients():
    x = tf.constant([[[0.5, 0.5, 0.5], [0.0, 0.0, 0.0]]])
    for function in (
        image.rgb_to_hsv,
        lambda v: image.adjust_hue(v, 0.1),
        lambda v: image.adjust_saturation(v, 2.0),
    ):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert np.isfinite(tape.gradient(y, x).numpy()).all()


def test_convert_image_dtype_saturates():
    assert image.convert_image_dtype([1.5, -0.5], tf.uint8, saturate=True).numpy().tolist() == [
        255,
        0,
    ]
    assert image.convert_image_dtype([1.5, -1.5], tf.int32, saturate=True).numpy()[1] == -(2**31)
    assert (
        image.convert_image_dtype(tf.constant([300, -5], tf.int16), tf.uint8, saturate=True).dtype
        == tf.uint8
    )


def test_images_without_three_channels():
    with pytest.raises(FailedPreconditionError, match="3 channels"):
        image.rgb_to_hsv([1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match="3 channels"):
        image.adjust_hue(np.zeros((2, 2, 2), np.float32), 0.1)


# How alike two images are

FIRST = ((np.arange(24 * 24 * 2).reshape(1, 24, 24, 2) * 37 % 101) / 101).astype(np.float32)
SECOND = (FIRST[:, :, ::-1] + FIRST) / 2


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a, b: image.ssim(a, b, 1.0), 0.66239357),
        (
            lambda a, b: image.ssim_multiscale(a, b, 1.0, power_factors=(0.4, 0.6), filter_size=7),
            0.7275087,
        ),
        (lambda a, b: image.psnr(a, b, 1.0), 13.96665),
    ],
)
def test_similarity(function, expected):
    found = function(FIRST, SECOND)
    np.testing.assert_allclose(found.numpy(), [expected], rtol=1e-5)
    tensors = [tf.constant(FIRST), tf.constant(SECOND)]
    tangents = [tf.constant(random(1, 24, 24, 2, seed=i, dtype=np.float32)) for i in range(2)]
    pulled = checks.pulled(function, tensors, [0, 1], [tf.ones([1])])
    (pushed,) = checks.pushed(function, tensors, [0, 1], tangents)
    total = sum(float((p.numpy() * t.numpy()).sum()) for p, t in zip(pulled, tangents, strict=True))
    np.testing.assert_allclose(total, pushed.numpy().item(), rtol=1e-3)


def test_similarity_of_images_that_do_not_fit():
    with pytest.raises(InvalidArgumentError, match="psnr"):
        image.psnr(FIRST, FIRST[:, :3], 1.0)
    with pytest.raises(InvalidArgumentError, match="smaller than the filter"):
        image.ssim(FIRST[:, :5], FIRST[:, :5], 1.0)


def test_variation_and_edges():
    np.testing.assert_allclose(image.total_variation(FIRST).numpy(), [969.3861], rtol=1e-6)
    np.testing.assert_allclose(np.sum(image.sobel_edges(FIRST).numpy() ** 2), 974.72546, rtol=1e-5)


# Chance


@pytest.mark.parametrize(
    "function",
    [
        lambda x, seed: image.random_brightness(x, 0.3, seed=seed),
        lambda x, seed: image.random_contrast(x, 0.3, 1.5, seed=seed),
        lambda x, seed: image.random_hue(x, 0.3, seed=seed),
        lambda x, seed: image.random_saturation(x, 0.3, 1.5, seed=seed),
        lambda x, seed: image.random_crop(x, [2, 2, 3], seed=seed),
        lambda x, seed: image.random_flip_left_right(x, seed=seed),
        lambda x, seed: image.random_flip_up_down(x, seed=seed),
    ],
)
def test_a_seed_makes_chance_reproducible(function):
    x = tf.constant(random(8, 8, 3, dtype=np.float32))

    def results():
        tf.random.set_seed(1)
        return [function(x, 5).numpy() for _ in range(12)]

    first, second = results(), results()
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not all(np.array_equal(a, first[0]) for a in first)


def test_each_image_of_a_batch_is_flipped_on_its_own():
    x = np.broadcast_to(np.array([0.0, 1.0], np.float32).reshape(1, 1, 2, 1), (64, 1, 2, 1))
    flipped = image.stateless_random_flip_left_right(x, [1, 2]).numpy()[:, 0, 0, 0]
    assert 10 < flipped.sum() < 54


def test_random_crop_stays_inside():
    x = np.arange(5)
    starts = {int(image.random_crop(x, [3]).numpy()[0]) for _ in range(100)}
    assert starts == {0, 1, 2}
    with pytest.raises(InvalidArgumentError, match="size"):
        image.random_crop(x, [6])


# Boxes


def test_non_max_suppression():
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [1, 1, 0, 0], [0, 5, 1, 6]], np.float32)
    scores = np.array([0.9, 0.75, 0.6, 0.95], np.float32)
    assert image.non_max_suppression(boxes, scores, 3).numpy().tolist() == [3, 0]
    assert image.non_max_suppression(boxes, scores, 1).numpy().tolist() == [3]
    assert image.non_max_suppression(boxes, scores, 3, iou_threshold=1.0).numpy().tolist() == [
        3,
        0,
        1,
    ]
    assert image.non_max_suppression(boxes, scores, 3, score_threshold=0.92).numpy().tolist() == [3]
    kept, marks = image.non_max_suppression_with_scores(boxes, scores, 4, soft_nms_sigma=0.5)
    assert kept.numpy().tolist()[:2] == [3, 0]
    assert (np.diff(marks.numpy()) <= 0).all()
    with pytest.raises(InvalidArgumentError, match="scores"):
        image.non_max_suppression(boxes, scores[:2], 3)


def test_draw_bounding_boxes_cuts_boxes_off_at_the_border():
    drawn = image.draw_bounding_boxes(
        np.zeros((1, 4, 4, 1), np.float32), [[[-0.5, 0.4, 0.7, 1.8]]], None
    ).numpy()[0, :, :, 0]
    assert drawn.tolist() == [[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]]


def test_extract_glimpse_outside_the_image():
    x = np.arange(1, 31, dtype=np.float32).reshape(1, 5, 6, 1)
    seen = image.extract_glimpse(x, [2, 3], [[1.0, 1.0]], noise="zero").numpy()[0, :, :, 0]
    assert seen.tolist() == [[29, 30, 0], [0, 0, 0]]
    for noise in ("uniform", "gaussian"):
        assert np.isfinite(
            image.extract_glimpse(x, [2, 3], [[1.0, 1.0]], noise=noise).numpy()
        ).all()
