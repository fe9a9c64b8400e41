"""Programs for several devices, which XLA makes of the CPU if it is told so before it starts: they
run in a Python of their own, and print what is looked at.
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

import numpy as np

import gradtape as tf

tf.config.set_wait_for_compilation(True)  # what XLA has is looked at
found = {}
"""

COMPILED = """
import logging

import jax

compiled = []


class Listener(logging.Handler):
    def emit(self, record):
        message = record.getMessage()
        if message.startswith("Finished XLA compilation") and "_traced" in message:
            compiled.append(message)


jax.config.update("jax_log_compiles", True)
for name in ("jax._src.dispatch", "jax._src.interpreters.pxla"):
    logger = logging.getLogger(name)
    logger.addHandler(Listener())
    logger.propagate = False
"""
"""Lists, in `compiled`, the programs of functions that XLA compiles from then on."""


def run(code, devices=8, timeout=300):
    """What the code has put into `found`, as JSON has it."""
    environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"} | {
        "PYTHONPATH": str(Path(gradtape.__file__).parent.parent),
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "JAX_PLATFORMS": "cpu",
    }
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")  # AutoGraph reads it
        script.write_text(BEGIN + dedent(code) + "\nprint(json.dumps(found))\n")
        done = subprocess.run(
            [sys.executable, "-W", "error", str(script)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
