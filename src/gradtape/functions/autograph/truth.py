"""Truth values: `and`, `or`, `not` and `assert`, and what is known about a flag inside a branch
that depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.batching import BatchedTensor
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.xla.host_calls import call_in_order_unless
from gradtape.core.xla.tensor import XlaTensor, is_traced
from gradtape.errors import invalid_argument
from gradtape.functions.autograph.values import location
from gradtape.ops.arithmetic import logical_and, logical_not, logical_or, not_equal
from gradtape.ops.selection import where
from gradtape.ops.shaping import reshape


class Negation(XlaTensor):
    """`not flag`, which remembers the flag."""

    __slots__ = ("flag",)
    flag: Tensor


def truth(value: Any, what: str) -> Tensor:
    """The truth value of a tensor, as Python would find it: a boolean scalar."""
    found = as_tensor(source_object(value))
    shape = tuple(found.array.shape)
    if np.prod(shape, dtype=int) != 1:
        raise ValueError(
            f"{location()}: the truth value of a tensor of shape {shape} is ambiguous in {what}: "
            "use gradtape.reduce_all or "
            "gradtape.reduce_any."
        )
    if shape:
        found = reshape(found, shape=())
    return found if found.array.dtype == np.bool_ else not_equal(found, 0)


def not_(value: Any) -> Any:
    if not is_traced(value):
        return not value
    flag = truth(value, "`not`")
    found = logical_not(flag)
    if type(found) is not XlaTensor:
        return found
    negation = Negation(found.array, found.node)
    negation.flag = flag
    return negation


def and_(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    value = first()
    if not is_traced(value):
        return value and second()
    return _combined(value, second(), "`and`", logical_and, second_if=True)


def or_(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    value = first()
    if not is_traced(value):
        return value or second()
    return _combined(value, second(), "`or`", logical_or, second_if=False)


def _combined(
    first: Any, second: Any, what: str, logical: Callable[..., Any], *, second_if: bool
) -> Any:
    """Of two tensors of the same dtype that are not boolean, one of them, as in Python; else the
    combined truth value.
    """
    holds, other = truth(first, what), as_tensor(source_object(second))
    tensor = as_tensor(source_object(first))
    if (
        other.array.dtype == np.bool_
        or other.array.dtype != tensor.array.dtype
        or other.array.shape != tensor.array.shape
    ):
        return logical(holds, truth(other, what))
    return where(holds, other, tensor) if second_if else where(holds, tensor, other)


def known_if(condition: Any, holds: bool, values: Sequence[Any]) -> list[Any]:
    """The values of variables in a branch: if the condition is a flag or its negation, the flag is
    known there.
    """
    flag, known = (
        (condition.flag, not holds) if isinstance(condition, Negation) else (condition, holds)
    )
    if not isinstance(flag, Tensor) or flag.array.dtype != np.bool_:
        return list(values)
    return [known if value is flag else value for value in values]


def assert_stmt(condition: Any, message: Callable[[], Any]) -> None:
    """An `assert` statement; a condition that is a traced tensor is checked when the program
    runs.
    """
    if is_traced(condition):
        _check_when_run(
            truth(condition, "an `assert`"), f"{location()}: the assertion failed", message()
        )
    elif not condition:
        text = message()
        raise AssertionError if text is None else AssertionError(text)


def _check_when_run(condition: Tensor, *words: Any) -> None:
    text = ": ".join(str(word) for word in words if word is not None)

    def refuse() -> None:
        raise invalid_argument(text)

    while isinstance(condition, BatchedTensor):
        condition = condition.inner
    call_in_order_unless(condition.array, refuse, [])
