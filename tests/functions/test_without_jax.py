"""Without JAX, `function` says how to get it when it is first called, and everything else works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape


def run(code, *hidden):
    """Runs code in a Python in which some packages are not installed, and gives what it prints."""
    hiding = "import sys; " + "; ".join(
        f"sys.modules[{name!r}] = None" for name in ("jax", "jaxlib", *hidden)
    )
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            f"{hiding}\nimport gradtape as tf\nimport numpy as np\n{code}",
        ],
        env=os.environ | {"PYTHONPATH": str(Path(gradtape.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("hidden", [(), ("malt",)])
def test_a_function_says_how_to_get_it_when_it_is_first_called(hidden):
    code = """
@tf.function
def f(x):
    return x * 2

class Model:
    @tf.function(input_signature=[tf.TensorSpec([2])])
    def call(self, x):
        return x

for call in (
    lambda: f(tf.constant(1.0)),
    lambda: f(tf.constant(1.0)),
    lambda: Model().call(tf.ones([2])),
    lambda: f.get_concrete_function(1),
):
    try:
        call()
    except ImportError as error:
        print(error)
tf.config.run_functions_eagerly(True)
print(float(f(tf.constant(1.0))))
"""
    *errors, last = run(code, *hidden).splitlines()
    expected = (
        "gradtape.function and accelerators need JAX, which is not installed: pip install "
        "'gradtape[xla]'."
    )
    assert errors == [expected] * 4
    assert last == "2.0"


def test_everything_else_works():
    code = """
w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
with tf.GradientTape(persistent=True) as tape:
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y @ w)), (0, w))[1]
    y = tf.cond(tf.reduce_sum(y) > 0, lambda: y, lambda: -y) + tf.map_fn(lambda row: row * 2, w)
    loss = tf.reduce_sum(tf.nn.dropout(y, 0.5, seed=1))
    loss += tf.reduce_sum(tf.random.gamma([3], tf.abs(w)))
print(tape.gradient(loss, w).shape, tape.jacobian(y, w).shape)
print(tf.vmap(lambda row: tf.random.normal([2]) + row)(w).shape)
array = tf.TensorArray(tf.float32, size=2).write(0, 1.0).write(1, 2.0)
print(array.stack().numpy().tolist())
tf.print("printed", w, output_stream=print)
tf.debugging.assert_less(w, 5.0)
print(
    tf.py_function(lambda x: x + 1, [1.0], tf.float32).numpy(),
    tf.numpy_function(lambda x: x, [1.0], tf.float32).numpy(),
)
with tf.device("/CPU:0"):
    print((w + 1).device, tf.Variable(1.0).device)
w.assign_sub(w)
w.scatter_update(tf.IndexedSlices(tf.ones([1, 2]), [0]))
print(w.numpy().tolist(), tf.random.Generator.from_seed(1).normal([2]).shape)
print("jax" in sys.modules and sys.modules["jax"] is None)
"""
    lines = run(code).splitlines()
    assert lines[-1] == "True"
    assert lines[0] == "(2, 2) (2, 2, 2, 2)"
    assert lines[-2] == "[[1.0, 1.0], [0.0, 0.0]] (2,)"


def test_devices():
    code = """
print(tf.config.list_physical_devices(), tf.config.list_logical_devices("GPU"))
with tf.device("/GPU:0"):
    print(tf.ones([2]).device)
tf.config.set_soft_device_placement(False)
for name in ("/GPU:0", "/CPU:1"):
    try:
        with tf.device(name):
            pass
    except tf.errors.InvalidArgumentError as error:
        print(error)
try:
    tf.config.enable_compile_cache()
except ImportError as error:
    print(error)
"""
    listed, soft, gpu, cpu, cache = run(code).splitlines()
    assert soft == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert listed == "[PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')] []"
    for line, name in ((gpu, "/GPU:0"), (cpu, "/CPU:1")):
        assert line == (
            f"device: this process has no device '{name}'; its devices are ['/CPU:0']. Others need "
            "JAX, which is not installed: "
            "pip install 'gradtape[xla]'."
        )
    assert "pip install 'gradtape[xla]'" in cache
