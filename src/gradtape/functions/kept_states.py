"""`KeptStates`: the backward step of a loop whose length only the program knows.

An XLA program has room for a fixed number of states. The forward loop keeps every state until there
is no room; then it drops every second one, and keeps only every second state from there on, and so
forth. The backward loop goes from the last step to the first: it takes the nearest state that was
kept, runs the loop again from there to the step, with room for equally many states in between, and
pulls the cotangents through each. With room for K states, a loop of up to K * K steps runs each
step twice more: once to reach its state, and once for what its backward part needs. A longer loop
runs some steps more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.functions.scan import rows_in_place
from gradtape.functions.tracing import Variant

_FEWEST, _MOST, _BYTES = 8, 256, 1 << 26


class KeptStates:
    """The states that a loop keeps.

    `variant` has the forward and the backward part of a step, `same` what all steps use.
    """

    def __init__(self, variant: Variant, first: Sequence[Any], same: Sequence[Any]) -> None:
        self._variant = variant
        self._first = list(first)
        self._same = list(same)
        size = sum(math.prod(v.shape) * np.dtype(v.dtype).itemsize for v in first)
        self._room = max(_FEWEST, min(_MOST, _BYTES // max(size, 1))) // 2 * 2
        self._xp = xla_engine.namespace()
        self._steps: Any = None
        self._stride: Any = None
        self._states: list[Any] = []

    def _after(self, values: Sequence[Any]) -> list[Any]:
        return self._variant.forward([*values, *self._same])[0]

    def _empty(self) -> list[Any]:
        return [self._xp.zeros((self._room, *v.shape), v.dtype) for v in self._first]

    def run(self, condition: Callable[[Sequence[Any]], Any]) -> list[Any]:
        """The loop's variables after it."""
        room, xp = self._room, self._xp

        def goes_on(state: Any) -> Any:
            return condition(state[1])

        def until_full(state: Any) -> Any:
            steps, values, states, stride = state
            full = steps >= room * stride
            halved = [xp.concatenate([s[::2], s[::2]]) for s in states]
            states = [xp.where(full, h, s) for h, s in zip(halved, states, strict=True)]
            stride = xp.where(full, 2 * stride, stride)
            return xp.lax.while_loop(
                lambda s: (s[0] < room * s[3]) & goes_on(s), step, (steps, values, states, stride)
            )

        def step(state: Any) -> Any:
            steps, values, states, stride = state
            slot, keep = steps // stride, steps % stride == 0
            states = [
                self._set(s, slot, xp.where(keep, v, self._at(s, slot)))
                for s, v in zip(states, values, strict=True)
            ]
            return steps + 1, self._after(values), states, stride

        with xla_settings.wide():
            begin = xp.asarray(0, np.int32), self._first, self._empty(), xp.asarray(1, np.int32)
            self._steps, values, self._states, self._stride = xp.lax.while_loop(
                goes_on, until_full, begin
            )
        return values

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the loop's variables before it, and of what all steps use;
        None for what is not connected.
        """
        xp, connected, count = self._xp, self._variant.connected, len(self._first)
        by_variable, by_same = connected[:count], connected[count:]

        def part_of_loop(state: Any) -> Any:
            end, flowing, sums = state
            slot = (end - 1) // self._stride
            begin = xp.maximum(slot * self._stride, end - self._room)
            values = [self._at(s, slot) for s in self._states]
            _, values = xp.lax.while_loop(
                lambda s: s[0] < begin,
                lambda s: (s[0] + 1, self._after(s[1])),
                (slot * self._stride, values),
            )

            def forward(state: Any) -> Any:
                number, values, states = state
                states = [
                    self._set(s, number - begin, v) for s, v in zip(states, values, strict=True)
                ]
                return number + 1, self._after(values), states

            _, _, states = xp.lax.while_loop(
                lambda s: s[0] < end, forward, (begin, values, self._empty())
            )

            def backward(state: Any) -> Any:
                number, flowing, sums = state
                number = number - 1
                return number, *self._pulled(
                    [self._at(s, number - begin) for s in states], flowing, sums
                )

            return xp.lax.while_loop(lambda s: s[0] > begin, backward, (end, flowing, sums))

        with xla_settings.wide():
            zeros = [
                xp.zeros(v.shape, v.dtype) for v, c in zip(self._same, by_same, strict=True) if c
            ]
            begin = self._steps, list(cotangents), zeros
            _, flowing, sums = xp.lax.while_loop(lambda s: s[0] > 0, part_of_loop, begin)
        found = iter([*flowing, *sums])
        return [next(found) if c else None for c in (*by_variable, *by_same)]

    def _pulled(
        self, values: Sequence[Any], flowing: Sequence[Any], sums: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The cotangents before a step, and the sums with those of what all steps use,
        from the cotangents after it.
        """
        given, count = [*values, *self._same], len(self._first)
        _, _, residuals = self._variant.forward(given)
        found = [
            None
            if parts is None
            else parts[0]
            if len(parts) == 1
            else rows_in_place(parts, v.shape)
            for parts, v in zip(
                self._variant.backward(given, residuals, flowing), given, strict=True
            )
        ]
        connected, zeros = self._variant.connected, self._xp.zeros
        flowing = [
            zeros(v.shape, v.dtype) if g is None else g
            for g, v, c in zip(found[:count], values, connected, strict=False)
            if c
        ]
        by_same = [g for g, c in zip(found[count:], connected[count:], strict=True) if c]
        return flowing, [s if g is None else s + g for s, g in zip(sums, by_same, strict=True)]

    def _at(self, states: Any, slot: Any) -> Any:
        return self._xp.lax.dynamic_index_in_dim(states, slot, 0, keepdims=False)

    def _set(self, states: Any, slot: Any, value: Any) -> Any:
        return self._xp.lax.dynamic_update_index_in_dim(states, value, slot, 0)
