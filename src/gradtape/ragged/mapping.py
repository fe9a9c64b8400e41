"""`tf.map_fn` over the rows of RaggedTensors, and with rows of any length as results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.api.tensorflow import creation, joining
from gradtape.dtypes import as_dtype
from gradtape.ragged.spec import RaggedTensorSpec
from gradtape.ragged.structure import one_after_another, ragged_or_tensor, with_ragged_rank
from gradtape.ragged.tensor import RaggedTensor


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """`tf.map_fn`: a result that the signature calls ragged, or that has none and is no scalar,
    is a row; other results are stacked.
    """
    if not callable(fn):
        raise TypeError(f"map_fn: fn must be callable, got {fn!r}.")
    leaves = [ragged_or_tensor(leaf, "map_fn: elems") for leaf in nest.flatten(elems)]
    counts = {_count(leaf) for leaf in leaves}
    if len(counts) > 1:
        raise ValueError(
            "map_fn: the tensors of elems must have the same first dimension, got "
            f"{sorted(counts)}."
        )
    signature = dtype if fn_output_signature is None else fn_output_signature
    results = [
        fn(nest.pack_sequence_as(elems, [leaf[i] for leaf in leaves])) for i in range(counts.pop())
    ]
    if not results:
        return _none_of(elems if signature is None else signature)
    specs: Sequence[Any] = (
        nest.flatten(signature) if signature is not None else [None] * len(nest.flatten(results[0]))
    )
    columns = zip(*[nest.flatten(result) for result in results], strict=True)
    stacked = [_stacked(column, spec) for column, spec in zip(columns, specs, strict=True)]
    return nest.pack_sequence_as(results[0], stacked) if nest.is_nested(results[0]) else stacked[0]


def _count(leaf: Any) -> int:
    if isinstance(leaf, RaggedTensor):
        return leaf.rows
    if not leaf.ndim:
        raise ValueError(
            "map_fn: the tensors of elems must have at least one dimension, got a scalar."
        )
    return int(leaf.array.shape[0])


def _stacked(column: Sequence[Any], spec: Any) -> Any:
    results = [ragged_or_tensor(result, "map_fn: a result of fn") for result in column]
    ragged = [result for result in results if isinstance(result, RaggedTensor)]
    if isinstance(spec, RaggedTensorSpec):
        depth, splits = spec.ragged_rank, spec.row_splits_dtype.numpy
    elif ragged or (spec is None and results[0].ndim):
        depth = max((result.ragged_rank for result in ragged), default=0)
        splits = np.dtype(np.int64)
    else:
        return joining.stack(results)
    if any(not isinstance(result, RaggedTensor) and not result.ndim for result in results):
        raise ValueError("map_fn: fn_output_signature is a RaggedTensorSpec, but fn gave a scalar.")
    rows = [with_ragged_rank(result, depth) for result in results]
    lengths = [_count(row) for row in rows]
    return RaggedTensor.from_row_lengths(one_after_another(rows), np.array(lengths, splits))


def _none_of(signature: Any) -> Any:
    """The result where there is nothing to map over: its kind is that of the signature."""
    return nest.map_structure(_none_like, signature)


def _none_like(spec: Any) -> Any:
    if isinstance(spec, RaggedTensor):  # of the elements, where no signature is given
        return spec
    if isinstance(spec, RaggedTensorSpec):
        found: Any = creation.zeros([0], spec.dtype)
        for _ in range(spec.ragged_rank + 1):
            found = RaggedTensor.from_row_splits(found, np.zeros(1, spec.row_splits_dtype.numpy))
        return found
    shape = getattr(spec, "shape", None)
    sizes = [] if shape is None or shape.rank is None else [size or 0 for size in shape]
    return creation.zeros([0, *sizes], as_dtype(getattr(spec, "dtype", spec)))
