"""`Scan`: a loop of known length that carries values along; `Loop`: one that runs for as long as a condition holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.core.scope import here
from gradtape.core.tensor import Tensor
from gradtape.core.xla_tensor import XlaTensor
from gradtape.engines import xla_engine
from gradtape.functions.program import NoGradientError, Program, Tracing, Variant, WithGradient
from gradtape.functions.staging import count_steps, depends_on
from gradtape.functions.structured import (
    Body,
    Structured,
    arrays_of,
    gradient_body,
    has_gradient,
    on_arrays,
    on_whole_batch,
    tangent_body,
)
from gradtape.functions.switch import Switch
from gradtape.ops.arithmetic import add
from gradtape.ops.broadcasting import broadcast_to, cast
from gradtape.ops.reductions import reduce_any
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape, transpose

_Saved = tuple[Variant, list[Any], list[Any]]


class Scan(Structured):
    """`step` run for each entry of the stacked inputs.

    The inputs are those that are `carried`, those that are `stacked` along their first axis, and those that are the same for all steps.
    `step` takes one entry of each stacked input; it gives the carried values for the next step, and then what is to be stacked.
    """

    name = "scan"

    def __init__(self, step: Body, carried: int, stacked: int, length: int, *, reverse: bool = False) -> None:
        self._step = step
        self._carried = carried
        self._stacked = stacked
        self._length = length
        self._reverse = reverse
        self._saved: _Saved | None = None

    def _parts(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Values of the inputs, or of what belongs to them, taken apart."""
        end = self._carried + self._stacked
        return list(values[: self._carried]), list(values[self._carried : end]), list(values[end:])

    def _run(self, step: Callable[..., tuple[list[Any], Any]], arrays: Sequence[Any]) -> tuple[list[Any], Any]:
        """XLA's own loop; `step` takes arrays, and gives those carried on and those to be stacked."""
        carried, stacked, same = self._parts(arrays)

        def body(carry: Any, entry: Any) -> Any:
            return step(*carry, *entry, *same)

        with xla_engine.wide():
            scan = xla_engine.namespace().lax.scan
            return scan(body, carried, stacked, length=self._length, reverse=self._reverse)

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        arrays = arrays_of(inputs)
        followed = here.state.scope is not None and any(t.node is not None for t in inputs)
        if followed and not here.state.pushers and self._length:
            return self._compute_and_save(inputs, arrays)
        run = on_arrays(self._step)

        def step(*given: Any) -> tuple[list[Any], Any]:
            found = run(*given)
            return found[: self._carried], found[self._carried :]

        carried, stacked = self._run(step, arrays)
        return [*carried, *stacked]

    def _compute_and_save(self, inputs: Sequence[Tensor], arrays: Sequence[Any]) -> list[Any]:
        """The outputs, and beside them, stacked, what the backward loop needs of every step."""
        _, stacked, same = self._parts(inputs)
        connected = [
            *(has_gradient(t) for t in inputs[: self._carried]),
            *(has_gradient(t) and t.node is not None for t in [*stacked, *same]),
        ]
        tracing = Tracing(self._program(inputs), gradient=True)
        if tracing.no_gradient is not None:
            raise tracing.no_gradient
        variant = WithGradient(tracing).variant(tuple(connected))

        def step(*given: Any) -> tuple[list[Any], Any]:
            found, _, residuals = variant.forward(given)
            return found[: self._carried], (found[self._carried :], residuals, list(given[: self._carried]))

        carried, (outputs, residuals, before) = self._run(step, arrays)
        self._saved = variant, residuals, before
        return [*carried, *outputs]

    def _program(self, inputs: Sequence[Tensor]) -> Program:
        carried, stacked, same = self._parts([(tuple(t.array.shape), t.array.dtype) for t in inputs])
        return Program(self.name, self._step, [*carried, *((shape[1:], dtype) for shape, dtype in stacked), *same])

    def afresh(self) -> Scan:
        fresh = Scan(self._step, self._carried, self._stacked, self._length, reverse=self._reverse)
        fresh.paths = self.paths
        return fresh

    def pull_kept(self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]) -> list[Any] | None:
        """The backward loop on what the forward loop has saved."""
        if self._saved is None:
            return None
        variant, residuals, before = self._saved
        carried, stacked, same = self._parts(arrays_of(inputs))
        active = list(variant.connected)
        flows = sum(active[: self._carried])  # the carried values that have gradients
        xp = xla_engine.namespace()

        def body(carry: Any, entry: Any) -> Any:
            flowing, sums = carry
            entries, kept, state, seeds = entry
            found = variant.backward([*state, *entries, *same], kept, [*flowing, *seeds])
            gradients = [
                None if g is None else g[0] if len(g) == 1 else _dense(g, shape) for g, shape in zip(found, shapes, strict=True)
            ]
            by_carried, by_stacked, by_same = self._parts(gradients)
            flowing = [
                xp.zeros(v.shape, v.dtype) if g is None else g for g, v, a in zip(by_carried, state, active, strict=False) if a
            ]
            sums = [
                s if g is None else s + g
                for s, g in zip(
                    sums, [g for g, a in zip(by_same, active[-len(same) :] if same else [], strict=True) if a], strict=True
                )
            ]
            rows = [
                xp.zeros(v.shape, v.dtype) if g is None else g
                for g, v, a in zip(by_stacked, entries, active[self._carried :], strict=False)
                if a
            ]
            return (flowing, sums), rows

        shapes = [v.shape for v in carried] + [v.shape[1:] for v in stacked] + [v.shape for v in same]
        seeds = arrays_of(cotangents)
        with xla_engine.wide():
            zeros = [xp.zeros(v.shape, v.dtype) for v, a in zip(same, active[self._carried + self._stacked :], strict=True) if a]
            (flowing, sums), rows = xp.lax.scan(
                body,
                (seeds[:flows], zeros),
                (stacked, residuals, before, seeds[flows:]),
                length=self._length,
                reverse=not self._reverse,
            )
        found = iter([*flowing, *rows, *sums])
        by_input = [next(found) if a else None for a in active]
        return [g for g, c in zip(by_input, connected, strict=True) if c]

    def pull(self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]) -> list[Tensor]:
        """The backward loop as a Scan of its own, which can be differentiated again."""
        carried, stacked, same = self._parts(inputs)
        in_all = [has_gradient(t) for t in carried]
        _, rows, sums = self._parts(connected)
        flows, accumulated = sum(in_all), sum(sums)
        states = Scan(lambda ts: [*self._step(ts)[: self._carried], *ts[: self._carried]], self._carried, self._stacked, self._length, reverse=self._reverse)  # fmt: skip
        before = states.call(inputs)[self._carried :]
        gradient = gradient_body(self._step, [*in_all, *rows, *sums])
        outputs = len(cotangents) - flows

        def step(tensors: list[Tensor]) -> list[Tensor]:
            flowing, totals, rest = tensors[:flows], tensors[flows : flows + accumulated], tensors[flows + accumulated :]
            state, rest = rest[: self._carried], rest[self._carried :]
            entries, rest = rest[: self._stacked], rest[self._stacked :]
            seeds, given = rest[:outputs], rest[outputs:]
            found = gradient([*state, *entries, *given, *flowing, *seeds])
            back, by_rows, by_same = found[:flows], found[flows : flows + sum(rows)], found[flows + sum(rows) :]
            return [*back, *(add(t, g) for t, g in zip(totals, by_same, strict=True)), *by_rows]

        zeros = [_zeros_like(t) for t, c in zip(same, sums, strict=True) if c]
        backward = Scan(
            step, flows + accumulated, self._carried + self._stacked + outputs, self._length, reverse=not self._reverse
        )
        found = backward.call([*cotangents[:flows], *zeros, *before, *stacked, *cotangents[flows:], *same])
        flowing, totals, by_rows = found[:flows], found[flows : flows + accumulated], found[flows + accumulated :]
        first = iter(flowing)
        by_carried = [next(first) if has else None for has in in_all]
        kept = [g for g, c in zip(by_carried, connected, strict=False) if c and g is not None]
        return [*kept, *by_rows, *totals]

    def push(self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int) -> list[Tensor]:
        carried, stacked, same = self._parts(inputs)
        along, entries, other = self._parts(tangents)
        flowing = [_zeros_like(t) if d is None else d for t, d in zip(carried, along, strict=True) if has_gradient(t)]
        moved = [*(has_gradient(t) for t in carried), *(d is not None for d in [*entries, *other])]
        entries, other = [d for d in entries if d is not None], [d for d in other if d is not None]
        derived = tangent_body(self._step, moved)
        flows, rows = len(flowing), len(entries)
        results = outputs

        def step(tensors: list[Tensor]) -> list[Tensor]:
            state, rest = tensors[: self._carried], tensors[self._carried :]
            moving, rest = rest[:flows], rest[flows:]
            entry, rest = rest[: self._stacked], rest[self._stacked :]
            entry_moving, rest = rest[:rows], rest[rows:]
            given, given_moving = rest[: len(same)], rest[len(same) :]
            found = derived([*state, *entry, *given, *moving, *entry_moving, *given_moving])
            values, changes = found[:results], found[results:]
            return [*values[: self._carried], *changes[:flows], *values[self._carried :], *changes[flows:]]

        scan = Scan(step, self._carried + flows, self._stacked + rows, self._length, reverse=self._reverse)
        found = scan.call([*carried, *flowing, *stacked, *entries, *same, *other])
        ends = found[self._carried : self._carried + flows]
        return [*ends, *found[self._carried + flows + (results - self._carried) :]]

    def call_on_batch(self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]) -> list[Tensor]:
        """A scan goes along the first axis of what it stacks, so the batch is put second meanwhile."""
        _, rows, same = self._parts(mapped)
        step = on_whole_batch(self._step, [*[True] * self._carried, *rows, *same])
        scan = Scan(step, self._carried, self._stacked, self._length, reverse=self._reverse)
        carried, stacked, rest = self._parts(inputs)
        first = [t if m else _repeated(t, size) for t, m in zip(carried, mapped, strict=False)]
        entries = [_axes_swapped(t) if m else t for t, m in zip(stacked, rows, strict=True)]
        found = scan.call([*first, *entries, *rest])
        return [*found[: self._carried], *(_axes_swapped(t) for t in found[self._carried :])]


class Loop(Structured):
    """`body` run for as long as `condition` holds, and at most `limit` times. The inputs are the loop's variables, and then what
    stays the same.

    XLA cannot keep what every step would have to save for a backward step, unless it knows how many there are at most: then the
    loop is run as a Scan where a gradient may be wanted.
    """

    name = "while_loop"

    def __init__(self, condition: Body, body: Body, variables: int, limit: int | None = None) -> None:
        self._condition = condition
        self._body = body
        self._variables = variables
        self._limit = limit

    def call(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        followed = here.state.scope is not None and any(t.node is not None for t in inputs)
        if followed and here.state.trace is not None:
            given = here.state.trace.taken_in(inputs)
            length = self._length(given)
            if length is not None:
                return Scan(self._body, self._variables, 0, length).call(given)
            if self._limit is not None:
                return self._bounded(given, self._limit)
        return super().call(inputs)

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        arrays = arrays_of(inputs)
        same, limit = arrays[self._variables :], self._limit
        condition, body = on_arrays(self._condition), on_arrays(self._body)

        def holds(state: Any) -> Any:
            steps, values = state
            goes_on = condition(*values, *same)[0]
            return goes_on if limit is None else goes_on & (steps < limit)

        def step(state: Any) -> Any:
            steps, values = state
            return None if steps is None else steps + 1, body(*values, *same)

        with xla_engine.wide():
            first = None if limit is None else np.int32(0)
            return xla_engine.namespace().lax.while_loop(holds, step, (first, arrays[: self._variables]))[1]

    def _bounded(self, inputs: Sequence[Tensor], limit: int) -> list[Tensor]:
        """A loop of `limit` steps, each of which does something only while the condition holds."""

        def step(tensors: list[Tensor]) -> list[Tensor]:
            holds = self._condition(tensors)[0]
            return Switch([lambda ts: list(ts[: self._variables]), self._body]).call([_as_index(holds), *tensors])

        return Scan(step, self._variables, 0, limit).call(inputs)

    def _length(self, inputs: Sequence[Tensor]) -> int | None:
        """The number of steps, if it can be told now: if what the condition depends on is known, as a counter is."""
        arrays = [t.array for t in inputs]
        needed = self._counters(arrays)
        if -1 in needed or any(type(inputs[i]) is not Tensor for i in needed):
            return None
        return count_steps(
            on_arrays(self._condition), on_arrays(self._body), arrays, sorted(needed), self._variables, self._limit
        )

    def _counters(self, arrays: list[Any]) -> set[int]:
        """The inputs on which the condition depends, by itself and through the body."""
        by_condition = depends_on(on_arrays(self._condition), arrays)
        by_body = depends_on(on_arrays(self._body), arrays)
        needed = set(by_condition[0])
        while True:
            more = needed.union(*(by_body[i] for i in needed if 0 <= i < self._variables))
            if more == needed:
                return needed
            needed = more

    def pull(self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]) -> list[Tensor]:
        raise NoGradientError(
            "while_loop: a loop of unknown length in a gradtape.function has no gradient there, because XLA needs to know how much to "
            "keep for the backward step: pass maximum_iterations (to a Python loop with "
            "gradtape.autograph.experimental.set_loop_options), or use gradtape.scan."
        )

    def push(self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int) -> list[Tensor]:
        variables, same = list(inputs[: self._variables]), list(inputs[self._variables :])
        flowing = [_zeros_like(t) if d is None else d for t, d in zip(variables, tangents, strict=False) if has_gradient(t)]
        moving = [d for d in tangents[self._variables :] if d is not None]
        moved = [*(has_gradient(t) for t in variables), *(d is not None for d in tangents[self._variables :])]
        derived = tangent_body(self._body, moved)
        count, flows, rest = self._variables, len(flowing), len(same)

        def body(tensors: list[Tensor]) -> list[Tensor]:
            values, changes, given = tensors[:count], tensors[count : count + flows], tensors[count + flows :]
            return derived([*values, *given[:rest], *changes, *given[rest:]])

        def condition(tensors: list[Tensor]) -> list[Tensor]:
            return self._condition([*tensors[:count], *tensors[count + flows : count + flows + rest]])

        return Loop(condition, body, count + flows, self._limit).call([*variables, *flowing, *same, *moving])[count:]

    def call_on_batch(self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]) -> list[Tensor]:
        """The loop runs until it has ended for every example; those that have ended stay as they are."""
        everywhere = [*[True] * self._variables, *mapped[self._variables :]]
        holds, step = on_whole_batch(self._condition, everywhere), on_whole_batch(self._body, everywhere)

        def condition(tensors: list[Tensor]) -> list[Tensor]:
            return [reduce_any(holds(tensors)[0], axis=(0,))]

        def body(tensors: list[Tensor]) -> list[Tensor]:
            running, after = holds(tensors)[0], step(tensors)
            return [where(_lined_up(running, new), new, old) for new, old in zip(after, tensors, strict=False)]

        variables = inputs[: self._variables]
        first = [t if m else _repeated(t, size) for t, m in zip(variables, mapped, strict=False)]
        return Loop(condition, body, self._variables, self._limit).call([*first, *inputs[self._variables :]])


def _dense(parts: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Rows in their places."""
    values, indices = parts
    return xla_engine.namespace().zeros(shape, values.dtype).at[indices].add(values)


def _as_index(holds: Tensor) -> Tensor:
    return cast(holds, dtype=np.dtype(np.int32))


def _zeros_like(tensor: Tensor) -> Tensor:
    with xla_engine.wide():
        return XlaTensor(xla_engine.namespace().zeros(tensor.array.shape, tensor.array.dtype))


def _repeated(tensor: Tensor, size: int) -> Tensor:
    shape = tuple(tensor.array.shape)
    return broadcast_to(reshape(tensor, shape=(1, *shape)), shape=(size, *shape))


def _axes_swapped(tensor: Tensor) -> Tensor:
    return transpose(tensor, perm=(1, 0, *range(2, tensor.array.ndim)))


def _lined_up(running: Tensor, like: Tensor) -> Tensor:
    return reshape(running, shape=(running.array.shape[0], *(1,) * (like.array.ndim - 1)))
