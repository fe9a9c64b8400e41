"""Convolutions of `tf.nn`, and the arguments of convolutions and pooling that say where windows
are.

The ops take channels last and explicit padding; everything else that TensorFlow allows is turned
into that here.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, Kind, tensors_of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_shape, integers
from gradtape.core.tensor import Tensor
from gradtape.errors import UnimplementedError, invalid_argument
from gradtape.ops.convolution import Shape, Windows, conv, conv_by_input
from gradtape.ops.shaping import reshape, transpose
from gradtape.published import published

PerAxis = int | Sequence[Any] | Tensor | None
"""A number for all spatial axes, one for each, or one for every axis of the input."""

Padding = str | Sequence[Any]
"""'SAME', 'VALID', or the padding before and after every axis of the input."""

_CONVOLVED = Kind("floating-point or int32", FLOATING.dtypes | {dtypes.int32.numpy})
_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


class AxisLayout:
    """Where an input of a function has its batch, spatial and channel axes,
    and how it gets them in the order of the ops.
    """

    def __init__(self, function: str, data_format: str | None, x: Tensor, spatial: int) -> None:
        last, first = _FORMATS[spatial]
        if data_format not in (None, last, first):
            raise invalid_argument(
                f"{function}: data_format must be '{last}' or '{first}', got {data_format!r}."
            )
        if x.ndim < spatial + 2:
            raise invalid_argument(
                f"{function}: input must have {spatial + 2} dimensions, {data_format or last}, got "
                f"shape {x.shape}."
            )
        self.function = function
        self.spatial = spatial
        self.channels_first = data_format == first
        self.batch: Shape = x.array.shape[: x.ndim - spatial - 1]

    def enter(self, x: Tensor) -> Tensor:
        """`x` with one batch axis and its channels last."""
        shape = x.array.shape
        if len(self.batch) != 1:
            x = reshape(x, shape=(math.prod(self.batch), *shape[len(self.batch) :]))
        return transpose(x, perm=(0, *range(2, self.spatial + 2), 1)) if self.channels_first else x

    def leave(self, y: Tensor) -> Tensor:
        """The inverse of `enter`, for a result."""
        if self.channels_first:
            y = transpose(y, perm=(0, self.spatial + 1, *range(1, self.spatial + 1)))
        return y if len(self.batch) == 1 else reshape(y, shape=(*self.batch, *y.array.shape[1:]))

    def per_axis(self, value: Any, argument: str) -> Shape:
        """A number for each spatial axis."""
        values = (1,) if value is None else integers(value, f"{self.function}: {argument}")
        n = self.spatial
        if len(values) == 1:
            values *= n
        elif len(values) == n + 2:
            channels = 1 if self.channels_first else n + 1
            if values[0] != 1 or values[channels] != 1:
                raise UnimplementedError(
                    None,
                    None,
                    (
                        f"{self.function}: {argument}={list(values)} must be 1 for the batch and "
                        "the channels."
                    ),
                )
            values = self._spatial_part(values)
        elif len(values) != n:
            raise ValueError(
                f"{self.function}: {argument} must have 1, {n} or {n + 2} entries, got "
                f"{list(values)}."
            )
        if any(number < 1 for number in values):
            raise invalid_argument(
                f"{self.function}: {argument} must be at least 1, got {list(values)}."
            )
        return values

    def _spatial_part(self, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        return entries[2:] if self.channels_first else entries[1:-1]

    def windows(
        self, sizes: Shape, kernel: Shape, strides: Any, padding: Padding, dilations: Any = None
    ) -> Windows:
        """The windows of `kernel` on axes of `sizes`: none on an axis that is too short for one."""
        steps, spread = self.per_axis(strides, "strides"), self.per_axis(dilations, "dilations")
        reaches = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, spread, strict=True)]
        pads = self._padding(padding, sizes, reaches, steps)
        return Windows(kernel, steps, pads, spread)

    def _padding(
        self, padding: Any, sizes: Shape, reaches: Sequence[int], strides: Shape
    ) -> tuple[tuple[int, int], ...]:
        function = self.function
        if padding == "VALID":
            return ((0, 0),) * self.spatial
        if padding == "SAME":
            totals = [
                max(0, (-(-size // stride) - 1) * stride + reach - size)
                for size, reach, stride in zip(sizes, reaches, strides, strict=True)
            ]
            return tuple([(total // 2, total - total // 2) for total in totals])
        if padding == "EXPLICIT":
            raise ValueError(
                f"{function}: to pad explicitly, give padding as a list with a pair for every axis."
            )
        if isinstance(padding, str):
            raise invalid_argument(
                f"{function}: padding must be 'SAME', 'VALID' or a list of pairs, got {padding!r}."
            )
        if not isinstance(padding, (list, tuple, np.ndarray)):
            raise TypeError(
                f"{function}: padding must be 'SAME', 'VALID' or a list of pairs, got {padding!r}."
            )
        pairs = [integers(pair, f"{function}: padding") for pair in padding]
        if len(pairs) != self.spatial + 2 or any(len(pair) != 2 for pair in pairs):
            raise ValueError(
                f"{function}: a list of padding needs {self.spatial + 2} pairs, one for every "
                f"axis, got {padding!r}."
            )
        inside = self._spatial_part(tuple(pairs))
        if sum(map(sum, pairs)) != sum(map(sum, inside)) or any(
            number < 0 for pair in pairs for number in pair
        ):
            raise invalid_argument(
                f"{function}: padding={padding!r} must not be negative, and 0 for the batch and "
                "the channels."
            )
        return tuple([(low, high) for low, high in inside])


def _convolve(
    function: str,
    x: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
    spatial: int | None,
) -> Tensor:
    x, w, layout = _operands(function, x, filters, _CONVOLVED, data_format, spatial)
    x = layout.enter(x)
    channels, (taken, made) = x.array.shape[-1], w.array.shape[-2:]
    if channels % taken:
        raise invalid_argument(
            f"{function}: the {channels} channels of input {x.shape} must be a multiple of the "
            f"{taken} of filters {w.shape}."
        )
    groups = channels // taken
    if made % max(groups, 1):
        raise invalid_argument(
            f"{function}: input {x.shape} and filters {w.shape} make {groups} groups, which do not "
            f"divide {made} filters."
        )
    windows = layout.windows(x.array.shape[1:-1], w.array.shape[:-2], strides, padding, dilations)
    return layout.leave(conv(x, w, windows=windows, groups=groups))


def _operands(
    function: str, x: Any, filters: Any, kind: Any, data_format: Any, spatial: int | None
) -> tuple[Tensor, Tensor, AxisLayout]:
    """The input and the filters as Tensors of one dtype, and how the input is laid out; without
    `spatial`, the filters say how many axes are convolved.
    """
    x, w = tensors_of_kind(x, filters, kind, function, ("input", "filters"))
    spatial = _spatial_axes(w, function) if spatial is None else spatial
    layout = AxisLayout(function, data_format, x, spatial)
    _check_filters(function, w, spatial)
    return x, w, layout


def _spatial_axes(w: Tensor, function: str) -> int:
    if w.ndim not in (3, 4, 5):
        raise ValueError(
            f"{function}: filters must have 3, 4 or 5 dimensions, got shape {w.shape}."
        )
    return w.ndim - 2


def _check_filters(function: str, w: Tensor, spatial: int, argument: str = "filters") -> None:
    if w.ndim != spatial + 2 or not w.array.size:
        raise invalid_argument(
            f"{function}: {argument} must have {spatial + 2} dimensions, none of size 0, got shape "
            f"{w.shape}."
        )


@published("nn.conv1d")
def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: PerAxis,
    padding: Padding,
    data_format: str = "NWC",
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """Convolves sequences `(batch, width, channels)` with filters `(width, channels, filters)`.

    >>> import gradtape as tf
    >>> tf.nn.conv1d(
    ...     tf.reshape([1.0, 2.0, 4.0], [1, 3, 1]), tf.reshape([1.0, 1.0], [2, 1, 1]), 1, "VALID"
    ... ).numpy().tolist()
    [[[3.0], [6.0]]]
    """
    return _convolve("conv1d", input, filters, stride, padding, data_format, dilations, 1)


@published("nn.conv2d")
def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: PerAxis,
    padding: Padding,
    data_format: str = "NHWC",
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """Convolves images `(batch, height, width, channels)` with filters
    `(height, width, channels, filters)`.

    >>> import gradtape as tf
    >>> image = tf.reshape([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], [1, 3, 3, 1])
    >>> tf.nn.conv2d(image, tf.ones([2, 2, 1, 1]), strides=1, padding="VALID")[0, :, :, 0].numpy()
    array([[12., 16.],
           [24., 28.]], dtype=float32)
    """
    return _convolve("conv2d", input, filters, strides, padding, data_format, dilations, 2)


@published("nn.conv3d")
def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: PerAxis,
    padding: Padding,
    data_format: str = "NDHWC",
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """Convolves volumes `(batch, depth, height, width, channels)` with filters
    `(depth, height, width, channels, filters)`.

    >>> import gradtape as tf
    >>> tf.nn.conv3d(
    ...     tf.ones([1, 2, 2, 2, 1]), tf.ones([2, 2, 2, 1, 1]), strides=1, padding="VALID"
    ... ).numpy().item()
    8.0
    """
    return _convolve("conv3d", input, filters, strides, padding, data_format, dilations, 3)


@published("nn.convolution")
def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: PerAxis = None,
    padding: Padding = "VALID",
    data_format: str | None = None,
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """Convolves over as many spatial axes as the filters have: one, two or three.

    >>> import gradtape as tf
    >>> tf.nn.convolution(tf.ones([1, 4, 1]), tf.ones([3, 1, 2]), padding="SAME").numpy().tolist()
    [[[2.0, 2.0], [3.0, 3.0], [3.0, 3.0], [2.0, 2.0]]]
    """
    return _convolve("convolution", input, filters, strides, padding, data_format, dilations, None)


@published("nn.atrous_conv2d")
def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: int, padding: Padding, name: str | None = None
) -> Tensor:
    """A 2-d convolution whose filters take every `rate`-th element.

    >>> import gradtape as tf
    >>> tf.nn.atrous_conv2d(
    ...     tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1]), rate=2, padding="VALID"
    ... ).numpy().item()
    4.0
    """
    return _convolve("atrous_conv2d", value, filters, 1, padding, None, rate, 2)


@published("nn.depthwise_conv2d")
def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: PerAxis,
    padding: Padding,
    data_format: str | None = None,
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """Convolves each channel with filters of its own: `filter` is
    `(height, width, channels, filters for each channel)`.

    >>> import gradtape as tf
    >>> weights = tf.constant([[[[1.0], [10.0]]]])
    >>> tf.nn.depthwise_conv2d(
    ...     tf.ones([1, 1, 2, 2]), weights, strides=[1, 1, 1, 1], padding="SAME"
    ... ).numpy().tolist()
    [[[[1.0, 10.0], [1.0, 10.0]]]]
    """
    function = "depthwise_conv2d"
    x, w = tensors_of_kind(input, filter, FLOATING, function, ("input", "filter"))
    layout = AxisLayout(function, data_format, x, 2)
    _check_filters(function, w, 2, "filter")
    x = layout.enter(x)
    *kernel, channels, times = w.array.shape
    if x.array.shape[-1] != channels:
        raise invalid_argument(
            f"{function}: input has {x.array.shape[-1]} channels, but filter of shape {w.shape} "
            f"has {channels}."
        )
    w = reshape(w, shape=(*kernel, 1, channels * times))
    windows = layout.windows(x.array.shape[1:-1], w.array.shape[:2], strides, padding, dilations)
    return layout.leave(conv(x, w, windows=windows, groups=channels))


@published("nn.separable_conv2d")
def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: PerAxis,
    padding: Padding,
    data_format: str | None = None,
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """A depthwise convolution, and after it one with filters of a single pixel that mixes the
    channels.

    >>> import gradtape as tf
    >>> depthwise, pointwise = tf.ones([2, 2, 3, 1]), tf.ones([1, 1, 3, 4])
    >>> tf.nn.separable_conv2d(
    ...     tf.ones([1, 4, 4, 3]), depthwise, pointwise, strides=[1, 1, 1, 1], padding="VALID"
    ... ).shape
    TensorShape([1, 3, 3, 4])
    """
    between = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return _convolve(
        "separable_conv2d", between, pointwise_filter, 1, "VALID", data_format, None, 2
    )


def _convolve_transposed(
    function: str,
    x: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
    spatial: int | None,
) -> Tensor:
    x, w, layout = _operands(function, x, filters, FLOATING, data_format, spatial)
    wanted = as_shape(output_shape, f"{function}: output_shape")
    if len(wanted) != w.ndim:
        raise invalid_argument(
            f"{function}: output_shape must have {w.ndim} entries, got {list(wanted)}."
        )
    y = layout.enter(x)
    sizes, channels = (
        (wanted[2:], wanted[1]) if layout.channels_first else (wanted[1:-1], wanted[-1])
    )
    windows = layout.windows(sizes, w.array.shape[:-2], strides, padding, dilations)
    *made, found = y.array.shape
    if (wanted[0], *windows.outputs(sizes)) != tuple(made) or (channels, found) != w.array.shape[
        -2:
    ]:
        raise invalid_argument(
            f"{function}: output_shape={list(wanted)} does not fit input {x.shape} and filters "
            f"{w.shape}: an output of that shape, "
            f"convolved with strides {list(windows.strides)} and padding {padding!r}, must give "
            "the input."
        )
    return layout.leave(conv_by_input(w, y, windows=windows, groups=1, sizes=sizes))


@published("nn.conv1d_transpose")
def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: PerAxis,
    padding: Padding = "SAME",
    data_format: str = "NWC",
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv1d`: the gradient of a convolution by its input; filters are
    `(width, output, input channels)`.

    >>> import gradtape as tf
    >>> tf.nn.conv1d_transpose(
    ...     tf.ones([1, 2, 1]), tf.reshape([1.0, 2.0], [2, 1, 1]), [1, 4, 1], strides=2
    ... ).numpy().tolist()
    [[[1.0], [2.0], [1.0], [2.0]]]
    """
    return _convolve_transposed(
        "conv1d_transpose",
        input,
        filters,
        output_shape,
        strides,
        padding,
        data_format,
        dilations,
        1,
    )


@published("nn.conv2d_transpose")
def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: PerAxis,
    padding: Padding = "SAME",
    data_format: str = "NHWC",
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv2d`: the gradient of a convolution by its input; filters are
    `(height, width, output, input channels)`.

    >>> import gradtape as tf
    >>> tf.nn.conv2d_transpose(
    ...     tf.ones([1, 1, 1, 1]), tf.ones([2, 2, 1, 1]), [1, 2, 2, 1], strides=2
    ... ).numpy().tolist()
    [[[[1.0], [1.0]], [[1.0], [1.0]]]]
    """
    return _convolve_transposed(
        "conv2d_transpose",
        input,
        filters,
        output_shape,
        strides,
        padding,
        data_format,
        dilations,
        2,
    )


@published("nn.conv3d_transpose")
def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: PerAxis,
    padding: Padding = "SAME",
    data_format: str = "NDHWC",
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv3d`: the gradient of a convolution by its input.

    >>> import gradtape as tf
    >>> tf.nn.conv3d_transpose(
    ...     tf.ones([1, 1, 1, 1, 1]), tf.ones([2, 1, 1, 1, 1]), [1, 2, 1, 1, 1], strides=[2, 1, 1]
    ... ).shape
    TensorShape([1, 2, 1, 1, 1])
    """
    return _convolve_transposed(
        "conv3d_transpose",
        input,
        filters,
        output_shape,
        strides,
        padding,
        data_format,
        dilations,
        3,
    )


@published("nn.conv_transpose")
def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: PerAxis,
    padding: Padding = "SAME",
    data_format: str | None = None,
    dilations: PerAxis = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `convolution`, for as many spatial axes as the filters have.

    >>> import gradtape as tf
    >>> tf.nn.conv_transpose(
    ...     tf.ones([1, 2, 1]), tf.ones([2, 1, 1]), [1, 4, 1], strides=2
    ... ).numpy().tolist()
    [[[1.0], [1.0], [1.0], [1.0]]]
    """
    return _convolve_transposed(
        "conv_transpose",
        input,
        filters,
        output_shape,
        strides,
        padding,
        data_format,
        dilations,
        None,
    )


@published("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    rate: int,
    padding: Padding,
    name: str | None = None,
) -> Tensor:
    """The transpose of `atrous_conv2d`; filters are `(height, width, output, input channels)`.

    >>> import gradtape as tf
    >>> tf.nn.atrous_conv2d_transpose(
    ...     tf.ones([1, 1, 1, 1]), tf.ones([2, 2, 1, 1]), [1, 3, 3, 1], 2, "VALID"
    ... )[0, :, :, 0].numpy()
    array([[1., 0., 1.],
           [0., 0., 0.],
           [1., 0., 1.]], dtype=float32)
    """
    return _convolve_transposed(
        "atrous_conv2d_transpose", value, filters, output_shape, 1, padding, None, rate, 2
    )
