"""Keras on TensorFlow and Keras on gradtape: the same programs, each in a Python of its own, give
the same numbers and dtypes.
"""

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
        if not all(
            np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(ours, theirs, strict=True)
        )
    ]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.filterwarnings("ignore")
def test_layers_for_text_give_what_they_give_on_tensorflow():
    found = cases("keras_text.py")
    assert len(found) > 500
    assert sum(theirs == "raises" for _, _, theirs in found) < 80
    wrong = [
        f"{name}: {ours} instead of {theirs}"
        for name, ours, theirs in found
        if not same(ours, theirs)
    ]
    assert not wrong, "\n".join(wrong[:20])


def same(ours, theirs):
    """Whether plain results are the same; floats to rounding."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, float):
        return isinstance(ours, float) and np.isclose(ours, theirs, rtol=1e-5, atol=1e-6)
    return ours == theirs


OTHERWISE = {
    "ops.corrcoef(x; 2)": "takes matrices alone",
    "ops.sparsemax": "sums to 1 here",
    "activations.sparsemax": "sums to 1 here",
    "ops.cbrt": (
        "float32 stays float32 here: TensorFlow's backend widens it in these two functions alone"
    ),
    "ops.i0": "float32 stays float32 here",
    "ops.max_pool": "float64 stays float64 here, and integers integers",
    "ops.rfft": "float64 stays float64 here",
}
"""Functions that differ from Keras on TensorFlow, and how."""


@pytest.mark.filterwarnings("ignore")
def test_float64_stays_float64_where_keras_on_tensorflow_keeps_it():
    found = [
        case
        for case in cases("keras_dtypes.py")
        if case[2] != "raises" and not any(f" {name}" in case[0] for name in OTHERWISE)
    ]
    assert len(found) > 4000
    wrong = [
        f"{name}: {line}"
        for name, ours, theirs in found
        for line in differences(name.startswith("float64"), ours, theirs)
    ]
    assert not wrong, "\n".join(wrong[:30])


def differences(wide, ours, theirs):
    """Lines that say what is wrong with the results of a case; with `wide`, floatx is float64, and
    more may be float64 than there.
    """
    if ours == "raises":
        yield "raises"
    elif theirs and len(ours) != len(theirs):
        yield f"{len(ours)} results instead of {len(theirs)}"
    else:
        for (dtype, values), (wanted, expected) in zip(ours, theirs, strict=False):
            exact = dtype == wanted == "float64" and not fits_in_32_bits(expected or 0)
            if dtype != wanted and not (wide and dtype in ("float64", "complex128")):
                yield f"{dtype} instead of {wanted}"
            elif values is not None and not np.allclose(
                values, expected, rtol=1e-5, atol=1e-5, equal_nan=True
            ):
                yield f"{values[:5]} instead of {expected[:5]}"
            elif (
                exact
                and values
                and fits_in_32_bits(values)
                and not np.allclose(values, expected, rtol=1e-8, atol=1e-8, equal_nan=True)
            ):
                yield f"has been computed in float32: {values[:5]} instead of {expected[:5]}"


def fits_in_32_bits(values):
    return np.array_equal(np.float32(values), values, equal_nan=True)
