"""`Switch`: one of several branches, chosen when the program runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.engines import xla_engine
from gradtape.functions.structured import Body, Structured, arrays_of, gradient_body, on_arrays, on_whole_batch, tangent_body
from gradtape.ops.arithmetic import equal
from gradtape.ops.selection import where


class Switch(Structured):
    """Branch number `index` of `bodies`, which take the same inputs and give outputs of the same shapes and dtypes."""

    name = "cond"

    def __init__(self, index: Tensor, bodies: Sequence[Body]) -> None:
        self._index = index
        self._bodies = list(bodies)

    def call(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        if not isinstance(self._index, BatchedTensor):
            return super().call(inputs)
        # Under a vmap whose examples choose for themselves, every branch is computed and one is kept.
        *results, found = [body(list(inputs)) for body in self._bodies]
        for number, result in reversed(list(enumerate(results))):
            chosen = equal(self._index, number)
            found = [where(chosen, a, b) for a, b in zip(result, found, strict=True)]
        return found

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        with xla_engine.wide():
            (index,) = arrays_of([self._index])
            branches = [on_arrays(body) for body in self._bodies]
            return xla_engine.namespace().lax.switch(index, branches, *arrays_of(inputs))

    def pull(self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]) -> list[Tensor]:
        return Switch(self._index, [gradient_body(body, connected) for body in self._bodies]).call([*inputs, *cotangents])

    def push(self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int) -> list[Tensor]:
        moved = [t is not None for t in tangents]
        given = [*inputs, *(t for t in tangents if t is not None)]
        return Switch(self._index, [tangent_body(body, moved) for body in self._bodies]).call(given)[outputs:]

    def call_on_batch(self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]) -> list[Tensor]:
        return Switch(self._index, [on_whole_batch(body, mapped) for body in self._bodies]).call(list(inputs))
