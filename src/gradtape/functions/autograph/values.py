"""The values of the user's variables: which of them XLA can hold, and with what shapes and
dtypes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.convert import as_tensor, is_tensor_like
from gradtape.core.location import caller, locate
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.functions.structured import Spec, spec_of
from gradtape.ops.broadcasting import cast

# malt's own variables: whether a function has returned, and what, or a loop was left.
_FLAG = re.compile(r"(do_return|break_|continue_)(_\d+)?")
_RESULT = re.compile(r"retval_(_\d+)?")


class Undefined:
    """The value of a variable that has none yet."""

    def __init__(self, name: str) -> None:
        self.name = name


class UndefinedReturnValue:
    """The result of a function that has not returned yet."""


def ld(value: Any) -> Any:
    """A variable that the user's code reads."""
    if isinstance(value, Undefined):
        raise UnboundLocalError(
            f"cannot access variable '{value.name}' where it is not associated with a value"
        )
    return value


def ldu(read: Callable[[], Any], name: str) -> Any:
    """An attribute or an element that may not exist."""
    try:
        return read()
    except (AttributeError, IndexError, KeyError, NameError):
        return Undefined(name)


def location() -> str:
    """The place in the user's code from where an operator was called."""
    found = locate(*caller())
    return f"{found.file}:{found.line}"


def is_flag(name: str) -> bool:
    """Whether a variable is malt's own, which tells that return, break or continue was reached."""
    return _FLAG.fullmatch(name) is not None


def in_words(name: str) -> str:
    """A variable's description for an error message, with the line of the user's code."""
    return f"{location()}: {'the return value' if _RESULT.fullmatch(name) else repr(name)}"


def is_undefined(value: Any) -> bool:
    return isinstance(value, (Undefined, UndefinedReturnValue))


def is_number(value: Any) -> bool:
    """Whether a value is a Python number, which takes the dtype of the tensors beside it."""
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def is_text(value: Any) -> bool:
    """Whether a value is a string or a tensor of strings."""
    return isinstance(value, (str, bytes)) or (
        isinstance(value, Tensor) and value.array.dtype == object
    )


def is_like_a_tensor(value: Any) -> bool:
    """Whether XLA can hold a value."""
    if is_undefined(value):
        return False
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biufcV"
    return is_number(value) or nest.is_composite(value) or is_tensor_like(source_object(value))


def parts_of(leaf: Any) -> list[Any]:
    """The parts of a leaf: the tensors of a TensorArray, else itself."""
    found: list[Any] = leaf.__gradtape_flatten__() if nest.is_composite(leaf) else [leaf]
    return found


def made_of(leaf: Any, tensors: Iterator[Tensor]) -> Any:
    """A leaf like another, made from the next tensors."""
    return leaf.__gradtape_unflatten__(tensors) if nest.is_composite(leaf) else next(tensors)


def shaped_like(leaf: Any, other: Any) -> Any:
    """A leaf; a TensorArray without entries gets the entry shape of another."""
    empty = nest.is_composite(leaf) and type(leaf) is type(other) and not parts_of(leaf)
    return leaf.__gradtape_like__(other) if empty else leaf


def is_same(a: Any, b: Any) -> bool:
    """Whether two values are one and the same, or equal constants."""
    return a is b or (
        type(a) is type(b) and isinstance(a, (bool, int, float, complex, str, bytes)) and a == b
    )


def spec(value: Any) -> Spec:
    """The shape and dtype of a value as a tensor."""
    return spec_of(as_tensor(source_object(value)))


def specs_of(leaf: Any) -> list[Spec]:
    """The specs of all parts of a leaf."""
    return [spec(part) for part in parts_of(leaf)]


def fits(number: Any, dtype: Any) -> bool:
    """Whether a Python number can have a dtype."""
    order = "biufc"
    kind = "f" if dtypes.from_numpy(dtype).is_floating else np.dtype(dtype).kind
    given = np.asarray(number).dtype.kind
    return (
        given == kind
        if given == "b"
        else kind != "b" and order.index(given) <= order.index("i" if kind == "u" else kind)
    )


def as_spec(value: Any, wanted: Spec) -> Tensor:
    """A value as a tensor of the dtype of a spec."""
    value = source_object(value)
    found = Tensor(np.asarray(value, wanted[1])) if is_number(value) else as_tensor(value)
    return cast(found, dtype=wanted[1]) if found.array.dtype != wanted[1] else found


def tensors_in(leaf: Any, wanted: Sequence[Spec]) -> list[Tensor]:
    """The parts of a leaf, as tensors of the given dtypes."""
    return [as_spec(part, one) for part, one in zip(parts_of(leaf), wanted, strict=True)]


def zeros(wanted: Spec) -> Tensor:
    return Tensor(np.zeros(*wanted))


def described(value: Any) -> str:
    """A value's description for an error message."""
    if is_undefined(value):
        return "undefined"
    if (
        isinstance(source_object(value), Variable)
        or not is_like_a_tensor(value)
        or is_number(value)
        or nest.is_composite(value)
    ):
        return repr(value)
    shape, dtype = spec(value)
    return f"a tensor {dtypes.from_numpy(dtype).name}{list(shape)}"
