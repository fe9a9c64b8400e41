"""`Block`: a piece of the user's code that XLA runs, and the variables it changes.

malt makes functions of the body of an `if` or a loop. They take nothing and return nothing, but read and write the variables of the
function around them; `get_state` and `set_state` give and take those that they change. A program is traced by running them, also long
after the user's code has gone on: the backward step of a loop runs its body again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import Any

import numpy as np

from gradtape import dtypes
from gradtape.core.node import caller, locate
from gradtape.core.tape import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla_tensor import is_traced
from gradtape.functions.structured import Spec, spec_of
from gradtape.ops.broadcasting import cast
from gradtape.ops.convert import as_tensor
from gradtape.ops.op import is_tensor_like

_EMPTY = object()


class Undefined:
    """The value of a variable that has none yet."""

    def __init__(self, name: str) -> None:
        self.name = name


class UndefinedReturnValue:
    """The result of a function that has not returned yet."""


def ld(value: Any) -> Any:
    """A variable that the user's code reads."""
    if isinstance(value, Undefined):
        raise UnboundLocalError(f"cannot access variable '{value.name}' where it is not associated with a value")
    return value


def ldu(read: Callable[[], Any], name: str) -> Any:
    """An attribute or an element that may not be there."""
    try:
        return read()
    except (AttributeError, IndexError, KeyError, NameError):
        return Undefined(name)


class Moment:
    """What the variables hold, now, that functions see from where they were defined, and functions that these call."""

    def __init__(self, functions: Sequence[Any]) -> None:
        self._contents: dict[int, tuple[str, CellType, Any]] = {}
        todo = [f for f in functions if isinstance(f, FunctionType)]
        while todo:
            function = todo.pop()
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                if id(cell) not in self._contents:
                    held = _held(cell)
                    self._contents[id(cell)] = name, cell, held
                    if isinstance(held, FunctionType):
                        todo.append(held)

    def run(self, function: Callable[[], Any]) -> Any:
        """What a function gives at that moment."""
        now = [_held(cell) for _, cell, _ in self._contents.values()]
        if all(held is then for held, (_, _, then) in zip(now, self._contents.values(), strict=True)):
            result = function()
            self._refuse_changes()
            return result
        for _, cell, held in self._contents.values():
            _hold(cell, held)
        try:
            return function()
        finally:
            for held, (_, cell, _) in zip(now, self._contents.values(), strict=True):
                _hold(cell, held)

    def _refuse_changes(self) -> None:
        """A tensor of a part of the program that XLA runs by itself means nothing outside it."""
        for name, cell, held in self._contents.values():
            found = _held(cell)
            if found is not held and is_traced(found):
                _hold(cell, held)
                raise ValueError(
                    f"{location()}: '{name}' is assigned by a function that is called in a branch or loop on tensors: return the "
                    "value instead, and assign it there."
                )


def _held(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _hold(cell: CellType, value: Any) -> None:
    if value is not _EMPTY:
        cell.cell_contents = value
    elif _held(cell) is not _EMPTY:
        del cell.cell_contents


class Block:
    """Functions that malt has made of a statement, the variables it changes, `names`, and what they hold before it, `before`."""

    def __init__(self, get_state: Callable[[], Any], set_state: Callable[[Any], None], names: Sequence[str], *parts: Any) -> None:
        self._get, self._set = get_state, set_state
        self.names = names
        self.before: tuple[Any, ...] = get_state()
        self._moment = Moment([get_state, set_state, *parts])

    def run(self, part: Callable[[], Any], values: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
        """What a part gives when the variables hold `values`, and what they hold after it."""
        return self._moment.run(lambda: self._run_on(part, values))

    def _run_on(self, part: Callable[[], Any], values: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
        now = self._get()
        try:
            self._set(tuple(values))
            result = part()
            return result, self._get()
        finally:
            self._set(now)

    def finish(self, values: Sequence[Any]) -> None:
        """Gives the variables the values that they have after the statement."""
        self._set(tuple(values))


def location() -> str:
    """The place in the user's code from where an operator was called."""
    found = locate(*caller())
    return f"{found.file}:{found.line}"


# Values of variables


def is_undefined(value: Any) -> bool:
    return isinstance(value, (Undefined, UndefinedReturnValue))


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python's, which takes the dtype of what stands beside it."""
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def is_like_a_tensor(value: Any) -> bool:
    """Whether XLA can hold a value."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biufcV"
    return is_number(value) or is_tensor_like(source_object(value))


def is_same(a: Any, b: Any) -> bool:
    """Whether two values are one and the same, or equal constants."""
    return a is b or (type(a) is type(b) and isinstance(a, (bool, int, float, complex, str, bytes)) and a == b)


def spec(value: Any) -> Spec:
    """The shape and dtype of a value as a tensor."""
    return spec_of(as_tensor(source_object(value)))


def fits(number: Any, dtype: Any) -> bool:
    """Whether a number of Python's can be one of a dtype."""
    order = "biufc"
    kind = "f" if dtypes.from_numpy(dtype).is_floating else np.dtype(dtype).kind
    given = np.asarray(number).dtype.kind
    return given == kind if given == "b" else kind != "b" and order.index(given) <= order.index("i" if kind == "u" else kind)


def as_spec(value: Any, wanted: Spec) -> Tensor:
    """A value as a tensor of the dtype of a spec."""
    value = source_object(value)
    found = Tensor(np.asarray(value, wanted[1])) if is_number(value) else as_tensor(value)
    return cast(found, dtype=wanted[1]) if found.array.dtype != wanted[1] else found


def zeros(wanted: Spec) -> Tensor:
    return Tensor(np.zeros(*wanted))


def described(value: Any) -> str:
    """A value in the words of an error message."""
    if is_undefined(value):
        return "undefined"
    if isinstance(source_object(value), Variable) or not is_like_a_tensor(value) or is_number(value):
        return repr(value)
    shape, dtype = spec(value)
    return f"a tensor {dtypes.from_numpy(dtype).name}{list(shape)}"
