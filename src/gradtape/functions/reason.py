"""`NotCompiled`: why a program, or its derivative, is not compiled."""

from __future__ import annotations

from typing import NamedTuple

from gradtape.core.location import Location
from gradtape.engines.xla import engine as xla_engine
from gradtape.functions.autograph.fallback import users_line


class NoGradientError(ValueError):
    """Part of a program has no gradient."""


def is_beyond_xla(error: Exception) -> bool:
    """Whether tracing failed because of something that eager code can handle."""
    return isinstance(error, NoGradientError) or xla_engine.needs_values(error)


class NotCompiled(NamedTuple):
    """What an error said, and the line of the user's code that it came from.

    It can be kept, as the error itself cannot: an error holds its frames, a frame holds its
    callers', and these hold all their local variables, open tapes among them.
    """

    text: str
    place: Location | None

    @classmethod
    def of(cls, error: Exception) -> NotCompiled:
        if isinstance(error, (NoGradientError, xla_engine.NotTraceableError, LookupError)):
            return cls(str(error), users_line(error))
        return cls(_NEEDS_VALUES, users_line(error))

    def __str__(self) -> str:
        """The text, which begins with the line unless it names one in the same file."""
        known = self.place is None or f"{self.place.file}:" in self.text
        return self.text if known else f"{self.place}: {self.text}"


_NEEDS_VALUES = (
    "a function called there needs values that are known only when the compiled program runs."
)
