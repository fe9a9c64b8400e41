"""NumPy's elementwise functions that are not ufuncs: `where`, `select`, `clip`, the parts of
complex numbers and the like.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from gradtape.api.numpy.operands import (
    BOOL,
    axis_of,
    converted,
    dtype_of,
    into,
    promoted,
    tensor_of,
    tensors_of,
    values_of,
)
from gradtape.api.numpy.ufunc import by_value, floating
from gradtape.api.tensorflow.arguments import as_list
from gradtape.core.tensor import Tensor
from gradtape.ops import (
    arithmetic,
    broadcasting,
    elementary,
    selection,
    shaping,
    special_bessel,
    ufuncs,
)
from gradtape.ops.indexing import scatter_rows, take
from gradtape.published import published

# Choosing


@overload
def where(condition: Any, /) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Any, x: Any, y: Any, /) -> Tensor: ...
@published("numpy.where", "array_api.where")
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """`x` where the condition holds, else `y`; without them, the indices of what is not 0,
    one tensor for each axis.

    >>> import gradtape as tf
    >>> tf.numpy.where([True, False], [1.0, 2.0], 0.0).numpy()
    array([1., 0.], dtype=float32)
    """
    if (x is None) != (y is None):
        raise ValueError("where: give both x and y, or neither of them.")
    chosen = tensor_of(condition, "where", "condition")
    if x is None:
        return tuple(
            Tensor(indices) for indices in np.nonzero(values_of(chosen, "where", "condition"))
        )
    return selection.where(converted(chosen, BOOL), *tensors_of([x, y], "where", ("x", "y")))


@published("numpy.select")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """For each element the choice of the first condition that holds, or `default`.

    >>> import gradtape as tf
    >>> x = tf.constant([-1.0, 0.5, 3.0])
    >>> tf.numpy.select([x < 0, x < 1], [-x, x], 1.0).numpy()
    array([1. , 0.5, 1. ], dtype=float32)
    """
    condlist, choicelist = (
        as_list(condlist, "select: condlist"),
        as_list(choicelist, "select: choicelist"),
    )
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"select: {len(condlist)} conditions, but {len(choicelist)} choices: give one choice "
            "for each condition, and at least one."
        )
    *choices, result = tensors_of(
        [*choicelist, default], "select", [*_listed("choicelist", choicelist), "default"]
    )
    for i, (condition, choice) in reversed(list(enumerate(zip(condlist, choices, strict=True)))):
        chosen = tensor_of(condition, "select", f"condlist[{i}]")
        if chosen.array.dtype.kind != "b":
            raise TypeError(
                f"select: condlist[{i}] must be boolean, got dtype {chosen.dtype.name}."
            )
        result = selection.where(chosen, choice, result)
    return result


def _listed(name: str, values: Sequence[Any]) -> list[str]:
    return [f"{name}[{i}]" for i in range(len(values))]


@published("numpy.piecewise")
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Tensor:
    """A function by parts: where a condition holds,
    the function (or the number) of the same place, of those elements alone.

    One function more than conditions gives the value where none holds; else that is 0.

    >>> import gradtape as tf
    >>> x = tf.constant([-4.0, 9.0])
    >>> tf.numpy.piecewise(x, [x < 0, x >= 0], [0.0, lambda v: v**0.5]).numpy()
    array([0., 3.], dtype=float32)
    """
    given = tensor_of(x, "piecewise")
    flat = shaping.reshape(given, shape=(given.array.size,))
    masks, funclist = _masks(condlist, given.array.shape), as_list(funclist, "piecewise: funclist")
    if len(funclist) == len(masks) + 1:
        masks.append(~np.any(masks, axis=0))
    elif len(funclist) != len(masks):
        raise ValueError(
            f"piecewise: {len(masks)} conditions and {len(funclist)} functions: give one function "
            "for each condition, or one more."
        )
    result = selection.zeros_like(flat)
    for mask, function in zip(masks, funclist, strict=True):
        places = np.flatnonzero(mask)
        if not places.size:
            continue
        value = (
            function(take(flat, places, axis=0), *args, **kw) if callable(function) else function
        )
        _, part = tensors_of([flat, value], "piecewise", ("x", "funclist"))
        part = broadcasting.broadcast_to(converted(part, flat.array.dtype), shape=places.shape)
        result = selection.where(
            mask.reshape(-1), scatter_rows(part, places, shape=flat.array.shape), result
        )
    return shaping.reshape(result, shape=given.array.shape)


def _masks(condlist: Any, shape: tuple[int, ...]) -> list[Any]:
    """The conditions as arrays of `shape`; a single one need not stand in a list."""
    single = isinstance(condlist, (Tensor, np.ndarray)) and condlist.ndim == len(shape)
    if single or (
        isinstance(condlist, (list, tuple)) and condlist and isinstance(condlist[0], bool) and shape
    ):
        condlist = [condlist]
    conditions = [
        values_of(tensor_of(c, "piecewise", "condlist"), "piecewise", "condlist")
        for c in as_list(condlist, "piecewise: condlist")
    ]
    for i, condition in enumerate(conditions):
        if condition.ndim > len(shape) or any(
            n not in (1, m) for n, m in zip(condition.shape[::-1], shape[::-1], strict=False)
        ):
            raise ValueError(
                f"piecewise: condlist[{i}] of shape {condition.shape} does not fit x of shape "
                f"{shape}."
            )
    return [np.broadcast_to(condition.astype(bool), shape) for condition in conditions]


# Bounds and replacements


@published("numpy.clip")
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
) -> Tensor:
    """`a` with what is below the minimum or above the maximum put on the bound;
    on a bound the gradient is that of `a`.

    >>> import gradtape as tf
    >>> tf.numpy.clip([-3.0, 0.5, 3.0], -1.0, 1.0).numpy()
    array([-1. ,  0.5,  1. ], dtype=float32)
    """
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise ValueError(
            "clip: a bound was given twice: give either a_min and a_max or min and max."
        )
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    names = ["a", *(name for name, bound in (("a_min", low), ("a_max", high)) if bound is not None)]
    x, *bounds = promoted(
        tensors_of([a, *(bound for bound in (low, high) if bound is not None)], "clip", names)
    )
    if low is not None:
        x = arithmetic.maximum(x, bounds[0])
    if high is not None:
        x = arithmetic.minimum(x, bounds[-1])
    return into(out, converted(x, dtype_of(dtype, x.array.dtype)), "clip")


@published("numpy.nan_to_num")
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Tensor:
    """`x` with numbers in the place of NaN and infinities:
    0 and the largest numbers of the dtype, unless others are given.

    >>> import gradtape as tf
    >>> tf.numpy.nan_to_num([1.0, float("nan"), float("inf")], posinf=9.0).numpy()
    array([1., 0., 9.], dtype=float32)
    """
    given = tensor_of(x, "nan_to_num")
    if given.array.dtype.kind == "c":
        parts = [
            nan_to_num(part(given), copy, nan, posinf, neginf)
            for part in (broadcasting.real, broadcasting.imag)
        ]
        return broadcasting.complex_from_parts(*parts)
    if given.array.dtype.kind in "biu":
        return given
    limits = given.dtype
    result = selection.where(arithmetic.is_nan(given), nan, given)
    result = selection.where(
        by_value("isposinf", given), limits.max if posinf is None else posinf, result
    )
    return selection.where(
        by_value("isneginf", given), limits.min if neginf is None else neginf, result
    )


# Complex numbers and angles


@published("numpy.real", "array_api.real")
def real(val: Any) -> Tensor:
    """The real part; a real tensor as it is.

    >>> import gradtape as tf
    >>> tf.numpy.real([1.0 + 2.0j]).numpy()
    array([1.], dtype=float32)
    """
    x = tensor_of(val, "real", "val")
    return broadcasting.real(x) if x.array.dtype.kind == "c" else x


@published("numpy.imag", "array_api.imag")
def imag(val: Any) -> Tensor:
    """The imaginary part; for a real tensor constant zeros.

    >>> import gradtape as tf
    >>> tf.numpy.imag([1.0 + 2.0j]).numpy()
    array([2.], dtype=float32)
    """
    x = tensor_of(val, "imag", "val")
    return broadcasting.imag(x) if x.array.dtype.kind == "c" else selection.zeros_like(x)


@published("numpy.angle")
def angle(z: Any, deg: bool = False) -> Tensor:
    """The angle of a complex number, from -π to π, or in degrees; for a real tensor the constant 0,
    or π where it is negative.

    >>> import gradtape as tf
    >>> tf.numpy.angle([1.0j, -1.0]).numpy().round(4)
    array([1.5708, 3.1416], dtype=float32)
    """
    x = floating(z, "angle")
    is_complex = x.array.dtype.kind == "c"
    result = (
        elementary.atan2(broadcasting.imag(x), broadcasting.real(x))
        if is_complex
        else by_value("angle", x)
    )
    return arithmetic.multiply(result, 180 / math.pi) if deg else result


@published("numpy.real_if_close")
def real_if_close(a: Any, tol: float = 100) -> Tensor:
    """The real part, if every imaginary part is at most `tol` times the rounding of the dtype;
    else `a` as it is.

    >>> import gradtape as tf
    >>> tf.numpy.real_if_close([1.0 + 1e-12j]).numpy()
    array([1.], dtype=float32)
    """
    x = tensor_of(a, "real_if_close", "a")
    if x.array.dtype.kind != "c":
        return x
    limit = tol * np.finfo(x.array.dtype).eps if tol > 1 else tol
    return (
        broadcasting.real(x)
        if np.all(np.absolute(values_of(x, "real_if_close", "a").imag) < limit)
        else x
    )


@published("numpy.unwrap")
def unwrap(
    p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Tensor:
    """Angles along `axis` with whole periods added wherever one jumps by half a period,
    or by `discont`.

    >>> import gradtape as tf
    >>> tf.numpy.unwrap([0.0, 5.0, 6.0]).numpy().round(4)
    array([ 0.    , -1.2832, -0.2832], dtype=float32)
    """
    x = tensor_of(p, "unwrap", "p")
    if not (x.array.dtype.kind in "iu" and isinstance(period, int)):
        x = floating(x, "unwrap")
    return ufuncs.unwrap(
        x, discont=discont, axis=axis_of(axis, x.array.ndim, "unwrap"), period=period
    )


# Functions of a number


@published("numpy.sinc")
def sinc(x: Any) -> Tensor:
    """`sin(πx) / (πx)`, and 1 at 0.

    >>> import gradtape as tf
    >>> tf.numpy.sinc([0.0, 0.5]).numpy().round(4)
    array([1.    , 0.6366], dtype=float32)
    """
    return ufuncs.sinc(floating(x, "sinc"), order=0)


@published("numpy.i0")
def i0(x: Any) -> Tensor:
    """The modified Bessel function of the first kind and order 0.

    >>> import gradtape as tf
    >>> tf.numpy.i0([0.0, 1.0]).numpy().round(4)
    array([1.    , 1.2661], dtype=float32)
    """
    x = floating(x, "i0")
    if x.array.dtype.kind == "c":
        raise TypeError("i0: x must be real, got complex numbers.")
    return special_bessel.bessel_i(x, order=0)
