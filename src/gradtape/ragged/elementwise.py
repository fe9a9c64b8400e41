"""Ops that work element by element, on RaggedTensors: they run on the flat values.

Ragged arguments must have the same rows. A tensor beside them is broadcast: a scalar, or a tensor
whose axes fit those of the rows or have size 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from gradtape.api.tensorflow.indexing import gather
from gradtape.api.tensorflow.logic import equal as tensors_equal
from gradtape.api.tensorflow.logic import not_equal as tensors_not_equal
from gradtape.api.tensorflow.shaping import reshape
from gradtape.convert import beside
from gradtape.core.composite import CompositeError, CompositeOperand
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ragged import partitions
from gradtape.ragged.tensor import RaggedTensor


class RaggedOperand(CompositeOperand):
    """A RaggedTensor among the arguments of an op."""

    __slots__ = ()

    def call(self, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """The op on the flat values, if it takes each element to the one in its place."""
        if not op.by_element:
            self.refuse(op.name)
        read = [a.composite if isinstance(a, RaggedOperand) else a for a in args]
        strong = self.array.dtype
        tensors = [
            a if isinstance(a, (RaggedTensor, Tensor))
            else Tensor(beside(a, None if i in op.apart else strong, op.name))
            for i, a in enumerate(read)
        ]  # fmt: skip
        like, flat = lined_up(tensors, op.name)
        return like.with_flat_values(op.call(*flat, **params))

    def refuse(self, function: str | None = None) -> NoReturn:
        who = "This function" if function is None else function
        raise CompositeError(
            f"{who} does not take a RaggedTensor: call it on `to_tensor()`, or on the flat values "
            "with gradtape.ragged.map_flat_values.",
            instead_of,
        )


def instead_of(function: Any) -> Any:
    """What stands in for a function of tensors; None if nothing does."""
    from gradtape.ragged.dispatch import FUNCTIONS  # noqa: PLC0415 - it imports all the others

    return FUNCTIONS.get(function)


def operand_of(ragged: RaggedTensor) -> RaggedOperand:
    """What an op is given for a RaggedTensor."""
    return RaggedOperand(ragged, ragged.flat_values.array.dtype)


def equal(x: RaggedTensor, y: Any) -> Any:
    """`==`, element by element."""
    return False if y is None else tensors_equal(x, y)


def not_equal(x: RaggedTensor, y: Any) -> Any:
    """`!=`, element by element."""
    return True if y is None else tensors_not_equal(x, y)


def lined_up(args: Sequence[Any], function: str) -> tuple[RaggedTensor, list[Any]]:
    """A RaggedTensor with the rows of the result, and for each argument what stands beside its flat
    values.
    """
    ragged = [a for a in args if isinstance(a, RaggedTensor)]
    like = max(ragged, key=lambda a: a.ragged_rank)
    for other in ragged:
        _check_same_rows(like, other, function)
    return like, [_beside(a, like, function) for a in args]


def _check_same_rows(like: RaggedTensor, other: RaggedTensor, function: str) -> None:
    pairs = zip(like.nested_row_splits, other.nested_row_splits, strict=False)
    if not all(partitions.same_values(a, b) for a, b in pairs):
        raise invalid_argument(
            f"{function}: RaggedTensors must have the same rows to be combined element by element; "
            f"their shapes are {like.shape} and {other.shape}, and the lengths of their rows "
            "differ."
        )


def _beside(value: Any, like: RaggedTensor, function: str) -> Any:
    """The values of an argument that stand beside the flat values of `like`."""
    if isinstance(value, RaggedTensor):
        missing = like.ragged_rank - value.ragged_rank
        if not missing:
            return _inner_rank(value.flat_values, like)
        inner = like
        for _ in range(value.ragged_rank):
            inner = inner.values
        return _of_tensor(value.flat_values, inner, like, function)
    return _of_tensor(value, like, like, function)


def _inner_rank(flat: Tensor, like: RaggedTensor) -> Tensor:
    """Flat values with as many axes as those of `like`, so that the rows stay first."""
    missing = like.flat_values.ndim - flat.ndim
    if missing <= 0:
        return flat
    sizes = tuple(flat.array.shape)
    return reshape(flat, (sizes[0], *(1,) * missing, *sizes[1:]))


def _of_tensor(value: Tensor, inner: RaggedTensor, like: RaggedTensor, function: str) -> Tensor:
    """A tensor beside the flat values of `inner`: its first axes follow the ragged ones."""
    rank, depth = inner.shape.rank, inner.ragged_rank
    assert rank is not None
    if value.ndim > rank:
        raise invalid_argument(
            f"{function}: a tensor of shape {value.shape} cannot be broadcast to a RaggedTensor of "
            f"shape {like.shape}: it has too many axes."
        )
    sizes = (*(1,) * (rank - value.ndim), *value.array.shape)
    outer, rest = sizes[: depth + 1], sizes[depth + 1 :]
    if all(size == 1 for size in outer):
        return reshape(value, rest) if len(sizes) != len(rest) else value
    _check_sizes(outer, inner, value, function)
    index: Any = None  # the place of each flat value's entry among the entries of `outer`
    for level, size in zip(coordinates(inner), outer, strict=True):
        here = level if size > 1 else None
        index = _next_index(index, here, size)
    count = int(np.prod(outer, dtype=np.int64))
    return gather(reshape(value, (count, *rest)), index)


def _next_index(index: Any, place: Any, size: int) -> Any:
    if index is None:
        return place
    scaled = index * size if size > 1 else index
    return scaled if place is None else scaled + place


def _check_sizes(outer: tuple[int, ...], inner: RaggedTensor, value: Tensor, function: str) -> None:
    """Refuses a tensor whose axes do not fit the rows."""
    fits = outer[0] in (1, inner.rows)
    for size, level in zip(outer[1:], inner.levels(), strict=True):
        lengths = partitions.known_values(level.row_lengths())
        fits = fits and (size == 1 or lengths is None or bool((lengths == size).all()))
    if not fits:
        raise invalid_argument(
            f"{function}: a tensor of shape {value.shape} cannot be broadcast to a RaggedTensor of "
            f"shape {inner.shape}: each of its axes must have size 1 or fit every row."
        )


def coordinates(ragged: RaggedTensor) -> list[Tensor]:
    """For each flat value its row, its place in the row, and so on: a vector for each axis that is
    partitioned and for the first one.
    """
    levels = ragged.levels()
    found: list[Tensor] = []
    for level in levels:
        rowids = level.value_rowids()
        places = partitions.places_in_rows(level.row_splits, rowids, rowids.array.shape[0])
        found = [gather(before, rowids) for before in found] if found else [rowids]
        found.append(places)
    return found
