"""`Scan`: a loop of known length that carries values along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import XlaTensor
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.programs import LARGE_IN_LOOP
from gradtape.functions.beside import NotOnNumpyError
from gradtape.functions.looking_inside import Inside
from gradtape.functions.program import Program
from gradtape.functions.reason import NoGradientError
from gradtape.functions.structured import (
    Body,
    Spec,
    Structured,
    arrays_of,
    gradient_body,
    on_arrays,
    on_whole_batch,
    tangent_body,
)
from gradtape.functions.tracing import Tracing, Variant, WithGradient, has_gradient
from gradtape.ops.arithmetic import add
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.shaping import reshape, stack, transpose, unstack

_Saved = tuple[Variant, list[Any], list[Any]]


class Scan(Structured):
    """`step` run for each entry of the stacked inputs.

    The inputs are those that are `carried`, those that are `stacked` along their first axis, and
    those that are the same for all steps. `step` takes one entry of each stacked input; it returns
    the carried values for the next step, and then the values to stack.
    """

    name = "scan"

    def __init__(
        self, step: Body, carried: int, stacked: int, length: int, *, reverse: bool = False
    ) -> None:
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

    def _run(
        self, step: Callable[..., tuple[list[Any], Any]], arrays: Sequence[Any]
    ) -> tuple[list[Any], Any]:
        """XLA's own loop; `step` takes arrays, and returns those to carry on and those to stack."""
        carried, stacked, same = self._parts(arrays)
        xp = xla_engine.namespace()

        def body(carry: Any, entry: Any) -> Any:
            # On the CPU a loop over elements that takes several parts of an entry where it is
            # stacked does without vectors: the prediction of an LSTM took twice as long.
            if xp.on_cpu and sum(a.size * a.dtype.itemsize for a in entry) >= LARGE_IN_LOOP:
                entry = xp.lax.optimization_barrier(entry)
            return step(*carry, *entry, *same)

        with xla_settings.wide():
            return xp.lax.scan(body, carried, stacked, length=self._length, reverse=self._reverse)

    def bodies(self, specs: Sequence[Spec]) -> list[Inside]:
        return [Inside(self._step, self._specs_of_a_step(specs), carries=True)]

    def _specs_of_a_step(self, specs: Sequence[Spec]) -> list[Spec]:
        carried, stacked, same = self._parts(specs)
        return [*carried, *((shape[1:], dtype) for shape, dtype in stacked), *same]

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

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        carried, stacked, same = self._parts(inputs)
        if not self._length:  # what it would stack has no shape
            raise NotOnNumpyError
        rows = [unstack(t, axis=0) for t in stacked]
        collected = []
        for i in range(self._length)[:: -1 if self._reverse else 1]:
            found = self._step([*carried, *(row[i] for row in rows), *same])
            carried = found[: self._carried]
            collected.append(found[self._carried :])
        if self._reverse:
            collected.reverse()
        return [*carried, *(stack(*column, axis=0) for column in zip(*collected, strict=True))]

    def _compute_and_save(self, inputs: Sequence[Tensor], arrays: Sequence[Any]) -> list[Any]:
        """The outputs, followed by what the backward loop needs of every step, stacked."""
        _, stacked, same = self._parts(inputs)
        connected = [
            *(has_gradient(t) for t in inputs[: self._carried]),
            *(has_gradient(t) and t.node is not None for t in [*stacked, *same]),
        ]
        tracing = Tracing(self._program(inputs), gradient=True)
        if tracing.no_gradient is not None:
            raise NoGradientError(tracing.no_gradient.text)
        variant = WithGradient(tracing).variant(tuple(connected))

        def step(*given: Any) -> tuple[list[Any], Any]:
            found, _, residuals = variant.forward(given)
            return found[: self._carried], (
                found[self._carried :],
                residuals,
                list(given[: self._carried]),
            )

        carried, (outputs, residuals, before) = self._run(step, arrays)
        self._saved = variant, residuals, before
        return [*carried, *outputs]

    def _program(self, inputs: Sequence[Tensor]) -> Program:
        specs = [(tuple(t.array.shape), t.array.dtype) for t in inputs]
        return Program(self.name, self._step, self._specs_of_a_step(specs))

    def afresh(self) -> Scan:
        fresh = Scan(self._step, self._carried, self._stacked, self._length, reverse=self._reverse)
        fresh.paths = self.paths
        return fresh

    def pull_kept(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Any] | None:
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
                None if g is None else g[0] if len(g) == 1 else rows_in_place(g, shape)
                for g, shape in zip(found, shapes, strict=True)
            ]
            by_carried, by_stacked, by_same = self._parts(gradients)
            flowing = [
                xp.zeros(v.shape, v.dtype) if g is None else g
                for g, v, a in zip(by_carried, state, active, strict=False)
                if a
            ]
            sums = [
                s if g is None else s + g
                for s, g in zip(
                    sums,
                    [
                        g
                        for g, a in zip(by_same, active[-len(same) :] if same else [], strict=True)
                        if a
                    ],
                    strict=True,
                )
            ]
            rows = [
                xp.zeros(v.shape, v.dtype) if g is None else g
                for g, v, a in zip(by_stacked, entries, active[self._carried :], strict=False)
                if a
            ]
            return (flowing, sums), rows

        shapes = (
            [v.shape for v in carried] + [v.shape[1:] for v in stacked] + [v.shape for v in same]
        )
        seeds = arrays_of(cotangents)
        with xla_settings.wide():
            zeros = [
                xp.zeros(v.shape, v.dtype)
                for v, a in zip(same, active[self._carried + self._stacked :], strict=True)
                if a
            ]
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

    def pull(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Tensor]:
        """The backward loop as a Scan of its own, which can be differentiated again."""
        carried, stacked, same = self._parts(inputs)
        in_all = [has_gradient(t) for t in carried]
        _, rows, sums = self._parts(connected)
        flows, accumulated = sum(in_all), sum(sums)
        states = Scan(
            lambda ts: [*self._step(ts)[: self._carried], *ts[: self._carried]],
            self._carried,
            self._stacked,
            self._length,
            reverse=self._reverse,
        )
        before = states.call(inputs)[self._carried :]
        gradient = gradient_body(self._step, [*in_all, *rows, *sums])
        outputs = len(cotangents) - flows

        def step(tensors: list[Tensor]) -> list[Tensor]:
            flowing, totals, rest = (
                tensors[:flows],
                tensors[flows : flows + accumulated],
                tensors[flows + accumulated :],
            )
            state, rest = rest[: self._carried], rest[self._carried :]
            entries, rest = rest[: self._stacked], rest[self._stacked :]
            seeds, given = rest[:outputs], rest[outputs:]
            found = gradient([*state, *entries, *given, *flowing, *seeds])
            back, by_rows, by_same = (
                found[:flows],
                found[flows : flows + sum(rows)],
                found[flows + sum(rows) :],
            )
            return [*back, *(add(t, g) for t, g in zip(totals, by_same, strict=True)), *by_rows]

        zeros = [zeros_like(t) for t, c in zip(same, sums, strict=True) if c]
        backward = Scan(
            step,
            flows + accumulated,
            self._carried + self._stacked + outputs,
            self._length,
            reverse=not self._reverse,
        )
        found = backward.call(
            [*cotangents[:flows], *zeros, *before, *stacked, *cotangents[flows:], *same]
        )
        flowing, totals, by_rows = (
            found[:flows],
            found[flows : flows + accumulated],
            found[flows + accumulated :],
        )
        first = iter(flowing)
        by_carried = [next(first) if has else None for has in in_all]
        kept = [g for g, c in zip(by_carried, connected, strict=False) if c and g is not None]
        return [*kept, *by_rows, *totals]

    def push(
        self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int
    ) -> list[Tensor]:
        carried, stacked, same = self._parts(inputs)
        along, entries, other = self._parts(tangents)
        flowing = [
            zeros_like(t) if d is None else d
            for t, d in zip(carried, along, strict=True)
            if has_gradient(t)
        ]
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
            return [
                *values[: self._carried],
                *changes[:flows],
                *values[self._carried :],
                *changes[flows:],
            ]

        scan = Scan(
            step, self._carried + flows, self._stacked + rows, self._length, reverse=self._reverse
        )
        found = scan.call([*carried, *flowing, *stacked, *entries, *same, *other])
        ends = found[self._carried : self._carried + flows]
        return [*ends, *found[self._carried + flows + (results - self._carried) :]]

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        """A scan goes along the first axis of what it stacks,
        so the batch is put second meanwhile.
        """
        _, rows, same = self._parts(mapped)
        step = on_whole_batch(self._step, [*[True] * self._carried, *rows, *same])
        scan = Scan(step, self._carried, self._stacked, self._length, reverse=self._reverse)
        carried, stacked, rest = self._parts(inputs)
        first = [t if m else repeated(t, size) for t, m in zip(carried, mapped, strict=False)]
        entries = [_axes_swapped(t) if m else t for t, m in zip(stacked, rows, strict=True)]
        found = scan.call([*first, *entries, *rest])
        return [*found[: self._carried], *(_axes_swapped(t) for t in found[self._carried :])]


def rows_in_place(parts: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Rows in their places."""
    values, indices = parts
    return xla_engine.namespace().zeros(shape, values.dtype).at[indices].add(values)


def zeros_like(tensor: Tensor) -> Tensor:
    with xla_settings.wide():
        return XlaTensor(xla_engine.namespace().zeros(tensor.array.shape, tensor.array.dtype))


def repeated(tensor: Tensor, size: int) -> Tensor:
    shape = tuple(tensor.array.shape)
    return broadcast_to(reshape(tensor, shape=(1, *shape)), shape=(size, *shape))


def _axes_swapped(tensor: Tensor) -> Tensor:
    return transpose(tensor, perm=(1, 0, *range(2, tensor.array.ndim)))
