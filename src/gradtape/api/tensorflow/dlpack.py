"""DLPack, the protocol by which array libraries share memory: `experimental.dlpack` and
`numpy.from_dlpack`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.convert import as_tensor, operand
from gradtape.core.device import check_device
from gradtape.core.tensor import Tensor
from gradtape.ops.broadcasting import identity
from gradtape.published import published


@published("experimental.dlpack.to_dlpack")
def to_dlpack(tf_tensor: Any) -> Any:
    """A DLPack capsule with a copy of a tensor's values, for a library that takes capsules.

    >>> import gradtape as tf
    >>> from gradtape.experimental import dlpack
    >>> dlpack.from_dlpack(dlpack.to_dlpack(tf.constant([1.0, 2.0]))).numpy()
    array([1., 2.], dtype=float32)
    """
    return as_tensor(tf_tensor, argument="to_dlpack: tf_tensor").__dlpack__()


@published("experimental.dlpack.from_dlpack")
def from_capsule(dlcapsule: Any) -> Tensor:
    """A tensor with the values of a DLPack capsule,
    or of an array of any library that has `__dlpack__`.

    >>> import numpy as np
    >>> import gradtape as tf
    >>> from gradtape.experimental import dlpack
    >>> dlpack.from_dlpack(np.array([1.0, 2.0], np.float32).__dlpack__()).numpy()
    array([1., 2.], dtype=float32)
    """
    if hasattr(dlcapsule, "__dlpack__"):
        return from_dlpack(dlcapsule)
    if type(dlcapsule).__name__ != "PyCapsule":
        raise TypeError(
            f"from_dlpack: dlcapsule must be a DLPack capsule or an array, got {dlcapsule!r} of "
            f"type {type(dlcapsule).__name__}; "
            "make a tensor of plain values with gradtape.constant."
        )
    return from_dlpack(_OnCPU(dlcapsule))


@published("numpy.from_dlpack", "array_api.from_dlpack")
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor with the values of an array of another library; they are copied unless `copy=False`
    promises that nobody writes.

    >>> import numpy as np
    >>> import gradtape as tf
    >>> tf.numpy.from_dlpack(np.array([1.0, 2.0], np.float32)).numpy()
    array([1., 2.], dtype=float32)
    """
    check_device(device)
    x = operand(x)
    if isinstance(x, Tensor):
        return identity(x) if copy else x
    if not hasattr(x, "__dlpack__"):
        raise AttributeError(
            f"from_dlpack: x must be an array with a __dlpack__ method, got {x!r} of type "
            f"{type(x).__name__}; make a tensor of "
            "plain values with gradtape.constant."
        )
    try:
        array = np.from_dlpack(x, copy=copy)
    except (BufferError, RuntimeError) as error:  # NumPy before 2.5 raises a RuntimeError
        raise BufferError(
            f"from_dlpack: NumPy cannot take this {type(x).__name__}: {error} Move it to the CPU "
            "and cast it to a NumPy dtype first."
        ) from error
    return Tensor(array if copy is not None else array.copy())


class _OnCPU:
    """A bare capsule as the object that NumPy asks for one.

    The capsule says itself where its memory is.
    """

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the CPU
