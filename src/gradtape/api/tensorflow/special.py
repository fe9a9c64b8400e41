"""Special functions: `tf.math.lgamma` and related functions, and those of `tf.math.special`.

Integers are refused and half precision is computed in float32, as for all functions of real
numbers. There is a derivative of every order with respect to every parameter in which a function is
smooth: for the parameters of `igamma`, `igammac` and `betainc` it is a numerical integral, and for
the exponent of `zeta` a numerical series.
"""

# mypy: disable-error-code="no-any-return"
# An op gives a Tensor for Tensors and an array for arrays, so its result is Any; here the arguments
# are Tensors.

from __future__ import annotations

import numpy as np

from gradtape.api.tensorflow.accepted import (
    FLOATING,
    INEXACT,
    Kind,
    of_kind,
    pair_of_kind,
    tensors_of_kind,
)
from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.convert import TENSORFLOW
from gradtape.core.tensor import Tensor
from gradtape.errors import invalid_argument
from gradtape.ops import special, special_bessel, special_gamma, special_integrals
from gradtape.ops.reductions import reduce_sum
from gradtape.published import published


@published("math.erf")
def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """The error function: twice the probability that a normal variable of variance 1/2 lies between
    0 and `x`.

    >>> import gradtape as tf
    >>> tf.math.erf([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.5205], dtype=float32)
    """
    return special.erf(of_kind(x, FLOATING, "erf"))


@published("math.erfc")
def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """`1 - erf(x)`, exact also where it is tiny.

    >>> import gradtape as tf
    >>> tf.math.erfc([0.0, 0.5]).numpy().round(4)
    array([1.    , 0.4795], dtype=float32)
    """
    return special.erfc(of_kind(x, FLOATING, "erfc"))


@published("math.erfinv")
def erfinv(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `erf`, from -1 to 1.

    >>> import gradtape as tf
    >>> tf.math.erfinv([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.4769], dtype=float32)
    """
    return special.erfinv(of_kind(x, FLOATING, "erfinv"))


@published("math.erfcinv")
def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of `erfc`, from 0 to 2.

    >>> import gradtape as tf
    >>> tf.math.erfcinv([0.5, 1.5]).numpy().round(4)
    array([ 0.4769, -0.4769], dtype=float32)
    """
    return special.erfcinv(of_kind(x, FLOATING, "erfcinv"))


@published("math.ndtri")
def ndtri(x: TensorLike, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution for the probability `x`.

    >>> import gradtape as tf
    >>> tf.math.ndtri([0.5, 0.975]).numpy().round(4)
    array([0.  , 1.96], dtype=float32)
    """
    return special.ndtri(of_kind(x, FLOATING, "ndtri"))


@published("math.lgamma")
def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function.

    >>> import gradtape as tf
    >>> tf.math.lgamma([0.5, 5.0]).numpy().round(4)
    array([0.5724, 3.1781], dtype=float32)
    """
    return special_gamma.lgamma(of_kind(x, FLOATING, "lgamma"))


@published("math.digamma")
def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """The derivative of `lgamma`.

    >>> import gradtape as tf
    >>> tf.math.digamma([0.5, 1.0]).numpy().round(4)
    array([-1.9635, -0.5772], dtype=float32)
    """
    return special_gamma.digamma(of_kind(x, FLOATING, "digamma"))


@published("math.bessel_i0", "math.special.bessel_i0")
def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0.

    >>> import gradtape as tf
    >>> tf.math.bessel_i0([0.0, 1.0]).numpy().round(4)
    array([1.    , 1.2661], dtype=float32)
    """
    return special_bessel.bessel_i(of_kind(x, FLOATING, "bessel_i0"), order=0)


@published("math.bessel_i0e", "math.special.bessel_i0e")
def bessel_i0e(x: TensorLike, name: str | None = None) -> Tensor:
    """`exp(-abs(x)) * bessel_i0(x)`, which does not overflow.

    >>> import gradtape as tf
    >>> tf.math.bessel_i0e([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.4658], dtype=float32)
    """
    return special_bessel.bessel_ie(of_kind(x, FLOATING, "bessel_i0e"), order=0)


@published("math.bessel_i1", "math.special.bessel_i1")
def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1.

    >>> import gradtape as tf
    >>> tf.math.bessel_i1([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.5652], dtype=float32)
    """
    return special_bessel.bessel_i(of_kind(x, FLOATING, "bessel_i1"), order=1)


@published("math.bessel_i1e", "math.special.bessel_i1e")
def bessel_i1e(x: TensorLike, name: str | None = None) -> Tensor:
    """`exp(-abs(x)) * bessel_i1(x)`, which does not overflow.

    >>> import gradtape as tf
    >>> tf.math.bessel_i1e([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.2079], dtype=float32)
    """
    return special_bessel.bessel_ie(of_kind(x, FLOATING, "bessel_i1e"), order=1)


@published("math.special.bessel_j0")
def bessel_j0(x: TensorLike, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0.

    >>> import gradtape as tf
    >>> tf.math.special.bessel_j0([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.7652], dtype=float32)
    """
    return special_bessel.bessel_j(of_kind(x, FLOATING, "bessel_j0"), order=0)


@published("math.special.bessel_j1")
def bessel_j1(x: TensorLike, name: str | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1.

    >>> import gradtape as tf
    >>> tf.math.special.bessel_j1([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.4401], dtype=float32)
    """
    return special_bessel.bessel_j(of_kind(x, FLOATING, "bessel_j1"), order=1)


@published("math.special.bessel_k0")
def bessel_k0(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0.

    >>> import gradtape as tf
    >>> tf.math.special.bessel_k0([0.5, 1.0]).numpy().round(4)
    array([0.9244, 0.421 ], dtype=float32)
    """
    return special_bessel.bessel_k(of_kind(x, FLOATING, "bessel_k0"), order=0)


@published("math.special.bessel_k0e")
def bessel_k0e(x: TensorLike, name: str | None = None) -> Tensor:
    """`exp(x) * bessel_k0(x)`, which does not underflow.

    >>> import gradtape as tf
    >>> tf.math.special.bessel_k0e([0.5, 1.0]).numpy().round(4)
    array([1.5241, 1.1445], dtype=float32)
    """
    return special_bessel.bessel_ke(of_kind(x, FLOATING, "bessel_k0e"), order=0)


@published("math.special.bessel_k1")
def bessel_k1(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1.

    >>> import gradtape as tf
    >>> tf.math.special.bessel_k1([0.5, 1.0]).numpy().round(4)
    array([1.6564, 0.6019], dtype=float32)
    """
    return special_bessel.bessel_k(of_kind(x, FLOATING, "bessel_k1"), order=1)


@published("math.special.bessel_k1e")
def bessel_k1e(x: TensorLike, name: str | None = None) -> Tensor:
    """`exp(x) * bessel_k1(x)`, which does not underflow.

    >>> import gradtape as tf
    >>> tf.math.special.bessel_k1e([0.5, 1.0]).numpy().round(4)
    array([2.731 , 1.6362], dtype=float32)
    """
    return special_bessel.bessel_ke(of_kind(x, FLOATING, "bessel_k1e"), order=1)


@published("math.special.bessel_y0")
def bessel_y0(x: TensorLike, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0.

    >>> import gradtape as tf
    >>> tf.math.special.bessel_y0([0.5, 1.0]).numpy().round(4)
    array([-0.4445,  0.0883], dtype=float32)
    """
    return special_bessel.bessel_y(of_kind(x, FLOATING, "bessel_y0"), order=0)


@published("math.special.bessel_y1")
def bessel_y1(x: TensorLike, name: str | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1.

    >>> import gradtape as tf
    >>> tf.math.special.bessel_y1([0.5, 1.0]).numpy().round(4)
    array([-1.4715, -0.7812], dtype=float32)
    """
    return special_bessel.bessel_y(of_kind(x, FLOATING, "bessel_y1"), order=1)


@published("math.special.dawsn")
def dawsn(x: TensorLike, name: str | None = None) -> Tensor:
    """Dawson's integral: `exp(-x**2)` times the integral of `exp(t**2)` from 0 to `x`.

    >>> import gradtape as tf
    >>> tf.math.special.dawsn([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.5381], dtype=float32)
    """
    return special.dawsn(of_kind(x, FLOATING, "dawsn"))


@published("math.special.expint")
def expint(x: TensorLike, name: str | None = None) -> Tensor:
    """The exponential integral Ei: the principal value of the integral of `exp(t) / t` up to `x`.

    >>> import gradtape as tf
    >>> tf.math.special.expint([1.0, -1.0]).numpy().round(4)
    array([ 1.8951, -0.2194], dtype=float32)
    """
    return special.expint(of_kind(x, FLOATING, "expint"))


@published("math.special.fresnel_cos")
def fresnel_cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Fresnel's cosine integral: the integral of `cos(pi * t**2 / 2)` from 0 to `x`.

    >>> import gradtape as tf
    >>> tf.math.special.fresnel_cos([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7799], dtype=float32)
    """
    return special.fresnel_cos(of_kind(x, FLOATING, "fresnel_cos"))


@published("math.special.fresnel_sin")
def fresnel_sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Fresnel's sine integral: the integral of `sin(pi * t**2 / 2)` from 0 to `x`.

    >>> import gradtape as tf
    >>> tf.math.special.fresnel_sin([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.4383], dtype=float32)
    """
    return special.fresnel_sin(of_kind(x, FLOATING, "fresnel_sin"))


@published("math.special.spence")
def spence(x: TensorLike, name: str | None = None) -> Tensor:
    """Spence's integral, which is the dilogarithm of `1 - x`.

    >>> import gradtape as tf
    >>> tf.math.special.spence([0.0, 1.0]).numpy().round(4)
    array([1.6449, 0.    ], dtype=float32)
    """
    return special.spence(of_kind(x, FLOATING, "spence"))


@published("math.lbeta")
def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the beta function of the numbers along the last axis.

    >>> import gradtape as tf
    >>> tf.math.lbeta([[1.0, 2.0], [3.0, 3.0]]).numpy().round(4)
    array([-0.6931, -3.4012], dtype=float32)
    """
    x = of_kind(x, FLOATING, "lbeta")
    if not x.array.ndim:
        raise invalid_argument(
            "lbeta: x must have at least one axis, which holds the arguments of the beta "
            "function, got a scalar."
        )
    last = (x.array.ndim - 1,)
    return reduce_sum(special_gamma.lgamma(x), axis=last) - special_gamma.lgamma(
        reduce_sum(x, axis=last)
    )


@published("math.polygamma")
def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The derivative of order `a` of `digamma` at `x`; NaN where `a` is not 0, 1, 2 and so on.

    >>> import gradtape as tf
    >>> tf.math.polygamma([0.0, 1.0], 1.0).numpy().round(4)
    array([-0.5772,  1.6449], dtype=float32)
    """
    return special_gamma.polygamma(*tensors_of_kind(a, x, FLOATING, "polygamma", ("a", "x")))


@published("math.zeta")
def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Hurwitz' zeta function: the sum of `(q + k) ** -x` over all k from 0 on.

    >>> import gradtape as tf
    >>> tf.math.zeta([2.0, 4.0], 1.0).numpy().round(4)
    array([1.6449, 1.0823], dtype=float32)
    """
    return special_gamma.zeta(*tensors_of_kind(x, q, FLOATING, "zeta", ("x", "q")))


@published("math.igamma")
def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The lower regularised incomplete gamma function: the probability that a gamma variable of
    shape `a` is less than `x`.

    >>> import gradtape as tf
    >>> tf.math.igamma([1.0, 2.0], 1.0).numpy().round(4)
    array([0.6321, 0.2642], dtype=float32)
    """
    return special_integrals.igamma(*tensors_of_kind(a, x, FLOATING, "igamma", ("a", "x")))


@published("math.igammac")
def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """`1 - igamma(a, x)`, exact also where it is tiny.

    >>> import gradtape as tf
    >>> tf.math.igammac([1.0, 2.0], 1.0).numpy().round(4)
    array([0.3679, 0.7358], dtype=float32)
    """
    return special_integrals.igammac(*tensors_of_kind(a, x, FLOATING, "igammac", ("a", "x")))


@published("math.betainc")
def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The regularised incomplete beta function: the probability that a beta variable with `a` and
    `b` is less than `x`.

    >>> import gradtape as tf
    >>> tf.math.betainc(2.0, 3.0, [0.25, 0.5]).numpy().round(4)
    array([0.2617, 0.6875], dtype=float32)
    """
    names = ("a", "b", "x")
    tensors = TENSORFLOW.tensors([a, b, x], [f"betainc: {argument}" for argument in names])
    checked = [
        of_kind(value, FLOATING, "betainc", argument)
        for value, argument in zip(tensors, names, strict=True)
    ]
    return special_integrals.betainc(*checked)


@published("math.xlog1py")
def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x * log1p(y)`, and 0 where `x` is 0; so are the derivatives.

    >>> import gradtape as tf
    >>> tf.math.xlog1py([0.0, 2.0], [-1.0, 9.0]).numpy().round(4)
    array([0.    , 4.6052], dtype=float32)
    """
    return special.xlog1py(*pair_of_kind(x, y, INEXACT, "xlog1py"))


@published("math.nextafter")
def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """The number beside `x1` in the direction of `x2`.

    It moves with `x1`, so that its gradient is that of `x1`.

    >>> import gradtape as tf
    >>> tf.math.nextafter([1.0], [2.0]).numpy()
    array([1.0000001], dtype=float32)
    """
    return special.nextafter(*tensors_of_kind(x1, x2, _FULL, "nextafter", ("x1", "x2")))


# A neighbour in half precision is not the neighbour of its float32 value, and TensorFlow has none.
_FULL = Kind("float32 or float64", frozenset({np.dtype(np.float32), np.dtype(np.float64)}))
