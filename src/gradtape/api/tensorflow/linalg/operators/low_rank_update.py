"""An operator plus a matrix of low rank."""

from __future__ import annotations

from typing import Any

from gradtape.api.tensorflow.linalg.operators.base import LinearOperator
from gradtape.api.tensorflow.linalg.operators.described import as_given
from gradtape.api.tensorflow.linalg.operators.diag import LinearOperatorDiag
from gradtape.api.tensorflow.linalg.operators.hints import Hint, implied
from gradtape.api.tensorflow.linalg.operators.identity import (
    LinearOperatorIdentity,
    added_to_diagonal,
)
from gradtape.api.tensorflow.linalg.operators.values import (
    adjoint_if,
    as_column,
    broadcast_shapes,
    cholesky_solved,
    conjugate,
    conjugate_if,
    dtype_of,
    in_dtype,
    parameter,
    read,
    shape_of,
    total,
)
from gradtape.core.tensor import Tensor
from gradtape.ops import determinants, elementary, matrix, solvers
from gradtape.published import published
from gradtape.shapes import TensorShape


@published("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D Vᴴ for an operator L, a diagonal matrix D (the identity if `diag_update` is None)
    and matrices U and V (U again if `v` is None) with few columns.

    Solutions and determinants cost solutions with L and a system as large as D.

    >>> import gradtape as tf
    >>> operator = tf.linalg.LinearOperatorLowRankUpdate(
    ...     tf.linalg.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True), [[1.0], [1.0]]
    ... )
    >>> operator.to_dense().numpy(), operator.determinant().numpy().round(4)
    (array([[2., 1.],
           [1., 3.]], dtype=float32), np.float32(5.0))
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: Hint = None,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        function = "LinearOperatorLowRankUpdate"
        u = parameter(u, f"{function}: u", axes=2)
        v = v if v is None else parameter(v, f"{function}: v", axes=2)
        if diag_update is not None:
            diag_update = parameter(diag_update, f"{function}: diag_update", axes=1)
        elif is_diag_update_positive is False:
            raise ValueError(
                f"{function}: is_diag_update_positive=False is wrong without diag_update: the "
                "diagonal is then that of the identity."
            )
        parameters = as_given(locals())
        del parameters["function"]
        self._base_operator = base_operator
        self._u, self._v, self._diag_update = u, v, diag_update
        self._is_diag_update_positive = diag_update is None or is_diag_update_positive
        self._check(function)
        dtype = base_operator.dtype
        self._use_cholesky = bool(
            base_operator._can_use_cholesky() and self._is_diag_update_positive and v is None
        )
        what = "a positive update of a self-adjoint positive definite operator"
        is_self_adjoint = implied(
            is_self_adjoint,
            "is_self_adjoint",
            base_operator.is_self_adjoint and v is None and not dtype.is_complex,
            "a symmetric update of a self-adjoint operator",
        )
        super().__init__(
            dtype=dtype,
            is_non_singular=implied(is_non_singular, "is_non_singular", self._use_cholesky, what),
            is_self_adjoint=implied(is_self_adjoint, "is_self_adjoint", self._use_cholesky, what),
            is_positive_definite=implied(
                is_positive_definite, "is_positive_definite", self._use_cholesky, what
            ),
            is_square=is_square,
            parameters=parameters,
            name=name,
        )
        positive = True if self._is_diag_update_positive else None
        self._diag_operator: LinearOperator = (
            LinearOperatorIdentity(shape_of(u)[-1], dtype=dtype)
            if diag_update is None
            else LinearOperatorDiag(diag_update, is_positive_definite=positive)
        )

    def _check(self, function: str) -> None:
        base, u, v = self.base_operator, shape_of(self.u), shape_of(self.v)
        for name, part in (("u", self.u), ("v", self.v), ("diag_update", self.diag_update)):
            if part is not None and dtype_of(part) != base.dtype:
                raise TypeError(
                    f"{function}: {name} must have base_operator's dtype {base.dtype.name}, got "
                    f"{dtype_of(part).name}."
                )
        for name, shape, size in (
            ("u", u, base.range_dimension),
            ("v", v, base.domain_dimension),
        ):
            if shape[-2] != size:
                raise ValueError(
                    f"{function}: {name} must have {size} rows for a base_operator of shape "
                    f"{base.shape}, got shape {TensorShape(shape)}."
                )
        rank = [u[-1], v[-1]]
        if self.diag_update is not None:
            rank.append(shape_of(self.diag_update)[-1])
        if len(set(rank)) > 1:
            raise ValueError(
                f"{function}: u, v and diag_update must have the same last axis, got sizes {rank}."
            )

    @property
    def base_operator(self) -> LinearOperator:
        """The operator L."""
        return self._base_operator

    @property
    def u(self) -> Any:
        """The matrix U."""
        return self._u

    @property
    def v(self) -> Any:
        """The matrix V."""
        return self._u if self._v is None else self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal of D; None for that of the identity."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """The operator D."""
        return self._diag_operator

    @property
    def is_diag_update_positive(self) -> Hint:
        """Whether the entries of D are promised to be positive."""
        return self._is_diag_update_positive

    def _shape(self) -> tuple[int, ...]:
        parts = [
            shape_of(self.u)[:-2],
            shape_of(self.v)[:-2],
            tuple(self.base_operator.batch_shape),
        ]
        if self.diag_update is not None:
            parts.append(shape_of(self.diag_update)[:-1])
        batch = broadcast_shapes(parts, "LinearOperatorLowRankUpdate: the batch axes")
        return (*batch, *self.base_operator.shape[-2:])

    def _assert_self_adjoint(self) -> None:
        if self._v is None and self.diag_update is None:
            self.base_operator.assert_self_adjoint()
        else:
            super()._assert_self_adjoint()

    def _factors(self, adjoint: bool = False) -> tuple[Tensor, Tensor]:
        """U and V, or V and U."""
        u = read(self.u)
        v = u if self._v is None else read(self._v)
        return (v, u) if adjoint else (u, v)

    def _times_diagonal(self, x: Tensor, adjoint: bool = False) -> Tensor:
        """The product of D with matrices."""
        if self.diag_update is None:
            return x
        return as_column(conjugate_if(adjoint, read(self.diag_update))) * x

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        u, v = self._factors(adjoint)
        x = adjoint_if(adjoint_arg, x)
        inner = self._times_diagonal(matrix.matmul(solvers.adjoint(v), x), adjoint)
        return self.base_operator.matmul(x, adjoint=adjoint) + matrix.matmul(u, inner)

    def _diag_part(self) -> Any:
        u, v = self._factors()
        product = u * conjugate(v)
        if self.diag_update is not None:
            product = product * read(self.diag_update)[..., None, :]
        return total(product) + self.base_operator.diag_part()

    def _capacitance(self, adjoint: bool = False) -> Tensor:
        """D⁻¹ + Vᴴ L⁻¹ U where a Cholesky factor of it is used; I + D Vᴴ L⁻¹ U otherwise, which
        needs no inverse of D.
        """
        u, v = self._factors(adjoint)
        inner = matrix.matmul(solvers.adjoint(v), self.base_operator.solve(u, adjoint=adjoint))
        if self._use_cholesky:
            return added_to_diagonal(self.diag_operator.inverse().diag_part(), inner)
        one = LinearOperatorIdentity(shape_of(u)[-1], dtype=self.dtype)
        return added_to_diagonal(one.diag_part(), self._times_diagonal(inner, adjoint))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        base = self.base_operator
        if base.is_non_singular is False:
            raise ValueError("solve: base_operator has is_non_singular=False.")
        u, v = self._factors(adjoint)
        solved = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = matrix.matmul(solvers.adjoint(v), solved)
        if self._use_cholesky:
            factor = solvers.cholesky(self._capacitance())
            weights = cholesky_solved(factor, inner)
        else:
            weights = solvers.solve(
                self._capacitance(adjoint), self._times_diagonal(inner, adjoint)
            )
        return solved - base.solve(matrix.matmul(u, weights), adjoint=adjoint)

    def _determinant(self) -> Any:
        if self._use_cholesky:
            return elementary.exp(self.log_abs_determinant())
        return determinants.det(self._capacitance()) * self.base_operator.determinant()

    def _log_abs_determinant(self) -> Any:
        known = self.base_operator.log_abs_determinant()
        if self._use_cholesky:
            factor = matrix.diagonal(solvers.cholesky(self._capacitance()))
            logs = total(elementary.log(factor)) * 2
            return logs + self.diag_operator.log_abs_determinant() + known
        return in_dtype(determinants.slogdet(self._capacitance())[1], self.dtype) + known

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("base_operator", "u", "diag_update", "v", "is_diag_update_positive")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> Any:
        return {"base_operator": 0, "u": 2, "diag_update": 1, "v": 2}
