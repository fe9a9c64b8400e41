"""The distributions of `scipy.stats`: their densities, and distribution functions where gradtape
has the special functions for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gradtape.api.tensorflow.arguments import TensorLike
from gradtape.core.tensor import Tensor
from gradtape.ops import arithmetic, elementary
from gradtape.ops.selection import where
from gradtape.scipy.arguments import real_tensors

Formula = Callable[..., Any]


class Distribution:
    """A distribution by formulas for the standard one: its logarithmic density for (x, *shapes),
    where that is, and distribution functions if there are any.
    """

    def __init__(
        self,
        name: str,
        shapes: str,
        log_density: Formula,
        support: Formula,
        *,
        cdf: Formula | None = None,
        sf: Formula | None = None,
        logcdf: Formula | None = None,
        valid: Formula | None = None,
    ) -> None:
        self.name, self._shapes = name, tuple(shapes.split())
        self._log_density, self._support, self._valid = log_density, support, valid
        self._cdf, self._sf, self._logcdf = cdf, sf, logcdf

    def __repr__(self) -> str:
        return f"<gradtape.scipy.stats.{self.name}>"

    def _standard(self, who: str, x: Any, args: Sequence[Any], named: dict[str, Any]) -> Any:
        """The place in units of the scale, the scale and the shapes."""
        names = (*self._shapes, *self._placed)
        if len(args) > len(names) or not set(named) <= set(names[len(args) :]):
            raise TypeError(
                f"{self.name}.{who}: the arguments are x, {', '.join(names)}; got "
                f"{1 + len(args)} by position and {sorted(named)} by name."
            )
        given = {**dict(zip(names, args, strict=False)), **named}
        for name in self._shapes:
            if name not in given:
                raise TypeError(f"{self.name}.{who}: {name} is missing.")
        tensors = real_tensors(f"{self.name}.{who}", **{self._variable: x}, **given)
        found = dict(zip((self._variable, *given), tensors, strict=True))
        return found.pop(self._variable), found

    _variable = "x"
    _placed: tuple[str, ...] = ("loc", "scale")

    def _masks(self, x: Any, scale: Any, shapes: Sequence[Any]) -> tuple[Any, Any]:
        """Where the parameters are right, and where the density is not zero."""
        valid = arithmetic.greater(scale, 0)
        if self._valid is not None:
            valid = arithmetic.logical_and(valid, self._valid(*shapes))
        # NaN belongs to no part of the real line, and stays NaN.
        known = arithmetic.equal(x, x)
        return arithmetic.logical_and(valid, known), self._support(x, *shapes)


class Continuous(Distribution):
    """A continuous distribution, with `loc` and `scale` after its shapes.

    >>> import gradtape as tf
    >>> rate = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.scipy.stats.expon.logpdf(1.0, scale=1.0 / rate)
    >>> y.numpy().round(4), tape.gradient(y, rate).numpy()
    (np.float32(-1.3069), np.float32(-0.5))
    """

    def _parts(self, who: str, x: Any, args: Sequence[Any], named: dict[str, Any]) -> Any:
        at, found = self._standard(who, x, args, named)
        scale = found.get("scale", arithmetic.add(at * 0, 1))
        loc = found.get("loc", 0)
        shapes = [found[name] for name in self._shapes]
        place = (at - loc) / scale
        valid, inside = self._masks(place, scale, shapes)
        return place, scale, shapes, valid, inside

    def logpdf(self, x: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The logarithm of the density."""
        place, scale, shapes, valid, inside = self._parts("logpdf", x, args, named)
        safe = self._inside(place, inside, shapes)
        found = self._log_density(safe, *shapes) - elementary.log(scale)
        return where(valid, where(inside, found, -math.inf), math.nan)

    def pdf(self, x: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The density."""
        return elementary.exp(self.logpdf(x, *args, **named))

    def cdf(self, x: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The probability of at most x."""
        return self._function("cdf", self._cdf, (0.0, 1.0), x, args, named)

    def sf(self, x: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The probability of more than x."""
        return self._function("sf", self._sf, (1.0, 0.0), x, args, named)

    def logcdf(self, x: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The logarithm of `cdf`."""
        if self._logcdf is None:
            return elementary.log(self.cdf(x, *args, **named))
        return self._function("logcdf", self._logcdf, (-math.inf, 0.0), x, args, named)

    def logsf(self, x: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The logarithm of `sf`."""
        return elementary.log(self.sf(x, *args, **named))

    def _inside(self, place: Any, inside: Any, shapes: Sequence[Any]) -> Any:
        """Places in the support, a harmless one for those that are not."""
        return where(inside, place, self._harmless)

    _harmless = 0.5

    def _function(
        self,
        who: str,
        formula: Formula | None,
        ends: tuple[float, float],
        x: Any,
        args: Sequence[Any],
        named: dict[str, Any],
    ) -> Tensor:
        if formula is None:
            raise NotImplementedError(
                f"{self.name}.{who} is not available: gradtape has no derivative of its special "
                "function."
            )
        place, _, shapes, valid, inside = self._parts(who, x, args, named)
        found = formula(self._inside(place, inside, shapes), *shapes)
        below = arithmetic.less(place, 1)  # no support ends further up
        found = where(inside, found, where(below, ends[0], ends[1]))
        return where(valid, found, math.nan)


class Discrete(Distribution):
    """A distribution of integers, with `loc` after its shapes.

    >>> import gradtape as tf
    >>> rate = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.scipy.stats.poisson.logpmf(3, rate)
    >>> y.numpy().round(4), tape.gradient(y, rate).numpy()
    (np.float32(-1.7123), np.float32(0.5))
    """

    _variable = "k"
    _placed = ("loc",)

    def _parts(self, who: str, k: Any, args: Sequence[Any], named: dict[str, Any]) -> Any:
        at, found = self._standard(who, k, args, named)
        shapes = [found[name] for name in self._shapes]
        place = at - found["loc"] if "loc" in found else at
        valid, inside = self._masks(place, place * 0 + 1, shapes)
        return place, shapes, valid, inside

    def logpmf(self, k: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The logarithm of the probability of k."""
        place, shapes, valid, inside = self._parts("logpmf", k, args, named)
        whole = arithmetic.equal(arithmetic.floor(place), place)
        inside = arithmetic.logical_and(inside, whole)
        found = self._log_density(where(inside, place, 1.0), *shapes)
        return where(valid, where(inside, found, -math.inf), math.nan)

    def pmf(self, k: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The probability of k."""
        return elementary.exp(self.logpmf(k, *args, **named))

    def cdf(self, k: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The probability of at most k."""
        if self._cdf is None:
            raise NotImplementedError(f"{self.name}.cdf is not available.")
        place, shapes, valid, inside = self._parts("cdf", k, args, named)
        place = arithmetic.floor(place)
        found = self._cdf(where(inside, place, 1.0), *shapes)
        found = where(inside, found, where(arithmetic.less(place, 1), 0.0, 1.0))
        return where(valid, found, math.nan)

    def logcdf(self, k: TensorLike, *args: TensorLike, **named: TensorLike) -> Tensor:
        """The logarithm of `cdf`."""
        return elementary.log(self.cdf(k, *args, **named))
