"""`Program`: a function of Tensors compiled by XLA, which tapes,
accumulators and `vmap` see as one op.

The function runs once, when the program is first traced. Its derivatives are programs too, traced
from what it called then: the gradient of a call is a call of the gradient's program, so every order
works the same way. For the common case, one tape outside, `tracing.py` makes a forward and a
backward part of one traced program, and `call_rule.py` runs the backward part.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from gradtape.core.batching import BatchedTensor, Level
from gradtape.core.endings import at_outputs
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.record import record
from gradtape.core.scopes import connect, scope_of
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.held_variable import Writes, copy_lent_inputs, places_of
from gradtape.core.xla.tensor import array_for_xla, array_to_pass, result_array, result_tensor
from gradtape.core.xla.trace import Constants, inputs_of_path, one_for_all
from gradtape.functions.call_rule import CallRule, RunEagerly, WithoutGradient, dense_gradient
from gradtape.functions.reason import NotCompiled
from gradtape.functions.replay import Replay
from gradtape.functions.staging import Part, Spec
from gradtape.functions.tracing import Tracing, WithGradient, has_gradient
from gradtape.functions.worth import Worth
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
        outside: Sequence[Tensor] = (),
        constants: Constants = Constants.KNOWN_FOR_GOOD,
    ) -> None:
        """`outside` are Tensors of eager code that are to be inputs; `constants` says what others
        are.
        """
        self.name = name
        self._outside = list(outside)
        self.constants_are = constants
        self.recompute = recompute
        self.specs = list(specs)
        self._body = body
        self._replay: Replay | None = None
        self.taken: list[Any] = []
        self.written: list[Any] = []
        self.outputs: list[Spec] = []
        # The inputs from which there is a path to each output, and to what is written.
        self.paths: list[int] = []
        self._plain: Part | None = None
        self._with_gradient: WithGradient | None = None
        self._no_gradient: NotCompiled | None = None
        # Whether a call without a gradient is for the caller to run in another way.
        self.must_compile = False
        self.is_insisted_on = False  # by the user, who wants it compiled
        self._derived: dict[Any, Program] = {}
        # Of a derivative: how many of its inputs, the first ones, are those of the call.
        self._primals: int | None = None
        # The Tensors of eager code that are constants of it, as far as somebody has them.
        self.constants: list[ref[Tensor]] = []
        self._worth: Worth | None = None

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
        self._outside = [outside for outside in self.taken if isinstance(outside, Tensor)]
        self._body = None  # type: ignore[assignment]  # it is not run again

    @property
    def outside(self) -> frozenset[int]:
        """The identities of the Tensors of eager code that are inputs."""
        return frozenset(map(id, self._outside))

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
        count = len(self.specs)
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

    def worth(self) -> Worth:
        """What compiling it takes and saves."""
        assert self._replay is not None
        if self._worth is None:
            self._worth = Worth.of(self._replay.staged.jaxpr)
        return self._worth

    def can_be_replayed(self) -> bool:
        """Whether its calls can run on NumPy one by one, with the results that it has compiled."""
        worth = self.worth()
        if not worth.can_be_replayed():
            return False
        assert self._replay is not None
        return not worth.draws_random_numbers() or self._replay.draws_ahead()

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
            constants = self.known_constants()
            state.trace.note(constants)
            state.trace.constants_of_programs.update((id(tensor), tensor) for tensor in constants)
        if any(isinstance(value, BatchedTensor) for value in inputs):
            return self._call_batched(inputs)
        reach = functools.reduce(operator.or_, self.paths[: len(self.outputs)], 0)
        nodes = [
            value.node if reach >> i & 1 and has_gradient(value) else None
            for i, value in enumerate(inputs)
        ]
        connection = connect(nodes, state.scope)
        arrays = [
            (array_to_pass if state.trace is None else array_for_xla)(value) for value in inputs
        ]
        if connection is None:
            self._copy_lent_inputs(arrays, writes)
            results, written = self._listed(inputs, self.compiled_plain()(arrays, writes))
            outputs = [result_tensor(array) for array in results]
            return self._with_endings(inputs, outputs), written
        connected = [parent is not None for parent in connection[0]]
        if self._with_gradient is None and self._no_gradient is None:
            self._trace_with_gradient()
        rule: CallRule | WithoutGradient
        if self._with_gradient is None:
            assert self._no_gradient is not None
            if state.trace is None and not self.must_compile:
                raise RunEagerly(self._no_gradient)
            self._copy_lent_inputs(arrays, writes)
            results, written = self._listed(inputs, self.compiled_plain()(arrays, writes))
            rule, saved = WithoutGradient(self, self._no_gradient), None
        else:
            variant = self._with_gradient.variant(tuple(connected))
            results, written, residuals = variant.forward(arrays)
            results, written = self._listed(inputs, [*results, *written])
            saved = (tuple(inputs), arrays, residuals, state.trace)
            rule = CallRule(self, variant)
        plain = [result_array(array) for array in results]
        reached = [bool(inputs_of_path(path, connected)) for path in self.paths[: len(plain)]]
        outputs = record(
            rule, saved, None, connection, inputs, plain, foreign=True, reached=reached
        )
        return self._with_endings(inputs, outputs), written

    def _with_endings(self, inputs: Sequence[Tensor], outputs: list[Tensor]) -> list[Tensor]:
        return at_outputs(self.name, self, [value.node for value in inputs], outputs)

    def why_no_path(self, output: int, places: Sequence[int]) -> Any:
        """The reason why an output, or after those what is written, has no gradient by certain
        inputs.
        """
        from gradtape.functions.looking_inside import Inside, most_telling, reasons  # noqa: PLC0415

        specs = [*self.specs, *((tuple(t.array.shape), t.array.dtype) for t in self.taken)]
        inside = Inside(lambda tensors: [t for part in self.again(tensors) for t in part], specs)
        return most_telling(reasons(self.name, inside, output, places))

    def _listed(self, inputs: Sequence[Tensor], found: list[Any]) -> tuple[list[Any], list[Any]]:
        """The arrays of the outputs and of what is written, for a call inside a program that is
        being traced, which lists it.
        """
        trace, count = here.state.trace, len(self.outputs)
        if trace is not None:
            found = trace.listed(self._call_again, inputs, found, self.paths)
        return found[:count], found[count:]

    def _call_again(self, inputs: list[Tensor]) -> list[Any]:
        outputs, written = (self.again if self._is_waiting() else self.call)(inputs)
        return [*outputs, *written]

    def _is_waiting(self) -> bool:
        """Whether it is part of a program that runs without being compiled."""
        return here.state.waits and here.state.trace is None and not self.is_insisted_on

    def _copy_lent_inputs(self, arrays: list[Any], writes: Writes | None) -> None:
        """Called before a part that overwrites its inputs runs; the Tensors passed to `call` hold
        one more reference to them, and so do `writes`.
        """
        if self.written and here.state.trace is None:
            places = places_of(self.written, self.taken, len(self.specs))
            copy_lent_inputs(arrays, places, more=1 if writes is None else 2)

    def inlined(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs, and then what is written, computed as part of the enclosing program,
        unrecorded.
        """
        return [
            result_tensor(array)
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
        inner = [
            a.inner if m else a  # type: ignore[attr-defined]
            for a, m in zip(inputs, mapped, strict=True)
        ]
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
        given = [*inputs, *cotangents]
        program = self.gradient_program(connected, given)
        return (program.again if program._is_waiting() else program.call)(given)[0]

    def gradient_program(self, connected: tuple[bool, ...], given: Sequence[Tensor]) -> Program:
        """The program of the gradients with respect to the connected inputs, as a function of the
        inputs and the cotangents, of which `given` has the shapes and dtypes.
        """
        count = len(connected)

        def body(tensors: list[Tensor]) -> list[Tensor]:
            sources = [t for t, c in zip(tensors, connected, strict=False) if c]
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(sources)
                targets = [out for out in self.again(tensors[:count])[0] if out.dtype.is_trainable]
            found = tape.gradient(
                targets, sources, output_gradients=tensors[count:], unconnected_gradients=ZERO
            )
            return [dense_gradient(g) for g in found]

        return self._derive(("gradient", connected), given, body, primals=count)

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
            program.is_insisted_on = self.is_insisted_on
            program.must_compile = True  # nobody runs a derivative in another way
            program.trace()
            self._derived[key] = program
        return self._derived[key]
