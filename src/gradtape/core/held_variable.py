"""A Variable's value as a JAX array: what compiled functions read and write, without a copy to NumPy in between.

`variable.held` is the value as a JAX array, beside `variable.array` or instead of it. A write by eager code drops it. A Variable
that a compiled function wrote, or a large one that it read, has only `held`, and is a `HeldVariable` until eager code asks for its
array: so a buffer that nobody looked at can be handed to the next call for good, and is written over there.

A `PlacedVariable` was made on a device other than the host. `HiddenState` is what programs keep for themselves from one call to the next, such as how many random numbers they have drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from gradtape.core.scope import here
from gradtape.core.tensor import Tensor, full_name
from gradtape.core.trace import outside_programs
from gradtape.core.variable import Variable
from gradtape.core.writing import writing
from gradtape.core.xla_tensor import XlaTensor
from gradtape.engines import xla_devices, xla_engine
from gradtape.engines.threads import other_threads

_LARGE = 2**16  # bytes of which a second copy is worth the trouble


class HeldVariable(Variable):
    """A Variable whose value only compiled functions have asked for since one of them had it."""

    held: Any

    def __getattr__(self, name: str) -> Any:
        if name != "array":
            raise AttributeError(f"'Variable' object has no attribute {name!r}")
        with writing:
            if "array" not in self.__dict__:  # no other thread was faster
                self.array = xla_engine.to_numpy(self.held)[()]
                self.__class__ = Variable  # type: ignore[assignment]
            return self.array


class HiddenState(Variable):
    """A whole number, or some, that programs read and write as they do Variables, without being asked to.

    Under `vmap` all examples share one state. Where a loop gives each example its own, the largest counts: states only grow.
    """

    hidden = True
    held: Any

    def __init__(self, value: Any, name: str) -> None:
        with outside_programs():
            super().__init__(value, trainable=False, name=name)

    def __getattr__(self, name: str) -> Any:
        if name != "array":
            raise AttributeError(f"'HiddenState' object has no attribute {name!r}")
        with writing:
            array = self.array = xla_engine.to_numpy(self.held)[()]
            return array


class PlacedVariable(Variable):
    """A Variable on a device of XLA's, its `place`. Its array is a JAX array.

    A program may write over the array it is given, so that one which eager code has seen is copied for it first.
    """

    place: Any
    _buffer: Any
    _seen = False

    @property
    def array(self) -> Any:
        self._seen = True
        return self._buffer

    @array.setter
    def array(self, value: Any) -> None:
        self._buffer = xla_devices.put(value, self.place.device)
        self._seen = not isinstance(value, (np.ndarray, np.generic))

    def for_a_program(self) -> Any:
        if self._seen:
            self._buffer, self._seen = xla_devices.copied(self._buffer), False
        return self._buffer

    def take_over(self, value: Any) -> None:
        """Makes an array, which nobody else has, the value."""
        self._buffer, self._seen = xla_devices.put(value, self.place.device), False

    @property
    def device(self) -> str:
        return full_name(self.place.name)

    def tensor(self) -> Tensor:
        state = here.state
        if state.trace is not None:
            return super().tensor()
        return XlaTensor(self.array, self._joint_node(state.recorders))

    def _compatible(self, value: Any, method: str, *, argument: str = "value") -> Any:
        return xla_devices.put(super()._compatible(value, method, argument=argument), self.place.device)

    def _combined(self, ufunc: np.ufunc, change: Any) -> Any:
        return xla_engine.run(xla_engine.bind(ufunc.__name__), [self.array, change], {})

    def write_at(self, key: Any, values: Any, ufunc: np.ufunc | None = None) -> None:
        if here.state.trace is not None:
            super().write_at(key, values, ufunc)
            return
        self._before_write()
        self.array = xla_engine.written_at(self.array, key, values, ufunc)


def hold(variable: Variable, value: Any) -> None:
    """Makes a JAX array the Variable's value."""
    if type(variable) is PlacedVariable:
        variable.take_over(value)
        return
    if type(variable) is HiddenState:
        variable.__dict__.pop("array", None)
        variable.held = value
        return
    if type(variable) not in (Variable, HeldVariable):  # a class of the user's keeps its own way of reading
        variable.__dict__.pop("held", None)
        variable.array = xla_engine.to_numpy(value)[()]
        return
    variable.held = value  # type: ignore[attr-defined]
    variable.__class__ = HeldVariable
    variable.__dict__.pop("array", None)


_ALONE = 3
"""How many references there are to an array that a Variable holds and a list of a program's inputs: both, and that which counts them."""


def places_of(written: Sequence[Any], taken: Sequence[Any], offset: int) -> list[tuple[int, Any]]:
    """The Variables that a program writes, each with its number among what it takes in, which begins at `offset`."""
    identities = {id(variable) for variable in written}
    return [(offset + i, outside) for i, outside in enumerate(taken) if id(outside) in identities]


def lend(variable: Variable) -> Any:
    """The Variable's value as a JAX array for something that may keep it, such as a tape that records a call."""
    value = held(variable)
    variable.__dict__["lent"] = True
    return value


def keep_what_is_lent(arrays: list[Any], places: Sequence[tuple[int, Any]], more: int = 0) -> None:
    """Puts copies of arrays that are still lent in the places of a program's inputs that it writes over.

    `more` is how many references there are beside those of the Variable and of the list.
    """
    for i, variable in places:
        known = variable.__dict__
        if "lent" in known:
            del known["lent"]
            own = _is_view(known.get("array"), arrays[i])  # which XLA itself respects
            if getrefcount(arrays[i]) > _ALONE + more + own:
                arrays[i] = xla_devices.copied(arrays[i])


def _is_view(array: Any, value: Any) -> bool:
    """Whether a NumPy array lies in the memory of a JAX array, to which it refers once."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, memoryview) and array.obj is value


def _is_copy(value: Any, array: np.ndarray[Any, Any]) -> bool:
    """Whether the JAX array made of a NumPy array is on this machine's CPU too, in other memory."""
    return value.device.platform == "cpu" and not xla_engine.shares_memory(value, array)


def held(variable: Variable) -> Any:
    """The Variable's value as a JAX array, which is kept for the next time."""
    if type(variable) is PlacedVariable:
        return variable.for_a_program()
    value = variable.__dict__.get("held")
    if value is None:
        with writing:
            array = variable.array
            value = xla_engine.device_put(array)
            unchanged = variable.__dict__.get("array") is array  # no other thread has assigned meanwhile
            if not unchanged:
                return value
            variable.held = value  # type: ignore[attr-defined]
            if type(variable) is Variable and array.nbytes >= _LARGE and not other_threads() and _is_copy(value, array):
                hold(variable, value)  # one is enough
    return value
