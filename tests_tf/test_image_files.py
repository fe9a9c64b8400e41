"""Image files: PNG, GIF and BMP pixel by pixel as TensorFlow reads them, JPEG to what its quicker
transform rounds off, and files that one writes read by the other.
"""

from __future__ import annotations

import io

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given
from PIL import Image

import gradtape

LIBRARIES = [gradtape, tensorflow]
RNG = np.random.default_rng(0)


def outcome(tf, call):
    """The pixels, or the kind of the error."""
    try:
        found = call(tf).numpy()
    except (tf.errors.OpError, ValueError, TypeError) as error:
        return type(error).__name__
    return found


def same(call, tolerance=0):
    ours, theirs = (outcome(tf, call) for tf in LIBRARIES)
    if isinstance(ours, str) or isinstance(theirs, str):
        assert isinstance(ours, str), theirs
        assert isinstance(theirs, str), ours
        assert ours == theirs
        return
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    # White is infinite in TensorFlow's float16.
    known = np.isfinite(theirs.astype(np.float64))
    difference = np.abs(ours[known].astype(np.float64) - theirs[known]).max(initial=0)
    assert difference <= tolerance
    assert np.isfinite(ours.astype(np.float64)).all()


def encoded(image, kind, **options):
    written = io.BytesIO()
    made = image if isinstance(image, Image.Image) else Image.fromarray(image)
    made.save(written, kind, **options)
    return written.getvalue()


def noise(*shape, dtype=np.uint8):
    return RNG.integers(0, np.iinfo(dtype).max + 1, shape, dtype=dtype)


def by_tensorflow(image):
    return tensorflow.io.encode_png(image).numpy()


RGB, RGBA = noise(13, 11, 3), noise(13, 11, 4)
PALETTE = Image.fromarray(RGB).quantize(256)
PNG = {
    "grey": encoded(RGB[..., 0], "PNG"),
    "grey and alpha": by_tensorflow(RGBA[..., :2]),
    "rgb": encoded(RGB, "PNG"),
    "rgba": encoded(RGBA, "PNG"),
    "grey 16": encoded(noise(13, 11, dtype=np.uint16), "PNG"),
    **{
        f"{channels} of 16": by_tensorflow(noise(13, 11, channels, dtype=np.uint16))
        for channels in (2, 3, 4)
    },
    "1 bit": encoded(RGB[..., 0] > 128, "PNG"),
    "palette": encoded(PALETTE, "PNG"),
    "palette of 16": encoded(Image.fromarray(RGB).quantize(16), "PNG"),
    "transparent palette": encoded(PALETTE, "PNG", transparency=3),
    "palette with alpha": encoded(PALETTE, "PNG", transparency=bytes(range(256))),
    "transparent colour": encoded(RGB, "PNG", transparency=tuple(map(int, RGB[0, 0]))),
    "transparent grey": encoded(RGB[..., 0], "PNG", transparency=int(RGB[0, 0, 0])),
    "grey colours": encoded(np.repeat(RGB[..., :1], 3, axis=2), "PNG"),
    "one pixel": encoded(RGB[:1, :1], "PNG"),
    "photo": encoded(np.add.outer(np.arange(64), np.arange(48)).astype(np.uint8), "PNG"),
    "with text": encoded(RGB, "PNG", dpi=(72, 72)),
}
# libpng puts the alpha of an image whose pixels have few bits in before it widens them, so that
# TensorFlow's is nearly transparent.
ALPHA_OF_FEW_BITS = ("1 bit", "palette of 16")


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("name", PNG)
def test_png(name, channels, dtype):
    if channels == 4 and name in ALPHA_OF_FEW_BITS:
        found = gradtape.io.decode_png(PNG[name], channels, dtype).numpy()
        assert (found[..., 3] == np.iinfo(dtype).max).all()
    else:
        same(lambda tf: tf.io.decode_png(PNG[name], channels, dtype))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32", "float64", "int32",
                                   "uint32", "int8"])  # fmt: skip
@pytest.mark.parametrize("name", PNG)
def test_png_as_any_dtype(name, dtype):
    rounded = 5e-4 if dtype == "float16" else 0  # twice in TensorFlow
    same(lambda tf: tf.io.decode_image(PNG[name], dtype=tf.as_dtype(dtype)), rounded)
    same(lambda tf: tf.image.decode_image(PNG[name], 3, tf.as_dtype(dtype)), rounded)


JPEG = {
    **{
        f"{name}, quality {quality}": encoded(image, "JPEG", quality=quality)
        for name, image in {"rgb": noise(33, 47, 3), "grey": noise(33, 47)}.items()
        for quality in (30, 95)
    },
    "smooth": encoded(np.add.outer(np.arange(120), np.arange(90)).astype(np.uint8), "JPEG"),
    "progressive": encoded(noise(20, 30, 3), "JPEG", progressive=True),
    "444": encoded(noise(20, 30, 3), "JPEG", subsampling=0),
    "422": encoded(noise(20, 30, 3), "JPEG", subsampling=1),
    "cmyk": encoded(Image.fromarray(noise(20, 30, 4), "CMYK"), "JPEG"),
    "one pixel": encoded(noise(1, 1, 3), "JPEG"),
}
ROUNDED_OFF = 12  # by INTEGER_FAST, TensorFlow's default, which Pillow's decoder does not offer


@pytest.mark.parametrize("ratio", [1, 2, 4, 8, 3])
@pytest.mark.parametrize("channels", [0, 1, 3, 4])
@pytest.mark.parametrize("name", JPEG)
def test_jpeg(name, channels, ratio):
    call = lambda tf, method: tf.io.decode_jpeg(JPEG[name], channels, ratio, dct_method=method)
    same(lambda tf: call(tf, "INTEGER_ACCURATE"))
    same(lambda tf: call(tf, ""), ROUNDED_OFF)


@pytest.mark.parametrize("name", JPEG)
def test_what_is_known_of_a_jpeg_file(name):
    same(lambda tf: tf.io.extract_jpeg_shape(JPEG[name]))
    same(lambda tf: tf.io.extract_jpeg_shape(JPEG[name], tf.int64))
    same(lambda tf: tf.io.is_jpeg(JPEG[name]))
    same(lambda tf: tf.io.is_jpeg([JPEG[name], PNG["rgb"], b"", b"\xff\xd8"]))
    for dtype in ("float32", "uint16", "float64"):
        step = {"float32": 1 / 255, "uint16": 257, "float64": 1 / 255}[dtype]
        same(
            lambda tf, dtype=dtype: tf.io.decode_image(JPEG[name], dtype=tf.as_dtype(dtype)),
            ROUNDED_OFF * step,
        )


@pytest.mark.parametrize("window", [[0, 0, 33, 47], [1, 2, 10, 20], [30, 2, 10, 20], [-1, 0, 2, 2],
                                    [0, 0, 0, 0], [1, 2, 3]])  # fmt: skip
def test_part_of_a_jpeg_file(window):
    """TensorFlow reads no further than to the right edge, and so has no neighbours there."""
    call = lambda tf: tf.io.decode_and_crop_jpeg(
        JPEG["rgb, quality 95"], window, dct_method="INTEGER_ACCURATE"
    )
    if isinstance(outcome(tensorflow, call), str):
        same(call)
    else:
        same(lambda tf: call(tf)[:, :-1])


def frames(count, **options):
    found = [Image.fromarray(noise(8, 9, 3)).quantize(16) for _ in range(count)]
    return encoded(found[0], "GIF", save_all=True, append_images=found[1:], **options)


GIF = {
    "one": frames(1),
    "three": frames(3),
    "drawn over": frames(3, disposal=1),
    "transparent": frames(1, transparency=2),
}


@pytest.mark.parametrize("name", GIF)
def test_gif(name):
    data = GIF[name]
    same(lambda tf: tf.io.decode_gif(data))
    same(lambda tf: tf.io.decode_png(data))
    same(lambda tf: tf.io.decode_jpeg(data))
    same(lambda tf: tf.io.decode_bmp(data))
    same(lambda tf: tf.io.decode_png(data, dtype=tf.uint16))
    for channels in (0, 1, 3, 4):
        same(lambda tf, channels=channels: tf.io.decode_image(data, channels))
    for dtype in ("uint16", "float32", "float64"):
        same(lambda tf, dtype=dtype: tf.io.decode_image(data, dtype=tf.as_dtype(dtype)))
        same(
            lambda tf, dtype=dtype: tf.io.decode_image(
                data, dtype=tf.as_dtype(dtype), expand_animations=False
            )
        )


BMP = {
    "rgb": encoded(RGB, "BMP"),
    "grey": encoded(RGB[..., 0], "BMP"),
    "rgba": encoded(RGBA, "BMP"),
}


@pytest.mark.parametrize("name", BMP)
def test_bmp(name):
    data = BMP[name]
    for channels in (0, 1, 2, 3, 4):
        same(lambda tf, channels=channels: tf.io.decode_bmp(data, channels))
        same(lambda tf, channels=channels: tf.io.decode_image(data, channels))
    for dtype in ("uint16", "float32", "float64"):
        same(lambda tf, dtype=dtype: tf.io.decode_image(data, dtype=tf.as_dtype(dtype)))
    for call in ("decode_png", "decode_jpeg", "decode_gif"):
        same(lambda tf, call=call: getattr(tf.io, call)(data))


def test_a_palette_of_bmp_is_followed():
    """TensorFlow gives the numbers in the palette as if they were grey."""
    image = Image.fromarray(RGB).quantize(16)
    found = gradtape.io.decode_bmp(encoded(image, "BMP")).numpy()
    np.testing.assert_array_equal(found, np.asarray(image.convert("RGB")))


@pytest.mark.parametrize("name", ["png", "jpeg", "gif", "bmp"])
@pytest.mark.parametrize("function", ["decode_png", "decode_jpeg", "decode_gif", "decode_bmp"])
def test_any_function_with_any_file(name, function):
    data = {"png": PNG["rgba"], "jpeg": JPEG["444"], "gif": GIF["one"], "bmp": BMP["rgb"]}[name]
    same(lambda tf: getattr(tf.io, function)(data), 12 if name == "jpeg" else 0)


BAD = [b"", b"text", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"BM", [b"a"], 3]


@pytest.mark.parametrize("data", BAD)
def test_no_images(data):
    for function in ("decode_png", "decode_jpeg", "decode_gif", "decode_bmp", "decode_image"):
        ours, theirs = (
            outcome(tf, lambda tf, f=function: getattr(tf.io, f)(data)) for tf in LIBRARIES
        )
        assert isinstance(ours, str)
        assert isinstance(theirs, str)
        assert (data == 3) or ours == theirs == "InvalidArgumentError"


@pytest.mark.parametrize("name", ["rgb", "palette", "1 bit", "3 of 16"])
def test_truncated_png_files(name):
    data = PNG[name]
    for length in range(1, len(data), max(1, len(data) // 60)):
        same(lambda tf, length=length: tf.io.decode_png(data[:length]))


def test_png_files_with_a_changed_byte():
    data = PNG["rgb"]
    for changed in range(8, len(data), 7):
        broken = bytearray(data)
        broken[changed] ^= 0x10
        same(lambda tf, broken=bytes(broken): tf.io.decode_png(broken))


def test_truncated_jpeg_files():
    """TensorFlow loops for ever where it is to recover a file that is cut off in its header, and
    leaves what is missing as it was.
    """
    data = JPEG["444"]
    for length in range(3, len(data) - 2, len(data) // 60):
        same(lambda tf, length=length: tf.io.decode_jpeg(data[:length]), 12)
        if length > 700:
            same(
                lambda tf, length=length: tf.io.decode_jpeg(
                    data[:length], try_recover_truncated=True, dct_method="INTEGER_ACCURATE"
                )[:1, :8]
            )


# Writing

SHAPES = [(5, 7, 1), (5, 7, 2), (5, 7, 3), (5, 7, 4), (1, 1, 3), (2, 5, 7, 3), (2, 3, 5, 7, 4),
          (40, 50, 3)]  # fmt: skip


@pytest.mark.parametrize("compression", [-1, 0, 9])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_png_files_are_read_by_both(shape, dtype, compression):
    image = noise(*shape, dtype=np.dtype(dtype))
    for tf in LIBRARIES:
        files = tf.io.encode_png(image, compression).numpy()
        assert np.shape(files) == shape[:-3]
        for place in np.ndindex(shape[:-3]):
            data = files[place] if place else files
            for reader in LIBRARIES:
                found = reader.io.decode_png(data, dtype=dtype).numpy()
                np.testing.assert_array_equal(found, image[place])


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 5), (5, 7, 0)])
def test_shapes_that_png_does_not_have(shape):
    same(lambda tf: tf.io.encode_png(np.zeros(shape, np.uint8)))
    same(lambda tf: tf.io.encode_jpeg(np.zeros(shape, np.uint8)))


@pytest.mark.parametrize("options", [
    {}, {"quality": 30}, {"quality": 100}, {"quality": 0}, {"quality": 101}, {"progressive": True},
    {"optimize_size": True}, {"chroma_downsampling": False}, {"density_unit": "cm"},
    {"density_unit": "m"}, {"x_density": 72, "y_density": 100}, {"format": "rgb"},
    {"format": "grayscale"}, {"format": "other"}, {"xmp_metadata": "<x/>"},
])  # fmt: skip
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_jpeg_files_are_the_same(channels, options):
    image = noise(21, 34, channels)
    ours, theirs = (outcome(tf, lambda tf: tf.io.encode_jpeg(image, **options)) for tf in LIBRARIES)
    if isinstance(ours, str) or isinstance(theirs, str):
        assert ours == theirs
        return
    pixels = [
        tensorflow.io.decode_jpeg(data, dct_method="INTEGER_ACCURATE").numpy().astype(int)
        for data in (ours, theirs)
    ]
    assert np.abs(pixels[0] - pixels[1]).max() == 0
    assert abs(len(ours) - len(theirs)) <= 0.02 * len(theirs)
