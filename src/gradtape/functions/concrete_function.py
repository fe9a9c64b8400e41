"""`ConcreteFunction`: a function traced for one kind of arguments, and the structure of its
results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
import optree

from gradtape import nest
from gradtape.convert import as_tensor, to_array
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.held_variable import (
    DisturbedError,
    Writes,
    held,
    is_value,
    keep_lent,
    lend,
    loans,
)
from gradtape.core.xla.tensor import HeldTensor, XlaTensor, held_tensors
from gradtape.core.xla.writing import writing
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla.programs import UnpreparedError
from gradtape.functions.autograph.rows import Progression
from gradtape.functions.composites import Opened, flatten, opened
from gradtape.functions.described import Described, spec_or_itself
from gradtape.functions.eager import run_eagerly
from gradtape.functions.program import Program, RunEagerly, array_for_xla, array_to_pass
from gradtape.functions.reach import visible
from gradtape.functions.signature import Arguments, Parameters, cast_to_kind
from gradtape.functions.staging import Spared
from gradtape.ops.broadcasting import identity

if TYPE_CHECKING:
    from gradtape.functions.function import Function

_its_array = attrgetter("held")

_ABOUT_ARGUMENTS = (AttributeError, TypeError, DisturbedError, RecursionError)
_ATTEMPTS = 20  # for a program that signal handlers disturb

NOT_RUN = object()
"""What a shortcut returns if it has done nothing."""


class ConcreteFunction(Described):
    """A function traced for one kind of arguments."""

    def __init__(
        self,
        function: Function,
        arguments: Arguments,
        earlier: ConcreteFunction | None = None,
        outside: Sequence[Tensor] = (),
    ) -> None:
        """`earlier` was traced for the same kind of arguments and does not fit; `outside` are
        Tensors that are to be inputs.
        """
        self.name = function._name
        self._function = function
        self._arguments = arguments.without_values()
        self._structure: Any = None
        self._pack: Callable[[list[Any]], Any] = lambda found: found
        self.made: set[int] = set()
        specs = [(tuple(spec.shape), spec.dtype) for spec in map(_spec, arguments.tensors)]
        inputs = frozenset(map(id, outside))
        if earlier is not None:
            inputs |= earlier.tensors_from_outside()
        self.program = Program(self.name, self._body, specs, outside=inputs)
        self.program.must_compile = function.must_compile
        variables = arguments.variables
        seen = (
            visible(function.python_function, variables) if variables else set()
        )  # before it has seen its arguments
        self.program.trace(gradient=_followed(arguments))
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

    def found_for(self, arguments: Arguments) -> ConcreteFunction | None:
        """This program, or one that was made earlier for arguments of the same kind, if it has
        their Variables in the same places.

        A Variable that is an argument and that the function also reaches in another way is one
        input of the program, and cannot stand for two.
        """
        variables = arguments.variables
        if self.constants_that_are_followed():
            return None if self.otherwise is None else self.otherwise.found_for(arguments)
        new = not any(id(variable) in self._captured for variable in variables)
        if new and all(variables[number] is variable for number, variable in self._same.items()):
            return self
        return None if self.otherwise is None else self.otherwise.found_for(arguments)

    def constants_that_are_followed(self) -> list[Tensor]:
        """The constants of this program that something follows now: no gradient would reach
        them.
        """
        if not self.program.constants or not _something_follows():
            return []
        return [tensor for tensor in self.program.known_constants() if _is_followed(tensor)]

    def leave_constant(self, tensors: Sequence[Tensor]) -> None:
        """Lets Tensors be constants of this program, and of those before it, whatever follows
        them.
        """
        chosen = set(map(id, tensors))
        self.program.constants = [
            known for known in self.program.constants if id(known()) not in chosen
        ]
        if self.otherwise is not None:
            self.otherwise.leave_constant(tensors)

    def tensors_from_outside(self) -> frozenset[int]:
        """The identities of the Tensors of eager code that are inputs of this program or of one
        before it.
        """
        own = frozenset(id(outside) for outside, _ in self._taken if isinstance(outside, Tensor))
        return own if self.otherwise is None else own | self.otherwise.tensors_from_outside()

    def put_before(self, earlier: ConcreteFunction | None) -> ConcreteFunction:
        """Keeps an earlier program for the same kind of arguments, to be found where this one does
        not fit.
        """
        self.otherwise = earlier
        while earlier is not None:
            self._same.update(
                {
                    number: outside
                    for number, outside in self._used.items()
                    if id(outside) in earlier._captured
                }
            )
            earlier = earlier.otherwise
        return self

    def _body(self, tensors: list[Tensor]) -> list[Tensor]:
        """The Python function on flat arguments, with a flat result."""
        result = self._result(self._arguments, tensors)
        trace = here.state.trace
        if trace is not None:
            self.made = set(trace.made)
        leaves = nest.flatten(result)
        outputs: list[Tensor] = []
        plan = [_planned(leaf, outputs, self.name) for leaf in leaves]
        self._pack = _packer(result, plan, len(outputs))
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
                _planned(leaf, outputs, self.name)
            return outputs

        def eager() -> list[Tensor]:
            args, kwargs = arguments.rebuilt(arguments.tensors)
            outputs: list[Tensor] = []
            for leaf in nest.flatten(self._function.python_function(*args, **kwargs)):
                _planned(leaf, outputs, self.name)
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
        xla_engine.check_process()
        state = here.state
        if self._is_closed and not (state.recorders or state.levels or state.trace is not None):
            return self.quick(arguments.tensors)
        try:
            return self._pack(self._in_turn(self._recorded, arguments))
        except RunEagerly as why:
            return run_eagerly(self._function, arguments, why)

    def quick(self, args: Sequence[Tensor]) -> Any:
        """The same when no argument is a Variable that it uses, and nothing records."""
        if self.shortcut is not None:
            result = self.shortcut(args)
            if result is not NOT_RUN:
                return result
        found = self._in_turn(self._run, [array_to_pass(arg) for arg in args])
        if not found or xla_devices.is_on_host(found[0]):  # all its results are on one device
            return self._pack(held_tensors(found))
        return self._pack([XlaTensor(array) for array in found])

    @functools.cached_property
    def shortcut(self) -> Callable[[Sequence[Any]], Any] | None:
        """The fastest way to call the compiled program, which matters for small programs; None if
        there is more than one device.

        It returns `NOT_RUN`, without having done anything, if a value is not available as a JAX
        array or the arguments are of another kind: the general path handles that.
        """
        part, given = self.program.compiled_plain(), len(self._arguments.tensors)
        if len(xla_devices.devices()) > 1 or part.used[:given] != list(range(given)):
            return None
        run = part.executable()
        if run is None:
            return None
        outside, large, pack = (
            [self._outside[i - given] for i in part.used[given:]],
            part.large,
            self._pack,
        )
        if self._written:
            return self._writing_shortcut(run, outside, large)
        program, call_uncollected = run.program, xla_engine.call_uncollected

        def call(args: Sequence[Any]) -> Any:
            try:
                arrays = [*map(_its_array, args), *map(_its_array, outside)]
                if NoneType in map(type, arrays):  # one is to be converted now
                    return NOT_RUN
                found = call_uncollected(program, *arrays, *large)
                if type(found) is not list:
                    found = run.prepare(*arrays, *large)
            except Exception as error:
                if _is_of_a_handler(error):
                    raise
                return NOT_RUN  # the long way raises it again, if it is not about the arguments
            return pack(held_tensors(found))

        return call

    def _writing_shortcut(
        self, run: Spared, outside: list[Any], large: list[Any]
    ) -> Callable[[Sequence[Any]], Any]:
        pack, writes, seen, program = self._pack, self._writes, -1, run.program
        places = list(map(id, outside))
        nans, infinities = xla_engine.checks_of_results()

        def call(args: Sequence[Any]) -> Any:
            nonlocal seen
            if nans.value or infinities.value:
                return NOT_RUN
            done: list[Any] = []
            with writing.lock:
                try:
                    for arg in args:
                        if arg.held is None:  # it is to be converted now
                            return NOT_RUN
                    count = loans.count
                    if seen != count:
                        keep_lent(writes.variables)
                        seen = count
                    try:
                        found = writes.run(
                            program,
                            chain(map(_its_array, args), map(_its_array, outside), large),
                            done,
                        )
                    except UnpreparedError:
                        taken = list(map(_its_array, outside))
                        if NoneType in map(type, taken):
                            return NOT_RUN
                        disturbed = writes.after(dict(zip(places, taken, strict=True)))
                        found = run.on_copies([*map(_its_array, args), *taken, *large], disturbed)
                except Exception as error:
                    if (
                        done
                        or not (isinstance(error, _ABOUT_ARGUMENTS) or xla_engine.is_gone(error))
                        or _is_of_a_handler(error)
                    ):
                        raise
                    return NOT_RUN  # the long way raises it again, if it is not about the arguments
            return pack(held_tensors(found))

        return call

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
        outputs, written = self.program.call(inputs, writes)
        if trace is not None:
            for variable, array in zip(changed, written, strict=True):
                trace.write(variable, array)
        elif written and writes is not None:
            again = (
                not self.program.compiled_plain().calls_host
            )  # what was done on the host is not to be done twice
            (writes if again else writes.after({})).store(written)
        return outputs

    def _run(self, given: list[Any]) -> list[Any]:
        """The outputs' arrays, from those of the arguments."""
        part = self.program.compiled_plain()
        if not self._written:
            return part.run([*given, *map(_held_now, self._outside)])
        keep_lent(self._writes.variables)
        taken = list(map(_held_now, self._outside))
        writes = self._writes.after(
            dict(zip(map(id, self._outside), taken, strict=True)), unseen=True
        )
        return part.run(given + taken, writes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = here.state.around_call
        return self._call(args, kwargs) if around is None else around(self, args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = self._function._parameters.in_order(args, kwargs)
        arguments = cast_to_kind(args, kwargs, self.structured_input_signature, self.name)
        return self._function.for_this_thread()._traced_for(arguments).call(arguments)

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


class EagerFunction(ConcreteFunction):
    """A function that XLA cannot compile for one kind of arguments: it runs as Python, on
    gradtape's own ops, as one call.
    """

    def __init__(
        self,
        function: Function,
        arguments: Arguments,
        why: Exception,
        followed: Sequence[Tensor] = (),
    ) -> None:
        """With Tensors that are `followed`, it is for calls in which one of them still is: for
        others there is a program.
        """
        self.name = function._name
        self._function = function
        self._arguments = arguments.without_values()
        self._why = why
        self._taken, self._written = [], []
        self._used, self._same, self._captured, self.otherwise = {}, {}, frozenset(), None
        self._specs: Any = None
        self.made = set()
        self._followed = [ref(tensor) for tensor in followed]

    def found_for(self, arguments: Arguments) -> ConcreteFunction | None:
        if self.otherwise is not None and self._followed:
            known = [tensor for reference in self._followed if (tensor := reference()) is not None]
            if not (_something_follows() and any(map(_is_followed, known))):
                return self.otherwise.found_for(arguments)
        return super().found_for(arguments)

    def constants_that_are_followed(self) -> list[Tensor]:
        return []

    def leave_constant(self, tensors: Sequence[Tensor]) -> None:
        """It has none itself."""
        if self.otherwise is not None:
            self.otherwise.leave_constant(tensors)

    def call(self, arguments: Arguments) -> Any:
        if here.state.trace is not None:  # the program around is run this way then, as a whole
            raise self._why
        result = run_eagerly(self._function, arguments, self._why)
        self._specs = nest.map_structure(spec_or_itself, result)
        return result

    @property
    def structured_outputs(self) -> Any:
        """The structure and specs of the last result, which may differ from call to call;
        None before the first.
        """
        return self._specs

    def check_parity(self, arguments: Arguments) -> None:
        """There is nothing to compare."""

    def forget(self) -> None:
        """There is nothing compiled."""


def _something_follows() -> bool:
    return bool(here.state.recorders) or here.state.trace is not None


def _is_followed(tensor: Tensor) -> bool:
    """Whether a tape or accumulator follows a Tensor of eager code, or the program that is being
    traced has it as an input.
    """
    trace = here.state.trace
    return (tensor.node is not None and tensor.node.scope.any_open()) or (
        trace is not None and trace.comes_from_outside(tensor)
    )


def _is_of_a_handler(error: Exception) -> bool:
    """Whether an error of a call came from a signal handler: from code outside gradtape and JAX, or
    from what such code has called.

    No other user code runs there.
    """
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if module not in _OURS:
            return True
        trace = trace.tb_next
    return False


_OURS = ("gradtape", "jax", "jaxlib")


def _read(variable: Variable) -> Tensor:
    """A Variable's value as an input of a program, connected as in any read."""
    if here.state.trace is not None:
        return variable.tensor()
    if not here.state.recorders:
        return HeldTensor(held(variable))
    while True:
        value = lend(variable)
        read = variable.tensor()
        if is_value(variable, value):  # and not what a signal handler has written since
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


def _followed(arguments: Arguments) -> bool:
    """Whether a tape outside will want the gradient of the first call at once."""
    return here.state.scope is not None and not here.state.levels


def output_of(leaf: Any, name: str) -> Any:
    """One leaf of a result as a Tensor; None and composites are returned unchanged."""
    leaf = source_object(leaf)
    if leaf is None or type(opened(leaf)) is Opened:
        return leaf
    if isinstance(leaf, Variable):
        return leaf.read_value()
    if isinstance(leaf, Tensor):
        return identity(leaf) if isinstance(leaf, XlaTensor) else leaf
    if isinstance(leaf, Progression):
        return as_tensor(leaf)
    if isinstance(leaf, (bool, int, float, complex, str, bytes, np.ndarray, np.generic)):
        return Tensor(to_array(leaf, argument=f"{name}: a result"))
    raise TypeError(
        f"{name}: a function must return tensors, numbers, None, or structures of them, got "
        f"{leaf!r} of type {type(leaf).__name__}."
    )


def _planned(leaf: Any, outputs: list[Tensor], name: str) -> Callable[[list[Any]], Any]:
    """Adds a leaf's Tensors to the outputs; returns the function that rebuilds the leaf from the
    outputs of a call.
    """
    found = output_of(leaf, name)
    if found is None:
        return _always(None)
    if type(opened(found)) is Opened:
        parts, spec = flatten(found)
        plan = [
            _planned(part, outputs, name) if _is_array(part) else _always(part) for part in parts
        ]
        return lambda results: optree.tree_unflatten(spec, [make(results) for make in plan])
    if found.array.dtype == object:
        return _always(found)
    start = len(outputs)
    outputs.append(found)
    return lambda results: results[start]


def _is_array(part: Any) -> bool:
    return isinstance(source_object(part), (Tensor, Variable, np.ndarray))


def _always(value: Any) -> Callable[[list[Any]], Any]:
    return lambda results: value


def _packer(
    result: Any, plan: Sequence[Callable[[list[Any]], Any]], count: int
) -> Callable[[list[Any]], Any]:
    """The function that gives a call's outputs the structure of the result."""
    if not nest.is_nested(result):
        return plan[0]
    flat = type(result) in (list, tuple) and count == len(result)
    if flat and all(isinstance(source_object(entry), (Tensor, Variable)) for entry in result):
        return (lambda results: results) if type(result) is list else tuple
    structure = nest.map_structure(lambda leaf: None, result)
    return lambda results: nest.pack_sequence_as(structure, [make(results) for make in plan])
