"""Keras's functions that make tensors: constants, sequences, windows and triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras.src.backend import config, standardize_dtype

import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops.operands import at_least_float32, by_rule, cast_to, result_type


def _dtype(dtype: Any) -> str:
    return standardize_dtype(dtype or config.floatx())


def _type_of(value: Any) -> Any:
    return getattr(value, "dtype", type(value))


# Constants


def array(x: Any, dtype: Any = None) -> Any:
    """Anything as a tensor."""
    return convert_to_tensor(x, dtype)


def zeros(shape: Any, dtype: Any = None) -> Any:
    """A tensor of zeros."""
    return gnp.zeros(shape, _dtype(dtype))


def ones(shape: Any, dtype: Any = None) -> Any:
    """A tensor of ones."""
    return gnp.ones(shape, _dtype(dtype))


def empty(shape: Any, dtype: Any = None) -> Any:
    """A tensor whose values do not matter."""
    return gnp.empty(shape, _dtype(dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """A tensor filled with one value, or with one that broadcasts."""
    return gnp.full(shape, convert_to_tensor(fill_value, _dtype(dtype)))


def zeros_like(x: Any, dtype: Any = None) -> Any:
    """Zeros in the shape of `x`."""
    return gnp.zeros_like(convert_to_tensor(x), dtype and standardize_dtype(dtype))


def ones_like(x: Any, dtype: Any = None) -> Any:
    """Ones in the shape of `x`."""
    return gnp.ones_like(convert_to_tensor(x), dtype and standardize_dtype(dtype))


def empty_like(x: Any, dtype: Any = None) -> Any:
    """A tensor in the shape of `x` whose values do not matter."""
    return gnp.empty_like(convert_to_tensor(x), dtype and standardize_dtype(dtype))


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value in the shape of `x`."""
    x = convert_to_tensor(x)
    wanted = x.dtype.name if dtype is None else standardize_dtype(dtype)
    return gnp.full(x.shape, convert_to_tensor(fill_value, wanted))


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on a diagonal, zeros elsewhere."""
    return gnp.eye(N, M, k, _dtype(dtype))


def identity(n: Any, dtype: Any = None) -> Any:
    """The matrix with ones on the diagonal."""
    return gnp.identity(n, _dtype(dtype))


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on and below a diagonal, zeros above it."""
    return gnp.tri(N, M, k, _dtype(dtype))


# Sequences


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """The numbers from `start` to `stop` by steps of `step`."""
    wanted = (
        standardize_dtype(dtype)
        if dtype
        else result_type(*(_type_of(x) for x in (start, stop, step) if x is not None))
    )
    if stop is None:
        start, stop = 0, start
    return gnp.arange(start, stop, 1 if step is None else step, dtype=wanted)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` numbers at equal distances from `start` to `stop`."""
    wanted = dtype or result_type(_type_of(start), _type_of(stop), float)
    return gnp.linspace(start, stop, num, endpoint, retstep, standardize_dtype(wanted), axis)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` powers of `base`, whose exponents lie at equal distances."""
    wanted = dtype or result_type(_type_of(start), _type_of(stop), float)
    return gnp.logspace(start, stop, num, endpoint, base, standardize_dtype(wanted), axis)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before."""
    return gnp.geomspace(start, stop, num, endpoint, _dtype(dtype), axis)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of the elements of `x`, a column for each exponent."""
    x = convert_to_tensor(x)
    powers = gnp.vander(by_rule(x, at_least_float32), N, increasing)
    return cast_to(powers, result_type(x.dtype.name))


def meshgrid(*x: Any, indexing: str = "xy") -> Any:
    """The coordinates of the points of a grid."""
    return gnp.meshgrid(*(convert_to_tensor(axis) for axis in x), indexing=indexing)


# Windows


def _window(name: str) -> Callable[..., Any]:
    """A window of so many points, a number that has to be known."""
    function = getattr(np, name)

    def call(x: Any) -> Any:
        return convert_to_tensor(function(int(x)), config.floatx())

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Keras's `{name}` window."
    return call


bartlett = _window("bartlett")
blackman = _window("blackman")
hamming = _window("hamming")
hanning = _window("hanning")


def kaiser(x: Any, beta: Any) -> Any:
    """Keras's `kaiser` window."""
    return gnp.kaiser(int(x), convert_to_tensor(beta, config.floatx()))
