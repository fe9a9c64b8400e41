"""Tensors of strings as arguments: their bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import errors
from gradtape.convert import array_of, on_host, to_array
from gradtape.core.tensor import Tensor


def strings(value: Any, argument: str) -> Any:
    """An array of bytes, of what must be a tensor of strings; `argument` is what an error calls
    it.
    """
    found = array_of(value)
    array = to_array(value, argument=argument) if found is None else on_host(found)
    if array.dtype == object:
        return np.asarray(array, object)
    if not array.size and found is None:  # an empty list has no dtype of its own
        return np.empty(array.shape, object)
    raise ValueError(f"{argument} must hold strings, got dtype {array.dtype}.")


def one_string(value: Any, argument: str) -> bytes:
    """The bytes of what must be a scalar of strings."""
    if type(value) is bytes:
        return value
    array = strings(value, argument)
    if array.ndim:
        raise errors.invalid_argument(f"{argument} must be a scalar, got shape {array.shape}.")
    data: bytes = array[()]
    return data


def mapped(
    function: Callable[[bytes], bytes],
    array: Any,
    argument: str,
    wrong: tuple[type[Exception], ...],
) -> Tensor:
    """A tensor of what a function gives for each string; its errors of some kinds become one that
    names the string's place.
    """
    found = np.empty(array.shape, object)
    for place, data in np.ndenumerate(array):
        try:
            found[place] = function(data)
        except wrong as error:
            where = list(place) if place else ""
            raise errors.invalid_argument(f"{argument}{where} {error}.") from error
    return Tensor(found)
