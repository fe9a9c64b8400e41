"""Functions of single strings: `tf.strings.lower`, `length`, `substr`, `regex_replace`, ..."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.core.tensor import Tensor
from gradtape.engines.numpy.engine import Quiet
from gradtape.errors import invalid_argument
from gradtape.published import published
from gradtape.ragged.tensor import RaggedTensor
from gradtape.strings.regular_expressions import Replacement, compiled, decoded, replaced
from gradtape.strings.texts import (
    array_of_texts,
    character_starts,
    each,
    numbers,
    one_text,
    texts,
    unit_of,
)

_SPACE = b" \t\n\v\f\r"


@published("strings.lower")
def lower(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Small letters: of ASCII only, or of all with `encoding="utf-8"`.

    >>> import gradtape as tf
    >>> tf.strings.lower("Ab C").numpy()
    b'ab c'
    """
    unicode = _encoding(encoding, "lower")
    change = (lambda t: t.decode("utf-8", "replace").lower().encode()) if unicode else bytes.lower
    return each(input, "lower: input", change)


@published("strings.upper")
def upper(input: Any, encoding: str = "", name: str | None = None) -> Any:
    """Capitals: of ASCII only, or of all with `encoding="utf-8"`.

    >>> import gradtape as tf
    >>> tf.strings.upper("straße", encoding="utf-8").numpy()
    b'STRASSE'
    """
    unicode = _encoding(encoding, "upper")
    change = (lambda t: t.decode("utf-8", "replace").upper().encode()) if unicode else bytes.upper
    return each(input, "upper: input", change)


def _encoding(encoding: Any, function: str) -> bool:
    if encoding not in ("", "utf-8"):
        raise invalid_argument(f"{function}: encoding must be '' or 'utf-8', got {encoding!r}.")
    return bool(encoding)


@published("strings.strip")
def strip(input: Any, name: str | None = None) -> Any:
    r"""Strings without spaces, tabs and line ends at both ends.

    >>> import gradtape as tf
    >>> tf.strings.strip([" a ", "b\n"]).numpy()
    array([b'a', b'b'], dtype=object)
    """
    return each(input, "strip: input", lambda text: text.strip(_SPACE))


@published("strings.length")
def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """How many bytes, or with `unit="UTF8_CHAR"` how many characters, each string has.

    >>> import gradtape as tf
    >>> tf.strings.length(["né", ""]).numpy(), tf.strings.length("né", unit="UTF8_CHAR").numpy()
    (array([3, 0], dtype=int32), np.int32(2))
    """
    count = len if unit_of(unit, "length") == "BYTE" else lambda t: len(character_starts(t))
    return each(input, "length: input", count, np.int32)


@published("strings.substr")
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Any:
    """The part of each string from `pos` on with at most `len` bytes, or characters; a negative
    `pos` counts from the end.

    >>> import gradtape as tf
    >>> tf.strings.substr(["Hello", "World"], pos=-3, len=2).numpy()
    array([b'll', b'rl'], dtype=object)
    """
    if isinstance(input, RaggedTensor):
        places, counts = (v.flat_values if isinstance(v, RaggedTensor) else v for v in (pos, len))
        return input.with_flat_values(substr(input.flat_values, places, counts, unit))
    by_byte = unit_of(unit, "substr") == "BYTE"
    array = texts(input, "substr: input")
    places, counts = (numbers(v, f"substr: {n}") for v, n in ((pos, "pos"), (len, "len")))
    for found, argument in ((places, "pos"), (counts, "len")):
        if found.dtype.kind not in "iu":
            raise invalid_argument(f"substr: {argument} must be integers, got {found.dtype}.")
    if places.shape != counts.shape:
        raise ValueError(
            f"substr: pos and len must have the same shape, got {places.shape} and {counts.shape}."
        )
    try:
        array, places, counts = np.broadcast_arrays(array, places, counts)
    except ValueError as error:
        raise invalid_argument(
            f"substr: input, pos and len do not fit together: {array.shape} and {places.shape}."
        ) from error
    cut = _bytes_of if by_byte else _characters_of
    parts = zip(*(a.reshape(-1).tolist() for a in (array, places, counts)), strict=True)
    found = [cut(text, place, count, i) for i, (text, place, count) in enumerate(parts)]
    return Tensor(array_of_texts(found, array.shape))


def _bytes_of(text: bytes, place: int, count: int, index: int) -> bytes:
    start = _start(place, len(text), text, index)
    return text[start:] if count < 0 else text[start : start + count]


def _characters_of(text: bytes, place: int, count: int, index: int) -> bytes:
    starts = [*character_starts(text), len(text)]
    size = len(starts) - 1
    start = _start(place, size, text, index)
    stop = size if count < 0 else min(start + count, size)
    return text[starts[start] : starts[stop]]


def _start(place: int, size: int, text: bytes, index: int) -> int:
    if not -size <= place <= size:
        raise invalid_argument(
            f"substr: pos {place} is out of range for the string {text!r} at index {index}."
        )
    return place + size if place < 0 else place


@published("strings.regex_replace")
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Any:
    r"""Every match of a pattern, or the first one, replaced; in `rewrite`, `\1` to `\9` stand for
    its groups and `\0` for all of it.

    >>> import gradtape as tf
    >>> tf.strings.regex_replace("Text with tags <b>here</b>", "<[^>]+>", "").numpy()
    b'Text with tags here'
    """
    found = compiled(one_text(pattern, "regex_replace: pattern"), "regex_replace")
    given = Replacement(one_text(rewrite, "regex_replace: rewrite"), found.groups)
    if not given.is_valid:  # TensorFlow changes nothing then
        return each(input, "regex_replace: input", lambda text: text)
    return each(
        input,
        "regex_replace: input",
        lambda text: replaced(found, given, text, bool(replace_global)),
    )


@published("strings.regex_full_match")
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Any:
    r"""Whether the whole of each string matches a pattern.

    >>> import gradtape as tf
    >>> tf.strings.regex_full_match(["a.png", "b.txt"], r".*\.png").numpy()
    array([ True, False])
    """
    found = compiled(one_text(pattern, "regex_full_match: pattern"), "regex_full_match")
    return each(
        input,
        "regex_full_match: input",
        lambda text: found.fullmatch(decoded(text)) is not None,
        np.bool_,
    )


_PARSED = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)


@published("strings.to_number")
def to_number(input: Any, out_type: Any = dtypes.float32, name: str | None = None) -> Any:
    """The number that each string spells.

    >>> import gradtape as tf
    >>> tf.strings.to_number(["3.25", "-1e3"]).numpy()
    array([    3.25, -1000.  ], dtype=float32)
    """
    wanted = dtypes.as_dtype(out_type)
    if wanted not in _PARSED:
        raise invalid_argument(
            f"to_number: out_type must be one of {', '.join(d.name for d in _PARSED)}, got "
            f"{wanted.name}."
        )
    return each(input, "to_number: input", lambda text: _number(text, wanted), wanted.numpy)


def _number(text: bytes, wanted: dtypes.DType) -> Any:
    try:
        plain = text.strip(_SPACE).decode("ascii")
        if "_" in plain:
            raise ValueError(plain)  # Python takes it
        if wanted.is_floating:
            hexadecimal = plain.lstrip("+-").lower().startswith("0x")
            with Quiet():
                return wanted.numpy.type(float.fromhex(plain) if hexadecimal else float(plain))
        found = int(plain)
        limits = np.iinfo(wanted.numpy)
        if not limits.min <= found <= limits.max:
            raise ValueError(plain)
    except (ValueError, UnicodeDecodeError):
        raise invalid_argument(
            f"to_number: {text!r} cannot be converted to {wanted.name}."
        ) from None
    return found
