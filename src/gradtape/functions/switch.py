"""`Switch`: one of several branches, chosen when the program runs."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.functions.looking_inside import Inside
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
from gradtape.ops.arithmetic import equal
from gradtape.ops.selection import where


class Switch(Structured):
    """One of `bodies`, which take the same inputs and return outputs of the same shapes and dtypes;
    the first input is the number of the body to run.
    """

    name = "cond"

    def __init__(
        self, bodies: Sequence[Body], paths: Sequence[Sequence[int]] | None = None
    ) -> None:
        self._bodies = list(bodies)
        if paths is not None:  # of each body
            self.paths = [
                functools.reduce(operator.or_, each) << 1 for each in zip(*paths, strict=True)
            ]

    def call(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        index, *given = inputs
        if not isinstance(index, BatchedTensor):
            return super().call(inputs)
        # Under a vmap whose examples choose for themselves, every branch is computed and one is
        # kept.
        *results, found = [body(list(given)) for body in self._bodies]
        for number, result in reversed(list(enumerate(results))):
            chosen = equal(index, number)
            found = [where(chosen, a, b) for a, b in zip(result, found, strict=True)]
        return found

    def bodies(self, specs: Sequence[Spec]) -> list[Inside]:
        return [Inside(body, specs[1:], first=1) for body in self._bodies]

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        with xla_settings.wide():
            branches = [on_arrays(body) for body in self._bodies]
            return xla_engine.namespace().lax.switch(
                arrays_of(inputs[:1])[0], branches, *arrays_of(inputs[1:])
            )

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        number = int(inputs[0].array)
        return self._bodies[max(0, min(number, len(self._bodies) - 1))](list(inputs[1:]))

    def pull(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Tensor]:
        return Switch([gradient_body(body, connected[1:]) for body in self._bodies]).call(
            [*inputs, *cotangents]
        )

    def push(
        self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int
    ) -> list[Tensor]:
        moved = [t is not None for t in tangents[1:]]
        given = [*inputs, *(t for t in tangents if t is not None)]
        return Switch([tangent_body(body, moved) for body in self._bodies]).call(given)[outputs:]

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        return Switch([on_whole_batch(body, mapped[1:]) for body in self._bodies]).call(
            list(inputs)
        )
