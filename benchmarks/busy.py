"""Eager steps on a busy machine: `python -m benchmarks.busy`.

Four processes that only count keep the cores busy. Beside them, gradtape takes steps as it is, and
as if told to give BLAS one thread (OPENBLAS_NUM_THREADS=1), which is the best that can be had there
and costs up to half the speed where the cores are free; so do PyTorch and TensorFlow, as they are,
where they are installed. All take turns, half a second each. Time is the mean, since what hurts are
the steps that wait. `--processes 0` shows the same on an idle machine, where gradtape must not be
slower than before.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import mean

from benchmarks.libraries import CONTENDERS, GRADTAPE
from benchmarks.results import Figures
from benchmarks.workers import Worker
from benchmarks.workloads import BY_NAME, TRAINING, Workload

ONE_THREAD = "one BLAS thread"
PEERS = ("PyTorch", "TensorFlow")
AIM = 1.3  # times the time with one BLAS thread
TURN = 0.5  # seconds


@contextmanager
def busy_cores(processes: int) -> Iterator[None]:
    running = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def workers() -> dict[str, Worker]:
    found = {
        contender.title: Worker(contender)
        for contender in CONTENDERS
        if contender.title in (GRADTAPE, *PEERS) and contender.runs_here
    }
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    found[ONE_THREAD] = Worker(found[GRADTAPE].contender)
    for worker in found.values():
        worker.has(TRAINING[0])  # it has started
    del os.environ["OPENBLAS_NUM_THREADS"]
    return found


def times(workload: Workload, asked: dict[str, Worker], turns: int) -> dict[str, float]:
    """The mean seconds of a step, in turns."""
    steps = {}
    for title, worker in asked.items():
        worker.prepare(workload)
        steps[title] = max(1, round(TURN / max(worker.seconds(3), 1e-6)))
    taken: dict[str, list[float]] = {title: [] for title in asked}
    for _ in range(turns):
        for title, worker in asked.items():
            taken[title].append(worker.seconds(min(steps[title], 5000)))
    return {title: mean(values) for title, values in taken.items()}


def figures(quick: bool, processes: int = 4, turns: int = 5) -> dict[str, Figures]:
    """The mean seconds of each step, by workload and contender; a quick run has the first two."""
    told = os.environ.pop("OPENBLAS_NUM_THREADS", None)
    all_workers = workers()
    found: Figures = {}
    with busy_cores(processes):
        for workload in TRAINING[: 2 if quick else None]:
            asked = {t: w for t, w in all_workers.items() if w.has(workload)}
            found[workload.name] = times(workload, asked, 1 if quick else turns)
    for worker in all_workers.values():
        worker.close()
    if told is not None:
        os.environ["OPENBLAS_NUM_THREADS"] = told
    return {"busy": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=4, help="how many keep the cores busy")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    found = figures(quick=False, processes=options.processes, turns=options.turns)["busy"]
    for name, row in found.items():
        ratio = row[GRADTAPE] / row[ONE_THREAD]
        cells = ", ".join(f"{title} {1e3 * seconds:,.2f} ms" for title, seconds in row.items())
        aimed = "" if ratio <= AIM else f" (aim: {AIM})"
        print(f"{BY_NAME[name].title}: {ratio:.2f} × one thread{aimed}: {cells}")


if __name__ == "__main__":
    main()
