"""Programs for several processes of this machine, which work together: `python -m gradtape launch`
starts them, and each prints what is looked at.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

import gradtape

BEGIN = """
import json
import os

import numpy as np

import gradtape as tf

tf.config.set_wait_for_compilation(True)
found = {}
number = int(os.environ.get("KERAS_DISTRIBUTION_PROCESS_ID", "0"))
"""


def environment(**more):
    """The environment of a program that sees this gradtape, and waits for others a minute only."""
    return {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"} | {
        "PYTHONPATH": str(Path(gradtape.__file__).parent.parent),
        "GRADTAPE_WAIT_SECONDS": "60",
        "JAX_PLATFORMS": "cpu",
        **more,
    }


def launched(processes, *arguments, timeout=240, **more):
    """What `python -m gradtape launch` does with some arguments."""
    return subprocess.run(
        [sys.executable, "-m", "gradtape", "launch", "-n", str(processes), *arguments],
        env=environment(**more),
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


def run(code, processes, devices=1, **more):
    """What the code has put into `found` in each process, as JSON has it."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")  # AutoGraph reads it
        text = f"{BEGIN}{dedent(code)}\nprint('found', json.dumps(found))\n"
        script.write_text(text)
        done = launched(processes, "--devices", str(devices), str(script), **more)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    told = {line[0]: json.loads(line[2]) for line in lines if line[1:2] == ["found"]}
    return [told[f"[{number}]"] for number in range(processes)]
