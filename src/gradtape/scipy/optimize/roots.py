"""`scipy.optimize.root`, `fsolve` and `root_scalar`: zeros of functions, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtape.convert import as_tensor
from gradtape.core.tensor import Tensor
from gradtape.ops.shaping import reshape
from gradtape.published import published
from gradtape.scipy.numeric import Numeric
from gradtape.scipy.solving import solve

WITH_JACOBIAN = ("hybr", "lm")


@published("scipy.optimize.root")
def root(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] | Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable[..., Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
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
    from scipy import optimize  # noqa: PLC0415 - scipy is imported at first use

    function = with_args("root", fun, args, jac)

    def run(f: Numeric, start: Any) -> Any:
        given = f.jacobian if jac is not False and method in WITH_JACOBIAN else None
        return optimize.root(
            f.value, start, method=method, jac=given, tol=tol, callback=callback, options=options
        )

    return solve("root", function, x0, run, itself)


def itself(function: Callable[[Tensor], Any], free: Any) -> Callable[[Tensor], Any]:
    """The residual of a function whose zero is wanted."""
    return function


def with_args(
    who: str, fun: Callable[..., Any], args: Any, jac: Any = None
) -> Callable[[Tensor], Any]:
    """A function of the unknowns alone."""
    if not callable(fun):
        raise TypeError(f"{who}: fun must be a function, got {fun!r}.")
    if callable(jac):
        raise ValueError(
            f"{who}: jac is computed by a tape: leave it out, or pass jac=False for SciPy's "
            "differences."
        )
    given = args if isinstance(args, tuple) else (args,)
    return lambda x: as_vector(fun(x, *given), who)


def as_vector(value: Any, who: str) -> Tensor:
    """What a user's function returned, as a vector of the values."""
    tensor = as_tensor(value, argument=f"{who}: a result of fun")
    return tensor if tensor.array.ndim == 1 else reshape(tensor, shape=(tensor.array.size,))
