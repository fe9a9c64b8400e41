"""`implicit`: a solution of F(x, everything else) = 0, found by any means, as a Tensor with its
derivatives by everything that F uses.

With A the Jacobian of F by x at the solution, a step of Newton's method, x - A⁻¹ F(x, ...), leaves
the solution where it is, and its derivative is that of the solution: F is recorded at the solution
by whatever records, so its derivative reaches all that F closes over, without a list of it. A stays
a constant, which makes one step right to the first order, and each step more to one order more.
There are as many steps as there are recordings that follow F: one for a single tape, which then
pays for one linear system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.bridge.foreign import Foreign, Recorded, call
from gradtape.core.batching import BatchedTensor, in_all_examples
from gradtape.core.needed_ops import needed
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.ops.broadcasting import stop_gradient
from gradtape.scipy.linear import Factored, FactoredSolve, checked_solve

Residual = Callable[[Tensor], Tensor]

_DENSE = 500
"""The size from which a Jacobian is looked at as a sparse one."""


def implicit(
    who: str,
    solution: Tensor,
    residual: Residual,
    jacobian: Callable[[], Any] | None = None,
) -> tuple[Tensor, float]:
    """A vector at which `residual` is zero, with its derivatives, and the largest element of the
    residual there. A tape computes the `jacobian`, unless it is known.
    """
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(solution)
        value = residual(solution)
    check_residual(who, solution, value)
    size = float(np.max(np.abs(in_all_examples(value)), initial=0))
    steps = _orders(value, tape)
    start = solution.with_node(None)
    if not steps:
        return start, size
    known = jacobian_at(tape, value, solution) if jacobian is None else jacobian()
    step = _stepper(who, known)
    found = step(start, value)
    for _ in range(steps - 1):
        found = step(found, residual(found))
    return found, size


def check_residual(who: str, solution: Tensor, value: Tensor) -> None:
    """Refuses a function whose values are not as many as its unknowns."""
    if tuple(value.array.shape) != tuple(solution.array.shape):
        raise ValueError(
            f"{who}: the function must return as many values as there are unknowns: it returned "
            f"shape {tuple(value.array.shape)} for x of shape {tuple(solution.array.shape)}."
        )


def _orders(value: Tensor, tape: GradientTape) -> int:
    """The order to which a derivative of something may be asked for: one for each recording that
    follows it, and another one for a persistent tape, which may record its own gradients.
    """
    if value.node is None:
        return 0
    followed = {r for r in value.node.scope.recordings if r is not tape.scope}
    if isinstance(value, BatchedTensor):
        followed |= _outside(value.inner, tape)
    several = any(
        getattr(r, "_persistent", False) for r in here.state.recorders if r.scope in followed
    )
    return len(followed) + several


def _outside(value: Tensor, tape: GradientTape) -> set[Any]:
    found = set() if value.node is None else set(value.node.scope.recordings)
    return found | _outside(value.inner, tape) if isinstance(value, BatchedTensor) else found


def _stepper(who: str, jacobian: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """Newton's step with the Jacobian at the solution."""
    if isinstance(jacobian, Tensor):  # one for each example of a batch, or of a program
        matrix = jacobian.with_node(None)
        return lambda x, residual: (
            x - checked_solve(who, matrix, residual - stop_gradient(residual))
        )
    system = Factored(jacobian, who)
    return lambda x, residual: call(NewtonStep(who, system), [x, residual])[0]


def jacobian_at(tape: GradientTape, value: Tensor, x: Tensor) -> Any:
    """The Jacobian of what a tape recorded by a vector: NumPy's array, SciPy's sparse array if it
    is large, or a Tensor under `vmap`.
    """
    size = x.array.size
    with here.state.only([]):
        sparse = size > _DENSE and not here.state.levels
        found = tape.jacobian(
            value, x, unconnected_gradients=UnconnectedGradients.ZERO, sparse=sparse
        )
    if sparse:
        return found
    return found if isinstance(found, BatchedTensor) else found.numpy().reshape(size, size)


class NewtonStep(Foreign):
    """A step from `x` with a residual that is zero: the values are those of `x`."""

    def __init__(self, who: str, system: Factored) -> None:
        self.name = who
        self._system = system

    def _solved(self, b: Tensor, *, transposed: bool = False) -> Tensor:
        return call(FactoredSolve(self.name, self._system, transposed=transposed), [b])[0]

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        return [inputs[0].array]

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        return [g[0] if i == 0 else -self._solved(g[0], transposed=True) for i in wanted]

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        moved: Any = tangents.get(0)
        if 1 in tangents:
            by_residual = -self._solved(tangents[1])
            moved = by_residual if moved is None else moved + by_residual
        return {0: moved}

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        whole = [
            t if m else needed.broadcast_to(t, shape=(size, *t.array.shape))
            for t, m in zip(inputs, mapped, strict=True)
        ]
        return call(self, whole)
