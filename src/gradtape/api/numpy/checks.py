"""What several families ask of their arguments: values to look at, elements to choose from, no mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.api.numpy.operands import refusal
from gradtape.core.tensor import Tensor


def known(x: Tensor) -> bool:
    """Whether the values can be looked at: not under `vmap`, nor in a program that is being compiled."""
    return isinstance(x.array, (np.ndarray, np.generic))


def certainly(condition: Tensor) -> bool:
    """Whether a condition is known to hold somewhere."""
    return known(condition) and bool(np.any(condition.array))


def refuse_where(where: Any, function: str, instead: str) -> None:
    """Refuses a mask, and says what to write `instead`."""
    if where is not None and where is not True:
        raise refusal(function, "where", f"write {instead}")


def refuse_nothing(x: Tensor, axes: tuple[int, ...] | None, function: str, argument: str = "a") -> None:
    """Refuses axes of size 0 where a result has to be one of the elements."""
    shape = x.array.shape
    if 0 in (shape if axes is None else [shape[i] for i in axes]):
        raise ValueError(f"{function}: {argument} of shape {x.shape} has no elements to choose from.")
