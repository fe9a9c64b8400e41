"""`scipy.integrate.quad` and `quad_vec`: integrals with derivatives by their limits, by `args` and
by all that the function closes over.

The derivative of an integral is an integral of the derivative, by the same op.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.bridge.foreign import OnHost, Recorded, call
from gradtape.convert import as_tensor
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.needed_ops import needed
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.core.xla.host_calls import call_for_results
from gradtape.ops.arithmetic import is_finite
from gradtape.ops.broadcasting import identity
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape, stack
from gradtape.published import published
from gradtape.scipy.integrate.arguments import number, split_args
from gradtape.scipy.integrate.systems import (
    DOUBLE,
    Options,
    dot,
    is_float,
    joined,
    system_of,
)

ZERO = UnconnectedGradients.ZERO
Run = Callable[[Callable[[float], Any], float, float], tuple[Any, float]]
"""The integral of a function of one number with values in vectors, and its error."""


@published("scipy.integrate.quad")
def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    *,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
) -> tuple[Tensor, Any]:
    """The integral of `func` from `a` to `b`, which may be infinite, and an estimate of its error;
    as `scipy.integrate.quad`. The integral has derivatives, of any order and in both modes, by the
    limits, by `args` and by all that `func` closes over.

    >>> import gradtape as tf
    >>> width = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     found, error = tf.scipy.integrate.quad(lambda x: tf.exp(-x / width), 0.0, float("inf"))
    >>> round(float(found), 6), round(float(tape.gradient(found, width)), 6)
    (2.0, 1.0)
    """
    from scipy import integrate  # noqa: PLC0415

    where_else = None if points is None else np.asarray(points)

    def run(f: Callable[[float], Any], low: float, high: float) -> tuple[Any, float]:
        found, error = integrate.quad(
            lambda x: float(f(x)[0]),
            low,
            high,
            epsabs=epsabs,
            epsrel=epsrel,
            limit=limit,
            points=where_else,
        )
        return np.array([found]), error

    derived = _vector_run("quad", epsabs, epsrel, 10000, points)
    return _integral("quad", func, a, b, args, run, derived, one=True)


@published("scipy.integrate.quad_vec")
def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    limit: int = 10000,
    points: Any = None,
    *,
    args: Any = (),
) -> tuple[Tensor, Any]:
    """The integral of a function with values in arrays, and an estimate of its error; as
    `scipy.integrate.quad_vec`, with the derivatives that `quad` has.

    >>> import gradtape as tf
    >>> powers = tf.Variable([1.0, 2.0])
    >>> with tf.GradientTape() as tape:
    ...     found, error = tf.scipy.integrate.quad_vec(lambda x: x**powers, 0.0, 1.0)
    >>> found.numpy().round(6), tape.gradient(found, powers).numpy().round(4)
    (array([0.5     , 0.333333]), array([-0.25  , -0.1111], dtype=float32))
    """
    run = _vector_run("quad_vec", epsabs, epsrel, limit, points)
    derived = _vector_run("quad_vec", max(epsabs, 1e-12), epsrel, limit, points)
    return _integral("quad_vec", f, a, b, args, run, derived, one=False)


def _vector_run(who: str, epsabs: float, epsrel: float, limit: int, points: Any) -> Run:
    def run(f: Callable[[float], Any], low: float, high: float) -> tuple[Any, float]:
        from scipy import integrate  # noqa: PLC0415

        found, error, info = integrate.quad_vec(
            f, low, high, epsabs, epsrel, limit=limit, points=points, full_output=True, norm="max"
        )
        if not info.success:
            warnings.warn(
                f"{who}: the integral did not converge ({info.message}), its error is about "
                f"{error:.1e}.",
                RuntimeWarning,
                stacklevel=2,
            )
        return found, error

    return run


class _Integrand:
    """A function of x and explicit parameters that also uses the `closed` Variables and Tensors."""

    def __init__(
        self, who: str, function: Any, closed: Sequence[Any], size: int, run: Run, derived: Run
    ) -> None:
        self.who, self.function, self.closed, self.size = who, function, list(closed), size
        self.run, self.run_derived = run, derived

    def value(self, x: Tensor, params: Sequence[Tensor]) -> Tensor:
        return joined([as_tensor(self.function(x, list(params)))])

    def derived(self, function: Any, size: int) -> _Integrand:
        return _Integrand(self.who, function, self.closed, size, self.run_derived, self.run_derived)

    def followed(self) -> list[Tensor]:
        return [c if isinstance(c, Tensor) else c.tensor() for c in self.closed]


def _integral(
    who: str, f: Any, a: Any, b: Any, args: Any, run: Run, derived: Run, *, one: bool
) -> tuple[Tensor, Any]:
    if not callable(f):
        raise TypeError(f"{who}: the integrand must be a function, got {f!r}.")
    low, high = number(who, a, "a"), number(who, b, "b")
    params, with_args = split_args(args if isinstance(args, tuple) else (args,))
    shapes: list[Any] = []

    def right(x: Tensor, _: Tensor, given: list[Tensor]) -> Tensor:
        value = as_tensor(with_args(f, [x], given), argument=f"{who}: a value of the integrand")
        if value.array.dtype.kind == "c":
            raise TypeError(f"{who}: the integrand is complex: integrate its parts one by one.")
        if one and value.array.size != 1:
            raise ValueError(
                f"{who}: the integrand must return one number, got shape {value.shape}: use "
                "quad_vec."
            )
        shapes.append(tuple(value.array.shape))
        return value

    unused = Tensor(np.zeros(0))
    inside = _inside(low, high)
    system, params = system_of(who, right, inside, unused, params, Options("", 0, 0, {}))
    shape = () if one else shapes[0]
    integrand = _Integrand(
        who,
        lambda x, given: system.raw(x, unused, given),
        system.closed,
        int(np.prod(shape, dtype=np.int64)),
        run,
        derived,
    )
    value, error = call(
        _Integral(integrand, len(params)), [low, high, *params, *integrand.followed()]
    )
    known = here.state.trace is None and not hasattr(error, "level")
    return reshape(value, shape=shape), float(error) if known else error.with_node(None)


def _inside(low: Tensor, high: Tensor) -> float:
    """A point between the limits, where the function is tried."""
    if here.state.trace is not None or hasattr(low, "level") or hasattr(high, "level"):
        return 0.5
    a, b = (np.clip(float(t), -1e6, 1e6) for t in (low, high))
    return float(0.6 * a + 0.4 * b)


class _Integral(OnHost):
    """An integral, and its error, as an op of limits, parameters and what is closed over."""

    def __init__(self, integrand: _Integrand, count: int) -> None:
        self.name = integrand.who
        self.integrand, self.count = integrand, count

    def compute(self, inputs: Sequence[Tensor]) -> list[Any]:
        if here.state.trace is None:
            return super().compute(inputs)
        specs = [((self.integrand.size,), DOUBLE), ((), DOUBLE)]
        run = lambda *arrays: self.on_arrays(list(arrays))
        return call_for_results(run, specs, [t.array for t in inputs])

    def on_arrays(self, arrays: list[Any]) -> list[Any]:
        low, high, *rest = arrays
        params = [Tensor(np.array(p)) for p in rest[: self.count]]

        def on_host(x: Any) -> Any:
            with here.state.only([]):
                return self.integrand.value(Tensor(np.float64(x)), params).numpy()

        if not self.integrand.size:
            return [np.zeros(0), np.float64(0)]
        found, error = self.integrand.run(on_host, float(low), float(high))
        return [np.asarray(found, DOUBLE), np.float64(error)]

    def pull(
        self,
        inputs: Sequence[Tensor],
        recorded: Recorded,
        g: Mapping[int, Tensor],
        wanted: Sequence[int],
    ) -> Sequence[Tensor | None]:
        if 0 not in g:
            return [None] * len(wanted)
        low, high, *rest = inputs
        integrand, count = self.integrand, self.count
        params = list(rest[:count])
        sources = [*params, *integrand.closed]
        floats = [i for i, s in enumerate(sources) if is_float(s)]
        sizes = [int(np.prod(sources[i].shape)) for i in floats]

        def pulled(x: Tensor, given: list[Tensor]) -> Tensor:
            own = [identity(p) for p in given[:count]]
            at = [*own, *integrand.closed]
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([at[i] for i in floats])
                value = integrand.value(x, own)
            found = tape.gradient(
                value,
                [at[i] for i in floats],
                output_gradients=given[count],
                unconnected_gradients=ZERO,
            )
            return joined(found)

        by_source: dict[int, Any] = {}
        if any(i - 2 in floats for i in wanted):
            derived = _Integral(integrand.derived(pulled, sum(sizes)), count + 1)
            total, _ = call(derived, [low, high, *params, g[0], *rest[count:]])
            place = 0
            for i, size in zip(floats, sizes, strict=True):
                part = reshape(total[place : place + size], shape=tuple(sources[i].shape))
                kind = sources[i].dtype.numpy
                by_source[i] = part if kind == DOUBLE else needed.cast(part, dtype=kind)
                place += size
        ends = {
            0: lambda: -dot(g[0], self._at_limit(low, params)),
            1: lambda: dot(g[0], self._at_limit(high, params)),
        }
        return [ends[i]() if i < 2 else by_source.get(i - 2) for i in wanted]

    def _at_limit(self, limit: Tensor, params: Sequence[Tensor]) -> Tensor:
        """What the integral gains when a limit moves: nothing at infinity."""
        finite = is_finite(limit)
        return where(finite, self.integrand.value(where(finite, limit, 0.0), params), 0.0)

    def push(
        self, inputs: Sequence[Tensor], tangents: Mapping[int, Tensor], outputs: Sequence[Any]
    ) -> Mapping[int, Tensor | None]:
        low, high, *rest = inputs
        integrand, count = self.integrand, self.count
        params = list(rest[:count])
        total: Any = None
        for i, limit, sign in ((0, low, -1), (1, high, 1)):
            if i in tangents:
                term = self._at_limit(limit, params) * tangents[i] * sign
                total = term if total is None else total + term
        places = [i - 2 for i in sorted(tangents) if i > 1]
        if places:

            def pushed(x: Tensor, given: list[Tensor]) -> Tensor:
                own = [identity(p) for p in given[:count]]
                at = [*own, *integrand.closed]
                with ForwardAccumulator([at[i] for i in places], given[count:]) as accumulator:
                    value = integrand.value(x, own)
                return accumulator.jvp(value, unconnected_gradients=ZERO)

            moved = [tangents[i + 2] for i in places]
            derived = _Integral(integrand.derived(pushed, integrand.size), count + len(places))
            term, _ = call(derived, [low, high, *params, *moved, *rest[count:]])
            total = term if total is None else total + term
        return {0: total}

    def call_on_batch(
        self, size: int, mapped: Sequence[bool], inputs: Sequence[Tensor]
    ) -> list[Tensor]:
        if not size:
            return [Tensor(np.zeros((0, self.integrand.size))), Tensor(np.zeros(0))]
        rows = []
        for i in range(size):
            one = [
                needed.getitem(t, key=(i,)) if m else t for t, m in zip(inputs, mapped, strict=True)
            ]
            rows.append(call(self, one))
        return [stack(*column, axis=0) for column in zip(*rows, strict=True)]
