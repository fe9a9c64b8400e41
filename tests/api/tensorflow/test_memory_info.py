"""`tf.config.experimental.get_memory_info` and its companions."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.numpy import process_memory
from gradtape.engines.xla import devices as xla_devices

experimental = tf.config.experimental
LARGE = 64 * 2**20


@pytest.mark.parametrize("name", ["CPU:0", "cpu:0", "/device:CPU:0", "/physical_device:CPU:0"])
def test_the_cpu_is_this_process(name):
    info = experimental.get_memory_info(name)
    assert info.keys() == {"current", "peak"}
    assert 2**20 < info["current"] <= info["peak"]
    assert experimental.get_memory_usage(name) > 2**20


def test_an_array_shows_and_the_peak_is_forgotten():
    before = experimental.get_memory_info("CPU:0")["current"]
    array = np.ones(LARGE, np.uint8)
    assert experimental.get_memory_info("CPU:0")["current"] > before + LARGE // 2
    del array
    peak = experimental.get_memory_info("CPU:0")["peak"]
    assert peak > before + LARGE // 2
    experimental.reset_memory_stats("CPU:0")
    if process_memory.forget_peak():  # not every container allows it
        assert experimental.get_memory_info("CPU:0")["peak"] < peak


@pytest.mark.parametrize("function", ["get_memory_info", "get_memory_usage", "reset_memory_stats"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("GPU:99", "there is no device 'GPU:99': the devices are CPU:0"),
        ("nonsense", "is not the name of a device"),
        ("CPU", "is not the name of a device"),
        ("CPU:x", 'like "GPU:0"'),
    ],
)
def test_wrong_names(function, name, message):
    with pytest.raises(ValueError, match=message):
        getattr(experimental, function)(name)


class Device:
    """A GPU, as JAX describes one."""

    def __init__(self, stats):
        self._stats = stats

    def memory_stats(self):
        return self._stats


@pytest.fixture
def gpu(monkeypatch):
    def make(stats):
        known = {"CPU:0": None, "GPU:0": Device(stats)}
        monkeypatch.setattr(xla_devices, "devices", lambda: known)

    return make


def test_an_accelerator_says_what_xla_says(gpu):
    gpu({"bytes_in_use": 300, "peak_bytes_in_use": 700, "bytes_limit": 10**9})
    assert experimental.get_memory_info("GPU:0") == {"current": 300, "peak": 700}
    assert experimental.get_memory_usage("/device:GPU:0") == 300


def test_an_accelerator_that_says_nothing(gpu):
    gpu(None)
    with pytest.raises(ValueError, match="GPU:0 does not say"):
        experimental.get_memory_info("GPU:0")


def test_the_peak_of_an_accelerator_stays(gpu, caplog):
    gpu({"bytes_in_use": 300, "peak_bytes_in_use": 700})
    experimental.reset_memory_stats("GPU:0")
    assert "the peak of GPU:0 stays" in caplog.text
    assert experimental.get_memory_info("GPU:0")["peak"] == 700


def test_without_proc(monkeypatch):
    """Other systems know the peak alone."""
    monkeypatch.setattr("builtins.open", _missing)
    info = process_memory.info()
    assert info["current"] == info["peak"] > 2**20
    assert not process_memory.forget_peak()


def _missing(*args, **kwargs):
    raise FileNotFoundError
