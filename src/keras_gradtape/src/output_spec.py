"""`compute_output_spec`: the shapes and dtypes of a function's results, found by tracing it without
computing anything.

An unknown size is replaced by two different numbers in turn; result sizes that change depend on it.
Whether a result is sparse depends on indices that a program does not know: with sparse arguments
the function is really computed, on ones. So is a function that XLA cannot compile, because its
shapes depend on values: on ones and on other values, and result sizes that change depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend.common import standardize_dtype
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope

import gradtape as tf
from keras_gradtape.src.variable import at_once

_SIZES = (83, 89)  # prime, so that no product or quotient of sizes in a model looks like them


def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What `fn` would return for KerasTensors among its arguments,
    with KerasTensors for tensors.
    """
    leaves = tree.flatten((args, kwargs))
    symbolic = [leaf for leaf in leaves if isinstance(leaf, KerasTensor)]

    is_sparse = any(leaf.sparse for leaf in symbolic)

    def result(tensors: Sequence[Any]) -> Any:
        given = iter(tensors)
        filled = [next(given) if isinstance(leaf, KerasTensor) else leaf for leaf in leaves]
        run_args, run_kwargs = tree.pack_sequence_as((args, kwargs), filled)
        with StatelessScope():
            return tree.map_structure(_spec, fn(*run_args, **run_kwargs))

    def computed(size: int, fill: Callable[..., Any]) -> Any:
        with at_once():
            return result([fill(_filled(leaf.shape, size), leaf) for leaf in symbolic])

    def traced(size: int) -> Any:
        """None if XLA cannot compile it."""
        found: list[Any] = []
        program = tf.function(
            lambda *tensors: found.append(result(tensors)), autograph=False
        ).get_concrete_function(
            *(tf.TensorSpec(_filled(leaf.shape, size), leaf.dtype) for leaf in symbolic)
        )
        return None if program.runs_eagerly else found[-1]

    sizes = _SIZES if any(None in leaf.shape for leaf in symbolic) else _SIZES[:1]
    with StatelessScope(), SymbolicScope():
        found = [] if is_sparse else [traced(size) for size in sizes]
        if any(spec is None for spec in found):
            found = [computed(size, fill) for size in sizes for fill in _FILLS]
        elif is_sparse:
            found = [computed(size, _ones) for size in sizes]
        return reduce(lambda first, second: tree.map_structure(_common, first, second), found)


def _filled(shape: Sequence[int | None], size: int) -> list[int]:
    return [size if given is None else given for given in shape]


def _ones(shape: Sequence[int], like: KerasTensor) -> Any:
    """Ones of a shape; a sparse tensor has one in its first place."""
    if not like.sparse:
        return tf.ones(shape, like.dtype)
    return tf.SparseTensor(np.zeros([1, len(shape)], np.int64), tf.ones([1], like.dtype), shape)


def _random(seed: int, shape: Sequence[int], like: KerasTensor) -> Any:
    """Numbers of both signs, the same for the same seed; zeros and ones if they are whole
    numbers.
    """
    numbers = np.random.default_rng(seed).uniform(-1.0, 1.0, shape)
    dtype = tf.as_dtype(like.dtype)
    return tf.cast(numbers if dtype.is_floating or dtype.is_complex else numbers > 0, dtype)


_FILLS: list[Callable[..., Any]] = [_ones, *(partial(_random, seed) for seed in range(4))]


def _spec(leaf: Any) -> Any:
    if not isinstance(leaf, (tf.Tensor, tf.SparseTensor)):
        return leaf
    return KerasTensor(
        tuple(leaf.shape), standardize_dtype(leaf.dtype), sparse=isinstance(leaf, tf.SparseTensor)
    )


def _common(first: Any, second: Any) -> Any:
    """A result of which both tries know: sizes that differ are not known."""
    if not isinstance(first, KerasTensor):
        return first
    shape = tuple(a if a == b else None for a, b in zip(first.shape, second.shape, strict=True))
    return KerasTensor(shape, first.dtype, sparse=first.sparse)
