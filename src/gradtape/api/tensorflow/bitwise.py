"""The bits of integers: `tf.bitwise`. Integers have no gradient."""

from __future__ import annotations

from typing import Any

from gradtape import dtypes
from gradtape.api.tensorflow.accepted import Kind, of_kind, tensors_of_kind
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, bitwise
from gradtape.published import published

_INTEGERS = Kind("integer", frozenset(d.numpy for d in dtypes.ALL if d.is_integer))


@published("bitwise.bitwise_and")
def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits that `x` and `y` both have.

    >>> import gradtape as tf
    >>> tf.bitwise.bitwise_and([5, 3], [4, 6]).numpy()
    array([4, 2], dtype=int32)
    """
    return arithmetic.bitwise_and(*_pair(x, y, "bitwise_and"))


@published("bitwise.bitwise_or")
def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits that `x` or `y` has.

    >>> import gradtape as tf
    >>> tf.bitwise.bitwise_or([5, 3], [4, 6]).numpy()
    array([5, 7], dtype=int32)
    """
    return arithmetic.bitwise_or(*_pair(x, y, "bitwise_or"))


@published("bitwise.bitwise_xor")
def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits that only one of `x` and `y` has.

    >>> import gradtape as tf
    >>> tf.bitwise.bitwise_xor([5, 3], [4, 6]).numpy()
    array([1, 5], dtype=int32)
    """
    return arithmetic.bitwise_xor(*_pair(x, y, "bitwise_xor"))


@published("bitwise.invert")
def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """The bits that `x` does not have.

    >>> import gradtape as tf
    >>> tf.bitwise.invert(tf.constant([0, 5], tf.uint8)).numpy()
    array([255, 250], dtype=uint8)
    """
    return arithmetic.bitwise_not(of_kind(x, _INTEGERS, "invert"))


@published("bitwise.left_shift")
def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits of `x`, moved up by `y` places.

    >>> import gradtape as tf
    >>> tf.bitwise.left_shift([1, 5], [3, 1]).numpy()
    array([ 8, 10], dtype=int32)
    """
    return bitwise.left_shift(*_pair(x, y, "left_shift"))


@published("bitwise.right_shift")
def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits of `x`, moved down by `y` places; a negative number stays negative.

    >>> import gradtape as tf
    >>> tf.bitwise.right_shift([8, -8], [2, 1]).numpy()
    array([ 2, -4], dtype=int32)
    """
    return bitwise.right_shift(*_pair(x, y, "right_shift"))


def _pair(x: Any, y: Any, function: str) -> tuple[Tensor, Tensor]:
    return tensors_of_kind(x, y, _INTEGERS, function)
