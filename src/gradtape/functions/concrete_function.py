"""`ConcreteFunction`: a function traced for one kind of arguments, and how its program is called
with the values that Variables have then, and writes them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import nest
from gradtape.core.endings import End, Written, at_output
from gradtape.core.settings import settings
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.writing import writing
from gradtape.core.xla.beyond import UnforeseenError
from gradtape.core.xla.held_variable import (
    DisturbedError,
    Writes,
    assign_together,
    copy_lent_values,
    held,
    is_still_held,
    lend,
)
from gradtape.core.xla.layouts import arrays_of_batch, divide_evenly, keep_together, layout_of
from gradtape.core.xla.tensor import (
    HeldTensor,
    XlaTensor,
    array_for_xla,
    array_to_pass,
    held_tensors,
)
from gradtape.core.xla.trace import Constants, is_recorded_in, recordings_now
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla.loading import check_process
from gradtape.functions.beside import Compiling, Meanwhile, NotOnNumpyError
from gradtape.functions.call_rule import RunEagerly
from gradtape.functions.concrete_calls import arguments_of_call
from gradtape.functions.described import Described, spec_or_itself
from gradtape.functions.eager import run_eagerly, waiting
from gradtape.functions.program import Program
from gradtape.functions.reach import seen_by
from gradtape.functions.results import packer, planned
from gradtape.functions.shortcut import NOT_RUN, Shortcut, shortcut_of
from gradtape.functions.signature import Arguments, Parameters
from gradtape.functions.worth import Worth

if TYPE_CHECKING:
    from gradtape.functions.function import Function

_ATTEMPTS = 20  # for a program that signal handlers disturb


class ConcreteFunction(Described):
    """A function traced for one kind of arguments."""

    runs_eagerly = False
    is_waiting = False  # whether it runs op by op until compiling it pays, or is done
    compiling: Compiling | None = None  # by XLA, beside its calls
    _was_begun = False  # whether it has been compiled beside, or is

    def __init__(
        self,
        function: Function,
        arguments: Arguments,
        inputs: Sequence[Tensor] = (),
        *,
        constants: Constants = Constants.KNOWN,
    ) -> None:
        """`inputs` are Tensors of eager code that are to be inputs; `constants` says what others
        are.
        """
        self.name = function._name
        self._function = function
        self._arguments = arguments.without_values()
        self._structure: Any = None
        self._pack: Callable[[list[Any]], Any] = lambda found: found
        self.made: set[int] = set()
        specs = [(tuple(spec.shape), spec.dtype) for spec in map(_spec, arguments.tensors)]
        self.program = Program(self.name, self._body, specs, outside=inputs, constants=constants)
        self.program.must_compile = self.program.is_insisted_on = function.must_compile
        variables = arguments.variables
        seen = (
            seen_by(function.python_function, variables) if variables else set()
        )  # before it has seen its arguments
        self.program.trace(gradient=_is_recorded())
        given = {id(variable): i for i, variable in enumerate(variables)}
        taken = self.program.taken or []
        self._taken = [(outside, given.get(id(outside))) for outside in taken]
        self._outside: list[Any] = list(taken)
        self._written = [(outside, given.get(id(outside))) for outside in self.program.written]
        self._writes = Writes(self.program.written, len(self.program.outputs))
        used = {
            number: outside
            for outside, number in (*self._taken, *self._written)
            if number is not None
        }
        self._is_closed = not used
        self._captured = (
            frozenset(id(outside) for outside in (*taken, *self.program.written)) - given.keys()
        )
        self._used = used
        self._same = {number: outside for number, outside in used.items() if id(outside) in seen}
        self.otherwise: ConcreteFunction | None = None

    def with_earlier(self) -> Iterator[ConcreteFunction]:
        """This program, and then those that were made earlier for arguments of the same kind."""
        found: ConcreteFunction | None = self
        while found is not None:
            yield found
            found = found.otherwise

    def found_for(self, arguments: Arguments) -> ConcreteFunction | None:
        """The newest of them that serves a call with these arguments; None if something follows a
        constant of that one, unless it is known that no program can have it as an input.
        """
        for found in self.with_earlier():
            if found.fits(arguments):
                if not found.constants_that_are_followed():
                    return found
                eager = (e for e in found.with_earlier() if e.runs_eagerly and e.fits(arguments))
                return next(eager, None)
        return None

    def fits(self, arguments: Arguments) -> bool:
        """Whether this program has the Variables among the arguments in the same places.

        A Variable that is an argument and that the function also reaches in another way is one
        input of the program, and cannot stand for two.
        """
        variables = arguments.variables
        return not any(id(variable) in self._captured for variable in variables) and all(
            variables[number] is variable for number, variable in self._same.items()
        )

    def constants_that_are_followed(self) -> list[Tensor]:
        """The constants of this program that something follows now: no gradient would reach
        them.
        """
        if not self.program.constants or not something_follows():
            return []
        return [tensor for tensor in self.program.known_constants() if is_followed(tensor)]

    def leave_constant(self, tensors: Sequence[Tensor]) -> None:
        """Lets Tensors be constants of this program, whatever follows them."""
        chosen = set(map(id, tensors))
        self.program.constants = [
            known for known in self.program.constants if id(known()) not in chosen
        ]

    def input_tensors(self) -> list[Tensor]:
        """The Tensors of eager code that are inputs of this program."""
        return [outside for outside, _ in self._taken if isinstance(outside, Tensor)]

    def known_constants(self) -> list[Tensor]:
        """The Tensors of eager code that are constants of this program, and that somebody still
        has.
        """
        return self.program.known_constants()

    def put_before(self, earlier: ConcreteFunction | None) -> ConcreteFunction:
        """Keeps an earlier program for the same kind of arguments, to be found where this one does
        not fit.
        """
        if earlier is not None and self._replaces(earlier):
            earlier = earlier.otherwise
        self.otherwise = earlier
        for program in earlier.with_earlier() if earlier is not None else ():
            self._same.update(
                {
                    number: outside
                    for number, outside in self._used.items()
                    if id(outside) in program._captured
                }
            )
        return self

    def _replaces(self, earlier: ConcreteFunction) -> bool:
        """Whether this program serves every call that an earlier one serves: it was traced because
        something follows a constant of that one.
        """
        return (
            type(self) is type(earlier)
            and self._is_closed
            and earlier._is_closed
            and set(map(id, earlier.captured_inputs)) <= set(map(id, self.captured_inputs))
            and all(isinstance(new, Tensor) for new in self.captured_inputs
                    if all(new is not known for known in earlier.captured_inputs))
        )  # fmt: skip

    def _body(self, tensors: list[Tensor]) -> list[Tensor]:
        """The Python function on flat arguments, with a flat result."""
        trace = here.state.trace
        try:
            result = self._result(self._arguments, tensors)
        finally:  # also if XLA cannot compile it
            if trace is not None and trace.made:
                self.made = set(trace.made)
                self._function.created_variables = True
        leaves = nest.flatten(result)
        outputs: list[Tensor] = []
        plan = [planned(leaf, outputs, self.name) for leaf in leaves]
        self._pack = packer(result, plan, len(outputs))
        return outputs

    def _result(self, arguments: Arguments, tensors: Sequence[Tensor]) -> Any:
        args, kwargs = arguments.rebuilt(tensors)
        return self._function.converted()(*args, **kwargs)

    def forget(self) -> None:
        """Lets JAX drop what it has compiled; a call that is still to come compiles again."""
        self.program.forget()

    def check_parity(self, arguments: Arguments) -> None:
        """Raises an error if the program does not compute what the Python function does."""
        from gradtape.functions.parity import check  # noqa: PLC0415 - for those who ask

        def body(tensors: list[Tensor]) -> list[Tensor]:
            outputs: list[Tensor] = []
            for leaf in nest.flatten(self._result(arguments, tensors)):
                planned(leaf, outputs, self.name)
            return outputs

        def eager() -> list[Tensor]:
            args, kwargs = arguments.rebuilt(arguments.tensors)
            outputs: list[Tensor] = []
            for leaf in nest.flatten(self._function.converted()(*args, **kwargs)):
                planned(leaf, outputs, self.name)
            return outputs

        check(
            self.name,
            body,
            [(tuple(spec.shape), spec.dtype) for spec in map(_spec, arguments.tensors)],
            arguments.tensors,
            eager,
        )

    def call(self, arguments: Arguments) -> Any:
        """Runs the program for a call's arguments, and writes the Variables it assigns."""
        check_process()
        state = here.state
        if self._is_closed and not (state.recorders or state.levels or state.trace is not None):
            return self.quick(arguments.tensors)
        try:
            return self._pack(self._in_turn(self._recorded, arguments))
        except RunEagerly as asked:
            return run_eagerly(self._function, arguments, asked.reason)

    def call_while_waiting(
        self, arguments: Arguments, goes_on: Callable[[], None] | None = None
    ) -> Any:
        """The same on gradtape's own ops, from the list of calls that was traced; `goes_on` is
        called before each. NOT_RUN if it is to run compiled.
        """
        run = functools.partial(self._replayed, goes_on=goes_on)
        try:
            return self._pack(self._in_turn(run, arguments))
        except NotOnNumpyError:
            self.is_waiting = self.compiling is not None
            return NOT_RUN

    def _replayed(self, arguments: Arguments, goes_on: Callable[[], None] | None) -> list[Tensor]:
        variables = arguments.variables
        taken = [v if number is None else variables[number] for v, number in self._taken]
        changed = [v if number is None else variables[number] for v, number in self._written]
        with waiting(goes_on):
            values = [v.tensor() if isinstance(v, Variable) else v for v in taken]
            outputs, written = self.program.again([*arguments.tensors, *values])
            if changed:
                seen = {id(v): value.array for v, value in zip(taken, values, strict=True)}
                assign_together(changed, written, seen)
        return outputs

    def call_beside(self, arguments: Arguments) -> Any:
        """The same while XLA compiles it on another thread; NOT_RUN if it is to run compiled."""
        if not self._was_begun:
            self.is_waiting = True
        elif self.compiling is None:  # another thread has found it compiled
            return NOT_RUN
        goes_on = Meanwhile(lambda: self.compiling, self._begin)
        result = self.call_while_waiting(arguments, goes_on)
        if result is not NOT_RUN:
            self._begin()
        elif (compiling := self.compiling) is not None:
            compiling.wait()
            self.is_compiled()
        return result

    def _begin(self) -> None:
        """Lets XLA begin to compile it; until then it runs op by op."""
        if not self._was_begun:
            self.is_waiting, self.compiling = True, Compiling(self.program.compiled_plain())
            self._was_begun = True

    def is_compiled(self) -> bool:
        """Whether XLA has compiled it beside; from then on it runs compiled."""
        compiling = self.compiling
        if compiling is not None:  # no other thread was faster
            if settings.wait_for_compilation:
                compiling.wait()
            if not compiling.is_done():
                return False
            self.is_waiting, self.compiling = False, None
        return True

    def worth(self) -> Worth | None:
        """What compiling it takes and saves; None if there is nothing to compile."""
        return self.program.worth()

    def quick(self, args: Sequence[Tensor]) -> Any:
        """The same when no argument is a Variable that it uses, and nothing records."""
        if self.shortcut is not None:
            result = self.shortcut(args)
            if result is not NOT_RUN:
                return result
        layout = layout_of(self._outside)
        if layout is None:
            given = [array_to_pass(arg) for arg in args]
        else:
            self.program.compiled_plain().batches = layout
            keep_together(self._writes.variables, layout)
            given = arrays_of_batch(self.name, args, layout)
        found = self._in_turn(self._run, given)
        if not found or xla_devices.is_on_host(found[0]):  # all its results are on one device
            return self._pack(held_tensors(found))
        return self._pack([XlaTensor(array) for array in found])

    @functools.cached_property
    def shortcut(self) -> Shortcut | None:
        """The fastest way to call the compiled program; None if there is none."""
        return shortcut_of(
            self.program.compiled_plain(),
            len(self._arguments.tensors),
            self._outside,
            self._writes if self._written else None,
            self._pack,
        )

    def _in_turn(self, run: Callable[[Any], list[Any]], given: Any) -> list[Any]:
        """Runs the program while no other one writes, if it writes Variables itself, or finds a
        Variable's memory donated to another one.

        It starts again if a signal handler has written its Variables before it could.
        """
        if not self._written:
            try:
                return run(given)
            except Exception as error:
                if not xla_engine.is_gone(error):
                    raise
        with writing.lock:
            for _ in range(_ATTEMPTS):
                try:
                    return run(given)
                except Exception as error:
                    if not (isinstance(error, DisturbedError) or xla_engine.is_gone(error)):
                        raise
                    last = error
        raise RuntimeError(
            f"{self.name}: gave up after {_ATTEMPTS} attempts, because other threads or signal "
            "handlers kept changing the Variables that it uses."
        ) from last

    def _recorded(self, arguments: Arguments) -> list[Tensor]:
        """The outputs, recorded by whatever records."""
        variables = arguments.variables
        inputs: list[Tensor] = list(arguments.tensors)
        taken: dict[int, Any] = {}
        for outside, number in self._taken:
            found = outside if number is None else variables[number]
            if isinstance(found, Variable):
                inputs.append(_read(found))
                taken[id(found)] = getattr(inputs[-1], "held", None)
            else:
                inputs.append(found)
        trace, changed = (
            here.state.trace,
            [v if number is None else variables[number] for v, number in self._written],
        )
        for variable in changed:
            variable.tell_recorders()
        writes = None
        if trace is None and changed:
            writes = Writes(changed, len(self.program.outputs)).after(
                taken, unseen=not here.state.recorders
            )
        del taken  # whoever counts references is not to find these
        layout = layout_of(self._outside) if trace is None else None
        if layout is not None:
            keep_together(changed, layout)
            divide_evenly(self.name, arguments.tensors, layout)
        outputs, written = self.program.call(inputs, writes)
        if changed and here.state.recorders:
            self._note_writes(changed, inputs)
        if trace is not None:
            for variable, array in zip(changed, written, strict=True):
                trace.write(variable, array)
        elif written and writes is not None:
            again = (
                not self.program.compiled_plain().calls_host
            )  # what was done on the host is not to be done twice
            (writes if again else writes.after({})).store(written)
        return outputs

    def _note_writes(self, changed: Sequence[Variable], inputs: Sequence[Tensor]) -> None:
        """Tells the recorders that the new values of Variables may be from any input."""
        count, read = len(self.program.outputs), {id(outside) for outside, _ in self._taken}
        nodes = [value.node for value in inputs]
        for i, ((inside, _), variable) in enumerate(zip(self._written, changed, strict=True)):
            found = at_output(self.name, End.NO_PATH, nodes, self.program, count + i)
            if found is not None:
                variable.tell_recorders(Written(found), replaces=id(inside) not in read)

    def _run(self, given: list[Any]) -> list[Any]:
        """The outputs' arrays, from those of the arguments."""
        part = self.program.compiled_plain()
        if not self._written:
            return part.run([*given, *map(_held_now, self._outside)])
        copy_lent_values(self._writes.variables)
        taken = list(map(_held_now, self._outside))
        writes = self._writes.after(
            dict(zip(map(id, self._outside), taken, strict=True)), unseen=True
        )
        return part.run(given + taken, writes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = here.state.around_call
        return self._call(args, kwargs) if around is None else around(self, args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = arguments_of_call(
            self._function._parameters, args, kwargs, self.structured_input_signature, self.name
        )
        function = self._function.for_this_thread()
        try:
            return function._traced_for(arguments).call(arguments)
        except UnforeseenError as error:
            if not function.gives_up(error):
                raise
            return function._traced_for(arguments).call(arguments)

    def written_variables(self) -> list[Variable]:
        """The Variables that it writes, of those that were there when it was traced."""
        return [variable for variable, _ in self._written]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The Variables that the program reads or writes."""
        return tuple(outside for outside in self.captured_inputs if isinstance(outside, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def captured_inputs(self) -> list[Any]:
        """What the program captures besides its arguments."""
        return [outside for outside, _ in self._taken if not getattr(outside, "hidden", False)]

    @property
    def structured_input_signature(self) -> Any:
        """The arguments that it was traced for, with TensorSpecs in place of tensors: a tuple, and
        a dict by names.
        """
        return nest.map_structure(spec_or_itself, self._arguments.rebuilt(self._arguments.tensors))

    @property
    def structured_outputs(self) -> Any:
        """The result's structure, with a TensorSpec for each tensor.

        >>> import gradtape as tf
        >>> tf.function(lambda x: [x, None]).get_concrete_function(
        ...     tf.TensorSpec([2])
        ... ).structured_outputs
        [TensorSpec(shape=(2,), dtype=tf.float32, name=None), None]
        """
        hollow = [
            Tensor(np.broadcast_to(np.zeros((), dtype), shape))
            for shape, dtype in self.program.outputs
        ]
        return nest.map_structure(spec_or_itself, self._pack(hollow))

    def _inputs(self) -> tuple[Parameters, Sequence[Any], dict[str, Any]]:
        return self._function._parameters, *self._arguments.rebuilt(self._arguments.tensors)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name}>"


def something_follows() -> bool:
    return bool(here.state.recorders) or here.state.trace is not None


def is_followed(tensor: Tensor) -> bool:
    """Whether a tape or accumulator follows a Tensor of eager code, or the program that is being
    traced has it as an input.
    """
    trace = here.state.trace
    return is_recorded_in(recordings_now(), tensor) or (
        trace is not None and trace.comes_from_outside(tensor)
    )


def _read(variable: Variable) -> Tensor:
    """A Variable's value as an input of a program, connected as in any read."""
    if here.state.trace is not None:
        return variable.tensor()
    if not here.state.recorders:
        return HeldTensor(held(variable))
    while True:
        value = lend(variable)
        read = variable.tensor()
        if is_still_held(variable, value):  # and not what a signal handler has written since
            read.held = value
            return read


def _held_now(value: Any) -> Any:
    array = getattr(value, "held", None)
    return _held(value) if array is None else array


def _held(value: Tensor | Variable) -> Any:
    """The value of a Tensor or Variable as a JAX array."""
    return held(value) if isinstance(value, Variable) else array_for_xla(value)


def _spec(tensor: Tensor) -> Any:
    return tensor.held if type(tensor) is HeldTensor else tensor.array


def _is_recorded() -> bool:
    """Whether a tape outside will want the gradient of the first call at once."""
    return here.state.scope is not None and not here.state.levels
