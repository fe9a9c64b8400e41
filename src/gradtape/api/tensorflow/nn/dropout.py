"""Dropout: `tf.nn.dropout` and its other forms."""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from gradtape.api.tensorflow.accepted import (
    FLOATING,
    of_kind,
)
from gradtape.api.tensorflow.arguments import (
    ShapeLike,
    TensorLike,
    as_shape,
    integers,
)
from gradtape.api.tensorflow.random import draws
from gradtape.api.tensorflow.random.sequence import source
from gradtape.api.tensorflow.random.stateless import stateless_source
from gradtape.convert import TENSORFLOW
from gradtape.core.composite import takes_composites
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.ops import arithmetic
from gradtape.ops.selection import keep
from gradtape.published import published


@published("nn.dropout")
@takes_composites
def dropout(
    x: TensorLike,
    rate: TensorLike,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sets a fraction `rate` of the elements to 0, at random, and divides the others by `1 - rate`.

    Along axes where `noise_shape` is 1, elements are kept or dropped together. With rate 0, `x`
    comes back itself.

    >>> import gradtape as tf
    >>> sorted(set(tf.nn.dropout(tf.ones([100]), rate=0.5, seed=1).numpy().tolist()))
    [0.0, 2.0]
    """
    return _dropped(
        x, rate, noise_shape, lambda shape: _uniforms(source("dropout", seed), shape), "dropout"
    )


@published("nn.experimental.stateless_dropout")
def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: Any = None,
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` whose choice depends on `seed`, a vector of two integers, alone.

    >>> import gradtape as tf
    >>> first, second = (
    ...     tf.nn.experimental.stateless_dropout(tf.ones([9]), rate=0.5, seed=[1, 2])
    ...     for _ in range(2)
    ... )
    >>> bool(tf.reduce_all(first == second))
    True
    """
    function, algorithm = "stateless_dropout", rng_alg or "auto_select"
    return _dropped(
        x,
        rate,
        noise_shape,
        lambda shape: _uniforms(stateless_source(seed, function, algorithm), shape),
        function,
    )


@published("nn.experimental.general_dropout")
def general_dropout(
    x: TensorLike,
    rate: TensorLike,
    uniform_sampler: Callable[..., TensorLike],
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` with random numbers from `uniform_sampler(shape=..., dtype=...)`,
    which gives numbers from 0 to 1.

    >>> import gradtape as tf
    >>> def sampler(shape, dtype):
    ...     return tf.linspace(0.0, 1.0, shape[0])
    >>> tf.nn.experimental.general_dropout(tf.ones([4]), rate=0.5, uniform_sampler=sampler).numpy()
    array([0., 0., 2., 2.], dtype=float32)
    """
    values = of_kind(x, FLOATING, "general_dropout", "x", ValueError)

    def drawn(shape: tuple[int, ...]) -> Tensor:
        return TENSORFLOW.tensor(
            uniform_sampler(shape=shape, dtype=values.dtype), "general_dropout: uniform_sampler"
        )

    return _dropped(values, rate, noise_shape, drawn, "general_dropout")


def _uniforms(numbers: draws.Source, shape: tuple[int, ...]) -> Tensor:
    return numbers.tensor(draws.uniforms, shape, np.dtype(np.float32))


def _dropped(
    x: Any, rate: Any, noise_shape: Any, sampler: Callable[[tuple[int, ...]], Tensor], function: str
) -> Tensor:
    values = of_kind(x, FLOATING, function, "x", ValueError)
    if isinstance(rate, Real):
        rate = float(rate)
        if not 0 <= rate < 1:
            raise ValueError(f"{function}: rate must be in [0, 1), got {rate}.")
        if rate == 0:
            return values
        scale: Any = 1 / (1 - rate)
    else:
        rate = _scalar_rate(rate, values, function)
        scale = 1.0 / (1.0 - rate)
    shape = values.array.shape
    if noise_shape is not None:
        given = (
            list(noise_shape)
            if isinstance(noise_shape, (list, tuple))
            else integers(noise_shape, f"{function}: noise_shape")
        )
        if len(given) == len(shape):
            given = [
                size if entry is None else entry for entry, size in zip(given, shape, strict=True)
            ]
        shape = as_shape(given, f"{function}: noise_shape")
    return keep(values * scale, arithmetic.greater_equal(sampler(shape), rate))


def _scalar_rate(rate: Any, x: Tensor, function: str) -> Tensor:
    if not isinstance(rate, (Tensor, Variable, np.ndarray)):
        raise ValueError(f"{function}: rate must be a number or a scalar tensor, got {rate!r}.")
    found = TENSORFLOW.tensor(rate, f"{function}: rate")
    if found.ndim or found.array.dtype != x.array.dtype:
        raise ValueError(
            f"{function}: rate must be a scalar of the dtype of x, {x.dtype.name}, got "
            f"{found.dtype.name} of shape {found.shape}."
        )
    return found
