"""How long `import` takes in a fresh Python, on top of NumPy's own import."""

import os
import subprocess
import sys
from collections.abc import Sequence
from statistics import median

from benchmarks.libraries import Library

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


def times(libraries: Sequence[Library], subprocesses: int) -> dict[str, float]:
    """The median seconds of each library's import, the libraries taken in turns; NumPy's is that of NumPy itself."""
    libraries = list({library.package: library for library in reversed(libraries)}.values())[::-1]  # the first of each package
    taken: dict[str, list[float]] = {library.title: [] for library in libraries}
    for round_number in range(subprocesses + 1):
        for library in libraries:
            seconds = _once(library.package)
            if round_number:  # the first round only fills the caches of byte code and disk
                taken[library.title].append(seconds)
    return {title: median(values) for title, values in taken.items()}


def _once(package: str) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _CODE.format(package=package)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout.split()[-1])
