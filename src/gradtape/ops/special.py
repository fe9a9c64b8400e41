"""Error functions and their inverses, integrals without a closed form, and the next representable
number.

The kernels of this family are scipy's, which are compiled for NumPy arrays; scipy is loaded when
one of them first runs. Large float32 arrays have faster ones in `float32`. On XLA they are replaced
by those of `special_on_xla`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from gradtape.engines.engine import host_kernel, is_xla
from gradtape.engines.numpy.threads import in_blocks
from gradtape.ops import float32, float32_integrals, special_on_xla
from gradtape.ops.declare import binary, op, unary
from gradtape.ops.elementary import cos, exp, one_unless_zero, sin, xdivy
from gradtape.ops.selection import keep_array, zeros_like


@cache
def scipy_special() -> Any:
    """The module `scipy.special`."""
    import scipy.special  # noqa: PLC0415 - loading it takes longer than loading gradtape

    return scipy.special


def scipy_kernel(name: str, *, in_double: bool = False) -> Callable[..., Any]:
    """The kernel that is the function of this name in `scipy.special`; large float32 arrays are
    computed by `float32`, and what XLA does not have is called on the host.

    `in_double` is for functions that SciPy computes in float32 when it is given float32.
    """
    of_float32 = float32.FUNCTIONS.get(name) or float32_integrals.FUNCTIONS.get(name)

    def kernel(xp: Any, *args: Any) -> Any:
        if xp is np:
            if of_float32 is not None and float32.serves(args[0]):
                return float32.in_blocks(of_float32, args[0])
            args = tuple(same_dtype(args))
            if in_double and args[0].dtype == np.float32:
                return _of_scipy(name, [arg.astype(np.float64) for arg in args]).astype(np.float32)
            return _of_scipy(name, args)
        own = special_on_xla.FUNCTIONS.get(name)
        return host_kernel(partial(kernel, np))(*args) if own is None else own(xp, *args)

    return kernel


_MANY = 2**14  # elements, for which even the fastest functions take as long as waking a thread


def _of_scipy(name: str, args: Sequence[Any]) -> Any:
    """A function of `scipy.special`; several threads share large arrays."""
    function, shape = getattr(scipy_special(), name), np.broadcast_shapes(*map(np.shape, args))
    if math.prod(shape) < _MANY or any(
        arg.dtype.char not in "fd" or arg.shape not in ((), shape) for arg in args
    ):
        return function(*args)
    return in_blocks(function, *np.broadcast_arrays(*args), size=_MANY // 2)


def same_dtype(args: tuple[Any, ...]) -> list[Any]:
    """The arguments as floats of one dtype: beside a Python number,
    some of scipy's functions would widen float32.
    """
    if len(args) == 1 or is_xla(args[0]):
        return list(args)
    dtype = np.result_type(*args)
    return [np.asarray(arg, dtype) for arg in args]


def _fresnel(which: int) -> Callable[..., Any]:
    of_float32 = float32_integrals.fresnel(which)

    def kernel(xp: Any, x: Any) -> Any:
        if xp is np and float32.serves(x):
            return float32.in_blocks(of_float32, x)
        return (scipy_special() if xp is np else xp.special).fresnel(x)[which]

    return kernel


_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
_HALF_SQRT_PI = math.sqrt(math.pi) / 2
_SQRT_TWO_PI = math.sqrt(2 * math.pi)
_HALF_PI = math.pi / 2

_AT_THE_END = (
    "its argument is at the end of where it is defined, or outside: clip it a little further "
    "inside with tf.clip_by_value."
)

erf = unary("erf", scipy_kernel("erf"), lambda g, x: g * (exp(-x * x) * _TWO_OVER_SQRT_PI))
erfc = unary("erfc", scipy_kernel("erfc"), lambda g, x: g * (exp(-x * x) * -_TWO_OVER_SQRT_PI))
erfinv = unary(
    "erfinv",
    scipy_kernel("erfinv"),
    lambda g, out: g * (exp(out * out) * _HALF_SQRT_PI),
    when_not_finite=_AT_THE_END,
)
erfcinv = unary(
    "erfcinv",
    scipy_kernel("erfcinv"),
    lambda g, out: g * (exp(out * out) * -_HALF_SQRT_PI),
    when_not_finite=_AT_THE_END,
)
ndtri = unary(
    "ndtri",
    scipy_kernel("ndtri"),
    lambda g, out: g * (exp(out * out * 0.5) * _SQRT_TWO_PI),
    when_not_finite=_AT_THE_END,
)

dawsn = unary("dawsn", scipy_kernel("dawsn"), lambda g, x, out: g - g * (x + x) * out)
expint = unary("expint", scipy_kernel("expi"), lambda g, x: g * exp(x) / x)
fresnel_sin = unary("fresnel_sin", _fresnel(0), lambda g, x: g * sin(x * x * _HALF_PI))
fresnel_cos = unary("fresnel_cos", _fresnel(1), lambda g, x: g * cos(x * x * _HALF_PI))

_SERIES_RADIUS = 0.5
_SERIES_TERMS = 64


def _log_ratio(xp: Any, x: Any, *, order: int) -> Any:
    """The derivative of some order of log(x) / (x - 1):
    near the removable singularity at 1 by its power series.
    """
    if xp is np and not order and float32.serves(x):
        return float32.in_blocks(float32_integrals.log_ratio, x)
    x = xp.asarray(x)
    wide = x.astype(np.float64)
    y = wide - 1
    near = xp.abs(y) < _SERIES_RADIUS
    far = xp.where(near, np.nan, y)
    value = xp.log(wide) / far
    for n in range(1, order + 1):  # Leibniz' rule for log(x) = y * ratio
        value = ((-1) ** (n - 1) * math.factorial(n - 1) / wide**n - n * value) / far
    series = xp.zeros_like(y)
    small = xp.where(near, y, 0)
    for k in range(order + _SERIES_TERMS, order - 1, -1):
        series = series * small + (-1) ** k * math.perm(k, order) / (k + 1)
    return xp.where(near, series, value).astype(x.dtype)[()]


log_ratio = op(
    "log_ratio",
    _log_ratio,
    [lambda g, x, order: g * log_ratio(x, order=order + 1)],
    arguments=["x"],
    elementwise=True,
)
spence = unary("spence", scipy_kernel("spence"), lambda g, x: -g * log_ratio(x, order=0))


# It is 0 where x is 0, whatever y is, and so are its derivatives.
xlog1py = binary(
    "xlog1py",
    lambda xp, x, y: keep_array(
        xp, x * float32.log1p(xp, xp.asarray(y, dtype=xp.result_type(x, y))), xp.not_equal(x, 0)
    )[()],
    lambda g, x, y: g * xlog1py(one_unless_zero(x), y),
    lambda g, x, y: g * xdivy(x, y + 1),
)
nextafter = binary("nextafter", "nextafter", lambda g: g, lambda g: zeros_like(g))
