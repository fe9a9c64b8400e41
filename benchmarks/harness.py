"""Checking and timing steps. What is compared runs side by side in one process, so that it meets the same machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks.libraries import Step


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    repeats: int
    seconds_per_repeat: float
    subprocesses: int


FULL = Effort(repeats=25, seconds_per_repeat=0.08, subprocesses=15)
QUICK = Effort(repeats=3, seconds_per_repeat=0.02, subprocesses=3)


def check(steps: Mapping[str, Step], baseline: str, tolerance: float = 1e-4) -> None:
    """Raises unless all steps give the baseline's gradients, or the first library's, to rounding in float32."""
    expected = [np.asarray(gradient) for gradient in steps.get(baseline, next(iter(steps.values())))()]
    for title, step in steps.items():
        found = [np.asarray(gradient) for gradient in step()]
        if [g.shape for g in found] != [e.shape for e in expected]:
            raise AssertionError(
                f"{title}: gradients of shapes {[g.shape for g in found]}, expected {[e.shape for e in expected]}"
            )
        for i, (g, e) in enumerate(zip(found, expected, strict=True)):
            error = float(np.abs(g - e).max() / np.abs(e).max())
            if not error < tolerance:
                raise AssertionError(f"{title}: gradient {i} is off by {error:.1e} of the largest expected entry")


def times(steps: Mapping[str, Step], effort: Effort) -> dict[str, float]:
    """The seconds of one step of each: the best of several repeats, taken in turns."""
    loops = {
        title: max(1, round(effort.seconds_per_repeat / min(_seconds(step, 1) for _ in range(3))))
        for title, step in steps.items()
    }
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(effort.repeats):
        for title, step in steps.items():
            best[title] = min(best[title], _seconds(step, loops[title]))
    return best


def _seconds(step: Step, loops: int) -> float:
    start = perf_counter()
    for _ in range(loops):
        step()
    return (perf_counter() - start) / loops
