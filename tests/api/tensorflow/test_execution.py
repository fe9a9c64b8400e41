"""`tf.config`'s options of devices and of TensorFlow's runtime."""

import logging

import pytest

import gradtape as tf
from tests import many_devices

CPU = tf.config.list_physical_devices("CPU")[0]
PART = tf.config.LogicalDeviceConfiguration


def test_a_configuration_is_kept_until_it_is_taken_back():
    assert tf.config.get_logical_device_configuration(CPU) is None
    tf.config.set_logical_device_configuration(CPU, [PART()])
    try:
        assert tf.config.experimental.get_virtual_device_configuration(CPU) == [PART()]
    finally:
        tf.config.set_logical_device_configuration(CPU, None)
    assert tf.config.get_logical_device_configuration(CPU) is None


def test_a_cpu_becomes_several_devices_before_it_is_used():
    found = many_devices.run(
        """
        part = tf.config.LogicalDeviceConfiguration
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [part(), part(), part()])
        found["devices"] = [device.name for device in tf.config.list_logical_devices("CPU")]
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            v = tf.Variable(2.0)

        @tf.function
        def total(x):
            return strategy.reduce("SUM", strategy.run(lambda: v * x), axis=None)

        x = tf.constant(1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        found["eager"] = float(tape.gradient(y, x))
        found["total"] = float(total(x))
        tf.config.set_logical_device_configuration(cpu, [part(), part(), part()])  # the same again
        try:
            tf.config.set_logical_device_configuration(cpu, [part(), part()])
        except RuntimeError as error:
            found["late"] = str(error)
        found["still"] = float(total(x))
        """,
        devices=1,
    )
    assert found["devices"] == [f"/device:CPU:{i}" for i in range(3)]
    assert (found["eager"], found["total"], found["still"]) == (2.0, 6.0, 6.0)
    assert "cannot become 2 devices any more, since XLA has begun" in found["late"]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: tf.config.set_logical_device_configuration("GPU:9", [PART()]), ValueError, "GPU"),
        (lambda: tf.config.get_logical_device_configuration("GPU:9"), ValueError, "the devices"),
        (lambda: tf.config.set_logical_device_configuration(CPU, [7]), TypeError, "got 7"),
        (lambda: tf.config.set_logical_device_configuration(CPU, []), ValueError, "0 devices"),
        (
            lambda: tf.config.set_logical_device_configuration(CPU, [PART(memory_limit=1)]),
            ValueError,
            "cannot be limited",
        ),
        (lambda: tf.config.experimental.get_device_details("x"), ValueError, "no device 'x'"),
        (lambda: tf.config.experimental.set_device_policy("loud"), ValueError, "'loud'"),
        (
            lambda: tf.config.experimental.set_synchronous_execution(False),
            ValueError,
            "one op after another",
        ),
        (lambda: tf.config.optimizer.set_experimental_options({"speed": 1}), ValueError, "'speed'"),
        (lambda: tf.config.optimizer.set_jit("fast"), ValueError, "'fast'"),
    ],
)
def test_what_cannot_be_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_options_are_given_back():
    tf.config.optimizer.set_experimental_options({"remapping": False})
    assert tf.config.optimizer.get_experimental_options()["remapping"] is False
    tf.config.experimental.set_device_policy("warn")
    assert tf.config.experimental.get_device_policy() == "warn"
    tf.config.experimental.set_device_policy(None)
    assert tf.config.experimental.get_device_policy() == "silent"
    tf.config.experimental_run_functions_eagerly(True)
    assert tf.config.experimental_functions_run_eagerly()
    tf.config.experimental_run_functions_eagerly(False)


def test_asking_for_logs_of_devices_says_once_that_there_are_none(caplog):
    with caplog.at_level(logging.WARNING, "gradtape"):
        for _ in range(2):
            tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    tf.debugging.set_log_device_placement(False)
    assert caplog.text.count("tensor.device") == 1
