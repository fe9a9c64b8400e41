"""Declarations: `op`, `unary` and `binary` make an `Op` and return the function to call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape.engines.numpy.engine import Kernel
from gradtape.ops.op import Op, Pull


def op(
    name: str, kernel: Kernel, pulls: Sequence[Pull | None] = (), **options: Any
) -> Callable[..., Any]:
    """Declares an op.

    The kernel's positional parameters after `xp` are its array arguments, the keywords its
    parameters.
    """
    return Op(name, kernel, pulls, **options).call


def unary(
    name: str, kernel: Kernel, derivative: Pull | None = None, **options: Any
) -> Callable[[Any], Any]:
    """Declares an elementwise op of one argument `x`;
    `derivative(g, ...)` is g times the partial derivative.
    """
    return op(name, kernel, [derivative], arguments=["x"], elementwise=True, **options)


def binary(
    name: str,
    kernel: Kernel,
    derivative_x: Pull | None = None,
    derivative_y: Pull | None = None,
    **options: Any,
) -> Callable[[Any, Any], Any]:
    """Declares an elementwise op of two arguments `x` and `y` that broadcast against each other."""
    return op(
        name,
        kernel,
        [derivative_x, derivative_y],
        arguments=["x", "y"],
        elementwise=True,
        **options,
    )
