"""`relaid`: a tensor of a program, divided among devices in a certain way.

XLA divides the rest of a program to fit. The cotangent is divided like the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import XlaTensor
from gradtape.engines.xla import meshes as xla_meshes
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.meshes import Layout
from gradtape.functions.looking_inside import Inside
from gradtape.functions.structured import Spec, Structured, arrays_of


class Relaid(Structured):
    """The identity, and a wish about devices. `batches` says how many axes of `vmap` come before
    those that the layout is about.
    """

    name = "relayout"

    def __init__(self, layout: Layout, batches: int = 0) -> None:
        self._layout = layout
        self._batches = batches

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        with xla_settings.wide():
            return [
                xla_meshes.constrained(array, self._layout, self._batches)
                for array in arrays_of(inputs)
            ]

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        return list(inputs)  # eager code runs on the host

    def pull(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Tensor]:
        return self.call(cotangents)

    def push(
        self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int
    ) -> list[Tensor]:
        return self.call([tangent for tangent in tangents if tangent is not None])

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        below = Relaid(self._layout, self._batches + 1)
        return [XlaTensor(array) for array in below.compute(inputs)]

    def bodies(self, specs: Sequence[Spec]) -> list[Inside]:
        return []


def relaid(tensor: Tensor, layout: Layout) -> Tensor:
    """A tensor of a program that is being traced, divided as a layout says."""
    return Relaid(layout).call([tensor])[0]
