"""`Explanation`: what `tape.explain` returns, as text, as HTML and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from gradtape.core.location import Location
from gradtape.published import published


@published("debugging.Cause")
class Cause(StrEnum):
    """Why a gradient is None, or that it is not."""

    CONNECTED = "connected"
    NOT_WATCHED = "not watched"
    WATCHED_LATE = "watched after it was used"
    OUTSIDE = "computed outside the tape's block"
    PAUSED = "computed while the tape was stopped"
    OTHER_THREAD = "computed on another thread"
    RESET = "recorded before the tape was reset"
    OTHER_TAPE = "followed by another tape"
    UNUSED = "not used"
    NOT_RUN = "used only where the code did not run"
    INDEPENDENT = "the target does not depend on it"
    SOURCE_DTYPE = "the source's dtype has no gradients"
    TARGET_DTYPE = "the target's dtype has no gradients"
    NO_DERIVATIVE = "an op without a derivative"
    STOPPED = "stop_gradient"
    LEFT = "the values left the tape"
    REBOUND = "the name means another object"
    ASSIGNED = "assigned to a Variable"
    NOT_TRAINABLE = "a Variable that is not trainable"
    NOT_ACCESSED = "watch_accessed_variables=False"
    NO_GRADIENT = "a gradient function returned None"
    FAILED = "a gradient function raised an error"
    USED_UP = "the tape is used up"
    NOTHING_RECORDED = "the tape has recorded nothing"
    UNKNOWN = "unknown"


class Step(NamedTuple):
    """One recorded op on the way from a source to the target."""

    op: str
    location: Location | None

    def __str__(self) -> str:
        return self.op if self.location is None else f"{self.op} at {self.location}"


@published("debugging.Reason")
class Reason(NamedTuple):
    """Why one source has a gradient or not.

    `location` is the line of the user's code to look at, if there is one; `path` are the ops from
    the source to the target, or to where the chain ends.
    """

    source: str
    target: str
    cause: Cause
    message: str
    advice: str = ""
    location: Location | None = None
    path: tuple[Step, ...] = ()

    @property
    def connected(self) -> bool:
        """Whether there is a gradient."""
        return self.cause is Cause.CONNECTED

    def __str__(self) -> str:
        lines = [f"{self.message} {self.advice}".rstrip()]
        lines += [f"    {step}" for step in self.path]
        return "\n".join(lines)


@published("debugging.Explanation")
class Explanation(Sequence[Reason]):
    """The reasons for the gradients of a target, one for each source."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        self._reasons = tuple(reasons)

    def __len__(self) -> int:
        return len(self._reasons)

    def __getitem__(self, index: Any) -> Any:
        return self._reasons[index]

    def __iter__(self) -> Iterator[Reason]:
        return iter(self._reasons)

    @property
    def connected(self) -> bool:
        """Whether every source has a gradient."""
        return all(reason.connected for reason in self)

    def to_dict(self) -> list[dict[str, Any]]:
        """The same as plain data, for programs and for JSON."""
        return [
            {
                **reason._asdict(),
                "cause": reason.cause.value,
                "location": _plain(reason.location),
                "path": [{"op": s.op, "location": _plain(s.location)} for s in reason.path],
            }
            for reason in self
        ]

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "There are no sources to explain."

    def __repr__(self) -> str:
        return f"<Explanation: {', '.join(f'{r.source}: {r.cause}' for r in self)}>"

    def _repr_html_(self) -> str:
        import html  # noqa: PLC0415 - for notebooks alone

        return "".join(
            f'<p><b style="color:{"#2a7d2a" if r.connected else "#b3261e"}">'
            f"{html.escape(r.source)}: {html.escape(r.cause)}</b><br>"
            f"{html.escape(r.message)} <i>{html.escape(r.advice)}</i></p>"
            + "".join(f"<pre>{html.escape(str(step))}</pre>" for step in r.path)
            for r in self
        )


def _plain(location: Location | None) -> dict[str, Any] | None:
    return None if location is None else location._asdict()
