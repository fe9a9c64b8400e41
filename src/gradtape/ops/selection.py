"""Choosing between values, and constants like a given tensor."""

from __future__ import annotations

from typing import Any

from gradtape.ops.broadcasting import sum_to_shape
from gradtape.ops.declare import op


def _chosen(g: Any, condition: Any, x_shape: tuple[int, ...]) -> Any:
    return sum_to_shape(where(condition, g, 0), shape=x_shape)


def _not_chosen(g: Any, condition: Any, y_shape: tuple[int, ...]) -> Any:
    return sum_to_shape(where(condition, 0, g), shape=y_shape)


where = op(
    "where", lambda xp, condition, x, y: xp.where(condition, x, y), [None, _chosen, _not_chosen], apart=["condition"]
)
zeros_like = op("zeros_like", lambda xp, x, *, dtype=None: xp.zeros(x.shape, dtype or x.dtype), [None])
ones_like = op("ones_like", lambda xp, x, *, dtype=None: xp.ones(x.shape, dtype or x.dtype), [None])
