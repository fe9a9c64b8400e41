"""`scipy.sparse.linalg.spsolve`, `cg` and `gmres`: solutions of sparse systems, differentiable by
the values of the matrix and the right-hand side.

The derivative by the values of the matrix has an entry for each of them, so it is as sparse as the
matrix; it takes one more solution, with the transposed matrix, of the same kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.bridge.foreign import OnHost, Recorded, call
from gradtape.convert import as_tensor
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.host_calls import call_for_results
from gradtape.ops.shaping import reshape, transpose
from gradtape.ops.sparse import dots_at, sparse_matmul
from gradtape.published import published
from gradtape.scipy.linear import Factored
from gradtape.scipy.sparse.linalg.matrices import (
    DOUBLE,
    coordinates,
    in_double,
    result_dtype,
)

Solver = Callable[[Any, Any, bool], tuple[Any, int]]
"""Of a matrix, a right-hand side and whether the matrix is to be transposed: the solution, and
SciPy's `info`.
"""


@published("scipy.sparse.linalg.spsolve")
def spsolve(A: Any, b: Any) -> Tensor:
    """`scipy.sparse.linalg.spsolve`: the solution of `A x = b`, with its derivatives by the values
    of the matrix and by `b`, which is a vector or a matrix.

    `A` is a SparseTensor, or one of SciPy's sparse matrices, whose values are constants. It is
    factored once for the solution and its derivatives. A singular matrix gives NaN and warns.

    >>> import gradtape as tf
    >>> values = tf.Variable([2.0, 4.0])
    >>> b = tf.constant([1.0, 1.0])
    >>> with tf.GradientTape() as tape:
    ...     A = tf.SparseTensor([[0, 0], [1, 1]], values, [2, 2])
    ...     y = tf.reduce_sum(tf.scipy.sparse.linalg.spsolve(A, b))
    >>> tape.gradient(y, values).numpy()
    array([-0.25  , -0.0625], dtype=float32)
    """
    return _solved("spsolve", A, b, FactoredSolver())[0]


@published("scipy.sparse.linalg.cg")
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
) -> tuple[Tensor, Any]:
    """`scipy.sparse.linalg.cg`: the solution of `A x = b` with a positive definite matrix by
    conjugate gradients, and 0 if they converged; with the derivatives that `spsolve` has, by
    conjugate gradients with the same `rtol`.

    >>> import gradtape as tf
    >>> b = tf.Variable([1.0, 2.0])
    >>> A = tf.SparseTensor([[0, 0], [1, 1]], [2.0, 4.0], [2, 2])
    >>> with tf.GradientTape() as tape:
    ...     x, info = tf.scipy.sparse.linalg.cg(A, b)
    >>> tape.gradient(x, b).numpy(), info
    (array([0.5 , 0.25], dtype=float32), 0)
    """
    options = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "M": M}
    return _solved("cg", A, b, IterativeSolver("cg", x0, callback, options))


@published("scipy.sparse.linalg.gmres")
def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
    callback_type: str | None = None,
) -> tuple[Tensor, Any]:
    """`scipy.sparse.linalg.gmres`: the solution of `A x = b`, and 0 if the method converged; with
    the derivatives that `spsolve` has, by the same method with the same `rtol`.

    >>> import gradtape as tf
    >>> b = tf.Variable([1.0, 2.0])
    >>> A = tf.SparseTensor([[0, 0], [0, 1], [1, 1]], [2.0, 1.0, 4.0], [2, 2])
    >>> with tf.GradientTape() as tape:
    ...     x, info = tf.scipy.sparse.linalg.gmres(A, b)
    >>> tape.gradient(x, b).numpy(), info
    (array([0.5  , 0.125], dtype=float32), 0)
    """
    options = {"rtol": rtol, "atol": atol, "restart": restart, "maxiter": maxiter, "M": M}
    if callback is not None:
        options["callback_type"] = callback_type or "pr_norm"
    return _solved("gmres", A, b, IterativeSolver("gmres", x0, callback, options))


class FactoredSolver:
    """Solves with the factors of the last matrix that it was given."""

    def __init__(self) -> None:
        self._last: tuple[Any, Factored] | None = None

    def __call__(self, matrix: Any, b: Any, transposed: bool) -> tuple[Any, int]:
        last = self._last
        if last is None or not _is_same(last[0], matrix):
            last = self._last = matrix, Factored(matrix, "spsolve", "the matrix")
        return last[1].solve(b.T, transposed=transposed).T, 0


class IterativeSolver:
    """Solves by one of SciPy's methods, column by column; the start and the callback are for the
    solution and not for its derivatives.
    """

    def __init__(self, method: str, x0: Any, callback: Any, options: dict[str, Any]) -> None:
        self._method, self._callback, self._options = method, callback, options
        self._start = None if x0 is None else as_tensor(x0, argument=f"{method}: x0").numpy()

    def __call__(self, matrix: Any, b: Any, transposed: bool) -> tuple[Any, int]:
        from scipy.sparse import linalg  # noqa: PLC0415 - scipy is imported at first use

        options = dict(self._options)
        if transposed:
            matrix = matrix.T
            if options["M"] is not None:
                options["M"] = linalg.aslinearoperator(options["M"]).T
        solve = getattr(linalg, self._method)
        out, worst = np.empty(b.shape), 0
        for i, column in enumerate(b.T):
            start = None if self._start is None or transposed else self._start
            out[:, i], info = solve(matrix, column, start, callback=self._callback, **options)
            worst = max(worst, abs(int(info)))
        if worst:
            warnings.warn(
                f"{self._method}: no convergence after {worst} iterations"
                + (", in the derivative" if transposed else "")
                + ": what it returns is no solution, and derivatives are not right. Pass a better "
                "preconditioner M or a larger maxiter, or use spsolve.",
                RuntimeWarning,
                stacklevel=2,
            )
        return out, worst


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (
        one.nnz == other.nnz
        and np.array_equal(one.data, other.data)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.indptr, other.indptr)
    )


def _solved(who: str, matrix: Any, b: Any, solver: Solver) -> tuple[Tensor, Any]:
    found = coordinates(who, matrix)
    right = as_tensor(b, argument=f"{who}: b")
    kind = result_dtype(matrix, right)
    shape = tuple(right.array.shape)
    if len(shape) not in (1, 2) or shape[0] != found.size:
        raise ValueError(
            f"{who}: b must be a vector or a matrix with {found.size} rows, got shape {shape}."
        )
    columns = reshape(in_double(who, right, "b"), shape=(shape[0], shape[1] if shape[1:] else 1))
    op = SparseSolve(who, solver, found.size, transposed=False)
    x, info = call(op, [found.values, columns, found.rows, found.columns])
    x = reshape(x, shape=shape)
    x = x if kind == DOUBLE else needed.cast(x, dtype=kind)
    plain = here.state.trace is None and not here.state.levels
    return x, int(info.numpy()) if plain else info


class SparseSolve(OnHost):
    """The solution of a sparse system and SciPy's `info`, of the matrix's values, the right-hand
    sides as columns, and the rows and columns of the values.
    """

    def __init__(self, who: str, solver: Solver, size: int, *, transposed: bool) -> None:
        self.name = who
        self._solver, self._size, self._transposed = solver, size, transposed

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        if here.state.trace is None:
            return super().compute(inputs)
        run = lambda *arrays: self.on_arrays(list(arrays))
        specs = [(tuple(inputs[1].array.shape), DOUBLE), ((), np.dtype(np.int32))]
        return call_for_results(run, specs, [t.array for t in inputs])

    def first_kept(self, count: int) -> int:
        return 0

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        from scipy.sparse import csc_array  # noqa: PLC0415 - scipy is imported at first use

        values, b, rows, columns = map(np.asarray, arrays)
        matrix = csc_array((values, (rows, columns)), shape=(self._size, self._size))
        x, info = self._solver(matrix, np.asarray(b, np.float64), self._transposed)
        return [np.ascontiguousarray(x), np.int32(info)]

    def _again(
        self, inputs: Sequence[Tensor], b: Tensor, *, transposed: bool | None = None
    ) -> Tensor:
        """The solution for another right-hand side."""
        other = self._transposed if transposed is None else transposed
        op = SparseSolve(self.name, self._solver, self._size, transposed=other)
        return call(op, [inputs[0], b, *inputs[2:]])[0]

    def _places(self, inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        rows, columns = inputs[2:]
        return (columns, rows) if self._transposed else (rows, columns)

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        by_b = self._again(inputs, g[0], transposed=not self._transposed)
        found: list[Tensor | None] = []
        for i in wanted:
            if i == 0:
                found.append(-dots_at(by_b, recorded.outputs()[0], *self._places(inputs)))
            else:
                found.append(by_b if i == 1 else None)
        return found

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        moved: Any = tangents.get(1)
        if 0 in tangents:
            places = self._places(inputs)
            by_values = sparse_matmul(tangents[0], outputs[0], *places, size=self._size)
            moved = -by_values if moved is None else moved - by_values
        return {0: self._again(inputs, moved)}

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        if list(mapped) == [False, True, False, False]:  # one matrix: columns side by side
            _, height, width = inputs[1].array.shape
            beside = reshape(transpose(inputs[1], perm=(1, 0, 2)), shape=(height, size * width))
            x, info = call(self, [inputs[0], beside, *inputs[2:]])
            apart = transpose(reshape(x, shape=(height, size, width)), perm=(1, 0, 2))
            return [apart, needed.broadcast_to(info, shape=(size,))]

        def example(i: int) -> list[Tensor]:
            return [
                needed.getitem(t, key=(i,)) if m else t for t, m in zip(inputs, mapped, strict=True)
            ]

        rows = [call(self, example(i)) for i in range(size)]
        return [needed.stack(*column, axis=0) for column in zip(*rows, strict=True)]
