"""`looked_into`: runs code once more, op by op, to find the op that makes NaN or infinity, and
leaves everything as it was.

*Code that is looked into* is code that runs in this way. Its compiled functions run as the Python
code that they were made from, with the random numbers that their programs would draw. A tape
follows every Variable and every input, and each backward walk of a tape in the code is checked
before it runs. Variables that the code assigns get their values back, whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import nest
from gradtape.blocks import Block, block
from gradtape.core.departures import Departures
from gradtape.core.endings import Ending
from gradtape.core.node import Node
from gradtape.core.recording import Recording, numbers
from gradtape.core.tape import GradientTape
from gradtape.core.tape_arguments import components
from gradtape.core.tensor import Tensor
from gradtape.core.thread import IN_A_FUNCTION, OP_BY_OP, here
from gradtape.core.unchanged import Unwritten
from gradtape.core.variable import Variable
from gradtape.engines.numpy.engine import quiet_runner
from gradtape.errors import InvalidArgumentError
from gradtape.inspect.evidence import Evidence
from gradtape.inspect.forward_steps import Forward
from gradtape.inspect.nonfinite import NonFinite, finite, not_recorded
from gradtape.inspect.search import in_backward, report
from gradtape.inspect.values import first, is_wrong, plain, wrong
from gradtape.ops.checks import FOUND_BY_CHECK

if TYPE_CHECKING:
    from gradtape.functions.function import Function

Run = Callable[[Sequence[Any]], Any]


def run_as_python(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a compiled function as Python code: a call in code that is looked into."""
    state = here.state
    arguments = function._arguments(args, kwargs)
    args, kwargs = arguments.rebuilt(arguments.tensors)
    before, state.op_by_op = state.op_by_op, IN_A_FUNCTION
    try:
        return nest.map_structure(function.output, function.converted()(*args, **kwargs))
    finally:
        state.op_by_op = before


def explain_check(
    error: Exception, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Adds to the error of a check, with which a call ended that has written nothing, what the call
    shows op by op.
    """
    state = here.state
    of_a_check = isinstance(error, InvalidArgumentError) and FOUND_BY_CHECK in str(error)
    if not of_a_check or state.trace is not None or state.levels or state.op_by_op is not None:
        return
    if getattr(error, "__notes__", None):
        return  # a function inside has said it
    try:
        found = why_not_finite(function, args, kwargs)
    except Exception:  # noqa: BLE001 - the error that is being explained says enough
        return
    if found:
        error.add_note(str(found))


def why_not_finite(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> NonFinite:
    """What makes a call not finite."""

    def run(inputs: Sequence[Any]) -> Any:
        given, named = nest.pack_sequence_as((args, kwargs), list(inputs))
        return function(*given, **named)

    return looked_into(run, nest.flatten((args, kwargs)))


def looked_into(
    run: Run,
    inputs: Sequence[Any],
    *,
    names: Sequence[str] = (),
    state: Iterable[tuple[Variable, Any]] = (),
    in_a_function: bool = False,
    label: Callable[[Node], str | None] | None = None,
) -> NonFinite:
    """What makes a result of `run(inputs)`, or a Variable that it assigns, not finite.

    Tensors among the inputs are followed, and have `names` in the report. `state` are Variables
    with the values that they are to have before it; `in_a_function` says that it is the code of a
    compiled function. `label` says more about a Node.
    """
    if here.state.trace is not None or here.state.levels:
        raise RuntimeError(
            "why_nonfinite: it runs code op by op, which is not possible while a function is "
            "traced or inside vmap. Ask outside."
        )
    copies = [Tensor(value.array) if isinstance(value, Tensor) else value for value in inputs]
    given = list(state)
    with here.state.only([]), Unwritten() as writes:
        for variable, array in given:
            variable.assign(array, read_value=False)
        earlier = _newest_variable()
        how = IN_A_FUNCTION if in_a_function else OP_BY_OP
        with _Quietly(how) as walks, Everything() as tape, tape.constants:
            tape.watch_inputs(copies, names)
            walks.look = lambda *walk: _in_a_walk(tape, label, *walk)
            result = run(copies)
        found = _in_results(tape, label, result, writes.written(), walks.found)
    tape._close()
    if given and found:
        known = {id(variable) for variable, _ in given}
        found.notes += tuple(
            f"The Variable '{v.name}' is assigned too, and what it was before is not known: it had "
            "the value from after that."
            for v in writes.written()
            if id(v) not in known and v.creation <= earlier and not getattr(v, "hidden", False)
        )
    return found


def _newest_variable() -> int:
    """The number of a Variable that is newer than all there are."""
    return Variable(0.0, trainable=False).creation


class Regions:
    """Parts of code that is looked into, such as the layers of a model, and which Nodes were
    recorded in each.
    """

    def __init__(self) -> None:
        self._found: list[tuple[int, int, str]] = []

    @block
    def around(self, name: str) -> Iterator[None]:
        """A part of the code."""
        start = next(numbers)
        try:
            yield
        finally:
            self._found.append((start, next(numbers), name))

    def name_of(self, node: Node) -> str | None:
        """The innermost part that a Node was recorded in."""
        around = [(end - start, name) for start, end, name in self._found
                  if start < node.number < end]  # fmt: skip
        return min(around)[1] if around else None


class Everything(GradientTape):
    """A tape that follows all inputs and Variables, and keeps the value of each when it is read."""

    _departures: _Taken | None

    def __init__(self) -> None:
        super().__init__(persistent=True)
        self._new_departures = _Taken
        self.values: dict[Node, Any] = {}
        self.names: dict[Node, str] = {}
        self.constants = _Constants()

    def taken(self) -> list[Tensor]:
        """The tensors whose values were handed out, to `float()` for example."""
        return [] if self._departures is None else self._departures.tensors

    def watch_inputs(self, inputs: Sequence[Any], names: Sequence[str]) -> None:
        followed = [
            (i, t) for i, t in enumerate(inputs) if isinstance(t, Tensor) and t.dtype.is_trainable
        ]
        self.watch([t for _, t in followed])
        for i, t in followed:
            assert t.node is not None
            self.values[t.node] = t.array
            self.names[t.node] = names[i] if names else f"input {i}"
            t.node.where = None  # it is from elsewhere

    def variable_node(self, variable: Variable) -> Node | None:
        node = self._nodes.get(id(variable))
        if node is None:
            again = id(variable) in self._variables
            node = self._watch_variable(variable)
            if node is not None:
                self.values[node] = variable.array
                self.names[node] = f"the Variable '{variable.name}'" + (
                    ", which this code has assigned," if again else ""
                )
        return node

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        """What is read from now on is another value."""
        self._nodes.pop(id(variable), None)


class _Constants(Block):
    """A recorder that keeps the arguments of recorded ops which nothing follows, such as the number
    in `x - 100.0`: rules do not save what only linear ops were given.
    """

    pushes = True  # so it sees every op that is recorded
    recording = True
    scope: Recording | None = None

    def __init__(self) -> None:
        self.kept: dict[Node, dict[int, Any]] = {}

    def push(self, node: Node, args: Sequence[Any], outputs: Any) -> None:
        found = {
            i: array
            for i, (arg, parent) in enumerate(zip(args, node.parents, strict=False))
            if parent is None and isinstance(array := plain(arg), _ARRAYS)
        }
        if found:
            self.kept[node] = found

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        """Keeps nothing."""

    def variable_node(self, variable: Variable) -> Node | None:
        return None

    def enter(self) -> None:
        here.state.add(self)

    def leave(self) -> None:
        if self in here.state.recorders:
            here.state.remove(self)


_ARRAYS = (np.ndarray, np.generic, int, float, complex)


class _Taken(Departures):
    """Departures that keep every tensor."""

    __slots__ = ("tensors",)

    def __init__(self) -> None:
        super().__init__()
        self.tensors: list[Tensor] = []

    def note(self, tensor: Tensor, method: str, frame: FrameType) -> None:
        super().note(tensor, method, frame)
        if not isinstance(tensor.node, Ending):
            self.tensors.append(tensor)


class _Quietly(Block):
    """A block that runs op by op, without checks of its own, and in which each backward walk is
    looked at until something is found.
    """

    def __init__(self, how: str) -> None:
        self._how = how
        self._before: tuple[Any, ...] | None = None
        self.look: Callable[..., NonFinite] | None = None
        self.found: NonFinite | None = None

    def enter(self) -> None:
        state = here.state
        self._before = (
            state.run, state.checker, state.around_walk, state.around_call, state.op_by_op
        )  # fmt: skip
        if state.checker is not None and state.device is None:
            state.run = quiet_runner()
        state.checker, state.around_walk, state.op_by_op = None, self._around, self._how
        state.around_call = None

    def leave(self) -> None:
        state = here.state
        if self._before is not None:
            (
                state.run, state.checker, state.around_walk, state.around_call, state.op_by_op
            ) = self._before  # fmt: skip

    def _around(
        self,
        walk: Callable[..., Any],
        seeds: dict[Node, Any],
        sources: Any,
        recording: Recording,
        release: bool,
    ) -> Any:
        if not self.found and self.look is not None:
            look, self.look = self.look, None  # not at walks that looking takes
            try:
                self.found = look(seeds, sources, recording)
            finally:
                self.look = look
        return walk(seeds, sources, recording, release)


def _in_a_walk(
    tape: Everything,
    label: Callable[[Node], str | None] | None,
    seeds: dict[Node, Any],
    sources: Any,
    recording: Recording,
) -> NonFinite:
    with here.state.only([]):
        evidence = _evidence(tape, list(seeds), label, recording)
        wanted = [node for node in sources if node is not None]
        return in_backward(evidence, recording, seeds, wanted)


def _evidence(
    tape: Everything,
    targets: Sequence[Node],
    label: Callable[[Node], str | None] | None,
    *recordings: Recording,
    more: dict[Node, Any] | None = None,
) -> Evidence:
    assert tape.scope is not None
    known = {**tape.values, **(more or {})}
    found = Evidence(
        [tape.scope, *recordings], targets, known, names=tape.names, constants=tape.constants.kept
    )
    found.label = label
    return found


def _in_results(
    tape: Everything,
    label: Callable[[Node], str | None] | None,
    result: Any,
    written: Sequence[Variable],
    in_walks: NonFinite | None,
) -> NonFinite:
    parts = nest.flatten(result, expand_composites=True)
    leaves = [leaf for part in parts for leaf in components(part)]
    bad = [leaf for leaf in leaves if isinstance(leaf, _NUMBERS) and is_wrong(_array(leaf))]
    assigned = [v for v in written if not getattr(v, "hidden", False) and is_wrong(plain(v.array))]
    if not bad and not assigned:
        return finite("what it returns, and the Variables that it assigns")
    if in_walks:
        return in_walks
    own = tape.scope
    tensors = [t for t in bad if isinstance(t, Tensor)]
    notes: tuple[str, ...] = ()
    if bad and not tensors:
        tensors, notes = _taken_for(tape, bad)
    recorded = {t.node: t for t in tensors if t.node and own is not None and own in t.node.scope}
    if recorded:
        evidence = _evidence(tape, list(recorded), label, more=recorded)
        starts = [(Forward(evidence, n), first(wrong(plain(t)))) for n, t in recorded.items()]
        found = report(starts, "the result")
        found.notes, found.certain = (*found.notes, *notes), found.certain and not notes
        return found
    what = f"the Variable '{assigned[0].name}'" if assigned else "the result"
    value = np.asarray(_array((assigned or bad)[0]))
    return not_recorded(what, first(wrong(value)), value)


_NUMBERS = (Tensor, Variable, np.ndarray, np.generic, float, complex)
"""What may be in a result and not be finite."""


def _array(leaf: Any) -> Any:
    return plain(leaf.array if isinstance(leaf, Variable) else leaf)


def _taken_for(tape: Everything, results: Sequence[Any]) -> tuple[list[Tensor], tuple[str, ...]]:
    """The tensors that some results, which are no tensors, have their values from; and what there
    is to say if that does not show.
    """
    left = [t for t in tape.taken() if is_wrong(plain(t))]
    same = [t for t in left if any(_equal(plain(t), result) for result in results)]
    if same or not left:
        return same, ()
    note = (
        "The result is not a tensor; values of this one were taken before, with float() or "
        ".numpy() for example, and it may have been computed from them."
    )
    return left[:1], (note,)


def _equal(array: Any, result: Any) -> bool:
    array, result = np.asarray(array), np.asarray(_array(result))
    return array.shape == result.shape and bool(
        np.array_equal(array.astype(np.complex128), result.astype(np.complex128), equal_nan=True)
    )
