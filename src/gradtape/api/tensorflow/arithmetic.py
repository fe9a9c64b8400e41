"""Less common arithmetic: truncating division, polynomials, sums of lists, cumulative
log-sum-exp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import (
    FLOATING,
    INEXACT,
    REAL,
    of_kind,
    pair_of_kind,
    tensors_of_kind,
)
from gradtape.api.tensorflow.arguments import DTypeLike, ShapeLike, TensorLike, one_axis
from gradtape.api.tensorflow.elementwise import add_n
from gradtape.convert import TENSORFLOW, as_tensor
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.ops import arithmetic, running, shaping, truncation
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.selection import ones_like, zeros_like
from gradtape.published import published
from gradtape.shapes import TensorShape


@published("realdiv")
def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` for floating-point and complex numbers.

    >>> import gradtape as tf
    >>> tf.realdiv([1.0, 3.0], 2.0).numpy()
    array([0.5, 1.5], dtype=float32)
    """
    return arithmetic.divide(*pair_of_kind(x, y, INEXACT, "realdiv"))


@published("truncatediv")
def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` cut off towards 0; no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.truncatediv([-7, 7], [2, -2]).numpy()
    array([-3, -3], dtype=int32)
    """
    return truncation.truncatediv(*tensors_of_kind(x, y, REAL, "truncatediv"))


@published("truncatemod")
def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """What `truncatediv` leaves over: it has the sign of `x`.

    >>> import gradtape as tf
    >>> tf.truncatemod([-7, 7], [2, -2]).numpy()
    array([-1,  1], dtype=int32)
    """
    return truncation.truncatemod(*tensors_of_kind(x, y, REAL, "truncatemod"))


@published("math.reciprocal_no_nan")
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """`1 / x`, and 0 where `x` is 0.

    >>> import gradtape as tf
    >>> tf.math.reciprocal_no_nan([2.0, 0.0]).numpy()
    array([0.5, 0. ], dtype=float32)
    """
    given = of_kind(x, INEXACT, "reciprocal_no_nan")
    return arithmetic.divide_no_nan(ones_like(given), given)


@published("math.rint")
def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """The nearest whole number, the even one for a half; no gradient flows through it.

    >>> import gradtape as tf
    >>> tf.math.rint([0.5, 1.5, -2.6]).numpy()
    array([ 0.,  2., -3.], dtype=float32)
    """
    return arithmetic.round_half_even(of_kind(x, FLOATING, "rint"))


@published("math.polyval")
def polyval(coeffs: list[Any], x: TensorLike, name: str | None = None) -> Tensor:
    """The polynomial with coefficients `coeffs`, the one of the highest power first, at `x`.

    >>> import gradtape as tf
    >>> tf.math.polyval([1.0, 2.0, 3.0], 2.0).numpy()
    np.float32(11.0)
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"polyval: coeffs must be a list, got {type(coeffs).__name__}.")
    at, *terms = TENSORFLOW.tensors(
        [x, *coeffs], ["polyval: x", *(f"polyval: coeffs[{i}]" for i in range(len(coeffs)))]
    )
    if not terms:
        return zeros_like(at)
    value = terms[0]
    for term in terms[1:]:
        value = arithmetic.add(term, arithmetic.multiply(value, at))
    return value


@published("math.accumulate_n")
def accumulate_n(
    inputs: list[Any] | tuple[Any, ...],
    shape: ShapeLike | None = None,
    tensor_dtype: DTypeLike = None,
    name: str | None = None,
) -> Tensor:
    """The sum of a list of tensors of one shape and dtype,
    which are `shape` and `tensor_dtype` if they are given.

    >>> import gradtape as tf
    >>> tf.math.accumulate_n([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])]).numpy()
    array([4., 6.], dtype=float32)
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(
            f"accumulate_n: inputs must be a list of at least one tensor, got {inputs!r}."
        )
    terms = [
        x.tensor()
        if isinstance(x, Variable)
        else as_tensor(x, argument=f"accumulate_n: inputs[{i}]")
        for i, x in enumerate(inputs)
    ]
    first = terms[0]
    if any(term.array.dtype != first.array.dtype for term in terms):
        raise ValueError(
            "accumulate_n: inputs must have the same dtype, got "
            f"{[term.dtype.name for term in terms]}."
        )
    wanted = TensorShape(first.array.shape if shape is None else shape)
    for i, term in enumerate(terms):
        if not wanted.is_compatible_with(term.array.shape):
            raise ValueError(
                f"accumulate_n: inputs[{i}] has shape {term.shape}, which does not fit {wanted}."
            )
    if tensor_dtype is not None and dtypes.as_dtype(tensor_dtype) != first.dtype:
        raise TypeError(
            f"accumulate_n: tensor_dtype is {dtypes.as_dtype(tensor_dtype).name}, but inputs are "
            f"{first.dtype.name}."
        )
    return add_n(terms)


@published("math.cumulative_logsumexp")
def cumulative_logsumexp(
    x: TensorLike,
    axis: Any = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """`log(cumsum(exp(x)))` along `axis` without overflow; `exclusive` leaves out the element
    itself, `reverse` runs from the end.

    >>> import gradtape as tf
    >>> tf.math.cumulative_logsumexp([1000.0, 1000.0]).numpy().round(2)
    array([1000.  , 1000.69], dtype=float32)
    """
    given = of_kind(x, FLOATING, "cumulative_logsumexp")
    along = one_axis(axis, given.array.ndim, "cumulative_logsumexp: axis")
    if reverse:
        given = shaping.reverse(given, axis=(along,))
    found = running.cumulative_logsumexp(given, axis=along)
    if exclusive and found.array.shape[along]:
        nothing = broadcast_to(
            found.array.dtype.type(-np.inf),
            shape=tuple(1 if i == along else n for i, n in enumerate(found.array.shape)),
        )
        found = shaping.concat(
            nothing,
            shaping.getitem(found, key=(*(slice(None),) * along, slice(None, -1))),
            axis=along,
        )
    return shaping.reverse(found, axis=(along,)) if reverse else found
