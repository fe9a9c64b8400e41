"""`ufunc`: adds the keywords of NumPy's ufuncs to an elementwise function that is written for the
arrays alone.

The bare function is what NumPy's protocol calls when there are no keywords, so it handles float32
and float64 Tensors, and Python numbers beside them, without conversion.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar, overload

import numpy as np

from gradtape.api.numpy.operands import (
    FLOAT32,
    FLOAT64,
    converted,
    dtype_of,
    into,
    promoted,
    refusal,
    tensor_of,
    tensors_of,
)
from gradtape.convert import common_dtype
from gradtape.core.tensor import Tensor
from gradtape.ops.ufuncs import elementwise_value

_FLOAT_OF = {
    np.dtype(kind + size): np.dtype(found)
    for size, found in (("1", "f2"), ("2", "f4"), ("4", "f4"), ("8", "f8"))
    for kind in "iu"
}
_FLOAT_OF[np.dtype(bool)] = np.dtype(np.float16)


R_co = TypeVar("R_co", covariant=True)


class Unary(Protocol[R_co]):
    """A public function of one array, for type checkers."""

    __name__: str

    def __call__(
        self,
        x: Any,
        /,
        out: Any = None,
        *,
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
        order: str = "K",
        subok: bool = True,
    ) -> R_co: ...


class Binary(Protocol[R_co]):
    """A public function of two arrays, for type checkers."""

    __name__: str

    def __call__(
        self,
        x1: Any,
        x2: Any,
        /,
        out: Any = None,
        *,
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
        order: str = "K",
        subok: bool = True,
    ) -> R_co: ...


@overload
def ufunc(bare: Callable[[Any], R_co]) -> Unary[R_co]: ...
@overload
def ufunc(bare: Callable[[Any, Any], R_co]) -> Binary[R_co]: ...
def ufunc(bare: Callable[..., Any]) -> Any:
    """The public function of a bare one: with `out`, `where`,
    `dtype` and the other keywords of a ufunc.
    """
    count = bare.__code__.co_argcount

    @wraps(bare)
    def call(*args: Any, **keywords: Any) -> Any:
        if keywords or len(args) != count:
            return with_keywords(bare, count, args, keywords)
        return bare(*args)

    call.bare = bare  # type: ignore[attr-defined]
    bare.call = call  # type: ignore[attr-defined]
    return call


def with_keywords(bare: Any, count: int, args: Any, keywords: dict[str, Any]) -> Any:
    """A bare function of `count` arrays, called with the keywords of a ufunc."""
    name = bare.__name__
    unknown = keywords.keys() - {"out", "where", "dtype", "casting", "order", "subok"}
    if unknown or not count <= len(args) <= count + 1 or (len(args) > count and "out" in keywords):
        given = f"keywords {sorted(unknown)}" if unknown else f"{len(args)} arguments"
        raise TypeError(
            f"{name} takes {count} arguments and the keywords out and dtype, but was given {given}."
        )
    out = args[count] if len(args) > count else keywords.get("out")
    if keywords.get("where", True) is not True:
        raise refusal(name, "where", f"write np.where(condition, {name}(...), otherwise)")
    inputs = args[:count]
    if keywords.get("dtype") is not None:
        tensors = tensors_of(inputs, name, "argument")
        wanted = dtype_of(keywords["dtype"], common_dtype([x.array.dtype for x in tensors]))
        inputs = [_cast_to(x, wanted, keywords.get("casting", "same_kind"), name) for x in tensors]
    result = bare(*inputs)
    if isinstance(result, tuple):
        return tuple(
            into(o, r, name) for o, r in zip(out or (None,) * len(result), result, strict=True)
        )
    return into(out, result, name)


def _cast_to(x: Tensor, dtype: Any, casting: Any, function: str) -> Tensor:
    if not np.can_cast(x.array.dtype, dtype, casting):
        raise TypeError(
            f"{function}: an argument of dtype {x.dtype.name} cannot be cast to {dtype.name} "
            f"under casting={casting!r}."
        )
    return converted(x, dtype)


# How the bare functions take their arguments


def floating(x: Any, function: str) -> Tensor:
    """The argument of a function of floating-point numbers;
    integers and truth values in the dtype that NumPy gives them.
    """
    if type(x) is Tensor and ((dtype := x.array.dtype) is FLOAT32 or dtype is FLOAT64):
        return x
    x = tensor_of(x, function)
    return converted(x, _FLOAT_OF.get(x.array.dtype))


def pair(x1: Any, x2: Any, function: str) -> tuple[Any, Any]:
    """Two arguments as an op takes them: Tensors, and Python numbers beside them as they are."""
    if type(x1) is Tensor:
        if type(x2) is Tensor or type(x2) is float or type(x2) is int:
            return x1, x2
    elif type(x2) is Tensor and (type(x1) is float or type(x1) is int):
        return x1, x2
    first, second = tensors_of([x1, x2], function, ("x1", "x2"))
    return first, second


def floating_pair(x1: Any, x2: Any, function: str) -> list[Tensor]:
    """Two arguments of a function of floating-point numbers, in one dtype."""
    both = promoted(tensors_of([x1, x2], function, ("x1", "x2")))
    return [converted(x, _FLOAT_OF.get(x.array.dtype)) for x in both]


def is_of_kind(x: Any, kinds: str) -> bool:
    """Whether an argument is a Tensor whose dtype is of one of these NumPy kinds."""
    return isinstance(x, Tensor) and x.array.dtype.kind in kinds


def by_value(function: str, *args: Any, **options: Any) -> Tensor:
    """NumPy's own function of the values, which has no derivative; its dtype is NumPy's for the
    dtype in which they meet.
    """
    return elementwise_value(*args, function=function, **options)
