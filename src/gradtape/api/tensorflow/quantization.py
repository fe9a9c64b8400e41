"""Simulated quantization: `tf.quantization`.

The functions round to the values of a quantized number; their gradient passes straight through
where the input is in the range. Unlike TensorFlow's they take every floating-point dtype, and have
forward mode and higher orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import FLOATING, of_kind
from gradtape.api.tensorflow.arguments import TensorLike, as_int, one_axis
from gradtape.convert import operand, to_array
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import arithmetic, broadcasting, quantization, reductions, selection, shaping
from gradtape.published import published

_TRUE = Tensor(np.array(True))
_ROUND_MODES = ("HALF_TO_EVEN", "HALF_UP")


class FakeQuantGradient(NamedTuple):
    """The gradients of a fake quantization by its three arguments."""

    backprops_wrt_input: Any
    backprop_wrt_min: Any
    backprop_wrt_max: Any


@published("quantization.fake_quant_with_min_max_args")
def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`inputs` rounded to the `2**num_bits` values (with `narrow_range` one less) from about `min`
    to `max`, 0 among them.

    >>> import gradtape as tf
    >>> tf.quantization.fake_quant_with_min_max_args(
    ...     [-9.0, 0.4, 0.6, 3.2], min=-4, max=3, num_bits=3
    ... ).numpy()
    array([-4.,  0.,  1.,  3.], dtype=float32)
    """
    function = "fake_quant_with_min_max_args"
    x = _floats(inputs, f"{function}: inputs")
    low, high = _numbers(min, max, x, function)
    bits, narrow = _bits(num_bits, function), bool(narrow_range)
    inside = quantization.fake_quant_inside(x, low, high, bits=bits, narrow=narrow)
    value = quantization.fake_quant(x, low, high, bits=bits, narrow=narrow)
    return _straight_through(value, selection.keep(x, inside))


@published("quantization.fake_quant_with_min_max_args_gradient")
def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """What `fake_quant_with_min_max_args` passes back:
    `gradients` where `inputs` is in the range, else 0.

    >>> import gradtape as tf
    >>> tf.quantization.fake_quant_with_min_max_args_gradient([1.0, 2.0], [0.0, 9.0]).numpy()
    array([1., 0.], dtype=float32)
    """
    function = "fake_quant_with_min_max_args_gradient"
    x = _floats(inputs, f"{function}: inputs")
    low, high = _numbers(min, max, x, function)
    g = _gradients(gradients, x, function)
    return _pulled(
        g, x, low, high, _bits(num_bits, function), bool(narrow_range)
    ).backprops_wrt_input


@published("quantization.fake_quant_with_min_max_vars")
def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The same with a range that can be learned: gradients of inputs below it go to `min`,
    of those above it to `max`.

    >>> import gradtape as tf
    >>> tf.quantization.fake_quant_with_min_max_vars(
    ...     [-9.0, 0.4, 0.6, 3.2], -4.0, 3.0, num_bits=3
    ... ).numpy()
    array([-4.,  0.,  1.,  3.], dtype=float32)
    """
    function = "fake_quant_with_min_max_vars"
    x = _floats(inputs, f"{function}: inputs")
    return _fake_quant(x, *_range(min, max, x, (), function), num_bits, narrow_range, function)


@published("quantization.fake_quant_with_min_max_vars_gradient")
def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> FakeQuantGradient:
    """What `fake_quant_with_min_max_vars` passes back to its inputs, its `min` and its `max`.

    >>> import gradtape as tf
    >>> by_input, by_min, by_max = tf.quantization.fake_quant_with_min_max_vars_gradient(
    ...     [1.0, 2.0], [0.0, 9.0], -1.0, 1.0
    ... )
    >>> by_input.numpy(), by_min.numpy(), by_max.numpy()
    (array([1., 0.], dtype=float32), np.float32(0.0), np.float32(2.0))
    """
    function = "fake_quant_with_min_max_vars_gradient"
    x = _floats(inputs, f"{function}: inputs")
    g = _gradients(gradients, x, function)
    return _pulled(
        g, x, *_range(min, max, x, (), function), _bits(num_bits, function), bool(narrow_range)
    )


@published("quantization.fake_quant_with_min_max_vars_per_channel")
def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The same with a range of its own for each entry of the last axis.

    >>> import gradtape as tf
    >>> tf.quantization.fake_quant_with_min_max_vars_per_channel(
    ...     [[0.6, 0.6]], [-4.0, -0.5], [3.0, 1.25], num_bits=3
    ... ).numpy()
    array([[1. , 0.5]], dtype=float32)
    """
    function = "fake_quant_with_min_max_vars_per_channel"
    x = _channels(inputs, function)
    return _fake_quant(
        x, *_range(min, max, x, x.array.shape[-1:], function), num_bits, narrow_range, function
    )


@published("quantization.fake_quant_with_min_max_vars_per_channel_gradient")
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> FakeQuantGradient:
    """What `fake_quant_with_min_max_vars_per_channel` passes back to its inputs,
    its `min` and its `max`.

    >>> import gradtape as tf
    >>> gradient = tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(
    ...     [[1.0, 2.0]], [[0.0, 9.0]], [-1, -1], [1, 1]
    ... )
    >>> gradient.backprops_wrt_input.numpy(), gradient.backprop_wrt_max.numpy()
    (array([[1., 0.]], dtype=float32), array([0., 2.], dtype=float32))
    """
    function = "fake_quant_with_min_max_vars_per_channel_gradient"
    x = _channels(inputs, function)
    g = _gradients(gradients, x, function)
    return _pulled(
        g,
        x,
        *_range(min, max, x, x.array.shape[-1:], function),
        _bits(num_bits, function),
        bool(narrow_range),
    )


@published("quantization.quantize_and_dequantize_v2")
def quantize_and_dequantize_v2(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: Any = None,
) -> Tensor:
    """`input` rounded to integers of `num_bits` times a step, which the range asks for:
    the given one, or that of `input`.

    With `axis`, each entry of that axis has its own range. Gradients pass where `input` is from
    `input_min` to `input_max`.

    >>> import gradtape as tf
    >>> tf.quantization.quantize_and_dequantize_v2(
    ...     [-9.0, 0.4, 0.6, 3.2], -4.0, 3.0, num_bits=3, range_given=True
    ... ).numpy()
    array([-4.,  0.,  1.,  3.], dtype=float32)
    """
    options = (signed_input, num_bits, range_given, round_mode, narrow_range, axis)
    return _rounded(
        input, input_min, input_max, *options, passes=False, function="quantize_and_dequantize_v2"
    )


@published("quantization.quantize_and_dequantize")
def quantize_and_dequantize(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: Any = None,
) -> Tensor:
    """The same as `quantize_and_dequantize_v2`, but all gradients pass,
    whether `input` is in the range or not.

    >>> import gradtape as tf
    >>> tf.quantization.quantize_and_dequantize([-4.0, 0.4, 0.6, 3.0], 0.0, 0.0, num_bits=3).numpy()
    array([-4.,  0.,  1.,  3.], dtype=float32)
    """
    options = (signed_input, num_bits, range_given, round_mode, narrow_range, axis)
    return _rounded(
        input, input_min, input_max, *options, passes=True, function="quantize_and_dequantize"
    )


def _fake_quant(
    x: Tensor, low: Tensor, high: Tensor, num_bits: Any, narrow_range: Any, function: str
) -> Any:
    bits, narrow = _bits(num_bits, function), bool(narrow_range)
    inside, below, above = _sides(x, low, high, bits, narrow)
    value = quantization.fake_quant(x, low, high, bits=bits, narrow=narrow)
    return _straight_through(
        value, selection.keep(x, inside) + selection.keep(low, below) + selection.keep(high, above)
    )


def _straight_through(value: Any, source: Any) -> Any:
    """`value` with the derivatives of `source`, which is finite: what is added is exactly 0."""
    return value + (source - broadcasting.stop_gradient(source))


def _sides(x: Any, low: Any, high: Any, bits: int, narrow: bool) -> list[Any]:
    """Where `x` is inside, below and above the range."""
    side = quantization.fake_quant_side(x, low, high, bits=bits, narrow=narrow)
    return [
        arithmetic.equal(side, place)
        for place in (quantization.INSIDE, quantization.BELOW, quantization.ABOVE)
    ]


def _pulled(g: Any, x: Any, low: Any, high: Any, bits: int, narrow: bool) -> FakeQuantGradient:
    inside, below, above = (
        selection.keep(g, place) for place in _sides(x, low, high, bits, narrow)
    )
    return FakeQuantGradient(
        inside,
        broadcasting.sum_to_shape(below, shape=low.array.shape),
        broadcasting.sum_to_shape(above, shape=high.array.shape),
    )


def _rounded(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: Any,
    num_bits: Any,
    range_given: Any,
    round_mode: Any,
    narrow_range: Any,
    axis: Any,
    *,
    passes: bool,
    function: str,
) -> Any:
    x = of_kind(input, FLOATING, function, "input")
    rank = x.array.ndim
    place = None if axis is None else one_axis(axis, rank, f"{function}: axis")
    bits = as_int(num_bits, f"{function}: num_bits")
    if not 0 < bits < (62 if signed_input else 63):
        raise invalid_argument(
            f"{function}: num_bits must be from 1 to {61 if signed_input else 62}, got {bits}."
        )
    if round_mode not in _ROUND_MODES:
        raise invalid_argument(
            f"{function}: round_mode must be one of {', '.join(_ROUND_MODES)}, got {round_mode!r}."
        )
    shape = () if place is None else (x.array.shape[place],)
    low, high = _range(input_min, input_max, x, shape, function, ("input_min", "input_max"))
    spread = (
        ()
        if place is None
        else tuple(x.array.shape[place] if i == place else 1 for i in range(rank))
    )
    reduced = tuple(i for i in range(rank) if i != place)
    ends = wide = [shaping.reshape(end, shape=spread) for end in (low, high)]
    if not range_given:
        ends = [
            reduce(x, axis=reduced, keepdims=bool(spread))
            for reduce in (reductions.reduce_min, reductions.reduce_max)
        ]
    value = quantization.quantize_and_dequantize(
        x, *ends, bits=bits, signed=bool(signed_input), narrow=bool(narrow_range),
        half_up=round_mode == "HALF_UP", clamp=bool(range_given),
    )  # fmt: skip
    if passes:
        return _straight_through(value, selection.keep(x, arithmetic.is_finite(x)))
    inside = arithmetic.logical_and(
        arithmetic.greater_equal(x, wide[0]), arithmetic.less_equal(x, wide[1])
    )
    nowhere = selection.drop(wide[0], _TRUE) + selection.drop(
        wide[1], _TRUE
    )  # the ends have a gradient, which is 0
    return _straight_through(value, selection.keep(x, inside) + nowhere)


def _floats(value: Any, argument: str) -> Tensor:
    """As in TensorFlow, plain values become float32, and tensors of other than floating-point
    numbers are a ValueError.
    """
    x = operand(value)
    if not isinstance(x, Tensor):
        return Tensor(to_array(x, dtypes.float32.numpy, argument=argument))
    if x.array.dtype not in FLOATING.dtypes:
        raise ValueError(
            f"{argument} has dtype {x.dtype.name}, but must be floating-point: convert it with "
            "gradtape.cast."
        )
    return x


def _channels(inputs: Any, function: str) -> Tensor:
    x = _floats(inputs, f"{function}: inputs")
    if not x.array.ndim:
        raise invalid_argument(
            f"{function}: inputs must have channels as its last axis, got a scalar."
        )
    return x


def _numbers(low: Any, high: Any, x: Tensor, function: str) -> tuple[Tensor, Tensor]:
    if not float(low) < float(high):
        raise invalid_argument(f"{function}: min must be less than max, got {low} and {high}.")
    return Tensor(np.asarray(low, x.array.dtype)), Tensor(np.asarray(high, x.array.dtype))


def _range(
    low: Any,
    high: Any,
    x: Tensor,
    shape: tuple[int, ...],
    function: str,
    names: Sequence[str] = ("min", "max"),
) -> tuple[Any, Any]:
    """The two ends of a range in the dtype of `x`, each of this shape."""
    ends = []
    for value, name in zip((low, high), names, strict=True):
        end = _floats(value, f"{function}: {name}")
        if end.array.shape != shape:
            wanted = (
                f"have an entry for each of the {shape[0]} channels" if shape else "be a number"
            )
            raise invalid_argument(f"{function}: {name} must {wanted}, got shape {end.shape}.")
        ends.append(
            end if end.array.dtype == x.array.dtype else broadcasting.cast(end, dtype=x.array.dtype)
        )
    return ends[0], ends[1]


def _gradients(gradients: Any, x: Tensor, function: str) -> Tensor:
    g = _floats(gradients, f"{function}: gradients")
    if g.array.shape != x.array.shape:
        raise invalid_argument(
            f"{function}: gradients and inputs must have the same shape, got {g.shape} and "
            f"{x.shape}."
        )
    return g


def _bits(num_bits: Any, function: str) -> int:
    bits = as_int(num_bits, f"{function}: num_bits")
    if not 2 <= bits <= 16:
        raise invalid_argument(f"{function}: num_bits must be from 2 to 16, got {bits}.")
    return bits
