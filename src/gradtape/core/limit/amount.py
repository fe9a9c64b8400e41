"""Amounts of memory as users write them: `400_000_000` or `"400MB"`."""

from __future__ import annotations

import re
from operator import index
from typing import Any

_UNITS = {
    "": 1, "B": 1,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def as_bytes(amount: Any, argument: str) -> int:
    """An amount of memory in bytes; `argument` is what an error calls it."""
    found = _from_text(amount) if isinstance(amount, str) else _from_number(amount)
    if found is None or found < 1:
        raise ValueError(
            f"{argument} must be a positive integer, in bytes, or a text such as '400MB' or "
            f"'1.5GiB', got {amount!r}."
        )
    return found


def _from_text(text: str) -> int | None:
    match = _TEXT.fullmatch(text)
    unit = None if match is None else _UNITS.get(match[2].upper())
    return None if match is None or unit is None else int(float(match[1]) * unit)


def _from_number(number: Any) -> int | None:
    if isinstance(number, bool):
        return None
    try:
        return index(number)
    except TypeError:
        return None
