"""Devices: their names, and eager code on one that is not the host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.core import device as device_module
from gradtape.core.thread import here
from gradtape.engines.xla import devices as xla_devices

HERE = Path(__file__).parent
pytestmark = pytest.mark.devices


def test_eager_code_on_another_device(request):
    """XLA can pretend that there are several CPUs, if it is told so before it starts."""
    options = ["--all"] if request.config.getoption("--all") else []
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            *options,
            str(HERE / "xla" / "on_a_device.py"),
        ],
        env=os.environ
        | {
            "XLA_FLAGS": flags,
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": str(Path(tf.__file__).parent.parent),
        },
        cwd=HERE.parents[1],
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
    "name",
    [
        "/CPU:0",
        "cpu:0",
        "/device:CPU:0",
        "CPU",
        "/cpu:*",
        "/job:localhost/replica:0/task:0/device:CPU:0",
        None,
        "",
    ],
)
def test_names_of_the_host(name):
    with tf.device(name):
        assert tf.constant(1.0).device.endswith("CPU:0")


def test_names_that_are_refused():
    with (
        pytest.raises(ValueError, match=r"device_name must be a name .* got 'nowhere at all'"),
        tf.device("nowhere at all"),
    ):
        pass
    with (
        pytest.raises(RuntimeError, match="device_name cannot be a function"),
        tf.device(lambda op: "/CPU:0"),
    ):
        pass
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match="this process has no device '/XPU:3'"),
        tf.device("/XPU:3"),
    ):
        pass


@pytest.fixture
def hard():
    tf.config.set_soft_device_placement(False)
    yield
    tf.config.set_soft_device_placement(True)


@pytest.mark.parametrize("name", ["/TPU:3", "/GPU:77", "/device:GPU:77", "CPU:5"])
def test_without_soft_placement_a_device_must_be_there(name, hard):
    with (
        pytest.raises(tf.errors.InvalidArgumentError, match=f"this process has no device '{name}'"),
        tf.device(name),
    ):
        pass


@pytest.mark.parametrize(
    "name", ["/TPU:4", "TPU:5", "/device:TPU:6", "/job:localhost/replica:0/task:0/device:TPU:7"]
)
def test_a_device_that_is_not_there_is_replaced_and_the_log_says_so_once(name, caplog):
    x = tf.Variable([1.0, 2.0])
    for _ in range(3):
        with tf.device(name), tf.GradientTape() as tape:
            made = tf.Variable(3.0)
            y = tf.reduce_sum(x * x) * made + tf.function(lambda: x[0])()
        assert made.device.endswith("CPU:0")
        assert y.device.endswith("CPU:0")
        assert tape.gradient(y, x).numpy().tolist() == [7.0, 12.0]
    (record,) = caplog.records
    assert record.getMessage().startswith(
        f"device: this process has no device '{name}'; its devices are ['/CPU:0'"
    )
    assert record.getMessage().endswith("Its ops run on '/CPU:0' instead.")


def test_another_of_the_same_kind_is_taken_first(monkeypatch, caplog):
    class Placed:
        def __init__(self, name):
            self.name = name

    monkeypatch.setattr(
        xla_devices, "visible", lambda: {"CPU:0": None, "TPU:0": None, "GPU:0": None, "GPU:1": None}
    )
    monkeypatch.setattr(device_module, "XlaDevice", Placed)
    assert device_module.find("/GPU:9", soft=True).name == "GPU:0"
    assert "ops run on '/GPU:0'" in caplog.text


def test_functions_that_make_tensors_on_the_host_say_so():
    with pytest.raises(tf.errors.InvalidArgumentError, match="this process has no device"):
        tf.numpy.zeros(2, device="/TPU:3")


def test_a_device_named_inside_a_block_for_any_device():
    with tf.device(None), tf.device("/CPU:0"):
        assert tf.constant(1.0).device.endswith("CPU:0")
    assert here.state.device is None
