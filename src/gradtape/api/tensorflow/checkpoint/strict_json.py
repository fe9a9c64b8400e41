"""`parsed`: strict parsing of JSON from an untrusted file."""

from __future__ import annotations

import json
import re
from typing import Any

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def parsed(text: str | bytes, depth: int) -> Any:
    """What JSON says, or ValueError: nested deeper than `depth`, a name given twice,
    and NaN are errors too.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    deepest = level = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        level += 1 if bracket.group() in "[{" else -1
        deepest = max(deepest, level)
        if deepest > depth:
            raise ValueError(f"it is nested deeper than {depth} levels")
    return json.loads(text, object_pairs_hook=_each_once, parse_constant=_refuse)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
