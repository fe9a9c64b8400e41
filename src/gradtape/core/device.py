"""`device`: where eager code runs. The NumPy engine has one device, the CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gradtape.errors import invalid_argument

_SPEC = r"(?:/job:\w+)?(?:/replica:\d+)?(?:/task:\d+)?/?(?:device:)?(?P<kind>[A-Za-z_]+)(?::(?P<index>\d+|\*))?"


@contextmanager
def device(device_name: Any) -> Iterator[None]:
    """Runs the ops of a block on a device, named as in TensorFlow.

    >>> import gradtape as tf
    >>> with tf.device("/CPU:0"):
    ...     x = tf.constant(1.0)
    >>> x.device
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    check_device(device_name)
    yield


def check_device(device_name: Any) -> None:
    """Refuses a name that is no device's, and a device that is not there."""
    if device_name is None or device_name == "":
        return
    if callable(device_name):
        raise RuntimeError("device: a function of ops is for graphs; pass a device name such as '/CPU:0'.")
    match = re.fullmatch(_SPEC, str(device_name), re.IGNORECASE)
    if match is None:
        raise ValueError(f"device: cannot read {device_name!r}; pass a name such as '/CPU:0'.")
    if match["kind"].upper() != "CPU" or match["index"] not in (None, "0", "*"):
        raise invalid_argument(f"device: there is no device {device_name!r} here; the devices are ['/CPU:0'].")
