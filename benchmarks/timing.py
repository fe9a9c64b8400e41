"""Timing steps in turns: every contender runs for a moment, again and again,
so that all meet the same machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import sleep

from benchmarks import reference
from benchmarks.workers import Worker
from benchmarks.workloads import Workload

SETTLE = 0.03  # seconds that threads of BLAS keep looking for work after the last of it


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    repeats: int
    seconds_per_repeat: float
    longest: float  # seconds after which a contender has had turns enough
    imports: int  # fresh processes for each package
    memory_processes: int  # the same for each workload


FULL = Effort(repeats=21, seconds_per_repeat=0.06, longest=4.0, imports=9, memory_processes=3)
QUICK = Effort(repeats=3, seconds_per_repeat=0.01, longest=0.3, imports=1, memory_processes=1)


@dataclass(frozen=True)
class Times:
    """Seconds by contender: of a step, the best of its turns, and of the first call."""

    step: dict[str, float]
    first_call: dict[str, float]


def times(workload: Workload, workers: Sequence[Worker], effort: Effort) -> Times:
    """The times of all workers that have the workload,
    after a check that their results are right.
    """
    taking_part = [worker for worker in workers if worker.has(workload)]
    first_call, found = {}, {}
    for worker in taking_part:
        first_call[worker.contender.title], found[worker.contender.title] = worker.prepare(workload)
        sleep(SETTLE)
    reference.check(workload, found)
    turns = [_Turns(worker, effort) for worker in taking_part]
    for number in range(effort.repeats):
        for turn in turns if number % 2 else reversed(turns):
            turn.take()
    return Times({turn.worker.contender.title: turn.best for turn in turns}, first_call)


class _Turns:
    """The turns of one worker at one workload."""

    def __init__(self, worker: Worker, effort: Effort) -> None:
        self.worker = worker
        self.best = worker.seconds(1)
        self._steps = max(1, round(effort.seconds_per_repeat / self.best))
        self._turns_left = max(1, round(effort.longest / (self.best * (self._steps + 1))))

    def take(self) -> None:
        if self._turns_left:
            self._turns_left -= 1
            self.best = min(self.best, self.worker.seconds(self._steps))
            sleep(SETTLE)
