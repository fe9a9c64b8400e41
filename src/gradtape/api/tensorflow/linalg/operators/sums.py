"""The sum of operators, as simple as they allow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.diag import LinearOperatorDiag
from gradtape.api.tensorflow.linalg.operators.full_matrix import LinearOperatorFullMatrix
from gradtape.api.tensorflow.linalg.operators.hints import Hint
from gradtape.api.tensorflow.linalg.operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from gradtape.api.tensorflow.linalg.operators.lower_triangular import (
    LinearOperatorLowerTriangular,
)
from gradtape.api.tensorflow.linalg.operators.values import filled, read
from gradtape.core.tensor import Tensor

_IDENTITY, _DIAGONAL, _TRIANGULAR, _FULL = range(4)
_KINDS = (
    (LinearOperatorIdentity, _IDENTITY),
    (LinearOperatorScaledIdentity, _IDENTITY),
    (LinearOperatorDiag, _DIAGONAL),
    (LinearOperatorLowerTriangular, _TRIANGULAR),
    (LinearOperatorFullMatrix, _FULL),
)


def sum_of(operators: Sequence[LinearOperator]) -> LinearOperator:
    """The sum; a TypeError for an operator whose sums have no class."""
    if not operators:
        raise ValueError("A sum of operators needs at least one.")
    ordered = sorted(operators, key=_kind)
    if len({tuple(operator.shape[-2:]) for operator in operators}) > 1:
        shown = ", ".join(str(operator.shape) for operator in operators)
        raise ValueError(f"Operators that are added must have the same shape, got {shown}.")
    return reduce(_added, ordered)


def can_be_added(operator: Any) -> bool:
    """Whether the sums of an operator have a class."""
    return isinstance(operator, tuple(cls for cls, _ in _KINDS))


def _kind(operator: LinearOperator) -> int:
    for cls, kind in _KINDS:
        if isinstance(operator, cls):
            return kind
    raise TypeError(
        f"A sum of operators takes {', '.join(cls.__name__ for cls, _ in _KINDS)}, got "
        f"{type(operator).__name__}: make it a LinearOperatorFullMatrix of its to_dense()."
    )


def _added(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    """The sum of two operators, the second of which has no more structure than the first."""
    positive: Hint = True if a.is_positive_definite and b.is_positive_definite else None
    hints: dict[str, Any] = {
        "is_non_singular": positive,
        "is_self_adjoint": True if a.is_self_adjoint and b.is_self_adjoint else None,
        "is_positive_definite": positive,
    }
    kind = _kind(b)
    if kind == _IDENTITY:
        return LinearOperatorScaledIdentity(
            a.domain_dimension, _multiplier(a) + _multiplier(b), **hints
        )
    if kind == _DIAGONAL:
        return LinearOperatorDiag(a.diag_part() + b.diag_part(), **hints)
    total = a.add_to_tensor(b.to_dense())
    if kind == _TRIANGULAR:
        return LinearOperatorLowerTriangular(total, **hints)
    return LinearOperatorFullMatrix(total, **hints)


def _multiplier(operator: LinearOperator) -> Tensor:
    if isinstance(operator, LinearOperatorScaledIdentity):
        return read(operator.multiplier)
    return filled(1, np.broadcast_shapes(tuple(operator.batch_shape)), operator.dtype)
