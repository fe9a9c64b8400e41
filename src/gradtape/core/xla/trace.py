"""`Trace`: a program that is being traced, with its captured inputs, the Variables it has written,
and its calls.

While `here.state.trace` is set, a Variable's value is the program's, not the Variable's own: reads
become inputs of the program and writes its outputs. Whatever else it did not compute itself also
becomes an input, however the user's code holds it: a tensor of the enclosing program, or one of
eager code that a tape follows.

An input is identified by its placeholder, a distinct JAX array that ops take like any other: when
JAX has finished tracing the program, it lists the arrays that came from outside.

A *path* leads from an input of a program to a result if every call in between has a derivative
there; the inputs from which there is one are kept as the bits of an integer. So `stop_gradient`
cuts paths in a program as it does in eager code.

The user's code runs once. What it called (ops, other programs, loops) is kept as a list of
`TracedCall`s, which can be run again on other tensors, recorded by whatever records then: every
derivative of a program, and its batched form, comes from that list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from gradtape import dtypes
from gradtape.blocks import block
from gradtape.core.batching import BatchedTensor
from gradtape.core.location import caller
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import XlaTensor, tensor_of
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings

if TYPE_CHECKING:
    from gradtape.core.recording import Recording
    from gradtape.core.variable import Variable


class NeedsValues(Exception):  # noqa: N818 - it asks for something, and is no error
    """Raised while tracing by what needs real values,
    such as a Variable's first value computed from an argument.
    """


class NotTracedError(RuntimeError):
    """What is asked for is known only while a function is traced."""

    says_why = False

    def say_why(self, reason: str) -> None:
        """Adds, once, why the function that asks is not traced."""
        if not self.says_why:
            self.says_why = True
            self.args = (f"{self} Here {reason}",)


class NeedsTracedConstants(BaseException):
    """Raised while tracing where derivatives with respect to constants of the program are asked
    for: the function is traced again, with constants that are traced arrays.

    `constants` are those constants; `others` are constants of the programs that it calls, with
    respect to which derivatives may be asked for next. Both are weak references: the function may
    have made the Tensors itself, and then makes new ones the next time. It is not an Exception, so
    that an `except Exception` in the user's code does not catch it.
    """

    def __init__(self, constants: Iterable[Tensor], others: Iterable[Tensor]) -> None:
        super().__init__()
        self.constants = [ref(tensor) for tensor in constants]
        self.others = [ref(tensor) for tensor in others]


class Constants(Enum):
    """What a Tensor of eager code is in a program, unless it is an input.

    Its values are KNOWN while tracing, for shapes and sizes, and what is computed from it alone is
    computed then; or it is TRACED, and what is computed from it is listed like everything else, so
    that it can be differentiated. AS_AROUND is for a part of a program, which takes in what stands
    for it there. KNOWN_FOR_GOOD and TRACED_FOR_GOOD do not ask for anything else.
    """

    KNOWN = "known"
    TRACED = "traced"
    AS_AROUND = "as around"
    KNOWN_FOR_GOOD = "known for good"
    TRACED_FOR_GOOD = "traced for good"


_TRACED = (Constants.TRACED, Constants.TRACED_FOR_GOOD)


class Capture:
    """A captured Variable or Tensor, and the Tensor that stands for its value in the program
    now.
    """

    __slots__ = ("outside", "placeholder", "tensor", "written")

    def __init__(self, outside: Any, tensor: Tensor) -> None:
        self.outside = outside
        self.tensor = tensor
        self.placeholder = tensor.array
        self.written = False


class TracedCall(NamedTuple):
    """Something that a program called while it was traced: `run` computes its results again, for
    other values of `given`.

    `given` are Tensors, `results` the arrays that the call returned.
    """

    run: Callable[[list[Tensor]], Sequence[Any]]
    given: list[Tensor]
    results: list[Any]
    where: tuple[CodeType, int]


class Trace:
    """One program that is being traced.

    `on_taking` is called with the stand-in of each captured value when it is first used.

    `followed` is what records the program as one op: a Tensor that is in one of these recordings is
    an input. `outside` holds the ids of Tensors that are known to come from outside. `program`
    makes a program of a function that this one calls. A trace that is not `staged` is inside a body
    that XLA traces by itself: everything it needs is passed to it, so it captures nothing and lists
    nothing.
    """

    def __init__(
        self,
        on_taking: Callable[[Tensor], None] | None = None,
        outside: frozenset[int] = frozenset(),
        program: Callable[..., Any] | None = None,
        *,
        staged: bool = False,
        constants: Constants = Constants.KNOWN_FOR_GOOD,
        followed: frozenset[Recording] = frozenset(),
    ) -> None:
        self.around = here.state.trace
        self.followed = followed
        self.taken: dict[int, Capture] = {}
        self.made: set[int] = set()  # the Variables that were created while tracing
        self.beyond: str | None = None  # what XLA cannot compile, if anything was met
        self.calls: list[TracedCall] | None = [] if staged else None
        # The Tensors of eager code that are constants of this program, as far as it is known, by
        # identity: a tape may watch them later.
        self.constants: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
        self._program = program
        # Hears of every op, its arrays, parameters and result.
        self.on_op: Callable[..., None] | None = None
        self.outside: frozenset[int] = (
            outside if self.around is None else outside | self.around.outside
        )
        self._on_taking = on_taking
        self._staged = staged
        part = constants is Constants.AS_AROUND
        if part:
            around: Trace | None = self.around
            constants = Constants.KNOWN if around is None else around.mode
        self.mode: Constants = constants
        self.traces_constants = constants in _TRACED
        self._takes_constants_in = part and self.traces_constants
        # Those that are constants of programs which this one has called, by identity.
        self.constants_of_programs: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
        # By the identity of a constant: itself, so that no other has its identity, and what stands
        # for it.
        self._traced_constants: dict[int, tuple[Tensor, Tensor]] = {}
        # JAX's own object for this tracing, which every tracer knows; here one that none knows.
        self._tracer: Any = self
        # The identities of the arrays that stand for what was taken in.
        self._placeholders: set[int] = set()
        self._seen: dict[int, Any] = {}  # the arrays that calls were given and gave, by identity
        # By the identity of an array, the inputs from which there is a path to it.
        self._paths: dict[int, int] = {}
        self._arguments = 0

    def begin(self, tracer: Any, arguments: Sequence[Any]) -> None:
        """Notes what identifies this program's tracers, taken from one of them, and which are its
        arguments.
        """
        self._tracer = xla_engine.tracing_of(tracer)
        self._arguments = len(arguments)
        for number, array in enumerate(arguments):
            self._is_input(array, number)

    def _is_input(self, array: Any, number: int) -> None:
        self._seen[id(array)] = array
        self._paths[id(array)] = 2 << number if array.dtype in dtypes.TRAINABLE else 0

    def paths_to(self, tensor: Any) -> int:
        """The inputs from which there is a path to a tensor."""
        return self._begins(tensor) >> 1

    def has_path_to(self, tensor: Any) -> bool:
        """Whether a derivative may be wanted with respect to a tensor or something that it depends
        on.
        """
        return bool(self._begins(tensor))

    def _begins(self, tensor: Any) -> int:
        """The same with one more bit, the lowest: it is set for what was computed on bare arrays,
        which is not an input.
        """
        if not isinstance(tensor, Tensor) or not xla_engine.is_traced(tensor.array):
            return 0
        return self._paths.get(id(tensor.array), int(tensor.array.dtype in dtypes.TRAINABLE))

    def _may_be_asked_about(self, outside: Any) -> bool:
        """Whether a derivative with respect to a captured value may be wanted: not if it came
        through `stop_gradient` and no tape follows it.
        """
        if (
            not isinstance(outside, Tensor)
            or isinstance(outside, BatchedTensor)
            or not xla_engine.is_traced(outside.array)
        ):
            return True
        if outside.node is not None and outside.node.scope.any_open():
            return True
        trace = self.around
        while trace is not None:
            if trace._has(outside.array):
                return trace.has_path_to(outside)
            trace = trace.around
        return True

    # What it takes in

    def placeholder(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array that stands for an input of this program."""
        array = xla_engine.placeholder(shape, dtype)
        self._placeholders.add(id(array))
        return array

    def entry(self, outside: Any) -> Capture:
        """The Capture of a Variable or a Tensor from outside, made if there is none yet."""
        key = key_of(outside)
        taken = self.taken.get(key)
        if taken is None:
            outline = outside.outline
            stand_in = XlaTensor(self.placeholder(outline.shape, outline.dtype))
            if self._on_taking is not None:
                self._on_taking(stand_in)
            self._is_input(stand_in.array, self._arguments + len(self.taken))
            if not self._may_be_asked_about(outside):
                self._paths[id(stand_in.array)] = 0
            taken = self.taken[key] = Capture(outside, stand_in)
        return taken

    def value(self, outside: Variable | Tensor) -> Any:
        """What stands for a Variable, at this point of the program,
        or for a Tensor from outside.
        """
        return self.entry(outside).tensor

    def taken_in(self, args: Sequence[Any]) -> list[Any]:
        """An op's arguments, with stand-ins for the Tensors from outside."""
        own = self._tracer
        return [
            arg
            # Nearly all of them; what follows comes to the same.
            if type(arg) is XlaTensor and getattr(arg.array, "_trace", None) is own
            else arg
            if (found := self.stand_in(arg)) is None
            else found
            for arg in args
        ]

    def stand_in(self, value: Any) -> Tensor | None:
        """What stands for a value in this program; None for what is its own, and for a constant
        whose values are known.
        """
        if self.comes_from_outside(value):
            return self.value(value)
        if not self._staged or not self.is_constant(value):
            return None
        self.note([value])
        return self._traced_constant(value) if self.traces_constants else None

    def asks_for(self, sources: Iterable[Any]) -> list[Tensor]:
        """The constants that have to be traced, or be inputs, for derivatives with respect to
        `sources`.
        """
        if self.mode not in (Constants.KNOWN, Constants.TRACED):
            return []
        return [
            source
            for source in sources
            if self.is_constant(source)
            and not self.comes_from_outside(source)
            and (not self.traces_constants or id(source) in self.constants_of_programs)
        ]

    def is_constant(self, value: Any) -> bool:
        """Whether a value is a Tensor of eager code by which there are derivatives."""
        return (
            isinstance(value, Tensor)
            and not isinstance(value, BatchedTensor)
            and value.array.dtype in dtypes.TRAINABLE
            and not xla_engine.is_traced(value.array)
        )

    def _traced_constant(self, value: Tensor) -> Tensor:
        """What stands for a constant, the same each time."""
        known = self._traced_constants.get(id(value))
        if known is None:
            stand_in = XlaTensor(self.own(value.array), value.node)
            known = self._traced_constants[id(value)] = (value, stand_in)
        return known[1]

    def values_of(self, taken: Sequence[Any]) -> list[Tensor]:
        """The values, at this point of the program,
        of Variables and Tensors that a part of it uses.
        """
        return self.taken_in(
            [value if isinstance(value, Tensor) else value.tensor() for value in taken]
        )

    def comes_from_outside(self, value: Any) -> bool:
        """Whether a value is represented by a stand-in in this program."""
        if not self._staged or not isinstance(value, Tensor):
            return False
        if isinstance(value, BatchedTensor):
            return value.level not in here.state.levels
        if xla_engine.is_traced(value.array):
            return not self._has(value.array) and self._is_around(value.array)
        if id(value) in self.outside or id(value) in self.taken:
            return True
        return is_recorded_in(self.followed, value) or (
            self._takes_constants_in and self.is_constant(value)
        )

    def note(self, constants: Iterable[Tensor]) -> None:
        """Adds Tensors of eager code to the constants of this program, and of those that enclose
        it.
        """
        trace: Trace | None = self
        while trace is not None:
            for tensor in constants:
                if tensor.array.dtype in dtypes.TRAINABLE:
                    trace.constants[id(tensor)] = tensor
            trace = trace.around

    def _has(self, array: Any) -> bool:
        """Whether a traced array belongs to this program."""
        tracing = xla_engine.tracing_of(array)
        if tracing is not None:
            return tracing is self._tracer
        return id(array) in self._placeholders

    def _is_around(self, array: Any) -> bool:
        """True: a traced array belongs to an enclosing program.

        An array of a program that has ended is refused.
        """
        trace = self.around
        while trace is not None:
            if not trace._staged or trace._has(array):
                return True
            trace = trace.around
        raise xla_engine.EndedError

    def write(self, variable: Variable, value: Any) -> None:
        """Gives a Variable another value, an array, from here on; its connections stay."""
        taken = self.entry(variable)
        if isinstance(taken.tensor, BatchedTensor):
            raise _not_inside_vmap(variable)
        before = taken.tensor
        (after,) = self.taken_in([XlaTensor(self.own(value))])
        (array,) = self.listed(_assigned, [before, after], [after.array], [0b01])
        taken.tensor = XlaTensor(array, before.node)
        taken.written = True

    def write_at(
        self,
        variable: Variable,
        key: Any,
        values: Any,
        ufunc: np.ufunc | None,
        on_host: Callable[..., Any],
    ) -> None:
        """Sets some entries of a Variable, or combines them with `values` by `ufunc`, from here on;
        `on_host` does so with a copy of a NumPy array.
        """
        is_tuple = type(key) is tuple
        parts = list(key) if is_tuple else [key]
        places = [i for i, part in enumerate(parts) if hasattr(part, "ndim")]
        arrays = [tensor_of(parts[i]) for i in places]
        for place in places:  # a program that is kept keeps none
            parts[place] = None

        def run(tensors: Sequence[Tensor]) -> list[Any]:
            if any(isinstance(tensor, BatchedTensor) for tensor in tensors):
                raise _not_inside_vmap(variable)
            array, given, *found = [tensor.array for tensor in tensors]
            filled = list(parts)
            for place, part in zip(places, found, strict=True):
                filled[place] = part
            where = tuple(filled) if is_tuple else filled[0]
            trace = here.state.trace
            if trace is None and not any(map(xla_engine.is_xla, (array, given, *found))):
                return [on_host(array, where, given, ufunc)]
            with xla_settings.wide():
                array = xla_engine.to_xla(array)
            after = [xla_engine.written_at(array, where, given, ufunc)]
            return after if trace is None else trace.listed(run, tensors, after, [0])

        (after,) = run(self.taken_in([self.value(variable), tensor_of(values), *arrays]))
        self.write(variable, after)

    def own(self, value: Any) -> Any:
        """A value as a distinct array of this program, which the list of calls can identify even if
        it is a constant.
        """
        with xla_settings.wide():
            array = xla_engine.to_xla(value)
            if self.calls is None or xla_engine.is_traced(array):
                return array
            return xla_engine.namespace().lax.optimization_barrier(array)

    # What it calls

    def listed(
        self,
        run: Callable[[list[Tensor]], Sequence[Any]],
        given: Sequence[Tensor],
        results: Sequence[Any],
        paths: Sequence[int] | None = None,
    ) -> list[Any]:
        """Adds a call to the list; returns its results as arrays that no other call has returned.

        `paths` has, for each result, the arguments from which there is a path to it; without it
        there is one from all of them. So an array identifies the call it came from:
        `stop_gradient(x)` has the values of `x`, but is a different array for derivatives.
        """
        calls = self.calls
        if calls is None or not any(map(xla_engine.is_traced, results)):
            return list(results)
        seen, begins = self._seen, self._paths
        known = []
        for tensor in given:
            array = tensor.array
            seen[id(array)] = array
            begin = begins.get(id(array))
            known.append(self._begins(tensor) if begin is None else begin)
        found = []
        for i, result in enumerate(results):
            array = xla_engine.another(result) if id(result) in seen else result
            seen[id(array)] = array
            found.append(array)
            has_gradient = array.dtype in dtypes.TRAINABLE and xla_engine.is_traced(array)
            begins[id(array)] = (
                inputs_of_path(-1 if paths is None else paths[i], known) if has_gradient else 0
            )
        calls.append(TracedCall(run, list(given), found, caller()))
        return found

    def program(
        self,
        name: str,
        body: Callable[[list[Tensor]], list[Tensor]],
        specs: Sequence[Any],
        **options: Any,
    ) -> Any:
        """A part of this program as a program of its own."""
        assert self._program is not None
        specs = [(tuple(shape), dtype) for shape, dtype in specs]
        return self._program(name, body, specs, constants=Constants.AS_AROUND, **options)

    @block
    def unlisted(self) -> Iterator[None]:
        """Lists nothing during a block, whose results are then constants for every derivative."""
        calls, self.calls = self.calls, None
        try:
            yield
        finally:
            self.calls = calls

    @block
    def running(self) -> Iterator[None]:
        """Traces a block."""
        state = here.state
        before, state.trace = state.trace, self
        try:
            yield
        finally:
            state.trace = before


def _not_inside_vmap(variable: Variable) -> ValueError:
    return ValueError(
        f"'{variable.name}' cannot be assigned inside vmap, where every example would assign its "
        "own value: return the value, and assign it outside."
    )


def recordings_now() -> frozenset[Recording]:
    """What records at this point, also around the programs that are being traced.

    The recording of a tape whose block has ended may be open, but does not record: a Tensor that
    only such a tape follows is a constant.
    """
    scope, trace = here.state.scope, here.state.trace
    found = frozenset() if scope is None else scope.recordings
    return found if trace is None else found | trace.followed


def is_recorded_in(recordings: frozenset[Recording], tensor: Tensor) -> bool:
    """Whether one of some recordings follows a Tensor."""
    return tensor.node is not None and not recordings.isdisjoint(tensor.node.scope.recordings)


def inputs_of_path(path: int, paths: Sequence[int]) -> int:
    """The inputs at which a path begins, given that `paths` lead from inputs to where it begins."""
    found = 0
    for i, begin in enumerate(paths):
        if path >> i & 1:
            found |= begin
    return found


def key_of(outside: Any) -> int:
    """The key of a captured value: for a traced tensor, its array."""
    if (
        isinstance(outside, Tensor)
        and not isinstance(outside, BatchedTensor)
        and xla_engine.is_traced(outside.array)
    ):
        return id(outside.array)
    return id(outside)


def _assigned(tensors: list[Tensor]) -> list[Tensor]:
    """A Variable's value after an assignment, connected as the value before it was, also when the
    program is run again.
    """
    before, after = tensors
    if isinstance(after, BatchedTensor):
        return [after.with_node(None)]
    array, trace = after.array, here.state.trace
    if trace is not None:
        (array,) = trace.listed(_assigned, [before, after], [trace.own(array)], [0b01])
    node = before.node
    if after.node is not None:
        from gradtape.core.variable import after_assignment  # noqa: PLC0415 - it imports this

        node = after_assignment(node, after.node)
    return [tensor_of(array, node)]


def one_for_all(tensor: Tensor) -> Tensor:
    """The hidden state for a batch of them: the largest."""
    levels = []
    while isinstance(tensor, BatchedTensor):
        levels.append(tensor.level)
        tensor = tensor.inner
    if not levels:
        return tensor
    smallest = np.iinfo(tensor.array.dtype).min  # of no examples
    with xla_settings.wide():
        largest = xla_engine.namespace().max(
            xla_engine.to_xla(tensor.array), axis=tuple(range(len(levels))), initial=smallest
        )
        return XlaTensor(largest)


@block
def outside_programs() -> Iterator[None]:
    """Runs a block outside the program that is being traced, if there is one."""
    state = here.state
    trace, state.trace = state.trace, None
    try:
        yield
    finally:
        state.trace = trace


def inside_a_program() -> bool:
    """Whether a program is being traced on this thread."""
    return here.state.trace is not None
