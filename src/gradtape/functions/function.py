"""`Function`: a Python function that is traced once for each kind of arguments, compiled by XLA,
and then run as a program.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.location import Location, locate
from gradtape.core.messages import log_warning
from gradtape.core.settings import settings
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.beyond import UnforeseenError
from gradtape.core.xla.layouts import layout_of
from gradtape.core.xla.tensor import HeldTensor, XlaTensor
from gradtape.core.xla.trace import NeedsValues, NotTracedError
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.loading import check_process
from gradtape.engines.xla.meshes import axes_now
from gradtape.errors import OpError
from gradtape.functions.autograph import to_trace
from gradtape.functions.binding import weakly_bound
from gradtape.functions.concrete_function import ConcreteFunction
from gradtape.functions.constants import followed_constants, give_up, has_inputs, settled
from gradtape.functions.copying import deepcopied, reduced
from gradtape.functions.eager import run_while_waiting
from gradtape.functions.eager_function import EagerFunction
from gradtape.functions.kinds import Kinds
from gradtape.functions.open_function import OpenFunction
from gradtape.functions.programs import Programs
from gradtape.functions.reason import NotCompiled, is_beyond_xla
from gradtape.functions.results import output_of
from gradtape.functions.retracing import Retracing, reasons_in_words
from gradtape.functions.shortcut import NOT_RUN
from gradtape.functions.signature import (
    Arguments,
    Parameters,
    cast_to_signature,
    checked_signature,
    is_spec,
)
from gradtape.functions.sizes import FEW, Sizes, has_open_sizes, run_on_host
from gradtape.functions.tracebacks import keep_users_frames
from gradtape.shapes import TensorSpec

_functions: weakref.WeakSet[Function] = weakref.WeakSet()


def _after_fork() -> None:
    """Makes every call in a forked process take the general path, which refuses XLA."""
    for function in list(_functions):
        function._only, function._quick, function._lock = None, {}, threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_plain_kinds = frozenset((Tensor, HeldTensor)).issuperset


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
        self._name = (
            getattr(python_function, "__qualname__", None) or type(python_function).__qualname__
        )
        self._options: dict[str, Any] = {
            "input_signature": input_signature,
            "autograph": autograph,
            "reduce_retracing": reduce_retracing,
            "check_parity": check_parity,
            "must_compile": must_compile,
        }
        self.must_compile = must_compile
        self.autograph = autograph
        self._check_parity = check_parity
        self._checked: set[Any] = set()
        self._parameters = Parameters(python_function, self._name)
        self.input_signature = (
            None if input_signature is None else checked_signature(input_signature, self._name)
        )
        self._concrete = Programs(self._name)
        self._quick: dict[
            Any, tuple[Any, Any]
        ] = {}  # by the key of calls that are all Tensors: a program's call, and its own key
        # The shortcut to the program, while there is but one.
        self._only: Callable[[Sequence[Any]], Any] | None = None
        # By the identity of the object that a method belongs to.
        self._bound: dict[int, Function] = {}
        self._lock = threading.RLock()
        self._kinds = Kinds(declared=input_signature is not None, relaxes=reduce_retracing)
        self.sizes = Sizes(
            are_open=has_open_sizes(nest.flatten(self.input_signature or ())),
            relaxes=reduce_retracing,
        )
        # Arguments, with specs, that it has been asked for with open sizes.
        self.open_kinds: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self._retracing = Retracing(self._name)
        self.created_variables = False
        self._first_call_done = False
        self.runs_converted = False  # whether AutoGraph is needed where it runs op by op
        self.said_why = False  # whether the log has been told why it is not compiled
        self._why_never: NotCompiled | None = None  # why it is not compiled any more
        self._is_checked = False
        self._checked_twin: Function | None = None
        _functions.add(self)

    def _decorate(self, decorator: Callable[..., Any]) -> Function:
        """Puts a decorator around the Python function, before the first call: so libraries give a
        method that is a function a block to run in.
        """
        options = {"reduce_retracing": False, **self._options}
        Function.__init__(self, decorator(self.python_function), **options)
        return self

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        bound = self._bound.get(id(instance))
        if bound is None:
            try:
                method = weakly_bound(self.python_function, instance)
                weakref.finalize(instance, self._bound.pop, id(instance), None).atexit = False
            except TypeError:  # an instance that cannot be weakly referenced
                return Function(self.python_function.__get__(instance, owner), **self._options)
            bound = self._bound[id(instance)] = Function(method, **self._options)
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            state = here.state
            special = (
                kwargs
                or state.recorders
                or state.levels
                or state.trace is not None
                or state.around_call is not None
            )
            if special or settings.functions_run_eagerly:
                if state.op_by_op is not None:
                    from gradtape.functions.rerun import run_as_python  # noqa: PLC0415 - rare

                    return run_as_python(self, args, kwargs)
                if settings.functions_run_eagerly:
                    return self.python_function(*args, **kwargs)
                if state.around_call is not None:
                    return state.around_call(self, args, kwargs)
                return self._call(args, kwargs)
            if self._only is not None and _plain_kinds(map(type, args)):
                # No key: the compiled program itself sees whether arguments are of its kind.
                found = self._only(args)
                if found is not NOT_RUN:
                    return found
            key = _quick_key(args)
            quick = self._quick.get(key)
            if quick is not None:
                self._retracing.note(False)
                self._concrete.use(quick[1])
                return quick[0](args)
            result = self._call(args, kwargs)
            arguments = None if key is None else self._arguments(args, kwargs)
            concrete = None if arguments is None else self._concrete.get(arguments.key)
            if concrete is None or arguments is None or isinstance(concrete, EagerFunction):
                return result
            if concrete.is_waiting:
                return result
            if len(arguments.tensors) == len(args):  # and no tensors of strings
                self._quick[key] = concrete.quick, arguments.key
                alone = len(self._concrete) == 1 and self.sizes.known(arguments.key) == 1
                self._only = concrete.shortcut if alone else None
            return result
        except UnforeseenError as error:
            if not self.gives_up(error):
                raise
            return self(*args, **kwargs)
        except Exception as error:
            if here.state.checker is not None:
                # After a failure.
                from gradtape.functions.rerun import explain_check  # noqa: PLC0415

                explain_check(error, self, args, kwargs)
            keep_users_frames(error)
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        check_process()
        trace = here.state.trace
        if trace is not None and (
            trace.on_op is not None or xla_settings.for_any_device() or axes_now()
        ):
            return self._as_python(self.converted(), args, kwargs)
        if here.state.checker is not None and not self._is_checked:
            return self.for_this_thread()._call(args, kwargs)
        arguments = self._arguments(args, kwargs)
        concrete = self._found_for(arguments)
        if concrete is None or concrete.is_waiting:
            result = self.called_while_waiting(arguments)
            if result is not NOT_RUN:
                self._retracing.note(False)
                return result
        self._retracing.note(concrete is None)
        if concrete is None:
            try:
                concrete = self._traced_for(arguments)
            except NeedsValues:
                if self._first_call_done:
                    raise ValueError(_CREATED_LATER.format(self._name)) from None
                self._first_call_done = self.created_variables = self._kinds.add(arguments.key)
                return self._as_python(self.converted(), args, kwargs)
            self._first_call_done = True
            result = self.called_first(arguments, concrete)
            if result is not NOT_RUN:
                return result
        self._first_call_done = True
        if (
            self._check_parity
            and arguments.key not in self._checked
            and trace is None
            and not here.state.levels
        ):
            concrete.check_parity(arguments)
            self._checked.add(arguments.key)
        return concrete.call(arguments)

    def called_while_waiting(self, arguments: Arguments) -> Any:
        """The result of a call for whose sizes compiling does not pay yet, on gradtape's own ops;
        NOT_RUN if it is to run compiled.
        """
        concrete = self._concrete.get(arguments.key)
        if (concrete is not None and not concrete.is_waiting) or not self._may_wait(arguments):
            return NOT_RUN
        if concrete is not None and concrete.found_for(arguments) is not concrete:
            return NOT_RUN
        if concrete is not None and concrete.compiling is not None:
            if concrete.is_compiled() or here.state.recorders:
                return NOT_RUN
            return concrete.call_beside(arguments)
        if not self.sizes.waits(arguments.key):
            if concrete is None:
                return NOT_RUN
            concrete.is_waiting = False
            return self._called_beside(arguments, concrete)
        if concrete is not None:
            return concrete.call_while_waiting(arguments)
        self._only = None
        try:
            result = run_while_waiting(self, arguments)
        except NotTracedError:
            self.sizes.must_trace = True
            return NOT_RUN
        except OpError:  # a traced function would fail when it runs, not while it is traced
            self._note_new_sizes(arguments)
            raise
        self._note_new_sizes(arguments)
        return result

    def _may_wait(self, arguments: Arguments) -> bool:
        """Whether a call may run op by op though XLA could run it: not where the user's own code
        traces with JAX, or has it check all results.
        """
        state = here.state
        return (
            not (settings.compile_every_shape or self.must_compile or self._check_parity)
            and not (self._is_checked or state.trace is not None or state.levels)
            and self._why_never is None
            and not (xla_settings.is_tracing() or xla_settings.results_are_checked())
            and run_on_host(arguments)
        )

    def called_first(self, arguments: Arguments, concrete: ConcreteFunction) -> Any:
        """The same for a program that has just been traced, and is not compiled at once if sizes
        are open.
        """
        if not self.sizes.begin(arguments.key):
            return self._called_beside(arguments, concrete)
        worth = concrete.worth() if self._may_wait(arguments) else None
        if worth is None or not worth.can_be_replayed() or worth.draws_random_numbers():
            return NOT_RUN
        concrete.is_waiting = True
        return self.called_while_waiting(arguments)

    def _called_beside(self, arguments: Arguments, concrete: ConcreteFunction) -> Any:
        """The result of a call on gradtape's own ops, while XLA begins to compile the program;
        NOT_RUN if the call has to wait for it, or if waiting takes no longer.
        """
        if settings.wait_for_compilation or not self._may_wait(arguments):
            return NOT_RUN
        state = here.state
        if state.recorders or state.waits or xla_settings.preferred() is not None:
            return NOT_RUN
        if layout_of(concrete.captured_inputs) is not None:  # devices share the work of a program
            return NOT_RUN
        worth = concrete.worth()
        if worth is None or not worth.runs_soon() or not concrete.program.can_be_replayed():
            return NOT_RUN
        return concrete.call_beside(arguments)

    def _note_new_sizes(self, arguments: Arguments) -> None:
        """Counts a new kind as TensorFlow does, and says once in the log what changes; not for
        functions that are called by one that runs op by op.
        """
        if here.state.waits:
            return
        names = self._parameters.names()
        known = self.sizes.known(arguments.key)
        if self._kinds.add(arguments.key):
            self._retracing.why = self._retracing.reasons(arguments, (), self._concrete, names)
        if known > FEW and not self.sizes.said:
            self.sizes.said = True
            why = self._retracing.reasons(arguments, (), self._concrete, names)
            log_warning(_NEW_SIZES, self._name, known, reasons_in_words(why))

    def gives_up(self, error: UnforeseenError) -> bool:
        """Whether it runs op by op from now on, because its programs cannot do what a call needs;
        not if it must be compiled, nor in a program that is being traced.
        """
        if self.must_compile or here.state.trace is not None:
            return False
        with self._lock:
            self._why_never = NotCompiled.of(error)
            self._concrete, self._quick, self._only = Programs(self._name), {}, None
        return True

    def for_this_thread(self) -> Function:
        """This function, or, while the results of ops are checked on this thread, a copy with its
        own programs.
        """
        if here.state.checker is None or self._is_checked:
            return self
        with self._lock:
            if self._checked_twin is None:
                twin = self._checked_twin = Function(self.python_function, **self._options)
                twin._is_checked, twin._kinds = True, self._kinds
            return self._checked_twin

    def _as_python(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call as plain Python: for Variables whose initial values are computed from arguments,
        and where every op must be visible.
        """
        return nest.map_structure(self.output, function(*args, **kwargs))

    def output(self, leaf: Any) -> Any:
        """One leaf of a result as a Tensor; None and what is made of tensors stay what they are."""
        return output_of(leaf, self._name)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        args, kwargs = self._parameters.in_order(args, kwargs)
        if self.input_signature is None:
            return Arguments(args, kwargs)
        values, count = (*args, *kwargs.values()), len(self.input_signature)
        self._parameters.check_defaults(values, count)
        values = (
            *cast_to_signature(values[:count], self.input_signature, self._name),
            *values[count:],
        )
        return Arguments(values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True)))

    def _found_for(self, arguments: Arguments) -> ConcreteFunction | None:
        found = self._concrete.get(arguments.key)
        if found is None:
            return None
        self._concrete.use(arguments.key)
        return found.found_for(arguments)

    def _traced_for(self, arguments: Arguments) -> ConcreteFunction:
        with self._lock:
            concrete = self._found_for(arguments)  # another thread may have been faster
            if concrete is not None:
                return concrete
            earlier = self._concrete.get(arguments.key)
            followed = followed_constants(earlier)
            reasons = self._reasons(arguments, followed)
            began = perf_counter_ns()
            concrete = self._concrete_for(arguments, earlier, followed)
            self._retracing.why = reasons
            if here.state.observers:
                self._retracing.tell_observers(self.definition(), began, perf_counter_ns())
            if followed and earlier is not None:
                if not has_inputs(concrete, followed):
                    give_up(concrete, earlier, followed)
                    return self._traced_for(arguments)
                self._quick, self._only = {}, None
            concrete = concrete.put_before(earlier)
            if self._concrete.put(arguments.key, concrete, reasons_in_words(reasons)):
                self._quick = {
                    key: quick for key, quick in self._quick.items() if quick[1] in self._concrete
                }
            self._kinds.add(arguments.key)
            self.sizes.traced(arguments.key, concrete)
            return concrete

    def _reasons(self, arguments: Arguments, followed: Sequence[Tensor]) -> list[str]:
        """Why a call is traced; a warning if many are."""
        found = self._retracing.reasons(
            arguments, followed, self._concrete, self._parameters.names()
        )
        self._retracing.warn(found, arguments, self._kinds, followed=bool(followed))
        return found

    def _concrete_for(
        self,
        arguments: Arguments,
        earlier: ConcreteFunction | None,
        followed: Sequence[Tensor],
    ) -> ConcreteFunction:
        """The program for a kind of arguments, or, where XLA cannot compile it, what runs the
        Python function instead.

        If one constant is to be an input, all are, so that it does not happen again for each; but
        not if the function needs the values of others. So are those that are inputs for other kinds
        of arguments.
        """
        if self._why_never is not None:
            return EagerFunction(self, arguments, self._why_never)
        programs = list(earlier.with_earlier()) if earlier is not None else []
        inputs = [tensor for program in programs for tensor in program.input_tensors()]
        others = [t for program in self._concrete.values() for t in program.input_tensors()]
        if followed:
            others += [t for program in programs for t in program.known_constants()]
        try:
            return self._traced([*inputs, *followed], others, arguments)
        except Exception as error:
            if not is_beyond_xla(error):
                raise
            if self.must_compile or here.state.trace is not None:
                if followed:
                    error.add_note(_FOLLOWED)
                raise
            return EagerFunction(self, arguments, NotCompiled.of(error), followed)

    def _traced(
        self, inputs: Sequence[Tensor], others: Sequence[Tensor], arguments: Arguments
    ) -> ConcreteFunction:
        """The program, traced once more if the first tracing created Variables."""
        concrete = settled(self, arguments, inputs, others)
        if concrete.made:
            if self._first_call_done:
                raise ValueError(_CREATED_LATER.format(self._name))
            concrete = settled(self, arguments, inputs, others)
            if concrete.made:
                raise ValueError(_CREATED_LATER.format(self._name))
        return concrete

    def definition(self) -> Location | None:
        """Where the Python function stands, if it is one."""
        method = getattr(self.python_function, "weakly_bound", (self.python_function,))[0]
        code = getattr(method, "__code__", None)
        return None if code is None else locate(code, 0)

    def converted(self) -> Callable[..., Any]:
        """What is traced: the Python function, converted by AutoGraph."""
        return to_trace(self.python_function, autograph=self.autograph)

    def experimental_get_tracing_count(self) -> int:
        """How many kinds of arguments the Python function has been traced for,
        and once more if it created Variables.

        It is TensorFlow's count: where sizes are open, in a signature or through
        `reduce_retracing`, all of them are one kind. The Python function still runs for each of
        them, since XLA compiles for known shapes.

        >>> import gradtape as tf
        >>> f = tf.function(lambda x: x + 1)
        >>> f(tf.constant(1.0)), f(tf.constant(2.0)), f(tf.constant([1.0]))
        (<tf.Tensor: shape=(), dtype=float32, numpy=2.0>, <tf.Tensor: shape=(), dtype=float32,
        numpy=3.0>, <tf.Tensor: shape=(1,), dtype=float32, numpy=array([2.], dtype=float32)>)
        >>> f.experimental_get_tracing_count()
        2
        """
        return len(self._kinds) + self.created_variables

    def why_retraced(self) -> list[str]:
        """What changed since the most similar earlier call and made the last tracing necessary.

        >>> import gradtape as tf
        >>> f = tf.function(lambda x, n: x * n)
        >>> _ = f(tf.constant(1.0), 2), f(tf.constant(1.0), 3)
        >>> f.why_retraced()
        ["'n' changed from 2 to 3"]
        """
        return list(self._retracing.why)

    def written_variables(self) -> list[Variable]:
        """The Variables that its programs write."""
        return [v for program in self._concrete.values() for v in program.written_variables()]

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction | OpenFunction:
        """The program for a kind of arguments, given as values or as TensorSpecs.

        If a spec leaves a size open, there is a program for each size, made at the first call with
        that size.

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
        try:
            return self._traced_for(self._arguments(args, kwargs))
        except Exception as error:
            keep_users_frames(error)
            raise

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The signatures of all its programs, one after the other.

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
        signatures = [
            program.pretty_printed_signature(verbose=verbose) for program in self._concrete.values()
        ]
        return ("\n\n" if verbose else "\n").join(signatures)

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        return deepcopied(self, memo)

    def __reduce__(self) -> Any:
        return reduced(self)

    def __repr__(self) -> str:
        return f"<gradtape.function {self._name}>"


_FOLLOWED = (
    "A tape or accumulator follows a Tensor that was a constant of this function's program: it is "
    "an input now, so that its value is not known while the function is traced."
)
_NEW_SIZES = (
    "%s has been called with %s different shapes. XLA compiles for each of them, so new ones run "
    "op by op, on NumPy, until compiling them pays. This time, %s. To run compiled, pad what is "
    "passed to a few sizes; to compile every shape at once, pass jit_compile=True or call "
    "gradtape.config.set_compile_every_shape(True)."
)
_CREATED_LATER = (
    "{}: a function may create Variables in its first call only. Create them outside, or once: `if "
    "self.v is None: self.v = "
    "gradtape.Variable(...)`."
)


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


def _example(leaf: Any) -> Any:
    """A Tensor of the kind that a spec describes, if all its sizes are known."""
    if not isinstance(leaf, TensorSpec) or not leaf.shape.is_fully_defined():
        return leaf
    nothing = (
        np.array(b"", object) if leaf.dtype.numpy.kind == "O" else np.zeros((), leaf.dtype.numpy)
    )
    return Tensor(np.broadcast_to(nothing, tuple(leaf.shape)))
