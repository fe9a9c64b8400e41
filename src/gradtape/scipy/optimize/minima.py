"""`scipy.optimize.minimize`: minima with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape.published import published
from gradtape.scipy.numeric import Numeric
from gradtape.scipy.optimize.functions import (
    refuse_derivatives,
    refuse_tensors,
    stationary,
    with_args,
)
from gradtape.scipy.results import Found
from gradtape.scipy.solving import solve

_WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
_TAKE_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
_TAKE_HESSIAN = ("dogleg", "trust-exact")


@published("scipy.optimize.minimize")
def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] | Any = (),
    method: str | None = None,
    jac: bool | None = None,
    hess: None = None,
    hessp: None = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Found:
    """`scipy.optimize.minimize` of a function of tensors: `x` and `fun` of the result have the
    derivatives by `args` and by all that `fun` closes over.

    Gradients, and the Hessians or their products that a method wants, are computed by tapes;
    `jac=False` leaves the gradients to SciPy's differences. Derivatives of `x` are implicit: those
    of a zero of the gradient, where unknowns at a bound stay there. They are as exact as `x` is: a
    smaller `tol` gives more digits. There are none with `constraints`.

    >>> import gradtape as tf
    >>> a = tf.Variable([1.0, 2.0])
    >>> with tf.GradientTape() as tape:
    ...     found = tf.scipy.optimize.minimize(lambda x: tf.reduce_sum((x - a) ** 2), [0.0, 0.0])
    ...     y = found.x[0] * found.x[1]
    >>> tape.gradient(y, a).numpy().round(4)
    array([2., 1.], dtype=float32)
    """
    from scipy import optimize  # noqa: PLC0415 - scipy is imported at first use

    refuse_derivatives("minimize", jac=jac, hess=hess, hessp=hessp)
    refuse_tensors("minimize", "bounds", bounds)
    if not isinstance(constraints, (tuple, list)) or len(constraints):
        raise NotImplementedError(
            "minimize: there are no derivatives of a minimum with constraints: put them into fun "
            "as penalties, substitute unknowns, or use SciPy's minimize without derivatives."
        )
    kind = method.lower() if isinstance(method, str) else method
    if kind is None:
        kind = "bfgs" if bounds is None else "l-bfgs-b"

    def run(f: Numeric, start: Any) -> Any:
        given: dict[str, Any] = {}
        value: Callable[[Any], Any] = lambda x: f.scalar(f.value(x))
        if kind not in _WITHOUT_GRADIENT and jac is not False:
            value, given["jac"] = f.value_and_gradient, True
            if kind in _TAKE_PRODUCTS:
                given["hessp"] = f.hessian_product
            elif kind in _TAKE_HESSIAN:
                given["hess"] = f.hessian
        found = optimize.minimize(
            value,
            start,
            method=method,
            bounds=bounds,
            tol=tol,
            callback=callback,
            options=options,
            **given,
        )
        if bounds is not None:
            found["fixed"] = at_bounds(found.x, f.value_and_gradient(found.x)[1], bounds)
        return found

    function = with_args("minimize", fun, args, ())
    return solve("minimize", function, x0, run, stationary, lambda x: {"fun": function(x)})


def at_bounds(x: Any, gradient: Any, bounds: Any) -> Any:
    """Which unknowns are at a bound that the function would cross."""
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    else:
        pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
        low, high = np.array(pairs, np.float64).reshape(-1, 2).T
    low, high = np.broadcast_to(low, x.shape), np.broadcast_to(high, x.shape)
    near = 1e-9 * np.maximum(1.0, np.abs(x))
    return ((x <= low + near) & (gradient > 0)) | ((x >= high - near) & (gradient < 0))
