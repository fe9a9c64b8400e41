"""Tensor arguments of an op: one, or several that meet in it.

A Variable is read for that op alone, so that a sparse gradient reaches the Variable itself. Plain
values take the dtype of the Tensors beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.core.node import caller, locate
from gradtape.core.tensor import Tensor
from gradtape.core.values import to_array
from gradtape.core.xla.tensor import is_traced
from gradtape.engines.xla.engine import NotTraceableError
from gradtape.errors import invalid_argument
from gradtape.ops.op import beside, operand


def as_operand(value: Any, argument: str) -> Tensor:
    """`value` as a Tensor."""
    if type(value) is Tensor:
        return value
    read = operand(value)
    return read if isinstance(read, Tensor) else Tensor(to_array(read, argument=argument))


def as_operands(values: Sequence[Any], arguments: str | Sequence[str]) -> list[Tensor]:
    """`values` as Tensors; `arguments` names each of them, or the list that they stand in."""
    if all(type(value) is Tensor for value in values):
        return list(values)
    names = (
        [f"{arguments}[{i}]" for i in range(len(values))]
        if isinstance(arguments, str)
        else arguments
    )
    read = [operand(value) for value in values]
    strong = next((r.array.dtype for r in read if isinstance(r, Tensor)), None)
    return [
        r if isinstance(r, Tensor) else Tensor(_plain(r, strong, n))
        for r, n in zip(read, names, strict=True)
    ]


def as_indices(value: Any, argument: str) -> Tensor:
    """`value` as a Tensor of integers."""
    indices = as_operand(value, argument)
    if indices.array.dtype.kind not in "iu":
        raise invalid_argument(
            f"{argument} must be integers, got dtype {indices.dtype.name}: convert it with "
            "gradtape.cast."
        )
    return indices


def known(x: Tensor, argument: str, instead: str) -> Any:
    """The values of a tensor that decide about a result's shape, as a NumPy array; `instead` helps
    where there are none yet.
    """
    if is_traced(x):
        raise NotTraceableError(
            f"{argument}, at {locate(*caller())}, must be known when a gradtape.function is "
            "traced, since the shape of the result depends "
            f"on it: {instead}, or call it outside the function."
        )
    return np.asarray(x.array)


def _is_empty(value: Any) -> bool:
    """Whether a nested list has no element; its rows may have different lengths."""
    return (
        all(map(_is_empty, value))
        if isinstance(value, (list, tuple))
        else getattr(value, "size", 1) == 0
    )


def _plain(value: Any, strong: Any, argument: str) -> Any:
    """A plain value as an array; an empty list has no dtype of its own."""
    if strong is not None and isinstance(value, (list, tuple)) and _is_empty(value):
        return to_array(value, strong, argument=argument)
    return beside(value, strong, argument)
