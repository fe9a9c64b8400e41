"""What `make bench` leaves: a table on the terminal, results.json, and docs/benchmarks.md."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.harness import Effort
from benchmarks.libraries import BASELINE, Library

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
DOCUMENT = HERE.parent / "docs" / "benchmarks.md"

_UNITS = {"µs": 1e6, "ms": 1e3, "MB": 1 / 2**20}


@dataclass(frozen=True)
class Row:
    """One workload's measurements by library, in seconds or bytes, and the unit to show them in."""

    title: str
    unit: str
    values: dict[str, float]
    baseline: str = BASELINE

    def cell(self, library: str) -> str:
        """The measurement, and how many times the baseline's that is, or the first library's where there is no baseline."""
        if library not in self.values:
            return "-"
        value = self.values[library]
        shown = f"{_rounded(value * _UNITS[self.unit])} {self.unit}"
        base = self.baseline if self.baseline in self.values else next(iter(self.values))
        return shown if library == base else f"{shown} ({value / self.values[base]:.2f} ×)"


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def cells(rows: Sequence[Row], libraries: Sequence[Library]) -> list[list[str]]:
    titles = [library.title for library in libraries]
    return [["", *titles], *([row.title, *(row.cell(title) for title in titles)] for row in rows)]


def as_text(rows: Sequence[Row], libraries: Sequence[Library]) -> str:
    """The table for a terminal."""
    table = cells(rows, libraries)
    widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))])
        for line in table
    )


def as_markdown(rows: Sequence[Row], libraries: Sequence[Library]) -> str:
    head, *body = [f"| {' | '.join(line)} |" for line in cells(rows, libraries)]
    return "\n".join([head, "|---|" + "---:|" * len(libraries), *body])


def _compiled_section(rows: Sequence[Row], libraries: Sequence[Library]) -> str:
    if not rows:
        return ""
    compiling = [library for library in libraries if library.compiles]
    return f"""
Compiled steps, in brackets the multiple of the JAX column, where the same is written by hand:

{as_markdown(rows, compiling)}
"""


def machine() -> str:
    """The processor and the number of cores this process may use, without the machine's name."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, {platform.system()}"


def load() -> float:
    """How many processes have wanted a core in the last minute: well below 1 on a machine whose figures can be trusted."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def versions(libraries: Sequence[Library]) -> dict[str, str]:
    return {"Python": platform.python_version()} | {library.package: library.version for library in libraries}


def write_results(rows: Sequence[Row], libraries: Sequence[Library], load_before: float, *, quick: bool) -> None:
    found = {
        "quick": quick,
        "machine": machine(),
        "load_before": load_before,
        "versions": versions(libraries),
        "rows": [asdict(row) for row in rows],
    }
    RESULTS.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_document(
    rows: Sequence[Row],
    higher: Sequence[Row],
    compiled: Sequence[Row],
    libraries: Sequence[Library],
    load_before: float,
    effort: Effort,
) -> None:
    listed = ", ".join(f"{name} {number}" for name, number in versions(libraries).items())
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(
        f"""# Benchmarks

`make bench` measures gradtape beside hand-written NumPy and the libraries that are installed in its environment, and writes
this page. `make bench QUICK=1` takes seconds and only prints.

{as_markdown(rows, libraries)}

In brackets: the multiple of the NumPy column, where the gradients are derived and written by hand. A step computes the loss and
all its gradients.

Jacobians and higher derivatives, in brackets the multiple of the NumPy column, or of gradtape's where there is none:

{as_markdown(higher, libraries)}
{_compiled_section(compiled, libraries)}
Machine: {machine()}; load average before the run: {load_before:.1f}.
Versions: {listed}.

## What is measured

- **small MLP**: tanh twice, mean squared error, six gradients: the overhead of recording shows most.
- **chain**: 100 times multiply by a constant, add a constant, tanh; the gradient of the sum with respect to the input.
- **large MLP**: relu twice, softmax cross entropy, six gradients: the arithmetic dominates.
- **import**: of each library, after NumPy has been imported; beside it, NumPy's own import.
- **memory**: the most memory allocated at once, forward and backward, while 50 additions of arrays of 4 MB are recorded
  and differentiated; the inputs are not counted. Libraries that do not allocate through NumPy have no figure.
- **Jacobian**, **batch Jacobian**, **Hessian**: by the method that each library has for it; a batch Jacobian has one matrix for
  each example. JAX runs `jacrev`, `vmap` of it, and `hessian`.
- **10,000 × 3**: the values of a function of three parameters, and their Jacobian, which takes three passes forward. TensorFlow
  uses its ForwardAccumulator, since its tape would go back 10,000 times; JAX runs `jacfwd`.
- **Burgers' equation**: the residual u_t + u u_x - ν u_xx of a 2-20-20-20-20-1 tanh network, its mean square, and the gradient of
  that by all weights. gradtape uses `tape.derivatives`; TensorFlow and autograd nest, JAX nests forward mode. Below it, the nested
  tapes that run on both gradtape and TensorFlow.
- **tridiagonal**: a sparse Jacobian. gradtape finds the pattern by itself in every step; by hand, the three diagonals are known.
- **a call**: of a compiled function that adds one to each of eight arrays, without waiting for the results.
- **2,000,000**: the sum of the square root of e to the sigmoid of tanh, and its gradient.
- **LSTM**: by `scan`; **transformer**: attention of 4 heads and a layer of 512; **CNN**: maxima over 2 × 2, one dense layer. In JAX
  they are written with `lax.scan`, `lax.conv_general_dilated` and `lax.reduce_window`, and differentiated by `jax.grad`.
- **variable**: the most memory a process takes for a variable of 256 MB while a compiled step writes it: what is above 256 MB
  is a second copy. In JAX the buffer is donated by hand.
- **memory of a Jacobian**: 2,000 by 4,000 elements with a million in between, by walks that take no more than the limit besides
  the result of 31 MB.

## How

All libraries compute in float32 on the CPU in one process, and their gradients are compared with NumPy's before anything is
timed. They run in turns, {effort.repeats} repeats of many steps each, and the best repeat counts. An import is the median of
{effort.subprocesses} fresh processes. Every library has its default number of threads.
""",
        encoding="utf-8",
    )
