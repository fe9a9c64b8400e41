"""Strings put together: `tf.strings.join`, `reduce_join`, `as_string`, `format`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.arguments import as_int, integers
from gradtape.api.tensorflow.debugging.printing import values_in_words
from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.errors import OutOfRangeError, invalid_argument
from gradtape.published import published
from gradtape.ragged.elementwise import lined_up
from gradtape.ragged.tensor import RaggedTensor
from gradtape.strings.texts import array_of_texts, numbers, one_text, texts


@published("strings.join")
def join(inputs: Sequence[Any], separator: Any = "", name: str | None = None) -> Any:
    """The strings of several tensors of one shape, joined one by one; a scalar goes with every
    string.

    >>> import gradtape as tf
    >>> tf.strings.join([["a", "b"], "x"], separator="-").numpy()
    array([b'a-x', b'b-x'], dtype=object)
    """
    if isinstance(inputs, (str, bytes)):
        raise TypeError("join: inputs must be a list of tensors of strings, got a string.")
    between = one_text(separator, "join: separator")
    given = list(inputs)
    if any(isinstance(v, RaggedTensor) for v in given):
        parts = [v if isinstance(v, RaggedTensor) else as_tensor(v, dtypes.string) for v in given]
        like, flat = lined_up(parts, "join")
        return like.with_flat_values(join(flat, separator))
    arrays = [texts(v, f"join: inputs[{i}]") for i, v in enumerate(given)]
    shapes = sorted({a.shape for a in arrays if a.ndim})
    if len(shapes) > 1:
        raise invalid_argument(
            f"join: inputs must be scalars or have one shape, got {', '.join(map(str, shapes))}."
        )
    shape = shapes[0] if shapes else ()
    columns = [np.broadcast_to(a, shape).reshape(-1).tolist() for a in arrays]
    rows = zip(*columns, strict=True) if columns else [()]
    return Tensor(array_of_texts((between.join(row) for row in rows), shape))


@published("strings.reduce_join")
def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: Any = "",
    name: str | None = None,
) -> Any:
    """The strings along `axis` joined into one; along several axes, the first one
    of them varies fastest.

    >>> import gradtape as tf
    >>> tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=1).numpy()
    array([b'ab', b'cd'], dtype=object)
    """
    between = one_text(separator, "reduce_join: separator")
    if isinstance(inputs, RaggedTensor):
        return _joined_rows(inputs, axis, keepdims, between)
    array = texts(inputs, "reduce_join: inputs")
    rank = array.ndim
    # TensorFlow joins along the first axis of a list first: it varies fastest.
    given = range(rank)[::-1] if axis is None else integers(axis, "reduce_join: axis")
    places = list(given)[::-1]
    for place in places:
        if not -rank <= place < rank:
            raise OutOfRangeError(
                None, None, f"reduce_join: axis={place} is not an axis of a tensor of rank {rank}."
            )
    places = [place % rank for place in places] if rank else []
    if len(set(places)) < len(places):
        raise invalid_argument(f"reduce_join: axis={places} names an axis twice.")
    if not places:
        return Tensor(array)
    kept = [i for i in range(rank) if i not in places]
    rows = array.transpose([*kept, *places])
    outer = rows.shape[: len(kept)]
    count = int(np.prod(outer))
    width = int(np.prod(rows.shape[len(kept) :]))
    lines = rows.reshape(count, width).tolist()
    shape = tuple(1 if i in places else n for i, n in enumerate(array.shape))
    return Tensor(array_of_texts((between.join(r) for r in lines), shape if keepdims else outer))


def _joined_rows(x: RaggedTensor, axis: Any, keepdims: bool, between: bytes) -> Any:
    rank = x.shape.rank
    assert rank is not None
    place = rank - 1 if axis is None else as_int(axis, "reduce_join: axis")
    if axis is None:
        if rank != 2 or keepdims:
            raise ValueError("reduce_join: of a RaggedTensor, give one axis.")
        return Tensor(array_of_texts([between.join(x.flat_values.array.tolist())], ()))
    if not -rank <= place < rank or place % rank == 0 or keepdims:
        raise ValueError(
            f"reduce_join: of a RaggedTensor of rank {rank}, axis must be from 1 to {rank - 1}, "
            f"without keepdims; got {axis}."
        )
    place %= rank
    inner = x.values
    if place > 1:
        found = (
            _joined_rows(inner, place - 1, keepdims, between)
            if isinstance(inner, RaggedTensor)
            else reduce_join(inner, place - 1, separator=between)
        )
        return x.with_values(found)
    if isinstance(inner, RaggedTensor) or inner.ndim > 1:
        raise ValueError("reduce_join: of a RaggedTensor, only the innermost axis can be joined.")
    rows = x.to_list()
    return Tensor(array_of_texts((between.join(row) for row in rows), (len(rows),)))


@published("strings.unsorted_segment_join")
def unsorted_segment_join(
    inputs: Any,
    segment_ids: Any,
    num_segments: Any,
    separator: Any = "",
    name: str | None = None,
) -> Tensor:
    """The strings of each of `num_segments` segments, joined.

    >>> import gradtape as tf
    >>> tf.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2, separator=":").numpy()
    array([b'b', b'a:c'], dtype=object)
    """
    between = one_text(separator, "unsorted_segment_join: separator")
    array = texts(inputs, "unsorted_segment_join: inputs")
    ids = numbers(segment_ids, "unsorted_segment_join: segment_ids")
    count = as_int(num_segments, "unsorted_segment_join: num_segments")
    if ids.dtype.kind not in "iu" or array.shape[: ids.ndim] != ids.shape or not ids.ndim:
        raise invalid_argument(
            f"unsorted_segment_join: inputs of shape {array.shape} must begin with the shape of "
            f"integer segment_ids, {ids.shape}."
        )
    if count < 0 or (ids >= count).any():
        raise invalid_argument(
            f"unsorted_segment_join: segment_ids must be less than num_segments={count}."
        )
    inner = array.shape[ids.ndim :]
    rows = array.reshape(ids.size, -1) if ids.size else np.empty((0, int(np.prod(inner))), object)
    groups: list[list[list[bytes]]] = [[[] for _ in range(rows.shape[1])] for _ in range(count)]
    for number, row in zip(ids.reshape(-1).tolist(), rows.tolist(), strict=True):
        if number >= 0:
            for place, text in enumerate(row):
                groups[number][place].append(text)
    found = [between.join(entries) for group in groups for entries in group]
    return Tensor(array_of_texts(found, (count, *inner)))


_FILLS = ("", " ", "-", "0", "+", "#")


@published("strings.as_string", "as_string")
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor | RaggedTensor:
    """Numbers and truth values as strings, in the way of C's `printf`.

    >>> import gradtape as tf
    >>> tf.strings.as_string([3.14159, 2.0], precision=2).numpy()
    array([b'3.14', b'2.00'], dtype=object)
    """
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(
            as_string(input.flat_values, precision, scientific, shortest, width, fill)
        )
    given = as_tensor(input, argument="as_string: input")
    if given.dtype == dtypes.string:
        return given
    if scientific and shortest:
        raise invalid_argument("as_string: give scientific or shortest, not both.")
    if fill not in _FILLS:
        raise invalid_argument(f"as_string: fill must be one of {_FILLS}, got {fill!r}.")
    array = numbers(given, "as_string: input")
    is_real = given.dtype.is_floating
    if not (is_real or given.dtype.is_complex) and (precision >= 0 or scientific or shortest):
        raise invalid_argument(
            "as_string: precision, scientific and shortest are for floats, but input has dtype "
            f"{given.dtype.name}."
        )
    if fill in "+ " and given.dtype.is_unsigned:
        fill = ""  # in C, which prints for TensorFlow, these are for signed numbers
    size = f"{width if width >= 0 else ''}"
    kind = "e" if scientific else "g" if shortest else "f"
    digits = f".{precision}" if precision >= 0 else ""
    form = f"%{fill}{size}{digits}{kind}"
    no_number = f"%{fill if fill != '0' else ''}{size}{kind}"  # NaN has no leading zeros

    def shown(value: float) -> str:
        return (form if math.isfinite(value) else no_number) % value

    if given.dtype.is_bool:
        found = [b"true" if value else b"false" for value in array.reshape(-1).tolist()]
    elif given.dtype.is_integer:
        found = [(f"%{fill}{size}d" % value).encode() for value in array.reshape(-1).tolist()]
    elif is_real:
        values = array.reshape(-1).astype(np.float64).tolist()
        found = [shown(value).encode() for value in values]
    else:
        values = array.reshape(-1).tolist()
        found = [f"({shown(value.real)},{shown(value.imag)})".encode() for value in values]
    return Tensor(array_of_texts(found, array.shape))


@published("strings.format")
def format_(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """A template with tensors in the places of its placeholders; of each axis, the first and last
    `summarize` entries.

    >>> import gradtape as tf
    >>> tf.strings.format("x = {}", tf.range(10)).numpy()
    b'x = [0 1 2 ... 7 8 9]'
    """
    given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if len(parts) - 1 != len(given):
        raise ValueError(
            f"format: template has {len(parts) - 1} placeholders, but there are {len(given)} "
            "inputs."
        )
    limit = as_int(summarize, "format: summarize")
    found = [parts[0]]
    for i, (value, part) in enumerate(zip(given, parts[1:], strict=True)):
        array = as_tensor(value, argument=f"format: inputs[{i}]")
        if array.dtype != dtypes.string:
            array = Tensor(np.asarray(numbers(array, f"format: inputs[{i}]")))
        found += (values_in_words(array.array, limit, undecoded="surrogateescape"), part)
    return Tensor(array_of_texts(["".join(found).encode(errors="surrogateescape")], ()))
