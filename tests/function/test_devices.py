"""Devices: their names, and eager code on one that is not the host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape as tf

HERE = Path(__file__).parent


def test_eager_code_on_another_device(request):
    """XLA can pretend that there are several CPUs, if it is told so before it starts."""
    options = ["--all"] if request.config.getoption("--all") else []
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(HERE / "on_a_device.py")],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(Path(tf.__file__).parent.parent)},
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20000:]


def test_the_host_is_the_default():
    """Compiled programs run on the first accelerator, if there is one."""
    v = tf.Variable(1.0)
    host = "/job:localhost/replica:0/task:0/device:CPU:0"
    assert tf.constant(1.0).device == v.device == (v * 2).device == host
    names = [device.name for device in tf.config.list_logical_devices()]
    first = next((name for name in names if not name.startswith("/device:CPU:")), "/device:CPU:0")
    assert tf.function(lambda: v * 2)().device == f"/job:localhost/replica:0/task:0{first}"


@pytest.mark.parametrize(
    "name", ["/CPU:0", "cpu:0", "/device:CPU:0", "CPU", "/cpu:*", "/job:localhost/replica:0/task:0/device:CPU:0", None, ""]
)
def test_names_of_the_host(name):
    with tf.device(name):
        assert tf.constant(1.0).device.endswith("CPU:0")


def test_names_that_are_refused():
    with pytest.raises(ValueError, match="cannot read 'nowhere at all'"), tf.device("nowhere at all"):
        pass
    with pytest.raises(RuntimeError, match="a function of ops is for graphs"), tf.device(lambda op: "/CPU:0"):
        pass
    with pytest.raises(tf.errors.InvalidArgumentError, match="there is no device '/TPU:3' here"), tf.device("/TPU:3"):
        pass


def test_functions_that_make_tensors_on_the_host_say_so():
    with pytest.raises(tf.errors.InvalidArgumentError, match="there is no device"):
        tf.numpy.zeros(2, device="/TPU:3")
