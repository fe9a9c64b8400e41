"""The linear systems of implicit derivatives: factored once on the host, with an estimate of their
condition, so that a derivative that does not exist is not returned as if it did.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.bridge.foreign import Foreign, OnHost, Recorded, call
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.host_calls import call_for_results
from gradtape.ops.batching import every_mapped
from gradtape.ops.matrix import matmul
from gradtape.ops.shaping import reshape

ILL_CONDITIONED = 1e-10
_EPSILON = float(np.finfo(np.float64).eps)


class Factored:
    """A square matrix, dense or SciPy's sparse, with its factors; rows and columns are scaled
    first, so that units of measurement do not count as a bad condition.
    """

    def __init__(
        self, matrix: Any, who: str, what: str = "the linear system of the derivative"
    ) -> None:
        self.matrix = matrix
        self.size = matrix.shape[-1]
        self._solve: Any = None
        self.reciprocal = self._factor(matrix)
        if self.reciprocal < ILL_CONDITIONED:
            _warn_of_condition(who, what, self.reciprocal)

    def _factor(self, matrix: Any) -> float:
        """Makes the factors; returns the reciprocal of the condition number, about 0 for a singular
        matrix.
        """
        if not self.size:
            return 1.0
        sparse = not isinstance(matrix, np.ndarray)
        values = matrix.data if sparse else matrix
        if not np.all(np.isfinite(values)):
            return 0.0
        self._rows = _scales(abs(matrix).max(axis=1))
        scaled = _scaled(matrix, self._rows, 0)
        self._columns = _scales(abs(scaled).max(axis=0))
        scaled = _scaled(scaled, self._columns, 1)
        return self._factor_sparse(scaled) if sparse else self._factor_dense(scaled)

    def _factor_dense(self, matrix: Any) -> float:
        from scipy.linalg import lapack  # noqa: PLC0415 - scipy is imported at first use

        lu, pivots, info = lapack.dgetrf(matrix)
        if info:
            return 0.0
        norm = np.abs(matrix).sum(axis=0).max()
        reciprocal = float(lapack.dgecon(lu, norm)[0])
        if reciprocal > _EPSILON:
            self._solve = lambda b, transposed: lapack.dgetrs(lu, pivots, b, int(transposed))[0]
        return reciprocal

    def _factor_sparse(self, matrix: Any) -> float:
        from scipy.sparse import linalg  # noqa: PLC0415 - scipy is imported at first use

        try:
            factors = linalg.splu(matrix.tocsc())
        except RuntimeError:  # "Factor is exactly singular"
            return 0.0
        inverse = linalg.LinearOperator(
            matrix.shape,
            matvec=factors.solve,
            rmatvec=lambda b: factors.solve(b, "T"),
            dtype=np.float64,
        )
        norm = abs(matrix).sum(axis=0).max()
        of_inverse = _one_norm(inverse)
        reciprocal = float(1 / (norm * of_inverse)) if np.isfinite(of_inverse) else 0.0
        if reciprocal > _EPSILON:
            self._solve = lambda b, transposed: factors.solve(b, "T" if transposed else "N")
        return reciprocal

    def solve(self, b: Any, *, transposed: bool = False) -> Any:
        """The solution for each right-hand side, which is the last axis of `b`; NaN for a singular
        matrix.
        """
        if not self.size:
            return np.zeros(b.shape)
        if self._solve is None:
            return np.full(b.shape, np.nan)
        before, after = self._rows, self._columns
        if transposed:
            before, after = after, before
        columns = np.asfortranarray((b * before).reshape(-1, self.size).T, np.float64)
        return self._solve(columns, transposed).T.reshape(b.shape) * after


def _scales(largest: Any) -> Any:
    """The factors that make the largest element of each row 1."""
    dense = np.asarray(largest.todense() if hasattr(largest, "todense") else largest).ravel()
    return 1 / np.where(dense > 0, dense, 1.0)


def _scaled(matrix: Any, by: Any, axis: int) -> Any:
    if isinstance(matrix, np.ndarray):
        return matrix * (by[:, None] if axis == 0 else by)
    from scipy.sparse import diags_array  # noqa: PLC0415 - scipy is imported at first use

    diagonal = diags_array(by)
    return diagonal @ matrix if axis == 0 else matrix @ diagonal


def _one_norm(operator: Any) -> float:
    """About the 1-norm of a matrix that is known by its products; exact for small ones."""
    from scipy.sparse.linalg import onenormest  # noqa: PLC0415 - scipy is imported at first use

    size = operator.shape[0]
    if size <= 4:
        return float(np.abs(operator.matmat(np.eye(size))).sum(axis=0).max())
    return float(onenormest(operator))


def _warn_of_condition(who: str, what: str, reciprocal: float) -> None:
    """Warns of a solution that does not exist, or has few right digits."""
    if reciprocal > _EPSILON:
        digits = -np.log10(_EPSILON / reciprocal)
        why = f"ill-conditioned (reciprocal condition {reciprocal:.1e}): about {digits:.0f} digits "
        why += "of what it gives are right."
    else:
        why = "singular: there is no solution, or no single one, and what it gives is NaN."
    warnings.warn(f"{who}: {what} is {why}", RuntimeWarning, stacklevel=2)


class FactoredSolve(Foreign):
    """The solution of a system with a constant matrix, as a linear op of the right-hand side."""

    def __init__(self, who: str, system: Factored, *, transposed: bool) -> None:
        self.name = who
        self._system, self._transposed = system, transposed

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        return [self._system.solve(inputs[0].numpy(), transposed=self._transposed)]

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        return call(FactoredSolve(self.name, self._system, transposed=not self._transposed), [g[0]])

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        return {0: call(self, [tangents[0]])[0]}

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        return call(self, inputs)


def checked_solve(who: str, matrix: Tensor, b: Tensor) -> Tensor:
    """The solution of a dense system, differentiable by both and batched by leading axes; `b` is a
    vector. It warns of singular matrices.
    """
    return call(CheckedSolve(who), [matrix, b])[0]


class CheckedSolve(OnHost):
    """A dense system, solved on the host."""

    def __init__(self, who: str) -> None:
        self.name = who

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        if here.state.trace is None:
            return super().compute(inputs)
        b = inputs[1].array
        run = lambda *arrays: self.on_arrays(list(arrays))
        spec = tuple(b.shape), np.dtype(b.dtype)
        return call_for_results(run, [spec], [t.array for t in inputs])

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        matrices, b = arrays
        out = np.empty(b.shape, b.dtype)
        for where in np.ndindex(b.shape[:-1]):
            out[where] = Factored(np.asarray(matrices[where], np.float64), self.name).solve(
                np.asarray(b[where], np.float64)
            )
        return [out]

    def first_kept(self, count: int) -> int:
        return 0

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        matrix = inputs[0]
        by_b = checked_solve(self.name, needed.matrix_transpose(matrix), g[0])
        found: list[Tensor | None] = []
        for i in wanted:
            if i == 1:
                found.append(by_b)
                continue
            (x,) = recorded.outputs()
            found.append(-matmul(_as_matrix(by_b, 1), _as_matrix(x, 0)))
        return found

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        change: Any = tangents.get(1)
        if 0 in tangents:
            moved = matmul(tangents[0], _as_matrix(outputs[0], 1))
            moved = reshape(moved, shape=tuple(outputs[0].array.shape))
            change = -moved if change is None else change - moved
        return {0: checked_solve(self.name, inputs[0], change)}

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        return call(self, every_mapped(size, inputs, mapped))


def _as_matrix(x: Tensor, axis: int) -> Tensor:
    """Vectors, the last axis of `x`, as columns (1) or rows (0) of a matrix."""
    *batch, size = x.array.shape
    return reshape(x, shape=(*batch, size, 1) if axis else (*batch, 1, size))
