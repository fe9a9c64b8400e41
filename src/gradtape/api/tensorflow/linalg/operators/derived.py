"""Which class the product, the quotient and the Cholesky factor of operators have.

A product is as simple as its factors allow: that of two diagonal operators is a diagonal one. What
no rule is for is a composition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.block_diag import LinearOperatorBlockDiag
from gradtape.api.tensorflow.linalg.operators.circulant import CirculantOperator
from gradtape.api.tensorflow.linalg.operators.composition import LinearOperatorComposition
from gradtape.api.tensorflow.linalg.operators.diag import LinearOperatorDiag
from gradtape.api.tensorflow.linalg.operators.hints import (
    both_non_singular,
    commuting_self_adjoint,
    of_commuting,
    of_product,
)
from gradtape.api.tensorflow.linalg.operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from gradtape.api.tensorflow.linalg.operators.inversion import LinearOperatorInversion
from gradtape.api.tensorflow.linalg.operators.lower_triangular import (
    LinearOperatorLowerTriangular,
)
from gradtape.api.tensorflow.linalg.operators.values import as_column, read
from gradtape.api.tensorflow.linalg.operators.zeros import LinearOperatorZeros
from gradtape.core.tensor import Tensor
from gradtape.ops import solvers

Rule = Callable[[Any, Any], LinearOperator]


def cholesky_of(operator: LinearOperator) -> LinearOperator:
    """The Cholesky factor of an operator without structure."""
    return LinearOperatorLowerTriangular(
        solvers.cholesky(operator.to_dense()),
        is_non_singular=True,
        is_self_adjoint=False,
        is_square=True,
    )


def product_of(left: Any, right: Any) -> LinearOperator:
    """The product of two operators."""
    if isinstance(left, LinearOperatorIdentity) and _covers(right, left):
        return right
    if isinstance(left, LinearOperatorZeros) or isinstance(right, LinearOperatorZeros):
        return _zeros(left, right)
    found = _by_rule(_PRODUCTS, left, right)
    if found is not None:
        return found
    if isinstance(right, LinearOperatorIdentity) and _covers(left, right):
        return left
    if _are_alike(left, right):
        return left.with_spectrum(
            read(left.spectrum) * read(right.spectrum), **of_commuting(left, right)
        )
    return LinearOperatorComposition([left, right], **of_product(left, right))


def quotient_of(left: Any, right: Any) -> LinearOperator:
    """The product of the inverse of the first operator with the second."""
    if isinstance(left, LinearOperatorIdentity) and _covers(right, left):
        return right
    if isinstance(left, LinearOperatorInversion):
        product: LinearOperator = left.operator.matmul(right)
        return product
    found = _by_rule(_QUOTIENTS, left, right)
    if found is not None:
        return found
    if isinstance(right, LinearOperatorIdentity) and _covers(left, right):
        inverse: LinearOperator = left.inverse()
        return inverse
    if _are_alike(left, right):
        return left.with_spectrum(
            read(right.spectrum) / read(left.spectrum), **of_commuting(left, right)
        )
    return LinearOperatorComposition(
        [LinearOperatorInversion(left), right], **of_product(left, right)
    )


def _by_rule(
    rules: tuple[tuple[type, type, Rule], ...], left: LinearOperator, right: LinearOperator
) -> LinearOperator | None:
    for first, second, rule in rules:
        if isinstance(left, first) and isinstance(right, second):
            return rule(left, right)
    return None


def _covers(operator: LinearOperator, other: LinearOperator) -> bool:
    """Whether an operator has all batch axes of a product with another one."""
    own, others = tuple(operator.batch_shape), tuple(other.batch_shape)
    return np.broadcast_shapes(own, others) == own


def _are_alike(left: LinearOperator, right: LinearOperator) -> bool:
    """Whether these are circulant operators of the same depth."""
    return isinstance(right, CirculantOperator) and isinstance(left, type(right))


def _zeros(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    zeros = left if isinstance(left, LinearOperatorZeros) else right
    batch = np.broadcast_shapes(tuple(left.batch_shape), tuple(right.batch_shape))
    shape = (*batch, left.range_dimension, right.domain_dimension)
    if tuple(zeros.shape) == shape:
        return zeros
    square = shape[-1] == shape[-2]
    return LinearOperatorZeros(
        shape[-2],
        shape[-1],
        batch_shape=batch,
        dtype=left.dtype,
        is_square=square,
        is_self_adjoint=square,
    )


def _multiplier(operator: Any) -> Tensor:
    """Of a multiple of the identity, to be multiplied with a diagonal."""
    return read(operator.multiplier)[..., None]


def _diag(diag: Tensor, left: LinearOperator, right: LinearOperator) -> LinearOperator:
    return LinearOperatorDiag(diag, **of_commuting(left, right))


def _scaled(multiplier: Tensor, left: LinearOperator, right: LinearOperator) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        left.domain_dimension, multiplier, **of_commuting(left, right)
    )


def _triangular(tril: Tensor, left: LinearOperator, right: LinearOperator) -> LinearOperator:
    return LinearOperatorLowerTriangular(
        tril,
        is_non_singular=both_non_singular(left, right),
        is_self_adjoint=commuting_self_adjoint(left, right),
        is_square=True,
    )


def _block_diag(blocks: list[Any], left: LinearOperator, right: LinearOperator) -> LinearOperator:
    return LinearOperatorBlockDiag(
        blocks, is_non_singular=both_non_singular(left, right), is_square=None
    )


_PRODUCTS: tuple[tuple[type, type, Rule], ...] = (
    (
        LinearOperatorScaledIdentity,
        LinearOperatorScaledIdentity,
        lambda a, b: _scaled(read(a.multiplier) * read(b.multiplier), a, b),
    ),
    (
        LinearOperatorScaledIdentity,
        LinearOperatorDiag,
        lambda a, b: _diag(read(b.diag) * _multiplier(a), a, b),
    ),
    (
        LinearOperatorDiag,
        LinearOperatorScaledIdentity,
        lambda a, b: _diag(read(a.diag) * _multiplier(b), a, b),
    ),
    (
        LinearOperatorDiag,
        LinearOperatorDiag,
        lambda a, b: _diag(read(a.diag) * read(b.diag), a, b),
    ),
    (
        LinearOperatorDiag,
        LinearOperatorLowerTriangular,
        lambda a, b: _triangular(as_column(read(a.diag)) * b.to_dense(), a, b),
    ),
    (
        LinearOperatorLowerTriangular,
        LinearOperatorDiag,
        lambda a, b: _triangular(a.to_dense() * read(b.diag)[..., None, :], a, b),
    ),
    (
        LinearOperatorBlockDiag,
        LinearOperatorBlockDiag,
        lambda a, b: _block_diag([x.matmul(y) for x, y in a.pairs_with(b, "matmul: x")], a, b),
    ),
)

_QUOTIENTS: tuple[tuple[type, type, Rule], ...] = (
    (
        LinearOperatorScaledIdentity,
        LinearOperatorScaledIdentity,
        lambda a, b: _scaled(read(b.multiplier) / read(a.multiplier), a, b),
    ),
    (
        LinearOperatorScaledIdentity,
        LinearOperatorDiag,
        lambda a, b: _diag(read(b.diag) / _multiplier(a), a, b),
    ),
    (
        LinearOperatorDiag,
        LinearOperatorScaledIdentity,
        lambda a, b: _diag(_multiplier(b) / read(a.diag), a, b),
    ),
    (
        LinearOperatorDiag,
        LinearOperatorDiag,
        lambda a, b: _diag(read(b.diag) / read(a.diag), a, b),
    ),
    (
        LinearOperatorDiag,
        LinearOperatorLowerTriangular,
        lambda a, b: _triangular(b.to_dense() / as_column(read(a.diag)), a, b),
    ),
    (
        LinearOperatorBlockDiag,
        LinearOperatorBlockDiag,
        lambda a, b: _block_diag([x.solve(y) for x, y in a.pairs_with(b, "solve: rhs")], a, b),
    ),
)
