"""Keras on TensorFlow and Keras on gradtape: the same programs, each in a Python of its own, give the same numbers and dtypes."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gradtape

HERE = Path(__file__).parent
SOURCES = str(Path(gradtape.__file__).parent.parent)


@cache
def printed(program, backend):
    """What a program of this folder prints with one of Keras's backends, as JSON."""
    done = subprocess.run(
        [sys.executable, str(HERE / program)],
        env=os.environ | {"KERAS_BACKEND": backend, "PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def cases(program):
    ours, theirs = printed(program, "gradtape"), printed(program, "tensorflow")
    assert ours.keys() == theirs.keys()
    return [(name, ours[name], theirs[name]) for name in theirs]


@pytest.mark.filterwarnings("ignore")  # what TensorFlow warns of on its own account
def test_crossentropies_are_computed_from_the_logits_where_keras_on_tensorflow_does():
    found = cases("keras_losses.py")
    assert len(found) > 600
    wrong = [
        f"{name}: {ours} instead of {theirs}"
        for name, ours, theirs in found
        if not all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(ours, theirs, strict=True))
    ]
    assert not wrong, "\n".join(wrong[:20])
