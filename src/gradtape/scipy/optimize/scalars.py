"""`scipy.optimize.root_scalar`, `brentq` and `newton`: zeros of functions of one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.ops.shaping import reshape
from gradtape.published import published
from gradtape.scipy.numeric import Numeric
from gradtape.scipy.optimize.functions import (
    itself,
    refuse_derivatives,
    refuse_tensors,
    with_args,
)
from gradtape.scipy.results import Found
from gradtape.scipy.solving import solve

_TAKE_SLOPE = ("newton", "halley")


@published("scipy.optimize.root_scalar")
def root_scalar(
    f: Callable[..., Any],
    args: tuple[Any, ...] | Any = (),
    method: str | None = None,
    bracket: Sequence[float] | None = None,
    fprime: None = None,
    fprime2: None = None,
    x0: Any = None,
    x1: float | None = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
) -> Found:
    """`scipy.optimize.root_scalar` of a function of tensors: `root` of the result has the
    derivatives by `args` and by all that `f` closes over, as those of `root` are.

    The derivatives that `newton` and `halley` need are computed by tapes. Without a method, a
    bracket is searched with `brentq`, and a start is followed with `newton`.

    >>> import gradtape as tf
    >>> a = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     x = tf.scipy.optimize.root_scalar(lambda x: x**2 - a, bracket=[0.0, 2.0]).root
    >>> round(float(x), 6), round(float(tape.gradient(x, a)), 6)
    (1.414214, 0.353553)
    """
    refuse_derivatives("root_scalar", fprime=fprime, fprime2=fprime2)
    limits = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options}
    return _root_scalar("root_scalar", f, args, method, bracket, x0, x1, limits)


@published("scipy.optimize.brentq")
def brentq(
    f: Callable[..., Any],
    a: float,
    b: float,
    args: tuple[Any, ...] | Any = (),
    xtol: float = 2e-12,
    rtol: float = 8.881784197001252e-16,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Tensor | tuple[Tensor, Found]:
    """`scipy.optimize.brentq`: the zero between `a` and `b`, with its derivatives.

    >>> import gradtape as tf
    >>> c = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     x = tf.scipy.optimize.brentq(lambda x: tf.exp(x) - c, 0.0, 2.0)
    >>> round(float(tape.gradient(x, c)), 6)
    0.5
    """
    limits = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    found = _root_scalar("brentq", f, args, "brentq", [a, b], None, None, limits, disp=disp)
    return (found.root, found) if full_output else found.root


@published("scipy.optimize.newton")
def newton(
    func: Callable[..., Any],
    x0: Any,
    fprime: None = None,
    args: tuple[Any, ...] | Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: None = None,
    x1: None = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Tensor | tuple[Tensor, Found]:
    """`scipy.optimize.newton` for one number: the zero that Newton's method finds from `x0`, with
    its derivatives. The slopes of the method are computed by a tape.

    >>> import gradtape as tf
    >>> a = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     x = tf.scipy.optimize.newton(lambda x: x**2 - a, 1.0)
    >>> round(float(tape.gradient(x, a)), 6)
    0.353553
    """
    refuse_derivatives("newton", fprime=fprime, fprime2=fprime2, x1=x1)
    limits = {"xtol": tol, "rtol": rtol or None, "maxiter": maxiter}
    found = _root_scalar("newton", func, args, "newton", None, x0, None, limits, disp=disp)
    return (found.root, found) if full_output else found.root


def _root_scalar(
    who: str,
    f: Callable[..., Any],
    args: Any,
    method: str | None,
    bracket: Any,
    x0: Any,
    x1: Any,
    limits: dict[str, Any],
    *,
    disp: bool = False,
) -> Any:
    from scipy import optimize  # noqa: PLC0415 - scipy is imported at first use

    refuse_tensors(who, "bracket", [bracket, x1])
    if bracket is None and x0 is None:
        raise ValueError(f"{who}: a bracket or a start x0 is needed.")
    if method is None:
        method = "brentq" if bracket is not None else "newton" if x1 is None else "secant"
    start = np.mean(np.array(bracket, np.float64)) if x0 is None else x0
    if as_tensor(start, argument=f"{who}: x0").array.size != 1:
        raise ValueError(f"{who}: x0 must be one number: use root for several unknowns.")
    inside = with_args(who, f, args, ())
    function = lambda x: reshape(inside(reshape(x, shape=())), shape=(1,))

    def run(numeric: Numeric, at: Any) -> Any:
        def at_number(derivative: Callable[[Any], Any]) -> Callable[[float], float]:
            return lambda x: float(derivative(np.array([x])).reshape(()))

        derivatives = {}
        if method in _TAKE_SLOPE:
            derivatives["fprime"] = at_number(numeric.jacobian)
        if method == "halley":
            derivatives["fprime2"] = at_number(numeric.hessian)
        found = optimize.root_scalar(
            at_number(numeric.value),
            method=method,
            bracket=bracket,
            x0=None if x0 is None else float(at[0]),
            x1=x1,
            **derivatives,
            **limits,
        )
        if disp and not found.converged:
            raise RuntimeError(f"{who}: no convergence after {found.iterations} iterations.")
        return optimize.OptimizeResult(
            x=np.array([found.root]),
            success=found.converged,
            message=found.flag,
            nfev=found.function_calls,
            nit=found.iterations,
            method=method,
        )

    found = solve(who, function, start, run, itself)
    found["root"] = reshape(found.pop("x"), shape=())
    found["converged"] = found.pop("success")
    found["flag"] = found.pop("message", "")
    found["function_calls"] = found.pop("nfev")
    if "nit" in found:
        found["iterations"] = found.pop("nit")
    return found
