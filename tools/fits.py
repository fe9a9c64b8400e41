"""Fits the polynomials and quotients of polynomials that float32 functions are computed by, and
writes src/gradtape/ops/fits.py: `python -m tools.fits`.

Each function is brought into a form that is smooth and nowhere zero over one range, so that a
quotient of low degree has a small relative error everywhere. That quotient is found by weighted
least squares in float64, on Chebyshev's points: the weights begin as those of the relative error,
the denominator of the last round makes the problem linear (Sanathanan and Koerner), and points with
a large error get more weight in the next round (Lawson), until all peaks of the error are nearly as
high. The values to fit come from SciPy in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import special

TARGET = Path(__file__).parent.parent / "src" / "gradtape" / "ops" / "fits.py"
POINTS, ROUNDS = 4001, 80
ULP = 2.0**-24  # half of the distance from 1 to the next number of float32

DIGAMMA_ROOT = 1.4616321449683623413


class Form(NamedTuple):
    """A function of the variable that the polynomials are in, over a range."""

    name: str
    says: str
    function: Callable[[Any], Any]
    low: float
    high: float
    top: int
    bottom: int = 0
    matters: Callable[[Any], Any] = np.ones_like
    """How large a relative error of the result is for a relative error of the form."""


def _inverse_error(w: Any) -> Any:
    """The inverse error function of x, over x, where w = -log(1 - x**2)."""
    x = np.sqrt(-np.expm1(-w))
    return -special.ndtri(np.exp(-w) / (1 + x) / 2) / np.sqrt(2) / x


def _arctanh_of_erf(x: Any) -> Any:
    return np.log((1 + special.erf(x)) / special.erfc(x)) / 2


def _through_tanh(y: Any) -> Any:
    x = np.sqrt(y)
    return _arctanh_of_erf(x) * (1 - special.erf(x) ** 2) / special.erf(x)


def _in_square(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An odd function of x, over x, in the variable x**2."""
    return lambda y: function(np.sqrt(y)) / np.sqrt(y)


def _in_fourth(function: Callable[[Any], Any], power: int) -> Callable[[Any], Any]:
    """An odd function of x, over a power of x, in the variable x**4."""
    return lambda y: function(y**0.25) / y ** (power / 4)


def _decaying_near(order: int) -> Callable[[Any], Any]:
    """The modified Bessel function of the second kind without its logarithm, in x**2; times x for
    order 1.
    """

    def function(y: Any) -> Any:
        x = np.sqrt(y)
        log = np.log(x / 2)
        if order:
            return (special.k1(x) - log * special.i1(x)) * x
        return special.k0(x) + log * special.i0(x)

    return function


def _without_exponential(
    function: Callable[[Any], Any], sign: int, middle: float = 0.0
) -> Callable[[Any], Any]:
    """A function that is about exp(sign * x) / x, without that, in 1 / x less `middle`."""

    def without(shifted: Any) -> Any:
        r = shifted + middle
        return function(1 / r) * np.exp(-sign / r) / r

    return without


EI_ROOT = 0.37250741078136663446


def _expint_beside_root(distance: Any) -> Any:
    """The exponential integral over the distance from its root: the mean of its slope."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    between = EI_ROOT + distance[:, None] * (nodes + 1) / 2
    return np.exp(between) / between @ weights / 2


def _auxiliary_fresnel(which: int) -> Callable[[Any], Any]:
    """What the sine and the cosine are multiplied by in the Fresnel integrals, in 1 / x**4."""

    def function(r: Any) -> Any:
        x = r**-0.25
        (s, c), angle = special.fresnel(x), np.pi / 2 * x * x
        if which:
            return ((0.5 - c) * np.cos(angle) + (0.5 - s) * np.sin(angle)) * x**3
        return ((0.5 - s) * np.cos(angle) - (0.5 - c) * np.sin(angle)) * x

    return function


FORMS = [
    Form("ERF", "atanh(erf(x)) / x in x**2, for x up to 3.95", _in_square(_arctanh_of_erf), 1e-7,
        3.95**2, 8, matters=_through_tanh),
    Form("ERFCX", "erfc(x) exp(x**2) for x from 0 to 10.3", special.erfcx, 0, 10.3, 4, 5),
    Form("ATAN", "atan(x) / x in x**2, for x up to 1", _in_square(np.arctan), 1e-9, 1, 3, 2),
    Form("ERFINV", "erfinv(x) / x in -log(1 - x**2)", _inverse_error, 1e-6, 12.5, 5, 4),
    Form("I0E", "i0e(x) for x up to 8", special.i0e, 0, 8, 6, 5),
    Form("I0E_FAR", "i0e(x) sqrt(x) in 1 / x, for x from 8",
        lambda r: special.i0e(1 / r) / np.sqrt(r), 1e-9, 1 / 8, 5),
    Form("I1E", "i1e(x) / x for x up to 8", lambda x: special.i1e(x) / x, 1e-9, 8, 5, 6),
    Form("I1E_FAR", "i1e(x) sqrt(x) in 1 / x, for x from 8",
        lambda r: special.i1e(1 / r) / np.sqrt(r), 1e-9, 1 / 8, 5),
    Form("I2E", "ive(2, x) / x**2 for x up to 8", lambda x: special.ive(2, x) / x**2, 1e-6, 8,
        5, 6),
    Form("I2E_FAR", "ive(2, x) sqrt(x) in 1 / x, for x from 8",
        lambda r: special.ive(2, 1 / r) / np.sqrt(r), 1e-9, 1 / 8, 5),
    Form("J2", "jv(2, x) / x**2 in x**2, for x up to 4",
        lambda y: special.jv(2, np.sqrt(y)) / y, 1e-9, 16, 7),
    Form("DIGAMMA", "digamma(x) x / (x - its root), for x up to 12",
        lambda x: special.digamma(x) / (x - DIGAMMA_ROOT) * x, 1e-7, 12, 5, 5),
    Form("TRIGAMMA", "polygamma(1, x) x**2, for x up to 20",
        lambda x: special.zeta(2, x) * x * x, 1e-7, 20, 5, 4),
    Form("TETRAGAMMA", "zeta(3, x) x**3, for x up to 20", lambda x: special.zeta(3, x) * x**3,
        1e-7, 20, 6, 5),
    Form("I0", "i0(x) in x**2, for x up to 1.25", lambda y: special.i0(np.sqrt(y)), 1e-12,
        1.5625, 5),
    Form("I1", "i1(x) / x in x**2, for x up to 1.25", _in_square(special.i1), 1e-12, 1.5625, 4),
    Form("K0", "k0(x) + log(x / 2) i0(x) in x**2, for x up to 1.25", _decaying_near(0), 1e-9,
        1.5625, 5),
    Form("K1", "(k1(x) - log(x / 2) i1(x)) x in x**2, for x up to 1.25", _decaying_near(1), 1e-9,
        1.5625, 5),
    Form("K0E_FAR", "k0e(x) sqrt(x) in 1 / x, for x from 1.25",
        lambda r: special.k0e(1 / r) / np.sqrt(r), 1e-9, 1 / 1.25, 4, 3),
    Form("K1E_FAR", "k1e(x) sqrt(x) in 1 / x, for x from 1.25",
        lambda r: special.k1e(1 / r) / np.sqrt(r), 1e-9, 1 / 1.25, 4, 3),
    Form("DAWSON", "dawsn(x) / x in x**2, for x up to 4", _in_square(special.dawsn), 1e-12, 16,
        6, 6),
    Form("DAWSON_FAR", "dawsn(x) x in 1 / x**2, for x from 4",
        lambda r: special.dawsn(1 / np.sqrt(r)) / np.sqrt(r), 1e-9, 1 / 16, 3, 2),
    Form("EI", "(expi(x) - log(x / its root)) / (x - its root), for x up to 6",
        lambda x: (special.expi(x) - np.log(x / EI_ROOT)) / (x - EI_ROOT), 1e-6, 6, 7, 2),
    Form("EI_ROOT", "expi(x) / (x - its root) in x - its root, up to 0.12", _expint_beside_root,
        -0.12, 0.12, 3, 2),
    Form("EI_MIDDLE", "expi(x) exp(-x) x in 1 / x - 1/8, for x from 6 to 12",
        _without_exponential(special.expi, 1, 1 / 8), -1 / 24, 1 / 24, 4, 4),
    Form("EI_FAR", "expi(x) exp(-x) x in 1 / x - 3/64, for x from 12 to 92",
        _without_exponential(special.expi, 1, 3 / 64), 1 / 92 - 3 / 64, 1 / 12 - 3 / 64, 5, 4),
    Form("E1", "exp1(x) + log(x), for x up to 1", lambda x: special.exp1(x) + np.log(x), 1e-7, 1,
        6),
    Form("E1_FAR", "exp1(x) exp(x) x in 1 / x, for x from 1",
        _without_exponential(special.exp1, -1), 1 / 90, 1, 4, 4),
    Form("SPENCE", "spence(x) / (1 - x) in 1 - x, for x from 1/2 to 2",
        lambda w: special.spence(1 - w) / w, -1, 0.5, 4, 3),
    Form("SPENCE_NEAR_0", "spence(x) + log(x) log1p(-x), for x up to 1/2",
        lambda x: np.pi**2 / 6 - special.spence(1 - x), 1e-9, 0.5, 3, 2),
    Form("LOG1M", "-log1p(-x) / x, for x up to 1/2", lambda x: -np.log1p(-x) / x, 1e-9, 0.5, 3, 2),
    Form("FRESNEL_S", "Fresnel's integral of the sine over x**3 in x**4, for x up to 1.5",
        _in_fourth(lambda x: special.fresnel(x)[0], 3), 1e-9, 1.5**4, 6),
    Form("FRESNEL_C", "Fresnel's integral of the cosine over x in x**4, for x up to 1.5",
        _in_fourth(lambda x: special.fresnel(x)[1], 1), 1e-9, 1.5**4, 7),
    Form("FRESNEL_F", "Fresnel's f times x in 1 / x**4, for x from 1.5", _auxiliary_fresnel(0),
        1 / 20**4, 1 / 1.5**4, 4, 3),
    Form("FRESNEL_G", "Fresnel's g times x**3 in 1 / x**4, for x from 1.5", _auxiliary_fresnel(1),
        1 / 20**4, 1 / 1.5**4, 4, 3),
]  # fmt: skip


def points(low: float, high: float) -> Any:
    """Chebyshev's, which are dense at the ends of a range."""
    angle = np.pi * (np.arange(POINTS) + 0.5) / POINTS
    return (low + high) / 2 + (high - low) / 2 * np.cos(angle)


def fit(form: Form) -> tuple[float, Any, Any]:
    """The largest relative error, and the coefficients above and below, the lowest first."""
    x = points(form.low, form.high)
    wanted = form.function(x)
    scale = np.abs(x).max()
    powers = np.vander(x / scale, max(form.top, form.bottom) + 1, increasing=True)
    above, below = powers[:, : form.top + 1], powers[:, 1 : form.bottom + 1]
    weights, denominator, matters = np.ones_like(x), np.ones_like(x), form.matters(x)
    best: tuple[float, Any] = (np.inf, None)
    for _ in range(ROUNDS):
        each = matters * np.sqrt(weights) / np.abs(denominator * wanted)
        system = np.concatenate([above, -wanted[:, None] * below], axis=1) * each[:, None]
        found = np.linalg.lstsq(system, wanted * each, rcond=1e-17)[0]
        denominator = 1 + below @ found[form.top + 1 :]
        error = matters * np.abs(above @ found[: form.top + 1] / denominator / wanted - 1)
        best = min(best, (error.max(), found), key=lambda pair: pair[0])
        weights = weights * (error / error.max() + 1e-3)
        weights /= weights.mean()
    error, found = best
    unscaled = found / scale ** np.concatenate(
        [np.arange(form.top + 1), np.arange(1, form.bottom + 1)]
    )
    return error, unscaled[: form.top + 1], np.concatenate([[1.0], unscaled[form.top + 1 :]])


def written(form: Form) -> str:
    error, above, below = fit(form)

    def numbers(coefficients: Any) -> str:
        """Nine digits, which are enough to tell any two numbers of float32 apart."""
        each = [f"    {float(f'{c:.9g}')!r}," for c in reversed(coefficients)]
        return "\n".join(["(", *each, ")"])

    says = f"# {form.says}: relative error {error / ULP:.2f} * 2**-24.\n"
    if not form.bottom:
        return f"{says}{form.name} = {numbers(above)}\n"
    return f"{says}{form.name} = {numbers(above)}, {numbers(below)}\n"


HEAD = '''"""Coefficients of polynomials, the highest first, for `float32`.

A pair is a quotient of two. Written by tools/fits.py.
"""

'''


def main() -> None:
    text = HEAD + "\n".join(map(written, FORMS))
    TARGET.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
