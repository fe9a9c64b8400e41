"""`direct`: what kernels call most often, as XLA's own operations on tracers.

The functions of `jax.numpy` are compiled functions, and tracing a call of one takes some 0.2 ms. Of
two arrays of one dtype they make a single operation of XLA's: here it is called without the
function. What is not so plain, and arrays that have values, are for `jax.numpy`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from gradtape.engines.xla.loading import load

Function = Callable[..., Any]

_ONE = {
    "negative": ("neg", "fci"), "tanh": ("tanh", "fc"), "exp": ("exp", "fc"), "log": ("log", "fc"),
    "sqrt": ("sqrt", "fc"), "sin": ("sin", "fc"), "cos": ("cos", "fc"),
}  # fmt: skip
"""For functions of one array: XLA's name, and the kinds of dtypes for which it is the same."""

_TWO = {
    "add": ("add", "fciu"), "subtract": ("sub", "fciu"), "multiply": ("mul", "fciu"),
    "divide": ("div", "fc"), "true_divide": ("div", "fc"),
    "maximum": ("max", "fiub"), "minimum": ("min", "fiub"),
    "equal": ("eq", "fciub"), "not_equal": ("ne", "fciub"),
    "less": ("lt", "fiu"), "less_equal": ("le", "fiu"),
    "greater": ("gt", "fiu"), "greater_equal": ("ge", "fiu"),
}  # fmt: skip
"""The same for functions of two arrays."""


OPERATORS: dict[Any, str] = {
    operator.add: "add", operator.sub: "subtract", operator.mul: "multiply",
    operator.truediv: "divide", operator.neg: "negative",
    operator.eq: "equal", operator.ne: "not_equal",
    operator.lt: "less", operator.le: "less_equal",
    operator.gt: "greater", operator.ge: "greater_equal",
}  # fmt: skip
"""The names of the functions that Python's operators are on arrays."""


def direct(name: str, general: Function) -> Function:
    """The function of `jax.numpy` with this name, with its short way for tracers if there is one.

    `general` is that function.
    """
    if name in _ONE:
        return _One(general, *_ONE[name])
    if name in _TWO:
        return _Two(general, *_TWO[name])
    return _OTHERS[name](general) if name in _OTHERS else general


class _Direct:
    """A function of `jax.numpy` with a short way; its methods are that function's."""

    def __init__(self, general: Function, name: str, kinds: str) -> None:
        jax = load()
        self._general, self._kinds = general, kinds
        self._lax, self._tracer = jax.lax, jax.core.Tracer
        self._short = getattr(jax.lax, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._general, name)

    def _spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x if x.shape == shape else self._lax.broadcast_in_dim(x, shape, ())


class _One(_Direct):
    def __call__(self, x: Any, /, **more: Any) -> Any:
        if isinstance(x, self._tracer) and x.dtype.kind in self._kinds and not more:
            return self._short(x)
        return self._general(x, **more)


class _Two(_Direct):
    def __call__(self, x: Any, y: Any, /, **more: Any) -> Any:
        if (isinstance(x, self._tracer) or isinstance(y, self._tracer)) and not more:
            shape = _one_shape(x, y)
            if shape is not None and x.dtype.kind in self._kinds:
                return self._short(self._spread(x, shape), self._spread(y, shape))
        return self._general(x, y, **more)


class _Where(_Direct):
    def __init__(self, general: Function) -> None:
        super().__init__(general, "select", "b")

    def __call__(self, condition: Any, /, *values: Any, **more: Any) -> Any:
        if isinstance(condition, self._tracer) and len(values) == 2 and not more:
            shape = _one_shape(*values)
            if shape == condition.shape and condition.dtype.kind in self._kinds:
                x, y = (self._spread(value, shape) for value in values)
                return self._short(condition, x, y)
        return self._general(condition, *values, **more)


class _Matmul(_Direct):
    def __init__(self, general: Function) -> None:
        super().__init__(general, "dot_general", "fc")

    def __call__(self, x: Any, y: Any, /, **more: Any) -> Any:
        if (isinstance(x, self._tracer) or isinstance(y, self._tracer)) and not more:
            dtype = getattr(x, "dtype", None)
            if (
                dtype is not None
                and dtype == getattr(y, "dtype", None)
                and dtype.kind in self._kinds
                and x.ndim == y.ndim == 2
                and x.shape[1] == y.shape[0]
            ):
                return self._short(x, y, (((1,), (0,)), ((), ())), preferred_element_type=dtype)
        return self._general(x, y, **more)


class _Swapaxes(_Direct):
    def __init__(self, general: Function) -> None:
        super().__init__(general, "transpose", "")

    def __call__(self, x: Any, first: int, second: int) -> Any:
        if not isinstance(x, self._tracer):
            return self._general(x, first, second)
        order = list(range(x.ndim))
        order[first], order[second] = order[second], order[first]
        return self._short(x, order)


_OTHERS: dict[str, Callable[[Function], Function]] = {
    "where": _Where,
    "matmul": _Matmul,
    "swapaxes": _Swapaxes,
}


def _one_shape(x: Any, y: Any) -> Any:
    """The shape of what two arrays of one dtype make, if one of them has it and the other one has
    it too or is a scalar; None for others.
    """
    try:
        if x.dtype != y.dtype:
            return None
        if y.shape in (x.shape, ()):
            return x.shape
        return y.shape if x.shape == () else None
    except AttributeError:  # a number of Python's
        return None
