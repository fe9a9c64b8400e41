"""What the control flow of a traced program has in common: bodies that XLA runs by itself, recorded as one op.

A *body* is a function from a list of Tensors to a list of Tensors that depends on nothing else. Its gradient and its tangent are bodies
too, so a branch or a loop is differentiated by making another one from derived bodies, to any order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.core.backward import PerOutput
from gradtape.core.batching import BatchedTensor
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.node import Node, caller
from gradtape.core.scope import connect, here, scope_of
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.trace import Trace, one_for_all
from gradtape.core.variable import Variable
from gradtape.core.xla_tensor import XlaTensor
from gradtape.engines import xla_engine
from gradtape.functions.moments import Moment
from gradtape.functions.program import Program
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.derivative import push_forward, several_outputs, with_node
from gradtape.transforms.vectorize import vmap

Body = Callable[[list[Tensor]], list[Tensor]]
Spec = tuple[tuple[int, ...], Any]


def spec_of(tensor: Tensor) -> Spec:
    return tuple(tensor.array.shape), tensor.array.dtype


def arrays_of(tensors: Sequence[Tensor]) -> list[Any]:
    """The arrays of Tensors of either engine, as XLA's."""
    with xla_engine.wide():
        return [xla_engine.to_xla(t.array) for t in tensors]


def on_arrays(body: Body) -> Callable[..., list[Any]]:
    """A body as a function of arrays, for XLA to trace; nothing that records outside sees into it."""

    def run(*arrays: Any) -> list[Any]:
        with here.state.only([]):
            return arrays_of(body([XlaTensor(array) for array in arrays]))

    return run


def has_gradient(tensor: Tensor) -> bool:
    return tensor.array.dtype in dtypes.TRAINABLE


def gradient_body(body: Body, connected: Sequence[bool]) -> Body:
    """From inputs and the cotangents of the outputs that have gradients, the gradients by the connected inputs."""
    count = len(connected)

    def run(tensors: list[Tensor]) -> list[Tensor]:
        sources = [t for t, c in zip(tensors, connected, strict=False) if c]
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            targets = [out for out in body(tensors[:count]) if has_gradient(out)]
        found = tape.gradient(targets, sources, output_gradients=tensors[count:], unconnected_gradients="zero")
        return [g if isinstance(g, Tensor) else g.__gradtape_tensor__() for g in found]

    return run


def tangent_body(body: Body, moved: Sequence[bool]) -> Body:
    """From inputs and the tangents of those that move, the outputs and then the tangents of those that have gradients."""
    count = len(moved)

    def run(tensors: list[Tensor]) -> list[Tensor]:
        primals = [t for t, m in zip(tensors, moved, strict=False) if m]
        with ForwardAccumulator(primals, tensors[count:]) as accumulator:
            outputs = body(tensors[:count])
        return [*outputs, *accumulator.jvp([out for out in outputs if has_gradient(out)], unconnected_gradients="zero")]

    return run


class Structured(ABC):
    """An op made of bodies. A subclass says what it computes and how its derivatives are made."""

    name = "structured"

    @abstractmethod
    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        """The outputs' arrays."""

    @abstractmethod
    def pull(self, inputs: Sequence[Tensor], cotangents: Sequence[Tensor], connected: Sequence[bool]) -> list[Tensor]:
        """The gradients by the connected inputs, from the cotangents of the outputs that have gradients."""

    @abstractmethod
    def push(self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None], outputs: int) -> list[Tensor]:
        """The tangents of the outputs that have gradients, from those of the inputs; `outputs` is how many outputs there are."""

    @abstractmethod
    def call_on_batch(self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs for a whole batch, which is the first axis of the `mapped` inputs and of all outputs."""

    def call(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs, recorded as one op by whatever records."""
        state = here.state
        if state.trace is not None:
            inputs = state.trace.taken_in(inputs)
        recording = state.scope
        levels = [t.level for t in inputs if isinstance(t, BatchedTensor)]
        results: list[Any]
        if levels:
            level = max(levels, key=lambda found: found.depth)
            outside, inside = level.split()
            recording = scope_of([r.scope for r in inside if r.scope is not None])
            mapped = [isinstance(t, BatchedTensor) and t.level is level for t in inputs]
            inner = [t.inner if m else t for t, m in zip(inputs, mapped, strict=True)]  # type: ignore[attr-defined]
            with state.only(outside), level.left():
                results = [BatchedTensor(result, level) for result in self.call_on_batch(level.size, mapped, inner)]
        else:
            results = self.compute(inputs)
        connection = connect([t.node if has_gradient(t) else None for t in inputs], recording)
        if connection is None:
            return [with_node(result, None) for result in results]
        parents, scope = connection
        specs = [_spec(result) for result in results]
        node = Node(StructuredRule(self, specs, parents), tuple(inputs), None, parents, scope, caller())
        outputs = several_outputs(node, results)
        if state.pushers:
            push_forward(state, node, inputs, outputs)
        return outputs


class StructuredRule:
    """The derivative of a structured op."""

    takes_slices = False
    step = None

    def __init__(self, op: Structured, specs: Sequence[Spec], parents: Sequence[Node | None]) -> None:
        self.name = op.name
        self._op = op
        self._specs = specs
        self._connected = [parent is not None for parent in parents]

    def pull_tensors(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        cotangents = [
            g[i] if i in g else Tensor(np.zeros(shape, dtype))
            for i, (shape, dtype) in enumerate(self._specs)
            if dtype in dtypes.TRAINABLE
        ]
        found = iter(self._op.pull(node.saved, cotangents, self._connected))
        return [next(found) if c else None for c in self._connected]

    def pull_arrays(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        tensors = PerOutput((i, value if isinstance(value, Tensor) else Tensor(value)) for i, value in g.items())
        return [None if p is None else p.array for p in self.pull_tensors(node, tensors, wanted)]

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        found = iter(self._op.push(node.saved, tangents, len(self._specs)))
        return {i: next(found) for i, (_, dtype) in enumerate(self._specs) if dtype in dtypes.TRAINABLE}


def _spec(result: Any) -> Spec:
    array = result.array if isinstance(result, Tensor) else result
    return tuple(array.shape), array.dtype


def on_whole_batch(body: Body, mapped: Sequence[bool]) -> Body:
    """A body on a batch of inputs, those that are `mapped`; all its outputs are batches."""
    axes = tuple(0 if m else None for m in mapped)
    return lambda tensors: list(vmap(lambda *examples: body(list(examples)), in_axes=axes)(*tensors))


class Closed:
    """A Python function of the user's as a body: what it takes in from outside becomes further inputs.

    `run(tensors)` gives a flat list. `taken` holds the Variables and Tensors from outside, `written` the Variables it assigns; the
    closed body returns the written Variables' values after its own outputs. `functions` are those of the user's that `run` calls.
    """

    def __init__(self, name: str, run: Body, specs: Sequence[Spec], functions: Sequence[Any] = ()) -> None:
        self._moment = Moment(functions)
        program = Program(name, run, specs)
        program.trace()
        assert program.taken is not None
        self.taken = program.taken
        self.written = program.written
        self.outputs = program.outputs
        self._program = program
        self._run = run
        self._count = len(specs)

    def body(self, taken: Sequence[Any], written: Sequence[Variable]) -> Body:
        """The body whose inputs end with values for `taken`, and whose outputs end with values of `written`."""

        def run(tensors: list[Tensor]) -> list[Tensor]:
            if not here.state.recorders and not any(isinstance(t, BatchedTensor) for t in tensors):
                return self._as_traced(tensors, taken, written)
            trace = Trace(list(zip(taken, tensors[self._count :], strict=True)))
            with trace.running():
                outputs = trace.taken_in(self._moment.run(lambda: self._run(list(tensors[: self._count]))))
                return [*outputs, *(trace.value(variable) for variable in written)]

        return run

    def _as_traced(self, tensors: Sequence[Tensor], taken: Sequence[Any], written: Sequence[Variable]) -> list[Tensor]:
        """What the body gives where nothing has to follow it: the program that was traced, so that its Python need not run again."""
        given = dict(zip(map(id, taken), tensors[self._count :], strict=True))
        found = self._program.inlined([*tensors[: self._count], *(given[id(outside)] for outside in self.taken)])
        outputs, after = found[: len(self.outputs)], found[len(self.outputs) :]
        given.update(zip(map(id, self.written), after, strict=True))
        return [*outputs, *(given[id(variable)] for variable in written)]


def together(*lists: Sequence[Any]) -> list[Any]:
    """The members of several lists, each once."""
    return list({id(member): member for members in lists for member in members}.values())


def values_now(taken: Sequence[Any]) -> list[Tensor]:
    """The values, at this point of the program, of what bodies take in."""
    trace = here.state.trace
    assert trace is not None
    return trace.taken_in([_value_now(value) if isinstance(value, Variable) else value for value in taken])


def _value_now(variable: Variable) -> Tensor:
    """A Variable's value; under `vmap`, that of a hidden state is a batch, so that a body that uses it knows of every example."""
    value = variable.tensor()
    if not getattr(variable, "hidden", False):
        return value
    levels, shape = here.state.levels, tuple(value.array.shape)
    value = broadcast_to(value, shape=(*[level.size for level in levels], *shape))
    for level in levels:
        value = BatchedTensor(value, level)
    return value


def write_back(written: Sequence[Variable], values: Sequence[Tensor]) -> None:
    """Gives the Variables that bodies have written their new values."""
    trace = here.state.trace
    assert trace is not None
    for variable, value in zip(written, values, strict=True):
        hidden = getattr(variable, "hidden", False)
        if hidden and isinstance(value, BatchedTensor) and not value.level.size:
            continue  # there was no example that could have changed it
        trace.write(variable, one_for_all(value).array if hidden else value.array)
