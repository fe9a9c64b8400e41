"""`scipy.optimize.least_squares` and `curve_fit`: fits with their derivatives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.ops.elementary import atan, log1p, sqrt
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape
from gradtape.published import published
from gradtape.scipy.numeric import Numeric
from gradtape.scipy.optimize.functions import (
    Function,
    refuse_derivatives,
    refuse_tensors,
    stationary,
    with_args,
)
from gradtape.scipy.results import Found
from gradtape.scipy.solving import solve

_SPARSE_FROM = 100_000
"""The number of elements from which a Jacobian is looked at as a sparse one."""

_LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (sqrt(1 + z) - 1),
    "huber": lambda z: where(z <= 1, z, 2 * sqrt(where(z <= 1, z * 0 + 1, z)) - 1),
    "cauchy": log1p,
    "arctan": atan,
}


@published("scipy.optimize.least_squares")
def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: Any = 1.0,
    loss: str = "linear",
    f_scale: float = 1.0,
    diff_step: Any = None,
    tr_solver: str | None = None,
    tr_options: dict[str, Any] | None = None,
    jac_sparsity: Any = None,
    max_nfev: int | None = None,
    verbose: int = 0,
    args: tuple[Any, ...] | Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    callback: Callable[..., Any] | None = None,
) -> Found:
    """`scipy.optimize.least_squares` of a function of tensors: `x`, `fun` and `cost` of the result
    have the derivatives by `args`, `kwargs` and all that `fun` closes over.

    The Jacobian is computed by a tape: a sparse one, with the pattern that the tape finds, where
    `jac_sparsity` is given or the Jacobian is large. `jac=False` leaves it to SciPy's differences.
    Derivatives are implicit, with the whole Hessian and not Gauss's part of it; unknowns at a bound
    stay there.

    >>> import gradtape as tf
    >>> t, y = tf.constant([0.0, 1.0, 2.0]), tf.Variable([1.0, 3.0, 5.0])
    >>> with tf.GradientTape() as tape:
    ...     found = tf.scipy.optimize.least_squares(lambda p: p[0] + p[1] * t - y, [0.0, 0.0])
    ...     slope = found.x[1]
    >>> tape.gradient(slope, y).numpy().round(4) + 0
    array([-0.5,  0. ,  0.5], dtype=float32)
    """
    refuse_derivatives("least_squares", jac=jac)
    if not isinstance(loss, str) or loss not in _LOSSES:
        raise ValueError(f"least_squares: loss must be one of {[*_LOSSES]}, got {loss!r}.")
    given = args if isinstance(args, tuple) else (args,)
    keywords = {} if kwargs is None else kwargs
    options = {
        "bounds": bounds, "method": method, "ftol": ftol, "xtol": xtol, "gtol": gtol,
        "x_scale": x_scale, "loss": loss, "f_scale": f_scale, "diff_step": diff_step,
        "tr_solver": tr_solver, "tr_options": tr_options or {}, "max_nfev": max_nfev,
        "verbose": verbose,
    }  # fmt: skip
    if callback is not None:
        options["callback"] = callback
    function = with_args("least_squares", lambda x: fun(x, *given, **keywords), ())
    return _least_squares("least_squares", function, x0, options, jac_sparsity, jac)


def _least_squares(
    who: str, function: Function, x0: Any, options: dict[str, Any], sparsity: Any, jac: Any
) -> Any:
    from scipy import optimize  # noqa: PLC0415 - scipy is imported at first use

    refuse_tensors(who, "bounds", options["bounds"])
    loss, scale = _LOSSES[options["loss"]], options["f_scale"]

    def cost(x: Tensor, f: Function = function) -> Tensor:
        return 0.5 * scale**2 * reduce_sum(loss((f(x) / scale) ** 2))

    def run(f: Numeric, start: Any) -> Any:
        given: dict[str, Any] = {"jac_sparsity": sparsity}
        if jac is not False:
            large = f.value(start).size * start.size >= _SPARSE_FROM
            sparse = sparsity is not None or (large and options["method"] != "lm")
            given = {"jac": f.sparse_jacobian if sparse and f.is_alone else f.jacobian}
        found = optimize.least_squares(f.value, start, **given, **options)
        found["fixed"] = found.active_mask != 0
        return found

    residual = lambda f, free: stationary(lambda x: cost(x, f), free)
    return solve(who, function, x0, run, residual, lambda x: {"fun": function(x), "cost": cost(x)})


@published("scipy.optimize.curve_fit")
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    full_output: bool = False,
    **kwargs: Any,
) -> tuple[Tensor, Any] | tuple[Tensor, Any, Found]:
    """`scipy.optimize.curve_fit` of a function of tensors, `f(xdata, *parameters)`: the parameters
    have the derivatives by `xdata`, `ydata`, `sigma` and all that `f` closes over.

    `sigma` has one entry for each of `ydata`. The covariance of the parameters is a plain array.
    `kwargs` are those of `least_squares`.

    >>> import gradtape as tf
    >>> t, y = tf.constant([0.0, 1.0, 2.0]), tf.Variable([1.0, 2.0, 4.5])
    >>> with tf.GradientTape() as tape:
    ...     (a, b), _ = tf.scipy.optimize.curve_fit(lambda t, a, b: a * tf.exp(b * t), t, y)
    >>> tape.gradient(b, y).numpy().round(3)
    array([-0.266, -0.252,  0.171], dtype=float32)
    """
    if not callable(f):
        raise TypeError(f"curve_fit: f must be a function, got {f!r}.")
    double = np.dtype(np.float64)
    x, y = (as_tensor(v, None, argument="curve_fit: data") for v in (xdata, ydata))
    start = _start(f, bounds) if p0 is None else p0
    weights = None if sigma is None else as_tensor(sigma, argument="curve_fit: sigma")
    if weights is not None and tuple(weights.array.shape) not in {(), tuple(y.array.shape)}:
        raise NotImplementedError(
            "curve_fit: sigma must have one entry for each of ydata, got shape "
            f"{tuple(weights.array.shape)}: multiply by the factor of a covariance in f."
        )
    size = as_tensor(start, double, argument="curve_fit: p0").array.size

    def difference(p: Tensor) -> Tensor:
        off = f(x, *[p[i] for i in range(size)]) - y
        return off if weights is None else off / weights

    bounded = not (np.all(np.isneginf(bounds[0])) and np.all(np.isposinf(bounds[1])))
    options: dict[str, Any] = {
        "bounds": bounds, "method": method or ("trf" if bounded else "lm"), "loss": "linear",
        "f_scale": 1.0, **kwargs,
    }  # fmt: skip
    function = with_args("curve_fit", difference, ())
    found = _least_squares("curve_fit", function, start, options, None, None)
    if not np.all(found.success):
        raise RuntimeError(f"curve_fit: no parameters were found: {found.get('message', '')}")
    covariance = _covariance(found, y.array.size, size, absolute=absolute_sigma)
    parameters = reshape(found.x, shape=(size,))
    return (parameters, covariance, found) if full_output else (parameters, covariance)


def _start(f: Callable[..., Any], bounds: Any) -> Any:
    """Where to start without `p0`: at ones, or between the bounds."""
    parameters = list(inspect.signature(f).parameters.values())[1:]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise ValueError("curve_fit: p0 is needed for a function with *parameters.")
    sides = zip(
        *(np.broadcast_to(np.array(b, np.float64), len(parameters)) for b in bounds), strict=True
    )
    return np.array([_between(low, high) for low, high in sides])


def _between(low: float, high: float) -> float:
    """A number within bounds, one of which may be infinite, or both."""
    if np.isfinite(low):
        return (low + high) / 2 if np.isfinite(high) else low + 1
    return high - 1 if np.isfinite(high) else 1.0


def _covariance(found: Any, count: int, size: int, *, absolute: bool) -> Any:
    """The covariance of the parameters, as SciPy has it; None where only a program knows it."""
    if "jac" not in found:
        return None
    jacobian = np.asarray(found.jac)
    covariance = np.linalg.pinv(jacobian.T @ jacobian)
    if absolute:
        return covariance
    if count <= size:
        return np.full((size, size), np.inf)
    return covariance * (2 * float(found.cost) / (count - size))
