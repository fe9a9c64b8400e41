"""Runs Keras's own tests, from the installed wheel, on gradtape, and compares with Keras's JAX
backend: `make test-keras`.

    python tools/keras_suite/suite.py                     all groups on gradtape; fails if a test
                                                          that passes on JAX fails and is not
                                                          excluded
    python tools/keras_suite/suite.py losses optimizers   some groups
    python tools/keras_suite/suite.py --backend jax       the same tests on JAX; writes which of
                                                          them do not pass there
    python tools/keras_suite/suite.py --table             the last results as the table in
                                                          docs/keras.md

What does not pass on JAX in the same environment is in jax_not_passed.txt, and is not asked of
gradtape; excluded_tests.txt has what passes there and not here, with the reason. What is not there
to be counted counts as failed: every test that passes on JAX in a file that cannot be collected
here, such a file itself, and a group whose run ends without a report.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS = ROOT / "out" / "keras"
NOT_PASSED_ON_JAX = HERE / "jax_not_passed.txt"

GROUPS = {
    "activations": ["activations"],
    "backend/common": ["backend/common", "backend/tests"],
    "callbacks": ["callbacks"],
    "constraints": ["constraints"],
    "distribution": ["distribution"],
    "initializers": ["initializers"],
    "layers/activations": ["layers/activations"],
    "layers/attention": ["layers/attention"],
    "layers/convolutional": ["layers/convolutional"],
    "layers/core": ["layers/core", "layers/layer_test.py"],
    "layers/merging": ["layers/merging"],
    "layers/normalization": ["layers/normalization"],
    "layers/pooling": ["layers/pooling"],
    "layers/preprocessing": ["layers/preprocessing"],
    "layers/regularization": ["layers/regularization"],
    "layers/reshaping": ["layers/reshaping"],
    "layers/rnn": ["layers/rnn"],
    "losses": ["losses"],
    "metrics": ["metrics"],
    "models": ["models"],
    "ops/others": [f"ops/{name}_test.py" for name in (
        "core", "einops", "function", "image", "linalg", "math", "nn", "node", "operation",
        "operation_utils", "ops", "symbolic_arguments",
    )],
    "ops/numpy": ["ops/numpy_test.py"],
    "optimizers": ["optimizers"],
    "random": ["random"],
    "regularizers": ["regularizers"],
    "saving": ["saving"],
    "trainers": ["trainers"],
    "utils": ["utils"],
}  # fmt: skip
"""The folders and files of keras/src, by the name that a group has in the table."""

REQUIRED = 0.985


def run(group, backend):
    """Runs a group's tests: the outcome of each by its name."""
    sources = keras_sources()
    paths = [str(sources / path) for path in GROUPS[group]]
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        return {f"{NOT_COLLECTED}{path}": "failed" for path in missing}
    RESULTS.mkdir(parents=True, exist_ok=True)
    report = RESULTS / f"{group.replace('/', '-')}.{backend}.xml"
    report.unlink(missing_ok=True)
    workers = (
        ["-n", os.environ["WORKERS"], "--dist", "loadfile"] if os.environ.get("WORKERS") else []
    )
    done = pytest(
        backend, f"--junitxml={report}", "--continue-on-collection-errors", *workers, *paths
    )
    report.with_suffix(".txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    found = outcomes(report) if report.exists() else {}
    if done.returncode not in (0, 1):  # pytest has not come to its end
        found[f"{NOT_COLLECTED}{group} (pytest ended with {done.returncode})"] = "failed"
    return with_uncollected(found, sources) if backend == "gradtape" else found


NOT_COLLECTED = "not collected: "


def keras_sources():
    return Path(importlib.util.find_spec("keras").origin).parent / "src"


def pytest(backend, *arguments):
    """Runs pytest on a backend, in a folder that is nobody's home."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "KERAS_BACKEND": backend,
            "KERAS_HOME": home,
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(HERE))),
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-c",
            str(HERE / "suite.ini"),
            "--rootdir",
            str(keras_sources()),
        ]
        command += [
            "-p",
            "plugin",
            "--noconftest",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:doctest",
            *arguments,
        ]
        return subprocess.run(
            command, env=environment, cwd=home, capture_output=True, text=True, check=False
        )


def with_uncollected(found, sources):
    """The outcomes, and the tests that JAX has in files that were not collected here:
    these have failed.
    """
    files = [name for name in found if name.startswith(NOT_COLLECTED) and name.endswith("_test")]
    if not files:
        return found
    paths = [
        str(sources / (name.removeprefix(NOT_COLLECTED).replace(".", "/") + ".py"))
        for name in files
    ]
    listed = pytest("jax", "--collect-only", "--continue-on-collection-errors", *paths).stdout
    return found | dict.fromkeys(names_of(listed), "failed")


def names_of(listed):
    """The names, as in reports, of the tests that `pytest --collect-only -q` has listed."""
    found = []
    for line in listed.splitlines():
        path, colons, test = line.partition("_test.py::")
        if colons:
            name, bracket, parameters = test.partition("[")
            found.append(
                (
                    f"{path.replace('/', '.')}_test.{name.replace('::', '.')}{bracket}{parameters}"
                ).removeprefix("keras.src.")
            )
    return found


def outcomes(report):
    """What became of each test in a report of pytest's: passed, failed or skipped."""
    found = {}
    for case in ET.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = (
            "failed"
            if kinds & {"failure", "error"}
            else "skipped"
            if "skipped" in kinds
            else "passed"
        )
        part_of = case.get("classname")
        name = f"{part_of}.{case.get('name')}" if part_of else f"{NOT_COLLECTED}{case.get('name')}"
        name = name.removeprefix("keras.src.")
        # A test and its tear-down have one name.
        found[name] = outcome if found.get(name) in (None, outcome) else "failed"
    return found


def saved(group, backend):
    path = RESULTS / f"{backend}.json"
    return json.loads(path.read_text(encoding="utf-8")).get(group, {}) if path.exists() else {}


def save(group, backend, found):
    path = RESULTS / f"{backend}.json"
    everything = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    everything[group] = found
    path.write_text(json.dumps(everything, indent=0), encoding="utf-8")


def not_passed_on_jax():
    lines = (
        NOT_PASSED_ON_JAX.read_text(encoding="utf-8").splitlines()
        if NOT_PASSED_ON_JAX.exists()
        else []
    )
    return {line for line in lines if line and not line.startswith("#")}


def belongs(test, group):
    """Whether a test is of a group."""
    return any(
        test.startswith(f"{path.removesuffix('.py').replace('/', '.')}.") for path in GROUPS[group]
    )


def compared(found, jax):
    """Of the tests that pass on JAX: those that pass here, those that are left out,
    those that fail.
    """
    asked = {
        name: outcome
        for name, outcome in found.items()
        if name not in jax or name.startswith(NOT_COLLECTED)
    }
    return {
        kind: sorted(name for name, outcome in asked.items() if outcome == kind)
        for kind in ("passed", "skipped", "failed")
    }


def table(groups):
    jax = not_passed_on_jax()
    lines = [
        "| Keras's tests | pass on JAX | of these pass on gradtape | left out | share |",
        "|---|---:|---:|---:|---:|",
    ]
    total = [0, 0, 0]
    for group in groups:
        found = compared(saved(group, "gradtape"), jax)
        passed, skipped, failed = (len(found[kind]) for kind in ("passed", "skipped", "failed"))
        asked = passed + skipped + failed
        if asked:
            lines.append(
                f"| {group} | {asked:,} | {passed:,} | {skipped + failed:,} | "
                f"{passed / asked:.1%} |"
            )
            total = [a + b for a, b in zip(total, (asked, passed, skipped + failed), strict=True)]
    lines.append(
        f"| all | {total[0]:,} | {total[1]:,} | {total[2]:,} | {total[1] / max(total[0], 1):.2%} |"
    )
    return "\n".join(lines), total[1] / max(total[0], 1)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("groups", nargs="*", help="names of groups; all if none is given")
    parser.add_argument("--backend", default="gradtape", choices=("gradtape", "jax"))
    parser.add_argument(
        "--table", action="store_true", help="only print the table of the last results"
    )
    given = parser.parse_args()
    unknown = set(given.groups) - set(GROUPS)
    if unknown:
        parser.error(
            f"no group is called {', '.join(sorted(unknown))}: the groups are {'; '.join(GROUPS)}"
        )
    groups = given.groups or list(GROUPS)
    if given.table:
        print(table(groups)[0])
        return 0
    failed = []
    for group in groups:
        began = time.monotonic()
        found = run(group, given.backend)
        save(group, given.backend, found)
        counts = {
            kind: sum(outcome == kind for outcome in found.values())
            for kind in ("passed", "failed", "skipped")
        }
        print(f"{group}: {counts}, {time.monotonic() - began:.0f} s", flush=True)
        if given.backend == "gradtape":
            failed += compared(found, not_passed_on_jax())["failed"]
    if given.backend == "jax":
        lines = {
            name
            for name in not_passed_on_jax()
            if not any(belongs(name, group) for group in groups)
        }
        lines |= {
            name
            for group in groups
            for name, outcome in saved(group, "jax").items()
            if outcome != "passed"
        }
        head = (
            "# Keras's tests that do not pass on Keras's JAX backend, written by `python "
            "tools/keras_suite/suite.py --backend jax`.\n"
        )
        tests = sorted(line for line in lines if not line.startswith(NOT_COLLECTED))
        NOT_PASSED_ON_JAX.write_text(
            head + "".join(f"{line}\n" for line in tests), encoding="utf-8"
        )
        print("".join(f"{line}\n" for line in sorted(lines - set(tests))), end="")
        return 1 if lines - set(tests) else 0
    text, share = table(groups)
    print(f"\n{text}")
    for name in failed:
        print(f"failed: {name}")
    return 1 if failed or share < REQUIRED else 0


if __name__ == "__main__":
    sys.exit(main())
