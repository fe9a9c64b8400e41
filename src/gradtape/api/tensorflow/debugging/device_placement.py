"""`tf.debugging.set_log_device_placement`, which is kept and given back."""

from __future__ import annotations

from gradtape.core.messages import first_times, log_warning
from gradtape.published import published


class _Kept:
    enabled = False


_kept = _Kept()


@published("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """What `set_log_device_placement` was given.

    >>> import gradtape as tf
    >>> tf.debugging.get_log_device_placement()
    False
    """
    return _kept.enabled


@published("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Keeps whether the device of each op should be logged, which is not done: `tensor.device`
    tells it.

    >>> import gradtape as tf
    >>> tf.debugging.set_log_device_placement(False)
    """
    enabled = bool(enabled)
    if enabled and first_times("device placement", limit=1) is not None:
        log_warning(
            "set_log_device_placement: gradtape logs no devices: eager code runs on the CPU unless "
            "a tf.device block says otherwise, and tensor.device tells where a tensor is."
        )
    _kept.enabled = enabled
