"""What the Array API standard asks of an array object and TensorFlow's Tensor has not: `__array_namespace__`, `to_device`."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from gradtape.core.device import find
from gradtape.core.tensor import Tensor, TensorOperators
from gradtape.core.variable import Variable

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def array_namespace(self: TensorOperators, /, *, api_version: str | None = None) -> ModuleType:
    """The functions for this tensor, as `gradtape.array_api`.

    >>> import gradtape as tf
    >>> xp = tf.constant([1.0, 2.0]).__array_namespace__()
    >>> xp.sum(xp.asarray([1.0, 2.0])).numpy()
    np.float32(3.0)
    """
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"__array_namespace__: api_version must be one of {', '.join(VERSIONS)}, got {api_version!r}.")
    return import_module("gradtape.array_api")


def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Tensor:
    """This tensor on `device`; itself if it is there already.

    >>> import gradtape as tf
    >>> x = tf.constant([1.0, 2.0])
    >>> x.to_device("/CPU:0") is x
    True
    """
    if stream is not None:
        raise ValueError(f"to_device: the CPU has no streams; leave stream out, got {stream!r}.")
    tensor, place = self.tensor() if isinstance(self, Variable) else self, find(device)
    return tensor if place is None else place.move(tensor)


TensorOperators.__array_namespace__ = array_namespace  # type: ignore[attr-defined]
TensorOperators.to_device = to_device  # type: ignore[attr-defined]
