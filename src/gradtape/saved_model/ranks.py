"""Arguments of unknown rank in a SavedModel: a function has a program for each rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape import nest
from gradtape.shapes import TensorSpec

MOST_AXES = 4


def of_every_rank(kind: Any) -> list[Any]:
    """The kinds of arguments that a kind stands for: itself, or, where it leaves ranks open, one
    for each number of axes, which all these arguments have.
    """
    if not any_rank_is_open(kind):
        return [kind]

    def with_rank(rank: int) -> Any:
        return nest.map_structure(
            lambda leaf: (
                TensorSpec([None] * rank, leaf.dtype, leaf.name) if _has_open_rank(leaf) else leaf
            ),
            kind,
        )

    return [with_rank(rank) for rank in range(MOST_AXES + 1)]


def any_rank_is_open(kind: Any) -> bool:
    return any(_has_open_rank(leaf) for leaf in nest.flatten(kind))


def _has_open_rank(leaf: Any) -> bool:
    return isinstance(leaf, TensorSpec) and leaf.shape.rank is None


def common(kinds: Sequence[Any]) -> Any:
    """The narrowest kind that all `kinds` are of, which differ in shapes alone."""
    return nest.map_structure(_common_spec, *kinds)


def _common_spec(first: Any, *others: Any) -> Any:
    if not isinstance(first, TensorSpec):
        return first
    found = first.shape
    for other in others:
        found = found.most_specific_compatible_shape(other.shape)
    return TensorSpec(found, first.dtype, first.name)


def differ_in_shapes_alone(one: Any, other: Any) -> bool:
    """Whether two kinds have the same structure, dtypes, names and plain values."""
    try:
        nest.assert_same_structure(one, other)
    except (ValueError, TypeError):
        return False
    return all(
        (a.dtype, a.name) == (b.dtype, b.name)
        if isinstance(a, TensorSpec) and isinstance(b, TensorSpec)
        else type(a) is type(b) and a == b
        for a, b in zip(nest.flatten(one), nest.flatten(other), strict=True)
    )
