"""Keras's core functions: conversion, slices and updates, custom gradients; control flow has its
own file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable
from keras.src.backend.common.name_scope import name_scope

import gradtape as tf
from keras_gradtape.src.control_flow import (
    associative_scan,
    cond,
    fori_loop,
    map,
    scan,
    switch,
    vectorized_map,
    while_loop,
)
from keras_gradtape.src.conversion import SPARSE, cast_tensor, name_of
from keras_gradtape.src.conversion import convert_to_tensor as dense
from keras_gradtape.src.output_spec import compute_output_spec
from keras_gradtape.src.variable import Variable

__all__ = [
    "IS_THREAD_SAFE",
    "SUPPORTS_COMPLEX_DTYPES",
    "SUPPORTS_RAGGED_TENSORS",
    "SUPPORTS_SPARSE_TENSORS",
    "Variable",
    "associative_scan",
    "cast",
    "compute_output_spec",
    "cond",
    "convert_to_numpy",
    "convert_to_tensor",
    "custom_gradient",
    "device_scope",
    "fori_loop",
    "is_tensor",
    "map",
    "name_scope",
    "random_seed_dtype",
    "remat",
    "scan",
    "scatter",
    "scatter_update",
    "shape",
    "slice",
    "slice_update",
    "stop_gradient",
    "switch",
    "unstack",
    "vectorized_map",
    "while_loop",
]

SUPPORTS_SPARSE_TENSORS = True
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_COMPLEX_DTYPES = True
IS_THREAD_SAFE = True

Function = Callable[..., Any]


def convert_to_tensor(
    x: Any, dtype: Any = None, sparse: bool | None = None, ragged: bool | None = None
) -> Any:
    """`x` as a tensor of `dtype`. A sparse tensor stays sparse unless `sparse` is False; a
    RaggedTensor stays ragged.
    """
    if type(x) is tf.Tensor and dtype is None and not ragged:  # the common case
        return x
    if ragged:
        raise ValueError("The backend 'gradtape' has no ragged tensors: leave out `ragged=True`.")
    if isinstance(x, SPARSE) and sparse is not False:
        return x if dtype is None else x.with_values(cast_tensor(x.values, name_of(dtype)))
    if isinstance(x, tf.RaggedTensor):
        return x if dtype is None else tf.cast(x, name_of(dtype))
    return dense(x, dtype)


def convert_to_numpy(x: Any) -> np.ndarray[Any, Any]:
    """The values as a NumPy array of the caller's own; rows of a RaggedTensor are filled up with
    zeros.
    """
    if isinstance(x, tf.RaggedTensor):
        x = x.to_tensor()
    return np.array(dense(x) if isinstance(x, SPARSE) else x)


def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor of this backend."""
    return isinstance(x, (tf.Tensor, tf.RaggedTensor, *SPARSE))


def shape(x: Any) -> tuple[int, ...]:
    """The sizes of all axes."""
    return tuple(x.shape)


def cast(x: Any, dtype: Any) -> Any:
    """`x` in another dtype; a sparse tensor stays sparse."""
    return convert_to_tensor(x, dtype)


def scatter(indices: Any, values: Any, shape: Sequence[int]) -> tf.Tensor:
    """Zeros of `shape` with `values` added at `indices`."""
    return tf.scatter_nd(dense(indices), dense(values), shape)


def scatter_update(
    inputs: Any, indices: Any, updates: Any, reduction: str | None = None
) -> tf.Tensor:
    """`inputs` with the entries at `indices` set to `updates`, or combined with them."""
    inputs, indices = dense(inputs), dense(indices)
    updates = dense(updates, dtype=inputs.dtype)
    if reduction == "mul":
        return _scatter_multiply(inputs, indices, updates)
    if reduction not in _REDUCTIONS:
        raise ValueError(
            "scatter_update: reduction must be None, 'add', 'max', 'min' or 'mul', got "
            f"{reduction!r}."
        )
    return _REDUCTIONS[reduction](inputs, indices, updates)


_REDUCTIONS: dict[str | None, Function] = {
    None: tf.tensor_scatter_nd_update,
    "add": tf.tensor_scatter_nd_add,
    "max": tf.tensor_scatter_nd_max,
    "min": tf.tensor_scatter_nd_min,
}


def _scatter_multiply(inputs: tf.Tensor, indices: tf.Tensor, updates: tf.Tensor) -> tf.Tensor:
    """Every entry times the product of what belongs to it."""
    depth = indices.shape[-1]
    sizes, rest = tuple(inputs.shape)[:depth], tuple(inputs.shape)[depth:]
    flat = tf.reshape(_flat_index(tf.unstack(indices, axis=-1), sizes), [-1])
    factors = tf.math.unsorted_segment_prod(
        tf.reshape(updates, [-1, *rest]), flat, math.prod(sizes)
    )
    return inputs * tf.reshape(factors, inputs.shape)


def _flat_index(indices: Sequence[Any], sizes: Sequence[int]) -> Any:
    """One index into an array with some axes made one; negative indices count from the end."""
    flat: Any = 0
    for index, size in zip(indices, sizes, strict=True):
        flat = flat * size + tf.where(index < 0, index + size, index)
    return flat


def slice(inputs: Any, start_indices: Any, shape: Sequence[int]) -> tf.Tensor:
    """The block of `shape` that begins at `start_indices`; -1 goes to the end of an axis."""
    inputs = dense(inputs)
    starts = _starts(start_indices)
    if len(starts) != len(shape):
        raise ValueError(
            f"slice: start_indices={start_indices} and shape={shape} must have the same length."
        )
    return tf.slice(inputs, starts, [int(size) for size in shape])


def _starts(start_indices: Any) -> list[Any]:
    """Where a block begins: Python numbers, or scalar tensors that only a program will know."""
    starts = (
        start_indices
        if isinstance(start_indices, (list, tuple))
        else list(tf.unstack(dense(start_indices)))
    )
    return [start if tf.is_symbolic_tensor(start) else int(start) for start in starts]


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> tf.Tensor:
    """`inputs` with the block that begins at `start_indices` replaced by `updates`."""
    inputs = dense(inputs)
    updates = dense(updates, dtype=inputs.dtype)
    starts, whole, block = _starts(start_indices), tuple(inputs.shape), tuple(updates.shape)
    depth = len(whole)
    while depth and whole[depth - 1] == block[depth - 1]:  # the last axes are replaced as a whole
        depth -= 1
    if not depth:
        return updates
    places: Any = 0
    for axis in range(depth):
        last = whole[axis] - block[axis]  # as far as the block can begin
        start = (
            tf.clip_by_value(starts[axis], 0, last)
            if tf.is_symbolic_tensor(starts[axis])
            else min(max(starts[axis], 0), last)
        )
        along = np.arange(block[axis], dtype=np.int32).reshape([-1] + [1] * (depth - axis - 1))
        places = places * whole[axis] + (start + along)
    rows = tf.reshape(inputs, [math.prod(whole[:depth]), *whole[depth:]])
    changed = tf.tensor_scatter_nd_update(
        rows, tf.reshape(places, [-1, 1]), tf.reshape(updates, [-1, *whole[depth:]])
    )
    return tf.reshape(changed, whole)


def stop_gradient(variable: Any) -> tf.Tensor:
    """The value, through which no gradient flows."""
    return tf.stop_gradient(dense(variable))


def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[tf.Tensor]:
    """The entries along an axis."""
    return list(tf.unstack(dense(x), num, axis))


def random_seed_dtype() -> str:
    """The dtype of Keras's seeds."""
    return "uint32"


def custom_gradient(fun: Function) -> Function:
    """A function whose gradient is the one that it returns beside its result."""
    with_gradient = tf.custom_gradient(fun)

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree.map_structure(
            lambda leaf: leaf.value if isinstance(leaf, KerasVariable) else leaf, (args, kwargs)
        )
        return with_gradient(*args, **kwargs)

    return call


def remat(f: Function) -> Function:
    """A function like `f` that keeps only its arguments for the backward step,
    and runs again then.
    """
    return tf.recompute_grad(f)


def device_scope(device_name: Any) -> AbstractContextManager[None]:
    """Runs a block on a device with one of Keras's names for it, such as "gpu:0"."""
    if not isinstance(device_name, str):
        raise ValueError(
            f"device_name must be a string such as 'cpu:0' or 'gpu:0', got {device_name!r}."
        )
    return tf.device(f"/{device_name.lower().replace('cuda', 'gpu')}")
