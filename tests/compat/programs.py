"""Runs Python in a process of its own, where `tensorflow` may mean gradtape."""

import os
import subprocess
import sys
from pathlib import Path

import gradtape


def python(*arguments, folder=None, given=None, **environment):
    """A finished process: its output and exit code; `given` is its standard input."""
    own = {
        "PYTHONPATH": str(Path(gradtape.__file__).parents[1]),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONWARNINGS": "default",
    }
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **own, **environment},
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def printed(code, **environment):
    """What code prints after `install_as_tensorflow()`."""
    done = python("-c", f"import gradtape; gradtape.install_as_tensorflow()\n{code}", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
