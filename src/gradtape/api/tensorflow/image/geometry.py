"""The geometry of `tf.image`: crops, borders, flips, quarter turns and patches."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from typing import Any, NamedTuple

from gradtape.api.tensorflow.accepted import NUMERIC, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_float, as_int, integers
from gradtape.api.tensorflow.nn.convolution import AxisLayout
from gradtape.convert import TENSORFLOW
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops.shaping import concat, getitem, pad, reshape, reverse
from gradtape.ops.shaping import transpose as permute
from gradtape.published import published

_EVERY = slice(None)


class Batch(NamedTuple):
    """Images as a batch `(images, height, width, channels)`, and whether they were given as one."""

    images: Tensor
    single: bool

    @property
    def height(self) -> int:
        return int(self.images.array.shape[1])

    @property
    def width(self) -> int:
        return int(self.images.array.shape[2])

    def leave(self, images: Tensor) -> Tensor:
        """A result with as many axes as the images were given with."""
        return reshape(images, shape=images.array.shape[1:]) if self.single else images


def as_batch(x: Tensor, argument: str) -> Batch:
    """One image of three dimensions, or several of four, as a batch."""
    if x.ndim not in (3, 4):
        raise ValueError(
            f"{argument} must have the shape (height, width, channels), with or without a batch "
            f"axis, got {x.shape}."
        )
    return (
        Batch(reshape(x, shape=(1, *x.array.shape)), single=True)
        if x.ndim == 3
        else Batch(x, single=False)
    )


def at_least_3d(x: Tensor, function: str) -> Tensor:
    """`x`, refused if it is no image."""
    if x.ndim < 3:
        raise ValueError(
            f"{function}: image must have the shape (..., height, width, channels), got {x.shape}."
        )
    return x


def _image(value: Any, function: str) -> Batch:
    return as_batch(TENSORFLOW.tensor(value, f"{function}: image"), f"{function}: image")


@published("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The part of images whose upper left corner is at the offsets.

    >>> import gradtape as tf
    >>> tf.image.crop_to_bounding_box(tf.reshape(tf.range(6.0), [2, 3, 1]), 0, 1, 2, 2)[
    ...     :, :, 0
    ... ].numpy()
    array([[1., 2.],
           [4., 5.]], dtype=float32)
    """
    function = "crop_to_bounding_box"
    batch = _image(image, function)
    top, left, height, width = _box(
        function, offset_height, offset_width, target_height, target_width
    )
    if top + height > batch.height or left + width > batch.width:
        raise ValueError(
            f"{function}: a box of {height} by {width} at ({top}, {left}) is not inside an image "
            f"of {batch.height} by {batch.width}."
        )
    return batch.leave(
        getitem(batch.images, key=(_EVERY, slice(top, top + height), slice(left, left + width)))
    )


@published("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Images inside zeros of the target size, with their upper left corner at the offsets.

    >>> import gradtape as tf
    >>> tf.image.pad_to_bounding_box(tf.ones([1, 1, 1]), 1, 0, 2, 2)[:, :, 0].numpy()
    array([[0., 0.],
           [1., 0.]], dtype=float32)
    """
    function = "pad_to_bounding_box"
    batch = _image(image, function)
    top, left, height, width = _box(
        function, offset_height, offset_width, target_height, target_width
    )
    below, right = height - top - batch.height, width - left - batch.width
    if below < 0 or right < 0:
        raise ValueError(
            f"{function}: an image of {batch.height} by {batch.width} at ({top}, {left}) is not "
            f"inside {height} by {width}."
        )
    return batch.leave(
        pad(batch.images, paddings=((0, 0), (top, below), (left, right), (0, 0)), value=0)
    )


def _box(function: str, *numbers: Any) -> tuple[int, ...]:
    names = ("offset_height", "offset_width", "target_height", "target_width")
    found = tuple(
        [as_int(number, f"{function}: {name}") for number, name in zip(numbers, names, strict=True)]
    )
    for number, name in zip(found, names, strict=True):
        if number < name.startswith("target"):
            raise ValueError(
                f"{function}: {name} must be "
                f"{'positive' if name.startswith('target') else 'at least 0'}, got {number}."
            )
    return found


@published("image.resize_with_crop_or_pad")
def resize_with_crop_or_pad(image: TensorLike, target_height: Any, target_width: Any) -> Tensor:
    """Images cut off evenly on both sides where they are too large, and with zeros around them
    where they are too small.

    >>> import gradtape as tf
    >>> tf.image.resize_with_crop_or_pad(tf.reshape([1.0, 2.0, 3.0], [1, 3, 1]), 3, 1)[
    ...     :, :, 0
    ... ].numpy()
    array([[0.],
           [2.],
           [0.]], dtype=float32)
    """
    function = "resize_with_crop_or_pad"
    batch = _image(image, function)
    wanted = _box(function, 0, 0, target_height, target_width)[2:]
    missing = [
        target - size for target, size in zip(wanted, (batch.height, batch.width), strict=True)
    ]
    cut = [max(0, -number // 2) for number in missing]
    added = [max(0, number // 2) for number in missing]
    part = [
        min(target, size) for target, size in zip(wanted, (batch.height, batch.width), strict=True)
    ]
    return batch.leave(
        pad_to_bounding_box(crop_to_bounding_box(batch.images, *cut, *part), *added, *wanted)
    )


@published("image.central_crop")
def central_crop(image: TensorLike, central_fraction: Any) -> Tensor:
    """The middle of images: `central_fraction` of their height and of their width.

    >>> import gradtape as tf
    >>> tf.image.central_crop(tf.reshape(tf.range(16.0), [4, 4, 1]), 0.5)[:, :, 0].numpy()
    array([[ 5.,  6.],
           [ 9., 10.]], dtype=float32)
    """
    fraction = as_float(central_fraction, "central_crop: central_fraction")
    if not 0 < fraction <= 1:
        raise ValueError(f"central_crop: central_fraction must be in (0, 1], got {fraction}.")
    batch = _image(
        at_least_3d(TENSORFLOW.tensor(image, "central_crop: image"), "central_crop"), "central_crop"
    )
    starts = [int((size - size * fraction) / 2) for size in (batch.height, batch.width)]
    rows, columns = [
        slice(start, size - start)
        for start, size in zip(starts, (batch.height, batch.width), strict=True)
    ]
    return batch.leave(getitem(batch.images, key=(_EVERY, rows, columns)))


@published("image.flip_left_right")
def flip_left_right(image: TensorLike) -> Tensor:
    """Images with their columns in reverse.

    >>> import gradtape as tf
    >>> tf.image.flip_left_right(tf.reshape([1.0, 2.0, 3.0], [1, 3, 1]))[0, :, 0].numpy()
    array([3., 2., 1.], dtype=float32)
    """
    return _flipped(image, "flip_left_right", 2)


@published("image.flip_up_down")
def flip_up_down(image: TensorLike) -> Tensor:
    """Images with their rows in reverse.

    >>> import gradtape as tf
    >>> tf.image.flip_up_down(tf.reshape([1.0, 2.0, 3.0], [3, 1, 1]))[:, 0, 0].numpy()
    array([3., 2., 1.], dtype=float32)
    """
    return _flipped(image, "flip_up_down", 1)


def _flipped(image: Any, function: str, axis: int) -> Tensor:
    batch = _image(image, function)
    return batch.leave(reverse(batch.images, axis=axis))


@published("image.rot90")
def rot90(image: TensorLike, k: Any = 1, name: str | None = None) -> Tensor:
    """Images turned `k` times by 90 degrees against the clock.

    >>> import gradtape as tf
    >>> tf.image.rot90(tf.reshape([[1.0, 2.0], [3.0, 4.0]], [2, 2, 1]))[:, :, 0].numpy()
    array([[2., 4.],
           [1., 3.]], dtype=float32)
    """
    batch = _image(image, "rot90")
    turns = as_int(k, "rot90: k") % 4
    x = batch.images
    if turns == 2:
        x = reverse(x, axis=(1, 2))
    elif turns:
        x = reverse(permute(x, perm=(0, 2, 1, 3)), axis=1 if turns == 1 else 2)
    return batch.leave(x)


@published("image.transpose")
def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Images with rows and columns exchanged.

    >>> import gradtape as tf
    >>> tf.image.transpose(tf.reshape([[1.0, 2.0], [3.0, 4.0]], [2, 2, 1]))[:, :, 0].numpy()
    array([[1., 3.],
           [2., 4.]], dtype=float32)
    """
    batch = _image(image, "transpose")
    return batch.leave(permute(batch.images, perm=(0, 2, 1, 3)))


@published("image.extract_patches")
def extract_patches(
    images: TensorLike, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Windows of images, each laid out in the channels of one pixel: row by row,
    then column by column, then by channel.

    >>> import gradtape as tf
    >>> image = tf.reshape(tf.range(6.0), [1, 2, 3, 1])
    >>> tf.image.extract_patches(image, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID").numpy()
    array([[[[0., 1., 3., 4.],
             [1., 2., 4., 5.]]]], dtype=float32)
    """
    function = "extract_patches"
    x = of_kind(images, NUMERIC, function, "images")
    if x.ndim != 4:
        raise invalid_argument(f"{function}: images must have 4 dimensions, got shape {x.shape}.")
    layout = AxisLayout(function, None, x, 2)
    if len(integers(sizes, f"{function}: sizes")) != 4:
        raise invalid_argument(f"{function}: sizes must have 4 entries, got {sizes!r}.")
    windows = layout.windows(
        x.array.shape[1:3], layout.per_axis(sizes, "sizes"), strides, padding, rates
    )
    x = pad(x, paddings=((0, 0), *windows.padding, (0, 0)), value=0)
    outputs = [
        max(0, (size - (kernel - 1) * rate - 1) // stride + 1)
        for size, kernel, stride, rate in zip(
            x.array.shape[1:3], windows.kernel, windows.strides, windows.dilations, strict=True
        )
    ]
    keys = [
        [
            slice(place * rate, place * rate + (count - 1) * stride + 1 if count else 0, stride)
            for place in range(kernel)
        ]
        for kernel, stride, rate, count in zip(
            windows.kernel, windows.strides, windows.dilations, outputs, strict=True
        )
    ]
    parts = [getitem(x, key=(_EVERY, rows, columns)) for rows in keys[0] for columns in keys[1]]
    return concat(*parts, axis=3)
