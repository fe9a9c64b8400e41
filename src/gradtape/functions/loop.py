"""`Loop`: a loop in a program that runs as long as a condition is true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.core.batching import BatchedTensor, in_all_examples
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.functions.beside import NotOnNumpyError
from gradtape.functions.kept_states import KeptStates
from gradtape.functions.looking_inside import Inside
from gradtape.functions.program import Program
from gradtape.functions.reason import NoGradientError
from gradtape.functions.scan import Scan, repeated, zeros_like
from gradtape.functions.staging import count_steps, depends_on
from gradtape.functions.structured import (
    Body,
    Spec,
    Structured,
    arrays_of,
    gradient_body,
    on_arrays,
    on_whole_batch,
    spec_of,
    tangent_body,
)
from gradtape.functions.switch import Switch
from gradtape.functions.tracing import Tracing, Variant, WithGradient, has_gradient
from gradtape.ops.arithmetic import add, greater, less, logical_and, subtract
from gradtape.ops.broadcasting import cast
from gradtape.ops.reductions import reduce_any
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape

_KEPT = 64 << 20  # bytes of states that a run on NumPy may keep for a gradient


class Loop(Structured):
    """`body` run as long as `condition` is true, and at most `limit` times.

    The inputs are the loop's variables, and then what stays the same.

    XLA cannot keep what every step saves for the backward step unless there is a bound on the
    number of steps: then the loop runs as a Scan where a gradient may be wanted. Otherwise some of
    the states are kept, and the others are computed again.
    """

    name = "while_loop"

    def __init__(
        self, condition: Body, body: Body, variables: int, limit: int | None = None
    ) -> None:
        self._condition = condition
        self._body = body
        self._variables = variables
        self._limit = limit
        self._kept: KeptStates | None = None

    def call(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        followed = here.state.scope is not None and any(t.node is not None for t in inputs)
        if followed and here.state.trace is not None:
            given = here.state.trace.taken_in(inputs)
            length = self._length(given)
            if length is not None:
                scan = Scan(self._body, self._variables, 0, length)
                scan.paths = self.paths
                return scan.call(given)
            if self._limit is not None:
                return self._bounded(given, self._limit)
        return super().call(inputs)

    def bodies(self, specs: Sequence[Spec]) -> list[Inside]:
        return [Inside(self._body, specs, carries=True)]

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

        if (
            here.state.scope is not None
            and any(t.node is not None for t in inputs)
            and not here.state.pushers
        ):
            self._kept = KeptStates(self._variant(inputs), arrays[: self._variables], same)
            return self._kept.run(lambda values: condition(*values, *same)[0])
        with xla_settings.wide():
            first = None if limit is None else np.int32(0)
            return xla_engine.namespace().lax.while_loop(
                holds, step, (first, arrays[: self._variables])
            )[1]

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        values, same = list(inputs[: self._variables]), list(inputs[self._variables :])
        steps, kept, running = 0, 0, None
        while self._limit is None or steps < self._limit:
            holds = self._condition([*values, *same])[0]
            if isinstance(holds, BatchedTensor):  # each example goes on for as long as it wants to
                holds = running = holds if running is None else logical_and(running, holds)
            if not np.any(in_all_examples(holds)):
                break
            after = self._body([*values, *same])
            values = (
                after
                if running is None
                else [where(running, new, old) for new, old in zip(after, values, strict=True)]
            )
            steps += 1
            if here.state.recorders:  # which keep all states, of which XLA keeps some
                kept += sum(in_all_examples(value).nbytes for value in after)
                if kept > _KEPT:
                    raise NotOnNumpyError
        return values

    def _bounded(self, inputs: Sequence[Tensor], limit: int) -> list[Tensor]:
        """A loop of `limit` steps, each of which does something only while the condition is
        true.
        """

        def step(tensors: list[Tensor]) -> list[Tensor]:
            holds = self._condition(tensors)[0]
            return Switch([lambda ts: list(ts[: self._variables]), self._body]).call(
                [_as_index(holds), *tensors]
            )

        scan = Scan(step, self._variables, 0, limit)
        scan.paths = self.paths
        return scan.call(inputs)

    def _length(self, inputs: Sequence[Tensor]) -> int | None:
        """The number of steps, if it can be determined now: if what the condition depends on is
        known, such as a counter.
        """
        arrays = [t.array for t in inputs]
        needed = self._counters(arrays)
        if -1 in needed or any(type(inputs[i]) is not Tensor for i in needed):
            return None
        return count_steps(
            on_arrays(self._condition),
            on_arrays(self._body),
            arrays,
            sorted(needed),
            self._variables,
            self._limit,
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

    def _variant(self, inputs: Sequence[Tensor]) -> Variant:
        """The forward and the backward part of a step."""
        connected = [
            has_gradient(t) and (i < self._variables or t.node is not None)
            for i, t in enumerate(inputs)
        ]
        tracing = Tracing(
            Program(self.name, self._body, [spec_of(t) for t in inputs]), gradient=True
        )
        if tracing.no_gradient is not None:
            raise NoGradientError(tracing.no_gradient.text)
        return WithGradient(tracing).variant(tuple(connected))

    def afresh(self) -> Loop:
        fresh = Loop(self._condition, self._body, self._variables, self._limit)
        fresh.paths = self.paths
        return fresh

    def pull_kept(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Any] | None:
        if self._kept is None:
            return None
        found = self._kept.pull(arrays_of(cotangents))
        return [g for g, c in zip(found, connected, strict=True) if c]

    def pull(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Tensor]:
        """The backward loop as a Loop of its own, which can be differentiated again: each step
        computes its state from the first.
        """
        variables, same = list(inputs[: self._variables]), list(inputs[self._variables :])
        in_all, wanted = [has_gradient(t) for t in variables], list(connected[self._variables :])
        flows, sums, count = sum(in_all), sum(wanted), len(inputs)
        gradient = gradient_body(self._body, [*in_all, *wanted])
        first = Tensor(np.zeros((), np.int32))
        steps = self._counting(None).call([first, *inputs])[0]

        def holds(tensors: list[Tensor]) -> list[Tensor]:
            return [greater(tensors[0], 0)]

        def step(tensors: list[Tensor]) -> list[Tensor]:
            number, *rest = tensors
            flowing, totals, given = rest[:flows], rest[flows : flows + sums], rest[flows + sums :]
            number = subtract(number, 1)
            state = self._counting(count).call([first, *given, number])[1:]
            found = gradient([*state, *given[self._variables :], *flowing])
            return [
                number,
                *found[:flows],
                *(add(t, g) for t, g in zip(totals, found[flows:], strict=True)),
            ]

        zeros = [zeros_like(t) for t, w in zip(same, wanted, strict=True) if w]
        found = Loop(holds, step, 1 + flows + sums).call([steps, *cotangents, *zeros, *inputs])[1:]
        flowing = iter(found[:flows])
        by_variable = [next(flowing) if has else None for has in in_all]
        return [
            *(g for g, c in zip(by_variable, connected, strict=False) if c and g is not None),
            *found[flows:],
        ]

    def _counting(self, until: int | None) -> Loop:
        """The loop with a count of its steps as its first variable; it ends at the count in input
        number `until`, or when it would end anyway.
        """

        def holds(tensors: list[Tensor]) -> list[Tensor]:
            if until is not None:
                return [less(tensors[0], tensors[until + 1])]
            goes_on = self._condition(tensors[1:])[0]
            return [
                goes_on
                if self._limit is None
                else logical_and(goes_on, less(tensors[0], self._limit))
            ]

        def step(tensors: list[Tensor]) -> list[Tensor]:
            given = tensors[1:] if until is None else tensors[1 : until + 1]
            return [add(tensors[0], 1), *self._body(given)]

        return Loop(holds, step, self._variables + 1)

    def push(
        self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int
    ) -> list[Tensor]:
        variables, same = list(inputs[: self._variables]), list(inputs[self._variables :])
        flowing = [
            zeros_like(t) if d is None else d
            for t, d in zip(variables, tangents, strict=False)
            if has_gradient(t)
        ]
        moving = [d for d in tangents[self._variables :] if d is not None]
        moved = [
            *(has_gradient(t) for t in variables),
            *(d is not None for d in tangents[self._variables :]),
        ]
        derived = tangent_body(self._body, moved)
        count, flows, rest = self._variables, len(flowing), len(same)

        def body(tensors: list[Tensor]) -> list[Tensor]:
            values, changes, given = (
                tensors[:count],
                tensors[count : count + flows],
                tensors[count + flows :],
            )
            return derived([*values, *given[:rest], *changes, *given[rest:]])

        def condition(tensors: list[Tensor]) -> list[Tensor]:
            return self._condition(
                [*tensors[:count], *tensors[count + flows : count + flows + rest]]
            )

        return Loop(condition, body, count + flows, self._limit).call(
            [*variables, *flowing, *same, *moving]
        )[count:]

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        """The loop runs until it has ended for every example;
        those that have ended stay as they are.
        """
        everywhere = [*[True] * self._variables, *mapped[self._variables :]]
        holds, step = (
            on_whole_batch(self._condition, everywhere),
            on_whole_batch(self._body, everywhere),
        )

        def condition(tensors: list[Tensor]) -> list[Tensor]:
            return [reduce_any(holds(tensors)[0], axis=(0,))]

        def body(tensors: list[Tensor]) -> list[Tensor]:
            running, after = holds(tensors)[0], step(tensors)
            return [
                where(_lined_up(running, new), new, old)
                for new, old in zip(after, tensors, strict=False)
            ]

        variables = inputs[: self._variables]
        first = [t if m else repeated(t, size) for t, m in zip(variables, mapped, strict=False)]
        return Loop(condition, body, self._variables, self._limit).call(
            [*first, *inputs[self._variables :]]
        )


def _as_index(holds: Tensor) -> Tensor:
    return cast(holds, dtype=np.dtype(np.int32))


def _lined_up(running: Tensor, like: Tensor) -> Tensor:
    return reshape(running, shape=(running.array.shape[0], *(1,) * (like.array.ndim - 1)))
