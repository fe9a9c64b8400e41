"""Pooling of `tf.nn`, which takes maxima and averages over windows, and `space_to_depth` with its
inverse.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, REAL, Kind, of_kind
from gradtape.api.tensorflow.arguments import DTypeLike, TensorLike, as_int, numpy_dtype
from gradtape.api.tensorflow.nn.convolution import AxisLayout, Padding, PerAxis
from gradtape.convert import TENSORFLOW
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import pooling
from gradtape.ops.convolution import Windows
from gradtape.ops.shaping import reshape, transpose
from gradtape.published import published

_MAX, _AVERAGE = (pooling.max_pool, REAL), (pooling.avg_pool, FLOATING)
"""An op, and the kinds of numbers that it takes."""


def _pool(
    function: str,
    pooled: tuple[Callable[..., Tensor], Kind],
    x: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    spatial: int | None,
    dilations: Any = None,
) -> Tensor:
    op, kinds = pooled
    x = of_kind(x, kinds, function, "input")
    layout, windows = _laid_out(
        function, x, ksize, strides, padding, data_format, spatial, dilations
    )
    return layout.leave(op(layout.enter(x), windows=windows))


def _laid_out(
    function: str,
    x: Tensor,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    spatial: int | None,
    dilations: Any = None,
) -> tuple[AxisLayout, Windows]:
    """The layout of `x`, and its windows."""
    if spatial is None:
        spatial = x.ndim - 2
        if spatial not in (1, 2, 3):
            raise ValueError(
                f"{function}: input must have 3, 4 or 5 dimensions, got shape {x.shape}."
            )
    layout = AxisLayout(function, data_format, x, spatial)
    sizes = x.array.shape[-spatial:] if layout.channels_first else x.array.shape[-spatial - 1 : -1]
    windows = layout.windows(sizes, layout.per_axis(ksize, "ksize"), strides, padding, dilations)
    if padding != "SAME" and any(
        max(pair) >= size for pair, size in zip(windows.padding, windows.kernel, strict=True)
    ):
        raise invalid_argument(
            f"{function}: padding={padding!r} must be smaller than the window "
            f"{list(windows.kernel)}."
        )
    return layout, windows


@published("nn.max_pool")
def max_pool(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: Padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The largest element of each window, over as many spatial axes as the input has: one,
    two or three.

    >>> import gradtape as tf
    >>> tf.nn.max_pool(
    ...     tf.reshape([1.0, 3.0, 2.0, 0.0], [1, 4, 1]), ksize=2, strides=2, padding="VALID"
    ... ).numpy().tolist()
    [[[3.0], [2.0]]]
    """
    return _pool("max_pool", _MAX, input, ksize, strides, padding, data_format, None)


@published("nn.max_pool1d")
def max_pool1d(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: Padding,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of a sequence `(batch, width, channels)`.

    >>> import gradtape as tf
    >>> tf.nn.max_pool1d(
    ...     tf.reshape([1.0, 3.0, 2.0], [1, 3, 1]), ksize=2, strides=1, padding="VALID"
    ... ).numpy().tolist()
    [[[3.0], [3.0]]]
    """
    return _pool("max_pool1d", _MAX, input, ksize, strides, padding, data_format, 1)


@published("nn.max_pool2d")
def max_pool2d(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: Padding,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of an image `(batch, height, width, channels)`.

    Of elements that tie, the first takes the gradient.

    >>> import gradtape as tf
    >>> image = tf.reshape([[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]], [1, 2, 4, 1])
    >>> tf.nn.max_pool2d(image, ksize=2, strides=2, padding="VALID").numpy().tolist()
    [[[[4.0], [8.0]]]]
    """
    return _pool("max_pool2d", _MAX, input, ksize, strides, padding, data_format, 2)


@published("nn.max_pool3d")
def max_pool3d(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: Padding,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window of a volume `(batch, depth, height, width, channels)`.

    >>> import gradtape as tf
    >>> tf.nn.max_pool3d(tf.ones([1, 2, 2, 2, 1]), ksize=2, strides=2, padding="VALID").shape
    TensorShape([1, 1, 1, 1, 1])
    """
    return _pool("max_pool3d", _MAX, input, ksize, strides, padding, data_format, 3)


@published("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: Padding,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = dtypes.int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d`, and where each maximum stands in its image (or in the batch),
    counted row by row.

    >>> import gradtape as tf
    >>> image = tf.reshape([[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]], [1, 2, 4, 1])
    >>> values, places = tf.nn.max_pool_with_argmax(image, ksize=2, strides=2, padding="VALID")
    >>> values.numpy().tolist(), places.numpy().tolist()
    ([[[[4.0], [8.0]]]], [[[[5], [7]]]])
    """
    x = of_kind(input, REAL, "max_pool_with_argmax", "input")
    layout, windows = _laid_out("max_pool_with_argmax", x, ksize, strides, padding, data_format, 2)
    x = layout.enter(x)
    out = pooling.max_pool(x, windows=windows)
    shape, one = x.array.shape, x.array.shape[1:]
    places = np.arange(math.prod(one), dtype=np.int64).reshape(one)
    if include_batch_in_index:
        places = places + (np.arange(shape[0]) * places.size).reshape(-1, 1, 1, 1)
    found = pooling.max_pick(
        Tensor(np.broadcast_to(places, shape).astype(numpy_dtype(output_dtype))),
        x,
        out,
        windows=windows,
    )
    return layout.leave(out), layout.leave(found)


@published("nn.avg_pool")
def avg_pool(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: Padding,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The mean of each window, over as many spatial axes as the input has: one, two or three.

    >>> import gradtape as tf
    >>> tf.nn.avg_pool(
    ...     tf.reshape([1.0, 3.0, 2.0, 0.0], [1, 4, 1]), ksize=2, strides=2, padding="VALID"
    ... ).numpy().tolist()
    [[[2.0], [1.0]]]
    """
    return _pool("avg_pool", _AVERAGE, input, ksize, strides, padding, data_format, None)


@published("nn.avg_pool1d")
def avg_pool1d(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: Padding,
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of a sequence `(batch, width, channels)`.

    >>> import gradtape as tf
    >>> tf.nn.avg_pool1d(
    ...     tf.reshape([1.0, 3.0, 2.0], [1, 3, 1]), ksize=2, strides=1, padding="VALID"
    ... ).numpy().tolist()
    [[[2.0], [2.5]]]
    """
    return _pool("avg_pool1d", _AVERAGE, input, ksize, strides, padding, data_format, 1)


@published("nn.avg_pool2d")
def avg_pool2d(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: Padding,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of an image `(batch, height, width, channels)`;
    padding does not count.

    >>> import gradtape as tf
    >>> image = tf.reshape([[1.0, 2.0, 5.0], [3.0, 4.0, 7.0]], [1, 2, 3, 1])
    >>> tf.nn.avg_pool2d(image, ksize=2, strides=2, padding="SAME").numpy().tolist()
    [[[[2.5], [6.0]]]]
    """
    return _pool("avg_pool2d", _AVERAGE, input, ksize, strides, padding, data_format, 2)


@published("nn.avg_pool3d")
def avg_pool3d(
    input: TensorLike,
    ksize: PerAxis,
    strides: PerAxis,
    padding: Padding,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of a volume `(batch, depth, height, width, channels)`.

    >>> import gradtape as tf
    >>> tf.nn.avg_pool3d(tf.ones([1, 2, 2, 2, 1]), ksize=2, strides=2, padding="VALID").shape
    TensorShape([1, 1, 1, 1, 1])
    """
    return _pool("avg_pool3d", _AVERAGE, input, ksize, strides, padding, data_format, 3)


@published("nn.pool")
def pool(
    input: TensorLike,
    window_shape: PerAxis,
    pooling_type: str,
    strides: PerAxis = None,
    padding: Padding = "VALID",
    data_format: str | None = None,
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """Pooling of either type, "MAX" or "AVG", with windows that may be dilated.

    >>> import gradtape as tf
    >>> sequence = tf.reshape([1.0, 3.0, 2.0, 0.0], [1, 4, 1])
    >>> tf.nn.pool(sequence, window_shape=[2], pooling_type="MAX", dilations=[2]).numpy().tolist()
    [[[2.0], [3.0]]]
    """
    ops = {"MAX": _MAX, "AVG": _AVERAGE}
    if not isinstance(pooling_type, str) or pooling_type not in ops:
        raise ValueError(f"pool: pooling_type must be 'MAX' or 'AVG', got {pooling_type!r}.")
    return _pool(
        "pool",
        ops[pooling_type],
        input,
        window_shape,
        strides,
        padding,
        data_format,
        None,
        dilations,
    )


@published("nn.depth_to_space")
def depth_to_space(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Spreads the channels of each pixel over a square of `block_size` by `block_size` pixels.

    >>> import gradtape as tf
    >>> tf.nn.depth_to_space(
    ...     tf.reshape([1.0, 2.0, 3.0, 4.0], [1, 1, 1, 4]), block_size=2
    ... ).numpy().tolist()
    [[[[1.0], [2.0]], [[3.0], [4.0]]]]
    """
    layout, x, block = _blocked("depth_to_space", input, block_size, data_format)
    batch, height, width, depth = x.array.shape
    if depth % block**2:
        raise invalid_argument(
            f"depth_to_space: {depth} channels cannot be divided into blocks of {block} by {block}."
        )
    apart = transpose(
        reshape(x, shape=(batch, height, width, block, block, depth // block**2)),
        perm=(0, 1, 3, 2, 4, 5),
    )
    return layout.leave(
        reshape(apart, shape=(batch, height * block, width * block, depth // block**2))
    )


@published("nn.space_to_depth")
def space_to_depth(
    input: TensorLike, block_size: int, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """Gathers squares of `block_size` by `block_size` pixels into the channels of one.

    >>> import gradtape as tf
    >>> tf.nn.space_to_depth(
    ...     tf.reshape([1.0, 2.0, 3.0, 4.0], [1, 2, 2, 1]), block_size=2
    ... ).numpy().tolist()
    [[[[1.0, 2.0, 3.0, 4.0]]]]
    """
    layout, x, block = _blocked("space_to_depth", input, block_size, data_format)
    batch, height, width, depth = x.array.shape
    if height % block or width % block:
        raise invalid_argument(
            f"space_to_depth: images of {height} by {width} cannot be divided into blocks of "
            f"{block} by {block}."
        )
    apart = transpose(
        reshape(x, shape=(batch, height // block, block, width // block, block, depth)),
        perm=(0, 1, 3, 2, 4, 5),
    )
    return layout.leave(
        reshape(apart, shape=(batch, height // block, width // block, depth * block**2))
    )


def _blocked(
    function: str, value: Any, block_size: Any, data_format: str
) -> tuple[AxisLayout, Tensor, int]:
    x = TENSORFLOW.tensor(value, f"{function}: input")
    if x.ndim != 4:
        raise invalid_argument(f"{function}: input must have 4 dimensions, got shape {x.shape}.")
    block = as_int(block_size, f"{function}: block_size")
    if block < 2:
        raise invalid_argument(f"{function}: block_size must be at least 2, got {block}.")
    layout = AxisLayout(function, data_format, x, 2)
    return layout, layout.enter(x), block
