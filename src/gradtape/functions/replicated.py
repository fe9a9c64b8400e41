"""`run_replicated`: a function that every device of a mesh runs on its own part of the arguments,
in a program that is being traced; and what the replicas say to each other meanwhile.

A Variable that the function reads is the same for all replicas. What they assign is put together
when the function ends, as the Variable's `aggregation` says.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from gradtape.core.node import Node
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.variable_options import VariableAggregation, VariableSynchronization
from gradtape.core.xla.tensor import XlaTensor
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import meshes as xla_meshes
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.meshes import Layout
from gradtape.functions.looking_inside import Inside
from gradtape.functions.structured import (
    Body,
    Closed,
    Spec,
    Structured,
    arrays_of,
    on_arrays,
    spec_of,
    values_now,
    write_back,
)

NAME = "Strategy.run"


class Together(Enum):
    """How the values that replicas have given a Variable become one."""

    FIRST = "that of the first replica"
    MEAN = "their mean"
    SUM = "their sum"
    CHANGES = "the value before, and the sum of the changes"
    PARTS = "the sum, where all replicas but the first began with zero"


def together_of(variable: Any, *, replaced: bool) -> Together:
    """What applies to a Variable, of which the replicas `replaced` the value or changed it."""
    aggregation = variable.aggregation
    if aggregation is VariableAggregation.MEAN:
        return Together.MEAN
    if aggregation is not VariableAggregation.SUM:
        return Together.FIRST
    if begins_with_zero(variable):
        return Together.PARTS
    return Together.SUM if replaced else Together.CHANGES


def begins_with_zero(variable: Any) -> bool:
    """Whether the value of a Variable is the sum of what the replicas have, such as a metric's."""
    return (
        variable.synchronization is VariableSynchronization.ON_READ
        and variable.aggregation is VariableAggregation.SUM
    )


class Replaced:
    """A recorder that knows which Variables are replaced, and not only added to."""

    pushes = False
    recording = True
    scope = None

    def __init__(self) -> None:
        self.variables: set[int] = set()

    def variable_node(self, variable: Variable) -> Node | None:
        return None

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        if replaces:
            self.variables.add(id(variable))


def run_replicated(
    run: Body, layout: Layout, tensors: Sequence[Tensor], divided: Sequence[bool]
) -> list[Tensor]:
    """What `run` returns on every replica, one after the other along a new first axis.

    `run` is given, of each tensor that is `divided`, the part of its replica, and the others whole.
    """
    replaced = Replaced()

    def body(given: list[Tensor]) -> list[Tensor]:
        with here.state.only([replaced]):
            return run(given)

    specs: list[Spec] = []
    for tensor, own in zip(tensors, divided, strict=True):
        shape, dtype = spec_of(tensor)
        specs.append((shape[1:] if own else shape, dtype))
    with xla_meshes.in_replica(layout):
        closed = Closed(NAME, body, specs)
        captured = [_outline(outside) for outside in closed.taken]
        parts = [len(specs) + i for i, v in enumerate(closed.taken) if _begins_with_zero(v)]
        own_ones = [*divided, *[False] * len(captured)]
        each = closed.body(closed.taken, closed.written)
        differ = xla_meshes.differing(
            on_arrays(each),
            [*specs, *captured],
            [own or i in parts for i, own in enumerate(own_ones)],
        )
    count = len(closed.outputs)
    places = {id(outside): len(specs) + i for i, outside in enumerate(closed.taken)}
    written = [
        Written(
            together_of(v, replaced=id(v) in replaced.variables), differ=d, before=places[id(v)]
        )
        for v, d in zip(closed.written, differ[count:], strict=True)
    ]
    op = Replicated(each, layout, own_ones, parts, count, written)
    results = op.call([*tensors, *values_now(closed.taken)])
    write_back(closed.written, results[count:])
    return results[:count]


class Written(NamedTuple):
    """A Variable's value that replicas have assigned: how it becomes one, whether replicas may
    disagree, and which input it was before.
    """

    way: Together
    differ: bool
    before: int


def _outline(outside: Any) -> Spec:
    outline = outside.outline
    return tuple(outline.shape), outline.dtype


def _begins_with_zero(outside: Any) -> bool:
    return isinstance(outside, Variable) and begins_with_zero(outside)


class Replicated(Structured):
    """A body that every device runs on its own part.

    `parts` are the inputs that only the first replica has; the others begin with zero. After
    `count` outputs that every replica has for itself come those that are `written`.
    """

    name = NAME

    def __init__(
        self,
        body: Body,
        layout: Layout,
        divided: Sequence[bool],
        parts: Sequence[int],
        count: int,
        written: Sequence[Written],
    ) -> None:
        self._body = body
        self._layout = layout
        self._divided = list(divided)
        self._parts = list(parts)
        self._count = count
        self._written = list(written)

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        apart = [*[True] * self._count, *[False] * len(self._written)]
        arrays = arrays_of(inputs)
        with xla_settings.wide(), xla_meshes.in_replica(self._layout):
            return xla_meshes.on_each_device(self._on_one, self._layout, self._divided, apart)(
                *arrays
            )

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        return [XlaTensor(array) for array in self.compute(inputs)]

    def _on_one(self, *arrays: Any) -> list[Any]:
        xp, axis = xla_engine.namespace(), self._layout.batch
        is_first = xp.lax.axis_index(axis) == 0
        given = list(arrays)
        for i in self._parts:
            given[i] = xp.where(is_first, given[i], xp.zeros_like(given[i]))
        found = on_arrays(self._body)(*given)
        for i, (way, differ, before) in enumerate(self._written, start=self._count):
            after = found[i]
            if way is Together.CHANGES:
                found[i] = arrays[before] + summed_array(after - arrays[before], axis)
            elif way in (Together.SUM, Together.PARTS):
                found[i] = summed_array(after, axis)
            elif differ and way is Together.MEAN:
                total = summed_array(after, axis)
                whole = after.dtype.kind in "iu"
                found[i] = total // self._layout.parts if whole else total / self._layout.parts
            elif differ:
                found[i] = summed_array(xp.where(is_first, after, xp.zeros_like(after)), axis)
        return found

    def pull(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Tensor]:
        raise _not_differentiable()

    def push(
        self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int
    ) -> list[Tensor]:
        raise _not_differentiable()

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        raise ValueError(f"{NAME} cannot be called inside vmap.")

    def bodies(self, specs: Sequence[Spec]) -> list[Inside]:
        return []


def _not_differentiable() -> ValueError:
    return ValueError(
        f"{NAME} has no derivatives: open the tape, and ask it for gradients, inside the function "
        "that every replica runs."
    )


def summed_array(array: Any, axis: Any) -> Any:
    """The sum over all replicas, of an array of any dtype."""
    lax = xla_engine.namespace().lax
    if array.dtype == np.bool_:
        return lax.psum(array.astype(np.int32), axis) > 0
    return lax.psum(array, axis)


def replica_number(layout: Layout) -> Tensor:
    """The number of the replica that runs, in a program."""
    with xla_settings.wide():
        return XlaTensor(xla_engine.namespace().lax.axis_index(layout.batch))


class _Collective(Structured):
    """What replicas tell each other: a linear function of what each has, whose transpose is another
    one.
    """

    name = "all_reduce"

    def __init__(self, layout: Layout, axis: int = 0) -> None:
        self._layout = layout
        self._axis = axis

    @abstractmethod
    def on_array(self, array: Any, axis: int) -> Any:
        """The result for an array of each replica."""

    @abstractmethod
    def transposed(self) -> _Collective:
        """Takes the cotangents of the results to those of the arguments."""

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        with xla_settings.wide():
            return [self.on_array(array, self._axis) for array in arrays_of(inputs)]

    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        return [XlaTensor(array) for array in self.compute(inputs)]

    def pull(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Tensor]:
        return self.transposed().call(cotangents)

    def push(
        self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int
    ) -> list[Tensor]:
        return self.call([tangent for tangent in tangents if tangent is not None])

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        with xla_settings.wide():
            arrays = arrays_of(inputs)
            return [XlaTensor(self.on_array(array, self._axis + 1)) for array in arrays]

    def bodies(self, specs: Sequence[Spec]) -> list[Inside]:
        return []


class _Sum(_Collective):
    def on_array(self, array: Any, axis: int) -> Any:
        return summed_array(array, self._layout.batch)

    def transposed(self) -> _Collective:
        return self


class _Gathered(_Collective):
    name = "all_gather"

    def on_array(self, array: Any, axis: int) -> Any:
        lax = xla_engine.namespace().lax
        return lax.all_gather(array, self._layout.batch, axis=axis, tiled=True)

    def transposed(self) -> _Collective:
        return _Scattered(self._layout, self._axis)


class _Scattered(_Collective):
    """Each replica's part of the sum along an axis."""

    name = "reduce_scatter"

    def on_array(self, array: Any, axis: int) -> Any:
        lax = xla_engine.namespace().lax
        return lax.psum_scatter(array, self._layout.batch, scatter_dimension=axis, tiled=True)

    def transposed(self) -> _Collective:
        return _Gathered(self._layout, self._axis)


def sum_of_replicas(tensor: Tensor, layout: Layout) -> Tensor:
    """The sum of what all replicas have."""
    return _Sum(layout).call([tensor])[0]


def all_of_replicas(tensor: Tensor, layout: Layout, axis: int) -> Tensor:
    """What all replicas have, one after the other along an axis."""
    return _Gathered(layout, axis).call([tensor])[0]
