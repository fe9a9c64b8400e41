"""Keras's functions that change shapes: reshape, transpose, join, split, repeat, pad, diagonals."""

from __future__ import annotations

from typing import Any

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops import sparse
from keras_gradtape.src.ops.numpy.declare import splitting, stacking, unary
from keras_gradtape.src.ops.operands import tensors

copy = unary("copy", linear=True)
ravel = unary("ravel")
fliplr = unary("fliplr")
flipud = unary("flipud")
vstack = stacking("vstack")
hstack = stacking("hstack")
dstack = stacking("dstack")
vsplit = splitting("vsplit")
hsplit = splitting("hsplit")
dsplit = splitting("dsplit")


def ndim(x: Any) -> int:
    """The number of axes."""
    return convert_to_tensor(x).ndim


def size(x: Any) -> Any:
    """The number of elements."""
    return gnp.size(convert_to_tensor(x))


def reshape(x: Any, newshape: Any) -> Any:
    """The same elements in another shape."""
    if isinstance(x, tf.SparseTensor):
        return tf.sparse.reshape(x, newshape)
    return gnp.reshape(convert_to_tensor(x), newshape)


def transpose(x: Any, axes: Any = None) -> Any:
    """The axes in another order."""
    if isinstance(x, tf.SparseTensor):
        return tf.sparse.transpose(x, axes)
    return gnp.transpose(convert_to_tensor(x), axes)


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """Some axes moved to other places."""
    return gnp.moveaxis(convert_to_tensor(x), source, destination)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    return gnp.swapaxes(convert_to_tensor(x), axis1, axis2)


def expand_dims(x: Any, axis: Any) -> Any:
    """New axes of size 1."""
    if isinstance(x, tf.SparseTensor):
        return sparse.expanded(x, axis)
    return gnp.expand_dims(convert_to_tensor(x), axis)


def squeeze(x: Any, axis: Any = None) -> Any:
    """Without axes of size 1."""
    if isinstance(x, tf.SparseTensor):
        return sparse.squeezed(x, axis)
    return gnp.squeeze(convert_to_tensor(x), axis)


def broadcast_to(x: Any, shape: Any) -> Any:
    """The same elements repeated to a larger shape."""
    return gnp.broadcast_to(convert_to_tensor(x), shape)


def flip(x: Any, axis: Any = None) -> Any:
    """The elements along axes in reverse order."""
    return gnp.flip(convert_to_tensor(x), axis)


def rot90(array: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turned by `k` right angles in the plane of two axes."""
    array = convert_to_tensor(array)
    if array.ndim < 2:
        raise ValueError(
            f"Input array must have at least 2 dimensions. Received: array.ndim={array.ndim}"
        )
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    return gnp.rot90(array, k, axes)


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """The elements moved along axes; what leaves at the end comes in at the beginning."""
    return gnp.roll(convert_to_tensor(x), shift, axis)


def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element so many times."""
    return gnp.repeat(convert_to_tensor(x), repeats, axis)


def tile(x: Any, repeats: Any) -> Any:
    """The whole so many times along each axis."""
    return gnp.tile(convert_to_tensor(x), repeats)


def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Any:
    """More elements at the ends of the axes."""
    x = convert_to_tensor(x)
    if constant_values is None:
        return gnp.pad(x, pad_width, mode)
    if mode != "constant":
        raise ValueError(
            "Argument `constant_values` can only be provided when `mode == 'constant'`. Received: "
            f"mode={mode}"
        )
    return gnp.pad(x, pad_width, mode, constant_values=constant_values)


# Joining and splitting


def concatenate(xs: Any, axis: Any = 0) -> Any:
    """Tensors joined along an axis."""
    if all(isinstance(x, tf.SparseTensor) for x in xs):
        return tf.sparse.concat(axis, list(xs))
    return gnp.concatenate(tensors(tuple(xs)), axis)


def stack(x: Any, axis: int = 0) -> Any:
    """Tensors joined along a new axis."""
    return gnp.stack(tensors(tuple(x)), axis)


def append(x1: Any, x2: Any, axis: Any = None) -> Any:
    """`x2` after `x1`."""
    x1, x2 = tensors((x1, x2))
    return gnp.append(x1, x2, axis)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """A list of equal parts, or of the parts between indices."""
    return gnp.split(convert_to_tensor(x), indices_or_sections, axis)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """A list of parts of about the same size, or of the parts between indices."""
    return gnp.array_split(convert_to_tensor(x), indices_or_sections, axis)


# Diagonals and triangles


def diag(x: Any, k: int = 0) -> Any:
    """A diagonal of a matrix, or the matrix that has a vector as its diagonal."""
    return gnp.diag(convert_to_tensor(x), k)


def diagflat(x: Any, k: int = 0) -> Any:
    """The matrix with all elements of `x` on a diagonal."""
    return gnp.diagflat(convert_to_tensor(x), k)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals in the plane of two axes."""
    return gnp.diagonal(convert_to_tensor(x), offset, axis1, axis2)


def tril(x: Any, k: int = 0) -> Any:
    """Zeros above a diagonal."""
    return gnp.tril(convert_to_tensor(x), k)


def triu(x: Any, k: int = 0) -> Any:
    """Zeros below a diagonal."""
    return gnp.triu(convert_to_tensor(x), k)
