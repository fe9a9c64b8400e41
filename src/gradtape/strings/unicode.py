"""Characters and encodings: `tf.strings.unicode_decode`, `unicode_split`, `unicode_encode`,
`unicode_transcode`.
"""

from __future__ import annotations

import codecs
import unicodedata
from typing import Any

import numpy as np

from gradtape.api.tensorflow.arguments import as_int, known
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.published import published
from gradtape.ragged.conversion import from_tensor
from gradtape.ragged.tensor import RaggedTensor
from gradtape.strings.splitting import in_rows
from gradtape.strings.texts import array_of_texts, each

_WRITTEN = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
_ERRORS = ("replace", "strict", "ignore")
_REPLACEMENT = 0xFFFD


class _Reader:
    """How bytes become characters: an encoding, and what to do with those that spell none."""

    def __init__(
        self, function: str, encoding: Any, errors: Any, replacement: Any, control: bool
    ) -> None:
        self._function = function
        try:
            self._codec = codecs.lookup(_WRITTEN.get(encoding, encoding)).name
        except (LookupError, TypeError):
            raise invalid_argument(
                f"{function}: input_encoding {encoding!r} is not known: use 'UTF-8', 'UTF-16-BE', "
                "'UTF-32-BE' or another one that Python has."
            ) from None
        if errors not in _ERRORS:
            raise invalid_argument(f"{function}: errors must be one of {_ERRORS}, got {errors!r}.")
        self._errors = errors
        self._replacement = chr(as_int(replacement, f"{function}: replacement_char"))
        self._control = control

    def characters(self, text: bytes) -> list[tuple[str, int, bytes]]:
        """The characters of a text, where each begins, and the bytes that spell it."""
        found: list[tuple[str, int, bytes]] = []
        place = 0
        while place < len(text):
            try:
                good, bad = text[place:].decode(self._codec), 0
            except UnicodeDecodeError as error:
                if self._errors == "strict":
                    raise invalid_argument(
                        f"{self._function}: {text!r} is not valid {self._codec} at byte "
                        f"{place + error.start}."
                    ) from None
                good = text[place : place + error.start].decode(self._codec)
                bad = error.end - error.start
            for character in good:
                size = len(character.encode(self._codec, "surrogatepass"))
                spelt = text[place : place + size]
                if self._control and unicodedata.category(character) == "Cc":
                    if self._errors == "replace":
                        found.append((self._replacement, place, spelt))
                else:
                    found.append((character, place, spelt))
                place += size
            if bad and self._errors == "replace":
                found.append((self._replacement, place, text[place : place + bad]))
            place += bad
        return found


def _spelt(character: str, encoding: str) -> bytes:
    return character.encode(encoding, "surrogatepass")


@published("strings.unicode_decode")
def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The numbers of the characters of each string.

    >>> import gradtape as tf
    >>> tf.strings.unicode_decode(["né", "a"], "UTF-8").to_list()
    [[110, 233], [97]]
    """
    read = _Reader(
        "unicode_decode", input_encoding, errors, replacement_char, replace_control_characters
    )
    return in_rows(
        input,
        "unicode_decode: input",
        lambda text: [ord(c) for c, _, _ in read.characters(text)],
        np.int32,
    )


@published("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The numbers of the characters of each string, and the bytes at which they begin.

    >>> import gradtape as tf
    >>> numbers, starts = tf.strings.unicode_decode_with_offsets("né!", "UTF-8")
    >>> numbers.numpy(), starts.numpy()
    (array([110, 233,  33], dtype=int32), array([0, 1, 3]))
    """
    function = "unicode_decode_with_offsets"
    found = unicode_decode(
        input, input_encoding, errors, replacement_char, replace_control_characters
    )
    read = _Reader(function, input_encoding, errors, replacement_char, replace_control_characters)
    return found, _offsets(input, read, function)


def _offsets(input: Any, read: _Reader, function: str) -> Any:
    return in_rows(
        input,
        f"{function}: input",
        lambda text: [place for _, place, _ in read.characters(text)],
        np.int64,
    )


@published("strings.unicode_split")
def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    name: str | None = None,
) -> Any:
    r"""The characters of each string, as strings of the same encoding.

    >>> import gradtape as tf
    >>> tf.strings.unicode_split("né", "UTF-8").numpy()
    array([b'n', b'\xc3\xa9'], dtype=object)
    """
    if input_encoding not in _WRITTEN:
        raise invalid_argument(
            f"unicode_split: input_encoding must be one of {tuple(_WRITTEN)}, got "
            f"{input_encoding!r}."
        )
    read = _Reader("unicode_split", input_encoding, errors, replacement_char, False)
    encoding = _WRITTEN[input_encoding]
    return in_rows(
        input,
        "unicode_split: input",
        lambda text: [_spelt(c, encoding) for c, _, _ in read.characters(text)],
    )


@published("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The characters of each string, and the bytes at which they begin.

    >>> import gradtape as tf
    >>> letters, starts = tf.strings.unicode_split_with_offsets("né!", "UTF-8")
    >>> starts.numpy()
    array([0, 1, 3])
    """
    function = "unicode_split_with_offsets"
    found = unicode_split(input, input_encoding, errors, replacement_char)
    read = _Reader(function, input_encoding, errors, replacement_char, False)
    return found, _offsets(input, read, function)


@published("strings.unicode_encode")
def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    name: str | None = None,
) -> Any:
    r"""Strings of the characters with the numbers in the last axis.

    >>> import gradtape as tf
    >>> tf.strings.unicode_encode(tf.ragged.constant([[110, 233], [97]]), "UTF-8").numpy()
    array([b'n\xc3\xa9', b'a'], dtype=object)
    """
    encoding = _output(output_encoding, "unicode_encode")
    if errors not in _ERRORS:
        raise invalid_argument(f"unicode_encode: errors must be one of {_ERRORS}, got {errors!r}.")
    replacement = as_int(replacement_char, "unicode_encode: replacement_char")
    if not isinstance(input, RaggedTensor):
        given = as_tensor(input, argument="unicode_encode: input")
        if not given.ndim:
            raise ValueError("unicode_encode: input must have at least one axis, got a scalar.")
        if given.ndim == 1:
            line = known(given, "unicode_encode: input", why="XLA has no strings")
            return Tensor(array_of_texts([_line(line, encoding, errors, replacement)], ()))
        rows = from_tensor(given, ragged_rank=given.ndim - 1)
        found = unicode_encode(rows, output_encoding, errors, replacement_char)
        return found if isinstance(found, Tensor) else found.to_tensor()
    if isinstance(input.values, RaggedTensor):
        return input.with_values(
            unicode_encode(input.values, output_encoding, errors, replacement_char)
        )
    if not input.dtype.is_integer:
        raise TypeError(f"unicode_encode: input must be integers, got {input.dtype.name}.")
    lines = [_line(row, encoding, errors, replacement) for row in input.to_list()]
    return Tensor(array_of_texts(lines, (len(lines),)))


def _line(numbers: Any, encoding: str, errors: str, replacement: int) -> bytes:
    found = []
    for number in numbers:
        valid = 0 <= number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
        if not valid and errors == "strict":
            raise invalid_argument(f"unicode_encode: {number} is not the number of a character.")
        if valid or errors == "replace":
            found.append(chr(number if valid else replacement))
    return "".join(found).encode(encoding)


def _output(encoding: Any, function: str) -> str:
    if encoding not in _WRITTEN:
        raise ValueError(
            f"{function}: output_encoding must be one of {tuple(_WRITTEN)}, got {encoding!r}."
        )
    return _WRITTEN[encoding]


@published("strings.unicode_transcode")
def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    r"""Strings in another encoding.

    >>> import gradtape as tf
    >>> tf.strings.unicode_transcode("né", "UTF-8", "UTF-16-BE").numpy()
    b'\x00n\x00\xe9'
    """
    read = _Reader(
        "unicode_transcode", input_encoding, errors, replacement_char, replace_control_characters
    )
    encoding = _output(output_encoding, "unicode_transcode")
    return each(
        input,
        "unicode_transcode: input",
        lambda text: b"".join(_spelt(c, encoding) for c, _, _ in read.characters(text)),
    )


@published("strings.unicode_script")
def unicode_script(input: Any, name: str | None = None) -> Any:
    """Not available: raises an error.

    >>> import gradtape as tf
    >>> tf.strings.unicode_script([97])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: gradtape has no tf.strings.unicode_script: ...
    """
    raise NotImplementedError(
        "gradtape has no tf.strings.unicode_script: Python has no table of the scripts of "
        "characters. The packages `regex` and `fontTools` have one."
    )
