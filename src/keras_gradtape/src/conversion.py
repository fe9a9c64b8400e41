"""Conversion of any value to a tensor, with Keras's dtypes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.config import floatx

import gradtape as tf

SPARSE = (tf.SparseTensor, tf.IndexedSlices)
"""The tensors that are mostly zero: single values, or whole rows."""

_PYTHON_NUMBERS = frozenset((bool, int, float))


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype for one of Keras's names."""
    return np.dtype(tf.as_dtype(name).as_numpy_dtype)


@cache
def name_of(dtype: Any) -> str:
    """Keras's name for a dtype, which anybody may have named."""
    return str(standardize_dtype(dtype))


@cache
def _dtype_of_number(kind: type, floatx: str) -> str:
    """Keras's dtype for Python's numbers; `floatx` is what that of a float depends on."""
    return str(result_type(kind))


def convert_to_tensor(x: Any, dtype: Any = None) -> tf.Tensor:
    """`x` as a dense tensor of `dtype`; plain integers get 32 bits, and Python floats those of
    `floatx`, unless `dtype` says otherwise.
    """
    if type(x) is tf.Tensor and dtype is None:  # the common case
        return x
    if isinstance(x, KerasVariable):
        x = x.value
    elif isinstance(x, tf.Variable):
        x = x.tensor()
    elif isinstance(x, SPARSE):
        x = _dense(x)
    elif isinstance(x, tf.RaggedTensor):
        return tf.convert_to_tensor(x)  # raises, and says what to do
    if isinstance(x, tf.Tensor):
        return x if dtype is None else cast_tensor(x, name_of(dtype))
    if type(x) in _PYTHON_NUMBERS:
        name = _dtype_of_number(x.__class__, floatx()) if dtype is None else name_of(dtype)
        return tf.Tensor(_array(x, numpy_dtype(name))[()])
    x = _from_elsewhere(x)
    if dtype is None and isinstance(x, np.ndarray) and x.dtype.kind in "OSU":
        return tf.constant(x)  # strings, which Keras has no dtype of NumPy's for
    leaves = tree.flatten(x)
    if dtype is None:
        dtype = result_type(*[getattr(leaf, "dtype", type(leaf)) for leaf in leaves])
    dtype = name_of(dtype)
    if isinstance(x, (list, tuple)) and any(
        isinstance(leaf, (tf.Tensor, tf.Variable, KerasVariable)) for leaf in leaves
    ):
        return tf.convert_to_tensor(
            tree.map_structure(lambda leaf: convert_to_tensor(leaf, dtype), x)
        )
    if dtype == "string":
        return tf.constant(x)
    return tf.Tensor(_array(x, numpy_dtype(dtype))[()])


def _dense(x: Any) -> tf.Tensor:
    """A sparse tensor with all its zeros."""
    if isinstance(x, tf.IndexedSlices):
        return tf.convert_to_tensor(x)
    return (
        tf.sparse.to_dense(x, validate_indices=False) if x.shape.rank else tf.reduce_sum(x.values)
    )


def _from_elsewhere(x: Any) -> Any:
    """The array of a sparse matrix of another library's, SciPy's, JAX's or TensorFlow's;
    anything else as it is.
    """
    if hasattr(x, "todense"):
        return np.asarray(x.todense())
    if all(hasattr(x, part) for part in ("indices", "values", "dense_shape")):
        dense = np.zeros(np.asarray(x.dense_shape), np.asarray(x.values).dtype)
        np.add.at(dense, tuple(np.asarray(x.indices).T), np.asarray(x.values))
        return dense
    return x


def _array(x: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A new array: what a tensor holds is nobody else's to change."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.array(x, dtype=dtype)
    made = np.asarray(x)  # an object that gives its own array may give the same one again
    return made.astype(
        dtype,
        copy=made.dtype != dtype or not isinstance(x, (bool, int, float, complex, list, tuple)),
    )


def cast_tensor(x: tf.Tensor, dtype: str) -> tf.Tensor:
    """`x` in another dtype, or as it is."""
    return x if x.dtype.name == dtype else tf.cast(x, dtype)
