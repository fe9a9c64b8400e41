"""A solver inside a `function`: the program calls it back on the host, where the user's function,
which was traced once, runs again call by call on NumPy's arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.bridge.foreign import OnHost, Recorded, call
from gradtape.convert import as_tensor
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.needed_ops import needed
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.host_calls import call_for_results
from gradtape.core.xla.trace import Trace
from gradtape.ops.broadcasting import identity
from gradtape.scipy.examples import Example
from gradtape.scipy.linear import checked_solve
from gradtape.scipy.numeric import Numeric

ZERO = UnconnectedGradients.ZERO


def solved_in_program(
    trace: Trace,
    who: str,
    function: Callable[[Tensor], Any],
    start: Tensor,
    run: Callable[[Numeric, Any], Any],
    residual: Callable[..., Any],
) -> tuple[Tensor, Any]:
    """What a solver finds, as Tensors of the program that is being traced."""
    if trace.calls is None:
        raise BeyondXlaError(f"{who}: a solver cannot run in a loop or branch that XLA compiles.")
    body = lambda tensors: [as_tensor(function(tensors[0]), argument=f"{who}: a result")]
    program = trace.program(who, body, [(tuple(start.array.shape), np.dtype(np.float64))])
    program.trace()
    if program.written:
        names = ", ".join(variable.name for variable in program.written)
        raise ValueError(
            f"{who}: the function assigns {names}: inside a gradtape.function, a function that is "
            "solved must not assign Variables."
        )
    captured = trace.values_of(program.taken)
    x, _, *report = call(InProgram(who, program, run, residual), [start, *captured])
    from scipy.optimize import OptimizeResult  # noqa: PLC0415 - scipy is imported at first use

    return x, OptimizeResult(zip(("success", "status", "nfev"), report, strict=True))


class InProgram(OnHost):
    """A solver as an op of its start and of what the function captures: the solution, which of the
    unknowns are free, and three entries of the report.
    """

    def __init__(
        self, who: str, program: Any, run: Callable[..., Any], residual: Callable[..., Any]
    ) -> None:
        self.name = who
        self._program, self._run, self._residual = program, run, residual

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        if here.state.trace is None:
            return super().compute(inputs)
        shape = tuple(inputs[0].array.shape)
        number = (), np.dtype(np.int32)
        specs = [(shape, np.dtype(np.float64)), (shape, np.dtype(bool))]
        specs += [((), np.dtype(bool)), number, number]
        run = lambda *arrays: self.on_arrays(list(arrays))
        return call_for_results(run, specs, [t.array for t in inputs])

    def _function(self, captured: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
        return lambda x: self._program.again([x, *captured])[0][0]

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        start, *captured = [Tensor(np.array(array)) for array in arrays]
        numeric = Numeric(self.name, self._function(captured), Example({}))
        found = self._run(numeric, start.numpy())
        if not found["success"]:
            warnings.warn(
                f"{self.name}: the solver did not converge ({found.get('message', '')}).",
                RuntimeWarning,
                stacklevel=2,
            )
        fixed = np.asarray(found.get("fixed", np.zeros(start.array.shape, bool)))
        counts = [np.int32(found.get(name, 0)) for name in ("status", "nfev")]
        return [np.asarray(found["x"], np.float64), ~fixed, np.bool_(found["success"]), *counts]

    def first_kept(self, count: int) -> int:
        return 0

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        x, free = recorded.outputs()[:2]
        x, captured = identity(x), [identity(tensor) for tensor in inputs[1:]]
        sources = [captured[i - 1] for i in wanted if i > 0]
        with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch([x, *sources])
            value = self._residual(self._function(captured), free)(x)
        jacobian = tape.jacobian(value, x, unconnected_gradients=ZERO)
        moved = -checked_solve(self.name, jacobian.mT, g[0])
        found = iter(tape.gradient(value, sources, output_gradients=moved))
        return [next(found) if i > 0 else None for i in wanted]

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        x, free = identity(outputs[0]), outputs[1]
        captured = [identity(tensor) for tensor in inputs[1:]]
        moved = {i: t for i, t in tangents.items() if i > 0}
        if not moved:
            return {}
        of = self._residual(self._function(captured), free)
        with ForwardAccumulator([captured[i - 1] for i in moved], list(moved.values())) as pushed:
            value = of(x)
        by_captured = pushed.jvp(value, unconnected_gradients=ZERO)
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(x)
            value = of(x)
        jacobian = tape.jacobian(value, x, unconnected_gradients=ZERO)
        return {0: -checked_solve(self.name, jacobian, by_captured)}

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        rows = [
            call(
                self,
                [
                    needed.getitem(t, key=(i,)) if m else t
                    for t, m in zip(inputs, mapped, strict=True)
                ],
            )
            for i in range(size)
        ]
        return [needed.stack(*column, axis=0) for column in zip(*rows, strict=True)]
