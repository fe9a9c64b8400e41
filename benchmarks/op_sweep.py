"""Every differentiable op of `op_table`, eager, beside TensorFlow: `python -m benchmarks.op_sweep`.

Prints how many times TensorFlow's time each op takes, forward and with its gradient, the slowest
first; names after the command choose rows, and `--write` writes docs/op-sweep.md.

Each library has a process of its own, and all take turns at a row. Two figures are taken of each
call: seconds, of which the smallest counts, beside TensorFlow as it is, and seconds of processor
time, beside TensorFlow on one thread. Other work on the machine disturbs the second less, but moves
both: the page says how busy the machine was.
"""

import argparse
import multiprocessing
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import exp, log
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time
from traceback import format_exc
from typing import Any

import numpy as np

from benchmarks.op_table import ROWS, SIZE, Row
from benchmarks.report import Table, as_markdown, quantity
from benchmarks.results import load, machine

LIMIT = 1.3
"""Slower than so many times TensorFlow is what the page lists as slow."""

TURNS = 7
SECONDS = 0.02  # of one turn
BUSY = 0.5
"""A load average above this before the run is one of other programs."""

# What an environment may set for OpenBLAS: NumPy would compute with the instructions of an older
# processor, while TensorFlow takes those that this one has.
_OLDER = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
PAGE = Path(__file__).parent.parent / "docs" / "op-sweep.md"

GRADTAPE, TENSORFLOW, ONE_THREAD = "gradtape", "TensorFlow", "TensorFlow on one thread"
_BY_NAME = {row.name: row for row in ROWS}


@dataclass(frozen=True)
class Cost:
    """Of a call, in seconds: on the clock, and of the processor."""

    clock: float = float("inf")
    processor: float = float("inf")

    def or_less(self, other: "Cost") -> "Cost":
        return Cost(min(self.clock, other.clock), min(self.processor, other.processor))


Costs = tuple[Cost, Cost]  # forward, and with the gradient


@dataclass(frozen=True)
class Found:
    """The costs of a row by library, or why there are none."""

    row: Row
    costs: dict[str, Costs]
    failure: str = ""

    def ratio(self, part: int) -> float:
        """To TensorFlow as it is, by the clock: forward (0), or with the gradient (1)."""
        return self.costs[GRADTAPE][part].clock / self.costs[TENSORFLOW][part].clock

    def ratio_on_one_thread(self, part: int) -> float:
        return self.costs[GRADTAPE][part].processor / self.costs[ONE_THREAD][part].processor

    @property
    def worst(self) -> float:
        return max(self.ratio(1), self.ratio_on_one_thread(1))


class _Library:
    """The parent's end of a pipe to a process that has one library."""

    def __init__(self, title: str) -> None:
        self.title = title
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, title), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, method: str, *arguments: Any) -> Any:
        self._pipe.send((method, arguments))
        succeeded, answer = self._pipe.recv()
        if not succeeded:
            raise RuntimeError(f"{self.title}: {answer}")
        return answer

    def close(self) -> None:
        self._pipe.close()
        self._process.join()


class _Service:
    """The child's end: a library, and the row that is being measured."""

    def __init__(self, title: str) -> None:
        self._tf = import_module("gradtape" if title == GRADTAPE else "tensorflow")
        if title == ONE_THREAD:
            self._tf.config.threading.set_intra_op_parallelism_threads(1)
            self._tf.config.threading.set_inter_op_parallelism_threads(1)
        self._programs: list[Callable[[], Any]] = []

    def prepare(self, name: str) -> list[Any]:
        """Runs the row once; its gradients as arrays."""
        tf, row = self._tf, _BY_NAME[name]
        tensors = [tf.constant(array) for array in row.make(np.random.default_rng(0))]
        watched = [x for x in tensors if x.dtype.is_floating or x.dtype.is_complex]

        def forward() -> Any:
            return row.call(tf, *tensors)

        def step() -> Any:
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(watched)
                y = row.call(tf, *tensors)
            return tape.gradient(y, watched)

        self._programs = [forward, step]
        forward()
        return [None if g is None else np.asarray(tf.convert_to_tensor(g)) for g in step()]

    def take_turn(self) -> Costs:
        forward, step = map(_least, self._programs)
        return forward, step


def _least(program: Callable[[], Any]) -> Cost:
    found, end = Cost(), perf_counter() + SECONDS
    while True:
        start, start_of_process = perf_counter(), process_time()
        program()
        now = perf_counter()
        found = found.or_less(Cost(now - start, process_time() - start_of_process))
        if now > end:
            return found


def _serve(pipe: Connection, title: str) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # errors go through the pipe
    service = _Service(title)
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = True, getattr(service, method)(*arguments)
        except Exception:  # noqa: BLE001 - whatever it is, the parent reports it
            answer = False, format_exc()
        pipe.send(answer)


def measure(row: Row, libraries: Sequence[_Library]) -> Found:
    try:
        gradients = [library.ask("prepare", row.name) for library in libraries]
    except RuntimeError as error:
        return Found(row, {}, str(error).strip().splitlines()[-1])
    costs: dict[str, Costs] = {library.title: (Cost(), Cost()) for library in libraries}
    for turn in range(TURNS):
        for library in libraries if turn % 2 else reversed(libraries):
            before, now = costs[library.title], library.ask("take_turn")
            costs[library.title] = before[0].or_less(now[0]), before[1].or_less(now[1])
    return Found(row, costs, _difference(row, gradients[0], gradients[1]))


def _difference(row: Row, ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """What says that the libraries did not compute the same, if they did not."""
    if not row.compares:
        return ""
    for number, (g, h) in enumerate(zip(ours, theirs, strict=True)):
        if (g is None) != (h is None):
            return f"the gradient {number} of {'TensorFlow' if h is None else 'gradtape'} is None"
        if g is None:
            continue
        finite = np.isfinite(g) & np.isfinite(h)
        scale = np.abs(h[finite]).max(initial=1.0)
        if not np.allclose(g[finite], h[finite], 1e-2, 1e-3 * scale):
            return f"the gradients {number} differ by up to {np.abs(g - h)[finite].max():.2g}"
    return ""


def table(found: Sequence[Found]) -> Table:
    lines = [["", "gradtape", "forward", "with gradient", "one thread: forward", "with gradient"]]
    for one in sorted(found, key=lambda one: -one.worst):
        step = one.costs[GRADTAPE][1].clock
        figures = [one.ratio(0), one.ratio(1)]
        figures += [one.ratio_on_one_thread(0), one.ratio_on_one_thread(1)]
        time = quantity(step, "ms" if step > 1e-3 else "µs")
        lines.append([one.row.name, time, *(f"{ratio:.2f}" for ratio in figures)])
    return lines


def mean(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, ratios)) / len(ratios))


def summary(found: Sequence[Found]) -> str:
    slow = [one for one in found if one.ratio(1) > LIMIT]
    slow_alone = [one for one in found if one.ratio_on_one_thread(1) > LIMIT]
    return (
        f"{len(found)} rows, value and gradient: the geometric mean is "
        f"{mean([one.ratio(1) for one in found]):.2f} of TensorFlow's time, "
        f"{mean([one.ratio_on_one_thread(1) for one in found]):.2f} of its time on one thread; "
        f"{len(slow)} rows take more than {LIMIT} times as long as TensorFlow, "
        f"{len(slow_alone)} more than {LIMIT} times as long as TensorFlow on one thread."
    )


def _circumstances(load_before: float) -> str:
    """How busy the machine was, and how many threads the environment allows."""
    busy = (
        ", so other programs took a part of the machine, and columns by the clock are too large"
        if load_before > BUSY
        else ""
    )
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    limits = [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
    threads = " and ".join(limits) or "every library has its default number of threads"
    return f"load average {load_before:.1f} before the run{busy}; {threads}"


def page(found: Sequence[Found], load_before: float) -> str:
    return f"""# Every op beside TensorFlow

How many times TensorFlow's time an op takes in eager mode: below 1, gradtape is faster.
Elementwise ops get {SIZE:,} elements of float32, others matrices, images and segments of such a
size. `python -m benchmarks.op_sweep --write` in the environment of `make bench` measures and writes
this page; with names of rows behind it, it measures those alone. The rows are in
benchmarks/op_table.py.

{summary(found)}

Each library has a process of its own, and they take turns. The first column is gradtape's time,
with the gradient. The next two are ratios to TensorFlow with its threads, by the clock, the best of
many calls; the last two are ratios of processor time to TensorFlow on one thread. Machine:
{machine()};
{_circumstances(load_before)}.

{as_markdown(table(found))}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="the rows to measure; all, if there are none")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # TensorFlow speaks of the processor otherwise
    for name in _OLDER:
        os.environ.pop(name, None)
    rows = [_BY_NAME[name] for name in options.names] or ROWS
    libraries = [_Library(title) for title in (GRADTAPE, TENSORFLOW, ONE_THREAD)]
    load_before = load()
    print(f"load average {load_before:.1f}", flush=True)
    found = []
    for row in rows:
        one = measure(row, libraries)
        if one.failure:
            print(f"{row.name}: {one.failure}", flush=True)
        if one.costs:
            found.append(one)
    for library in libraries:
        library.close()
    lines = table(found)
    width = max(len(line[0]) for line in lines)
    for first, *cells in lines:
        print(first.ljust(width), *(cell.rjust(19) for cell in cells))
    print(summary(found))
    if options.write:
        PAGE.write_text(page(found, load_before), encoding="utf-8")


if __name__ == "__main__":
    main()
