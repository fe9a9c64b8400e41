"""Libraries that were not written for gradtape: einops and SciPy,
called with Tensors and differentiated.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import einops
import einops.array_api
import numpy as np
import pytest

import gradtape as tf
import gradtape.experimental.einops

X = np.random.default_rng(0).normal(size=(2, 3, 4))

EINOPS = {
    "rearrange": lambda e, x: e.rearrange(x, "a b c -> (a c) b") ** 2,
    "split an axis": lambda e, x: e.rearrange(x, "a b (c d) -> d a b c", d=2) ** 3,
    "a list": lambda e, x: e.rearrange([x[0], x[1]], "n b c -> b (n c)") ** 2,
    "reduce by mean": lambda e, x: e.reduce(x, "a b c -> b c", "mean") ** 2,
    "reduce by sum": lambda e, x: e.reduce(x, "a b c -> ()", "sum") ** 2,
    "reduce by max": lambda e, x: e.reduce(x, "a b (c d) -> a b c", "max", d=2) ** 2,
    "reduce by min": lambda e, x: e.reduce(x, "a b c -> a c", "min") ** 2,
    "reduce by prod": lambda e, x: e.reduce(x, "a b c -> a", "prod"),
    "repeat": lambda e, x: e.repeat(x, "a b c -> a (b r) c", r=2) ** 2,
    "repeat a new axis": lambda e, x: e.repeat(x[0], "b c -> b r c", r=3) ** 2,
    "pack and unpack": lambda e, x: e.unpack(e.pack([x, x * x], "a * c")[0], [(3,), (3,)], "a * c")[
        1
    ],
}


def derivative_agrees(function, value):
    """The gradient on a strict tape against a central difference, and the value against NumPy's."""
    rng = np.random.default_rng(1)
    step, h = rng.normal(size=value.shape), 1e-6
    variable = tf.Variable(value)
    with tf.GradientTape(strict=True) as tape:
        result = function(variable)
        total = tf.reduce_sum(result)
    assert isinstance(result, tf.Tensor)
    along = np.sum(tape.gradient(total, variable).numpy() * step)
    ends = [float(tf.reduce_sum(function(tf.constant(value + s * h * step)))) for s in (1, -1)]
    np.testing.assert_allclose(along, (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-7)
    return result.numpy()


@pytest.mark.parametrize("name", EINOPS)
def test_einops(name):
    found = derivative_agrees(lambda x: EINOPS[name](einops, x), X)
    np.testing.assert_allclose(found, EINOPS[name](einops, X))


@pytest.mark.parametrize("name", EINOPS)
def test_einops_through_the_standard(name):
    found = derivative_agrees(lambda x: EINOPS[name](einops.array_api, x), X)
    np.testing.assert_allclose(found, EINOPS[name](einops, X))


def test_einops_einsum():
    found = derivative_agrees(lambda x: einops.einsum(x, x, "a b c, a d c -> b d"), X)
    np.testing.assert_allclose(found, np.einsum("abc,adc->bd", X, X))


def test_einops_knows_shapes_and_values():
    x = tf.constant(X)
    assert einops.parse_shape(x, "a b _") == {"a": 2, "b": 3}
    np.testing.assert_array_equal(einops.asnumpy(x), X)
    assert bool(einops.reduce(x > 0, "a b c -> ", "any"))
    with pytest.raises(einops.EinopsError, match="Shape mismatch"):
        einops.rearrange(x, "(a b) c d -> a b c d", a=3)


def test_einops_is_left_alone_until_it_is_asked_for():
    code = "import sys, gradtape; assert 'einops' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], env=_environment(), check=True)


def test_scipy():
    """Every function gives a Tensor and the right gradient, without leaving the tape."""
    script = Path(__file__).with_name("scipy_functions.py")
    done = subprocess.run(
        [sys.executable, script], env=_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) >= 16
    assert {name: kind for name, (kind, _) in found.items() if kind != "Tensor"} == {}
    assert {name: error for name, (_, error) in found.items() if not error < 1e-6} == {}


def _environment():
    source = str(Path(tf.__file__).parent.parent)
    return os.environ | {"PYTHONPATH": source, "SCIPY_ARRAY_API": "1", "OPENBLAS_NUM_THREADS": "1"}
