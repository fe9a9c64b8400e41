"""What to use instead of names of TensorFlow's that gradtape has not: `sentences.txt`, which
AttributeErrors and the audit read.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from gradtape.compat import tensorflow_names

_TABLE = Path(__file__).with_suffix(".txt")
_OF_TENSORFLOW_1 = "compat.v1.*"
"""The row of whatever TensorFlow 1 has and no other row is for."""


@cache
def rows() -> dict[str, str]:
    """The sentences by name or pattern."""
    found: dict[str, str] = {}
    names: list[str] = []
    sentence: list[str] = []
    for line in (*_TABLE.read_text(encoding="utf-8").splitlines(), ""):
        if line.startswith(" "):
            sentence.append(line.strip())
        elif line and not line.startswith("#"):
            names += line.split()
        elif sentence:
            found |= dict.fromkeys(names, " ".join(sentence))
            names, sentence = [], []
    return found


def sentence_for(full: str) -> str | None:
    """What to use instead of a name; None if TensorFlow has no such name, or no row is for it.

    Below a namespace that has a row, any name counts. What TensorFlow 1 and 2 both have says the
    same in both.
    """
    full = full.removeprefix("compat.v2.")
    sentence = _of_its_own(full)
    if sentence == rows()[_OF_TENSORFLOW_1]:
        return _of_its_own(full.removeprefix("compat.v1.")) or sentence
    return sentence


def _of_its_own(full: str) -> str | None:
    found = rows()
    if full in found:
        return found[full]
    parts = full.split(".")
    above = [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
    if not tensorflow_names.has(full):
        return next((found[name] for name in above if name in found), None)
    fitting = [name for name in found if "*" in name and fnmatchcase(full, name)]
    return found[max(fitting, key=len)] if fitting else None
