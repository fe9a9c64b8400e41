"""Checks that several families share: whether values are known, and whether there are elements."""

from __future__ import annotations

import numpy as np

from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import is_traced


def known(x: Tensor) -> bool:
    """Whether the values can be looked at: not under `vmap`,
    nor in a program that is being compiled.
    """
    return not isinstance(x, BatchedTensor) and not is_traced(x)


def certainly(condition: Tensor) -> bool:
    """Whether a condition is known to hold somewhere."""
    return known(condition) and bool(np.any(condition.array))


def refuse_nothing(
    x: Tensor, axes: tuple[int, ...] | None, function: str, argument: str = "a"
) -> None:
    """Refuses axes of size 0 where a result has to be one of the elements."""
    shape = x.array.shape
    if 0 in (shape if axes is None else [shape[i] for i in axes]):
        raise ValueError(
            f"{function}: {argument} of shape {x.shape} has no elements to choose from: give an "
            "array that is not empty."
        )
