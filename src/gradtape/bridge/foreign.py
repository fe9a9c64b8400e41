"""`Foreign`: a call of code that gradtape does not see into, recorded as one op.

A subclass computes on arrays and says what its derivatives are: calls of other Foreigns, so that
every order works the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from gradtape.core.batching import BatchedTensor
from gradtape.core.endings import at_outputs
from gradtape.core.node import Node
from gradtape.core.record import PerOutput, record, several_outputs, with_node
from gradtape.core.scopes import connect, scope_of
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.beyond import UnforeseenError
from gradtape.core.xla.host_calls import call_for_results, call_in_order
from gradtape.core.xla.tensor import tensor_of
from gradtape.core.xla.trace import outside_programs
from gradtape.engines.engine import engine_of
from gradtape.engines.xla import settings as xla_settings
from gradtape.functions.tracing import has_gradient


class Recorded(NamedTuple):
    """What a Node has of a call: its outputs as Tensors, and what `compute` kept."""

    outputs: Callable[[], list[Tensor]]
    kept: Any


class Foreign(ABC):
    """A function of Tensors that computes outside gradtape."""

    name = "foreign"
    kept: Any = None
    """What `compute` leaves for a backward step; a call passes it on to its Node."""

    @abstractmethod
    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        """The outputs' arrays."""

    def first_kept(self, count: int) -> int:
        """The first of the outputs, `count` in all, that a backward step needs; it gets numbers in
        the places of those before.
        """
        return count

    @abstractmethod
    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        """The cotangents of the `wanted` inputs, from those of some of the outputs."""

    @abstractmethod
    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        """The tangents of the outputs, from those of some of the inputs."""

    @abstractmethod
    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        """The outputs for a whole batch, which is the first axis of the `mapped` inputs and of all
        outputs.
        """


def call(foreign: Foreign, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The outputs, recorded as one op by whatever records."""
    state = here.state
    if state.trace is not None:
        inputs = state.trace.taken_in(inputs)
    elif state.device is not None:
        inputs = [state.device.move(tensor) for tensor in inputs]
    scope = state.scope
    levels = [t.level for t in inputs if isinstance(t, BatchedTensor)]
    results: list[Any]
    if levels:
        level = max(levels, key=lambda found: found.depth)
        outside, inside = level.split()
        scope = scope_of([r.scope for r in inside if r.scope is not None])
        mapped = [isinstance(t, BatchedTensor) and t.level is level for t in inputs]
        inner = [
            t.inner if m else t  # type: ignore[attr-defined]
            for t, m in zip(inputs, mapped, strict=True)
        ]
        with state.only(outside):
            whole = foreign.call_on_batch(level.size, mapped, inner)
        results = [BatchedTensor(tensor, level) for tensor in whole]
    else:
        results = foreign.compute(inputs)
        if state.trace is not None:
            again = lambda tensors: call(foreign, tensors)
            results = state.trace.listed(again, inputs, results)
    nodes = [tensor.node if has_gradient(tensor) else None for tensor in inputs]
    connection = connect(nodes, scope)
    kept, foreign.kept = foreign.kept, None
    if connection is None:
        outputs = [with_node(result, None) for result in results]
    else:
        first = foreign.first_kept(len(results))
        saved = (tuple(inputs), [*[None] * first, *results[first:]], kept)
        rule = ForeignRule(foreign)
        outputs = record(rule, saved, None, connection, inputs, results, foreign=True)
    return at_outputs(foreign.name, None, nodes, outputs)


class OnHost(Foreign):
    """A function of NumPy arrays, which a compiled program calls back."""

    @abstractmethod
    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        """The outputs' arrays."""

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        trace = here.state.trace
        if trace is None:
            return self.on_arrays([engine_of(t.array).to_numpy(t.array) for t in inputs])
        ones = [np.ones(t.array.shape, t.array.dtype) for t in inputs]
        with xla_settings.evaluating(), outside_programs():
            found = self.on_arrays(ones)
        specs = [(np.shape(array), np.asarray(array).dtype) for array in found]

        def run(*arrays: Any) -> list[Any]:
            outputs = [np.asarray(array) for array in self.on_arrays(list(arrays))]
            for i, (output, spec) in enumerate(zip(outputs, specs, strict=True)):
                if (output.shape, output.dtype) != spec:
                    raise UnforeseenError(
                        f"{self.name}: result {i} has shape {output.shape} and dtype "
                        f"{output.dtype}, but for ones of the same shapes it had shape {spec[0]} "
                        f"and dtype {spec[1]}, for which the program was compiled: call it "
                        "outside the gradtape.function."
                    )
            return outputs

        # XLA does not compute what has no elements, and would not see that it has some.
        called = call_in_order if any(0 in shape for shape, _ in specs) else call_for_results
        return called(run, specs, [tensor.array for tensor in inputs])


def is_followed(tensor: Tensor) -> bool:
    """Whether a derivative by a Tensor may be wanted: a tape follows it, or a program that is being
    traced may be differentiated by it.
    """
    if not has_gradient(tensor):
        return False
    if tensor.node is not None:
        return True
    if isinstance(tensor, BatchedTensor):
        return is_followed(tensor.inner)
    trace = here.state.trace
    return trace is not None and trace.calls is not None and trace.has_path_to(tensor)


class ForeignRule:
    """The derivative of a foreign call; its Node saves the inputs and the outputs."""

    takes_slices = False
    shows_nan = False
    pull_into = None

    def __init__(self, foreign: Foreign) -> None:
        self.name = foreign.name
        self._foreign = foreign

    def pull_tensors(
        self, node: Node, g: PerOutput, wanted: Sequence[Node | None]
    ) -> Sequence[Any]:
        inputs, results, kept = node.saved
        places = [i for i, parent in enumerate(wanted) if parent is not None]
        cotangents = {i: v if isinstance(v, Tensor) else tensor_of(v) for i, v in sorted(g.items())}
        found = self._foreign.pull(
            inputs, Recorded(lambda: _outputs(node, results), kept), cotangents, places
        )
        by_place = dict(zip(places, found, strict=True))
        return [by_place.get(i) for i in range(len(inputs))]

    def pull_arrays(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        return [None if p is None else p.array for p in self.pull_tensors(node, g, wanted)]

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        moved = {i: t for i, t in enumerate(tangents) if t is not None}
        found = self._foreign.push(args, moved, outputs)
        return {i: found.get(i) for i in range(len(outputs))}

    def kept(self, node: Node) -> Iterator[tuple[str, str, Any]]:
        """What a Node keeps, see `ops.derivative`."""
        inputs, results, _ = node.saved
        yield "", "input", list(inputs)
        yield "", "output", [r for r in results if not isinstance(r, (BatchedTensor, NoneType))]


def _outputs(node: Node, results: Sequence[Any]) -> list[Tensor]:
    """The outputs again, with new Nodes, which accumulators have to hear of."""
    known = [np.zeros(()) if result is None else result for result in results]
    outputs = several_outputs(node, known, [result is not None for result in results])
    for pusher in here.state.pushers:
        for output in outputs:
            if output.node is not None:
                pusher.push(output.node, [], None)
    return outputs
