"""`compute_output_spec`: the shapes and dtypes of a function's results, found by tracing it without
computing anything.

An unknown size is replaced by two different numbers in turn; result sizes that change depend on it.
Whether a result is sparse depends on indices that a program does not know: with sparse arguments
the function is really computed, on ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    def tried(size: int) -> Any:
        shapes = [_filled(leaf.shape, size) for leaf in symbolic]
        found: list[Any] = []

        def run(*tensors: Any) -> None:
            given = iter(tensors)
            filled = [next(given) if isinstance(leaf, KerasTensor) else leaf for leaf in leaves]
            run_args, run_kwargs = tree.pack_sequence_as((args, kwargs), filled)
            with StatelessScope():
                found.append(tree.map_structure(_spec, fn(*run_args, **run_kwargs)))

        if any(leaf.sparse for leaf in symbolic):
            with at_once():
                run(*map(_ones, symbolic, shapes))
        else:
            specs = [
                tf.TensorSpec(shape, leaf.dtype)
                for leaf, shape in zip(symbolic, shapes, strict=True)
            ]
            tf.function(run, autograph=False).get_concrete_function(*specs)
        return found[-1]

    with StatelessScope(), SymbolicScope():
        first = tried(_SIZES[0])
        if not any(None in leaf.shape for leaf in symbolic):
            return first
        return tree.map_structure(_common, first, tried(_SIZES[1]))


def _filled(shape: Sequence[int | None], size: int) -> list[int]:
    return [size if given is None else given for given in shape]


def _ones(like: KerasTensor, shape: Sequence[int]) -> Any:
    """Ones of a shape; a sparse tensor has one in its first place."""
    if not like.sparse:
        return tf.ones(shape, like.dtype)
    return tf.SparseTensor(np.zeros([1, len(shape)], np.int64), tf.ones([1], like.dtype), shape)


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
