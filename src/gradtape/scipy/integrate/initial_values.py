"""`scipy.integrate.solve_ivp` and `odeint`, whose solutions have derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.convert import as_tensor, is_tensor_like
from gradtape.core.batching import BatchedTensor
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.needed_ops import needed
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.core.xla.tensor import is_traced
from gradtape.ops.broadcasting import identity
from gradtape.ops.shaping import concat, matrix_transpose, reshape, stack
from gradtape.published import published
from gradtape.scipy.integrate.arguments import number, split_args
from gradtape.scipy.integrate.gradients import is_forward
from gradtape.scipy.integrate.running import run
from gradtape.scipy.integrate.systems import (
    DOUBLE,
    Options,
    RightSide,
    System,
    system_of,
)
from gradtape.scipy.integrate.trajectories import trajectory


@published("scipy.integrate.solve_ivp")
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: tuple[Any, ...] | None = None,
    **options: Any,
) -> Any:
    """`scipy.integrate.solve_ivp` of a function of tensors: `y` of the result has derivatives, of
    any order and in both modes, by the ends of `t_span`, by `t_eval`, `y0`, `args` and all that
    `fun` closes over; a terminal event's time and state have them too.

    They are those of the equation, not of the solver's steps, and are integrated with the same
    method and tolerances: `derivative` of the result says how. Methods that need the Jacobian get
    it from a tape. Inside a `function` and under `vmap`, `t_eval` must be given.

    >>> import gradtape as tf
    >>> rate = tf.Variable(0.5)
    >>> with tf.GradientTape() as tape:
    ...     found = tf.scipy.integrate.solve_ivp(
    ...         lambda t, y: -rate * y, (0, 2), [4.0], rtol=1e-8, atol=1e-10
    ...     )
    ...     last = found.y[0, -1]
    >>> round(float(last), 5), round(float(tape.gradient(last, rate)), 5)
    (1.47152, -2.94304)
    >>> found.derivative
    'forward sensitivities, 13 steps'
    """
    who = "solve_ivp"
    if not callable(fun):
        raise TypeError(f"{who}: fun must be a function, got {fun!r}.")
    if len(t_span) != 2:
        raise ValueError(f"{who}: t_span must be two times, got {t_span!r}.")
    given = () if args is None else args
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"{who}: args must be a tuple, got {args!r}.")
    start, kind = _start(who, y0)
    first, last = (number(who, t, f"t_span[{i}]") for i, t in enumerate(t_span))
    wanted = None if t_eval is None else _times(who, t_eval)
    params, with_args = split_args(tuple(given))
    right = lambda t, y, given: with_args(fun, [t, y], given)
    chosen = _options(method, options)
    inputs = [first, last, start, *params, *([] if wanted is None else [wanted])]
    if here.state.trace is not None or any(isinstance(x, BatchedTensor) for x in inputs):
        return _without_steps(
            who, right, first, start, params, chosen, wanted, kind, (events, dense_output)
        )
    system, params = system_of(who, right, first.numpy(), start, params, chosen)
    calls = _Events(events, params, with_args)
    solution = _solved(system, params, first, last, start, wanted, calls)
    return _connected(
        system, params, first, last, start, wanted, kind, calls, solution, dense_output
    )


@published("scipy.integrate.odeint")
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: tuple[Any, ...] = (),
    *,
    tfirst: bool = False,
    rtol: float = 1.49012e-8,
    atol: float = 1.49012e-8,
) -> Tensor:
    """The solution of dy/dt = func(y, t) at the times `t`, a row each, from `y0` at the first; as
    `scipy.integrate.odeint`, by the method LSODA. It has derivatives by `y0`, `t`, `args` and all
    that `func` closes over.

    >>> import gradtape as tf
    >>> start = tf.Variable([4.0])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.scipy.integrate.odeint(lambda y, t: -0.5 * y, start, [0.0, 2.0])[1]
    >>> y.numpy().round(4), tape.gradient(y, start).numpy().round(4)
    (array([1.4715], dtype=float32), array([0.3679], dtype=float32))
    """
    who = "odeint"
    if not callable(func):
        raise TypeError(f"{who}: func must be a function, got {func!r}.")
    fun = func if tfirst else lambda t, y, *more: func(y, t, *more)
    start, kind = _start(who, y0)
    times = _times(who, t)
    if not times.array.shape[0]:
        raise ValueError(f"{who}: t must have at least one time.")
    params, with_args = split_args(args if isinstance(args, tuple) else (args,))
    right = lambda t, y, given: with_args(fun, [t, y], given)
    chosen = Options("LSODA", rtol, atol, {})
    begin = 0.0 if _is_unknown(times) else times.numpy()[0]
    system, params = system_of(who, right, begin, start, params, chosen)
    rows = trajectory(system, times, start, params)
    found = concat(reshape(start, shape=(1, -1)), rows, axis=0)
    return found if kind == DOUBLE else needed.cast(found, dtype=kind)


# Arguments


def _start(who: str, y0: Any) -> tuple[Tensor, Any]:
    """The initial state in double precision, and the dtype of the result."""
    given = is_tensor_like(y0) or isinstance(y0, (np.ndarray, np.generic))
    tensors = given or any(is_tensor_like(leaf) for leaf in nest.flatten(y0))
    plain = y0 if tensors or np.asarray(y0).dtype.kind in "cUOS" else np.asarray(y0, DOUBLE)
    tensor = as_tensor(plain, argument=f"{who}: y0")
    kind = tensor.array.dtype
    if kind.kind == "c":
        raise TypeError(
            f"{who}: y0 is complex: write the real and imaginary parts as two real unknowns."
        )
    if kind.kind not in "iufV":
        raise TypeError(f"{who}: y0 must hold real numbers, got dtype {tensor.dtype.name}.")
    if tensor.array.ndim > 1:
        raise ValueError(f"{who}: y0 must be a vector, got shape {tensor.shape}: reshape it.")
    vector = tensor if tensor.array.ndim else reshape(tensor, shape=(1,))
    wide = vector if vector.array.dtype == DOUBLE else needed.cast(vector, dtype=DOUBLE)
    return wide, kind if kind.kind in "fV" else DOUBLE


def _times(who: str, values: Any) -> Tensor:
    if any(is_tensor_like(leaf) for leaf in nest.flatten(values)):
        tensor = as_tensor(values)
    else:
        tensor = Tensor(np.asarray(values, DOUBLE))
    if tensor.array.ndim != 1:
        raise ValueError(f"{who}: times must be a vector, got shape {tensor.shape}.")
    wide = tensor if tensor.array.dtype == DOUBLE else needed.cast(tensor, dtype=DOUBLE)
    if not _is_unknown(wide):
        steps = np.diff(wide.numpy())
        if not (np.all(steps >= 0) or np.all(steps <= 0)):
            raise ValueError(f"{who}: times must be in order, got {wide.numpy()}.")
    return wide


def _is_unknown(x: Tensor) -> bool:
    return isinstance(x, BatchedTensor) or is_traced(x)


def _options(method: Any, options: dict[str, Any]) -> Options:
    others = dict(options)
    jac = others.get("jac")
    if jac is None:
        others.pop("jac", None)
    elif callable(jac):
        raise ValueError(
            "solve_ivp: jac is computed by a tape: leave it out, or pass a constant matrix."
        )
    rtol, atol = others.pop("rtol", 1e-3), others.pop("atol", 1e-6)
    return Options(method, rtol, atol, others)


# Solutions


_EVENT = "solve_ivp: a value of an event"


class _Events:
    """Event functions as SciPy calls them, and as functions of Tensors."""

    def __init__(self, events: Any, params: Sequence[Tensor], with_args: Any) -> None:
        listed = [] if events is None else [events] if callable(events) else list(events)
        self.of_tensors = [
            lambda t, y, f=f: as_tensor(
                with_args(f, [t, y], params), argument="solve_ivp: an event"
            )
            for f in listed
        ]
        self.on_host = [self._plain(f, e) for f, e in zip(listed, self.of_tensors, strict=True)]

    @staticmethod
    def _plain(event: Any, of_tensors: Any) -> Any:
        def plain(t: Any, y: Any) -> float:
            with here.state.only([]):
                return float(of_tensors(Tensor(np.float64(t)), Tensor(np.array(y))))

        plain.terminal = getattr(event, "terminal", None)  # type: ignore[attr-defined]
        plain.direction = getattr(event, "direction", 0)  # type: ignore[attr-defined]
        return plain


def _solved(
    system: System,
    params: Sequence[Tensor],
    first: Tensor,
    last: Tensor,
    start: Tensor,
    wanted: Tensor | None,
    calls: _Events,
) -> Any:
    given = system.options.given()
    if system.options.wants_jacobian:
        given["jac"] = system.jacobian_on_host(params)
    return run(
        system.who,
        system.on_host(params),
        (float(first), float(last)),
        start.numpy(),
        given,
        t_eval=None if wanted is None else wanted.numpy(),
        events=calls.on_host or None,
        dense_output=True,
    )


def _connected(
    system: System,
    params: list[Tensor],
    first: Tensor,
    last: Tensor,
    start: Tensor,
    wanted: Tensor | None,
    kind: Any,
    calls: _Events,
    solution: Any,
    dense_output: bool,
) -> Any:
    """SciPy's result with Tensors for the times and states."""
    stopped = None
    if solution.status == 1:
        last = Tensor(np.float64(solution.sol.ts[-1]))
        if here.state.recorders:
            stopped = _last_event(solution, calls)
            event = calls.of_tensors[stopped]
            last = _time_of_event(system, params, first, start, last, event)
    if wanted is None:
        middle = Tensor(solution.t[1:-1])
        ends = [reshape(t, shape=(1,)) for t in (first, last)]
        reached = solution.success or not len(solution.t)
        tail = ends[1:] if reached else [Tensor(solution.t[-1:])]
        times = concat(ends[0], middle, *tail, axis=0)
    else:
        times = wanted[: len(solution.t)]
    found = trajectory(
        system, concat(reshape(first, shape=(1,)), times, axis=0), start, params, solution
    )
    states = matrix_transpose(found)
    steps = len(solution.sol.ts) - 1
    size = system.size_with(params)
    way = "forward sensitivities" if is_forward(start.array.size, size) else "adjoint"
    solution.derivative = f"{way}, {steps} steps"
    solution.t = times
    solution.y = states if kind == DOUBLE else needed.cast(states, dtype=kind)
    if stopped is not None:
        at = concat(reshape(first, shape=(1,)), reshape(last, shape=(1,)), axis=0)
        state = trajectory(system, at, start, params)
        earlier, rows = solution.t_events[stopped][:-1], solution.y_events[stopped][:-1]
        solution.t_events[stopped] = concat(Tensor(earlier), at[1:], axis=0)
        solution.y_events[stopped] = concat(
            Tensor(rows.reshape(-1, start.array.size)), state, axis=0
        )
    if not dense_output:
        solution.sol = None
    return solution


def _last_event(solution: Any, calls: _Events) -> int:
    """Which event has ended the solution."""
    end = solution.sol.ts[-1]
    return next(
        i
        for i, (times, event) in enumerate(zip(solution.t_events, calls.on_host, strict=True))
        if event.terminal and len(times) and times[-1] == end
    )


def _time_of_event(
    system: System,
    params: Sequence[Tensor],
    first: Tensor,
    start: Tensor,
    time: Tensor,
    event: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """The time of a terminal event with its derivatives: two of Newton's steps, which leave the
    time where it is, make them right to the second order.
    """
    for _ in range(2):
        at = identity(time)
        state = trajectory(system, stack(first, at, axis=0), start, params)[0]
        slope = system.right(at, state, list(params))
        one = Tensor(np.ones(()))
        with ForwardAccumulator([at, state], [one, slope]) as accumulator:
            value = event(at, state)
        rate = accumulator.jvp(value, unconnected_gradients=UnconnectedGradients.ZERO)
        if not float(rate):
            raise ValueError(
                "solve_ivp: the terminal event's function only touches zero, so the derivative of "
                "its time is infinite."
            )
        time = at - reshape(value, shape=()) / reshape(rate, shape=())
    return time


def _without_steps(
    who: str,
    right: RightSide,
    first: Tensor,
    start: Tensor,
    params: list[Tensor],
    options: Options,
    wanted: Tensor | None,
    kind: Any,
    others: tuple[Any, Any],
) -> Any:
    """What is known of a solution inside a program or under vmap."""
    events, dense_output = others
    where = "inside a gradtape.function and under vmap"
    if wanted is None:
        raise ValueError(
            f"{who}: {where}, t_eval must be given: how many steps the solver takes is not known."
        )
    if events is not None or dense_output:
        raise NotImplementedError(f"{who}: {where}, events and dense_output are not available.")
    begin = 0.0 if _is_unknown(first) else first.numpy()
    system, params = system_of(who, right, begin, start, params, options)
    times = concat(reshape(first, shape=(1,)), wanted, axis=0)
    states = matrix_transpose(trajectory(system, times, start, params))
    size = system.size_with(params)
    from scipy.optimize import OptimizeResult  # noqa: PLC0415

    return OptimizeResult(
        t=wanted,
        y=states if kind == DOUBLE else needed.cast(states, dtype=kind),
        derivative="forward sensitivities" if is_forward(start.array.size, size) else "adjoint",
    )
