"""`Tracing`: a program traced once, alone or together with its gradient.

For a tape outside, the forward and the backward step are two parts of one traced program: the
forward part returns what the backward part uses, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from gradtape import dtypes
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.tensor import XlaTensor, array_for_xla
from gradtape.core.xla.trace import Capture, Constants, Trace, recordings_now
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.functions.reason import NoGradientError, NotCompiled
from gradtape.functions.replay import Arrays, Replay
from gradtape.functions.staging import Part, Spec, Staged

if TYPE_CHECKING:
    from gradtape.functions.program import Program


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
        self.no_gradient: NotCompiled | None = (
            None  # why there are no gradients, if they were wanted
        )
        self.constants: Mapping[int, Tensor] = {}
        self.recompute = program.recompute
        self._program = program
        self._gradient = gradient
        self._called: Arrays | None = None
        self._followed = recordings_now()
        state = here.state
        levels, state.levels = state.levels, ()
        try:
            with state.only([]):  # a program is one op to what records outside
                self.staged = Staged(self._run, program.specs)
        except xla_engine.NotTraceableError as error:
            if state.trace is not None:
                state.trace.beyond = str(error)
            raise
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
            if self._gradient and has_gradient(tensor):
                tape.watch(tensor)

        trace = Trace(
            follow,
            self._program.outside,
            type(self._program),
            staged=True,
            constants=Constants.KNOWN_FOR_GOOD
            if self._program.is_traced
            else self._program.constants_are,
            followed=self._followed,
        )
        trace.begin(mark, arrays)
        with trace.running():
            with tape if self._gradient else nullcontext():
                for tensor in tensors:
                    follow(tensor)
                try:
                    outputs = self._outputs(trace, tensors)
                except (MemoryError, RecursionError, xla_engine.NotTraceableError):
                    raise
                except Exception as error:
                    if trace.beyond is None:
                        raise
                    raise BeyondXlaError(trace.beyond) from error  # another error was made of it
                if trace.beyond is not None:  # and the user's code has caught it
                    raise BeyondXlaError(trace.beyond)
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
                    self.no_gradient = NotCompiled.of(error)
        with xla_settings.wide():
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
        offset = len(self._program.specs)
        donated = [offset + i for i, entry in enumerate(self.taken) if entry.written]
        return self.staged.part(equations, self.inputs, outputs, donated, self.written())

    def written(self) -> dict[int, Any]:
        """The Variables that outputs are for, by the outputs' positions."""
        variables = [entry.outside for entry in self.taken if entry.written]
        return dict(enumerate(variables, start=self.results))


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
        self._forward = staged.part(
            forward, tracing.inputs, [*outputs, *residuals], written=tracing.written()
        )
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


def has_gradient(tensor: Tensor) -> bool:
    """Whether there are gradients with respect to Tensors of this dtype."""
    return tensor.array.dtype in dtypes.TRAINABLE
