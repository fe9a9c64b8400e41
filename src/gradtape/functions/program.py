"""`Program`: a function of Tensors compiled by XLA, which tapes,
accumulators and `vmap` see as one op.

The function runs once, when the program is first traced. Its derivatives are programs too, traced
from what it called then: the gradient of a call is a call of the gradient's program, so every order
works the same way. For the common case, one tape outside, the forward and the backward step are two
parts of one traced program: the forward part returns what the backward part uses, and nothing else.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any
from weakref import ref

import numpy as np

from gradtape import dtypes
from gradtape.core.batching import BatchedTensor, Level
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.indexed_slices import IndexedSlices, RawSlices
from gradtape.core.messages import to_keep
from gradtape.core.node import Node
from gradtape.core.record import PerOutput, record
from gradtape.core.recording import connect, scope_of
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.held_variable import Writes, keep_what_is_lent, places_of
from gradtape.core.xla.tensor import HeldTensor, XlaTensor, tensor_of
from gradtape.core.xla.trace import Capture, Trace, one_for_all, through
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import engine as xla_engine
from gradtape.functions.replay import Arrays, Replay
from gradtape.functions.staging import Part, Spec, Staged
from gradtape.transforms.vectorize import vmap

Body = Callable[[list[Tensor]], list[Tensor]]
ZERO = "zero"


class Program:
    """`body`, compiled for arguments of the shapes and dtypes `specs`.

    `body` may read Variables, write them, and use Tensors from outside. What it captures, in
    `taken`, becomes further inputs, after its arguments; what it writes, in `written`, becomes
    further outputs. With `recompute`, the backward step keeps only the inputs of the forward step.
    """

    def __init__(
        self,
        name: str,
        body: Body,
        specs: Sequence[Spec],
        *,
        recompute: bool = False,
        outside: frozenset[int] = frozenset(),
    ) -> None:
        self.name = name
        self.outside = outside
        self.recompute = recompute
        self._body = body
        self._specs = list(specs)
        self._replay: Replay | None = None
        self.taken: list[Any] = []
        self.written: list[Any] = []
        self.outputs: list[Spec] = []
        # The inputs from which there is a path to each output, and to what is written.
        self.paths: list[int] = []
        self._plain: Part | None = None
        self._with_gradient: WithGradient | None = None
        self._no_gradient: Exception | None = None
        # Whether a call without a gradient is for the caller to run in another way.
        self.must_compile = False
        self._derived: dict[Any, Program] = {}
        # Of a derivative: how many of its inputs, the first ones, are those of the call.
        self._primals: int | None = None
        # The Tensors of eager code that are constants of it, as far as somebody has them.
        self.constants: list[ref[Tensor]] = []

    # Tracing

    def trace(self, gradient: bool = False) -> None:
        """Traces the program, together with its gradient if asked."""
        if gradient:
            self._trace_with_gradient()
        else:
            self._plain = Tracing(self, gradient=False).plain()

    def _trace_with_gradient(self) -> None:
        tracing = Tracing(self, gradient=True)
        if tracing.no_gradient is None:
            self._with_gradient = WithGradient(tracing)
        else:  # it can still be run, and says why when a gradient is asked for
            self._no_gradient = tracing.no_gradient
            self._plain = tracing.plain()

    @property
    def is_traced(self) -> bool:
        """Whether the Python function has run."""
        return self._replay is not None

    def learn(self, tracing: Tracing, replay: Replay) -> None:
        """Notes what the first tracing found out."""
        self._replay = replay
        self.taken = [entry.outside for entry in tracing.taken]
        self.written = [entry.outside for entry in tracing.taken if entry.written]
        self.outputs = tracing.output_specs
        self.paths = tracing.paths
        self.constants = [ref(tensor) for tensor in tracing.constants.values()]
        self._body = None  # type: ignore[assignment]  # it is not run again

    def known_constants(self) -> list[Tensor]:
        """The Tensors of eager code that are constants of it, and that somebody still has."""
        found = [(known, tensor) for known in self.constants if (tensor := known()) is not None]
        self.constants = [known for known, _ in found]
        return [tensor for _, tensor in found]

    def first_run(self, tensors: list[Tensor]) -> list[Tensor]:
        """The Python function itself."""
        return self._body(tensors)

    def again(self, inputs: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """The outputs and what is written, as a function of all inputs, run call by call and
        recorded by whatever records.
        """
        assert self._replay is not None
        count = len(self._specs)
        shared = [
            one_for_all(t) if getattr(outside, "hidden", False) else t
            for outside, t in zip(self.taken, inputs[count:], strict=True)
        ]
        found = self._replay([*inputs[:count], *shared])
        written = [
            one_for_all(t) if getattr(variable, "hidden", False) else t
            for variable, t in zip(self.written, found[len(self.outputs) :], strict=True)
        ]
        return found[: len(self.outputs)], written

    # Calling

    def call(
        self, inputs: Sequence[Tensor], writes: Writes | None = None
    ) -> tuple[list[Tensor], list[Any]]:
        """The outputs, recorded by whatever records, and the arrays to write into `written`, unless
        they are in `writes` by then.
        """
        state = here.state
        if state.trace is not None:
            inputs = state.trace.taken_in(inputs)
            state.trace.note(self.known_constants())
        if any(isinstance(value, BatchedTensor) for value in inputs):
            return self._call_batched(inputs)
        reach = functools.reduce(operator.or_, self.paths[: len(self.outputs)], 0)
        nodes = [
            value.node if reach >> i & 1 and _has_gradient(value) else None
            for i, value in enumerate(inputs)
        ]
        connection = connect(nodes, state.scope)
        arrays = [
            (array_to_pass if state.trace is None else array_for_xla)(value) for value in inputs
        ]
        if connection is None:
            self._keep_what_is_lent(arrays, writes)
            results, written = self._listed(inputs, self.compiled_plain()(arrays, writes))
            return [result(array) for array in results], written
        connected = [parent is not None for parent in connection[0]]
        if self._with_gradient is None and self._no_gradient is None:
            self._trace_with_gradient()
        rule: CallRule | WithoutGradient
        if self._with_gradient is None:
            assert self._no_gradient is not None
            if state.trace is None and not self.must_compile:
                raise RunEagerly(str(self._no_gradient)) from self._no_gradient
            self._keep_what_is_lent(arrays, writes)
            results, written = self._listed(inputs, self.compiled_plain()(arrays, writes))
            rule, saved = WithoutGradient(self, self._no_gradient), None
        else:
            variant = self._with_gradient.variant(tuple(connected))
            results, written, residuals = variant.forward(arrays)
            results, written = self._listed(inputs, [*results, *written])
            saved = (tuple(inputs), arrays, residuals, state.trace)
            rule = CallRule(self, variant)
        plain = [_plain_result(array) for array in results]
        reached = [bool(through(path, connected)) for path in self.paths[: len(plain)]]
        return record(
            rule, saved, None, connection, inputs, plain, foreign=True, reached=reached
        ), written

    def _listed(self, inputs: Sequence[Tensor], found: list[Any]) -> tuple[list[Any], list[Any]]:
        """The arrays of the outputs and of what is written, for a call inside a program that is
        being traced, which lists it.
        """
        trace, count = here.state.trace, len(self.outputs)
        if trace is not None:
            found = trace.listed(self._call_again, inputs, found, self.paths)
        return found[:count], found[count:]

    def _call_again(self, inputs: list[Tensor]) -> list[Any]:
        outputs, written = self.call(inputs)
        return [*outputs, *written]

    def _keep_what_is_lent(self, arrays: list[Any], writes: Writes | None) -> None:
        """Called before a part that overwrites its inputs runs; the Tensors passed to `call` hold
        one more reference to them, and so do `writes`.
        """
        if self.written and here.state.trace is None:
            places = places_of(self.written, self.taken, len(self._specs))
            keep_what_is_lent(arrays, places, more=1 if writes is None else 2)

    def inlined(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs, and then what is written, computed as part of the enclosing program,
        unrecorded.
        """
        return [
            result(array)
            for array in self.compiled_plain().inlined([array_for_xla(value) for value in inputs])
        ]

    def compiled_plain(self) -> Part:
        """The part that runs when nothing records."""
        if self._plain is None:
            self._plain = (
                Tracing(self, gradient=False).plain()
                if self._with_gradient is None
                else self._with_gradient.plain()
            )
        return self._plain

    def forget(self) -> None:
        """Makes JAX drop what it has compiled for this program and those derived from it."""
        for part in (
            self._plain,
            *(self._with_gradient.parts() if self._with_gradient is not None else ()),
        ):
            if part is not None:
                part.compiled.clear_cache()
        for derived in self._derived.values():
            derived.forget()

    def _call_batched(self, inputs: Sequence[Tensor]) -> tuple[list[Tensor], list[Any]]:
        """Under `vmap`: a program for the whole batch.

        All examples share hidden states, and Variables cannot be written.
        """
        level: Level = max(
            (a.level for a in inputs if isinstance(a, BatchedTensor)), key=lambda found: found.depth
        )
        mapped = tuple(isinstance(a, BatchedTensor) and a.level is level for a in inputs)
        inner = [a.inner if m else a for a, m in zip(inputs, mapped, strict=True)]  # type: ignore[attr-defined]
        state = here.state
        outside, inside = level.split()
        if (
            inside
            and connect(
                [a.node for a in inputs], scope_of([r.scope for r in inside if r.scope is not None])
            )
            is not None
        ):
            outputs, writes = self.again(inputs)  # a tape inside the vmap follows each op
            return outputs, [array_for_xla(value) for value in writes]
        if not all(getattr(variable, "hidden", False) for variable in self.written):
            raise ValueError(
                f"{self.name}: a function that assigns Variables cannot run inside vmap: return "
                "the values, and assign them outside."
            )
        key = ("batch", mapped, tuple([(a.array.shape, a.array.dtype) for a in inner]))
        axes = tuple(0 if m else None for m in mapped)
        # Whose random numbers are drawn.
        of_one_call = self._primals is not None and not any(mapped[: self._primals])

        def whole_batch(tensors: list[Tensor]) -> list[Tensor]:
            writes: list[Tensor] = []

            def example(*xs: Tensor) -> list[Tensor]:
                before, here.state.same_draws = (
                    here.state.same_draws,
                    here.state.same_draws or of_one_call,
                )
                try:
                    outputs, writes[:] = self.again(xs)
                finally:
                    here.state.same_draws = before
                return outputs

            return [*vmap(example, in_axes=axes)(*tensors), *writes]

        program = self._derive(key, inner, whole_batch, recompute=self.recompute)
        with state.only(outside):
            found, _ = program.call(inner)
        count = len(found) - len(self.written)
        writes = [array_for_xla(one_for_all(value)) for value in found[count:]]
        return [BatchedTensor(out, level) for out in found[:count]], writes

    def gradient_of(
        self, connected: tuple[bool, ...], inputs: Sequence[Tensor], cotangents: Sequence[Tensor]
    ) -> list[Tensor]:
        """The gradients with respect to the connected inputs, recorded by whatever records: a call
        of the gradient's own program.
        """
        count = len(inputs)

        def body(tensors: list[Tensor]) -> list[Tensor]:
            sources = [t for t, c in zip(tensors, connected, strict=False) if c]
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(sources)
                targets = [out for out in self.again(tensors[:count])[0] if out.dtype.is_trainable]
            found = tape.gradient(
                targets, sources, output_gradients=tensors[count:], unconnected_gradients=ZERO
            )
            return [_dense(g) for g in found]

        given = [*inputs, *cotangents]
        return self._derive(("gradient", connected), given, body, primals=count).call(given)[0]

    def tangents_of(
        self, inputs: Sequence[Tensor], tangents: Sequence[Tensor | None]
    ) -> list[Tensor]:
        """The tangents of the outputs, from those of the inputs."""
        moved = tuple(t is not None for t in tangents)
        count = len(inputs)

        def body(tensors: list[Tensor]) -> list[Tensor]:
            primals = [t for t, m in zip(tensors, moved, strict=False) if m]
            with ForwardAccumulator(primals, tensors[count:]) as accumulator:
                outputs = self.again(tensors[:count])[0]
            return accumulator.jvp(outputs, unconnected_gradients=ZERO)

        given = [*inputs, *(t for t in tangents if t is not None)]
        return self._derive(("tangents", moved), given, body, primals=count).call(given)[0]

    def _derive(
        self,
        key: Any,
        inputs: Sequence[Tensor],
        body: Body,
        *,
        recompute: bool = False,
        primals: int | None = None,
    ) -> Program:
        """A program derived from this one, traced once for each `key`."""
        if key not in self._derived:
            specs = [(tuple(a.array.shape), a.array.dtype) for a in inputs]
            program = Program(self.name, body, specs, recompute=recompute)
            program._primals = primals
            program.trace()
            self._derived[key] = program
        return self._derived[key]


class Tracing:
    """One tracing of a program, with the gradients of its outputs with respect to everything it
    depends on, if they are wanted.

    The first tracing runs the program's Python function, any other runs its list of calls.
    """

    def __init__(self, program: Program, gradient: bool) -> None:
        self.taken: list[Capture] = []
        self.cotangents: list[Any] = []
        # For each input None, or the numbers of the outputs that hold its gradient.
        self.gradients: list[Any] = []
        self.output_specs: list[Spec] = []
        # The inputs from which there is a path to each output, and to what is written.
        self.paths: list[int] = []
        self.no_gradient: Exception | None = None  # why there are no gradients, if they were wanted
        self.constants: Mapping[int, Tensor] = {}
        self.recompute = program.recompute
        self._program = program
        self._gradient = gradient
        self._called: Arrays | None = None
        state = here.state
        levels, state.levels = state.levels, ()
        try:
            with state.only([]):  # a program is one op to what records outside
                self.staged = Staged(self._run, program._specs)
        finally:
            state.levels = levels
        self.inputs = [
            *self.staged.arguments,
            *(self.staged.take(entry.placeholder) for entry in self.taken),
        ]
        self.seeds = [self.staged.take(placeholder) for placeholder in self.cotangents]
        for array in self.staged.captured():  # used as a bare array
            self.taken.append(Capture(XlaTensor(array), XlaTensor(array)))
            self.inputs.append(self.staged.take(array))
            self.gradients += [None] if gradient else []
        self.results = len(self.output_specs)
        self.writes = sum(entry.written for entry in self.taken)
        if self._called is not None:
            variables = self.staged.outputs[len(self.staged.outputs) - len(self._called.arrays) :]
            program.learn(self, Replay(self.staged, self.inputs, self._called, variables))

    def _run(self, mark: Any, *arrays: Any) -> list[Any]:
        tensors: list[Tensor] = [XlaTensor(array) for array in arrays]
        tape = GradientTape(watch_accessed_variables=False)

        def follow(tensor: Tensor) -> None:
            if self._gradient and _has_gradient(tensor):
                tape.watch(tensor)

        trace = Trace(follow, self._program.outside, Program, staged=True)
        trace.begin(mark, arrays)
        with trace.running():
            with tape if self._gradient else nullcontext():
                for tensor in tensors:
                    follow(tensor)
                outputs = self._outputs(trace, tensors)
            self.taken, self.constants = list(trace.taken.values()), trace.constants
            self.paths = [
                trace.paths_to(t)
                for t in (*outputs, *(entry.tensor for entry in self.taken if entry.written))
            ]
            self.output_specs = [(tuple(out.array.shape), out.array.dtype) for out in outputs]
            found = [out.array for out in outputs] + [
                entry.tensor.array for entry in self.taken if entry.written
            ]
            if not self._program.is_traced:
                assert trace.calls is not None
                self._called = Arrays(trace.calls, found)
            trace.calls = None  # what follows is no part of the program's own code
            if self._gradient:
                sources = [
                    *tensors,
                    *(XlaTensor(entry.placeholder, entry.tensor.node) for entry in self.taken),
                ]
                try:
                    found += self._gradients(trace, tape, outputs, sources, len(found))
                except (NoGradientError, xla_engine.NotTraceableError, LookupError) as error:
                    self.no_gradient = to_keep(error)
        with xla_engine.wide():
            return [
                xla_engine.to_xla(array)
                for array in (*found, *(self._called.arrays if self._called is not None else ()))
            ]

    def _outputs(self, trace: Trace, tensors: list[Tensor]) -> list[Tensor]:
        """The outputs. The trace knows what was captured and written."""
        program = self._program
        if not program.is_traced:
            return trace.taken_in(program.first_run(tensors))
        # In the order in which they were first taken in.
        entries = [trace.entry(outside) for outside in program.taken]
        outputs, written = program.again([*tensors, *(entry.tensor for entry in entries)])
        values = dict(zip(map(id, program.written), written, strict=True))
        for entry in entries:
            if id(entry.outside) in values:
                entry.tensor = XlaTensor(
                    array_for_xla(values[id(entry.outside)]), entry.tensor.node
                )
                entry.written = True
        return outputs

    def _gradients(
        self,
        trace: Trace,
        tape: GradientTape,
        outputs: Sequence[Tensor],
        sources: Sequence[Tensor],
        start: int,
    ) -> list[Any]:
        """The gradients' arrays; a sparse gradient has two."""
        targets = [out for out in outputs if out.dtype.is_trainable]
        self.cotangents = [trace.placeholder(out.array.shape, out.array.dtype) for out in targets]
        followed = [s for s in sources if s.node is not None]
        found = (
            tape.gradient(
                targets, followed, output_gradients=[XlaTensor(c) for c in self.cotangents]
            )
            if targets
            else []
        )
        by_source = dict(zip(map(id, followed), found or [None] * len(followed), strict=True))
        arrays: list[Any] = []
        for source in sources:
            gradient = by_source.get(id(source))
            if gradient is None:
                self.gradients.append(None)
                continue
            parts = (
                [gradient.values, gradient.indices]
                if isinstance(gradient, IndexedSlices)
                else [gradient]
            )
            self.gradients.append([start + len(arrays) + i for i in range(len(parts))])
            arrays += [part.array for part in parts]
        return arrays

    def plain(self) -> Part:
        """The part that computes the outputs and what is written; buffers that are overwritten may
        be reused.
        """
        outputs = self.staged.outputs[: self.results + self.writes]
        equations = sorted({*self.staged.needed_for(outputs), *self.staged.with_effects()})
        offset = len(self._program._specs)
        donated = [offset + i for i, entry in enumerate(self.taken) if entry.written]
        return self.staged.part(equations, self.inputs, outputs, donated)


class WithGradient:
    """A program traced together with its gradient,
    and the two parts of it for each choice of connected inputs.
    """

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing
        self._variants: dict[tuple[bool, ...], Variant] = {}

    def plain(self) -> Part:
        return self._tracing.plain()

    def parts(self) -> list[Part]:
        return [
            part
            for variant in self._variants.values()
            for part in (variant._forward, variant._backward)
        ]

    def variant(self, connected: tuple[bool, ...]) -> Variant:
        if connected not in self._variants:
            self._variants[connected] = Variant(self._tracing, connected)
        return self._variants[connected]


class Variant:
    """The forward and the backward part, for the inputs that are `connected`."""

    def __init__(self, tracing: Tracing, connected: tuple[bool, ...]) -> None:
        staged = tracing.staged
        self.connected = connected
        self._results, self._writes = tracing.results, tracing.writes
        self._gradients = [
            g if c else None for g, c in zip(tracing.gradients, connected, strict=True)
        ]
        outputs = staged.outputs[: self._results + self._writes]
        numbers = [number for parts in self._gradients if parts is not None for number in parts]
        wanted = [staged.outputs[number] for number in numbers]
        self._place = {number: place for place, number in enumerate(dict.fromkeys(numbers))}
        forward = sorted({*staged.needed_for(outputs), *staged.with_effects()})
        done = set() if tracing.recompute else set(forward)
        backward = [number for number in staged.needed_for(wanted) if number not in done]
        made = set() if tracing.recompute else staged.made_by(forward)
        read = {id(v): v for v in [*staged.used_by(backward), *wanted] if id(v) in made}
        residuals = list(read.values())
        self._recompute = tracing.recompute
        self._forward = staged.part(forward, tracing.inputs, [*outputs, *residuals])
        self._backward = staged.part(
            backward, [*tracing.inputs, *residuals, *tracing.seeds], wanted
        )

    def forward(self, arrays: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """The outputs, what is written, and what the backward part needs."""
        found = self._forward(arrays)
        end = self._results + self._writes
        return found[: self._results], found[self._results : end], found[end:]

    def backward(
        self, arrays: Sequence[Any], residuals: Sequence[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        """For each input its gradient: an array, values and indices of rows, or None."""
        given = [*arrays, *residuals, *cotangents]
        # Or else XLA computes once what is the same.
        if self._recompute and any(map(xla_engine.is_traced, given)):
            given = list(xla_engine.namespace().lax.optimization_barrier(tuple(given)))
        found = self._backward(given)
        return [
            None if parts is None else [found[self._place[number]] for number in parts]
            for parts in self._gradients
        ]


class CallRule:
    """The derivative of a call of a program."""

    takes_slices = False
    shows_nan = False
    pull_into = None

    def __init__(self, program: Program, variant: Variant) -> None:
        self.name = program.name
        self._program = program
        self._variant = variant

    def op_by_op(self, node: Node) -> tuple[Sequence[Tensor], Body]:
        """The inputs of a recorded call, and a function that runs it again, recorded by whatever
        records.
        """
        return node.saved[0], lambda inputs: self._program.again(inputs)[0]

    def pull_arrays(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        inputs, arrays, residuals, _ = node.saved
        found = self._variant.backward(arrays, residuals, self._cotangents(g))
        return [_pulled(parts, value) for parts, value in zip(found, inputs, strict=True)]

    def pull_tensors(
        self, node: Node, g: PerOutput, wanted: Sequence[Node | None]
    ) -> Sequence[Any]:
        state = here.state
        inputs, _, _, trace = node.saved
        if state.scope is None and not state.levels and trace is state.trace:
            plain = PerOutput(
                (i, array_for_xla(c) if isinstance(c, Tensor) else c) for i, c in g.items()
            )
            pulled = self.pull_arrays(node, plain, wanted)
            return [
                None if p is None else _as_tensors(p)
                for p in self._listed(trace, inputs, plain, pulled)
            ]
        cotangents = [c if isinstance(c, Tensor) else tensor_of(c) for c in self._cotangents(g)]
        found = iter(self._program.gradient_of(self._variant.connected, inputs, cotangents))
        return [next(found) if c else None for c in self._variant.connected]

    def _listed(
        self, trace: Trace | None, inputs: Sequence[Tensor], g: PerOutput, pulled: Sequence[Any]
    ) -> Sequence[Any]:
        """What the backward part pulled, for a call inside a program, which lists it so that it can
        be differentiated again.
        """
        if trace is None:
            return pulled
        program, connected, count = self._program, self._variant.connected, len(inputs)
        places = [i for i, p in enumerate(pulled) if p is not None]
        with trace.unlisted():
            dense = [
                _dense(_as_tensors(p).finished()).array if type(p) is RawSlices else p
                for p in pulled
            ]

        def again(tensors: list[Tensor]) -> list[Tensor]:
            found = iter(program.gradient_of(connected, tensors[:count], tensors[count:]))
            by_input = [next(found) if c else None for c in connected]
            return [by_input[i] for i in places]  # type: ignore[misc]

        given = [*inputs, *map(tensor_of, self._cotangents(g))]
        arrays = iter(trace.listed(again, given, [dense[i] for i in places]))
        return [None if p is None else next(arrays) for p in pulled]

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        return dict(enumerate(self._program.tangents_of(args, tangents)))

    def _cotangents(self, g: PerOutput) -> list[Any]:
        """One for each output that has gradients, zeros if nothing depends on it."""
        specs = enumerate(self._program.outputs)
        return [
            g[i] if i in g else np.zeros(shape, dtype)
            for i, (shape, dtype) in specs
            if dtype in dtypes.TRAINABLE
        ]


class NoGradientError(ValueError):
    """Part of a program has no gradient."""


class RunEagerly(Exception):  # noqa: N818 - it asks for something, and is no error
    """A program without a gradient was called where one may be wanted."""


class WithoutGradient:
    """The rule of a call whose program has no gradient: forward mode works, the backward step
    raises the reason.
    """

    takes_slices = False
    shows_nan = False
    pull_into = None

    def __init__(self, program: Program, why: Exception) -> None:
        self.name = program.name
        self._program = program
        self._why = why

    def pull_arrays(self, node: Node, g: PerOutput, wanted: Sequence[Node | None]) -> Sequence[Any]:
        raise NoGradientError(str(self._why)) from None

    pull_tensors = pull_arrays

    def push(self, node: Node, args: Sequence[Any], outputs: Any, tangents: Sequence[Any]) -> Any:
        return dict(enumerate(self._program.tangents_of(args, tangents)))


def array_for_xla(value: Tensor) -> Any:
    """A Tensor's values as a JAX array; it is kept for the next call."""
    held = getattr(value, "held", None)
    if held is not None:
        return held
    if isinstance(value, XlaTensor):
        return value.array
    with xla_engine.at_once():
        held = value.held = xla_engine.device_put(value.array)
    return held


def array_to_pass(value: Tensor) -> Any:
    """A Tensor's values for a call of a compiled program: the NumPy array the first time, a JAX
    array from then on.

    A call converts an array in a twentieth of the time that JAX takes otherwise; but a Tensor that
    is used again should be converted only once.
    """
    if type(value) is Tensor and not hasattr(value, "held"):
        value.held = None
        return value.array
    return array_for_xla(value)


def result(array: Any) -> Tensor:
    """A program's result as a Tensor, on the device where it is; a NumPy array is a constant of a
    program inside another.
    """
    if isinstance(array, np.ndarray):
        return Tensor(array[()])
    return (
        XlaTensor(array)
        if xla_engine.is_traced(array) or not xla_devices.is_on_host(array)
        else HeldTensor(array)
    )


def _plain_result(array: Any) -> Any:
    return (
        array
        if xla_engine.is_traced(array) or not xla_devices.is_on_host(array)
        else xla_engine.to_numpy(array)
    )


def _pulled(parts: list[Any] | None, value: Tensor) -> Any:
    if parts is None:
        return None
    arrays = [_plain_result(part) for part in parts]
    return arrays[0] if len(arrays) == 1 else RawSlices(arrays[0], arrays[1], value.array.shape)


def _as_tensors(pulled: Any) -> Any:
    if type(pulled) is RawSlices:
        return RawSlices(tensor_of(pulled.values), tensor_of(pulled.indices), pulled.shape)
    return tensor_of(pulled)


def _dense(gradient: Any) -> Tensor:
    return gradient if isinstance(gradient, Tensor) else gradient.__gradtape_tensor__()


def _has_gradient(value: Tensor) -> bool:
    return value.array.dtype in dtypes.TRAINABLE
