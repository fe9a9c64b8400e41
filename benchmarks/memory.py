"""The memory that a step takes at its peak, for libraries whose arrays are NumPy's."""

import gc
import tracemalloc
from collections.abc import Mapping

from benchmarks.libraries import Step


def peaks(steps: Mapping[str, Step]) -> dict[str, float]:
    """The most bytes each step has allocated at once, its result included and its inputs not."""
    return {title: _peak(step) for title, step in steps.items()}


def _peak(step: Step) -> float:
    step()  # so that what is made once, such as caches, is not counted
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        step()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return float(peak - before)
