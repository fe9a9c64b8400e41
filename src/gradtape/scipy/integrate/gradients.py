"""The gradient of a trajectory on NumPy's arrays, where nothing records it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.scipy.integrate.running import dense, given_with, rows_at
from gradtape.scipy.integrate.systems import System, is_float

FEW = 200
"""Up to so many sensitivities, all of them are integrated forwards; more wait for the adjoint."""


def is_forward(unknowns: int, parameters: int) -> bool:
    """Whether the gradient comes from forward sensitivities."""
    return unknowns * (unknowns + parameters) <= FEW


def gradients(
    system: System, params: Sequence[Tensor], times: Any, y0: Any, states: Any, g: Any, sol: Any
) -> list[Any]:
    """The cotangents of the times, the start, the parameters and what is closed over, None for
    those that have none. `g` may have an axis in front, which they then have too.
    """
    sources = [*params, *system.closed]
    sizes = [int(np.prod(s.shape)) if is_float(s) else 0 for s in sources]
    right = system.on_host(params)
    first = right(times[0], y0)
    by_time = np.zeros((*g.shape[:-2], len(times)))
    for k in range(len(states)):
        by_time[..., k + 1] = g[..., k, :] @ right(times[k + 1], states[k])
    chosen = _by_sensitivities if is_forward(len(y0), sum(sizes)) else _by_adjoint
    by_start, by_sources = chosen(system, params, times, y0, g, sum(sizes), sol)
    by_time[..., 0] = -(by_start @ first)
    parts = np.split(by_sources, np.cumsum(sizes)[:-1], axis=-1) if sizes else []
    return [
        by_time,
        by_start,
        *(p if is_float(s) else None for p, s in zip(parts, sources, strict=True)),
    ]


def _jacobians(system: System, params: Sequence[Tensor], t: Any, y: Any) -> tuple[Any, Any, Any]:
    """The right side and its Jacobians by y and by all parameters."""
    value, (_, by_y, *others) = system.jacobians(Tensor(np.float64(t)), Tensor(np.array(y)), params)
    others = [o for o in others if o is not None]
    return value, by_y, np.concatenate(others, axis=1) if others else np.zeros((len(y), 0))


def tangents_of(
    system: System,
    params: Sequence[Tensor],
    times: Any,
    y0: Any,
    states: Any,
    moved: Sequence[Any],
) -> Any:
    """The tangents of the states from those of the times, the start, the parameters and what is
    closed over, None for those that do not move; they may have an axis in front.
    """
    sources = [*params, *system.closed]
    sizes = [int(np.prod(s.shape)) if is_float(s) else 0 for s in sources]
    by_time, *others = moved
    many = next(len(m) for m in moved if m is not None)
    flat = [
        np.zeros((many, size)) if m is None else np.asarray(m, np.float64).reshape(many, size)
        for m, size in zip(others, [len(y0), *sizes], strict=True)
    ]
    if by_time is not None:
        right = system.on_host(params)
        flat[0] = flat[0] - by_time[:, :1] * right(times[0], y0)
    rows = _sensitivities(system, params, times, y0, sum(sizes))
    found = np.einsum("kij,bj->bki", rows, np.concatenate(flat, axis=1))
    if by_time is not None and len(states):
        slopes = np.stack([right(t, y) for t, y in zip(times[1:], states, strict=True)])
        found += by_time[:, 1:, None] * slopes
    return found


def _by_sensitivities(
    system: System, params: Sequence[Tensor], times: Any, y0: Any, g: Any, count: int, sol: Any
) -> tuple[Any, Any]:
    rows = _sensitivities(system, params, times, y0, count)
    total = np.einsum("...ki,kij->...j", g, rows)
    return total[..., : len(y0)], total[..., len(y0) :]


def _sensitivities(
    system: System, params: Sequence[Tensor], times: Any, y0: Any, count: int
) -> Any:
    """The derivatives of each state by the start and all parameters."""
    n = len(y0)

    def right(t: Any, z: Any) -> Any:
        value, by_y, by_params = _jacobians(system, params, t, z[:n])
        change = by_y @ z[n:].reshape(n, n + count)
        change[:, n:] += by_params
        return np.concatenate([value, change.reshape(-1)])

    def jacobian(t: Any, z: Any) -> Any:
        """Without the second derivatives, which only Newton's steps of the method would see."""
        _, by_y, _ = _jacobians(system, params, t, z[:n])
        found = np.zeros((len(z), len(z)))
        found[:n, :n] = by_y
        found[n:, n:] = np.kron(by_y, np.eye(n + count))
        return found

    start = np.concatenate([y0, np.eye(n, n + count).reshape(-1)])
    options = given_with(system.options, jacobian)
    rows = rows_at(system.who, right, times, start, options)
    return rows[:, n:].reshape(-1, n, n + count)


def _by_adjoint(
    system: System, params: Sequence[Tensor], times: Any, y0: Any, g: Any, count: int, sol: Any
) -> tuple[Any, Any]:
    if g.ndim > 2:
        each = [_by_adjoint(system, params, times, y0, row, count, sol) for row in g]
        return np.stack([a for a, _ in each]), np.stack([b for _, b in each])
    n = len(y0)
    if sol is None and np.ptp(times):
        options = given_with(system.options, system.jacobian_on_host(params))
        sol = dense(system.who, system.on_host(params), (times[0], times[-1]), y0, options)

    def right(t: Any, z: Any) -> Any:
        _, pulled = system.pulled(
            Tensor(np.float64(t)), Tensor(sol(t)), params, Tensor(np.array(z[:n]))
        )
        return -np.concatenate([p.numpy().reshape(-1) for p in pulled[1:] if p is not None])

    def jacobian(t: Any, z: Any) -> Any:
        _, by_y, by_params = _jacobians(system, params, t, sol(t))
        found = np.zeros((len(z), len(z)))
        found[:n, :n] = -by_y.T
        found[n:, :n] = -by_params.T
        return found

    options = given_with(system.options, jacobian)
    adjoint = np.zeros(n + count)
    for k in range(len(times) - 1, 0, -1):
        adjoint[:n] += g[k - 1]
        if not adjoint[:n].any():
            continue
        adjoint = rows_at(system.who, right, times[[k, k - 1]], adjoint, options)[0]
    return adjoint[:n], adjoint[n:]
