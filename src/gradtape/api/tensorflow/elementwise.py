"""Elementwise mathematics: `tf.math.exp` and related functions."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import (
    FLOATING,
    INEXACT,
    NUMERIC,
    REAL,
    SIGNED,
    SUMMABLE,
    of_kind,
    pair_of_kind,
    tensors_of_kind,
)
from gradtape.api.tensorflow.arguments import TensorLike, as_list, tensor
from gradtape.convert import as_tensor, operand
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import activations, arithmetic, broadcasting, elementary
from gradtape.ops.operators import true_divide
from gradtape.published import published


@published("abs", "math.abs")
def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """The absolute value; for complex numbers the modulus.

    >>> import gradtape as tf
    >>> tf.abs([-1.5, 2.0]).numpy()
    array([1.5, 2. ], dtype=float32)
    """
    return arithmetic.absolute(of_kind(x, NUMERIC, "abs"))


@published("add", "math.add")
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x + y`, element by element, with broadcasting; strings are joined.

    >>> import gradtape as tf
    >>> tf.add([1.0, 2.0], 10.0).numpy()
    array([11., 12.], dtype=float32)
    """
    return arithmetic.add(*pair_of_kind(x, y, SUMMABLE, "add"))


@published("add_n", "math.add_n")
def add_n(inputs: Iterable[TensorLike], name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape; `IndexedSlices` count as the tensors they stand
    for.

    >>> import gradtape as tf
    >>> tf.add_n([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]).numpy()
    array([111., 222.], dtype=float32)
    """
    terms = [operand(value) for value in as_list(inputs, "add_n: inputs")]
    if not terms or any(term is None for term in terms):
        raise ValueError("add_n: inputs must be a list of at least one tensor, without None.")
    if not any(isinstance(term, Tensor) for term in terms):
        terms[0] = as_tensor(terms[0], argument="add_n: inputs[0]")
    shapes = [_shape(term) for term in terms]
    if any(shape != shapes[0] for shape in shapes):
        raise invalid_argument(
            f"add_n: all inputs must have the same shape, got {', '.join(map(str, shapes))}."
        )
    if len(terms) == 1:
        return terms[0]
    for i, term in enumerate(terms):
        if isinstance(term, Tensor):
            of_kind(term, NUMERIC, "add_n", f"inputs[{i}]")
    return arithmetic.add_n(*terms)


@published("subtract", "math.subtract")
def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x - y`, element by element, with broadcasting.

    >>> import gradtape as tf
    >>> tf.subtract([1.0, 2.0], 10.0).numpy()
    array([-9., -8.], dtype=float32)
    """
    return arithmetic.subtract(*pair_of_kind(x, y, NUMERIC, "subtract"))


@published("multiply", "math.multiply")
def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x * y`, element by element, with broadcasting.

    >>> import gradtape as tf
    >>> tf.multiply([1.0, 2.0], 10.0).numpy()
    array([10., 20.], dtype=float32)
    """
    return arithmetic.multiply(*pair_of_kind(x, y, NUMERIC, "multiply"))


@published("divide", "math.divide")
def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y`, element by element; integers are divided as floats.

    >>> import gradtape as tf
    >>> tf.divide([1.0, 2.0], 4.0).numpy()
    array([0.25, 0.5 ], dtype=float32)
    """
    return true_divide(*pair_of_kind(x, y, NUMERIC, "divide", TypeError))


@published("truediv", "math.truediv")
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y`, element by element; integers of more than 16 bits are divided as float64,
    shorter ones as float32.

    >>> import gradtape as tf
    >>> tf.truediv([1, 2], [4, 4]).numpy()
    array([0.25, 0.5 ])
    """
    return true_divide(*pair_of_kind(x, y, NUMERIC, "truediv", TypeError))


@published("math.divide_no_nan")
def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y`, and 0 where `y` is 0; so are the derivatives.

    >>> import gradtape as tf
    >>> tf.math.divide_no_nan([1.0, 1.0], [0.0, 2.0]).numpy()
    array([0. , 0.5], dtype=float32)
    """
    x, y = tensors_of_kind(x, y, NUMERIC, "divide_no_nan", refusal=TypeError)
    if x.array.dtype.kind in "iu" and y.array.dtype.kind in "iu":
        x = broadcasting.cast(
            x, dtype=(dtypes.float32 if x.array.dtype.itemsize <= 2 else dtypes.float64).numpy
        )
    return arithmetic.divide_no_nan(x, y)


@published("math.multiply_no_nan")
def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x * y`, and 0 where `y` is 0 even if `x` is infinite or NaN.

    >>> import gradtape as tf
    >>> tf.math.multiply_no_nan([float("inf"), 3.0], [0.0, 2.0]).numpy()
    array([0., 6.], dtype=float32)
    """
    return arithmetic.multiply_no_nan(*pair_of_kind(x, y, INEXACT, "multiply_no_nan"))


@published("math.floordiv")
def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` rounded down to a whole number.

    >>> import gradtape as tf
    >>> tf.math.floordiv([7, -7], 2).numpy()
    array([ 3, -4], dtype=int32)
    """
    return arithmetic.floordiv(*pair_of_kind(x, y, REAL, "floordiv"))


@published("math.floormod", "math.mod")
def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The remainder of `x / y`, with the sign of `y`, as Python's `%` gives it.

    >>> import gradtape as tf
    >>> tf.math.floormod([7, -7], 3).numpy()
    array([1, 2], dtype=int32)
    """
    return arithmetic.floormod(*pair_of_kind(x, y, REAL, "floormod"))


@published("pow", "math.pow")
def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x` to the power of `y`.

    >>> import gradtape as tf
    >>> tf.pow([2.0, 3.0], 2.0).numpy()
    array([4., 9.], dtype=float32)
    """
    return elementary.power(*pair_of_kind(x, y, NUMERIC, "pow"))


@published("maximum", "math.maximum")
def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The larger of `x` and `y`, element by element; the gradient of a tie goes to `x`.

    >>> import gradtape as tf
    >>> tf.maximum([1.0, 5.0], 3.0).numpy()
    array([3., 5.], dtype=float32)
    """
    return arithmetic.maximum(*pair_of_kind(x, y, REAL, "maximum"))


@published("minimum", "math.minimum")
def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The smaller of `x` and `y`, element by element; the gradient of a tie goes to `x`.

    >>> import gradtape as tf
    >>> tf.minimum([1.0, 5.0], 3.0).numpy()
    array([1., 3.], dtype=float32)
    """
    return arithmetic.minimum(*pair_of_kind(x, y, REAL, "minimum"))


@published("scalar_mul", "math.scalar_mul")
def scalar_mul(
    scalar: TensorLike, x: TensorLike, name: str | None = None
) -> Tensor | IndexedSlices:
    """`x` times a scalar; an `IndexedSlices` stays sparse.

    >>> import gradtape as tf
    >>> tf.math.scalar_mul(2.0, [1.0, 2.0]).numpy()
    array([2., 4.], dtype=float32)
    """
    shape = tensor(scalar, "scalar_mul: scalar").shape
    if shape.rank:
        raise ValueError(f"scalar_mul: scalar must be a scalar, got shape {shape}.")
    return (
        x.with_values(multiply(scalar, x.values))
        if isinstance(x, IndexedSlices)
        else multiply(scalar, x)
    )


@published("math.squared_difference")
def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`(x - y)` squared, element by element; for complex numbers the squared modulus,
    as a complex number.

    >>> import gradtape as tf
    >>> tf.math.squared_difference([1.0, 5.0], 3.0).numpy()
    array([4., 4.], dtype=float32)
    """
    x, y = tensors_of_kind(x, y, NUMERIC, "squared_difference")
    if x.array.dtype.kind != "c" and y.array.dtype.kind != "c":
        return arithmetic.squared_difference(x, y)
    difference = arithmetic.subtract(x, y)
    return arithmetic.multiply(broadcasting.conj(difference), difference)


@published("negative", "math.negative")
def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """`-x`.

    >>> import gradtape as tf
    >>> tf.negative([1.0, -2.0]).numpy()
    array([-1.,  2.], dtype=float32)
    """
    return arithmetic.negative(of_kind(x, SIGNED, "negative"))


@published("sign", "math.sign")
def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """-1, 0 or 1, by the sign of `x`; for a complex number `x / abs(x)`, and 0 for 0.

    >>> import gradtape as tf
    >>> tf.sign([-3.0, 0.0, 2.0]).numpy()
    array([-1.,  0.,  1.], dtype=float32)
    """
    x = of_kind(x, NUMERIC, "sign")
    if x.array.dtype.kind != "c":
        return arithmetic.sign(x)
    return arithmetic.divide_no_nan(
        x, broadcasting.cast(arithmetic.absolute(x), dtype=x.array.dtype)
    )


@published("square", "math.square")
def square(x: TensorLike, name: str | None = None) -> Tensor:
    """`x * x`.

    >>> import gradtape as tf
    >>> tf.square([2.0, -3.0]).numpy()
    array([4., 9.], dtype=float32)
    """
    return arithmetic.square(of_kind(x, NUMERIC, "square"))


@published("sqrt", "math.sqrt")
def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """The square root.

    >>> import gradtape as tf
    >>> tf.sqrt([4.0, 9.0]).numpy()
    array([2., 3.], dtype=float32)
    """
    return elementary.sqrt(of_kind(x, INEXACT, "sqrt"))


@published("math.rsqrt")
def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """One over the square root.

    >>> import gradtape as tf
    >>> tf.math.rsqrt([4.0, 0.25]).numpy()
    array([0.5, 2. ], dtype=float32)
    """
    return elementary.rsqrt(of_kind(x, INEXACT, "rsqrt"))


@published("math.reciprocal")
def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """`1 / x`.

    >>> import gradtape as tf
    >>> tf.math.reciprocal([2.0, 4.0]).numpy()
    array([0.5 , 0.25], dtype=float32)
    """
    return elementary.reciprocal(of_kind(x, INEXACT, "reciprocal"))


@published("floor", "math.floor")
def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """The largest whole number that is not above `x`.

    >>> import gradtape as tf
    >>> tf.floor([1.7, -1.2]).numpy()
    array([ 1., -2.], dtype=float32)
    """
    return arithmetic.floor(of_kind(x, FLOATING, "floor"))


@published("math.ceil")
def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """The smallest whole number that is not below `x`.

    >>> import gradtape as tf
    >>> tf.math.ceil([1.2, -1.7]).numpy()
    array([ 2., -1.], dtype=float32)
    """
    return arithmetic.ceil(of_kind(x, FLOATING, "ceil"))


@published("round", "math.round")
def round(x: TensorLike, name: str | None = None) -> Tensor:
    """The nearest whole number, of two equally near ones the even one.

    >>> import gradtape as tf
    >>> tf.round([0.5, 1.5, 2.4]).numpy()
    array([0., 2., 2.], dtype=float32)
    """
    x = of_kind(x, REAL, "round")
    return x if x.array.dtype.kind in "iu" else arithmetic.round_half_even(x)


@published("exp", "math.exp")
def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """e to the power of `x`.

    >>> import gradtape as tf
    >>> tf.exp([0.0, 1.0]).numpy().round(4)
    array([1.    , 2.7183], dtype=float32)
    """
    return elementary.exp(of_kind(x, INEXACT, "exp"))


@published("math.expm1")
def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """`exp(x) - 1`, exact for small `x` too.

    >>> import gradtape as tf
    >>> tf.math.expm1([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.7183], dtype=float32)
    """
    return elementary.expm1(of_kind(x, INEXACT, "expm1"))


@published("math.log")
def log(x: TensorLike, name: str | None = None) -> Tensor:
    """The natural logarithm.

    >>> import gradtape as tf
    >>> tf.math.log([1.0, 10.0]).numpy().round(4)
    array([0.    , 2.3026], dtype=float32)
    """
    return elementary.log(of_kind(x, INEXACT, "log"))


@published("math.log1p")
def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """`log(1 + x)`, exact for small `x` too.

    >>> import gradtape as tf
    >>> tf.math.log1p([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.6931], dtype=float32)
    """
    return elementary.log1p(of_kind(x, INEXACT, "log1p"))


@published("math.xlogy")
def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x * log(y)`, and 0 where `x` is 0; so are the derivatives.

    >>> import gradtape as tf
    >>> tf.math.xlogy([0.0, 2.0], [0.0, 10.0]).numpy().round(4)
    array([0.    , 4.6052], dtype=float32)
    """
    return elementary.xlogy(*pair_of_kind(x, y, INEXACT, "xlogy"))


@published("math.xdivy")
def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y`, and 0 where `x` is 0; so are the derivatives.

    >>> import gradtape as tf
    >>> tf.math.xdivy([0.0, 2.0], [0.0, 10.0]).numpy()
    array([0. , 0.2], dtype=float32)
    """
    return elementary.xdivy(*pair_of_kind(x, y, INEXACT, "xdivy"))


@published("sigmoid", "math.sigmoid", "nn.sigmoid")
def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """`1 / (1 + exp(-x))`.

    >>> import gradtape as tf
    >>> tf.sigmoid([-1.0, 0.0]).numpy().round(4)
    array([0.2689, 0.5   ], dtype=float32)
    """
    return activations.sigmoid(of_kind(x, INEXACT, "sigmoid"))


@published("math.softplus", "nn.softplus")
def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """`log(1 + exp(features))`, a smooth `maximum(features, 0)`.

    >>> import gradtape as tf
    >>> tf.math.softplus([-1.0, 100.0]).numpy().round(4)
    array([  0.3133, 100.    ], dtype=float32)
    """
    return activations.softplus(of_kind(features, FLOATING, "softplus", "features"))


def _shape(value: Any) -> tuple[int, ...]:
    return value.array.shape if isinstance(value, Tensor) else np.shape(value)
