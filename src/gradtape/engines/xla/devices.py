"""XLA's devices, by TensorFlow's names such as `GPU:0`; `CPU:0` is the host, where NumPy runs
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from gradtape.engines.xla.engine import forget_host, is_traced
from gradtape.engines.xla.loading import load
from gradtape.engines.xla.programs import Guarded
from gradtape.engines.xla.settings import prefer, preferred, wide

_KINDS = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}


@cache
def devices() -> dict[str, Any]:
    """The devices of this process by name, the host's first;
    only the host's name if JAX is not installed.
    """
    try:
        jax = load()
    except ImportError:
        return {"CPU:0": None}
    found: dict[str, Any] = {}
    for device in [*_of_the_host(jax), *jax.local_devices()]:
        kind = _KINDS.get(device.platform, device.platform.upper())
        if device not in found.values():
            found[f"{kind}:{sum(name.startswith(f'{kind}:') for name in found)}"] = device
    return found if "CPU:0" in found else {"CPU:0": None, **found}


def are_several() -> bool:
    """Whether arrays may be on several devices, of this process or of others."""
    return len(devices()) > 1 or load().process_count() > 1


def divide_host(count: int) -> bool:
    """Makes so many devices of the host's CPU, unless XLA has made arrays or programs already,
    which would be lost; returns whether there are so many.
    """
    jax = load()
    if len(_of_the_host(jax)) == count:
        return True
    if Guarded.were_made or jax.live_arrays():
        return False
    import_module("jax.extend.backend").clear_backends()
    jax.config.update("jax_num_cpu_devices", count)
    devices.cache_clear()
    forget_host()
    return len(_of_the_host(jax)) == count


_hidden: set[str] = set()


def visible() -> dict[str, Any]:
    """The devices that code may name."""
    return {name: device for name, device in devices().items() if name not in _hidden}


def show_only(names: set[str], kinds: set[str]) -> None:
    """Hides the devices of some kinds, except those with these names; programs run on one that is
    left.
    """
    for name in devices():
        if name.partition(":")[0] in kinds:
            (_hidden.discard if name in names else _hidden.add)(name)
    left = visible()
    accelerators = [device for name, device in left.items() if not name.startswith("CPU:")]
    prefer(None if not _hidden else lambda: accelerators[0] if accelerators else left["CPU:0"])


def _of_the_host(jax: Any) -> list[Any]:
    try:
        return list(jax.local_devices(backend="cpu"))
    except RuntimeError:  # JAX was told to do without
        return []


def is_on_host(array: Any) -> bool:
    """Whether NumPy can see an array's memory: it is a NumPy array, or a JAX array on the host's
    device.
    """
    known = devices()
    if len(known) == 1 or isinstance(array, np.ndarray):
        return True
    return not is_traced(array) and array.devices() == {known["CPU:0"]}


def on_one_device(arrays: Sequence[Any]) -> list[Any]:
    """Arrays from several devices, moved to that of the first."""
    device = next(array.device for array in arrays if getattr(array, "committed", False))
    return [put(array, device) for array in arrays]


def where_wanted(arrays: Sequence[Any]) -> Sequence[Any]:
    """Arrays, moved to the device of the enclosing `device` block, if there is one."""
    device = preferred()
    return arrays if device is None else [put(array, device) for array in arrays]


def name_of(array: Any) -> str:
    """The name of the device on which an array is; of the first one,
    if it is spread over several.
    """
    device = min(array.devices(), key=lambda found: found.id)
    return next((name for name, known in devices().items() if known == device), "CPU:0")


def put(array: Any, device: Any) -> Any:
    """An array of either engine on a device."""
    with wide():
        return load().device_put(array, device)


def copied(array: Any) -> Any:
    """A JAX array with the same values in memory of its own.

    Its method `copy` is a program, which XLA compiles for each shape in 5 to 15 ms.
    """
    with wide():
        jax = load()
        if isinstance(array, np.ndarray) or array.is_fully_addressable:
            return jax.device_put(array, may_alias=False)
        own = [jax.device_put(part.data, may_alias=False) for part in array.addressable_shards]
        return jax.make_array_from_single_device_arrays(array.shape, array.sharding, own)


def memory_stats(device: Any) -> dict[str, int] | None:
    """What a device says about its memory; None if it says nothing."""
    return None if device is None else device.memory_stats()
