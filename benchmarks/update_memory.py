"""The memory that a process takes at its peak for a large variable while a compiled step updates it, on Linux."""

import gc
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.libraries import Library
from benchmarks.workloads import Inputs, updated

_UPDATES = 3


def peaks(libraries: Sequence[Library]) -> dict[str, float]:
    """The bytes of each library, measured in a process of its own."""
    if not Path("/proc/self/clear_refs").exists():
        return {}
    return {library.title: _in_its_own_process(library.module) for library in libraries}


def _in_its_own_process(module: str) -> float:
    command = [sys.executable, "-c", f"from benchmarks.update_memory import peak; print(peak({module!r}))"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def peak(module: str) -> float:
    """What this process takes for the variable and its updates, besides what it takes for a small one."""
    update = import_module(f"benchmarks.libraries.{module}").update
    inputs = updated().inputs
    small = update(Inputs(inputs.x[:16].copy()))
    small()
    large = inputs.x.copy()
    del inputs
    gc.collect()
    before = _resident("VmRSS") - large.nbytes
    step = update(Inputs(large))
    del large
    for _ in range(2):  # the first takes the initial value over
        step()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak so far
    for _ in range(_UPDATES):
        step()
    return _resident("VmHWM") - before


def _resident(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
