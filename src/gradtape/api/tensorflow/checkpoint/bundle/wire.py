"""Protocol buffers' wire format, as far as the messages of a checkpoint need it.

Reading four small messages takes these few lines, and reading a checkpoint no further package.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradtape.api.tensorflow.checkpoint.layout import DamagedError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}

Value = int | bytes


def varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """An integer of seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise DamagedError("it has an integer without an end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), at
        shift += 7


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a message in their order: number, and an integer or bytes."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = varint(message, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise DamagedError(f"it has a field of the unknown kind {kind}")
        if size > len(message) - at:
            raise DamagedError("it has a field that is longer than its message")
        part = message[at : at + size]
        at += size
        yield number, part if kind == _BYTES else int.from_bytes(part, "little")


def grouped(message: bytes) -> dict[int, list[Value]]:
    """All values of each field."""
    found: dict[int, list[Value]] = {}
    for number, value in fields(message):
        found.setdefault(number, []).append(value)
    return found


def number(values: list[Value] | None) -> int:
    """The integer of a field, 0 where it is left out; of several the last counts."""
    if not values:
        return 0
    if not isinstance(values[-1], int):
        raise DamagedError("it has bytes where a number belongs")
    value = values[-1]
    return value - 2**64 if value >= 2**63 else value  # negative numbers are written so


def parts(values: list[Value] | None) -> list[bytes]:
    """The bytes of a repeated field: messages or texts."""
    found = []
    for value in values or ():
        if not isinstance(value, bytes):
            raise DamagedError("it has a number where bytes belong")
        found.append(value)
    return found


def text(values: list[Value] | None) -> str:
    """The text of a field, empty where it is left out."""
    try:
        return (parts(values) or [b""])[-1].decode()
    except UnicodeDecodeError:
        raise DamagedError("it has a name that is not UTF-8") from None
