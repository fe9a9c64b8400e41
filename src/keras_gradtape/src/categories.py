"""What Keras's layers for categories share: numbers of categories as rows of zeros and ones, or of
counts.

Keras's own function encodes dense tensors. Of a SparseTensor and of a RaggedTensor, only the
numbers that are there are counted, as on TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import gradtape as tf
from keras_gradtape import as_tensorflow

Function = Callable[..., Any]
_COUNTING = ("multi_hot", "count")


def encode(
    encode_dense: Function,
    inputs: Any,
    output_mode: str,
    depth: int,
    dtype: Any,
    sparse: bool = False,
    count_weights: Any = None,
    backend_module: Any = None,
) -> Any:
    """`inputs` encoded as `output_mode` says; `encode_dense` is Keras's own function."""
    how = {"output_mode": output_mode, "depth": depth, "dtype": dtype, "sparse": sparse}
    if output_mode != "int":
        if isinstance(inputs, tf.SparseTensor):
            return _of_sparse(inputs, weights=count_weights, **how)
        if isinstance(inputs, tf.RaggedTensor):
            return _of_ragged(inputs, weights=count_weights, **how)
        if sparse:
            backend_module = import_module("keras_gradtape.src")
        if output_mode in _COUNTING and len(inputs.shape) < 3:
            _refuse_negative(inputs)
            if not (sparse or tf.is_symbolic_tensor(inputs) or count_weights is not None):
                inputs = tf.cast(inputs, "int64")
                backend_module = as_tensorflow.backend
    return encode_dense(inputs, count_weights=count_weights, backend_module=backend_module, **how)


def check_boundaries(boundaries: Any) -> None:
    """Raises if the boundaries of bins do not rise."""
    if np.any(np.diff(boundaries) < 0):
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"Discretization: bin_boundaries must rise, got {list(boundaries)}: give them sorted.",
        )


def _of_sparse(
    x: tf.SparseTensor, output_mode: str, depth: int, dtype: Any, sparse: bool, weights: Any
) -> Any:
    rank = len(x.shape)
    if output_mode == "one_hot" or rank > 2:
        raise ValueError(
            f"output_mode={output_mode!r} does not take a SparseTensor of shape {tuple(x.shape)}: "
            "use 'multi_hot' or 'count' with one or two dimensions, or give "
            "tf.sparse.to_dense(inputs)."
        )
    if weights is not None:
        _check_weights(weights, tf.SparseTensor)
        weights = weights.values
    if sparse:  # TensorFlow leaves them out of dense results
        _refuse_negative(x.values)
    rows = x.indices[:, 0] if rank == 2 else tf.zeros_like(x.indices[:, 0])
    found = _counts(
        rows, x.values, x.shape[0] if rank == 2 else 1, output_mode, depth, dtype, sparse, weights
    )
    if rank == 2:
        return found
    return tf.sparse.reshape(found, [depth]) if sparse else tf.reshape(found, [depth])


def _of_ragged(
    x: tf.RaggedTensor, output_mode: str, depth: int, dtype: Any, sparse: bool, weights: Any
) -> Any:
    if weights is not None:
        _check_weights(weights, tf.RaggedTensor)
    if output_mode in _COUNTING and x.shape.rank == 2:
        _refuse_negative(x.flat_values)
        rows = tf.cast(x.value_rowids(), "int64")
        given = None if weights is None else weights.flat_values
        return _counts(
            rows, x.flat_values, int(x.nrows()), output_mode, depth, dtype, sparse, given
        )
    if sparse:
        raise ValueError(
            f"sparse=True with output_mode={output_mode!r} does not take a RaggedTensor of rank "
            f"{x.shape.rank}: leave out sparse=True, or give inputs.to_tensor()."
        )
    found = tf.ragged.map_flat_values(
        lambda numbers: tf.one_hot(tf.cast(numbers, "int64"), depth, dtype=dtype), x
    )
    if output_mode == "one_hot":
        return found
    if weights is not None:
        found = found * tf.expand_dims(weights, -1)
    # Keras adds up along this axis for every rank.
    return (tf.reduce_sum if output_mode == "count" else tf.reduce_max)(found, axis=1)


def _counts(
    rows: Any,
    numbers: Any,
    height: int,
    output_mode: str,
    depth: int,
    dtype: Any,
    sparse: bool,
    weights: Any,
) -> Any:
    """How often each number is in each row, or whether it is; numbers that are no categories are
    left out.
    """
    numbers = tf.cast(numbers, "int64")
    places = tf.where((numbers >= 0) & (numbers < depth), rows * depth + numbers, -1)
    binary = output_mode == "multi_hot"
    values = tf.ones_like(places, dtype=dtype) if weights is None else tf.cast(weights, dtype)
    if sparse:
        known, group = np.unique(np.asarray(places), return_inverse=True)
        start = int(len(known) > 0 and known[0] < 0)
        added = tf.math.unsorted_segment_sum(values, group, len(known))[start:]
        indices = np.stack(np.divmod(known[start:], depth), axis=1)
        return tf.SparseTensor(indices, tf.ones_like(added) if binary else added, (height, depth))
    added = tf.math.unsorted_segment_sum(values, places, height * depth)
    found = tf.reshape(added, [height, depth])
    return tf.cast(found > 0, dtype) if binary else found


def _refuse_negative(numbers: Any) -> None:
    """Raises for a negative number, where it is known."""
    if tf.is_symbolic_tensor(numbers):
        return
    lowest = np.min(np.asarray(numbers), initial=0)
    if lowest < 0:
        raise tf.errors.InvalidArgumentError(
            None,
            None,
            f"Numbers of categories must not be negative, got {lowest}: give numbers from 0 on, or "
            "use output_mode='one_hot', which gives zeros for them.",
        )


def _check_weights(weights: Any, kind: type) -> None:
    if not isinstance(weights, kind):
        raise ValueError(
            f"count_weights must be a {kind.__name__} as the inputs are, with one weight for each "
            f"of their values, got {type(weights).__name__}."
        )
