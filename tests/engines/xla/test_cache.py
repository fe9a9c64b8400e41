"""Programs that one process has compiled are there for the next."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape as tf

PROGRAM = """
import json, sys
import jax, numpy as np
import gradtape as tf

seen = []
jax.monitoring.register_event_listener(lambda name, **_: seen.append(name))
directory = tf.config.enable_compile_cache(*sys.argv[1:])
tf.config.set_wait_for_compilation(True)  # beside the calls, what is compiled depends on the time
w = tf.Variable(np.eye(3, dtype=np.float32))

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.tanh(x @ w) + tf.random.normal([2, 3], seed=1))
    gradient = tape.gradient(loss, w)
    w.assign_sub(0.1 * gradient)
    return tf.reduce_sum(gradient)

found = [float(step(tf.ones([2, 3]))) for _ in range(2)]
count = lambda name: sum(event == f"/jax/compilation_cache/{name}" for event in seen)
counts = {"hits": count("cache_hits"), "misses": count("cache_misses")}
print(json.dumps({"found": found, **counts, "directory": directory}))
"""


def run(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(Path(tf.__file__).parent.parent)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_second_process_compiles_nothing(tmp_path):
    first, second = (run(tmp_path / "programs") for _ in range(2))
    assert first["misses"] > 0
    assert second["misses"] == 0
    assert second["hits"] == first["misses"] + first["hits"]
    assert second["found"] == first["found"]
    assert len(list((tmp_path / "programs").iterdir())) >= first["misses"]


def test_the_directory_for_caches_is_the_default(tmp_path):
    assert run(XDG_CACHE_HOME=str(tmp_path))["directory"] == str(tmp_path / "gradtape" / "xla")


@pytest.mark.waits
def test_it_ends_and_leaves_the_settings_as_they_were(tmp_path):
    jax = pytest.importorskip("jax")
    names = (
        "jax_compilation_cache_dir",
        "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_min_entry_size_bytes",
    )
    before = [getattr(jax.config, name) for name in names]
    tf.config.enable_compile_cache(tmp_path)
    tf.function(lambda x: x * 17.0)(tf.constant(1.0))
    kept = len(list(tmp_path.iterdir()))
    assert kept
    tf.config.disable_compile_cache()
    assert [getattr(jax.config, name) for name in names] == before
    tf.function(lambda x: x * 19.0)(tf.constant(1.0))
    assert len(list(tmp_path.iterdir())) == kept
    tf.config.disable_compile_cache()
