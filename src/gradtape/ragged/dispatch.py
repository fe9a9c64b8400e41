"""Which function stands in for which if an argument is a RaggedTensor: for those that do not work
element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape.api.tensorflow import (
    buckets,
    clipping,
    counting,
    creation,
    indexing,
    joining,
    reductions,
    shaping,
)
from gradtape.api.tensorflow.nn import activations, dropout, embeddings
from gradtape.functions import control_flow
from gradtape.ragged import dynamic_shape, mapping, structure
from gradtape.ragged import indexing as ragged_indexing
from gradtape.ragged import reductions as ragged_reductions


def _boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str = "boolean_mask") -> Any:
    if axis not in (None, 0):
        raise ValueError("boolean_mask: of a RaggedTensor, axis must be 0.")
    return structure.boolean_mask(tensor, mask)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    buckets.pad_to_bucket: structure.pad_to_bucket,
    counting.bincount: ragged_reductions.bincount,
    reductions.reduce_sum: ragged_reductions.reduce_sum,
    reductions.reduce_mean: ragged_reductions.reduce_mean,
    reductions.reduce_prod: ragged_reductions.reduce_prod,
    reductions.reduce_max: ragged_reductions.reduce_max,
    reductions.reduce_min: ragged_reductions.reduce_min,
    reductions.reduce_any: ragged_reductions.reduce_any,
    reductions.reduce_all: ragged_reductions.reduce_all,
    reductions.reduce_variance: ragged_reductions.reduce_variance,
    reductions.reduce_std: ragged_reductions.reduce_std,
    activations.softmax: ragged_reductions.softmax,
    indexing.gather: ragged_indexing.gather,
    indexing.boolean_mask: _boolean_mask,
    indexing.where: structure.where,
    embeddings.embedding_lookup: ragged_indexing.embedding_lookup,
    joining.concat: structure.concat,
    joining.stack: structure.stack,
    shaping.expand_dims: structure.expand_dims,
    shaping.squeeze: structure.squeeze,
    joining.tile: structure.tile,
    shaping.reverse: structure.reverse,
    clipping.clip_by_value: structure.clip_by_value,
    dropout.dropout: structure.dropout,
    creation.shape: dynamic_shape.shape,
    creation.size: structure.size,
    creation.rank: structure.rank,
    creation.zeros_like: structure.zeros_like,
    creation.ones_like: structure.ones_like,
    creation.stop_gradient: structure.stop_gradient,
    creation.one_hot: structure.one_hot,
    control_flow.map_fn: mapping.map_fn,
}
