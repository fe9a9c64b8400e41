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
from gradtape.engines.xla.tracers import is_traced

Function = Callable[..., Any]

_ONE = {
    "negative": ("neg", "fci"), "tanh": ("tanh", "fc"), "exp": ("exp", "fc"), "log": ("log", "fc"),
    "sqrt": ("sqrt", "fc"), "sin": ("sin", "fc"), "cos": ("cos", "fc"),
    "square": ("square", "fciu"),
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
    if name in _OTHERS:
        return _OTHERS[name](general)
    if name in _ONE:
        return _One(general, *_ONE[name])
    return _Two(general, *_TWO[name]) if name in _TWO else general


class Direct:
    """A function of `jax.numpy` with a short way; its methods are that function's.

    Beside a tracer it also takes NumPy's numbers, which become part of the program's text.
    """

    def __init__(self, general: Function, name: str, kinds: str) -> None:
        jax = load()
        self._general, self._kinds = general, kinds
        self._lax = jax.lax
        self._short = getattr(jax.lax, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._general, name)

    def _with_axes(self, x: Any, rank: int) -> Any:
        """An array with axes of one element in front."""
        more = rank - x.ndim
        if not more:
            return x
        shape = (1,) * more + x.shape
        return self._lax.broadcast_in_dim(x, shape, tuple(range(more, rank)))


class _One(Direct):
    def __call__(self, x: Any, /, **more: Any) -> Any:
        if is_traced(x) and x.dtype.kind in self._kinds and not more:
            return self._short(x)
        return self._general(x, **more)


class _Two(Direct):
    def __call__(self, x: Any, y: Any, /, **more: Any) -> Any:
        if is_traced(x):
            if type(y) in _NUMBERS:
                y = _beside(x, y)
        elif not is_traced(y):
            return self._general(x, y, **more)
        elif type(x) in _NUMBERS:
            x = _beside(y, x)
        if not more and _are_alike(x, y) and x.dtype.kind in self._kinds:
            first, second = x.shape, y.shape
            if first == second or not first or not second:
                return self._short(x, y)  # it spreads a number by itself
            if _fit(first, second):
                rank = max(len(first), len(second))
                return self._short(self._with_axes(x, rank), self._with_axes(y, rank))
        return self._general(x, y, **more)


class _Add(_Two):
    def __init__(self, general: Function) -> None:
        super().__init__(general, *_TWO["add"])
        self._sum = getattr(self._lax, "reduce_sum", None)

    def reduce(self, x: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """The sum over all axes, or over those of a tuple; the general function adds up half
        precision in wider numbers.
        """
        if (
            not is_traced(x)
            or self._sum is None
            or x.dtype != dtype
            or x.dtype.kind not in "fc"
            or x.dtype.itemsize < _WIDE
            or not (axis is None or (axis and min(axis) >= 0))
        ):
            return self._general.reduce(  # type: ignore[attr-defined]
                x, axis=axis, dtype=dtype, keepdims=keepdims
            )
        axes = tuple(range(x.ndim)) if axis is None else axis
        total = self._sum(x, axes)
        return self._lax.expand_dims(total, axes) if keepdims else total


class _Where(Direct):
    def __init__(self, general: Function) -> None:
        super().__init__(general, "select_n", "b")

    def __call__(self, condition: Any, /, *values: Any, **more: Any) -> Any:
        if is_traced(condition) and len(values) == 2 and not more:
            shape = _one_shape(*values)
            if shape == condition.shape and condition.dtype.kind in self._kinds:
                x, y = (self._spread(value, shape) for value in values)
                return self._short(condition, y, x)
        return self._general(condition, *values, **more)

    def _spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x if x.shape == shape else self._lax.broadcast_in_dim(x, shape, ())


class _Matmul(Direct):
    def __init__(self, general: Function) -> None:
        super().__init__(general, "dot_general", "fc")

    def __call__(self, x: Any, y: Any, /, **more: Any) -> Any:
        if (is_traced(x) or is_traced(y)) and not more:
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


class _Swapaxes(Direct):
    def __init__(self, general: Function) -> None:
        super().__init__(general, "transpose_p", "")

    def __call__(self, x: Any, first: int, second: int) -> Any:
        if not is_traced(x) or first == second:
            return self._general(x, first, second)
        order = list(range(x.ndim))
        order[first], order[second] = order[second], order[first]
        return self._short.bind(x, permutation=tuple(order))


_OTHERS: dict[str, Callable[[Function], Function]] = {
    "add": _Add,
    "where": _Where,
    "matmul": _Matmul,
    "swapaxes": _Swapaxes,
}


_NUMBERS = (int, float)
_LITTLE = 100.0
_WIDE = 4  # bytes


def _beside(x: Any, number: float) -> Any:
    """A number of Python's as one of NumPy's, of the dtype of the tracer beside it, where that is
    what `jax.numpy` makes of it.
    """
    kind, dtype = x.dtype.kind, x.dtype
    taken = kind == "f" or (kind in "iu" and type(number) is int and number >= 0)
    if taken and -_LITTLE <= number <= _LITTLE and not getattr(x, "weak_type", False):
        return dtype.type(number)
    return number


def _are_alike(x: Any, y: Any) -> bool:
    """Whether these are arrays of one dtype."""
    try:
        return bool(x.dtype == y.dtype)
    except AttributeError:  # a number of Python's
        return False


def _fit(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether arrays of two shapes can be broadcast together."""
    return all(
        m == n or 1 in (m, n) for m, n in zip(reversed(first), reversed(second), strict=False)
    )


def _one_shape(x: Any, y: Any) -> Any:
    """The shape of what two arrays of one dtype make, if one of them has it and the other one has
    it too or is a scalar; None for others.
    """
    if not _are_alike(x, y):
        return None
    if y.shape in (x.shape, ()):
        return x.shape
    return y.shape if x.shape == () else None
