"""What `import gradtape` brings in, seen in a fresh Python."""

import json
import os
import subprocess
import sys
from pathlib import Path

import gradtape

HEAVY = {"jax", "jaxlib", "keras", "scipy", "tensorflow", "torch", "matplotlib"}
LATER = {"optree", "logging", "dataclasses", "concurrent", "multiprocessing", "asyncio"}


def modules_after(code):
    """The root packages that a fresh Python, in which warnings are errors, has imported after running `code`."""
    report = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    environment = os.environ | {"PYTHONPATH": str(Path(gradtape.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{code}\n{report}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return set(json.loads(done.stdout))


def test_import_brings_in_nothing_heavy():
    found = modules_after("import gradtape")
    assert {"gradtape", "numpy"} <= found
    assert not found & HEAVY
    assert not found & (LATER - modules_after("import numpy"))


def test_a_gradient_brings_in_nothing_heavy():
    code = """
import gradtape as tf
w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.nn.relu(tf.matmul(w, w) - 1.0))
assert tape.gradient(loss, w) is not None
"""
    assert not modules_after(code) & HEAVY


def test_the_check_sees_what_is_imported():
    assert "scipy" in modules_after("import scipy")
