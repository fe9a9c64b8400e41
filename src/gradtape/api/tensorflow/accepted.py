"""Which dtypes a function takes: its tensor arguments are converted here,
and refused with TensorFlow's exception.

An op itself promotes and computes whatever NumPy can; `exp` of integers or `less` of booleans is a
mistake of the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.convert import TENSORFLOW, as_tensor, first_tensor, operand
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.errors import invalid_argument

FLOAT32 = dtypes.float32.numpy

Refusal = Callable[[str], Exception]


class Kind(NamedTuple):
    """A set of dtypes, and what an error calls it."""

    words: str
    dtypes: frozenset[np.dtype[Any]]


FLOATING = Kind("floating-point", frozenset(d.numpy for d in dtypes.ALL if d.is_floating))
COMPLEX = Kind("complex", frozenset(d.numpy for d in dtypes.ALL if d.is_complex))
INEXACT = Kind("floating-point or complex", FLOATING.dtypes | COMPLEX.dtypes)
REAL = Kind(
    "real numeric", FLOATING.dtypes | frozenset(d.numpy for d in dtypes.ALL if d.is_integer)
)
NUMERIC = Kind("numeric", REAL.dtypes | COMPLEX.dtypes)
SIGNED = Kind("signed numeric", frozenset(d for d in NUMERIC.dtypes if d.kind != "u"))
ORDERED = Kind("real numeric or bool", REAL.dtypes | {dtypes.bool_.numpy})
ANY = Kind("any", frozenset(d.numpy for d in dtypes.ALL))
SUMMABLE = Kind("numeric or string", NUMERIC.dtypes | {dtypes.string.numpy})


def of_kind(
    value: Any, kind: Kind, function: str, argument: str = "x", refusal: Refusal = invalid_argument
) -> Tensor:
    """`value` as a Tensor whose dtype is of this kind."""
    if type(value) is Tensor and value.array.dtype is FLOAT32:  # every kind has it
        return value
    x = value if type(value) is Tensor else as_tensor(value, argument=f"{function}: {argument}")
    if x.array.dtype not in kind.dtypes:
        raise refusal(_wrong_dtype(function, argument, x.array.dtype, kind))
    return x


def pair_of_kind(
    x: Any, y: Any, kind: Kind, function: str, refusal: Refusal = invalid_argument
) -> tuple[Any, Any]:
    """Two operands, at least one of them a Tensor, whose common dtype is of this kind.

    Plain numbers stay as they are.
    """
    if (
        type(x) is Tensor
        and type(y) is Tensor
        and x.array.dtype is FLOAT32
        and y.array.dtype is FLOAT32
    ):
        return x, y  # the commonest case, before the general one
    x = first_tensor(x, y)
    return (
        (x, y)
        if _fits(x, kind) and _fits(y, kind)
        else tensors_of_kind(x, y, kind, function, refusal=refusal)
    )


def tensors_of_kind(
    x: Any,
    y: Any,
    kind: Kind,
    function: str,
    arguments: tuple[str, str] = ("x", "y"),
    refusal: Refusal = invalid_argument,
) -> tuple[Tensor, Tensor]:
    """Two operands as Tensors whose common dtype is of this kind;
    a plain value takes the dtype of the Tensor beside it.
    """
    x, y = TENSORFLOW.tensors(
        [first_tensor(x, y), y], [f"{function}: {argument}" for argument in arguments]
    )
    found = (x.array.dtype, y.array.dtype)
    if (
        not all(dtype in kind.dtypes for dtype in found)
        and dtypes.promote(*found) not in kind.dtypes
    ):
        wrong = 0 if found[0] not in kind.dtypes else 1
        raise refusal(_wrong_dtype(function, arguments[wrong], found[wrong], kind))
    return x, y


def boolean(value: Any, function: str, argument: str = "x") -> Tensor:
    """`value` as a Tensor of truth values.

    As in TensorFlow, a NumPy array is cast, but neither a Tensor nor a Python number.
    """
    found = operand(value)
    if isinstance(found, Tensor):
        if found.array.dtype.kind != "b":
            raise invalid_argument(_wrong_dtype(function, argument, found.array.dtype, _BOOLEAN))
        return found
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
        return Tensor(np.asarray(value).astype(bool)[()])
    converted = as_tensor(value, argument=f"{function}: {argument}")
    if converted.array.dtype.kind != "b" and converted.array.size:
        raise TypeError(_wrong_dtype(function, argument, converted.array.dtype, _BOOLEAN))
    return converted if converted.array.dtype.kind == "b" else Tensor(converted.array.astype(bool))


_BOOLEAN = Kind("bool", frozenset({dtypes.bool_.numpy}))


def _fits(value: Any, kind: Kind) -> bool:
    found = type(value)
    return (
        found is float
        or found is int
        or ((found is Tensor or found is Variable) and value.array.dtype in kind.dtypes)
    )


def _wrong_dtype(function: str, argument: str, dtype: Any, kind: Kind) -> str:
    return (
        f"{function}: {argument} has dtype {dtypes.from_numpy(dtype).name}, but {function} takes "
        f"{kind.words} tensors: "
        "convert it with gradtape.cast."
    )
