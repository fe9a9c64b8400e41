"""Convolution of vectors: `numpy.convolve` and `correlate`."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from typing import Any

from gradtape.api.numpy.operands import (
    promoted,
    tensors_of,
)
from gradtape.api.numpy.products import conjugated, with_truth_values
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import shaping, vector_convolution
from gradtape.published import published


@published("numpy.convolve")
def convolve(a: TensorLike, v: TensorLike, mode: str = "full") -> Tensor:
    """The convolution of two vectors: all of it, as much as the longer one has ('same'), or where
    they overlap in full ('valid').

    >>> import gradtape as tf
    >>> tf.numpy.convolve([1.0, 2.0, 3.0], [1.0, 10.0]).numpy()
    array([ 1., 12., 23., 30.], dtype=float32)
    """
    x, y = _two_vectors(a, v, "convolve")
    return with_truth_values(
        lambda p, q: _convolved(p, q, mode, "convolve", (_shorter(p, q) - 1) // 2), x, y
    )


@published("numpy.correlate")
def correlate(a: TensorLike, v: TensorLike, mode: str = "valid") -> Tensor:
    """The sums of products of one vector with the other, conjugated, moved along it;
    see `convolve` for `mode`.

    >>> import gradtape as tf
    >>> tf.numpy.correlate([1.0, 2.0, 3.0], [1.0, 10.0]).numpy()
    array([21., 32.], dtype=float32)
    """
    x, y = _two_vectors(a, v, "correlate")
    short = _shorter(x, y)
    start = short // 2 if x.array.size < y.array.size else (short - 1) // 2
    moved = shaping.reverse(conjugated(y), axis=(0,))
    return with_truth_values(lambda p, q: _convolved(p, q, mode, "correlate", start), x, moved)


def _two_vectors(a: Any, v: Any, function: str) -> list[Tensor]:
    found = [
        shaping.reshape(x, shape=(1,)) if not x.array.ndim else x
        for x in tensors_of([a, v], function, ["a", "v"])
    ]
    for x, name in zip(found, ("a", "v"), strict=True):
        if x.array.ndim != 1 or not x.array.size:
            raise ValueError(
                f"{function}: {name} must be a vector with at least one element, got shape "
                f"{x.shape}."
            )
    return promoted(found)


def _shorter(x: Tensor, y: Tensor) -> int:
    return min(x.array.size, y.array.size)


def _convolved(x: Tensor, y: Tensor, mode: str, function: str, start: int) -> Any:
    """A convolution; that of the longer one's length begins `start` elements after the whole."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{function}: mode must be 'full', 'same' or 'valid', got {mode!r}.")
    if x.array.size < y.array.size:
        x, y = y, x
    found = vector_convolution.convolve(x, y, full=mode != "valid")
    return found[start : start + x.array.size] if mode == "same" else found
