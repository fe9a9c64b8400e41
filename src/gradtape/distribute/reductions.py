"""How values of replicas become one: `ReduceOp`, and what computes it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from gradtape import nest
from gradtape.api.tensorflow.joining import concat
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.distribute.values import PerReplica
from gradtape.ops.arithmetic import divide
from gradtape.ops.broadcasting import cast
from gradtape.ops.reductions import reduce_sum
from gradtape.published import published


@published("distribute.ReduceOp")
class ReduceOp(Enum):
    """How a value of each replica becomes one value.

    >>> import gradtape as tf
    >>> tf.distribute.ReduceOp.SUM.value
    'SUM'
    """

    SUM = "SUM"
    MEAN = "MEAN"


def operation(reduce_op: Any, what: str) -> ReduceOp:
    """A ReduceOp, given as itself or by its name."""
    if isinstance(reduce_op, ReduceOp):
        return reduce_op
    name = str(getattr(reduce_op, "value", reduce_op)).upper()
    if name not in ReduceOp.__members__:
        raise ValueError(f"{what}: reduce_op must be 'sum' or 'mean', got {reduce_op!r}.")
    return ReduceOp[name]


def reduced(way: ReduceOp, value: Any, axis: int | None, replicas: int) -> Any:
    """One value made of those of all replicas, and of their entries along an axis, if one is
    given.
    """
    if not isinstance(value, PerReplica):
        return _of_one(way, value, axis, replicas)
    if axis is None:
        total = _total(value)
        return total if way is ReduceOp.SUM else divided(total, replicas)
    parts = [_sum_along(part, axis) for part in value.everywhere]
    total = added([part for part, _ in parts])
    return total if way is ReduceOp.SUM else divided(total, sum(count for _, count in parts))


def _of_one(way: ReduceOp, value: Any, axis: int | None, replicas: int) -> Any:
    tensor = as_tensor(value, argument="reduce: value")
    if axis is not None:
        total, count = _sum_along(tensor, axis)
        return total if way is ReduceOp.SUM else divided(total, count)
    if way is ReduceOp.SUM and replicas > 1:
        raise ValueError(
            "reduce: value is the same on all replicas, so that its sum is not what replicas have "
            f"computed: reduce with 'mean', or multiply it by the {replicas} replicas."
        )
    return tensor


def _total(value: PerReplica) -> Any:
    return added(list(value.everywhere)) if value.stacked is None else _sum(value.stacked, 0)


def added(values: Sequence[Any]) -> Any:
    """The sum of what replicas have."""
    total = as_tensor(values[0])
    for value in values[1:]:
        total = total + as_tensor(value)
    return total


def _sum(tensor: Tensor, axis: int) -> Any:
    return reduce_sum(tensor, axis=(axis,), keepdims=False)


def _sum_along(value: Any, axis: int) -> tuple[Any, int]:
    """The sum along an axis, and how many entries it has."""
    tensor = as_tensor(value)
    rank = tensor.outline.ndim
    if not -rank <= axis < rank:
        raise ValueError(f"reduce: axis {axis} is not an axis of a value of shape {tensor.shape}.")
    return _sum(tensor, axis % rank), tensor.outline.shape[axis]


def divided(total: Any, count: int) -> Any:
    """The mean, from the sum of so many values; that of integers is rounded towards zero."""
    quotient = divide(total, count)
    return quotient if total.dtype.is_floating else cast(quotient, dtype=total.dtype.numpy)


def joined(values: Sequence[Any], axis: int) -> Any:
    """What replicas have, one after the other along an axis."""
    return nest.map_structure(lambda *leaves: concat(list(leaves), axis=axis), *values)
