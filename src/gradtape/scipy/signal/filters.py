"""`scipy.signal.lfilter` and `sosfilt`."""

from __future__ import annotations

from typing import Any

from gradtape.api.numpy.operands import axis_of
from gradtape.api.numpy.shaping import moveaxis
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.shaping import stack
from gradtape.published import published
from gradtape.scipy.arguments import named_tensors, padded
from gradtape.scipy.signal.recursion import all_pole, moving_sums


@published("scipy.signal.lfilter")
def lfilter(b: TensorLike, a: TensorLike, x: TensorLike, axis: int = -1, zi: Any = None) -> Any:
    """A digital filter along an axis, with numerator `b` and denominator `a`, as
    `scipy.signal.lfilter`; with an initial state `zi`, the result and the final state.

    >>> import gradtape as tf
    >>> a = tf.Variable([1.0, -0.5])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.scipy.signal.lfilter([1.0], a, [1.0, 0.0, 0.0])
    >>> y.numpy(), tape.gradient(y, a).numpy()
    (array([1.  , 0.5 , 0.25], dtype=float32), array([-2.75, -2.  ], dtype=float32))
    """
    more = {} if zi is None else {"zi": zi}
    num, den, signal, *state = named_tensors("lfilter", b=b, a=a, x=x, **more)
    for name, coefficients in {"b": num, "a": den}.items():
        if coefficients.array.ndim != 1 or not coefficients.array.size:
            raise ValueError(
                f"lfilter: {name} must be a vector with at least one element, got shape "
                f"{coefficients.shape}."
            )
    axis = axis_of(axis, signal.array.ndim, "lfilter")
    signal = moveaxis(signal, axis, -1)
    order = max(num.array.size, den.array.size) - 1
    num, den = num / den[0], den / den[0]
    if not state:
        return moveaxis(_filtered(num, den, signal, None), -1, axis)
    if state[0].array.ndim != signal.array.ndim:
        raise ValueError(
            f"lfilter: zi must have as many axes as x, {signal.array.ndim}, got shape "
            f"{state[0].shape}."
        )
    before = moveaxis(state[0], axis, -1)
    lead = tuple(signal.array.shape[:-1])
    if before.array.shape[-1] != order:
        raise ValueError(
            f"lfilter: zi must have length {order} along axis {axis}, one less than the longer of "
            f"b and a, got shape {state[0].shape}."
        )
    before = broadcast_to(before, shape=(*lead, order))
    y = _filtered(num, den, signal, before)
    after = _state_after(num, den, signal, y, before)
    return moveaxis(y, -1, axis), moveaxis(after, -1, axis)


@published("scipy.signal.sosfilt")
def sosfilt(sos: TensorLike, x: TensorLike, axis: int = -1, zi: Any = None) -> Any:
    """A digital filter of second-order sections, one after another, as `scipy.signal.sosfilt`;
    with an initial state `zi`, of shape `(sections, ..., 2, ...)`, the result and the final
    state. The sections are divided by their fourth coefficients, which need not be 1.

    >>> import gradtape as tf
    >>> sos = [[1.0, 0.0, 0.0, 1.0, -0.5, 0.0], [2.0, 0.0, 0.0, 1.0, 0.0, 0.0]]
    >>> tf.scipy.signal.sosfilt(sos, [1.0, 0.0, 0.0]).numpy()
    array([2. , 1. , 0.5], dtype=float32)
    """
    more = {} if zi is None else {"zi": zi}
    sections, y, *state = named_tensors("sosfilt", sos=sos, x=x, **more)
    if sections.array.ndim != 2 or sections.array.shape[1] != 6:
        raise ValueError(f"sosfilt: sos must have shape (sections, 6), got {sections.shape}.")
    count = sections.array.shape[0]
    axis = axis_of(axis, y.array.ndim, "sosfilt")
    if state:
        expected = list(y.array.shape)
        expected[axis] = 2
        if tuple(state[0].array.shape) != (count, *expected):
            raise ValueError(
                f"sosfilt: zi must have shape {(count, *expected)}, got {state[0].shape}."
            )
    after = []
    for i in range(count):
        if state:
            y, last = lfilter(sections[i, :3], sections[i, 3:], y, axis, state[0][i])
            after.append(last)
        else:
            y = lfilter(sections[i, :3], sections[i, 3:], y, axis)
    if not state:
        return y
    return y, (stack(*after, axis=0) if after else state[0])


def _filtered(b: Tensor, a: Tensor, x: Tensor, state: Tensor | None) -> Tensor:
    """The filter along the last axis; the state adds to the first elements before the recursion."""
    fed, size = moving_sums(x, b), x.array.shape[-1]
    if state is not None:
        order = state.array.shape[-1]
        fed = fed + (state[..., :size] if order >= size else padded(state, 0, size - order))
    return all_pole(fed, a[1:])


def _state_after(b: Tensor, a: Tensor, x: Tensor, y: Tensor, state: Tensor) -> Tensor:
    """What the last elements add to those that would follow."""
    size, order = x.array.shape[-1], state.array.shape[-1]
    rest = moving_sums(padded(x, 0, order), b) - moving_sums(padded(y, 0, order), a)
    rest = rest[..., size:]
    if order > size:
        rest = rest + padded(state[..., size:], 0, size)
    return rest
