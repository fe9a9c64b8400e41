"""`LimitedRecording`: what a tape with a memory limit records, and its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradtape.core.limit.plan import Plan
from gradtape.core.messages import first_times, log_warning
from gradtape.core.recording import Recording

if TYPE_CHECKING:
    from gradtape.core.departures import Departures


def limited(limit: int, recording: Recording) -> tuple[Recording, Plan | None]:
    """The recording of a tape with a memory limit, in place of a new one without, and its plan."""
    if recording.traced:
        if first_times("memory_limit", limit=1) is not None:
            log_warning(
                "GradientTape: memory_limit has no effect inside a function that is compiled, "
                "since XLA plans the memory of its program; use gradtape.recompute_grad there."
            )
        return recording, None
    found = LimitedRecording(limit, recording.departures)
    return found, found.plan


class LimitedRecording(Recording):
    """What a tape with a memory limit records."""

    __slots__ = ("plan",)

    def __init__(self, limit: int, departures: Departures | None) -> None:
        super().__init__(departures)
        self.plan = Plan(limit, self)

    def close(self) -> None:
        super().close()
        self.plan.close()
