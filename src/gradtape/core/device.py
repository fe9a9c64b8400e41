"""`device`: where eager code runs.

The host, `/CPU:0`, runs NumPy; on every other device, XLA's, ops run on `jax.numpy`.

What a `function` compiles runs as a whole on the device that is named around the call, or else
where its arguments are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradtape.blocks import block
from gradtape.core.messages import log_warning
from gradtape.core.settings import settings
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.placement import (
    HOST,
    Place,
    RunOnDevice,
    XlaDevice,
    plain_run,
    tensor_anywhere,
)
from gradtape.core.xla.tensor import tensor_of
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.loading import is_installed
from gradtape.errors import invalid_argument
from gradtape.published import published

_SPEC = (
    r"(?:/job:\w+)?(?:/replica:\d+)?(?:/task:\d+)?/?(?:device:)?"
    r"(?P<kind>[A-Za-z_]+)(?::(?P<index>\d+|\*))?"
)

_REPLACED = frozenset(("CPU", "GPU", "TPU"))
_said: set[str] = set()


@published("device")
@block
def device(device_name: Any) -> Iterator[None]:
    """Runs the ops of a block on a device, named as in TensorFlow; what they take is moved there.

    Tensors and Variables created in the block are on the device, and stay there. Inside a
    `function` that is being traced it has no effect: the program runs on one device. A GPU or TPU
    that does not exist is replaced by one that does, else by the CPU, and the log says so once;
    after `config.set_soft_device_placement(False)` it is an error.

    >>> import gradtape as tf
    >>> with tf.device("/CPU:0"):
    ...     x = tf.constant(1.0)
    >>> x.device
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    place, state = find(device_name, soft=settings.soft_device_placement), here.state
    around = state.device, state.tensor, state.run
    with xla_settings.running_on(_name_for_xla(place)):
        try:
            if isinstance(place, XlaDevice):
                state.device, state.run, state.tensor = (
                    place,
                    RunOnDevice(place, plain_run()),
                    tensor_anywhere,
                )
            else:
                state.device, state.run, state.tensor = place, plain_run(), Tensor
            yield
        finally:
            # How kernels are run without a device may have changed in the block; nothing is called
            # here that a signal could stop.
            run = state.run
            plain = run.plain if run.__class__ is RunOnDevice else run
            state.device, state.tensor, run = around
            if run.__class__ is RunOnDevice:
                run.plain = plain
            else:
                run = plain
            state.run = run


def _name_for_xla(place: Place | None) -> Any:
    """A function that returns the device for compiled programs, once JAX is loaded."""
    return None if place is None else lambda: xla_devices.devices()[place.name]


def find(device_name: Any, *, soft: bool = False) -> Place | None:
    """The place of a name; None if any will do.

    An invalid name is refused, and so is that of a device that does not exist, unless another may
    replace it.
    """
    if device_name is None or device_name == "":
        return None
    if callable(device_name):
        raise RuntimeError(
            "device: device_name cannot be a function, which is for TensorFlow's graphs: pass a "
            "name such as '/CPU:0'."
        )
    match = re.fullmatch(_SPEC, str(device_name), re.IGNORECASE)
    if match is None:
        raise ValueError(
            f"device: device_name must be a name such as '/CPU:0', got {device_name!r}."
        )
    name = f"{match['kind'].upper()}:{int((match['index'] or '0').replace('*', '0'))}"
    if name == HOST.name:
        return HOST
    known = xla_devices.visible()
    if name not in known:
        kind = match["kind"].upper()
        hint = (
            ""
            if is_installed()
            else " Others need JAX, which is not installed: pip install 'gradtape[xla]'."
        )
        reason = (
            f"device: this process has no device {device_name!r}; its devices are "
            f"{[f'/{found}' for found in known]}.{hint}"
        )
        if not soft or kind not in _REPLACED:
            raise invalid_argument(reason)
        name = next((found for found in known if found.startswith(f"{kind}:")), HOST.name)
        if reason not in _said:
            _said.add(reason)
            log_warning("%s Its ops run on '/%s' instead.", reason, name)
    return HOST if name == HOST.name else XlaDevice(name)


def check_device(device_name: Any) -> None:
    """Refuses an invalid name, and a device other than the host, for functions that create tensors
    on the host.
    """
    place = find(device_name)
    if place is not None and place is not HOST:
        raise invalid_argument(
            f"device: this function creates tensors on '/CPU:0', not on {device_name!r}: call it "
            f"inside `with gradtape.device({device_name!r})`, or move the tensor with to_device."
        )


def new_tensor(array: Any) -> Tensor:
    """A NumPy array as a new Tensor, on the device of the enclosing `with device(...)` block."""
    return Tensor(array) if here.state.device is None else placed(array)


def placed(array: Any) -> Tensor:
    """The same for an array of either engine."""
    place, tensor = here.state.device, tensor_of(array)
    return tensor if place is None or here.state.trace is not None else place.move(tensor)
