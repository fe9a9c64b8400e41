"""A Variable's value as a JAX array: what compiled functions read and write, without a copy to NumPy in between.

`variable.held` is the value as a JAX array, beside `variable.array` or instead of it. A write by eager code drops it. A Variable
that a compiled function wrote has only `held`, and is a `HeldVariable` until eager code asks for its array: so a buffer that
nobody looked at can be handed to the next call for good, and is written over there.

`HiddenState` is what programs keep for themselves from one call to the next, such as how many random numbers they have drawn.
"""

from __future__ import annotations

from typing import Any

from gradtape.core.trace import outside_programs
from gradtape.core.variable import Variable
from gradtape.engines import xla_engine


class HeldVariable(Variable):
    """A Variable that a compiled function has written and nobody has read since."""

    held: Any

    def __getattr__(self, name: str) -> Any:
        if name != "array":
            raise AttributeError(f"'Variable' object has no attribute {name!r}")
        array = self.array = xla_engine.to_numpy(self.held)[()]
        self.__class__ = Variable  # type: ignore[assignment]
        return array


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
        array = self.array = xla_engine.to_numpy(self.held)[()]
        return array


def hold(variable: Variable, value: Any) -> None:
    """Makes a JAX array the Variable's value."""
    if type(variable) is HiddenState:
        variable.__dict__.pop("array", None)
        variable.held = value
        return
    if type(variable) not in (Variable, HeldVariable):  # a class of the user's keeps its own way of reading
        variable.array = xla_engine.to_numpy(value)[()]
        return
    variable.__dict__.pop("array", None)
    variable.held = value  # type: ignore[attr-defined]
    variable.__class__ = HeldVariable


def held(variable: Variable) -> Any:
    """The Variable's value as a JAX array, which is kept for the next time."""
    value = variable.__dict__.get("held")
    if value is None:
        value = variable.held = xla_engine.device_put(variable.array)  # type: ignore[attr-defined]
    return value
