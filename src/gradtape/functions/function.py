"""`Function`: a Python function traced once for each kind of arguments, compiled by XLA, and run as a program from then on."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from types import NoneType
from typing import Any

import numpy as np
import optree

from gradtape import nest
from gradtape.core.held_variable import HeldVariable, held, hold, keep_what_is_lent, lend, places_of
from gradtape.core.messages import first_times, log_warning
from gradtape.core.scope import here
from gradtape.core.settings import settings
from gradtape.core.tape import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.trace import NeedsValues
from gradtape.core.values import to_array
from gradtape.core.variable import Variable
from gradtape.core.writing import writing
from gradtape.core.xla_tensor import HeldTensor, XlaTensor, held_tensors
from gradtape.engines import xla_devices, xla_engine
from gradtape.functions.autograph import to_trace
from gradtape.functions.autograph.rows import Progression
from gradtape.functions.composites import Opened, flatten, opened
from gradtape.functions.described import Described, spec_or_itself
from gradtape.functions.eager import is_beyond_xla, run_eagerly
from gradtape.functions.kinds import Kinds
from gradtape.functions.open_function import OpenFunction
from gradtape.functions.program import Program, RunEagerly, array_for_xla, array_to_pass
from gradtape.functions.signature import Arguments, Parameters, cast_to_kind, cast_to_signature, differences, is_spec
from gradtape.ops.broadcasting import identity
from gradtape.ops.convert import as_tensor
from gradtape.shapes import TensorSpec

_its_array = attrgetter("held")
_plain_kinds = frozenset((Tensor, HeldTensor)).issuperset
_NOT_RUN = object()
_WINDOW, _MANY = 10, 5  # a warning is due when so many of the last calls were traced


class Function:
    """A compiled function. `python_function` is what it was made from."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        *,
        input_signature: Any = None,
        autograph: bool = True,
        reduce_retracing: bool = False,
        check_parity: bool = False,
        must_compile: bool = False,
    ) -> None:
        functools.update_wrapper(self, python_function, updated=())
        self.python_function = python_function
        self._name = getattr(python_function, "__qualname__", None) or type(python_function).__qualname__
        self._options: dict[str, Any] = {
            "input_signature": input_signature,
            "autograph": autograph,
            "reduce_retracing": reduce_retracing,
            "check_parity": check_parity,
            "must_compile": must_compile,
        }
        self.must_compile = must_compile
        self._autograph = autograph
        self._check_parity = check_parity
        self._checked: set[Any] = set()
        self._parameters = Parameters(python_function, self._name)
        self.input_signature = None if input_signature is None else _checked_signature(input_signature, self._name)
        self._concrete: dict[Any, ConcreteFunction] = {}
        self._quick: dict[Any, Callable[[Sequence[Any]], Any]] = {}  # by the key of calls that are all Tensors
        self._only: Callable[[Sequence[Any]], Any] | None = None  # the shortcut to the program, while there is but one
        self._bound: dict[int, Function] = {}  # by the identity of the object that a method belongs to
        self._lock = threading.RLock()
        self._kinds = Kinds(declared=input_signature is not None, relaxes=reduce_retracing)
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        self._retraced: list[str] = []
        self._created_variables = False
        self._first_call_done = False
        self.said_why = False  # whether the log has been told why it is not compiled
        self._is_checked = False
        self._checked_twin: Function | None = None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        bound = self._bound.get(id(instance))
        if bound is None:
            try:
                method = _weakly_bound(self.python_function, instance)
                weakref.finalize(instance, self._bound.pop, id(instance), None).atexit = False
            except TypeError:  # an instance that cannot be weakly referenced
                return Function(self.python_function.__get__(instance, owner), **self._options)
            bound = self._bound[id(instance)] = Function(method, **self._options)
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = here.state
        special = kwargs or state.recorders or state.levels or state.trace is not None or state.checker is not None
        if special or settings.functions_run_eagerly:
            return self.python_function(*args, **kwargs) if settings.functions_run_eagerly else self._call(args, kwargs)
        if self._only is not None and _plain_kinds(map(type, args)):
            found = self._only(args)  # no key: the compiled program itself sees whether arguments are of its kind
            if found is not _NOT_RUN:
                return found
        key = _quick_key(args)
        quick = self._quick.get(key)
        if quick is not None:
            self._recent.append(False)
            return quick(args)
        result = self._call(args, kwargs)
        arguments = None if key is None else self._arguments(args, kwargs)
        concrete = None if arguments is None else self._concrete.get(arguments.key)
        if concrete is None or arguments is None or isinstance(concrete, EagerFunction):
            return result
        if len(arguments.tensors) == len(args):  # and no tensors of strings
            self._quick[key] = concrete.quick
            self._only = concrete.shortcut if len(self._concrete) == 1 else None
        return result

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        trace = here.state.trace
        if trace is not None and trace.on_op is not None:
            return self._as_python(self.converted(), args, kwargs)
        if here.state.checker is not None and not self._is_checked:
            return self.for_this_thread()._call(args, kwargs)
        arguments = self._arguments(args, kwargs)
        concrete = self._concrete.get(arguments.key)
        self._recent.append(concrete is None)
        if concrete is None:
            try:
                concrete = self._traced_for(arguments)
            except NeedsValues:
                if self._first_call_done:
                    raise ValueError(_CREATED_LATER.format(self._name)) from None
                self._first_call_done = self._created_variables = self._kinds.add(arguments.key)
                return self._as_python(self.python_function, args, kwargs)
        self._first_call_done = True
        if self._check_parity and arguments.key not in self._checked and trace is None and not here.state.levels:
            concrete.check_parity(arguments)
            self._checked.add(arguments.key)
        return concrete.call(arguments)

    def for_this_thread(self) -> Function:
        """This function, or the same with programs of its own while the results of ops are checked on this thread."""
        if here.state.checker is None or self._is_checked:
            return self
        with self._lock:
            if self._checked_twin is None:
                twin = self._checked_twin = Function(self.python_function, **self._options)
                twin._is_checked, twin._kinds = True, self._kinds
            return self._checked_twin

    def _as_python(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call as plain Python: for Variables whose first values are computed from arguments, and where every op is to be seen."""
        return nest.map_structure(self.output, function(*args, **kwargs))

    def output(self, leaf: Any) -> Any:
        """One leaf of a result as a Tensor; None and what is made of tensors stay what they are."""
        return _output(leaf, self._name)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        args, kwargs = self._parameters.in_order(args, kwargs)
        if self.input_signature is None:
            return Arguments(args, kwargs)
        values, count = (*args, *kwargs.values()), len(self.input_signature)
        self._parameters.check_defaults(values, count)
        values = (*cast_to_signature(values[:count], self.input_signature, self._name), *values[count:])
        return Arguments(values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True)))

    def _traced_for(self, arguments: Arguments) -> ConcreteFunction:
        with self._lock:
            concrete = self._concrete.get(arguments.key)  # another thread may have been faster
            if concrete is not None:
                return concrete
            self._note_retracing(arguments)
            concrete = self._concrete_for(arguments)
            self._concrete[arguments.key] = concrete
            self._kinds.add(arguments.key)
            return concrete

    def _concrete_for(self, arguments: Arguments) -> ConcreteFunction:
        """The program for arguments of a kind, or, where XLA cannot hold it, what runs the Python function in its place."""
        try:
            concrete = ConcreteFunction(self, arguments)
            if concrete.made:
                if self._first_call_done:
                    raise ValueError(_CREATED_LATER.format(self._name))
                self._created_variables = True
                concrete = ConcreteFunction(self, arguments)
                if concrete.made:
                    raise ValueError(_CREATED_LATER.format(self._name))
            return concrete
        except Exception as error:
            if self.must_compile or here.state.trace is not None or not is_beyond_xla(error):
                raise
            return EagerFunction(self, arguments, error)

    def _note_retracing(self, arguments: Arguments) -> None:
        if self._concrete:
            candidates = [differences(key, arguments.key, self._parameters.names()) for key in self._concrete]
            self._retraced = min(candidates, key=len)
        if sum(self._recent) >= _MANY and first_times(f"retracing {id(self.python_function)}", limit=2) is not None:
            again = _MANY_STRINGS if arguments.has_strings() else _MANY_SIZES
            log_warning(
                again if self._kinds.has(arguments.key) else _MANY_KINDS,
                self._name, sum(self._recent), len(self._recent), "; ".join(self._retraced) or "it was a new function",
            )  # fmt: skip

    def converted(self) -> Callable[..., Any]:
        """What is traced: the Python function, converted by AutoGraph."""
        return to_trace(self.python_function, autograph=self._autograph)

    def experimental_get_tracing_count(self) -> int:
        """How many kinds of arguments the Python function has been traced for, and once more if it created Variables.

        It is TensorFlow's count: where sizes are open, in a signature or by `reduce_retracing`, all of them are one kind. The Python
        function runs for each of them all the same, since XLA compiles for known shapes.

        >>> import gradtape as tf
        >>> f = tf.function(lambda x: x + 1)
        >>> f(tf.constant(1.0)), f(tf.constant(2.0)), f(tf.constant([1.0]))
        (<tf.Tensor: shape=(), dtype=float32, numpy=2.0>, <tf.Tensor: shape=(), dtype=float32, numpy=3.0>, <tf.Tensor: shape=(1,), dtype=float32, numpy=array([2.], dtype=float32)>)
        >>> f.experimental_get_tracing_count()
        2
        """
        return len(self._kinds) + self._created_variables

    def why_retraced(self) -> list[str]:
        """What changed, from the most similar earlier call, to make the last tracing necessary.

        >>> import gradtape as tf
        >>> f = tf.function(lambda x, n: x * n)
        >>> _ = f(tf.constant(1.0), 2), f(tf.constant(1.0), 3)
        >>> f.why_retraced()
        ["'n' changed from 2 to 3"]
        """
        return list(self._retraced)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction | OpenFunction:
        """The program for arguments of some kind, given as values or as TensorSpecs.

        If a spec leaves a size open, there is a program for each size, made when it is first called with it.

        >>> import gradtape as tf
        >>> f = tf.function(lambda x: 2 * x)
        >>> f.get_concrete_function(tf.TensorSpec([2]))(tf.constant([1.0, 2.0])).numpy()
        array([2., 4.], dtype=float32)
        """
        if not args and not kwargs and self.input_signature is not None:
            args = tuple(self.input_signature)
        if any(is_spec(leaf) and _example(leaf) is leaf for leaf in nest.flatten((args, kwargs))):
            return OpenFunction(self, *self._parameters.in_order(args, kwargs))
        args, kwargs = nest.map_structure(_example, (args, kwargs))
        return self._traced_for(self._arguments(args, kwargs))

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """What each of its programs takes and gives, one after the other.

        >>> import gradtape as tf
        >>> f = tf.function(lambda x: x > 0)
        >>> _ = f(tf.constant([1.0, 2.0]))
        >>> print(f.pretty_printed_concrete_signatures())
        Input Parameters:
          x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(2,), dtype=tf.float32, name=None)
        Output Type:
          TensorSpec(shape=(2,), dtype=tf.bool, name=None)
        Captures:
          None
        """
        signatures = [program.pretty_printed_signature(verbose=verbose) for program in self._concrete.values()]
        return ("\n\n" if verbose else "\n").join(signatures)

    def __repr__(self) -> str:
        return f"<gradtape.function {self._name}>"


_MANY_KINDS = (
    "%s was traced in %s of its last %s calls. Tracing is slow: pass tensors instead of Python numbers, keep shapes the same, and make "
    "the function once, outside loops. The last time, %s."
)
_MANY_SIZES = (
    "%s was compiled in %s of its last %s calls, since XLA compiles for each size of an open dimension. Compiling is slow: pad what is "
    "passed to a few sizes. The last time, %s."
)
_MANY_STRINGS = (
    "%s was traced in %s of its last %s calls, since a tensor of strings is a constant of a program. Tracing and compiling are slow: pass "
    "numbers that stand for the strings. The last time, %s."
)
_CREATED_LATER = (
    "{}: a function may create Variables in its first call only. Create them outside, or once: `if self.v is None: self.v = "
    "gradtape.Variable(...)`."
)


class ConcreteFunction(Described):
    """A function traced for arguments of one kind."""

    def __init__(self, function: Function, arguments: Arguments) -> None:
        self.name = function._name
        self._function = function
        self._arguments = arguments.without_values()
        self._structure: Any = None
        self._pack: Callable[[list[Any]], Any] = lambda found: found
        self.made: set[int] = set()
        specs = [(tuple(spec.shape), spec.dtype) for spec in map(_spec, arguments.tensors)]
        self.program = Program(self.name, self._body, specs)
        self.program.outside = _tensors_around(function.python_function)
        self.program.must_compile = function.must_compile
        self.program.trace(gradient=_followed(arguments))
        given = {id(variable): i for i, variable in enumerate(arguments.variables)}
        taken = self.program.taken or []
        self._taken = [(outside, given.get(id(outside))) for outside in taken]
        self._outside: list[Any] = list(taken)
        self._written = [(outside, given.get(id(outside))) for outside in self.program.written]
        self._places = places_of(self.program.written, taken, 0)
        self._is_closed = all(number is None for _, number in (*self._taken, *self._written))

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
            self.name, body, [(tuple(spec.shape), spec.dtype) for spec in map(_spec, arguments.tensors)], arguments.tensors, eager
        )

    def call(self, arguments: Arguments) -> Any:
        """Runs the program for a call's arguments, and writes the Variables it assigns."""
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
            if result is not _NOT_RUN:
                return result
        found = self._in_turn(self._run, [array_to_pass(arg) for arg in args])
        if not found or xla_devices.on_host(found[0]):  # all its results are on one device
            return self._pack(held_tensors(found))
        return self._pack([XlaTensor(array) for array in found])

    @functools.cached_property
    def shortcut(self) -> Callable[[Sequence[Any]], Any] | None:
        """The shortest way to the compiled program and back, which shows in small programs; None if there is more than one device.

        It gives `_NOT_RUN`, and has done nothing, if a value is not there as a JAX array or the arguments are of another kind: the
        long way knows what to do.
        """
        part, given = self.program.compiled_plain(), len(self._arguments.tensors)
        if len(xla_devices.devices()) > 1 or part.used[:given] != list(range(given)):
            return None
        run = part.executable()
        if run is None:
            return None
        outside, large, pack = [self._outside[i - given] for i in part.used[given:]], part.large, self._pack
        if self._written:
            return self._writing_shortcut(run, outside, large)

        def call(args: Sequence[Any]) -> Any:
            try:
                arrays = [*map(_its_array, args), *map(_its_array, outside)]
                if NoneType in map(type, arrays):  # one is to be converted now
                    return _NOT_RUN
                found = run(*arrays, *large)
            except Exception:  # noqa: BLE001 - the long way raises it again, if it is not about the arguments
                return _NOT_RUN
            return pack(held_tensors(found))

        return call

    def _writing_shortcut(
        self, run: Callable[..., list[Any]], outside: list[Any], large: list[Any]
    ) -> Callable[[Sequence[Any]], Any]:
        pack, count = self._pack, len(self.program.outputs)
        variables = [variable for variable, _ in self._written]
        places = places_of(variables, outside, len(self._arguments.tensors))

        def call(args: Sequence[Any]) -> Any:
            with writing:
                try:
                    arrays = [*map(_its_array, args), *map(_its_array, outside)]
                    if NoneType in map(type, arrays):
                        return _NOT_RUN
                    keep_what_is_lent(arrays, places)
                    found = run(*arrays, *large)
                except (AttributeError, TypeError):  # found before it ran: once it has, the Variables' memory is in its hands
                    return _NOT_RUN
                for variable, array in zip(variables, found[count:], strict=True):
                    if type(variable) is HeldVariable:
                        variable.held = array
                    else:
                        hold(variable, array)
            return pack(held_tensors(found[:count]))

        return call

    def _in_turn(self, run: Callable[[Any], list[Any]], given: Any) -> list[Any]:
        """Runs the program while no other one writes, if it writes itself, or finds a Variable's memory in another one's hands."""
        if not self._written:
            try:
                return run(given)
            except Exception as error:
                if not xla_engine.is_gone(error):
                    raise
        with writing:
            return run(given)

    def _recorded(self, arguments: Arguments) -> list[Tensor]:
        """The outputs, recorded by whatever records."""
        variables = arguments.variables
        inputs: list[Tensor] = list(arguments.tensors)
        for outside, number in self._taken:
            found = outside if number is None else variables[number]
            inputs.append(_read(found) if isinstance(found, Variable) else found)
        outputs, written = self.program.call(inputs)
        trace = here.state.trace
        for (outside, number), array in zip(self._written, written, strict=True):
            variable = outside if number is None else variables[number]
            variable._before_write()
            if trace is not None:
                trace.write(variable, array)
            else:
                hold(variable, array)
        return outputs

    def _run(self, given: list[Any]) -> list[Any]:
        """The outputs' arrays, from those of the arguments."""
        taken = [_held_now(outside) for outside in self._outside]
        if self._written:
            keep_what_is_lent(taken, self._places)
        found = self.program.compiled_plain().run(given + taken)
        if self._written:
            count = len(self.program.outputs)
            for (variable, _), array in zip(self._written, found[count:], strict=True):
                hold(variable, array)
            del found[count:]
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._function._parameters.in_order(args, kwargs)
        arguments = cast_to_kind(args, kwargs, self.structured_input_signature, self.name)
        return self._function.for_this_thread()._traced_for(arguments).call(arguments)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The Variables that the program reads or writes."""
        return tuple(outside for outside in self.captured_inputs if isinstance(outside, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def captured_inputs(self) -> list[Any]:
        """What the program takes in besides its arguments."""
        return [outside for outside, _ in self._taken if not getattr(outside, "hidden", False)]

    @property
    def structured_input_signature(self) -> Any:
        """The arguments that it was traced for, with TensorSpecs in the places of tensors: a tuple, and a dict by names."""
        return nest.map_structure(spec_or_itself, self._arguments.rebuilt(self._arguments.tensors))

    @property
    def structured_outputs(self) -> Any:
        """The result's structure, with a TensorSpec for each tensor.

        >>> import gradtape as tf
        >>> tf.function(lambda x: [x, None]).get_concrete_function(tf.TensorSpec([2])).structured_outputs
        [TensorSpec(shape=(2,), dtype=tf.float32, name=None), None]
        """
        hollow = [Tensor(np.broadcast_to(np.zeros((), dtype), shape)) for shape, dtype in self.program.outputs]
        return nest.map_structure(spec_or_itself, self._pack(hollow))

    def _inputs(self) -> tuple[Parameters, Sequence[Any], dict[str, Any]]:
        return self._function._parameters, *self._arguments.rebuilt(self._arguments.tensors)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name}>"


class EagerFunction(ConcreteFunction):
    """A function that XLA cannot hold for arguments of one kind: it runs as Python, on gradtape's own ops, as one call."""

    def __init__(self, function: Function, arguments: Arguments, why: Exception) -> None:
        self.name = function._name
        self._function = function
        self._arguments = arguments.without_values()
        self._why = why
        self._taken, self._written = [], []
        self._specs: Any = None
        self.made = set()

    def call(self, arguments: Arguments) -> Any:
        if here.state.trace is not None:  # the program around is run this way then, as a whole
            raise self._why
        result = run_eagerly(self._function, arguments, self._why)
        self._specs = nest.map_structure(spec_or_itself, result)
        return result

    @property
    def structured_outputs(self) -> Any:
        """The structure and specs of the last result, which may differ from call to call; None before the first."""
        return self._specs

    def check_parity(self, arguments: Arguments) -> None:
        """There is nothing to compare."""


def _read(variable: Variable) -> Tensor:
    """A Variable's value as an input of a program, connected as in any read."""
    if here.state.trace is not None:
        return variable.tensor()
    if not here.state.recorders:
        return HeldTensor(held(variable))
    value = lend(variable)
    read = variable.tensor()
    read.held = value
    return read


def _held_now(value: Any) -> Any:
    array = getattr(value, "held", None)
    return _held(value) if array is None else array


def _held(value: Tensor | Variable) -> Any:
    """The value of a Tensor or Variable as a JAX array."""
    return held(value) if isinstance(value, Variable) else array_for_xla(value)


def _quick_key(args: tuple[Any, ...]) -> Any:
    """The shapes and dtypes of arguments that are all plain Tensors, else None."""
    key = []
    for arg in args:
        kind = type(arg)
        if kind is Tensor:
            array = arg.array
        elif kind is HeldTensor:
            array = arg.held.aval
        elif kind is XlaTensor:
            array = arg.array
        else:
            return None
        key.append(array.shape)
        key.append(array.dtype)
    return tuple(key)


def _spec(tensor: Tensor) -> Any:
    return tensor.held if type(tensor) is HeldTensor else tensor.array


def _followed(arguments: Arguments) -> bool:
    """Whether a tape outside will want the gradient of the first call at once."""
    return here.state.scope is not None and not here.state.levels


def _checked_signature(input_signature: Any, name: str) -> tuple[Any, ...]:
    if not isinstance(input_signature, (list, tuple)):
        raise TypeError(f"{name}: input_signature must be a list or tuple with a TensorSpec for each argument.")
    for leaf in nest.flatten(input_signature):
        if not is_spec(leaf):
            raise TypeError(f"{name}: input_signature must hold TensorSpecs, got {leaf!r}.")
    return tuple(input_signature)


def _example(leaf: Any) -> Any:
    """A Tensor of the kind that a spec describes, if it says every size."""
    if not isinstance(leaf, TensorSpec) or not leaf.shape.is_fully_defined():
        return leaf
    nothing = np.array(b"", object) if leaf.dtype.numpy.kind == "O" else np.zeros((), leaf.dtype.numpy)
    return Tensor(np.broadcast_to(nothing, tuple(leaf.shape)))


def _output(leaf: Any, name: str) -> Any:
    """One leaf of a result as a Tensor; None and what is made of tensors stay what they are."""
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
        f"{name}: a function must return tensors, numbers, None, or structures of them, got {leaf!r} of type {type(leaf).__name__}."
    )


def _planned(leaf: Any, outputs: list[Tensor], name: str) -> Callable[[list[Any]], Any]:
    """Puts a leaf's Tensors among the outputs; gives the function that makes the leaf again from the outputs of a call."""
    found = _output(leaf, name)
    if found is None:
        return _always(None)
    if type(opened(found)) is Opened:
        parts, spec = flatten(found)
        plan = [_planned(part, outputs, name) if _is_array(part) else _always(part) for part in parts]
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


def _packer(result: Any, plan: Sequence[Callable[[list[Any]], Any]], count: int) -> Callable[[list[Any]], Any]:
    """The function that gives a call's outputs the structure of the result."""
    if not nest.is_nested(result):
        return plan[0]
    flat = type(result) in (list, tuple) and count == len(result)
    if flat and all(isinstance(source_object(entry), (Tensor, Variable)) for entry in result):
        return (lambda results: results) if type(result) is list else tuple
    structure = nest.map_structure(lambda leaf: None, result)
    return lambda results: nest.pack_sequence_as(structure, [make(results) for make in plan])


def _tensors_around(python_function: Any) -> frozenset[int]:
    """The identities of the Tensors that a function can see: in its closure, among its globals, and on its object."""
    inner = getattr(python_function, "__func__", python_function)
    code = getattr(inner, "__code__", None)
    seen: list[Any] = []
    if code is not None:
        for cell in inner.__closure__ or ():
            try:
                seen.append(cell.cell_contents)
            except ValueError:  # a name that is not bound yet
                continue
        seen += [inner.__globals__[name] for name in code.co_names if name in inner.__globals__]
    owner = getattr(python_function, "__self__", None)
    seen += list(getattr(owner, "__dict__", {}).values())
    return frozenset(id(value) for value in seen if type(value) is Tensor and value.array.dtype != object)


def _weakly_bound(method: Callable[..., Any], instance: Any) -> Callable[..., Any]:
    """`method` of `instance`, without keeping the instance alive: its programs are kept for as long as it lives."""
    reference = weakref.ref(instance)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return method(reference(), *args, **kwargs)

    call.__signature__ = _signature_without_self(method)  # type: ignore[attr-defined]
    call.weakly_bound = method, reference  # type: ignore[attr-defined]  # AutoGraph converts the method
    return call


def _signature_without_self(method: Callable[..., Any]) -> Any:
    from inspect import signature  # noqa: PLC0415 - 8 ms that only methods need

    found = signature(method)
    return found.replace(parameters=list(found.parameters.values())[1:])
