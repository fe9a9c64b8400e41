"""Strings taken apart into rows: `tf.strings.split`, `bytes_split` and `ngrams`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int, integers
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.published import published
from gradtape.ragged.tensor import RaggedTensor
from gradtape.strings.texts import array_of_texts, one_text, texts

Parts = Callable[[bytes], Sequence[Any]]


@published("strings.split")
def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of each string between separators, or between white space, as Python's
    `str.split` has them: a tensor for one string, a RaggedTensor for others.

    >>> import gradtape as tf
    >>> tf.strings.split(["hello world", "a b c"])
    <tf.RaggedTensor [[b'hello', b'world'], [b'a', b'b', b'c']]>
    """
    between = b"" if sep is None else one_text(sep, "split: sep")
    limit = as_int(maxsplit, "split: maxsplit")
    if limit < -1:
        raise invalid_argument(f"split: maxsplit must be -1 or more, got {limit}.")
    return in_rows(input, "split: input", lambda text: text.split(between or None, limit))


@published("strings.bytes_split")
def bytes_split(input: Any, name: str | None = None) -> Any:
    """The single bytes of each string.

    >>> import gradtape as tf
    >>> tf.strings.bytes_split(["ab", "c"]).to_list()
    [[b'a', b'b'], [b'c']]
    """
    return in_rows(input, "bytes_split: input", lambda t: [t[i : i + 1] for i in range(len(t))])


def in_rows(
    value: Any, argument: str, parts: Parts, dtype: Any = np.object_, splits: Any = np.int64
) -> Any:
    """What a function makes of each string as a row: a tensor for one string, else a RaggedTensor
    with an axis more.
    """
    if isinstance(value, RaggedTensor):
        inner = in_rows(value.values, argument, parts, dtype, splits)
        return RaggedTensor.from_row_splits(inner, value.row_splits)
    array = texts(value, argument)
    rows = [parts(text) for text in array.reshape(-1).tolist()]
    flat = [part for row in rows for part in row]
    if dtype is np.object_:
        found: Any = Tensor(array_of_texts(flat, (len(flat),)))
    else:
        found = Tensor(np.array(flat, dtype).reshape(len(flat)))
    if not array.ndim:
        return found
    found = RaggedTensor.from_row_lengths(found, np.array([len(row) for row in rows], splits))
    sizes = array.shape
    for place in range(len(sizes) - 1, 0, -1):
        nrows = int(np.prod(sizes[:place]))
        found = RaggedTensor.from_uniform_row_length(found, sizes[place], nrows=nrows)
    return found


@published("strings.ngrams")
def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Each `ngram_width` strings that follow each other in the last axis, joined.

    >>> import gradtape as tf
    >>> tf.strings.ngrams(["A", "B", "C"], 2).numpy()
    array([b'A B', b'B C'], dtype=object)
    """
    widths = integers(ngram_width, "ngrams: ngram_width")
    if not widths or min(widths) < 1:
        raise ValueError(f"ngrams: every ngram_width must be at least 1, got {list(widths)}.")
    between = one_text(separator, "ngrams: separator")
    left, right = _pads(pad_values)
    if padding_width is not None:
        if pad_values is None:
            raise ValueError("ngrams: padding_width needs pad_values.")
        if as_int(padding_width, "ngrams: padding_width") < 1:
            raise ValueError(f"ngrams: padding_width must be at least 1, got {padding_width}.")

    def of_row(row: list[bytes]) -> list[bytes]:
        found: list[bytes] = []
        for width in widths:
            pads = 0 if pad_values is None else width - 1
            pads = pads if padding_width is None else min(padding_width, pads)
            padded = [left] * pads + row + [right] * pads
            found += (between.join(padded[i : i + width]) for i in range(len(padded) - width + 1))
        if not found and preserve_short_sequences and row:
            pads = 0 if pad_values is None else (padding_width or max(widths) - 1)
            found.append(between.join([left] * pads + row + [right] * pads))
        return found

    if not isinstance(data, RaggedTensor):
        array = texts(data, "ngrams: data")
        if not array.ndim:
            raise ValueError("ngrams: data must have at least one axis, got a scalar.")
        lines = array.reshape(int(np.prod(array.shape[:-1])), array.shape[-1]).tolist()
        rows = [of_row(line) for line in lines]
        size = len(rows[0]) if rows else 0
        flat = [gram for row in rows for gram in row]
        return Tensor(array_of_texts(flat, (*array.shape[:-1], size)))
    if isinstance(data.values, RaggedTensor):
        return data.with_values(
            ngrams(
                data.values, ngram_width, separator, pad_values, padding_width,
                preserve_short_sequences,
            )
        )  # fmt: skip
    texts(data.values, "ngrams: data")
    rows = [of_row(row) for row in data.to_list()]
    flat = [gram for row in rows for gram in row]
    lengths = np.array([len(row) for row in rows], data.row_splits.array.dtype)
    return RaggedTensor.from_row_lengths(Tensor(array_of_texts(flat, (len(flat),))), lengths)


def _pads(pad_values: Any) -> tuple[bytes, bytes]:
    if pad_values is None:
        return b"", b""
    if isinstance(pad_values, (list, tuple)):
        if len(pad_values) != 2:
            raise ValueError("ngrams: pad_values must be a string or two of them.")
        left, right = (one_text(pad, "ngrams: pad_values") for pad in pad_values)
        return left, right
    pad = one_text(as_tensor(pad_values, dtypes.string), "ngrams: pad_values")
    return pad, pad
