"""Keras's reductions: sums, extrema, means, moments, quantiles, and their running forms."""

from __future__ import annotations

from typing import Any

import gradtape as tf
import gradtape.numpy as gnp
from keras_gradtape.src.conversion import convert_to_tensor
from keras_gradtape.src.ops import sparse
from keras_gradtape.src.ops.numpy.declare import cumulative, quantile_like, reduction
from keras_gradtape.src.ops.operands import (
    at_least_float32,
    by_rule,
    cast_to,
    counting,
    floating,
    inexact,
    result_type,
    sum_dtype,
    tensors,
)


def _mean_of(dtype: str) -> str:
    """Whole numbers have a mean in floating point, 32 bits at least;
    other numbers keep their dtype.
    """
    return at_least_float32(dtype) if inexact(dtype) != dtype else dtype


def _product_of(dtype: str) -> str:
    return sum_dtype(result_type(dtype))


_sum = reduction("sum", sum_dtype)
_prod = reduction("prod", _product_of)
mean = reduction("mean", _mean_of)
std = reduction("std", inexact)
var = reduction("var", at_least_float32, floating)
median = reduction("median", floating)
all = reduction("all")
any = reduction("any")
amax = reduction("amax")
amin = reduction("amin")
ptp = reduction("ptp")
nansum = reduction("nansum", sum_dtype)
nanprod = reduction("nanprod", _product_of)
nanmean = reduction("nanmean", floating)
nanstd = reduction("nanstd", at_least_float32, floating)
nanvar = reduction("nanvar", at_least_float32, floating)
nanmedian = reduction("nanmedian", floating)
nanmax = reduction("nanmax")
nanmin = reduction("nanmin")

quantile = quantile_like("quantile", floating)
percentile = quantile_like("percentile", floating)
nanquantile = quantile_like("nanquantile", floating)
nanpercentile = quantile_like("nanpercentile", inexact)

cumsum = cumulative("cumsum", counting)
cumprod = cumulative("cumprod", counting)
nancumsum = cumulative("nancumsum", counting)
nancumprod = cumulative("nancumprod", counting)


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sums of the elements along axes."""
    if type(x) is not tf.Tensor and isinstance(x, tf.SparseTensor):
        return sparse.summed(x.with_values(by_rule(x.values, sum_dtype)), axis, keepdims)
    return _sum(x, axis, keepdims)


def max(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    """The largest elements along axes, `initial` at least."""
    x = convert_to_tensor(x)
    return cast_to(gnp.max(x, axis=axis, keepdims=keepdims, initial=initial), x.dtype.name)


def min(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
    """The smallest elements along axes, `initial` at most."""
    x = convert_to_tensor(x)
    return cast_to(gnp.min(x, axis=axis, keepdims=keepdims, initial=initial), x.dtype.name)


def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The products of the elements along axes."""
    if dtype is not None:
        x = convert_to_tensor(x, dtype)
        return gnp.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    return _prod(x, axis, keepdims)


def count_nonzero(x: Any, axis: Any = None) -> Any:
    """How many elements are not 0."""
    return cast_to(gnp.count_nonzero(convert_to_tensor(x), axis=axis), "int32")


def average(x: Any, axis: Any = None, weights: Any = None) -> Any:
    """Means in which elements have weights."""
    if weights is None:
        (x,) = tensors((x,), float)
    else:
        x, weights = tensors((x, weights), float)
    return gnp.average(x, axis=axis, weights=weights)


def corrcoef(x: Any) -> Any:
    """The correlations between the rows of `x`."""
    x = by_rule(x, inexact)
    wide = cast_to(x, "float32") if x.dtype.size < 4 else x
    return cast_to(gnp.corrcoef(wide), x.dtype.name)
