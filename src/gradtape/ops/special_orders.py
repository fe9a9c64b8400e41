"""Functions of a number that also take an order or parameters: Bessel and Struve functions of any
order, elliptic integrals, Airy functions, hypergeometric functions, orthogonal polynomials.

Their derivative with respect to the number, which is the first argument here, is the same function
with other parameters. With respect to an order or parameter there is none, except where it is
declared: asking for it raises a LookupError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape.ops import batching
from gradtape.ops.arithmetic import greater, sign, times
from gradtape.ops.broadcasting import sum_to_shape
from gradtape.ops.declare import op, unary
from gradtape.ops.elementary import cos, sin, sqrt
from gradtape.ops.op import ON_HOST
from gradtape.ops.selection import keep
from gradtape.ops.special import same_dtype, scipy_kernel, scipy_special

Pull = Callable[..., Any]


def _number_last(name: str) -> Callable[..., Any]:
    """The function of this name in `scipy.special`, whose parameters stand before the number."""

    def kernel(xp: Any, x: Any, *parameters: Any) -> Any:
        number, *orders = same_dtype((x, *parameters))
        return getattr(scipy_special(), name)(*orders, number)

    return kernel


def _of_order(name: str, pull: Pull) -> Callable[..., Any]:
    return op(
        f"scipy_{name}",
        _number_last(name),
        [pull],
        arguments=["x", "order"],
        elementwise=True,
        xla=ON_HOST,
    )


# Bessel functions, whose derivative is made of those of the orders beside it


def _oscillating(of: Callable[[], Any]) -> Pull:
    return lambda g, x, order: g * (of()(x, order - 1) - of()(x, order + 1)) * 0.5


jv = _of_order("jv", _oscillating(lambda: jv))
yv = _of_order("yv", _oscillating(lambda: yv))
iv = _of_order("iv", lambda g, x, order: g * (iv(x, order - 1) + iv(x, order + 1)) * 0.5)
kv = _of_order("kv", lambda g, x, order: g * (kv(x, order - 1) + kv(x, order + 1)) * -0.5)
ive = _of_order(
    "ive",
    lambda g, x, order, out: g * ((ive(x, order - 1) + ive(x, order + 1)) * 0.5 - sign(x) * out),
)
kve = _of_order(
    "kve", lambda g, x, order, out: g * (out - (kve(x, order - 1) + kve(x, order + 1)) * 0.5)
)
struve = _of_order("struve", lambda g, x, order, out: g * (struve(x, order - 1) - order / x * out))
modstruve = _of_order(
    "modstruve", lambda g, x, order, out: g * (modstruve(x, order - 1) - order / x * out)
)

# Elliptic integrals. D is (K - E) / m, which has no singularity at 0 if it is computed as a whole.

elliptic_d = unary(
    "elliptic_d",
    lambda xp, x: (
        scipy_special().elliprd(xp.zeros_like(x), 1 - x, xp.ones_like(x)) / x.dtype.type(3)
    ),
    lambda g, x, out: g * ((ellipk(x) - out) / (2 - (x + x)) - out * 0.5) / x,
    xla=ON_HOST,
)
ellipk = unary(
    "ellipk", scipy_kernel("ellipk"), lambda g, x, out: g * (out - elliptic_d(x)) / (2 - (x + x))
)
ellipe = unary("ellipe", scipy_kernel("ellipe"), lambda g, x: g * elliptic_d(x) * -0.5)


def _amplitude(x: Any, order: Any) -> Any:
    """sqrt(1 - m sin(phi)**2), where phi is `x` and m is `order`."""
    s = sin(x)
    return sqrt(1 - order * s * s)


def _first_kind_by_m(g: Any, x: Any, order: Any, out: Any) -> Any:
    second = ellipeinc(x, order)
    return (
        g
        * (
            (second / (1 - order) - out) / order
            - sin(x) * cos(x) / ((1 - order) * _amplitude(x, order))
        )
        * 0.5
    )


ellipkinc = op(
    "ellipkinc",
    scipy_kernel("ellipkinc"),
    [lambda g, x, order: g / _amplitude(x, order), _first_kind_by_m],
    arguments=["x", "order"],
    elementwise=True,
)
ellipeinc = op(
    "ellipeinc",
    scipy_kernel("ellipeinc"),
    [
        lambda g, x, order: g * _amplitude(x, order),
        lambda g, x, order, out: g * (out - ellipkinc(x, order)) / (order + order),
    ],
    arguments=["x", "order"],
    elementwise=True,
)


# Airy functions


def _airy_pull(g: Any, wanted: Any, x: Any, out: Any) -> list[Any]:
    """Each function's derivative is the next output, and that one's is x times the function."""
    ai, ai_slope, bi, bi_slope = out
    return [
        times(g[0], ai_slope) + times(g[1], x * ai) + times(g[2], bi_slope) + times(g[3], x * bi)
    ]


airy = op(
    "airy",
    lambda xp, x: list(scipy_special().airy(x)),
    pull_all=_airy_pull,
    arguments=["x"],
    several=True,
    batch=batching.as_it_is,
    xla=ON_HOST,
)


# Hypergeometric functions and orthogonal polynomials


def _of_parameters(name: str, arguments: list[str], slope: Pull) -> Callable[..., Any]:
    """A function of parameters, of which `slope` gives the derivative by the number from x and the
    parameters.
    """
    if len(arguments) == 2:
        by_number: Pull = lambda g, x, n: g * slope(x, n)
        return op(
            name,
            _number_last(name),
            [by_number],
            arguments=arguments,
            elementwise=True,
            xla=ON_HOST,
        )
    pulls: dict[int, Pull] = {
        3: lambda g, x, n, a, x_shape: sum_to_shape(times(g, slope(x, n, a)), shape=x_shape),
        4: lambda g, x, n, a, b, x_shape: sum_to_shape(times(g, slope(x, n, a, b)), shape=x_shape),
    }
    pull = pulls[len(arguments)]
    return op(
        name,
        _number_last(name),
        [pull],
        arguments=arguments,
        batch=batching.elementwise,
        xla=ON_HOST,
    )


def _lower(value: Any, n: Any) -> Any:
    """A polynomial of degree n - 1, which is 0 for degree 0."""
    return keep(value, greater(n, 0))


_N, _NA, _NAB = ["x", "n"], ["x", "n", "a"], ["x", "n", "a", "b"]

hyp0f1 = _of_parameters("hyp0f1", _N, lambda x, n: hyp0f1(x, n + 1) / n)
hyp1f1 = _of_parameters("hyp1f1", _NA, lambda x, n, a: hyp1f1(x, n + 1, a + 1) * (n / a))
hyp2f1 = _of_parameters(
    "hyp2f1", _NAB, lambda x, n, a, b: hyp2f1(x, n + 1, a + 1, b + 1) * (n * a / b)
)
hyperu = _of_parameters("hyperu", _NA, lambda x, n, a: hyperu(x, n + 1, a + 1) * -n)

eval_jacobi = _of_parameters(
    "eval_jacobi",
    _NAB,
    lambda x, n, a, b: _lower(eval_jacobi(x, n - 1, a + 1, b + 1), n) * ((n + a + b + 1) * 0.5),
)
eval_gegenbauer = _of_parameters(
    "eval_gegenbauer", _NA, lambda x, n, a: _lower(eval_gegenbauer(x, n - 1, a + 1), n) * (a + a)
)
eval_genlaguerre = _of_parameters(
    "eval_genlaguerre", _NA, lambda x, n, a: -_lower(eval_genlaguerre(x, n - 1, a + 1), n)
)
eval_laguerre = _of_parameters(
    "eval_laguerre", _N, lambda x, n: -_lower(eval_genlaguerre(x, n - 1, 1.0), n)
)
eval_legendre = _of_parameters(
    "eval_legendre", _N, lambda x, n: _lower(eval_jacobi(x, n - 1, 1.0, 1.0), n) * ((n + 1) * 0.5)
)
eval_chebyt = _of_parameters("eval_chebyt", _N, lambda x, n: _lower(eval_chebyu(x, n - 1), n) * n)
eval_chebyu = _of_parameters(
    "eval_chebyu", _N, lambda x, n: _lower(eval_gegenbauer(x, n - 1, 2.0), n) * 2
)


def _hermite(name: str) -> Callable[..., Any]:
    """scipy's kernel, which takes an integer degree and float64 alone."""

    def kernel(xp: Any, x: Any, n: Any) -> Any:
        number, degree = same_dtype((x, n))
        found = getattr(scipy_special(), name)(degree.astype(xp.int64), number.astype(xp.float64))
        return found.astype(number.dtype)

    return kernel


eval_hermite = op(
    "eval_hermite",
    _hermite("eval_hermite"),
    [lambda g, x, n: g * _lower(eval_hermite(x, n - 1), n) * (n + n)],
    arguments=_N,
    elementwise=True,
    xla=ON_HOST,
)
eval_hermitenorm = op(
    "eval_hermitenorm",
    _hermite("eval_hermitenorm"),
    [lambda g, x, n: g * _lower(eval_hermitenorm(x, n - 1), n) * n],
    arguments=_N,
    elementwise=True,
    xla=ON_HOST,
)
