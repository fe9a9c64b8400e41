"""`System`: the right-hand side of a differential equation, with all that its solution depends
on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.batching import BatchedTensor
from gradtape.core.forward import ForwardAccumulator
from gradtape.core.needed_ops import needed
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients
from gradtape.core.variable import Variable
from gradtape.ops.broadcasting import identity
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.shaping import concat, reshape
from gradtape.scipy.closures import closed_over

ZERO = UnconnectedGradients.ZERO
DOUBLE = np.dtype(np.float64)
RightSide = Callable[[Tensor, Tensor, list[Tensor]], Any]
"""dy/dt from t, y and parameters."""


STIFF = ("Radau", "BDF", "LSODA")
"""Methods that use the Jacobian of the right side."""


ONE_BY_ONE = 6


class Options(NamedTuple):
    """What is passed to `scipy.integrate.solve_ivp`."""

    method: Any
    rtol: Any
    atol: Any
    others: Mapping[str, Any]

    def given(self) -> dict[str, Any]:
        return {"method": self.method, "rtol": self.rtol, "atol": self.atol, **self.others}

    def for_derivatives(self) -> Options:
        """The same for a system with other unknowns."""
        kept = {k: v for k, v in self.others.items() if k in ("max_step", "first_step")}
        return Options(self.method, self.rtol, float(np.min(self.atol)), kept)

    @property
    def wants_jacobian(self) -> bool:
        name = self.method if isinstance(self.method, str) else self.method.__name__
        return name in STIFF and "jac" not in self.others


class System:
    """A right-hand side of t, y and explicit parameters that also uses the `closed` Variables and
    Tensors.
    """

    def __init__(self, who: str, right: RightSide, closed: Sequence[Any], options: Options) -> None:
        self.who, self.closed, self.options = who, list(closed), options
        self._right = right

    def derived(self, right: RightSide) -> System:
        """Another system that uses this one."""
        return System(self.who, right, self.closed, self.options.for_derivatives())

    def raw(self, t: Tensor, y: Tensor, params: list[Tensor]) -> Any:
        """What the user's function returns."""
        return self._right(t, y, params)

    def right(self, t: Tensor, y: Tensor, params: list[Tensor]) -> Tensor:
        found = as_tensor(self._right(t, y, params), argument=f"{self.who}: a result of fun")
        if found.array.dtype.kind == "c":
            raise TypeError(
                f"{self.who}: fun returned complex numbers: write the real and imaginary parts as "
                "two real unknowns."
            )
        if found.array.size != y.array.size:
            raise ValueError(
                f"{self.who}: fun must return as many numbers as y has, {y.array.size}, got shape "
                f"{found.shape}."
            )
        if found.array.ndim != 1:
            found = reshape(found, shape=(y.array.size,))
        return found if found.array.dtype == DOUBLE else needed.cast(found, dtype=DOUBLE)

    def size_with(self, params: Sequence[Tensor]) -> int:
        """How many numbers its solution depends on, besides the start."""
        return sum(int(np.prod(s.shape)) for s in (*params, *self.closed) if is_float(s))

    def followed(self) -> list[Tensor]:
        """What it closes over, as inputs of an op."""
        return [c.tensor() if isinstance(c, Variable) else c for c in self.closed]

    def pulled(
        self, t: Tensor, y: Tensor, params: Sequence[Tensor], g: Tensor
    ) -> tuple[Tensor, list[Any]]:
        """The right side, and its cotangents for t, y, the parameters and what is closed over."""
        given = [identity(t), identity(y), *(identity(p) for p in params)]
        floats = [s for s in (*given, *self.closed) if is_float(s)]
        with GradientTape() as tape:
            tape.watch(floats)
            value = self.right(given[0], given[1], given[2:])
        self._check_known(tape)
        found = iter(tape.gradient(value, floats, output_gradients=g, unconnected_gradients=ZERO))
        return value, [next(found) if is_float(s) else None for s in (*given, *self.closed)]

    def _check_known(self, tape: GradientTape) -> None:
        """Refuses a Variable that the call at the start did not use."""
        for variable in tape.watched_variables():
            if all(variable is not known for known in self.closed):
                raise RuntimeError(
                    f"{self.who}: fun uses the variable '{variable.name}' at some times, but not "
                    "at the start, where it is looked for what it closes over: pass the variable "
                    "in args."
                )

    def pushed(
        self, t: Tensor, y: Tensor, params: Sequence[Tensor], moved: Sequence[Any]
    ) -> tuple[Tensor, Tensor]:
        """The right side, and its tangent from those of t, y, the parameters and what is closed
        over, None for those that do not move.
        """
        given = [identity(t), identity(y), *(identity(p) for p in params)]
        pairs = [
            (s, m) for s, m in zip((*given, *self.closed), moved, strict=True) if m is not None
        ]
        with ForwardAccumulator([s for s, _ in pairs], [m for _, m in pairs]) as accumulator:
            value = self.right(given[0], given[1], given[2:])
        return value, accumulator.jvp(value, unconnected_gradients=ZERO)

    def jacobians(self, t: Tensor, y: Tensor, params: Sequence[Tensor]) -> tuple[Any, list[Any]]:
        """The right side, and the Jacobians by t, y, the parameters and what is closed over, with
        a column for each element.
        """
        given = [identity(t), identity(y), *(identity(p) for p in params)]
        floats = [s for s in (*given, *self.closed) if is_float(s)]
        with GradientTape(persistent=True) as tape:
            tape.watch(floats)
            value = self.right(given[0], given[1], given[2:])
        self._check_known(tape)
        size = value.array.size
        if size <= ONE_BY_ONE:  # a walk for each row takes less time than a batch of them
            rows = [
                tape.gradient(value, floats, output_gradients=row, unconnected_gradients=ZERO)
                for row in np.eye(size)
            ]
            parts = [
                np.stack([np.asarray(r, DOUBLE).reshape(-1) for r in column])
                for column in zip(*rows, strict=True)
            ]
        else:
            whole = tape.jacobian(value, floats, unconnected_gradients=ZERO)
            parts = [np.asarray(part, DOUBLE).reshape(size, -1) for part in whole]
        found = iter(parts)
        return value.numpy(), [next(found) if is_float(s) else None for s in (*given, *self.closed)]

    # As SciPy calls it

    def on_host(self, params: Sequence[Tensor]) -> Callable[[Any, Any], Any]:
        params = list(params)

        def right(t: Any, y: Any) -> Any:
            with here.state.only([]):
                return self.right(Tensor(np.float64(t)), Tensor(np.array(y)), params).numpy()

        return right

    def jacobian_on_host(self, params: Sequence[Tensor]) -> Callable[[Any, Any], Any]:
        params = list(params)

        def jacobian(t: Any, y: Any) -> Any:
            with here.state.only([]):
                at = Tensor(np.array(y))
                with GradientTape(persistent=True, watch_accessed_variables=False) as tape:
                    tape.watch(at)
                    value = self.right(Tensor(np.float64(t)), at, params)
                return tape.jacobian(value, at, unconnected_gradients=ZERO).numpy()

        return jacobian


def is_float(source: Any) -> bool:
    return source.dtype.is_floating


def joined(parts: Sequence[Any]) -> Tensor:
    """Tensors as one vector in double precision."""
    flat = []
    for part in parts:
        wide = part if part.array.dtype == DOUBLE else needed.cast(part, dtype=DOUBLE)
        flat.append(wide if wide.array.ndim == 1 else reshape(wide, shape=(-1,)))
    return concat(*flat, axis=0) if len(flat) > 1 else flat[0]


def dot(x: Tensor, y: Tensor) -> Tensor:
    return reduce_sum(x * y)


def system_of(
    who: str, right: RightSide, t0: Any, y0: Tensor, params: Sequence[Tensor], options: Options
) -> tuple[System, list[Tensor]]:
    """A system with what its right side closes over, found by a call or, in a program, by tracing;
    and its parameters, which then have that among them.
    """
    trace = here.state.trace
    start = Tensor(np.zeros(())) if trace is not None else Tensor(np.float64(t0))
    if trace is None:
        plain = [value_of(p) for p in (y0, *params)]
        closed, result = closed_over(lambda: right(start, plain[0], plain[1:]))
        if isinstance(as_tensor(result), BatchedTensor):
            raise NotImplementedError(
                f"{who}: under vmap, fun uses an example of the batch that it closes over: pass it "
                "in args."
            )
        return System(who, right, [c for c in closed if is_float(c)], options), list(params)
    specs = [((), DOUBLE), *((tuple(x.array.shape), x.array.dtype) for x in (y0, *params))]
    body = lambda tensors: [as_tensor(right(tensors[0], tensors[1], list(tensors[2:])))]
    program = trace.program(who, body, specs)
    program.trace()
    if program.written:
        names = ", ".join(variable.name for variable in program.written)
        raise ValueError(
            f"{who}: fun assigns {names}: inside a gradtape.function, it must not assign Variables."
        )
    captured = trace.values_of(program.taken)
    again = lambda t, y, params: program.again([t, y, *params])[0][0]
    return System(who, again, [], options), [*params, *captured]


def value_of(tensor: Tensor) -> Tensor:
    """One example of a batched Tensor, or the Tensor without what follows it."""
    while isinstance(tensor, BatchedTensor):
        inner = tensor.inner
        empty = not inner.array.shape[0]
        tensor = Tensor(np.zeros(tensor.array.shape, tensor.array.dtype)) if empty else inner[0]
    return tensor.with_node(None)
