"""Image files: what is read, and what is wrong with those that are refused. tests_tf compares the
pixels with TensorFlow's.
"""

import io
import struct
import threading
import zlib

import numpy as np
import pytest
from PIL import Image

import gradtape as tf
from gradtape.io import images, png_files

RNG = np.random.default_rng(0)
RGB = RNG.integers(0, 256, (9, 7, 3), dtype=np.uint8)


def encoded(image, kind, **options):
    written = io.BytesIO()
    Image.fromarray(image).save(written, kind, **options)
    return written.getvalue()


def animation(count=3):
    frames = [
        Image.fromarray(RNG.integers(0, 256, (8, 9, 3), dtype=np.uint8)) for _ in range(count)
    ]
    written = io.BytesIO()
    frames[0].save(written, "GIF", save_all=True, append_images=frames[1:])
    return written.getvalue()


FILES = {"PNG": encoded(RGB, "PNG"), "JPEG": encoded(RGB, "JPEG"), "BMP": encoded(RGB, "BMP"),
         "GIF": animation()}  # fmt: skip


@pytest.mark.parametrize("kind", ["PNG", "BMP"])
def test_what_pillow_wrote_is_read(kind):
    np.testing.assert_array_equal(tf.io.decode_image(FILES[kind]), RGB)
    np.testing.assert_array_equal(
        tf.image.decode_image(tf.constant(FILES[kind]), dtype=tf.float32).numpy(),
        RGB.astype(np.float32) * np.float32(1 / 255) if kind == "BMP"
        else RGB.astype(np.float32) * 257 * np.float32(1 / 65535),
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 1, 2), (1, 5, 3), (30, 40, 3), (17, 19, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_files_are_read_by_pillow_and_here(shape, dtype):
    for pixels in (
        RNG.integers(0, np.iinfo(dtype).max, shape).astype(dtype),
        np.ones(shape, dtype),
    ):
        data = tf.io.encode_png(pixels).numpy()
        np.testing.assert_array_equal(tf.io.decode_png(data, dtype=dtype), pixels)
        found = np.asarray(Image.open(io.BytesIO(data)))
        if dtype == np.uint8 and shape[2] != 1:
            np.testing.assert_array_equal(found, pixels)


def test_a_png_file_is_small_where_neighbours_are_alike():
    ramp = np.add.outer(np.arange(200), np.arange(200)).astype(np.uint8)[..., None]
    assert len(tf.io.encode_png(ramp).numpy()) < 600
    assert len(tf.io.encode_png(ramp, compression=0).numpy()) > 40000


@pytest.mark.parametrize("kind", FILES)
def test_every_truncation_is_an_error(kind):
    data = FILES[kind]
    unneeded = {"JPEG": 2, "BMP": 4}.get(
        kind, 1
    )  # the mark of the end, and what fills the last row
    for length in range(len(data) - unneeded, 0, -max(1, len(data) // 200)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="decode_image: "):
            tf.io.decode_image(data[:length])


@pytest.mark.parametrize("kind", FILES)
def test_changed_bytes_give_an_image_or_an_error(kind):
    for seed in range(150):
        rng = np.random.default_rng(seed)
        data = bytearray(FILES[kind])
        for place in rng.integers(3, len(data), 1 + seed % 4):
            data[place] = rng.integers(256)
        try:
            found = tf.io.decode_image(bytes(data))
        except tf.errors.InvalidArgumentError as error:
            assert "decode_image: " in str(error)  # noqa: PT017
        else:
            assert found.dtype == tf.uint8


def with_size(data, width, height):
    """A PNG file that says it is larger than it is, with the right checksum."""
    head = data[12:16] + struct.pack(">II", width, height) + data[24:29]
    return data[:12] + head + struct.pack(">I", zlib.crc32(head)) + data[33:]


WRONG = [
    (b"", "contents is empty"),
    (b"no image", "no JPEG, PNG, GIF or BMP image: it begins with b'no image'"),
    (FILES["PNG"][:50], "ends after 50 bytes, within the chunk IDAT at byte 33"),
    (FILES["PNG"][:-12], "before its last chunk"),
    (FILES["PNG"][:45] + b"\0\0" + FILES["PNG"][47:], "chunk IDAT at byte 33 does not match"),
    (with_size(FILES["PNG"], 10**6, 10**6), "1000000 x 1000000 x 4 x 1, is more than"),
    (with_size(FILES["PNG"], 0, 5), "its size is 0 x 5"),
    (with_size(FILES["PNG"], 5000, 5000), "cannot be read"),
    (FILES["JPEG"][:-30], "JPEG image of .* bytes cannot be read: image file is truncated"),
    (FILES["GIF"][:-1], "GIF image .* within its frames"),
    (FILES["GIF"][:13] + b";", "within its frames|there is no image|where a block begins"),
    (FILES["BMP"][:-4], "BMP image of .* cannot be read"),
]


@pytest.mark.parametrize(("data", "says"), WRONG)
def test_what_is_wrong_is_said(data, says):
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        tf.io.decode_image(data)


def test_a_webp_file_is_refused_by_name():
    with pytest.raises(tf.errors.UnimplementedError, match="WebP image, which gradtape does not"):
        tf.io.decode_image(b"RIFF\0\0\0\0WEBPVP8 ")


def test_bombs_are_refused(monkeypatch):
    """Small files that would take much memory: many pixels, and many frames."""
    pixels = np.zeros((3000, 3000, 3), np.uint8)
    monkeypatch.setattr(images, "_LARGEST", 10**6)
    for kind in ("PNG", "JPEG", "GIF", "BMP"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="is more than 1000000 values"):
            tf.io.decode_image(encoded(pixels, kind))
    monkeypatch.setattr(images, "_LARGEST", 500)
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 x 9 x 8 x 3, is more than 500"):
        tf.io.decode_image(FILES["GIF"])
    assert tf.io.decode_image(FILES["GIF"], expand_animations=False).shape == (8, 9, 3)


def test_pillows_own_limit_is_an_error_of_ours(monkeypatch):
    for limit in (40, 20):  # it warns about twice as many pixels, and refuses more
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        with pytest.raises(tf.errors.InvalidArgumentError, match="PNG image is too large"):
            tf.io.decode_image(FILES["PNG"])


ARGUMENTS = [
    (lambda: tf.io.decode_png(FILES["PNG"], 2), "channels must be 0, 1, 3 or 4, got 2"),
    (lambda: tf.io.decode_png(FILES["PNG"], dtype=tf.float32), "dtype must be uint8 or uint16"),
    (lambda: tf.io.decode_png([FILES["PNG"]]), "contents must be a scalar"),
    (lambda: tf.io.decode_png(FILES["GIF"]), "has 3 frames: use decode_gif"),
    (lambda: tf.io.decode_png(FILES["BMP"]), "is a BMP image: use decode_bmp or decode_image"),
    (lambda: tf.io.decode_bmp(FILES["PNG"]), "is a PNG image: use decode_png"),
    (lambda: tf.io.decode_gif(FILES["BMP"]), "is a BMP image"),
    (lambda: tf.io.decode_image(FILES["GIF"], channels=1), "must be 0 or 3 for a GIF image"),
    (lambda: tf.io.decode_bmp(FILES["BMP"], 1), "0, 3 or 4 for a BMP image"),
    (lambda: tf.io.decode_jpeg(FILES["JPEG"], 4), "cannot have channels=4"),
    (lambda: tf.io.decode_jpeg(FILES["JPEG"], ratio=3), "ratio must be 1, 2, 4 or 8"),
    (lambda: tf.io.decode_jpeg(FILES["JPEG"], dct_method="x"), "dct_method must be"),
    (lambda: tf.io.decode_and_crop_jpeg(FILES["JPEG"], [8, 0, 2, 2]), "is not inside of the image"),
    (lambda: tf.io.extract_jpeg_shape(FILES["PNG"]), "extract_jpeg_shape: this JPEG image"),
    (lambda: tf.io.extract_jpeg_shape(FILES["JPEG"], tf.int8), "output_type must be int32"),
    (lambda: tf.io.encode_png(RGB, 10), "compression must be -1 to 9"),
    (lambda: tf.io.encode_png(RGB[..., 0]), r"with 1 to 4 channels, got \(9, 7\)"),
    (lambda: tf.io.encode_png(RGB[:0]), r"got \(0, 7, 3\)"),
    (lambda: tf.io.encode_png(RGB / 255.0), "must be of uint8 or uint16, got float64"),
    (lambda: tf.io.encode_jpeg(RGB[..., :2]), "with 1 or 3 channels"),
    (lambda: tf.io.encode_jpeg(RGB, format="x"), "format must be"),
    (lambda: tf.io.encode_jpeg(RGB, quality=101), "quality must be 0 to 100"),
    (lambda: tf.io.encode_jpeg(RGB, density_unit="m"), "density_unit must be"),
    (lambda: tf.io.encode_jpeg(np.zeros((1, 70000, 1), np.uint8)), "65535 pixels a side"),
]


@pytest.mark.parametrize(("call", "says"), ARGUMENTS)
def test_wrong_arguments(call, says):
    with pytest.raises(tf.errors.InvalidArgumentError, match=says):
        call()


def test_what_pillow_cannot_do():
    with pytest.raises(tf.errors.UnimplementedError, match="fancy_upscaling=False"):
        tf.io.decode_jpeg(FILES["JPEG"], fancy_upscaling=False)


def test_densities_of_jpeg_files():
    data = tf.io.encode_jpeg(RGB, density_unit="cm", x_density=10, y_density=20).numpy()
    assert struct.unpack(">BHH", data[13:18]) == (2, 10, 20)
    assert data[:13] == tf.io.encode_jpeg(RGB).numpy()[:13]


def test_files_in_a_function():
    @tf.function
    def brightness(data):
        return tf.reduce_mean(tf.io.decode_image(data, dtype=tf.float32))

    np.testing.assert_allclose(brightness(tf.constant(FILES["PNG"])), RGB.mean() / 255, rtol=1e-5)
    data = tf.function(lambda image: tf.io.encode_png(image))(tf.constant(RGB))
    np.testing.assert_array_equal(tf.io.decode_png(data), RGB)


def test_threads_read_images():
    found = []

    def work():
        for _ in range(10):
            found.append(tf.io.decode_image(FILES["JPEG"]).numpy())
            found.append(tf.io.decode_gif(FILES["GIF"]).numpy()[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({image.tobytes() for image in found}) == 2


def test_the_filter_of_png_is_the_inverse_of_what_readers_do():
    rows = RNG.integers(0, 256, (6, 12), dtype=np.uint8)
    rows[3] = rows[2]
    filtered = png_files._filtered(rows, 3)
    assert filtered.shape == (6, 13)
    assert filtered[3, 0] == 2  # a row that repeats the one above
    assert not filtered[3, 1:].any()
