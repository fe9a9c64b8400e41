"""Runs libraries' own tests on gradtape: `make test-libraries`.

    python tools/libraries/suite.py               all libraries
    python tools/libraries/suite.py trfl gpflow   some of them

Which tests fail is written to out/libraries; the numbers of docs/libraries.md are copied by hand.

Each library is as the registry has it, in an environment without TensorFlow, and `tensorflow` means
gradtape by `python -m gradtape`. Its tests are those in its wheel.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS = ROOT / "out" / "libraries"


class Library(NamedTuple):
    """A library: its name in the registry, and where its tests are."""

    distribution: str
    tests: tuple[str, ...]  # patterns, relative to the folder that packages are in


LIBRARIES = {
    "trfl": Library("trfl", ("trfl/*_test.py",)),
    "sonnet": Library("dm-sonnet", ("sonnet/src/*_test.py", "sonnet/src/nets/*_test.py")),
    "gpflow": Library("gpflow", ("tests/gpflow",)),
}


def site_packages() -> Path:
    """The folder that the libraries are installed in."""
    spec = importlib.util.find_spec("trfl")
    if spec is None or spec.origin is None:
        sys.exit("The libraries are not installed here: run `make test-libraries`.")
    return Path(spec.origin).parents[1]


def run(name: str, workers: str) -> dict[str, object]:
    """Runs one library's tests; how many there were, and how many passed."""
    library = LIBRARIES[name]
    folder = site_packages()
    files = [str(path) for pattern in library.tests for path in sorted(folder.glob(pattern))]
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        command = [
            *(sys.executable, "-W", "ignore", "-m", "gradtape", "-m", "pytest", "-q", "--tb=line"),
            *("-c", str(HERE / "suite.ini"), "--rootdir", str(folder), "-n", workers),
            *("--import-mode=importlib", "-k", "not test_session"),
            *("--continue-on-collection-errors", f"--junitxml={report}", *files),
        ]
        environment = {**os.environ, "KERAS_BACKEND": "gradtape", "DDE_BACKEND": "tensorflow"}
        subprocess.run(command, cwd=temporary, env=environment, check=False)
        if not report.exists():
            sys.exit(f"{name}: the run ended without a report.")
        cases = list(ET.parse(report).iter("testcase"))
    skipped = [case for case in cases if case.find("skipped") is not None]
    wrong = [
        case for case in cases if case.find("failure") is not None or case.find("error") is not None
    ]
    found = {
        "version": metadata.version(library.distribution),
        "tests": len(cases) - len(skipped),
        "passed": len(cases) - len(skipped) - len(wrong),
        "failed": sorted(f"{case.get('classname')}::{case.get('name')}" for case in wrong),
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def main() -> None:
    """Runs what is asked for, and says how it went."""
    parser = argparse.ArgumentParser()
    parser.add_argument("libraries", nargs="*", choices=[*LIBRARIES, []])
    arguments = parser.parse_args()
    for name in arguments.libraries or LIBRARIES:
        found = run(name, os.environ.get("WORKERS", "2"))
        print(f"{name} {found['version']}: {found['passed']} of {found['tests']} tests pass")


if __name__ == "__main__":
    main()
