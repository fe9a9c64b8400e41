"""`trajectory`: the states that a system reaches from a start, at given times, as an op with
derivatives of any order by the times, the start, the parameters and what the right side closes
over.

The derivative is another system: the adjoint one, backwards in time, or the sensitivities,
forwards. Where
something records the derivative itself, or in forward mode, that system's trajectory is such an op
again. Where nothing does, `gradients` integrates it with NumPy's arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.bridge.foreign import OnHost, Recorded, call
from gradtape.core.batching import BatchedTensor
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.needed_ops import needed
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.host_calls import call_for_results
from gradtape.ops.broadcasting import identity
from gradtape.ops.shaping import concat, reshape, stack
from gradtape.scipy.integrate.gradients import gradients, is_forward, tangents_of
from gradtape.scipy.integrate.running import states_at
from gradtape.scipy.integrate.systems import DOUBLE, System, dot, is_float, joined


def trajectory(
    system: System, times: Tensor, y0: Tensor, params: Sequence[Tensor], solution: Any = None
) -> Tensor:
    """The states at `times[1:]`, a row each, from `y0` at `times[0]`."""
    op = _Trajectory(system, len(params), solution)
    (found,) = call(op, [times, y0, *params, *system.followed()])
    return found


class _OfSystem(OnHost):
    """What is computed of a system's times, start, parameters and what it closes over."""

    def __init__(self, system: System, count: int) -> None:
        self.name = system.who
        self.system, self.count = system, count

    def specs(self, inputs: Sequence[Any]) -> list[Any]:
        """The shapes and dtypes of the outputs."""
        raise NotImplementedError

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        if here.state.trace is None:
            return super().compute(inputs)
        run = lambda *arrays: self.on_arrays(list(arrays))
        return call_for_results(run, self.specs(inputs), [t.array for t in inputs])

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        if not size:
            like = [
                Tensor(np.zeros(t.array.shape[int(m) :], t.array.dtype))
                for t, m in zip(inputs, mapped, strict=True)
            ]
            return [Tensor(np.zeros((0, *s), d)) for s, d in self.specs(like)]
        rows = []
        for i in range(size):
            one = [
                needed.getitem(t, key=(i,)) if m else t for t, m in zip(inputs, mapped, strict=True)
            ]
            rows.append(call(self, one))
        return [stack(*column, axis=0) for column in zip(*rows, strict=True)]

    def check_unchanged(self, arrays: Sequence[Any]) -> None:
        """Refuses what cannot be: a Variable with another value than when the solver ran."""
        for closed, array in zip(self.system.closed, arrays, strict=True):
            if isinstance(closed, Variable) and not np.array_equal(
                np.asarray(closed.array), np.asarray(array), equal_nan=True
            ):
                raise RuntimeError(
                    f"{self.name}: '{closed.name}' was assigned between the solution and its "
                    "derivative: ask for the gradient first, or pass its value in args."
                )


class _Trajectory(_OfSystem):
    """`solution` is what SciPy has found already, for the first call."""

    def __init__(self, system: System, count: int, solution: Any = None) -> None:
        super().__init__(system, count)
        self._solution = solution

    def specs(self, inputs: Sequence[Any]) -> list[Any]:
        return [((inputs[0].array.shape[0] - 1, inputs[1].array.shape[0]), DOUBLE)]

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        times, y0, *rest = arrays
        solution, self._solution = self._solution, None
        if solution is not None:
            self.kept = solution.sol
            states = np.asarray(solution.y, DOUBLE).reshape(len(y0), -1)
            return [np.ascontiguousarray(states.T)]
        params = [Tensor(np.array(p)) for p in rest[: self.count]]
        return [states_at(self.system, params, times, y0)]

    def first_kept(self, count: int) -> int:
        return 0

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        if here.state.trace is None:
            self.check_unchanged([t.array for t in inputs[2 + self.count :]])
        (states,) = recorded.outputs()
        found = call(_Gradients(self.system, self.count, recorded.kept), [*inputs, states, g[0]])
        return [found[i] for i in wanted]

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        """The system with its sensitivity along the tangents beside it."""
        times, y0, *rest = inputs
        system, params = self.system, list(rest[: self.count])
        states, n, count = outputs[0], y0.array.shape[0], len(params)
        if here.state.trace is None:
            self.check_unchanged([t.array for t in rest[count:]])
        state = here.state
        plain = state.trace is None and not state.recorders
        if plain and is_forward(n, system.size_with(params)):
            order = sorted(tangents)
            op = _Tangents(system, count, order)
            return {0: call(op, [*inputs, states, *(tangents[i] for i in order)])[0]}
        places = [i for i in sorted(tangents) if i > 1]
        moved = [tangents[i] for i in places]

        def forwards(t: Tensor, z: Tensor, given: list[Tensor]) -> Tensor:
            along: list[Any] = [None] * (2 + count + len(system.closed))
            along[1] = z[n:]
            for i, tangent in zip(places, given[count:], strict=True):
                along[i] = tangent
            return joined(system.pushed(t, z[:n], given[:count], along))

        start = tangents.get(1, y0 * 0)
        by_time = tangents.get(0)
        if by_time is not None:
            start = start - system.right(times[0], y0, params) * by_time[0]
        if not states.array.shape[0]:
            return {0: states * 0}
        start = concat(y0, start, axis=0)
        found = trajectory(system.derived(forwards), times, start, [*params, *moved])[:, n:]
        if by_time is not None:
            rows = [
                system.right(times[k + 1], states[k], params) * by_time[k + 1]
                for k in range(states.array.shape[0])
            ]
            found = found + stack(*rows, axis=0)
        return {0: found}


class _Tangents(_OfSystem):
    """The tangents of a trajectory from those of some inputs, which follow its inputs and its
    states; for a batch of tangents the sensitivities are integrated once. It is called where
    nothing records.
    """

    def __init__(self, system: System, count: int, places: Sequence[int]) -> None:
        super().__init__(system, count)
        self._places = places

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        first = self._first(arrays)
        return [self._found([*arrays[:first], *(a[None] for a in arrays[first:])])[0]]

    def _first(self, arrays: Sequence[Any]) -> int:
        return len(arrays) - len(self._places)

    def _found(self, arrays: Sequence[Any]) -> Any:
        first = self._first(arrays)
        times, y0, *rest = arrays[: first - 1]
        moved: list[Any] = [None] * (first - 1)
        for i, tangent in zip(self._places, arrays[first:], strict=True):
            moved[i] = tangent
        params = [Tensor(np.array(p)) for p in rest[: self.count]]
        with here.state.only([]):
            return tangents_of(self.system, params, times, y0, arrays[first - 1], moved)

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        first = self._first(inputs)
        if any(mapped[:first]) or any(isinstance(t, BatchedTensor) for t in inputs) or not size:
            return super().call_on_batch(size, mapped, inputs)
        arrays = [np.asarray(t.array) for t in inputs]
        for i in range(first, len(arrays)):
            if not mapped[i]:
                arrays[i] = np.broadcast_to(arrays[i], (size, *arrays[i].shape))
        return [Tensor(self._found(arrays))]

    def specs(self, inputs: Sequence[Any]) -> list[Any]:
        return [((inputs[0].array.shape[0] - 1, inputs[1].array.shape[0]), DOUBLE)]

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        raise AssertionError(self.__doc__)

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        raise AssertionError(self.__doc__)


class _Gradients(_OfSystem):
    """The cotangents of a trajectory's inputs, from those and its states and their cotangents."""

    def __init__(self, system: System, count: int, dense: Any = None) -> None:
        super().__init__(system, count)
        self._dense = dense

    def specs(self, inputs: Sequence[Any]) -> list[Any]:
        return [(tuple(t.array.shape), t.array.dtype) for t in inputs[:-2]]

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        *given, states, g = arrays
        times, y0, *rest = given
        params = [Tensor(np.array(p)) for p in rest[: self.count]]
        with here.state.only([]):
            found = gradients(self.system, params, times, y0, states, g, self._dense)
        many = g.shape[:-2]
        return [
            np.zeros((*many, *a.shape), a.dtype)
            if f is None
            else np.asarray(f, a.dtype).reshape((*many, *a.shape))
            for f, a in zip(found, given, strict=True)
        ]

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        last = len(inputs) - 1
        if list(wanted) == [last]:  # linear: the transpose of the pull is the push
            push = _Trajectory(self.system, self.count).push
            return [push(inputs[:-2], g, [inputs[-2]])[0]]
        sources = self._sources(inputs)
        floats = [i for i in wanted if is_float(sources[i])]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([sources[i] for i in floats])
            outputs = _adjoint(self.system, self.count, sources)
        targets = [outputs[i] for i in g]
        found = tape.gradient(
            [t for t in targets if t is not None],
            [sources[i] for i in floats],
            output_gradients=[c for c, t in zip(g.values(), targets, strict=True) if t is not None],
        )
        by_place = dict(zip(floats, found, strict=True))
        return [by_place.get(i) for i in wanted]

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        sources = self._sources(inputs)
        moved = [sources[i] for i in tangents]
        with ForwardAccumulator(moved, list(tangents.values())) as accumulator:
            found = _adjoint(self.system, self.count, sources)
        return {i: None if f is None else accumulator.jvp(f) for i, f in enumerate(found)}

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        """For many cotangents of one trajectory, as a Jacobian asks for, the sensitivities are
        integrated once.
        """
        state = here.state
        alone = mapped[-1] and not any(mapped[:-1]) and state.trace is None
        deeper = any(isinstance(t, BatchedTensor) for t in inputs)
        if not alone or state.recorders or deeper or not size:
            return super().call_on_batch(size, mapped, inputs)
        return [Tensor(a) for a in self.on_arrays([np.asarray(t.array) for t in inputs])]

    def _sources(self, inputs: Sequence[Tensor]) -> list[Any]:
        """The inputs, with what the system closes over as the system knows it."""
        count = 2 + self.count
        closed = self.system.closed
        before, after = inputs[:count], inputs[count + len(closed) :]
        return [*(identity(t) for t in before), *closed, *(identity(t) for t in after)]


def _adjoint(system: System, count: int, inputs: Sequence[Any]) -> list[Any]:
    """The same as `_Gradients`, by ops: the adjoint system's trajectories from each time back to
    the one before.
    """
    times, y0, *rest = inputs
    params, states, g = list(rest[:count]), rest[-2], rest[-1]
    sources = [y0, *params, *system.closed]
    floats = [i for i, s in enumerate(sources) if is_float(s)]
    sizes = [int(np.prod(sources[i].shape)) for i in floats[1:]]
    n = y0.array.shape[0]

    def backwards(t: Tensor, z: Tensor, given: list[Tensor]) -> Tensor:
        value, pulled = system.pulled(t, z[:n], given, z[n : 2 * n])
        return joined([value, *(-pulled[1 + i] for i in floats)])

    zeros = Tensor(np.zeros(sum(sizes)))
    adjoint, total, by_time = y0 * 0, zeros, []
    for k in range(states.array.shape[0], 0, -1):
        adjoint = adjoint + g[k - 1]
        by_time.append(dot(g[k - 1], system.right(times[k], states[k - 1], params)))
        start = concat(states[k - 1], adjoint, zeros, axis=0)
        back = stack(times[k], times[k - 1], axis=0)
        end = trajectory(system.derived(backwards), back, start, params)[0]
        adjoint, total = end[n : 2 * n], total + end[2 * n :]
    by_time.append(-dot(adjoint, system.right(times[0], y0, params)))
    found: list[Any] = [stack(*by_time[::-1], axis=0), adjoint]
    place = 0
    for i, source in enumerate(sources[1:], 1):
        if i not in floats:
            found.append(None)
            continue
        size = int(np.prod(source.shape))
        part = reshape(total[place : place + size], shape=tuple(source.shape))
        kind = source.dtype.numpy
        found.append(part if kind == DOUBLE else needed.cast(part, dtype=kind))
        place += size
    return found
