"""`numpy.lib.stride_tricks` on Tensors: sliding windows."""

from __future__ import annotations

from typing import Any

from gradtape.api.numpy.operands import axis_of, tensor_of
from gradtape.api.numpy.shaping import moveaxis
from gradtape.api.tensorflow.arguments import TensorLike, integers
from gradtape.core.tensor import Tensor
from gradtape.ops.fourier import frames


def sliding_window_view(
    x: TensorLike,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Tensor:
    """The windows of a shape at every place where they fit,
    with the axes of the window behind those of the places.

    >>> import gradtape as tf
    >>> import numpy as np
    >>> np.lib.stride_tricks.sliding_window_view(tf.constant([1.0, 2.0, 3.0]), 2).numpy()
    array([[1., 2.],
           [2., 3.]], dtype=float32)
    """
    function = "sliding_window_view"
    found = tensor_of(x, function)
    rank = found.array.ndim
    sizes = integers(window_shape, f"{function}: window_shape")
    axes = (
        tuple(range(rank))
        if axis is None
        else tuple(axis_of(a, rank, function) for a in integers(axis, f"{function}: axis"))
    )
    if len(sizes) != len(axes):
        raise ValueError(
            f"{function}: window_shape has {len(sizes)} sizes for {len(axes)} axes: give "
            "one for each."
        )
    for size, along in zip(sizes, axes, strict=True):
        room = found.array.shape[along]
        if not 0 <= size <= room:
            raise ValueError(
                f"{function}: a window of {size} does not fit into axis {along}, which has {room} "
                "elements left."
            )
        found = moveaxis(frames(moveaxis(found, along, -1), length=size, step=1), -2, along)
    return found
