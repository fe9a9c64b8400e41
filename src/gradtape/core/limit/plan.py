"""`Plan`: what a recording with a memory limit drops, and when.

While the tape records, the plan looks on at the kernels (see `core.observers`) and divides the
recording into segments. When what is saved passes the limit, the oldest segments are dropped; of a
dropped one, only what its calls were given stays. When even that becomes too much, neighbours are
merged, which frees what one passed on to the other. So every call runs again at most once in a
walk.

A value is freed only if nobody else has it, which reference counts tell: what the user holds is
not ours to free, and is not computed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from gradtape.core import observers
from gradtape.core.buffered import relying
from gradtape.core.limit.calls import Calls, KernelCall, Value, keeps_much, owner
from gradtape.core.limit.segments import Segment, merged, references
from gradtape.core.messages import first_times, log_warning
from gradtape.core.needed_ops import needed
from gradtape.core.observers import Observer
from gradtape.core.thread import here
from gradtape.engines.numpy.threads import shared

if TYPE_CHECKING:
    from gradtape.core.node import Node
    from gradtape.core.recording import Recording

_SHARE = 8
"""A segment takes up to this part of the limit."""

_LOOKS = 4 * _SHARE
"""How often it looks at what is saved, while as much as the limit is made."""

_FACTORS = (1, 2, 3, 4)
"""How much larger segments may become when they are merged, at a time."""

_MOST = 64
"""A recording has about so many segments, however small the limit is: more do not help, since the
best number is the root of the number of ops.
"""


class _Pair(NamedTuple):
    """Two segments that may be merged: what is not kept then, and what restoring both takes."""

    first: Segment
    second: Segment
    evicted: dict[Value, Any]
    size: int
    gain: int


class Plan(Observer):
    """Keeps what one recording saved within a limit."""

    def __init__(self, limit: int, recording: Recording) -> None:
        self.limit = limit
        self.lock = RLock()
        self._recording = ref(recording)
        self._calls = Calls()
        self._current = Segment(self, 0)
        self._present: list[Segment] = []
        self._dropped: list[ref[Segment]] = []
        self._last = -1  # the number of the newest Node that was looked at
        self._fresh = 0  # bytes made since then
        self._due = False  # whether it is time for a new segment
        self._saved = 0  # in all
        self._largest = 0
        self._open = True

    # While the tape records

    def begin(self) -> None:
        if self not in relying:
            relying.append(self)
        observers.begin(self)

    def end(self) -> None:
        """Ends looking on; what was known of arrays may become wrong from now on."""
        try:
            self._look(())
            self._next_segment()
            self._reduce(0)
        finally:
            observers.end(self)
            self._calls.clear()
            if self in relying:
                relying.remove(self)
        why = self.why_not_kept()
        if why is not None and first_times("limit not kept", limit=1) is not None:
            log_warning("GradientTape: %s", why)

    def close(self) -> None:
        self._open = False
        self._present.clear()
        self._current = Segment(self, 0)
        self._calls.clear()

    def around_run(self, run: Callable[..., Any]) -> Callable[..., Any]:
        state = here.state

        def noted(kernel: Callable[..., Any], /, *args: Any, **params: Any) -> Any:
            result = run(kernel, *args, **params)
            if state.trace is None:
                self._note(kernel, args, params, result)
            return result

        return noted

    def around_rows(self, walk: Callable[..., Any], *args: Any) -> Any:
        """The walk of many cotangents writes its own arrays in place."""
        observers.end(self)
        try:
            return walk(*args)
        finally:
            observers.begin(self)

    def _note(
        self, kernel: Callable[..., Any], args: tuple[Any, ...], params: dict[str, Any], result: Any
    ) -> None:
        if not needed.is_pure(args[0] if kernel is shared else kernel):
            return
        if self._due or self._fresh * _LOOKS > self.limit:
            self._look(args)
        calls, current = self._calls, self._current
        given = []
        for arg in args:
            if keeps_much(arg):
                value = calls.find(arg) or calls.add(arg, Value(None))
                if value.call is None or value.call.number < current.start:
                    current.inputs[value] = arg
                given.append(value)
            else:
                given.append(arg)
        call = KernelCall(kernel, tuple(given), params, calls.count)
        self._fresh += calls.made(call, args, result)
        current.stop = calls.count

    def _look(self, args: Sequence[Any]) -> None:
        """Takes in the new Nodes; begins a new segment before a call with `args` if it is time."""
        with self.lock:
            self._fresh = 0
            current, full = self._current, max(self.limit // _SHARE, self._saved // _MOST)
            for node in self._new_nodes():
                self._last = node.number
                if type(node.saved) is tuple:
                    self._count(current, current.take(node, self._calls))
            self._let_go_of_given(current)
            self._due = current.size >= full
            # What passes from one segment to the next is kept: best something that is saved anyway.
            if self._due and (current.size >= 1.5 * full or self._all_saved(args)):
                self._next_segment()
                self._reduce(full)

    def _all_saved(self, args: Sequence[Any]) -> bool:
        current = self._current
        values = [self._calls.find(arg) for arg in args if keeps_much(arg)]
        return all(v is None or v in current.seen or not current.makes(v) for v in values)

    def _next_segment(self) -> None:
        self._present.append(self._current)
        self._current = Segment(self, self._calls.count)
        self._due = False
        self._calls.forget_given()

    def _new_nodes(self) -> list[Node]:
        recording = self._recording()
        found: list[Node] = []
        for scope in () if recording is None else recording.scopes():
            for node in reversed(scope.nodes):
                if node is not None:  # a sweep was interrupted
                    if node.number <= self._last:
                        break
                    found.append(node)
        return sorted(found, key=lambda node: node.number)

    def _count(self, segment: Segment, arrays: dict[Value, Any]) -> None:
        """Adds up what is saved in a segment."""
        values, held = list(arrays), list(arrays.values())
        arrays.clear()
        for i, value in enumerate(values):
            nbytes = held[i].nbytes
            self._largest = max(self._largest, nbytes)
            # Of what was given, that which only this Node and the segment hold.
            if value not in segment.seen and (segment.makes(value) or references(held, i) <= 2):
                segment.seen.add(value)
                segment.size += nbytes
                self._saved += nbytes

    def _let_go_of_given(self, segment: Segment) -> None:
        """What was given and is held here alone cannot be computed, and takes as much memory as
        what was computed from it.
        """
        values, held = list(segment.inputs), list(segment.inputs.values())
        for i, value in enumerate(values):
            if value.call is None and references(held, i) == 1:
                self._calls.forget(held[i])
                del segment.inputs[value]

    # What is dropped

    def _reduce(self, room: int) -> None:
        """Drops what is too much, with `room` for what comes next."""
        target = self._target()
        while self._present and self._in_all() + room > target:
            self._drop(self._present[0])
        self._release()
        self._merge(target)

    def _target(self) -> int:
        """The limit, less what rules and calls make on their way."""
        return self.limit - min(self.limit // 4, 5 * self._largest)

    def _in_all(self) -> int:
        """The bytes that are saved now, as far as dropping them can free them."""
        return self._kept(self._all()) + sum(s.size for s in self._present) + self._current.size

    def _all(self) -> list[Segment]:
        return [*self._of_dropped(), *self._present, self._current]

    def _of_dropped(self) -> list[Segment]:
        """The segments that were dropped and are still in use."""
        found = [segment for r in self._dropped if (segment := r()) is not None]
        self._dropped = [ref(segment) for segment in found if segment.into is None]
        return [segment for segment in found if segment.into is None]

    def _kept(self, segments: list[Segment]) -> int:
        """The bytes of the inputs that nobody else holds."""
        return self._bytes(self._own(segments).values())

    @staticmethod
    def _bytes(arrays: Iterable[Any]) -> int:
        """The memory of some arrays, views counted as what they show."""
        owners = {id(found): found.nbytes for found in map(owner, arrays)}
        return sum(owners.values())

    def _own(self, segments: list[Segment]) -> dict[Value, Any]:
        """The inputs that only segments hold."""
        count: dict[int, int] = {}
        by_identity: dict[int, Any] = {}
        for segment in segments:
            for array in segment.inputs.values():
                count[id(array)] = count.get(id(array), 0) + 1
                by_identity[id(array)] = array
        array = None
        identities, held = list(by_identity), list(by_identity.values())
        by_identity.clear()
        ours = {
            identity
            for i, identity in enumerate(identities)
            if references(held, i) == count[identity]
        }
        return {
            value: array
            for segment in segments
            for value, array in segment.inputs.items()
            if id(array) in ours
        }

    def _drop(self, segment: Segment) -> None:
        arrays = segment.drop()
        if segment in self._present:
            self._present.remove(segment)
        self._dropped.append(ref(segment))
        segments = self._all()
        values, held = list(arrays), list(arrays.values())
        arrays.clear()
        freed = []
        for i, value in enumerate(values):
            ours = sum(value in other.inputs for other in segments)
            if references(held, i) > ours:
                segment.inputs[value] = held[i]
            else:
                freed.append(held[i])
        held.clear()
        segment.size = self._bytes(freed)
        freed.clear()
        # What others were given by it too: they may be merged with it.
        passed = {v for other in segments for v in other.inputs if segment.makes(v)}
        used = segment.sources(segment.wanted(), passed)
        own = self._own(segments)
        for value in [v for v in segment.inputs if v in own and v not in used]:
            del segment.inputs[value]

    def _release(self) -> None:
        """Lets go of what others held when it was dropped, and do no more."""
        segments = self._all()
        own = self._own(segments)
        count = Counter(value for segment in segments for value in segment.inputs)
        for segment in self._of_dropped():
            evicted = {
                value: array
                for value, array in segment.inputs.items()
                if value in own and segment.makes(value) and count[value] == 1
            }
            if evicted:
                inputs = {v: array for v, array in segment.inputs.items() if v not in evicted}
                segment.keep_lost(inputs, evicted)
                segment.inputs = inputs
                segment.size += self._bytes([a for v, a in evicted.items() if v not in inputs])

    def _merge(self, target: int) -> None:
        """Joins neighbours, while that takes less memory in a walk."""
        while True:
            segments = sorted(self._of_dropped(), key=lambda segment: segment.start)
            kept, largest = self._kept(self._all()), max([s.size for s in segments], default=0)
            many = len(segments) > 2 * _MOST
            if len(segments) < 2 or (kept + largest <= target and not many):
                return
            # As long as the parts are small beside what they keep, they are too many.
            small = many or 4 * max(largest, self._largest) <= kept
            best, pairs = (None if small else kept + largest), []
            for factor in _FACTORS:
                found = self._pairs(segments, factor * max(largest, self._largest))
                grown = max([largest, *(pair.size for pair in found)])
                after = kept - sum(pair.gain for pair in found) + grown
                if found and (best is None or after < best):
                    best, pairs = after, found
            if not pairs:
                return
            for first, second, evicted, size, _ in pairs:
                both = merged(first, second, evicted)
                both.size = size
                self._dropped.append(ref(both))

    def _pairs(self, segments: list[Segment], most: int) -> list[_Pair]:
        """Neighbours that together take no more than `most`."""
        pairs: list[_Pair] = []
        in_all = self._all()
        own, i = self._own(in_all), 0
        count = Counter(value for segment in in_all for value in segment.inputs)
        while i < len(segments) - 1:
            first, second = segments[i : i + 2]
            evicted = {  # what one of them keeps only for the other
                value: array
                for value, array in second.inputs.items()
                if value in own
                and first.makes(value)
                and count[value] == 1 + (value in first.inputs)
            }
            gain = self._bytes(evicted.values())
            size = first.size + second.size + gain
            i += 1
            if size <= most:
                pairs.append(_Pair(first, second, evicted, size, gain))
                i += 1
        return pairs

    # What it says of itself

    def held(self) -> list[Any]:
        """The arrays that segments keep, once for each time."""
        return [array for segment in self._all() for array in segment.inputs.values()]

    def dropped(self) -> int:
        """The bytes that will be computed again."""
        return sum(segment.size for segment in self._of_dropped())

    def why_not_kept(self) -> str | None:
        """Why the limit cannot be kept; None if it can."""
        own = self._own(self._all())
        given = self._bytes([array for value, array in own.items() if value.call is None])
        passed = self._bytes([array for value, array in own.items() if value.call is not None])
        own.clear()
        largest = max([segment.size for segment in self._of_dropped()], default=0)
        needed = given + passed + max(largest, sum(segment.size for segment in self._present))
        if needed <= self.limit:
            return None
        return (
            f"the memory_limit of {self.limit:,} bytes cannot be kept, {needed:,} bytes are "
            f"needed: {given:,} bytes cannot be computed again (they come from random numbers, "
            "compiled functions, the user's own code, or Variables that have changed), "
            f"{passed:,} bytes pass from one part of the recording to the next, and the largest "
            f"part takes {needed - given - passed:,} bytes."
        )

    # In a walk

    def make_room(self, segment: Segment) -> None:
        """Before a segment is restored: what a walk has finished with is let go of, and other
        segments are dropped if it is too much.
        """
        self._present = [other for other in self._present if other.in_use()]
        target = self._target()
        for other in sorted(self._present, key=lambda s: -s.start):
            if self._in_all() + segment.size <= target:
                break
            if other is not segment:
                self._drop(other)

    def is_restored(self, segment: Segment) -> None:
        if self._open and segment not in self._present:
            self._present.append(segment)
            self._dropped = [r for r in self._dropped if r() is not segment]
