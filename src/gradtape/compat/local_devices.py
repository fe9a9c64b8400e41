"""`tensorflow.python.client.device_lib`, with which many programs list the GPUs."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradtape.api.tensorflow.config import list_logical_devices
from gradtape.engines.xla import devices


class DeviceAttributes(NamedTuple):
    """What is known of a device."""

    name: str
    device_type: str
    memory_limit: int
    physical_device_desc: str


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """The devices of this machine."""
    known = devices.visible()
    found = []
    for device in list_logical_devices():
        own = known.get(device.name.removeprefix("/device:"))
        limit = 0
        if own is not None and device.device_type != "CPU":
            limit = (devices.memory_stats(own) or {}).get("bytes_limit", 0)
        kind = str(getattr(own, "device_kind", ""))
        found.append(DeviceAttributes(device.name, device.device_type, limit, kind))
    return found
