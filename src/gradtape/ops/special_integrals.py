"""The incomplete gamma and beta functions, which are the distribution functions of gamma and beta
variables.

Their derivative with respect to the last argument is a density. With respect to the parameters it
has no closed form: it is the integral of the density's derivative, which is the density times a
polynomial in logarithms and polygamma functions, over one of the tails. The shorter tail is taken,
where nothing cancels, cut where the density is negligible, and integrated by the tanh-sinh rule,
which is exact up to rounding even where the density has a singularity at an end. So derivatives of
every order come at the same cost and precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from gradtape.ops import batching, float32_incomplete
from gradtape.ops.arithmetic import multiply_no_nan, times
from gradtape.ops.broadcasting import sum_to_shape
from gradtape.ops.declare import op
from gradtape.ops.elementary import log, log1p, xdivy
from gradtape.ops.op import ON_HOST
from gradtape.ops.special import same_dtype, scipy_kernel, scipy_special
from gradtape.ops.special_gamma import digamma, polygamma
from gradtape.ops.special_gamma import psi as psi_of

_NEGLIGIBLE = 42.0  # exp(-42) is below the rounding of float64
_CHUNK = 1024  # elements that are integrated at once, so that their nodes stay in the cache

Quadrature = tuple[Any, Any]
Psi = Callable[[int, Any], Any]


@cache
def _rule(dtype: Any) -> Quadrature:
    """The nodes and the weights of the tanh-sinh rule on [0, 1], to the precision of a dtype.

    The last node is exp(-pi * sinh(reach)) from the end: 1e-15 for float64.
    """
    step, reach = (0.08, 3.1) if dtype == np.float64 else (0.1, 2.6)
    u = np.arange(-reach, reach + step / 2, step)
    v = math.pi * np.sinh(u)
    nodes = 1 / (1 + np.exp(-v))
    return nodes, nodes / (1 + np.exp(v)) * math.pi * np.cosh(u) * step


def _in_chunks(xp: Any, kernel: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """`kernel` of float64 vectors, a chunk at a time;
    the result has the broadcast shape and the common dtype of `args`.
    """
    given = same_dtype(args)
    arrays = xp.broadcast_arrays(*given)
    flat = [array.reshape(-1).astype(np.float64) for array in arrays]
    if xp is not np:
        return kernel(*flat).reshape(arrays[0].shape).astype(given[0].dtype)
    out = np.empty(flat[0].shape)
    for start in range(0, out.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part] = kernel(*[column[part] for column in flat])
    return out.reshape(arrays[0].shape).astype(given[0].dtype)[()]


def _split(
    xp: Any, where: Any, below: Callable[..., Any], above: Callable[..., Any], *args: Any
) -> Any:
    """`below` of the elements where the condition holds, `above` of the others."""
    if xp is not np:
        return xp.where(where, below(*args), above(*args))
    out = np.empty(where.shape)
    for function, chosen in ((below, where), (above, ~where)):
        if chosen.any():
            out[chosen] = function(*[arg[chosen] for arg in args])
    return out


def _integral(xp: Any, values: Any, weights: Any) -> Any:
    """The weighted sum over the nodes; XLA need not write the values down for a sum as it must for
    a product with BLAS.
    """
    return values @ weights if xp is np else (values * weights).sum(-1)


def _length(xp: Any, slope: Any, curvature: Any) -> Any:
    """Where slope * z + curvature * z**2 / 2 reaches what is negligible, but at most 1."""
    reach = slope + xp.sqrt(slope * slope + 2 * _NEGLIGIBLE * curvature)
    return 2 * _NEGLIGIBLE / xp.maximum(reach, 2 * _NEGLIGIBLE)


def _moment(orders: tuple[int, int], of: Callable[[int, int], Any]) -> Any:
    """The partial derivative of exp(f) of the given orders, over exp(f),
    where `of(i, j)` gives those of f.
    """

    def found(m: int, n: int) -> Any:
        if m == n == 0:
            return 1.0
        one = (1, 0) if m else (0, 1)
        m, n = m - one[0], n - one[1]
        terms = [
            of(i + one[0], j + one[1]) * found(m - i, n - j) * (math.comb(m, i) * math.comb(n, j))
            for i in range(m + 1)
            for j in range(n + 1)
        ]
        return sum(terms[1:], terms[0])

    return found(*orders)


def _psi(order: int, x: Any) -> Any:
    """The derivative of some order of the digamma function, for pulls."""
    return polygamma(order, x) if order else digamma(x)


_log_beta = scipy_kernel("betaln")


def _column(array: Any) -> Any:
    return array[:, None]


def _orders(psi: Psi, x: Any) -> Callable[[int], Any]:
    """`psi` of x, each order computed once."""
    return cache(lambda order: psi(order, x))


# The gamma distribution


def _gamma_cumulants(a: Any, log_x: Any, psi: Psi = _psi) -> Callable[[int, int], Any]:
    """The derivatives of the logarithm of the density by a."""
    of_a = _orders(psi, a)
    return lambda i, j: log_x - of_a(0) if i == 1 else -of_a(i - 1)


def _log_gamma_density(xp: Any, a: Any, x: Any) -> Any:
    """log(x**(a-1) * exp(-x) / gamma(a)); for large a in terms of (x - a) / a,
    since its single terms would cancel.
    """
    special = scipy_special() if xp is np else xp.special
    small = special.xlogy(a - 1, x) - x - special.gammaln(a)
    big = xp.maximum(a, 10.0)
    off, b = (x - big) / big, 1 / (big * big)
    rest_of_stirling = (1 / 12 - b * (1 / 360 - b * (1 / 1260 - b * (1 / 1680 - b / 1188)))) / big
    large = (
        big * (xp.log1p(off) - off)
        - xp.log(x)
        + 0.5 * xp.log(big / (2 * math.pi))
        - rest_of_stirling
    )
    return xp.where(a < 10, small, xp.where(x == 0, -np.inf, large))


def _gamma_density(xp: Any, a: Any, x: Any) -> Any:
    """0 for negative x, where no gamma variable is."""
    if xp is np:
        a, x = same_dtype((a, x))
        if float32_incomplete.serves(a, x):
            return float32_incomplete.of_gamma("density", a, x, partial(_any_gamma_density, np))
    return _any_gamma_density(xp, a, x)


def _any_gamma_density(xp: Any, a: Any, x: Any) -> Any:

    def density(a: Any, x: Any) -> Any:
        inside = xp.exp(_log_gamma_density(xp, a, xp.where(x < 0, 1.0, x)))
        return xp.where(a > 0, xp.where(x < 0, 0.0, inside), np.nan)

    return _in_chunks(xp, density, (a, x))


def _gamma_below(xp: Any, order: int, rule: Quadrature, a: Any, x: Any) -> Any:
    """The derivative by a of the probability of less than x, over the density at x."""
    # P(a, x) = density(a + 1, x) + P(a + 1, x), where the second density vanishes at 0, logarithms
    # and all.
    psi = partial(psi_of, xp)
    raised = a < 2
    part = xp.where(raised, x / a, 1.0)
    a = xp.where(raised, a + 1, a)
    nodes, weights = rule
    length = _length(xp, a - 1 - x, a - 1)
    steps = -_column(length) * nodes
    far = xp.log1p(steps)
    density = xp.exp(_column(a - 1) * far - _column(x) * steps)
    moment = _moment((order, 0), _gamma_cumulants(_column(a), _column(xp.log(x)) + far, psi))
    result = x * length * _integral(xp, density * moment, weights)
    return part * xp.where(
        raised, result + _moment((order, 0), _gamma_cumulants(a, xp.log(x), psi)), result
    )


def _gamma_above(xp: Any, order: int, rule: Quadrature, a: Any, x: Any) -> Any:
    """The same from the probability of more than x, where z = t / x - 1 goes from 0 up.

    The density falls there by at least slope * z + curvature * 3 * z**2 / (6 + 4 * z).
    """
    nodes, weights = rule
    slope, curvature = xp.minimum(x, x - a + 1), xp.maximum(a - 1, 0)
    lead, linear = 4 * slope + 3 * curvature, 6 * slope - 4 * _NEGLIGIBLE
    length = (xp.sqrt(linear * linear + 24 * _NEGLIGIBLE * lead) - linear) / (2 * lead)
    steps = _column(length) * nodes
    far = xp.log1p(steps)
    density = xp.exp(_column(a - 1) * far - _column(x) * steps)
    moment = _moment(
        (order, 0), _gamma_cumulants(_column(a), _column(xp.log(x)) + far, partial(psi_of, xp))
    )
    return -x * length * _integral(xp, density * moment, weights)


def _igamma_by_a(xp: Any, a: Any, x: Any, *, order: int, over_density: bool = False) -> Any:
    slow = partial(_any_igamma_by_a, xp, order=order, over_density=over_density)
    if xp is np and order == 1:
        a, x = same_dtype((a, x))
        if float32_incomplete.serves(a, x):
            name = "by_shape_over_density" if over_density else "by_shape"
            return float32_incomplete.of_gamma(name, a, x, slow)
    return slow(a, x)


def _any_igamma_by_a(xp: Any, a: Any, x: Any, *, order: int, over_density: bool) -> Any:
    rule = _rule(same_dtype((a, x))[0].dtype)

    def derivative(a: Any, x: Any) -> Any:
        inside = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
        shape, point = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
        below, above = (
            partial(_gamma_below, xp, order, rule),
            partial(_gamma_above, xp, order, rule),
        )
        found = _split(xp, point <= shape + 1, below, above, shape, point)
        if not over_density:
            found = found * xp.exp(_log_gamma_density(xp, shape, point))
        return xp.where(inside, found, xp.where((a > 0) & (x >= 0), 0.0, np.nan))

    return _in_chunks(xp, derivative, (a, x))


def _igamma_by_a_da(g: Any, a: Any, x: Any, out: Any, order: int, over_density: bool) -> Any:
    higher = igamma_by_a(a, x, order=order + 1, over_density=over_density)
    return g * (higher - out * (log(x) - digamma(a))) if over_density else g * higher


def _igamma_by_a_dx(g: Any, a: Any, x: Any, out: Any, order: int, over_density: bool) -> Any:
    moment = _moment((order, 0), _gamma_cumulants(a, log(x)))
    if over_density:
        return g * (moment - out * (xdivy(a - 1, x) - 1))
    # Where the density is 0, the logarithm may be infinite.
    return g * multiply_no_nan(moment, gamma_density(a, x))


def _incomplete_gamma(name: str) -> Callable[..., Any]:
    """NaN for a not above 0, where scipy takes the limit at 0."""
    of_any = scipy_kernel(name)

    def slow(xp: Any, a: Any, x: Any) -> Any:
        return xp.where(xp.greater(a, 0), of_any(xp, a, x), np.nan)[()]

    def kernel(xp: Any, a: Any, x: Any) -> Any:
        if xp is np:
            a, x = same_dtype((a, x))
            if float32_incomplete.serves(a, x):
                return float32_incomplete.of_gamma(name, a, x, partial(slow, np))
        return slow(xp, a, x)

    return kernel


gamma_density = op(
    "gamma_density",
    _gamma_density,
    [
        lambda g, a, x, out: g * multiply_no_nan(log(x) - digamma(a), out),
        lambda g, a, x, out: g * multiply_no_nan(xdivy(a - 1, x) - 1, out),
    ],
    elementwise=True,
)
igamma = op(
    "igamma",
    _incomplete_gamma("gammainc"),
    [lambda g, a, x: g * igamma_by_a(a, x, order=1), lambda g, a, x: g * gamma_density(a, x)],
    elementwise=True,
)
igammac = op(
    "igammac",
    _incomplete_gamma("gammaincc"),
    [lambda g, a, x: -g * igamma_by_a(a, x, order=1), lambda g, a, x: -g * gamma_density(a, x)],
    elementwise=True,
)
# The quotient with the density is finite also where both are too small for their dtype: samples'
# derivatives are made of it.
igamma_by_a = op("igamma_by_a", _igamma_by_a, [_igamma_by_a_da, _igamma_by_a_dx], elementwise=True)


# The beta distribution


def _beta_cumulants(a: Any, b: Any, log_x: Any, log_rest: Any) -> Callable[[int, int], Any]:
    """The derivatives of the logarithm of the density by a and b."""

    def of(i: int, j: int) -> Any:
        both = _psi(i + j - 1, a + b)
        if i and j:
            return both
        own = _psi(i - 1, a) if i else _psi(j - 1, b)
        return both - own + (log_x if i else log_rest) if i + j == 1 else both - own

    return of


def _beta_density(xp: Any, a: Any, b: Any, x: Any) -> Any:
    if xp is not np:
        return _any_beta_density(xp, a, b, x)
    slow = partial(_any_beta_density, np)
    a, b, x = same_dtype((a, b, x))
    return float32_incomplete.of_beta("beta_density", a, b, x, slow)


def _any_beta_density(xp: Any, a: Any, b: Any, x: Any) -> Any:
    def density(a: Any, b: Any, x: Any) -> Any:
        special = scipy_special() if xp is np else xp.special
        logarithm = special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - _log_beta(xp, a, b)
        return xp.where(
            (a > 0) & (b > 0), xp.where((x < 0) | (x > 1), 0.0, xp.exp(logarithm)), np.nan
        )

    return _in_chunks(xp, density, (a, b, x))


def _beta_below(
    orders: tuple[int, int], rule: Quadrature, a: Any, b: Any, x: Any, rest: Any
) -> Any:
    """The derivative by a and b of the probability of less than x, where `rest` is 1 - x."""
    special = scipy_special()
    log_x, log_rest = np.log(x), np.log(rest)
    nodes, weights = rule
    # I(a, b, x) = h + I(a + 1, b, x) with h as below, where the second density vanishes at 0,
    # logarithms and all.
    raised = a < 2
    base = a
    a = np.where(raised, a + 1, a)
    odds = x / rest
    slope = a - 1 - np.maximum(b - 1, 0) * odds
    length = _length(np, slope, a - 1)
    # A shorter range gives a better bound on the curvature, which gives a shorter range.
    for _ in range(2):
        length = _length(
            np, slope, a - 1 + np.maximum(b - 1, 0) * odds * odds * 6 / (6 + 4 * odds * length)
        )
    steps = _column(length) * nodes
    far, far_rest = np.log1p(-steps), np.log1p(_column(odds) * steps)
    density = np.exp(_column(a - 1) * far + _column(b - 1) * far_rest)
    at_x = np.exp((a - 1) * log_x + (b - 1) * log_rest - special.betaln(a, b))
    moment = _moment(
        orders,
        _beta_cumulants(_column(a), _column(b), _column(log_x) + far, _column(log_rest) + far_rest),
    )
    result = at_x * x * length * ((density * moment) @ weights)
    if not raised.any():
        return result
    h = np.exp(base * log_x + b * log_rest - special.betaln(base, b)) / base
    of = _beta_cumulants(base, b, log_x, log_rest)
    by_base = [(-1) ** i * math.factorial(i - 1) / base**i for i in range(1, orders[0] + 1)]
    return np.where(
        raised,
        result + h * _moment(orders, lambda i, j: of(i, j) if j else of(i, j) + by_base[i - 1]),
        result,
    )


def _betainc_by(xp: Any, a: Any, b: Any, x: Any, *, orders: tuple[int, int]) -> Any:
    rule = _rule(np.result_type(a, b, x))

    def below(a: Any, b: Any, x: Any) -> Any:
        return _beta_below(orders, rule, a, b, x, 1 - x)

    def above(a: Any, b: Any, x: Any) -> Any:
        return -_beta_below((orders[1], orders[0]), rule, b, a, 1 - x, x)

    def derivative(a: Any, b: Any, x: Any) -> Any:
        valid = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
        inside = valid & (x > 0) & (x < 1)
        args = [np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)]
        found = _split(np, args[2] <= args[0] / (args[0] + args[1]), below, above, *args)
        return np.where(inside, found, np.where(valid & ((x == 0) | (x == 1)), 0.0, np.nan))

    return _in_chunks(np, derivative, (a, b, x))


_any_betainc = scipy_kernel("betainc", in_double=True)


def _betainc(xp: Any, a: Any, b: Any, x: Any) -> Any:
    if xp is not np:
        return _any_betainc(xp, a, b, x)
    slow = partial(_any_betainc, np)
    a, b, x = same_dtype((a, b, x))
    return float32_incomplete.of_beta("betainc", a, b, x, slow)


def _to(shape: tuple[int, ...], pulled: Any) -> Any:
    return sum_to_shape(pulled, shape=shape)


def _beta_density_by(a: Any, b: Any, x: Any, orders: tuple[int, int]) -> Any:
    return multiply_no_nan(
        _moment(orders, _beta_cumulants(a, b, log(x), log1p(-x))), beta_density(a, b, x)
    )


# An op of three arguments undoes their broadcasting itself.
beta_density = op(
    "beta_density",
    _beta_density,
    [
        lambda g, a, b, x, out, a_shape: _to(
            a_shape, times(g, multiply_no_nan(log(x) - digamma(a) + digamma(a + b), out))
        ),
        lambda g, a, b, x, out, b_shape: _to(
            b_shape, times(g, multiply_no_nan(log1p(-x) - digamma(b) + digamma(a + b), out))
        ),
        lambda g, a, b, x, out, x_shape: _to(
            x_shape, times(g, multiply_no_nan(xdivy(a - 1, x) - xdivy(b - 1, 1 - x), out))
        ),
    ],
    batch=batching.elementwise,
)
betainc = op(
    "betainc",
    _betainc,
    [
        lambda g, a, b, x, a_shape: _to(a_shape, times(g, betainc_by(a, b, x, orders=(1, 0)))),
        lambda g, a, b, x, b_shape: _to(b_shape, times(g, betainc_by(a, b, x, orders=(0, 1)))),
        lambda g, a, b, x, x_shape: _to(x_shape, times(g, beta_density(a, b, x))),
    ],
    arguments=["a", "b", "x"],
    batch=batching.elementwise,
)
betainc_by = op(
    "betainc_by",
    _betainc_by,
    [
        lambda g, a, b, x, a_shape, orders: _to(
            a_shape, times(g, betainc_by(a, b, x, orders=(orders[0] + 1, orders[1])))
        ),
        lambda g, a, b, x, b_shape, orders: _to(
            b_shape, times(g, betainc_by(a, b, x, orders=(orders[0], orders[1] + 1)))
        ),
        lambda g, a, b, x, x_shape, orders: _to(
            x_shape, times(g, _beta_density_by(a, b, x, orders))
        ),
    ],
    batch=batching.elementwise,
    xla=ON_HOST,  # as fast there, and compiled it would take seconds for each order
)
