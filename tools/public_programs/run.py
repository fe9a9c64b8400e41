"""Runs public programs that train with tapes, unchanged, by `python -m gradtape`.

    python tools/public_programs/run.py CHECKOUTS [--only TEXT] [--tensorflow PYTHON]

CHECKOUTS has the repositories of `programs.toml`, each checked out at its commit in a folder
named `owner+name`. Each program runs in a copy of its folder, so that what it writes is thrown
away, with a limit of time. With `--tensorflow`, the Python of an environment that has TensorFlow,
the programs run there too, and the numbers that both print are compared.

The outcomes: `ran`, `still running` at the limit without an error, or `stopped`, with the error.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src"
sys.path.insert(0, str(HERE))

from stand_ins import write_stand_ins  # noqa: E402 - it lies beside this file

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?")
_ERROR = re.compile(r"^(?:\w+\.)*\w+(?:Error|Exception|Exit)\b.*", re.MULTILINE)
_TIMES = re.compile(r"\d+\.?\d*\s*(?:s|sec|secs|seconds|ms|us|µs)(?:/\w+)?\b")


def programs_of(path: Path, only: str) -> list[dict]:
    with path.open("rb") as file:
        programs = tomllib.load(file)["program"]
    return [p for p in programs if only in f"{p['repository']}/{p['path']}"]


def folder_of(program: dict) -> str:
    """The folder that is copied, and in which the program runs."""
    return program.get("folder", str(Path(program["path"]).parent))


def environment_for(stand_ins: Path, packages: str, *, with_gradtape: bool) -> dict[str, str]:
    paths = [str(HERE / "child")] + ([str(SOURCES)] if with_gradtape else [])
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PUBLIC_PROGRAMS_STAND_INS": str(stand_ins),
        "PUBLIC_PROGRAMS_PACKAGES": packages,
        "MPLBACKEND": "Agg",
        "OPENBLAS_NUM_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONUNBUFFERED": "1",
    }


def run(command: list[str], folder: Path, environment: dict[str, str], limit: float) -> dict:
    """Runs a command in a process group of its own, which ends with it."""
    started = time.perf_counter()
    with (
        tempfile.TemporaryFile("w+", errors="replace") as out,
        tempfile.TemporaryFile("w+", errors="replace") as err,
    ):
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            process.wait(limit)
            outcome = "ran" if process.returncode == 0 else "stopped"
        except subprocess.TimeoutExpired:
            outcome = "still running"
        finally:
            with contextlib.suppress(ProcessLookupError):  # what the program left behind
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        err.seek(0)
        text, errors = out.read(), err.read()
    found = _ERROR.findall(errors)
    why = found[-1] if outcome == "stopped" and found else ""
    seconds = round(time.perf_counter() - started, 1)
    return {"outcome": outcome, "why": why, "seconds": seconds, "output": text, "errors": errors}


def run_program(program, checkouts, python, environment, limit, *, with_gradtape) -> dict:
    repository = checkouts / program["repository"].replace("/", "+")
    folder = folder_of(program)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "program"
        shutil.copytree(repository / folder, copy)
        for made in program.get("makes", []):  # folders that the program takes to be there
            (copy / made).mkdir(parents=True, exist_ok=True)
        path_of_program = environment["PYTHONPATH"] + os.pathsep + str(copy)
        environment = environment | {"PYTHONPATH": path_of_program}
        path = str(Path(program["path"]).relative_to(folder))
        start = [python, "-m", "gradtape"] if with_gradtape else [python]
        if program["path"].endswith(".ipynb"):
            report = Path(scratch) / "cells.json"
            command = [*start, str(HERE / "notebook.py"), path, str(report)]
        else:
            command = [*start, path, *program.get("arguments", [])]
        result = run(command, copy, environment, limit)
        if program["path"].endswith(".ipynb") and report.exists():
            result["cells"] = json.loads(report.read_text(encoding="utf-8"))
        return result


def numbers_in(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(_TIMES.sub("", text))]


def comparison(ours: str, theirs: str) -> str:
    """How many of the printed numbers agree to four digits, in their order."""
    a, b = numbers_in(ours), numbers_in(theirs)
    pairs = list(zip(a, b, strict=False))
    equal = sum(abs(x - y) <= 2e-4 * max(1.0, abs(x), abs(y)) for x, y in pairs)
    return f"{equal} of {max(len(a), len(b))} numbers equal"


def cells_in_words(cells: list[dict]) -> str:
    stopped = [cell for cell in cells if cell["error"]]
    return f"{len(cells) - len(stopped)} of {len(cells)} cells"


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs public programs by python -m gradtape.")
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--list", type=Path, default=HERE / "programs.toml")
    parser.add_argument("--only", default="", help="programs whose path has this text")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each program")
    parser.add_argument("--tensorflow", help="a Python that has TensorFlow, to compare with")
    parser.add_argument("--packages", default="", help="folders of further packages")
    parser.add_argument("--results", type=Path, default=Path("public_programs.csv"))
    parser.add_argument("--outputs", type=Path, help="a folder for what the programs print")
    options = parser.parse_args()
    checkouts = options.checkouts.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        stand_ins = Path(scratch) / "stand_ins"
        write_stand_ins(stand_ins)
        ours = environment_for(stand_ins, options.packages, with_gradtape=True)
        theirs = environment_for(stand_ins, options.packages, with_gradtape=False)
        rows = []
        for program in programs_of(options.list, options.only):
            name = f"{program['repository']}/{program['path']}"
            result = run_program(
                program, checkouts, sys.executable, ours, options.limit, with_gradtape=True
            )
            row = {"program": name} | {k: result[k] for k in ("outcome", "seconds", "why")}
            row["cells"] = cells_in_words(result["cells"]) if "cells" in result else ""
            if options.tensorflow:
                other = run_program(
                    program, checkouts, options.tensorflow, theirs, options.limit,
                    with_gradtape=False,
                )  # fmt: skip
                row["tensorflow"] = f"{other['outcome']} {other['why']}".strip()
                row["tensorflow_seconds"] = other["seconds"]
                row["compared"] = comparison(result["output"], other["output"])
                if "cells" in other:
                    row["tensorflow_cells"] = cells_in_words(other["cells"])
            rows.append(row)
            print(*[f"{value}" for value in row.values() if value != ""], sep=" | ", flush=True)
            if options.outputs:
                options.outputs.mkdir(parents=True, exist_ok=True)
                stem = options.outputs / re.sub(r"\W+", "_", name)
                Path(f"{stem}.txt").write_text(
                    result["output"] + result["errors"], encoding="utf-8"
                )
                if options.tensorflow:
                    Path(f"{stem}.tf.txt").write_text(other["output"], encoding="utf-8")
                    if "cells" in other:
                        Path(f"{stem}.tf.json").write_text(json.dumps(other["cells"], indent=1))
                if "cells" in result:
                    Path(f"{stem}.json").write_text(json.dumps(result["cells"], indent=1))
    columns = dict.fromkeys(key for row in rows for key in row)
    with options.results.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns))
        writer.writeheader()
        writer.writerows(rows)
    counts = {o: sum(r["outcome"] == o for r in rows) for o in ("ran", "still running", "stopped")}
    print(f"{len(rows)} programs: " + ", ".join(f"{n} {o}" for o, n in counts.items()))


if __name__ == "__main__":
    main()
