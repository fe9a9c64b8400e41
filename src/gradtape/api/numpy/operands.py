"""How the functions of `gradtape.numpy` convert and check their arguments: tensors, dtypes, axes,
and what is refused.

The rule for dtypes: plain values take the dtype of the Tensors beside them where the kinds allow
it; Tensors of different dtypes are promoted by gradtape's lattice; and where NumPy would fall back
on a default dtype, gradtape's defaults replace NumPy's: float32, int32, complex64. Arguments of 64
bits (complex: 128) keep their width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from gradtape import dtypes, nest
from gradtape.convert import NUMPY, common_dtype, is_tensor_like, operand, pair_of_floats
from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import is_traced
from gradtape.ops.broadcasting import cast

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
    return value if type(value) is Tensor else NUMPY.tensor(value, f"{function}: {argument}")


def tensors_of(
    values: Sequence[Any], function: str, arguments: str | Sequence[str]
) -> list[Tensor]:
    """`values` as Tensors, see `NumPyPolicy`; `arguments` names each of them,
    or the sequence that they stand in.
    """
    if all(type(value) is Tensor for value in values):
        return list(values)
    pair = pair_of_floats(*values) if len(values) == 2 else None
    if pair is not None:
        return list(pair)
    named = [arguments] if isinstance(arguments, str) else arguments
    names = [f"{function}: {argument}" for argument in named]
    return NUMPY.tensors(values, names[0] if isinstance(arguments, str) else names)


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
            f"Numbers and strings cannot be converted into each other: {x.dtype.name} to "
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
        return Tensor(np.asarray(result)[()]) if result.dtype in _KNOWN else result
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
        raise refusal(function, "out", f"Tensors are immutable: write x = {function}(...)")
    if is_recorded(result):
        raise refusal(
            function,
            "out",
            "what is written into an array, also with +=, leaves the tape: write x = "
            f"{function}(...)",
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
