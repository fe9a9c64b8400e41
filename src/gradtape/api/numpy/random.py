"""NumPy's random numbers, as far as `tf.experimental.numpy.random` has them, and names of types
that NumPy 2 has no longer.

The numbers are those of `tf.random`, with its seed; floats are float32, as in all of
`gradtape.numpy`.
"""

from __future__ import annotations

import numpy as np

from gradtape.api.tensorflow.arguments import DTypeLike, ShapeLike, TensorLike, as_shape
from gradtape.api.tensorflow.random import sequence
from gradtape.convert import NUMPY
from gradtape.core.tensor import Tensor
from gradtape.ops.broadcasting import broadcast_to, cast
from gradtape.published import published


def _size(size: ShapeLike | None, caller: str) -> tuple[int, ...]:
    return () if size is None else as_shape(size, f"random.{caller}: size")


@published("numpy.random.seed")
def seed(s: int) -> None:
    """Makes the random numbers that follow reproducible, those of `tf.random` too.

    >>> import gradtape as tf
    >>> tf.numpy.random.seed(1)
    >>> first = tf.numpy.random.rand(3)
    >>> tf.numpy.random.seed(1)
    >>> bool(tf.reduce_all(first == tf.numpy.random.rand(3)))
    True
    """
    sequence.set_seed(s)


@published("numpy.random.rand")
def rand(*size: int) -> Tensor:
    """Numbers spread evenly over [0, 1), of the shape that the arguments are.

    >>> import gradtape as tf
    >>> tf.numpy.random.rand(2, 3).shape
    TensorShape([2, 3])
    """
    return sequence.uniform(_size(size, "rand"))


@published("numpy.random.random")
def random(size: ShapeLike | None = None) -> Tensor:
    """Numbers spread evenly over [0, 1).

    >>> import gradtape as tf
    >>> tf.numpy.random.random([2, 3]).shape
    TensorShape([2, 3])
    """
    return sequence.uniform(_size(size, "random"))


@published("numpy.random.uniform")
def uniform(low: TensorLike = 0.0, high: TensorLike = 1.0, size: ShapeLike | None = None) -> Tensor:
    """Numbers spread evenly over [low, high), which broadcast; gradients flow to both.

    >>> import gradtape as tf
    >>> tf.numpy.random.uniform([0.0, 10.0], [1.0, 20.0]).shape
    TensorShape([2])
    """
    least, most = (
        NUMPY.tensor(x, f"random.uniform: {name}") for x, name in ((low, "low"), (high, "high"))
    )
    shape = (
        np.broadcast_shapes(least.array.shape, most.array.shape)
        if size is None
        else _size(size, "uniform")
    )
    return least + (most - least) * sequence.uniform(shape)


@published("numpy.random.randn")
def randn(*args: int) -> Tensor:
    """Numbers of the standard normal distribution, of the shape that the arguments are.

    >>> import gradtape as tf
    >>> tf.numpy.random.randn(2, 3).shape
    TensorShape([2, 3])
    """
    return sequence.normal(_size(args, "randn"))


@published("numpy.random.standard_normal")
def standard_normal(size: ShapeLike | None = None) -> Tensor:
    """Numbers of the standard normal distribution.

    >>> import gradtape as tf
    >>> tf.numpy.random.standard_normal(3).shape
    TensorShape([3])
    """
    return sequence.normal(_size(size, "standard_normal"))


@published("numpy.random.randint")
def randint(
    low: int,
    high: int | None = None,
    size: ShapeLike | None = None,
    dtype: DTypeLike = np.int64,
) -> Tensor:
    """Integers spread evenly over [low, high), or over [0, low) without `high`.

    >>> import gradtape as tf
    >>> bool(tf.reduce_all(tf.numpy.random.randint(3, size=[100]) < 3))
    True
    """
    least, end = (0, low) if high is None else (low, high)
    return sequence.uniform(_size(size, "randint"), least, end, dtype)


@published("numpy.random.poisson")
def poisson(lam: TensorLike = 1.0, size: ShapeLike | None = None) -> Tensor:
    """Integers of the Poisson distribution of mean `lam`, one for each of its elements or of
    `size`, to which it broadcasts.

    >>> import gradtape as tf
    >>> tf.numpy.random.poisson([1.0, 100.0]).shape
    TensorShape([2])
    """
    mean = NUMPY.tensor(lam, "random.poisson: lam")
    wanted = mean.array.shape if size is None else _size(size, "poisson")
    means = broadcast_to(cast(mean, dtype=np.dtype(np.float32)), shape=wanted)
    return sequence.poisson((), means, np.int64)


@published("numpy.experimental_enable_numpy_behavior")
def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Does nothing: Tensors always have NumPy's methods and operators, and mixed dtypes promote.

    >>> import gradtape as tf
    >>> tf.experimental.numpy.experimental_enable_numpy_behavior()
    >>> tf.constant([[1, 2]]).T.shape
    TensorShape([2, 1])
    """


PUBLISHED = {
    "numpy.complex_": np.complex128,
    "numpy.float_": np.float64,
    "numpy.int_": np.int_,
    "numpy.object_": np.object_,
    "numpy.string_": np.bytes_,
    "numpy.unicode_": np.str_,
}
