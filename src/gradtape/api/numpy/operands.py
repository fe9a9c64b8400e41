"""How the functions of `gradtape.numpy` take their arguments: Tensors from anything, dtypes,
axes, and what is refused.

The rule for dtypes: plain values take the dtype of the Tensors beside them where the kinds allow
it; Tensors of different dtypes meet by gradtape's lattice; and where NumPy would fall back on a
default dtype, gradtape's stand in the place of NumPy's: float32, int32, complex64. Arguments of 64
bits (complex: 128) keep their width.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from gradtape import dtypes, nest
from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.core.values import to_array
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import is_traced
from gradtape.ops.broadcasting import cast
from gradtape.ops.op import is_tensor_like, operand, pair_of_floats

BOOL = np.dtype(np.bool_)
INT32, INT64, UINT32 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint32)
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
COMPLEX64, COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)

_DEFAULTS = {FLOAT64: FLOAT32, INT64: INT32, np.dtype(np.uint64): UINT32, COMPLEX128: COMPLEX64}
_PYTHON_TYPES = frozenset((bool, int, float, complex))
_KNOWN = frozenset(d.numpy for d in dtypes.ALL if d is not dtypes.string)


# Tensors


def tensor_of(value: Any, function: str, argument: str = "x") -> Tensor:
    """`value` as a Tensor.

    Python numbers take gradtape's default dtypes, NumPy arrays keep their own.
    """
    if type(value) is Tensor:
        return value
    read = operand(value)
    return read if isinstance(read, Tensor) else Tensor(plain_array(read, function, argument))


def tensors_of(
    values: Sequence[Any], function: str, arguments: str | Sequence[str]
) -> list[Tensor]:
    """`values` as Tensors; plain ones take the dtype of the Tensors beside them where the kinds
    allow it.

    `arguments` names each of them, or the sequence that they stand in. If none is a Tensor, NumPy
    arrays keep their dtypes, and Python numbers and lists take that of the arrays.
    """
    if all(type(value) is Tensor for value in values):
        return list(values)
    pair = pair_of_floats(*values) if len(values) == 2 else None
    if pair is not None:
        return list(pair)
    names = (
        [f"{arguments}[{i}]" for i in range(len(values))]
        if isinstance(arguments, str)
        else arguments
    )
    read = [operand(value) for value in values]
    found = [r.array.dtype for r in read if isinstance(r, Tensor)]
    if not found:
        found = [
            r.dtype for r in read if isinstance(r, (np.ndarray, np.generic)) and r.dtype in _KNOWN
        ]
        kept: tuple[type, ...] = (Tensor, np.ndarray, np.generic)
    else:
        kept = (Tensor,)
    strong = common_dtype(found) if found else None
    return [
        r
        if isinstance(r, Tensor)
        else Tensor(plain_array(r, function, name, None if isinstance(r, kept) else strong))
        for r, name in zip(read, names, strict=True)
    ]


def plain_array(
    value: Any, function: str, argument: str, strong: np.dtype[Any] | None = None
) -> Any:
    """A plain value as a new array, beside a Tensor of dtype `strong` if there is one."""
    array = (
        value
        if isinstance(value, (np.ndarray, np.generic))
        else array_of(value, function, argument)
    )
    _check_known(array, value, function, argument)
    wanted = (
        dtypes.promote_weak(strong, array.dtype)
        if strong is not None and (array.size or array.dtype == strong)
        else strong
    )
    if wanted is None:
        own = to_array(value, argument=f"{function}: {argument}")
        return own.astype(COMPLEX64) if own.dtype == COMPLEX128 and value is not array else own
    return to_array(value, wanted, argument=f"{function}: {argument}")


def array_of(value: Any, function: str, argument: str) -> Any:
    """A plain value as NumPy has it."""
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(
            f"{function}: {argument} cannot become a tensor: its rows have different lengths."
        ) from error


def _check_known(array: Any, value: Any, function: str, argument: str) -> None:
    """Refuses the arrays of NumPy that are no tensors."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise TypeError(
            f"{function}: {argument} is a masked array, which no Tensor can stand beside: use its "
            "filled() values and gradtape.where."
        )
    if array.dtype.newbyteorder("=") in _KNOWN:
        return
    kind = array.dtype.kind
    if kind == "f":
        what, instead = f"has dtype {array.dtype}", "convert it with astype(numpy.float64)"
    elif kind in "mM":
        what, instead = "holds dates or times", "convert it to numbers with astype(numpy.int64)"
    elif kind in "SUT" or isinstance(value, (str, bytes)):
        what, instead = "holds text", "give numbers"
    elif array.dtype.names is not None:
        what, instead = (
            f"is a structured array with the fields {array.dtype.names}",
            "give one of its fields",
        )
    else:
        what, instead = (
            f"holds objects such as {_first(array)}",
            "convert it to an array of numbers first",
        )
    raise TypeError(f"{function}: {argument} {what}, which no Tensor can stand beside: {instead}.")


def _first(array: Any) -> str:
    text = repr(array.reshape(-1)[0]) if array.size else "none"
    return text if len(text) <= 60 else text[:57] + "..."


def promoted(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors in the dtype in which they meet."""
    common = common_dtype([x.array.dtype for x in tensors])
    return [converted(x, common) for x in tensors]


def converted(x: Tensor, dtype: Any) -> Tensor:
    """`x` in `dtype`, which is a NumPy dtype; None leaves it as it is."""
    if dtype is None or x.array.dtype == dtype:
        return x
    if "O" in (x.array.dtype.kind, dtype.kind):
        raise TypeError(
            f"numbers and text cannot be converted to each other: {x.dtype.name} to "
            f"{dtypes.from_numpy(dtype).name}."
        )
    return cast(x, dtype=dtype)


def inexact(x: Tensor) -> Tensor:
    """Truth values and integers as floats; floating-point and complex numbers as they are."""
    return converted(x, float_dtype(x.array.dtype))


def widened(x: Tensor) -> Tensor:
    """`inexact`, and float32 at least, for functions that NumPy computes in float64 whatever they
    are given.
    """
    return (
        converted(x, FLOAT32)
        if x.array.dtype.kind == "V" or x.array.dtype == np.float16
        else inexact(x)
    )


def is_recorded(x: Any) -> bool:
    """Whether a tape or an accumulator follows this Tensor now."""
    return isinstance(x, Tensor) and x.node is not None and x.node.scope.any_open()


# Dtypes


def common_dtype(found: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype in which arguments of these dtypes meet."""
    common = found[0]
    for dtype in found[1:]:
        common = dtypes.promote(common, dtype)
    return common


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a mean, a square root or the like: float32 for truth values and integers,
    float64 for those of 64 bits.
    """
    if dtype.kind not in "biu":
        return dtype
    return FLOAT64 if dtype.itemsize == 8 else FLOAT32


def sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a sum or product: int32 or uint32 at least."""
    if dtype.kind in "bi":
        return INT64 if dtype.itemsize == 8 else INT32
    if dtype.kind == "u":
        return dtype if dtype.itemsize == 8 else UINT32
    return dtype


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of a complex number, and of an absolute value."""
    return dtypes.from_numpy(dtype).real_dtype.numpy


def dtype_of(dtype: Any, default: np.dtype[Any] | None = None) -> Any:
    """The NumPy dtype of a `dtype` argument, or `default` if it is None.

    Python's types mean gradtape's defaults, or those of NumPy if `default` is of 64 bits:
    `astype(float)` keeps float64.
    """
    if dtype is None:
        return default
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return with_defaults(np.dtype(dtype), [] if default is None else [default])
    return dtypes.as_dtype(dtype).numpy


def with_defaults(dtype: np.dtype[Any], given: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype of a result that NumPy gives in `dtype` for arguments of the dtypes `given`.

    It is narrowed if NumPy widened it on its own account: no argument is of that width.
    """
    if dtype not in _DEFAULTS or any(d in _DEFAULTS for d in given):
        return dtype
    return _DEFAULTS[dtype]


# Axes


def axis_of(axis: Any, rank: int, function: str, argument: str = "axis") -> int:
    """An axis as a number from 0 to rank - 1, or NumPy's AxisError."""
    return normalize_axis_index(_index(axis, function, argument), rank, f"{function}: {argument}")


def axes_of(axis: Any, rank: int, function: str, argument: str = "axis") -> tuple[int, ...] | None:
    """The axes to reduce, as a tuple of numbers from 0 to rank - 1; None means all."""
    if axis is None:
        return None
    if isinstance(axis, (list, tuple)):
        axis = [_index(a, function, argument) for a in axis]
        return normalize_axis_tuple(axis, rank, f"{function}: {argument}")
    return (axis_of(axis, rank, function, argument),)


def _index(value: Any, function: str, argument: str) -> int:
    try:
        return int(value.__index__())
    except (AttributeError, TypeError) as error:
        raise TypeError(f"{function}: {argument} must be an integer, got {value!r}.") from error


# What goes out of Tensors and comes back


def known_values(x: Tensor) -> Any:
    """The values of a Tensor as an array; None where they are not known yet: under vmap, or in a
    program that is being traced.
    """
    return None if isinstance(x, BatchedTensor) or is_traced(x) else np.asarray(x.array)


def values_of(x: Tensor, function: str, argument: str = "x") -> Any:
    """The values of a Tensor as an array, for a function whose result's shape depends on them."""
    known = known_values(x)
    if known is None:
        raise TypeError(
            f"{function}: the result depends on the values of {argument}, which are not known "
            "inside vmap or gradtape.function: "
            "call it outside."
        )
    return known


def plain(structure: Any) -> Any:
    """The same arguments with arrays in the place of Tensors and Variables,
    for a function of NumPy's own.
    """
    return nest.map_structure(
        lambda leaf: operand(leaf).array if is_tensor_like(leaf) else leaf, structure
    )


def wrapped(result: Any) -> Any:
    """The same result with Tensors in the place of arrays; Python's own values,
    dtypes and shapes stay what they are.
    """
    if isinstance(result, (np.ndarray, np.generic)):
        return Tensor(result) if result.dtype in _KNOWN else result
    if isinstance(result, (list, tuple)):
        entries = [wrapped(entry) for entry in result]
        return type(result)(*entries) if hasattr(result, "_fields") else type(result)(entries)
    return result


def into(out: Any, result: Tensor, function: str) -> Any:
    """`result`, or the array `out` with its values in it, which a tape cannot follow."""
    if out is None:
        return result
    if isinstance(out, tuple) and len(out) == 1:
        return into(out[0], result, function)
    if isinstance(out, (Tensor, Variable)):
        raise refusal(function, "out", f"Tensors do not change: write x = {function}(...)")
    if is_recorded(result):
        raise refusal(
            function,
            "out",
            f"what is written into an array, by += too, leaves the tape: write x = {function}(...)",
        )
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{function}: out must be an array, got {out!r}.")
    np.copyto(out, result.array, casting="same_kind")
    return out


def refusal(function: str, argument: str, reason: str) -> TypeError:
    """The error for an argument of NumPy's that Tensors cannot serve;
    `reason` says what to write instead.
    """
    return TypeError(f"{function}: {argument}= cannot be used with Tensors; {reason}.")
