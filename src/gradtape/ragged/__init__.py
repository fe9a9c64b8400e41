"""Tensors with rows of different lengths."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.ragged.creation import (
    boolean_mask,
    constant,
    cross,
    map_flat_values,
    row_splits_to_segment_ids,
    segment_ids_to_row_splits,
    stack,
)
from gradtape.ragged.creation import cross as cross_hashed
from gradtape.ragged.creation import range_ as range

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "boolean_mask", "constant", "cross", "cross_hashed", "map_flat_values", "range",
    "row_splits_to_segment_ids", "segment_ids_to_row_splits", "stack",
]  # fmt: skip
