"""The lowest and the newest allowed versions of what gradtape needs, for each Python:
`make test-versions` runs it.

Every combination gets an environment of its own below `.venv-versions`, with an editable
installation, and runs the tests that look at what a version can change: NumPy's functions, JAX's
internals, malt's converters, Keras's modules. A Python that is not found is named.

    python tools/versions.py [3.12 ...]     these versions of Python only
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv-versions"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ENDS = {"lowest": "lowest-direct", "newest": "highest"}
SHOWN = (
    "numpy",
    "scipy",
    "ml-dtypes",
    "optree",
    "safetensors",
    "jax",
    "flatbuffers",
    "google-crc32c",
    "jaxlib",
    "diastatic-malt",
    "keras",
)
TOOLS = ("pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100", "einops>=0.8", "pandas>=2.2")
TESTS = (
    "tests/core/test_tape.py", "tests/core/test_gradient.py", "tests/core/test_variable.py",
    "tests/core/test_tensor.py", "tests/test_dtypes.py", "tests/test_nest.py",
    "tests/test_import.py", "tests/ops/test_on_xla.py", "tests/api/array_api",
    "tests/api/numpy/test_ordering.py", "tests/api/numpy/test_table.py",
    "tests/api/tensorflow/checkpoint/test_checkpoint.py",
    "tests/api/tensorflow/test_scipy_functions.py", "tests/api/tensorflow/test_special.py",
    "tests/api/tensorflow/test_dlpack.py", "tests/functions/test_calls.py",
    "tests/functions/autograph/test_autograph.py",
    "tests/functions/test_gradients.py::test_second_and_third_order",
    "tests/functions/test_random.py", "tests/functions/test_tracebacks.py",
    "tests/keras/test_keras_core.py", "tests/keras/test_keras_optimizer.py",
    "tests/keras/test_keras_hook.py::test_the_environment_alone_is_enough_in_this_installation",
)  # fmt: skip
LEFT_OUT = (
    # Which functions of SciPy take other arrays is a matter of SciPy's version.
    "tests/api/array_api/test_other_libraries.py",
    # Slow, and not about versions.
    "tests/functions/autograph/test_autograph.py::test_second_order_and_forward_mode",
    "tests/functions/test_tracebacks.py::test_errors_of_python_itself_stay_what_they_are",
)


def interpreter(version: str) -> str | None:
    """A Python of that version: one that is on the path or that pyenv has;
    None if there is none.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [sys.executable, shutil.which(f"python{version}")]
    candidates += [str(folder / "bin" / "python") for folder in sorted(pyenv.glob(f"{version}.*"))]
    return next(
        (path for path in candidates if path is not None and version_of(path) == version), None
    )


def version_of(path: str) -> str | None:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return None
    # A shim of pyenv's finds nothing unless it is told what.
    return done.stdout.strip() if done.returncode == 0 else None


def prepare(python: str, version: str, end: str) -> Path:
    """The Python of an environment with the versions at one end."""
    folder = FOLDER / f"{version}-{end}"
    found = folder / "bin" / "python"
    install = ["pip", "install", "--quiet", "--python", str(found)]
    uv("venv", "--quiet", "--clear", "--python", python, str(folder))
    # From wheels alone: an old version that would have to be compiled for this Python is not one
    # that users get.
    uv(
        *install,
        "--only-binary",
        ":all:",
        "--resolution",
        ENDS[end],
        "--requirements",
        "pyproject.toml",
        "--extra",
        "xla",
        "--extra",
        "keras",
    )
    uv(*install, "--only-binary", ":all:", *TOOLS)
    uv(*install, "--no-deps", "--editable", ".")
    return found


def uv(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", *arguments], cwd=ROOT, check=True)


def versions_in(python: Path) -> str:
    code = (
        f"from importlib.metadata import version\nprint(', '.join(f'{{name}} "
        f"{{version(name)}}' "
        f"for name in {SHOWN}))"
    )
    return subprocess.run(
        [str(python), "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def passes(python: Path) -> bool:
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        os.environ.get("WORKERS", "2"),
        *TESTS,
    ]
    command += [f"--deselect={name}" for name in LEFT_OUT]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main(wanted: tuple[str, ...]) -> int:
    report, failed = [], False
    for version in wanted:
        path = interpreter(version)
        if path is None:
            report.append(
                f"Python {version}: NOT TESTED, no interpreter found (python{version} on the path, "
                "or in pyenv)"
            )
            continue
        for end in ENDS:
            started = time.monotonic()
            print(f"Python {version}, the {end} versions allowed", flush=True)
            try:
                python = prepare(path, version, end)
            except subprocess.CalledProcessError:
                report.append(f"Python {version}, {end}: FAILED to install")
                failed = True
                continue
            good = passes(python)
            failed = failed or not good
            result = "passed" if good else "FAILED"
            report.append(
                f"Python {version}, {end}: {result} in {time.monotonic() - started:.0f} s: "
                f"{versions_in(python)}"
            )
    print("\n".join(["", *report]))
    return 1 if failed or all("NOT TESTED" in line for line in report) else 0


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or PYTHONS))
