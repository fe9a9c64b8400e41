"""Arrays that were saved in slices, as those of partitioned variables are: which slices there are,
under which keys they lie, and the array that they make up.

The key of a slice is not a text: it is the array's name, and the start and length along each axis,
in bytes that sort as those do. So keys are made here and looked up, never taken apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape.api.tensorflow.checkpoint.bundle import wire
from gradtape.api.tensorflow.checkpoint.layout import DamagedError

_WHOLE_AXIS = -1  # its length in a key


class Slice(NamedTuple):
    """A part of an array: where it lies in it, and its key in the table."""

    places: tuple[slice, ...]
    key: bytes

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(place.stop - place.start for place in self.places)


def is_key_of_slice(key: bytes) -> bool:
    """Whether a key of the table is that of a slice."""
    return key.startswith(b"\0")


def slices_of(name: str, shape: Sequence[int], messages: Iterable[bytes]) -> tuple[Slice, ...]:
    """The slices of an array, none outside it, that together are as large as the array; none if it
    was saved whole.
    """
    found = tuple(_slice(name, shape, message) for message in messages)
    if found and sum(math.prod(part.shape) for part in found) != math.prod(shape):
        raise DamagedError(f"the slices of '{name}' do not make up its shape")
    return found


def joined(name: str, shape: Sequence[int], parts: Sequence[tuple[Slice, Any]]) -> Any:
    """The array that slices make up: as large as it together, and each element in one of them."""
    array = np.empty(shape, parts[0][1].dtype)
    there = np.zeros(shape, bool)
    for part, values in parts:
        array[part.places] = values
        there[part.places] = True
    if not there.all():
        raise DamagedError(f"the slices of '{name}' overlap")
    return array


def _slice(name: str, shape: Sequence[int], message: bytes) -> Slice:
    extents = [wire.grouped(extent) for extent in wire.parts(wire.grouped(message).get(1))]
    if len(extents) != len(shape):
        raise DamagedError(f"a slice of '{name}' has another number of axes")
    places, key = [], _name(name) + _unsigned(len(shape))
    for size, extent in zip(shape, extents, strict=True):
        start = wire.number(extent.get(1))
        length = wire.number(extent[2]) if 2 in extent else _WHOLE_AXIS
        stop = size if length == _WHOLE_AXIS else start + length
        if not 0 <= start <= stop <= size:
            raise DamagedError(f"a slice of '{name}' lies outside its shape")
        places.append(slice(start, stop))
        key += _signed(start) + _signed(length)
    return Slice(tuple(places), key)


def _name(name: str) -> bytes:
    return b"\0" + name.encode().replace(b"\0", b"\0\xff") + b"\0\1"


def _unsigned(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _signed(value: int) -> bytes:
    """As many ones as there are bytes, and then the number; all bits of negative ones inverted."""
    bits = (~value if value < 0 else value).bit_length()
    size = bits // 7 + 1
    ones = ((1 << size) - 1) << 7 * size
    return (value % 2 ** (8 * size) ^ ones).to_bytes(size, "big")
