"""`tensorflow.python.ops.linalg.linear_operator_addition`, with which libraries add operators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.sums import sum_of


def add_operators(
    operators: Iterable[LinearOperator],
    operator_name: str | None = None,
    addition_tiers: Any = None,
    name: str | None = None,
) -> list[LinearOperator]:
    """A list with the sum of operators, which is as simple as they allow."""
    if addition_tiers is not None:
        raise ValueError("add_operators: addition_tiers are TensorFlow's own: leave them out.")
    return [sum_of(list(operators))]
