"""What the functions of `scipy.optimize` have in common: the user's function as one of the unknowns
alone, and what is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.convert import as_tensor
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.core.variable import Variable
from gradtape.ops.broadcasting import identity, stop_gradient
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape

Function = Callable[[Tensor], Tensor]


def with_args(
    who: str, fun: Callable[..., Any], args: Any, shape: tuple[int, ...] | None = (-1,)
) -> Function:
    """A function of a vector of the unknowns alone, whose values have a `shape`: a vector, or a
    number.
    """
    if not callable(fun):
        raise TypeError(f"{who}: fun must be a function, got {fun!r}.")
    given = args if isinstance(args, tuple) else (args,)

    def call(x: Tensor) -> Tensor:
        value = as_tensor(fun(x, *given), argument=f"{who}: a result of fun")
        if shape == () and value.array.size != 1:
            raise ValueError(
                f"{who}: fun must return one number, got shape {tuple(value.array.shape)}."
            )
        wanted = (value.array.size,) if shape == (-1,) else shape
        return value if tuple(value.array.shape) == wanted else reshape(value, shape=wanted)

    return call


def refuse_derivatives(who: str, **given: Any) -> None:
    """Refuses derivatives of the user's: a tape has them."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise ValueError(
                f"{who}: {name} is computed by a tape: leave it out"
                + (", or pass jac=False for SciPy's differences." if name == "jac" else ".")
            )


def refuse_tensors(who: str, name: str, value: Any) -> None:
    """Refuses Tensors where a derivative by them would be missing."""
    leaves = list(vars(value).values()) if hasattr(value, "lb") else nest.flatten(value)
    if any(isinstance(leaf, (Tensor, Variable)) for leaf in leaves):
        raise TypeError(
            f"{who}: there are no derivatives by {name}: pass numbers, and put what is to have a "
            "derivative into fun."
        )


def stationary(function: Function, free: Any) -> Function:
    """The residual of a minimum: the gradient, by the unknowns that are free. The others stay."""

    def residual(x: Tensor) -> Tensor:
        at = identity(x)
        with GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(at)
            value = function(at)
        gradient: Any = tape.gradient(value, at, unconnected_gradients=UnconnectedGradients.ZERO)
        if isinstance(free, np.ndarray) and np.all(free):
            return gradient
        return where(free, gradient, x - stop_gradient(x))

    return residual


def itself(function: Function, free: Any) -> Function:
    """The residual of a root."""
    return function
