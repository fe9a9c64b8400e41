"""How long `import` takes in a fresh Python, on top of NumPy's own import."""

import os
import subprocess
import sys
from collections.abc import Sequence
from statistics import median

from benchmarks.libraries import Contender

_CODE = """
from time import perf_counter
start = perf_counter()
import numpy
own = perf_counter() - start
start = perf_counter()
import {package}
on_top = perf_counter() - start
print(own if "{package}" == "numpy" else on_top)
"""


def times(contenders: Sequence[Contender], processes: int) -> dict[str, float]:
    """The median seconds of each package's import, taken in turns; NumPy's is that of NumPy itself.

    The workloads have been run before, so the caches of byte code and disk are filled.
    """
    packages = dict.fromkeys(contender.package for contender in contenders)
    taken: dict[str, list[float]] = {package: [] for package in packages}
    for _ in range(processes):
        for package, seconds in taken.items():
            seconds.append(_once(package))
    return {package: median(values) for package, values in taken.items()}


def _once(package: str) -> float:
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    command = [sys.executable, "-c", _CODE.format(package=package)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout.split()[-1])
