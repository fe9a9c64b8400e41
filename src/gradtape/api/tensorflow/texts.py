"""`tf.compat`'s conversions between texts, bytes and paths, and its groups of Python types."""

from __future__ import annotations

import datetime as dt
import numbers
import os
from typing import Any

import numpy as np

from gradtape.published import published


@published("compat.as_bytes")
def as_bytes(bytes_or_text: str | bytes | bytearray, encoding: str = "utf-8") -> bytes:
    """A text as bytes; bytes as they are.

    >>> import gradtape as tf
    >>> tf.compat.as_bytes("text")
    b'text'
    """
    match bytes_or_text:
        case str():
            return bytes_or_text.encode(encoding)
        case bytes() | bytearray():
            return bytes(bytes_or_text)
    raise TypeError(f"as_bytes: a str or bytes was expected, got {bytes_or_text!r}.")


@published("compat.as_text", "compat.as_str")
def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Bytes as a text; a text as it is.

    >>> import gradtape as tf
    >>> tf.compat.as_text(b"text")
    'text'
    """
    match bytes_or_text:
        case str():
            return bytes_or_text
        case bytes():
            return bytes_or_text.decode(encoding)
    raise TypeError(f"as_text: a str or bytes was expected, got {bytes_or_text!r}.")


@published("compat.as_str_any")
def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Bytes as a text, and anything else as `str` shows it.

    >>> import gradtape as tf
    >>> tf.compat.as_str_any(b"text"), tf.compat.as_str_any(1.5)
    ('text', '1.5')
    """
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


@published("compat.path_to_str")
def path_to_str(path: Any) -> str:
    """The text of a path, or of what is given instead.

    >>> import gradtape as tf
    >>> from pathlib import Path
    >>> tf.compat.path_to_str(Path("models"))
    'models'
    """
    return as_str_any(os.fspath(path) if hasattr(path, "__fspath__") else path)


@published("compat.dimension_value")
def dimension_value(dimension: int | None) -> int | None:
    """A size of a shape, which is an integer or None in TensorFlow 2.

    >>> import gradtape as tf
    >>> tf.compat.dimension_value(tf.TensorShape([3, None])[0])
    3
    """
    return dimension


@published("compat.forward_compatible")
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether a date is far enough in the past for what was introduced then to be there.

    >>> import gradtape as tf
    >>> tf.compat.forward_compatible(2019, 1, 1)
    True
    """
    return dt.datetime.now(tz=dt.UTC).date() > dt.date(year, month, day)


bytes_or_text_types = (bytes, str)
complex_types = (numbers.Complex, np.number)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)

PUBLISHED = {
    "compat.bytes_or_text_types": bytes_or_text_types,
    "compat.complex_types": complex_types,
    "compat.integral_types": integral_types,
    "compat.real_types": real_types,
}
