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

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import ref

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

ZERO = UnconnectedGradients.ZERO
_FAR, _NONE = 1e-2, 1e-8
_SMALL = 0.1
"""A solution is as far off as Newton's method would move it, beside its largest element or this."""

_DENSE = 500
"""The size from which a Jacobian is looked at as a sparse one."""


def implicit(
    who: str,
    solution: Tensor,
    residual: Residual,
    jacobian: Callable[[], Any] | None = None,
    failure: str | None = None,
) -> tuple[Tensor, float]:
    """A vector at which `residual` is zero, with its derivatives, and the largest element of the
    residual there. A tape computes the `jacobian`, unless it is known;
    `failure` is what a solver says that has failed.
    """
    with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(solution)
        value = residual(solution)
    check_residual(who, solution, value)
    size = float(np.max(np.abs(in_all_examples(value)), initial=0))
    orders = _orders(value, tape)
    start = solution.with_node(None)
    if not orders.steps:
        return start, size
    known = jacobian_at(tape, value, solution) if jacobian is None else jacobian()
    step, correction = _stepper(who, known, value, orders)
    _warn_if_off(who, start, correction, failure)
    found = step(start, value)
    for _ in range(orders.steps - 1):
        found = step(found, residual(found))
    return found, size


def _warn_if_off(who: str, solution: Tensor, correction: Any, failure: str | None) -> None:
    """Warns where Newton's method would move the solution: after a solver that says it has failed,
    and where it would move it much, whatever the solver says.
    """
    size = np.max(np.abs(np.asarray(in_all_examples(solution))), axis=-1, keepdims=True, initial=0)
    off = np.max(np.abs(np.asarray(correction)) / np.maximum(size, _SMALL), initial=0)
    if failure is not None and not off <= _NONE:
        text = (
            f"the solver did not converge ({failure}), so x is no solution, and its derivative is "
            "that of a solution nearby, if there is one."
        )
    elif off > _FAR:
        text = (
            f"the solver has stopped about {off:.0e} of x away from the solution, and the "
            "derivative is about as far off: use a smaller tolerance."
        )
    else:
        return
    warnings.warn(f"{who}: {text}", RuntimeWarning, stacklevel=2)


def check_residual(who: str, solution: Tensor, value: Tensor) -> None:
    """Refuses a function whose values are not as many as its unknowns."""
    if tuple(value.array.shape) != tuple(solution.array.shape):
        raise ValueError(
            f"{who}: the function must return as many values as there are unknowns: it returned "
            f"shape {tuple(value.array.shape)} for x of shape {tuple(solution.array.shape)}."
        )


class Orders:
    """To which order derivatives may be asked for: to one for each recording that follows the
    solution, and to two more where a tape is persistent and may record its own gradients.
    """

    def __init__(self, followed: set[Any], *, several: bool) -> None:
        self._followed = [ref(recording) for recording in followed]
        self.steps = len(followed) + (2 if several else 0)
        self._allowed = self.steps if several else 0

    def left(self) -> int | None:
        """How many more walks of a tape that records itself there may be; None if this is none."""
        scope = here.state.scope
        now = frozenset() if scope is None else scope.recordings
        if not all(recording() in now for recording in self._followed):
            return None
        return self._allowed


def _orders(value: Tensor, tape: GradientTape) -> Orders:
    followed = {r for r in _outside(value) if r is not tape.scope}
    several = any(
        getattr(r, "_persistent", False) for r in here.state.recorders if r.scope in followed
    )
    return Orders(followed, several=several)


def _outside(value: Tensor) -> set[Any]:
    """The recordings that follow a Tensor, or the batch that it is an example of."""
    found = set() if value.node is None else set(value.node.scope.recordings)
    return found | _outside(value.inner) if isinstance(value, BatchedTensor) else found


def _stepper(
    who: str, jacobian: Any, value: Tensor, orders: Orders
) -> tuple[Callable[[Tensor, Tensor], Tensor], Any]:
    """Newton's step with the Jacobian at the solution, and how far it would move the solution."""
    if isinstance(jacobian, Tensor):  # one for each example of a batch
        matrix = jacobian.with_node(None)
        with here.state.only([]):
            moved = checked_solve(who, matrix, value.with_node(None))
        step = lambda x, residual: (
            x - checked_solve(who, matrix, residual - stop_gradient(residual))
        )
        return step, in_all_examples(moved)
    system = Factored(jacobian, who)
    found = system.solve(np.asarray(value.numpy(), np.float64))
    return lambda x, residual: call(NewtonStep(who, system, orders), [x, residual])[0], found


def jacobian_at(tape: GradientTape, value: Tensor, x: Tensor) -> Any:
    """The Jacobian of what a tape recorded by a vector: NumPy's array, SciPy's sparse array if it
    is large, or a Tensor under `vmap`.
    """
    size = x.array.size
    with here.state.only([]):
        sparse = size > _DENSE and not here.state.levels
        found = tape.jacobian(value, x, unconnected_gradients=ZERO, sparse=sparse)
    if sparse:
        return found
    return found if isinstance(found, BatchedTensor) else found.numpy().reshape(size, size)


class NewtonStep(Foreign):
    """A step from `x` with a residual that is zero: the values are those of `x`."""

    def __init__(self, who: str, system: Factored, orders: Orders) -> None:
        self.name = who
        self._system, self._orders = system, orders
        self._walks = 0  # of tapes that recorded themselves meanwhile

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
        left = self._orders.left()
        if left is not None:
            self._walks += 1
            if self._walks > left:
                raise NotImplementedError(
                    f"{self.name}: a tape records its own gradient, for a derivative of an order "
                    "that was not prepared for: nest a tape for each order, make a tape that "
                    "records its own gradient persistent (to the third order), or call the solver "
                    "in a gradtape.function."
                )
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
