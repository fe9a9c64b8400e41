"""The memory that steps take at their peak, each measured in a process of its own, on Linux."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.libraries import Contender
from benchmarks.workers import Worker
from benchmarks.workloads import Workload


def peaks(workload: Workload, contenders: Sequence[Contender], processes: int) -> dict[str, float]:
    """The bytes of each contender that has the workload, besides its inputs and weights.

    The least of several processes counts, since an allocator may by chance keep much that it does
    not need.
    """
    if not Path("/proc/self/clear_refs").exists():
        return {}
    found: dict[str, float] = {}
    # Memory is the same however busy the machine is.
    with ThreadPoolExecutor(max_workers=2) as pool:
        asked = [contender for contender in contenders for _ in range(processes)]
        for contender, peak in zip(
            asked, pool.map(lambda contender: _peak(workload, contender), asked), strict=True
        ):
            if peak is not None:
                found[contender.title] = min(peak, found.get(contender.title, peak))
    return found


def _peak(workload: Workload, contender: Contender) -> float | None:
    worker = Worker(contender)
    try:
        return worker.peak(workload) if worker.has(workload) else None
    finally:
        worker.close()
