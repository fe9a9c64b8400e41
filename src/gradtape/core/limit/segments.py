"""`Segment`: a part of a recording whose saved values can be dropped, and computed again from
`inputs`. `Dropped`: what a Node has in their place.

A `Dropped` restores its segment when somebody looks into it, so a rule, or whoever else reads what
a Node saved, need not know of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, ref

from gradtape.core.limit.calls import Calls, KernelCall, Value, keeps_much
from gradtape.core.tensor import Tensor

if TYPE_CHECKING:
    from gradtape.core.limit.plan import Plan
    from gradtape.core.node import Node


class _TensorOf(NamedTuple):
    """The place of a Tensor that was saved: the Tensor itself, if somebody still has it."""

    value: Value
    tensor: ref[Tensor]
    node: Node | None


def template_of(saved: Any, calls: Calls, arrays: dict[Value, Any]) -> Any:
    """What a Node saved, with Values in place of arrays; `arrays` receives these."""
    kind = type(saved)
    if kind is tuple or kind is list:
        return kind([template_of(part, calls, arrays) for part in saved])
    array = saved.array if kind is Tensor else saved
    if not keeps_much(array):
        return saved
    value = calls.find(array) or calls.add(array, Value(None))
    arrays[value] = array
    return _TensorOf(value, ref(saved), saved.node) if kind is Tensor else value


def filled(template: Any, values: dict[Value, Any]) -> Any:
    """What a Node saved, from its template."""
    kind = type(template)
    if kind is Value:
        return values[template]
    if kind is _TensorOf:
        found = template.tensor()
        return Tensor(values[template.value], template.node) if found is None else found
    if kind is tuple or kind is list:
        return kind([filled(part, values) for part in template])
    return template


def _values_in(template: Any) -> Iterator[Value]:
    kind = type(template)
    if kind is Value:
        yield template
    elif kind is _TensorOf:
        yield template.value
    elif kind is tuple or kind is list:
        for part in template:
            yield from _values_in(part)


def _collect(template: Any, saved: Any, arrays: dict[Value, Any]) -> None:
    """Finds the array of each Value."""
    kind = type(template)
    if kind is Value:
        arrays[template] = saved
    elif kind is _TensorOf:
        arrays[template.value] = saved.array
    elif kind is tuple or kind is list:
        for part, value in zip(template, saved, strict=True):
            _collect(part, value, arrays)


class Dropped(Sequence[Any]):
    """Stands for what a Node saved; whoever looks into it gets it back."""

    __slots__ = ("__weakref__", "_saved", "_segment", "_template")

    def __init__(self, template: tuple[Any, ...], segment: Segment) -> None:
        self._template = template
        self._segment = segment
        self._saved: tuple[Any, ...] | None = None

    def restored(self) -> tuple[Any, ...]:
        """What the Node saved."""
        if self._saved is None:
            self._saved = filled(self._template, self._segment.restored(self._template))
        return self._saved

    def __len__(self) -> int:
        return len(self._template)

    def __getitem__(self, index: Any) -> Any:
        return self.restored()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.restored())


class Segment:
    """The calls from number `start` on and before `stop`, and the Nodes that were recorded
    meanwhile.

    `inputs` holds what the calls were given from outside of the segment, and those values that
    cannot be computed from that, or that somebody else holds anyway. `size` is what restoring it
    takes. What it was merged `into` stands for it.
    """

    def __init__(self, plan: Plan, start: int) -> None:
        self._plan = plan
        self.start = start
        self.stop = start
        self.inputs: dict[Value, Any] = {}
        self.templates: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()
        self.size = 0
        self.seen: set[Value] = set()  # what `size` counts
        self.into: Segment | None = None

    def makes(self, value: Value) -> bool:
        """Whether a call of this segment makes a value."""
        call = value.call
        return call is not None and self.start <= call.number < self.stop

    def in_use(self) -> bool:
        """Whether a Node still has what it saved here, or what stands for it."""
        return any(node.saved is not None for node in list(self.templates))

    def take(self, node: Node, calls: Calls) -> dict[Value, Any]:
        """Adds a Node; returns the arrays that it saved."""
        arrays: dict[Value, Any] = {}
        template = template_of(node.saved, calls, arrays)
        if arrays:
            self.templates[node] = template
        for value, array in arrays.items():
            if not self.makes(value):
                self.inputs[value] = array
        return arrays

    def drop(self) -> dict[Value, Any]:
        """Takes away what the Nodes saved; returns the arrays that this may free."""
        nodes = [
            (node, template)
            for node, template in list(self.templates.items())
            if type(node.saved) is tuple
        ]
        arrays: dict[Value, Any] = {}
        for node, template in nodes:
            _collect(template, node.saved, arrays)
        inputs = dict(self.inputs)
        for value, array in arrays.items():
            if not self.makes(value):
                inputs.setdefault(value, array)
        self.keep_lost(inputs, arrays)
        self.inputs = inputs
        for node, template in nodes:
            node.saved = Dropped(template, self)
        return {value: array for value, array in arrays.items() if value not in inputs}

    def wanted(self) -> set[Value]:
        """The values of which something has been dropped."""
        return {
            value
            for node, template in list(self.templates.items())
            if type(node.saved) is Dropped
            for value in _values_in(template)
        }

    def keep_lost(self, inputs: dict[Value, Any], arrays: dict[Value, Any]) -> None:
        """Adds those of `arrays` to `inputs` that cannot be computed from these: they count as
        given from now on.
        """
        calls = self._needed(arrays, inputs)
        lost: set[Value] = set()
        for number in sorted(calls):
            call, made = calls[number]
            if any(
                value in lost or (value not in inputs and not self.makes(value))
                for value in call.given()
            ):
                for value in made:
                    if value in arrays:
                        inputs[value] = arrays[value]
                        value.call = None
                    else:
                        lost.add(value)

    def sources(self, wanted: set[Value], passed: set[Value]) -> set[Value]:
        """The inputs that are wanted, and those from which that and what is `passed` on to other
        segments can be computed.
        """
        used = {value for value in wanted if value in self.inputs}
        rest = {value: array for value, array in self.inputs.items() if value not in passed}
        for call, _ in self._needed(wanted | passed, rest).values():
            used.update(value for value in call.given() if value in self.inputs)
        return used

    def _needed(
        self, wanted: Any, inputs: dict[Value, Any]
    ) -> dict[int, tuple[KernelCall, list[Value]]]:
        """The calls that compute `wanted` from `inputs`, by number, and which of their results are
        needed.
        """
        calls: dict[int, tuple[KernelCall, list[Value]]] = {}
        seen: set[Value] = set()
        pending = list(wanted)
        while pending:
            value = pending.pop()
            if value in seen or value in inputs or not self.makes(value):
                continue
            seen.add(value)
            call: Any = value.call
            calls.setdefault(call.number, (call, []))[1].append(value)
            pending += call.given()
        return calls

    def restored(self, template: Any) -> dict[Value, Any]:
        """Gives all Nodes back what they saved, and returns it; `template` is one of theirs."""
        if self.into is not None:
            return self.into.restored(template)
        with self._plan.lock:
            self._plan.make_room(self)
            values = self._computed(self.wanted().union(_values_in(template)))
            for node, its_template in list(self.templates.items()):
                if type(node.saved) is Dropped:
                    node.saved = filled(its_template, values)
            self._plan.is_restored(self)
        return values

    def _computed(self, wanted: set[Value]) -> dict[Value, Any]:
        """The arrays of some Values; what is computed on the way to them is freed as soon as
        possible.
        """
        calls = self._needed(wanted, self.inputs)
        last = {value: number for number in sorted(calls) for value in calls[number][0].given()}
        dead: dict[int, list[Value]] = {}
        for value, number in last.items():
            if value not in wanted:
                dead.setdefault(number, []).append(value)
        values = dict(self.inputs)
        for number in sorted(calls):
            call, made = calls[number]
            results = call.again(values)
            for value in made:
                several = isinstance(results, (list, tuple))
                values[value] = results[value.index] if several else results
            results = None
            for value in dead.get(number, ()):
                values.pop(value, None)
        return values


def merged(first: Segment, second: Segment, evicted: dict[Value, Any]) -> Segment:
    """Two segments, one after the other, as one that need not keep the values `evicted`."""
    both = Segment(first._plan, first.start)
    both.stop = second.stop
    for part in (first, second):
        both.templates.update(part.templates)
        both.inputs.update(part.inputs)
    for value in evicted:
        both.inputs.pop(value, None)
    both.keep_lost(both.inputs, evicted)
    both.size = first.size + second.size
    # What stood for the first stands for both before the first lets go of what it has.
    first.into = second.into = both
    first.inputs = second.inputs = {}
    return both


def references(held: list[Any], index: int) -> int:
    """How many references there are to what a list holds, besides the list's."""
    return getrefcount(held[index]) - _OURS


_OURS = 0
_OURS = references([object()], 0)
