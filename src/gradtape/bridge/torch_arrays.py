"""Arrays of NumPy and tensors of PyTorch that share their memory."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.engines.engine import is_xla

_BFLOAT16 = dtypes.bfloat16.numpy


@cache
def load_torch() -> ModuleType:
    """PyTorch, or the error that says how to get it."""
    try:
        return import_module("torch")
    except ImportError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            "bridge.from_torch and bridge.to_torch need PyTorch, which is not installed: "
            "pip install torch.",
            name="torch",
        ) from error


class _Shared:
    """What NumPy makes a writable array of, although `array` may not be one: all of PyTorch's
    tensors can be written.
    """

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.__array_interface__["data"][0], False),
        }


def to_torch_tensor(array: Any) -> Any:
    """A NumPy array, or JAX's on an accelerator, as a tensor with the same memory."""
    torch = load_torch()
    if is_xla(array):
        return torch.from_dlpack(array)
    array = np.asarray(array)
    if array.dtype == _BFLOAT16:
        return to_torch_tensor(array.view(np.int16)).view(torch.bfloat16)
    if not array.flags.writeable and array.size:
        array = np.asarray(_Shared(array))
    if any(stride < 0 for stride in array.strides):
        array = array.copy()
    return torch.from_numpy(array)


def to_array(tensor: Any) -> Any:
    """A tensor as a NumPy array with the same memory, if it is on the CPU."""
    torch = load_torch()
    plain = tensor.detach().resolve_conj().resolve_neg().cpu()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.int16).numpy().view(_BFLOAT16)
    return plain.numpy()
