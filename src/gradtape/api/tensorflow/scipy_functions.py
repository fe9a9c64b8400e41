"""`scipy.special.logsumexp`, `softmax` and `log_softmax` for Tensors.

They are plain functions that convert their argument to an array first, without a protocol that
gradtape could implement. So they are replaced by functions that look for Tensors first, and call
SciPy's own function if there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from gradtape.api.numpy.operands import axes_of, inexact, promoted, tensor_of, tensors_of
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.ops import activations, arithmetic, elementary, reductions, selection
from gradtape.ops.broadcasting import identity, stop_gradient
from gradtape.ops.shaping import reshape


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """The logarithm of the sum of `b * exp(a)`; NaN where that is negative,
    unless the sign is returned beside it.

    >>> import gradtape as tf
    >>> logsumexp(tf.constant([1000.0, 1000.0]), b=[1.0, -0.5]).numpy().round(3)
    np.float32(999.307)
    """
    if b is None:
        x = inexact(tensor_of(a, "logsumexp", "a"))
        total = reductions.reduce_logsumexp(
            x, axis=_axes(axis, x, "logsumexp"), keepdims=bool(keepdims)
        )
        return (total, arithmetic.sign(elementary.exp(total))) if return_sign else total
    x, weights = (inexact(t) for t in promoted(tensors_of([a, b], "logsumexp", ("a", "b"))))
    axes = _axes(axis, x + weights, "logsumexp")
    x = selection.where(arithmetic.equal(weights, 0), -np.inf, x)
    top = stop_gradient(reductions.reduce_max(x, axis=axes, keepdims=True))
    top = selection.where(arithmetic.is_finite(top), top, 0.0)
    total = reductions.reduce_sum(
        weights * elementary.exp(x - top), axis=axes, keepdims=bool(keepdims)
    )
    top = top if keepdims else reductions.reduce_sum(top, axis=axes)
    if return_sign:
        return elementary.log(arithmetic.absolute(total)) + top, arithmetic.sign(total)
    return elementary.log(total) + top


def softmax(x: Any, axis: Any = None) -> Tensor:
    """`exp(x)` divided by its sum over `axis`, over everything if that is None.

    >>> import gradtape as tf
    >>> softmax(tf.constant([[0.0, 0.0], [0.0, 0.0]])).numpy().tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    return _over_axes("softmax", activations.softmax, elementary.exp, x, axis)


def log_softmax(x: Any, axis: Any = None) -> Tensor:
    """The logarithm of `softmax`, without underflow.

    >>> import gradtape as tf
    >>> log_softmax(tf.constant([1000.0, 0.0])).numpy().tolist()
    [0.0, -1000.0]
    """
    return _over_axes("log_softmax", activations.log_softmax, identity, x, axis)


def _over_axes(
    function: str,
    op: Callable[..., Any],
    of_logarithms: Callable[[Any], Any],
    value: Any,
    axis: Any,
) -> Any:
    """An op for one axis, over several; `of_logarithms` makes its result of logarithms of
    probabilities.
    """
    x = inexact(tensor_of(value, function, "x"))
    shape, axes = x.array.shape, _axes(axis, x, function)
    if len(axes) == 1:
        return op(x, axis=axes[0])
    if len(axes) == len(shape):
        return reshape(op(reshape(x, shape=(-1,)), axis=0), shape=shape)
    return of_logarithms(x - reductions.reduce_logsumexp(x, axis=axes, keepdims=True))


def _axes(axis: Any, x: Tensor, function: str) -> tuple[int, ...]:
    rank = x.array.ndim
    return tuple(range(rank)) if axis is None else tuple(axes_of(axis, rank, function) or ())


def record() -> None:
    """Puts the functions of this module in the places of SciPy's, once."""
    import scipy.special  # noqa: PLC0415 - slow to import

    for ours in (logsumexp, softmax, log_softmax):
        theirs = getattr(scipy.special, ours.__name__)
        if theirs.__module__ != __name__:
            setattr(scipy.special, ours.__name__, _for_tensors(ours, theirs))


def _for_tensors(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(theirs)
    def function(*args: Any, **keywords: Any) -> Any:
        given = [
            value for value in (*args, *keywords.values()) if isinstance(value, (Tensor, Variable))
        ]
        if given and not any(value.dtype.is_complex for value in given):
            return ours(*args, **keywords)
        return theirs(*args, **keywords)

    function.__module__ = __name__
    return function
