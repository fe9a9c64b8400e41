"""How the functions of `tf.strings` take their arguments: strings as arrays of bytes, and functions
that are applied to each string, also of RaggedTensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import known
from gradtape.convert import as_tensor, is_tensor_like
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ragged.tensor import RaggedTensor


def texts(value: Any, argument: str) -> Any:
    """A value as an array of bytes; anything that holds no strings is refused."""
    if isinstance(value, RaggedTensor):
        raise TypeError(f"{argument} must be a tensor of strings, got a RaggedTensor.")
    wanted = None if is_tensor_like(value) else dtypes.string
    found = as_tensor(value, wanted, argument=argument)
    if found.dtype != dtypes.string:
        raise invalid_argument(
            f"{argument} must be a tensor of strings, got dtype {found.dtype.name}: convert "
            "numbers with gradtape.strings.as_string."
        )
    return found.array


def one_text(value: Any, argument: str) -> bytes:
    """A single string, as bytes."""
    found = texts(value, argument)
    if found.ndim:
        raise invalid_argument(f"{argument} must be a scalar string, got shape {found.shape}.")
    return bytes(found.item())


def array_of_texts(values: Iterable[bytes], shape: tuple[int, ...]) -> Any:
    """Strings in an array of this shape, which NumPy would make numbers or letters of."""
    listed = list(values)
    found = np.empty(len(listed), object)
    found[:] = listed
    return found.reshape(shape)


def each(
    value: Any, argument: str, function: Callable[[bytes], Any], dtype: Any = np.object_
) -> Any:
    """A function of every string: in a tensor of the same shape, or in the same rows."""
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(each(value.flat_values, argument, function, dtype))
    array = texts(value, argument)
    found = [function(text) for text in array.reshape(-1).tolist()]
    if dtype is np.object_:
        return Tensor(array_of_texts(found, array.shape))
    return Tensor(np.array(found, dtype).reshape(array.shape)[()])


def numbers(value: Any, argument: str) -> Any:
    """The array of a tensor of numbers, whose values must be known."""
    return known(as_tensor(value, argument=argument), argument, why="XLA has no strings")


def unit_of(unit: Any, function: str) -> str:
    """How characters are counted: "BYTE" or "UTF8_CHAR"."""
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise invalid_argument(f"{function}: unit must be 'BYTE' or 'UTF8_CHAR', got {unit!r}.")
    return str(unit)


def character_starts(text: bytes) -> list[int]:
    """Where the characters of UTF-8 begin: at every byte that continues none."""
    return [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80]
