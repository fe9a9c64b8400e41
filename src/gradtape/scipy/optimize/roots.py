"""`scipy.optimize.root` and `fsolve`: zeros of systems of functions, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.published import published
from gradtape.scipy.numeric import Numeric
from gradtape.scipy.optimize.functions import itself, refuse_derivatives, with_args
from gradtape.scipy.results import Found
from gradtape.scipy.solving import solve

_TAKE_JACOBIAN = ("hybr", "lm")


@published("scipy.optimize.root")
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] | Any = (),
    method: str = "hybr",
    jac: bool | None = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Found:
    """`scipy.optimize.root` of a function of tensors: `x` of the result has the derivatives, of any
    order and in both modes, by `args` and by all Tensors and Variables that `fun` closes over.

    They are implicit: one linear solve with the Jacobian at the solution, whatever the method. The
    Jacobian that a method needs is computed by a tape; `jac=False` leaves it to SciPy's
    differences. `derivative` of the result says how good the solution is.

    >>> import gradtape as tf
    >>> a = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     found = tf.scipy.optimize.root(lambda x: x**3 - a, [1.0])
    ...     x = found.x[0]
    >>> round(float(x), 6), round(float(tape.gradient(x, a)), 6)
    (1.259921, 0.209987)
    >>> found.derivative.split(",")[0]
    'implicit'
    """
    return _root("root", fun, x0, args, method, jac, tol, callback, options)


@published("scipy.optimize.fsolve")
def fsolve(
    func: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] | Any = (),
    fprime: None = None,
    full_output: bool = False,
    col_deriv: bool = False,
    xtol: float = 1.49012e-8,
    maxfev: int = 0,
    band: tuple[int, int] | None = None,
    epsfcn: float | None = None,
    factor: float = 100,
    diag: Any = None,
) -> Tensor | tuple[Tensor, dict[str, Any], Any, str]:
    """`scipy.optimize.fsolve`: the solution that `root` finds, with its derivatives.

    >>> import gradtape as tf
    >>> a = tf.Variable(4.0)
    >>> with tf.GradientTape() as tape:
    ...     x = tf.scipy.optimize.fsolve(lambda x: x**2 - a, 1.0)
    >>> round(float(tape.gradient(x, a)), 6)
    0.25
    """
    refuse_derivatives("fsolve", fprime=fprime, col_deriv=col_deriv)
    options = {"xtol": xtol, "maxfev": maxfev, "band": band, "eps": epsfcn}
    options |= {"factor": factor, "diag": diag}
    found = _root("fsolve", func, x0, args, "hybr", None, None, None, options)
    if not full_output:
        return found.x
    information = {k: found[k] for k in ("nfev", "njev", "fjac", "r", "qtf") if k in found}
    return found.x, {**information, "fvec": found.get("fun")}, found.status, found.get("message")


def _root(
    who: str,
    fun: Callable[..., Any],
    x0: Any,
    args: Any,
    method: str,
    jac: Any,
    tol: float | None,
    callback: Any,
    options: Any,
) -> Any:
    from scipy import optimize  # noqa: PLC0415 - scipy is imported at first use

    refuse_derivatives(who, jac=jac)

    def run(f: Numeric, start: Any) -> Any:
        given = f.jacobian if jac is not False and method in _TAKE_JACOBIAN else None
        return optimize.root(
            f.value, start, method=method, jac=given, tol=tol, callback=callback, options=options
        )

    return solve(who, with_args(who, fun, args), x0, run, itself)
