"""`Structured`: the base of branches and loops in a traced program, recorded as one op made of
bodies that XLA runs.

A *body* is a function from a list of Tensors to a list of Tensors that depends on nothing else:
what the user's Python function called when it was traced. Its gradient and its tangent are bodies
too, so a branch or a loop is differentiated by making another one from derived bodies, to any
order.
"""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import dtypes
from gradtape.core.batching import BatchedTensor
from gradtape.core.endings import at_outputs
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.node import Node
from gradtape.core.record import PerOutput, record, with_node
from gradtape.core.scopes import connect, scope_of
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import XlaTensor
from gradtape.core.xla.trace import Constants, Trace, inputs_of_path, key_of, one_for_all
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.functions.call_rule import RunEagerly
from gradtape.functions.program import Program
from gradtape.functions.reason import NotCompiled
from gradtape.functions.tracing import has_gradient
from gradtape.ops.broadcasting import broadcast_to, identity
from gradtape.transforms.vectorize import vmap

if TYPE_CHECKING:
    from gradtape.functions.looking_inside import Inside

Body = Callable[[list[Tensor]], list[Tensor]]
Spec = tuple[tuple[int, ...], Any]


def spec_of(tensor: Tensor) -> Spec:
    return tuple(tensor.array.shape), tensor.array.dtype


def arrays_of(tensors: Sequence[Tensor]) -> list[Any]:
    """The arrays of Tensors of either engine, as XLA's."""
    with xla_settings.wide():
        return [xla_engine.to_xla(t.array) for t in tensors]


def on_arrays(body: Body) -> Callable[..., list[Any]]:
    """A body as a function of arrays, for XLA to trace;
    nothing that records outside sees into it.
    """

    def run(*arrays: Any) -> list[Any]:
        with here.state.only([]), Trace().running():
            return arrays_of(body([XlaTensor(array) for array in arrays]))

    return run


def gradient_body(body: Body, connected: Sequence[bool]) -> Body:
    """The body that maps inputs and the cotangents of the outputs that have gradients to the
    gradients with respect to the connected inputs.
    """
    count = len(connected)

    def run(tensors: list[Tensor]) -> list[Tensor]:
        tensors = _each_its_own(tensors)
        sources = [t for t, c in zip(tensors, connected, strict=False) if c]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            targets = [out for out in body(tensors[:count]) if has_gradient(out)]
        found: list[Any] = tape.gradient(
            targets, sources, output_gradients=tensors[count:], unconnected_gradients="zero"
        )
        return [g if isinstance(g, Tensor) else g.__gradtape_tensor__() for g in found]

    return run


def tangent_body(body: Body, moved: Sequence[bool]) -> Body:
    """The body that maps inputs and the tangents of those that vary to the outputs, followed by the
    tangents of those that have gradients.
    """
    count = len(moved)

    def run(tensors: list[Tensor]) -> list[Tensor]:
        tensors = _each_its_own(tensors)
        primals = [t for t, m in zip(tensors, moved, strict=False) if m]
        with ForwardAccumulator(primals, tensors[count:]) as accumulator:
            outputs = body(tensors[:count])
        return [
            *outputs,
            *accumulator.jvp(
                [out for out in outputs if has_gradient(out)], unconnected_gradients="zero"
            ),
        ]

    return run


def _each_its_own(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The same values, each as a Tensor and a Node of its own: what is run on NumPy may give one
    Tensor for two inputs, by which the derivatives are to be told apart.
    """
    if here.state.trace is not None:
        return list(tensors)
    return [t.with_node(None) if t.node is None else identity(t) for t in tensors]


class Structured(ABC):
    """An op made of bodies. A subclass says what it computes and how its derivatives are made.

    `paths` has, for each output, the inputs from which there is a path to it, if that is known.
    """

    name = "structured"
    paths: Sequence[int] | None = None

    @abstractmethod
    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        """The outputs' arrays."""

    @abstractmethod
    def run(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs as Python computes them, op by op, recorded by whatever records: for calls
        that need not wait for XLA.
        """

    @abstractmethod
    def pull(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Tensor]:
        """The gradients with respect to the connected inputs, from the cotangents of the outputs
        that have gradients.
        """

    @abstractmethod
    def push(
        self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int
    ) -> list[Tensor]:
        """The tangents of the outputs that have gradients, from those of the inputs; `outputs` is
        how many outputs there are.
        """

    @abstractmethod
    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        """The outputs for a whole batch, which is the first axis of the `mapped` inputs and of all
        outputs.
        """

    def call(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs, recorded as one op by whatever records."""
        state = here.state
        trace = state.trace
        # A tape inside a vmap follows each op of a program: those of a branch or a loop are XLA's.
        if trace is None and state.waits:
            return self.run(inputs)
        if trace is None:
            raise RunEagerly(
                NotCompiled(f"{self.name}: a tape inside vmap records op by op.", None)
            )
        inputs = trace.taken_in(inputs)
        recording = state.scope
        levels = [t.level for t in inputs if isinstance(t, BatchedTensor)]
        results: list[Any]
        if levels:
            level = max(levels, key=lambda found: found.depth)
            outside, inside = level.split()
            recording = scope_of([r.scope for r in inside if r.scope is not None])
            mapped = [isinstance(t, BatchedTensor) and t.level is level for t in inputs]
            inner = [t.inner if m else t for t, m in zip(inputs, mapped, strict=True)]
            with state.only(outside), level.left():
                results = [
                    BatchedTensor(result, level)
                    for result in self.call_on_batch(level.size, mapped, inner)
                ]
        else:
            again = lambda tensors: self.afresh().call(tensors)
            with trace.unlisted():
                results = self.compute(inputs)
            results = trace.listed(again, inputs, results, self.paths)
        paths = [-1] * len(results) if self.paths is None else self.paths
        reach = functools.reduce(operator.or_, paths, 0)
        connection = connect(
            [t.node if reach >> i & 1 and has_gradient(t) else None for i, t in enumerate(inputs)],
            recording,
        )
        if connection is None:
            return self._with_endings(inputs, [with_node(result, None) for result in results])
        parents, _ = connection
        rule = StructuredRule(self, [_spec(result) for result in results], parents, trace)
        reached = [
            bool(inputs_of_path(path, [parent is not None for parent in parents])) for path in paths
        ]
        outputs = record(
            rule, tuple(inputs), None, connection, inputs, list(results), reached=reached
        )
        return self._with_endings(inputs, outputs)

    def _with_endings(self, inputs: Sequence[Tensor], outputs: list[Tensor]) -> list[Tensor]:
        nodes = [t.node for t in inputs]
        if not any(nodes):
            return outputs
        from gradtape.functions.looking_inside import LookInto  # noqa: PLC0415 - it looks into this

        return at_outputs(self.name, LookInto(self, inputs), nodes, outputs)

    @abstractmethod
    def bodies(self, specs: Sequence[Spec]) -> list[Inside]:
        """What can be looked into, for inputs of these shapes and dtypes."""

    def afresh(self) -> Structured:
        """The same op, without what an earlier call has kept."""
        return self

    def pull_kept(
        self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]
    ) -> list[Any] | None:
        """The arrays of what `pull` returns, computed from what the call has kept for it; None if
        it has kept nothing.
        """
        return None


class StructuredRule:
    """The derivative of a structured op."""

    takes_slices = False
    shows_nan = False
    pull_into = None

    def __init__(
        self, op: Structured, specs: Sequence[Spec], parents: Sequence[Node | None], trace: Trace
    ) -> None:
        self.name = op.name
        self._op = op
        self._specs = specs
        self._connected = [parent is not None for parent in parents]
        self._trace = trace

    def pull_tensors(
        self, node: Node, g: PerOutput, wanted: Sequence[Node | None]
    ) -> Sequence[Any]:
        cotangents = [
            g[i] if i in g else Tensor(np.zeros(shape, dtype))
            for i, (shape, dtype) in enumerate(self._specs)
            if dtype in dtypes.TRAINABLE
        ]
        found = iter(self._pulled(node.saved, cotangents))
        return [next(found) if c else None for c in self._connected]

    def _pulled(self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor]) -> Sequence[Tensor]:
        op, connected, state = self._op, self._connected, here.state
        if state.scope is not None or state.levels or state.trace is not self._trace:
            return op.pull(inputs, cotangents, connected)
        with self._trace.unlisted():
            arrays = op.pull_kept(inputs, cotangents, connected)
        if arrays is None:
            return op.pull(inputs, cotangents, connected)
        count, fresh = len(inputs), op.afresh()

        def again(tensors: list[Tensor]) -> list[Tensor]:
            if here.state.waits and here.state.trace is None:
                return gradient_body(fresh.run, connected)(tensors)
            return fresh.pull(tensors[:count], tensors[count:], connected)

        return [
            XlaTensor(array) for array in self._trace.listed(again, [*inputs, *cotangents], arrays)
        ]

    def pull_arrays(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        tensors = PerOutput(
            (i, value if isinstance(value, Tensor) else Tensor(value)) for i, value in g.items()
        )
        return [None if p is None else p.array for p in self.pull_tensors(node, tensors, wanted)]

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        found = iter(self._op.push(node.saved, tangents, len(self._specs)))
        return {
            i: next(found) for i, (_, dtype) in enumerate(self._specs) if dtype in dtypes.TRAINABLE
        }


def _spec(result: Any) -> Spec:
    array = result.array if isinstance(result, Tensor) else result
    return tuple(array.shape), array.dtype


def on_whole_batch(body: Body, mapped: Sequence[bool]) -> Body:
    """A body on a batch of inputs, those that are `mapped`; all its outputs are batches."""
    axes = tuple(0 if m else None for m in mapped)
    return lambda tensors: list(
        vmap(lambda *examples: body(list(examples)), in_axes=axes)(*tensors)
    )


class Closed:
    """A user's Python function as a body: what it captures becomes further inputs. It runs once,
    now.

    `run(tensors)` returns a flat list. `taken` holds the captured Variables and Tensors, `written`
    the Variables it assigns; the closed body returns the written Variables' values after its own
    outputs.
    """

    def __init__(self, name: str, run: Body, specs: Sequence[Spec]) -> None:
        self._program = program = Program(name, run, specs, constants=Constants.AS_AROUND)
        program.trace()
        self.taken = program.taken
        self.written = program.written
        self.outputs = program.outputs
        self._count = len(specs)

    def body(self, taken: Sequence[Any], written: Sequence[Variable]) -> Body:
        """The body whose inputs end with values for `taken`,
        and whose outputs end with values of `written`.
        """
        program = self._program

        def run(tensors: list[Tensor]) -> list[Tensor]:
            values = dict(zip(map(key_of, taken), tensors[self._count :], strict=True))
            inputs = [*tensors[: self._count], *(values[key_of(outside)] for outside in self.taken)]
            state = here.state
            op_by_op = state.recorders or (state.waits and state.trace is None)
            if op_by_op or any(isinstance(t, BatchedTensor) for t in inputs):
                outputs, after = program.again(inputs)
            else:
                found = program.inlined(inputs)
                outputs, after = found[: len(self.outputs)], found[len(self.outputs) :]
            values.update(zip(map(key_of, self.written), after, strict=True))
            return [*outputs, *(values[key_of(variable)] for variable in written)]

        return run

    def paths(self, taken: Sequence[Any], written: Sequence[Variable]) -> list[int]:
        """For each output of that body, the inputs from which there is a path to it."""
        places = {key_of(outside): self._count + i for i, outside in enumerate(taken)}
        inputs = [*range(self._count), *(places[key_of(outside)] for outside in self.taken)]
        program, count = self._program, len(self.outputs)
        found = [moved(path, inputs) for path in program.paths]
        after = dict(zip(map(key_of, self.written), found[count:], strict=True))
        return [*found[:count], *(after.get(key_of(v), 1 << places[key_of(v)]) for v in written)]


def moved(path: int, places: Sequence[int]) -> int:
    """A path whose inputs are in other positions now."""
    return inputs_of_path(path, [1 << place for place in places])


def around(paths: Sequence[int], carried: int, *, at_once: bool) -> list[int]:
    """The paths of a loop from those of one step, whose first inputs and outputs are `carried`.

    `at_once` says that there may be no step at all, so that carried values stay the same.
    """
    first = [1 << i for i in range(carried)]
    rest = [1 << i for i in range(carried, max([carried, *(path.bit_length() for path in paths)]))]
    before = list(first)
    while True:
        found = [inputs_of_path(path, [*before, *rest]) for path in paths]
        after = [old | new for old, new in zip(before, found, strict=False)]
        if after == before:
            break
        before = after
    ends = [f | old if at_once else f for f, old in zip(found, first, strict=False)]
    return [*ends, *found[carried:]]


def each_once(*lists: Sequence[Any]) -> list[Any]:
    """The members of several lists, each once."""
    return list({key_of(member): member for members in lists for member in members}.values())


def values_now(taken: Sequence[Any]) -> list[Tensor]:
    """The values, at this point of the program, of what bodies capture."""
    trace = here.state.trace
    assert trace is not None
    return trace.taken_in(
        [_value_now(value) if isinstance(value, Variable) else value for value in taken]
    )


def _value_now(variable: Variable) -> Tensor:
    """A Variable's value; under `vmap`, that of a hidden state is a batch, so that a body that uses
    it sees every example.
    """
    value = variable.tensor()
    if not getattr(variable, "hidden", False):
        return value
    levels, shape = here.state.levels, tuple(value.array.shape)
    value = broadcast_to(value, shape=(*[level.size for level in levels], *shape))
    for level in levels:
        value = BatchedTensor(value, level)
    return value


def write_back(written: Sequence[Variable], values: Sequence[Tensor]) -> None:
    """Assigns the new values of the Variables that bodies have written."""
    trace = here.state.trace
    assert trace is not None
    for variable, value in zip(written, values, strict=True):
        hidden = getattr(variable, "hidden", False)
        if hidden and isinstance(value, BatchedTensor) and not value.level.size:
            continue  # there was no example that could have changed it
        trace.write(variable, one_for_all(value).array if hidden else value.array)
