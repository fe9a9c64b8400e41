"""Rows of tf.image.

TensorFlow computes most of these in float32 whatever it is given: there, float64 is not compared.
"""

from table import SINGLE, at, distinct, fixed, ints, real, row, rows_of, still

IMAGE = real(5, 6, 3, low=0.0, high=1.0)
IMAGES = real(2, 6, 5, 3, low=0.0, high=1.0)
LARGE = real(2, 16, 16, 1, low=0.0, high=1.0)
BOXES = fixed([[0.1, 0.2, 0.8, 0.7], [0.0, 0.0, 1.2, 1.1], [0.9, 0.1, 0.2, 0.6]], "float32")


def cropped(tf, x):
    """A random crop is somewhere in the image."""
    crop = tf.image.random_crop(x, [3, 2, 3], seed=1)
    return [
        tf.shape(crop),
        any(
            bool(tf.reduce_all(x[i : i + 3, j : j + 2] == crop)) for i in range(3) for j in range(5)
        ),
    ]


def multiscale(tf, x, y):
    return tf.image.ssim_multiscale(x, y, 1.0, power_factors=(0.5, 0.5), filter_size=4)


ROWS = [
    *rows_of("tf.image.flip_left_right tf.image.flip_up_down tf.image.transpose tf.image.rot90",
        IMAGES),
    row("tf.image.rgb_to_grayscale", IMAGES, dtypes=SINGLE),
    *rows_of("tf.image.flip_left_right tf.image.flip_up_down tf.image.transpose", IMAGE,
        note="one"),
    row("tf.image.rot90", IMAGE, note="one", k=3),
    row("tf.image.grayscale_to_rgb", real(2, 4, 5, 1)),
    row("tf.image.adjust_brightness", IMAGES, 0.3, dtypes=SINGLE),
    row("tf.image.adjust_brightness", ints(4, 5, 3, low=0, high=255, dtype="uint8"), 0.3,
        note="uint8"),
    row("tf.image.adjust_contrast", IMAGES, 1.7, dtypes=SINGLE),
    row("tf.image.adjust_contrast", ints(4, 5, 3, low=0, high=255, dtype="uint8"), 1.7,
        note="uint8"),
    row("tf.image.central_crop", real(2, 8, 6, 3), 0.5),
    row("tf.image.convert_image_dtype", ints(4, 5, 3, low=0, high=255, dtype="uint8"), "float32"),
    row("tf.image.convert_image_dtype", still(4, 5, 3, low=0.0, high=1.0), "uint8", note="uint8",
        saturate=True),
    row("tf.image.crop_and_resize", IMAGES,
        at([[0.13, 0.22, 0.81, 0.73], [0.02, 0.06, 1.17, 1.13], [0.93, 0.11, 0.23, 0.61]]),
        fixed([0, 1, 1]), [3, 4], dtypes=SINGLE),
    row("tf.image.crop_and_resize", IMAGES, BOXES, fixed([0, 1, 1]), [3, 4], note="nearest",
        method="nearest", dtypes=SINGLE),
    row("tf.image.crop_to_bounding_box", IMAGES, 1, 2, 3, 2),
    row("tf.image.pad_to_bounding_box", IMAGES, 1, 2, 9, 8),
    row("tf.image.extract_patches", IMAGES, [1, 3, 2, 1], [1, 2, 1, 1], [1, 1, 1, 1], "SAME"),
    row("tf.image.extract_patches", IMAGES, [1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1], "VALID",
        note="rates"),
    row("tf.image.image_gradients", IMAGES),
    row("tf.image.per_image_standardization", IMAGES, dtypes=SINGLE),
    row("tf.image.psnr", IMAGES, real(2, 6, 5, 3, low=0.0, high=1.0), 1.0, dtypes=SINGLE),
    row("tf.image.random_crop", still(5, 6, 3), call=cropped),
    *[row("tf.image.resize", IMAGES, [4, 9], method=method, note=method,
        dtypes=SINGLE) for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3",
        "lanczos5", "gaussian", "mitchellcubic")],
    row("tf.image.resize", IMAGES, [3, 3], note="antialias", antialias=True, dtypes=SINGLE),
    row("tf.image.resize", IMAGE, [9, 9], note="ratio", preserve_aspect_ratio=True, dtypes=SINGLE),
    row("tf.image.resize", ints(4, 5, 3, low=0, high=255, dtype="uint8"), [8, 8], note="uint8",
        dtypes=SINGLE),
    row("tf.image.resize_with_crop_or_pad", IMAGES, 4, 8),
    row("tf.image.resize_with_pad", IMAGES, 8, 12, dtypes=SINGLE),
    row("tf.image.sobel_edges", IMAGES, dtypes=SINGLE),
    row("tf.image.ssim", LARGE, real(2, 16, 16, 1, low=0.0, high=1.0), 1.0, dtypes=SINGLE),
    row("tf.image.ssim_multiscale", real(1, 24, 24, 1, low=0.3, high=1.0), real(1, 24, 24, 1),
        call=lambda tf, x, y: multiscale(tf, x, x + 0.1 * y), dtypes=SINGLE),
    row("tf.image.total_variation", distinct(2, 6, 5, 3, step=0.01)),
]  # fmt: skip
