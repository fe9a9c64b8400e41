"""A process for each contender, which waits at a pipe while the others run.

Libraries bring thread pools and memory allocators with them. In one process they would disturb each
other, and whichever was imported first would choose for all.
"""

import ctypes
import gc
import multiprocessing
import os
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, sleep
from traceback import format_exc
from typing import Any

import numpy as np

from benchmarks.libraries import Contender, Maker, Step
from benchmarks.workloads import BY_NAME, Workload

_MEASURED = 3  # steps over which the peak of memory is taken
_TRANSFER = 0.5  # seconds, enough for arrays that are copied beside Python


class Worker:
    """The parent's end of the pipe."""

    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, contender), daemon=True)
        self._process.start()
        theirs.close()

    def has(self, workload: Workload) -> bool:
        return self._ask("has", workload.name)

    def prepare(self, workload: Workload) -> tuple[float, list[Any]]:
        """Makes the step; the seconds of its first call, and its results as NumPy arrays."""
        return self._ask("prepare", workload.name)

    def seconds(self, steps: int) -> float:
        """The seconds of one step, over so many."""
        return self._ask("seconds", steps)

    def peak(self, workload: Workload) -> float:
        """The bytes that steps take at their peak. Asked of a worker that has done nothing else."""
        return self._ask("peak", workload.name)

    def close(self) -> None:
        self._pipe.close()
        self._process.join()

    def _ask(self, method: str, *arguments: Any) -> Any:
        self._pipe.send((method, arguments))
        try:
            succeeded, answer = self._pipe.recv()
        except EOFError:
            raise RuntimeError(f"the process of {self.contender.title} has ended") from None
        if not succeeded:
            raise RuntimeError(
                f"{self.contender.title}, asked for {method} {arguments[:1]}, failed:\n{answer}"
            )
        return answer


def _serve(pipe: Connection, contender: Contender) -> None:
    """The child's end: answers until the pipe is closed."""
    # What libraries say about themselves; errors go through the pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    service = _Service(contender)
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


class _Service:
    """What a worker does."""

    def __init__(self, contender: Contender) -> None:
        self._contender = contender
        self._step: Callable[[], Any] = lambda: None

    @cached_property
    def _makers(self) -> Mapping[str, Maker]:
        return self._contender.steps()

    def has(self, name: str) -> bool:
        return name in self._makers

    def prepare(self, name: str) -> tuple[float, list[Any]]:
        self._step = lambda: None  # lets go of the arrays of the workload before
        gc.collect()
        made = self._makers[name](BY_NAME[name].make_inputs())
        self._step = partial(made.function, *made.arguments)
        start = perf_counter()
        found = self._step()
        first = perf_counter() - start
        return first, [_numpy(result) for result in (found if made.read is None else made.read())]

    def seconds(self, steps: int) -> float:
        step = self._step
        step()  # wakes the threads and fills the caches that another process has used in between
        start = perf_counter()
        for _ in range(steps):
            step()
        return (perf_counter() - start) / steps

    def peak(self, name: str) -> float:
        self._run(self._makers[name](BY_NAME[name].make_tiny_inputs()))  # loads what is loaded once
        made = self._makers[name](BY_NAME[name].make_inputs())
        gc.collect()
        _give_back()
        sleep(_TRANSFER)
        before = _resident("VmRSS")
        self._run(made)  # compiles, which takes memory of its own
        gc.collect()
        _give_back()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak so far
        for _ in range(_MEASURED):
            self._run(made)
        return _resident("VmHWM") - before

    @staticmethod
    def _run(step: Step) -> None:
        step.function(*step.arguments)


def _numpy(result: Any) -> Any:
    return np.array(result.numpy() if hasattr(result, "numpy") else result)


def _give_back() -> None:
    """Hands freed memory that the C library keeps back to the system:
    a step that took it again would seem to take none.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _resident(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
