"""Anything into a tensor, with Keras's dtypes: what all of this package's functions begin with."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.dtypes import result_type

import gradtape as tf

SPARSE = (tf.SparseTensor, tf.IndexedSlices)
"""The tensors that are mostly zero: single values, or whole rows."""


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype for one of Keras's names."""
    return np.dtype(tf.as_dtype(name).as_numpy_dtype)


def convert_to_tensor(x: Any, dtype: Any = None) -> tf.Tensor:
    """`x` as a dense tensor of `dtype`; plain values get 32 bits unless `dtype` says otherwise."""
    if type(x) is tf.Tensor and dtype is None:  # the common case
        return x
    if isinstance(x, KerasVariable):
        x = x.value
    elif isinstance(x, tf.Variable):
        x = x.tensor()
    elif isinstance(x, SPARSE):
        x = _dense(x)
    if isinstance(x, tf.Tensor):
        return x if dtype is None else cast_tensor(x, standardize_dtype(dtype))
    leaves = tree.flatten(x)
    if dtype is None:
        dtype = result_type(*[getattr(leaf, "dtype", type(leaf)) for leaf in leaves])
    dtype = standardize_dtype(dtype)
    if isinstance(x, (list, tuple)) and any(isinstance(leaf, (tf.Tensor, tf.Variable, KerasVariable)) for leaf in leaves):
        return tf.convert_to_tensor(tree.map_structure(lambda leaf: convert_to_tensor(leaf, dtype), x))
    if dtype == "string":
        return tf.constant(x)
    return tf.Tensor(_array(x, numpy_dtype(dtype))[()])


def _dense(x: Any) -> tf.Tensor:
    """A sparse tensor with all its zeros."""
    if isinstance(x, tf.IndexedSlices):
        return tf.convert_to_tensor(x)
    return tf.sparse.to_dense(x, validate_indices=False) if x.shape.rank else tf.reduce_sum(x.values)


def _array(x: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A new array: what a tensor holds is nobody else's to change."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.array(x, dtype=dtype)
    made = np.asarray(x)  # an object that gives its own array may give the same one again
    return made.astype(dtype, copy=made.dtype != dtype or not isinstance(x, (bool, int, float, complex, list, tuple)))


def cast_tensor(x: tf.Tensor, dtype: str) -> tf.Tensor:
    """`x` in another dtype, or as it is."""
    return x if x.dtype.name == dtype else tf.cast(x, dtype)
