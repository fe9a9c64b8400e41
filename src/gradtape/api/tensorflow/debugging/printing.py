"""Assertions and printing: `tf.debugging` and `tf.print`.

A failed assertion is an InvalidArgumentError that shows the data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from gradtape import nest
from gradtape.api.tensorflow.accepted import FLOATING, INEXACT, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_int
from gradtape.convert import TENSORFLOW
from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.host_calls import call_in_order, call_in_order_unless
from gradtape.core.xla.tensor import is_traced
from gradtape.core.xla.trace import inside_a_program
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, checks
from gradtape.published import published

_SHOWN = 3  # how many elements at each end of an axis are shown


@published("assert_equal", "debugging.assert_equal")
def assert_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises an InvalidArgumentError unless `x == y` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_equal([1, 2], [1, 2])
    """
    _compare("assert_equal", "x == y", arithmetic.equal, x, y, message, summarize)


@published("debugging.assert_none_equal")
def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> None:
    """Raises an InvalidArgumentError unless `x != y` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_none_equal([1, 2], 3)
    """
    _compare("assert_none_equal", "x != y", arithmetic.not_equal, x, y, message, summarize)


@published("assert_less", "debugging.assert_less")
def assert_less(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises an InvalidArgumentError unless `x < y` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_less([1, 2], 3)
    """
    _compare("assert_less", "x < y", arithmetic.less, x, y, message, summarize)


@published("debugging.assert_less_equal")
def assert_less_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises an InvalidArgumentError unless `x <= y` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_less_equal([1, 2], 2)
    """
    _compare("assert_less_equal", "x <= y", arithmetic.less_equal, x, y, message, summarize)


@published("assert_greater", "debugging.assert_greater")
def assert_greater(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises an InvalidArgumentError unless `x > y` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_greater([1, 2], 0)
    """
    _compare("assert_greater", "x > y", arithmetic.greater, x, y, message, summarize)


@published("debugging.assert_greater_equal")
def assert_greater_equal(
    x: TensorLike,
    y: TensorLike,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises an InvalidArgumentError unless `x >= y` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_greater_equal([1, 2], 1)
    """
    _compare("assert_greater_equal", "x >= y", arithmetic.greater_equal, x, y, message, summarize)


@published("debugging.assert_positive")
def assert_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an InvalidArgumentError unless `x > 0` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_positive([1, 2])
    """
    _compare("assert_positive", "x > 0", arithmetic.greater, x, 0, message, summarize)


@published("debugging.assert_non_negative")
def assert_non_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an InvalidArgumentError unless `x >= 0` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_non_negative([0, 1])
    """
    _compare("assert_non_negative", "x >= 0", arithmetic.greater_equal, x, 0, message, summarize)


@published("debugging.assert_negative")
def assert_negative(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an InvalidArgumentError unless `x < 0` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_negative([-1, -2])
    """
    _compare("assert_negative", "x < 0", arithmetic.less, x, 0, message, summarize)


@published("debugging.assert_non_positive")
def assert_non_positive(
    x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """Raises an InvalidArgumentError unless `x <= 0` for every element.

    >>> import gradtape as tf
    >>> tf.debugging.assert_non_positive([0, -1])
    """
    _compare("assert_non_positive", "x <= 0", arithmetic.less_equal, x, 0, message, summarize)


def _compare(
    function: str,
    condition: str,
    op: Callable[..., Any],
    x: Any,
    y: Any,
    message: str | None,
    summarize: int | None,
) -> None:
    tensors = TENSORFLOW.tensors([x, y], [f"{function}: x", f"{function}: y"])
    _require(op(*tensors), tensors, f"{function}: {condition}", message, summarize)


def _require(
    holds: Tensor,
    tensors: Sequence[Tensor],
    condition: str,
    message: str | None,
    summarize: int | None,
) -> None:
    """Raises the error of an assertion that does not hold everywhere,
    with the elements for which it does not.

    A program that is being traced will raise it when it runs.
    """

    def refuse(holds: Any, x: Any = None, y: Any = None) -> NoReturn:
        fails = ~np.asarray(holds)
        where = f"{fails.sum()} of {fails.size} elements"
        if x is not None and all(np.ndim(a) <= fails.ndim for a in (x, y)):
            shown = [
                values_in_words(
                    np.broadcast_to(a, fails.shape)[fails],
                    _SHOWN if summarize is None else summarize,
                )
                for a in (x, y)
            ]
            where += f", where x = {shown[0]} and y = {shown[1]}"
        raise invalid_argument(
            f"{f'{message} ' if message else ''}{condition} does not hold for {where}."
        )

    found, arrays = holds, [x.array for x in tensors]
    # All examples at once; which elements they are is not shown.
    while isinstance(found, BatchedTensor):
        found, arrays = found.inner, []
    if is_traced(found):
        call_in_order_unless(found.array, refuse, [found.array, *arrays])
    elif not found.array.all():
        refuse(found.array, *arrays)


@published("debugging.assert_near")
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises an InvalidArgumentError unless `|x - y| <= atol + rtol * |y|` for every element.

    Each tolerance is 10 times the rounding error of the dtype, unless it is given.

    >>> import gradtape as tf
    >>> tf.debugging.assert_near([1.0, 2.0], [1.0, 2.1], atol=0.2)
    """
    tensors = TENSORFLOW.tensors([x, y], ["assert_near: x", "assert_near: y"])
    a, b = (
        of_kind(t, INEXACT, "assert_near", argument, ValueError)
        for t, argument in zip(tensors, "xy", strict=True)
    )
    usual = 10 * float(ml_dtypes.finfo(a.array.dtype).eps)  # type: ignore[no-untyped-call]
    allowed = arithmetic.absolute(b) * (usual if rtol is None else rtol) + (
        usual if atol is None else atol
    )
    holds = arithmetic.less_equal(arithmetic.absolute(a - b), allowed)
    _require(holds, [a, b], "assert_near: |x - y| <= atol + rtol * |y|", message, summarize)


@published("assert_rank", "debugging.assert_rank")
def assert_rank(
    x: TensorLike, rank: int, message: str | None = None, name: str | None = None
) -> None:
    """Raises a ValueError unless `x` has as many axes as `rank` says.

    >>> import gradtape as tf
    >>> tf.debugging.assert_rank([[1, 2]], 2)
    """
    found, wanted = TENSORFLOW.tensor(x, "assert_rank: x"), as_int(rank, "assert_rank: rank")
    if found.array.ndim != wanted:
        raise ValueError(
            f"{f'{message} ' if message else ''}assert_rank: x must have rank {wanted}, got shape "
            f"{found.shape}."
        )


@published("Assert", "debugging.Assert")
def Assert(  # noqa: N802
    condition: TensorLike,
    data: Sequence[Any],
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises an InvalidArgumentError with `data` unless `condition` is true.

    >>> import gradtape as tf
    >>> tf.debugging.Assert(tf.constant(1) < 2, ["all is well"])
    """
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"Assert: data must be a list of tensors, got {type(data).__name__}.")
    holds, values = TENSORFLOW.tensor(condition, "Assert: condition"), _Values(data)

    def refuse(*arrays: Any) -> NoReturn:
        shown = " ".join(
            _printed(value, _SHOWN if summarize is None else summarize)
            for value in values.with_known(arrays)
        )
        raise invalid_argument(f"Assert: the condition is false. Data: {shown}")

    if is_traced(holds):
        call_in_order_unless(holds.array, refuse, values.unknown())
    elif not holds.array.all():
        refuse(*values.unknown())


@published("debugging.check_numerics")
def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """`tensor`, refused with `message` if it, or later its gradient, holds NaN or infinity.

    >>> import gradtape as tf
    >>> tf.debugging.check_numerics([1.0, 2.0], "weights").numpy()
    array([1., 2.], dtype=float32)
    """
    checked = of_kind(
        TENSORFLOW.tensor(tensor, "check_numerics: tensor"), FLOATING, "check_numerics", "tensor"
    )
    found = checked
    while isinstance(found, BatchedTensor):
        found = found.inner
    if is_traced(found):  # also if the result is not used, as the op alone would not do
        refuse = lambda array: checks.check_numerics(np.asarray(array), message=message)
        call_in_order_unless(arithmetic.is_finite(found).array, refuse, [found.array])
    return checks.check_numerics(checked, message=message)


@published("debugging.assert_all_finite")
def assert_all_finite(x: TensorLike, message: str, name: str | None = None) -> Tensor:
    """`x`, refused with `message` if it, or later its gradient, holds NaN or infinity.

    >>> import gradtape as tf
    >>> tf.debugging.assert_all_finite([1.0, 2.0], "weights").numpy()
    array([1., 2.], dtype=float32)
    """
    return check_numerics(x, message)


@published("print")
def print(*inputs: Any, **kwargs: Any) -> None:
    """Prints tensors and other values on standard error; `summarize` is how many elements at each
    end of an axis are shown.

    In a `function` it prints whenever the compiled program comes by, in the program's order.
    `output_stream` is a file object, a function that takes the text, or "file://" and a path; `sep`
    and `end` are as in Python.

    >>> import gradtape as tf
    >>> import sys
    >>> tf.print("x =", tf.range(10), output_stream=sys.stdout)
    x = [0 1 2 ... 7 8 9]
    """
    stream = kwargs.pop("output_stream", None)
    sep, end, summarize = (
        kwargs.pop("sep", " "),
        kwargs.pop("end", "\n"),
        kwargs.pop("summarize", _SHOWN),
    )
    kwargs.pop("name", None)
    if kwargs:
        raise ValueError(
            f"print: unexpected keyword arguments {sorted(kwargs)}; it takes output_stream, sep, "
            "end, summarize and name."
        )
    if not (
        stream is None
        or hasattr(stream, "write")
        or callable(stream)
        or str(stream).startswith("file://")
    ):
        raise ValueError(
            "print: output_stream must be a file object, a function, or 'file://' and a path, got "
            f"{stream!r}."
        )
    values = _Values(inputs)

    def write(*arrays: Any) -> Sequence[Any]:
        _write(
            sep.join(_printed(value, summarize) for value in values.with_known(arrays)) + end,
            stream,
        )
        return []

    if inside_a_program():
        call_in_order(write, [], values.unknown())
    else:
        write()


def _write(text: str, stream: Any) -> None:
    """Writes text on a stream, on standard error if there is none."""
    if stream is None:
        sys.stderr.write(text)
    elif isinstance(stream, str) and stream.startswith("file://"):
        # pathlib takes 4 ms to import.
        with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
    elif hasattr(stream, "write"):
        stream.write(text)
    else:
        stream(text)


class _Values:
    """Values to be shown, some of which only a program that is being traced will know."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._structure = list(values)
        leaves = [
            leaf.tensor() if isinstance(leaf, Variable) else leaf
            for leaf in nest.flatten(self._structure)
        ]
        self._leaves = [None if is_traced(leaf) else leaf for leaf in leaves]
        self._unknown = {i: leaf for i, leaf in enumerate(leaves) if is_traced(leaf)}

    def unknown(self) -> list[Any]:
        """The program's arrays."""
        return [leaf.array for leaf in self._unknown.values()]

    def with_known(self, arrays: Sequence[Any]) -> list[Any]:
        """The values, with arrays in the place of those that were unknown."""
        leaves = list(self._leaves)
        for i, array in zip(self._unknown, arrays, strict=True):
            leaves[i] = Tensor(array)
        return nest.pack_sequence_as(self._structure, leaves)


class _Shown:
    """A tensor's text, which stands in a list or dict without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _printed(value: Any, limit: int) -> str:
    """A value as it is printed: text as it is, tensors by their values,
    also inside lists and dicts.
    """
    if isinstance(value, str):
        return value
    if not nest.is_nested(value):
        shown = _shown(value, limit, quoted=False)
        return shown.text if isinstance(shown, _Shown) else repr(value)
    return repr(nest.map_structure(lambda leaf: _shown(leaf, limit, quoted=True), value))


def _shown(value: Any, limit: int, *, quoted: bool) -> Any:
    if isinstance(value, (Tensor, Variable)):
        return _Shown(
            values_in_words(np.asarray(value.array), limit, quoted=quoted or value.array.ndim > 0)
        )
    return value


def values_in_words(
    array: Any, limit: int, *, quoted: bool = True, undecoded: str = "replace", depth: int = 1
) -> str:
    """An array's values, `limit` of them at each end of each axis, or all if it is negative.

    `undecoded` is what Python does with bytes that are not UTF-8.
    """
    if not np.ndim(array):
        return _element(array[()] if isinstance(array, np.ndarray) else array, quoted, undecoded)
    texts = [
        values_in_words(array[i], limit, quoted=quoted, undecoded=undecoded, depth=depth + 1)
        for i in _ends(len(array), limit)
    ]
    if 0 <= limit and 2 * limit < len(array):
        texts.insert(limit, "...")
    return f"[{(' ' if array.ndim == 1 else chr(10) * (array.ndim - 1) + ' ' * depth).join(texts)}]"


def _ends(size: int, limit: int) -> Sequence[int]:
    whole = limit < 0 or size <= 2 * limit
    return range(size) if whole else [*range(limit), *range(size - limit, size)]


_ESCAPES = {code: f"\\{code:03o}" for code in (*range(32), 127)} | {
    ord(letter): f"\\{escape}" for letter, escape in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)
}
"""How control characters, quotes and backslashes are written between quotes, as in C."""


def _element(value: Any, quoted: bool, undecoded: str) -> str:
    """A number with as few digits as tell it from its neighbours;
    text in quotes if it stands beside others.
    """
    if isinstance(value, (bytes, str)):
        text = value.decode(errors=undecoded) if isinstance(value, bytes) else value
        return f'"{text.translate(_ESCAPES)}"' if quoted else text
    if value.dtype.kind in "biu":
        return str(int(value))
    if value.dtype.kind == "c":
        return str(value)
    wide = value.dtype.itemsize == 8
    number = np.float64(value) if wide else np.float32(value)
    short = f"{number:.{15 if wide else 6}g}"
    return (
        short
        if type(number)(short) == number or np.isnan(number)
        else f"{number:.{17 if wide else 9}g}"
    )
