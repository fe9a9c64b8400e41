"""SciPy's solver for a system, on NumPy's arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.scipy.integrate.systems import Options, System


def states_at(system: System, params: Sequence[Tensor], times: Any, y0: Any) -> Any:
    """The states at `times[1:]` from `y0` at `times[0]`, a row each."""
    options = system.options.given()
    if system.options.wants_jacobian:
        options["jac"] = system.jacobian_on_host(params)
    return rows_at(system.who, system.on_host(params), times, y0, options)


def rows_at(
    who: str, right: Callable[[Any, Any], Any], times: Any, y0: Any, options: dict[str, Any]
) -> Any:
    """The same for a function of arrays."""
    start, wanted = times[0], times[1:]
    if not wanted.size or not np.ptp(times):
        return np.broadcast_to(y0, (len(wanted), *y0.shape)).copy()
    backwards = times[-1] < start
    order = np.unique(wanted)[::-1] if backwards else np.unique(wanted)
    found = run(who, right, (start, times[-1]), y0, options, t_eval=order)
    rows = np.full((len(order), *y0.shape), np.nan)
    rows[: found.y.shape[1]] = found.y.T
    places = np.searchsorted(order[::-1] if backwards else order, wanted)
    return rows[len(order) - 1 - places] if backwards else rows[places]


def run(
    who: str,
    right: Callable[[Any, Any], Any],
    span: tuple[Any, Any],
    y0: Any,
    options: dict[str, Any],
    **more: Any,
) -> Any:
    """SciPy's result; a warning if it does not reach the end."""
    from scipy.integrate import solve_ivp  # noqa: PLC0415

    found = solve_ivp(right, span, y0, **options, **more)
    if not found.success:
        last = f" at t = {found.t[-1]}" if found.t is not None and len(found.t) else ""
        warnings.warn(
            f"{who}: the solver stopped{last} ({found.message}): what lies beyond is missing, or "
            "NaN, and so is its derivative.",
            RuntimeWarning,
            stacklevel=2,
        )
    return found


def dense(who: str, right: Any, span: tuple[Any, Any], y0: Any, options: dict[str, Any]) -> Any:
    """The solution as a function of time."""
    return run(who, right, span, y0, options, dense_output=True).sol


def given_with(options: Options, jacobian: Any) -> dict[str, Any]:
    """The options of a derivative's system, with its Jacobian where the method uses one."""
    found = options.for_derivatives().given()
    if options.wants_jacobian or "jac" in options.others:
        found["jac"] = jacobian
    return found
