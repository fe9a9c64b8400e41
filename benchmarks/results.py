"""The results of a run: what `make bench` measures,
writes to results.json and makes its page of.
"""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.libraries import Contender

HERE = Path(__file__).parent
PATH = HERE / "results.json"

Figures = dict[str, dict[str, float]]  # by workload, then by contender


@dataclass
class Results:
    """Seconds and bytes.

    Imports and sizes are by package; the profile has the µs of each part, as (part, µs) pairs.
    """

    quick: bool
    machine: str
    load_before: float
    versions: dict[str, str]
    steps: Figures = field(default_factory=dict)
    first_calls: Figures = field(default_factory=dict)
    memory: Figures = field(default_factory=dict)
    imports: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    profile: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    tables: dict[str, Figures] = field(default_factory=dict)  # of the sections, by their names
    load_after: float = 0.0
    seconds: float = 0.0

    def figures(self, measure: str) -> Figures:
        """What is called so among the figures of steps and of the sections' tables."""
        return self.tables[measure] if measure in self.tables else getattr(self, measure, {})

    def write(self, path: Path = PATH) -> None:
        path.write_text(
            json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )

    @classmethod
    def read(cls, path: Path = PATH) -> "Results":
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def machine() -> str:
    """The processor and the number of cores this process may use, without the machine's name."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores, {platform.system()}"


def load() -> float:
    """How many processes have wanted a core in the last minute:
    well below 1 on a machine whose figures can be trusted.
    """
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def versions(contenders: Sequence[Contender]) -> dict[str, str]:
    return {"Python": platform.python_version()} | {
        contender.package: contender.version for contender in contenders
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
