"""`Retracing`: why a function was traced again, and a warning where that happens too often."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradtape.core.location import Location
from gradtape.core.messages import first_times, log_warning
from gradtape.core.settings import settings
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.functions.signature import Arguments, differences

if TYPE_CHECKING:
    from gradtape.functions.kinds import Kinds
    from gradtape.functions.programs import Programs

_WINDOW, _MANY = 10, 5  # a warning is due when so many of the last calls were traced


class Retracing:
    """The last calls of one function: which of them were traced, and why the last one was."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        # Notes whether a call was traced: it is part of every call, so it is the deque's own.
        self.note = self._recent.append
        self.why: list[str] = []

    def __str__(self) -> str:
        return "; ".join(self.why) or "it was a new function"

    def find_why(
        self,
        arguments: Arguments,
        followed: Sequence[Tensor],
        programs: Programs,
        names: Sequence[str],
    ) -> None:
        """Finds out why a call is traced: what is `followed`, or how its arguments, whose names are
        known, differ from those that there are programs for.
        """
        if followed:
            self.why = [
                f"a tape or accumulator follows a Tensor of shape {tensor.shape} that was a "
                "constant of the program"
                for tensor in followed
            ]
        elif arguments.key in programs:
            self.why = [_OTHER_VARIABLES]
        elif programs.has_dropped(arguments.key):
            self.why = [_DROPPED.format(settings.programs_per_function)]
        elif programs:
            candidates = [differences(key, arguments.key, names) for key in programs]
            self.why = min(candidates, key=len)

    def warn(self, arguments: Arguments, kinds: Kinds, what: str, *, of_one_kind: bool) -> None:
        """Warns if many of the last calls were traced; `what` tells functions apart, and a call
        `of_one_kind` with earlier ones was traced for its sizes or strings.
        """
        if sum(self._recent) < _MANY or first_times(what, limit=2) is None:
            return
        again = _MANY_STRINGS if arguments.has_strings() else _MANY_SIZES
        log_warning(
            again if of_one_kind and kinds.has(arguments.key) else _MANY_KINDS,
            self._name, sum(self._recent), len(self._recent), self,
        )  # fmt: skip

    def tell_observers(self, place: Location | None, began: int, ended: int) -> None:
        """Tells who looks on that the function was traced, and why."""
        for observer in here.state.observers:
            observer.traced(self._name, place, began, ended, self.why)


_MANY_KINDS = (
    "%s was traced in %s of its last %s calls. Tracing is slow: pass tensors instead of Python "
    "numbers, keep shapes the same, and make "
    "the function once, outside loops. The last time, %s."
)
_MANY_SIZES = (
    "%s was compiled in %s of its last %s calls, since XLA compiles for each size of an open "
    "dimension. Compiling is slow: pad what is "
    "passed to a few sizes. The last time, %s."
)
_MANY_STRINGS = (
    "%s was traced in %s of its last %s calls, since a tensor of strings is a constant of a "
    "program. Tracing and compiling are slow: pass "
    "numbers that stand for the strings. The last time, %s."
)
_OTHER_VARIABLES = (
    "a Variable that is passed is one that the function also reaches without its arguments, or was "
    "one before"
)
_DROPPED = (
    "the program for these arguments was dropped, since the function had more than {} programs"
)
