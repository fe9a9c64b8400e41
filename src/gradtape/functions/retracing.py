"""`Retracing`: why a function was traced again, and a warning where that happens too often."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradtape.core.location import Location
from gradtape.core.messages import log_warning
from gradtape.core.settings import settings
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.functions.signature import Arguments, differences

if TYPE_CHECKING:
    from gradtape.functions.kinds import Kinds
    from gradtape.functions.programs import Programs

_WINDOW, _MANY = 10, 5  # a warning is due when so many of the last calls were traced
_WARNINGS = 2


class Retracing:
    """The last calls of one function: which of them were traced, and why the last one was."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._recent: deque[bool] = deque(maxlen=_WINDOW)
        # Notes whether a call was traced: it is part of every call, so it is the deque's own.
        self.note = self._recent.append
        self._warnings = 0
        self.why: list[str] = []

    @staticmethod
    def reasons(
        arguments: Arguments,
        followed: Sequence[Tensor],
        programs: Programs,
        names: Sequence[str],
    ) -> list[str]:
        """Why a call is traced: what is `followed`, or how its arguments, whose names are known,
        differ from those that there are programs for.
        """
        if followed:
            return [
                f"a tape or accumulator follows a Tensor of shape {tensor.shape} that was a "
                "constant of the program"
                for tensor in followed
            ]
        known = programs.get(arguments.key)
        if known is not None:
            return [_RECORDED if known.runs_eagerly else _OTHER_VARIABLES]
        if programs.has_dropped(arguments.key):
            return [_DROPPED.format(settings.programs_per_function)]
        found = (differences(key, arguments.key, names) for key in programs)
        return min(found, key=len, default=[])

    def warn(
        self, reasons: Sequence[str], arguments: Arguments, kinds: Kinds, *, followed: bool
    ) -> None:
        """Warns, twice at most, if many of the last calls were traced."""
        if sum(self._recent) < _MANY or self._warnings == _WARNINGS:
            return
        self._warnings += 1
        if followed:
            text = _MANY_FOLLOWED
        elif not kinds.has(arguments.key):
            text = _MANY_KINDS
        else:
            text = _MANY_STRINGS if arguments.has_strings() else _MANY_SIZES
        log_warning(
            text, self._name, sum(self._recent), len(self._recent), reasons_in_words(reasons)
        )

    def tell_observers(self, place: Location | None, began: int, ended: int) -> None:
        """Tells who looks on that the function was traced, and why."""
        for observer in here.state.observers:
            observer.traced(self._name, place, began, ended, self.why)


def reasons_in_words(reasons: Sequence[str]) -> str:
    return "; ".join(reasons) or "it was a new function"


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
_MANY_FOLLOWED = (
    "%s was traced in %s of its last %s calls. Tracing is slow: pass Tensors that tapes follow as "
    "arguments. The last time, %s."
)
_RECORDED = (
    "it runs op by op while a tape or accumulator records, and was called without one for the "
    "first time"
)
_OTHER_VARIABLES = (
    "a Variable that is passed is one that the function also reaches without its arguments, or was "
    "one before"
)
_DROPPED = (
    "the program for these arguments was dropped, since the function had more than {} programs"
)
