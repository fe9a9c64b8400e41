"""Elementwise mathematics: `tf.math.exp` and its kin."""

from __future__ import annotations

from gradtape.api.arguments import TensorLike, tensor
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, elementary
from gradtape.ops.convert import first_tensor


def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """The absolute value; for complex numbers the modulus.

    >>> import gradtape as tf
    >>> tf.abs([-1.5, 2.0]).numpy()
    array([1.5, 2. ], dtype=float32)
    """
    return arithmetic.absolute(tensor(x))


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x + y`, element by element, with broadcasting.

    >>> import gradtape as tf
    >>> tf.add([1.0, 2.0], 10.0).numpy()
    array([11., 12.], dtype=float32)
    """
    return arithmetic.add(first_tensor(x, y), y)


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """e to the power of `x`.

    >>> import gradtape as tf
    >>> tf.exp([0.0, 1.0]).numpy()
    array([1.       , 2.7182817], dtype=float32)
    """
    return elementary.exp(tensor(x))
