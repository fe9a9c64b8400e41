"""`optimize.minimize`: trains Variables with SciPy's methods, in one call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.functions.decorator import function
from gradtape.functions.function import Function
from gradtape.optimize.history import History
from gradtape.optimize.variables import FlatVariables
from gradtape.published import published

ZERO = UnconnectedGradients.ZERO
_WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
_TAKE_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
_LIMITS = {"tnc": "maxfun"}
_LEAST_GAIN = 1e-6  # of the loss, for another start


@published("optimize.minimize")
def minimize(
    loss: Callable[..., Any],
    variables: Any,
    method: str = "L-BFGS-B",
    *,
    args: Sequence[Any] = (),
    max_iterations: int = 1000,
    tolerance: float = 1e-8,
    callback: Callable[[History], Any] | None = None,
    progress: bool | int = False,
    keep: Literal["best", "last"] = "best",
    compile: bool | None = None,
    options: Mapping[str, Any] | None = None,
) -> History:
    """Changes Variables until a loss is as small as a method of `scipy.optimize.minimize` gets it;
    returns what happened.

    `loss(*args)` returns a number and is the same function each time, without random numbers or new
    batches. `variables` is a structure of Variables, or a Keras model or module, whose trainable
    ones are meant. The method works on one vector in double precision, whatever their dtypes. It
    ends after `max_iterations`, or when no element of the gradient is above `tolerance`; where the
    rounding of float32 ends it sooner, it starts again from there, as long as that helps.

    `callback` is given the `History` after each iteration, and ends the method by returning True;
    `progress` prints a line every so many iterations. At the end, and after Ctrl-C or any other
    exception, the Variables have the values with the lowest loss, or the last iteration's
    (`keep="last"`). With a `loss` that is a `function`, or `compile=True`, loss and gradient are
    compiled as one program. `options` are the method's own.

    >>> import gradtape as tf
    >>> x, y = tf.Variable(-1.0), tf.Variable(2.0)
    >>> history = tf.optimize.minimize(lambda: (1 - x) ** 2 + 100 * (y - x**2) ** 2, [x, y])
    >>> round(float(x), 2), round(float(y), 2), history.best < 1e-6
    (1.0, 1.0, True)
    """
    kind = _checked(loss, method, max_iterations, keep)
    flat = FlatVariables(variables, "optimize.minimize")
    compiled = isinstance(loss, Function) if compile is None else compile
    every = max(1, max_iterations // 10) if progress is True else int(progress)
    run = _Run(loss, args, flat, compiled=compiled, callback=callback, every=every)
    given = {**_options(kind, max_iterations, tolerance), **(options or {})}
    with here.state.only([]):
        run.start()
        try:
            _minimized(run, method, kind, max_iterations, given)
        except _Stop:
            run.history.message = "The callback ended it."
        finally:
            flat.write_all(run.best if keep == "best" else run.last)
    return run.history


def _checked(loss: Any, method: Any, max_iterations: int, keep: str) -> str:
    if not callable(loss):
        raise TypeError(
            f"optimize.minimize: loss must be a function that returns the loss, got {loss!r}."
        )
    if not isinstance(method, str) or method.lower() in _WITHOUT_GRADIENT:
        raise ValueError(
            f"optimize.minimize: method must be one that takes gradients, got {method!r}: use "
            "'L-BFGS-B', 'BFGS', 'CG', 'Newton-CG', 'trust-ncg', 'trust-krylov', 'TNC' or 'SLSQP'."
        )
    if max_iterations < 1:
        raise ValueError(
            f"optimize.minimize: max_iterations must be at least 1, got {max_iterations}."
        )
    if keep not in ("best", "last"):
        raise ValueError(f"optimize.minimize: keep must be 'best' or 'last', got {keep!r}.")
    if here.state.trace is not None:
        raise RuntimeError(
            "optimize.minimize: it changes Variables step by step, so it cannot be part of a "
            "gradtape.function: call it outside, and pass the function as `loss`."
        )
    return method.lower()


def _options(kind: str, max_iterations: int, tolerance: float) -> dict[str, Any]:
    """The method's own options. L-BFGS gets the longer memory and the exactness that networks which
    solve equations need.
    """
    if kind == "l-bfgs-b":
        return {
            "maxiter": max_iterations, "maxfun": 20 * max_iterations, "gtol": tolerance,
            "ftol": 0.0, "maxcor": 50, "maxls": 50,
        }  # fmt: skip
    found: dict[str, Any] = {_LIMITS.get(kind, "maxiter"): max_iterations}
    tolerances = {"newton-cg": "xtol", "slsqp": "ftol"}
    return {**found, tolerances.get(kind, "gtol"): tolerance}


def _minimized(run: _Run, method: str, kind: str, limit: int, options: dict[str, Any]) -> None:
    from scipy import optimize  # noqa: PLC0415 - scipy is imported at first use

    limit_name = _LIMITS.get(kind, "maxiter")
    history = run.history
    while True:
        before = history.best
        found = optimize.minimize(
            run.evaluate,
            run.best,
            jac=True,
            method=method,
            callback=lambda x, *_: run.iteration(x),
            hessp=run.product if kind in _TAKE_PRODUCTS else None,
            options=options,
        )
        history.success, history.message = bool(found.success), str(found.message)
        left = limit - history.iterations
        gained = before - history.best > _LEAST_GAIN * abs(before)
        if found.success or left <= 0 or not gained:
            return
        history.restarts += 1
        options = {**options, limit_name: left}


class _Stop(BaseException):
    """Ends a method of SciPy's from a callback; none of its handlers catches it."""


class _Run:
    """The loss as SciPy's methods call it, and what has been found so far."""

    def __init__(
        self,
        loss: Callable[..., Any],
        args: Sequence[Any],
        flat: FlatVariables,
        *,
        compiled: bool,
        callback: Callable[[History], Any] | None,
        every: int,
    ) -> None:
        self._flat, self._args = flat, tuple(args)
        self._callback, self._every = callback, every
        self.history = History()
        self.best = self.last = flat.read()
        self._recent: list[tuple[Any, float, float]] = []  # since the last iteration
        variables = flat.variables
        if compiled and not isinstance(loss, Function):
            loss = function(loss)

        def gradient(*args: Any) -> tuple[Tensor, list[Any]]:
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(variables)
                value = as_tensor(loss(*args), argument="optimize.minimize: the loss")
            if value.array.size != 1:
                raise ValueError(
                    "optimize.minimize: loss must return one number, got shape "
                    f"{tuple(value.array.shape)}: take the mean or the sum."
                )
            found = tape.gradient(value, variables, unconnected_gradients=ZERO)
            return value, [as_tensor(g) for g in found]

        def step(*args: Any) -> tuple[Tensor, Tensor]:
            value, gradients = gradient(*args)
            return value, flat.joined(gradients)

        def product(direction: list[Tensor], *args: Any) -> Tensor:
            with ForwardAccumulator(variables, direction) as accumulator:
                _, gradients = gradient(*args)
            return flat.joined([accumulator.jvp(g, unconnected_gradients=ZERO) for g in gradients])

        self._step: Callable[..., Any] = function(step, autograph=False) if compiled else step
        self._product: Callable[..., Any] = (
            function(product, autograph=False) if compiled else product
        )

    def start(self) -> None:
        """Evaluates the loss where the Variables are."""
        value, gradient = self.evaluate(self.best)
        if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
            raise ValueError(
                f"optimize.minimize: at the start the loss is {value} and the largest element of "
                f"its gradient {np.max(np.abs(gradient))}: start from other values of the "
                "variables."
            )
        self.history.add(value, float(np.max(np.abs(gradient), initial=0)))

    def evaluate(self, x: Any) -> tuple[float, Any]:
        x = np.array(x, np.float64)
        self._flat.write(x)
        value, gradient = self._step(*self._args)
        loss, vector = float(value.numpy().reshape(())), np.asarray(gradient.numpy(), np.float64)
        self.history.evaluations += 1
        self._recent.append((x, loss, float(np.max(np.abs(vector), initial=0))))
        if loss < self.history.best:
            self.best, self.history.best = x, loss
        return loss, vector

    def product(self, x: Any, v: Any) -> Any:
        self._flat.write(x)
        return np.asarray(self._product(self._flat.tensors(v), *self._args).numpy(), np.float64)

    def iteration(self, x: Any) -> None:
        """Notes an iteration that has ended at `x`, one of the points that were evaluated."""
        point = next((p for p in reversed(self._recent) if np.array_equal(p[0], x)), None)
        if point is None:
            self.evaluate(x)
            point = self._recent[-1]
        self._recent = [point]
        self.last = point[0]
        self.history.add(*point[1:])
        if self._every and self.history.iterations % self._every == 0:
            sys.stdout.write(self.history.line() + "\n")
        if self._callback is not None and self._callback(self.history) is True:
            raise _Stop
