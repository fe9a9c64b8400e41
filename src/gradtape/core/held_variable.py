"""A Variable's value as a JAX array: what compiled functions read and write, without a copy to NumPy in between.

`variable.held` is the value as a JAX array, beside `variable.array` or instead of it. A write by eager code drops it. A Variable
that a compiled function wrote has only `held`, and is a `HeldVariable` until eager code asks for its array: so a buffer that
nobody looked at can be handed to the next call for good, and is written over there.
"""

from __future__ import annotations

from typing import Any

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


def hold(variable: Variable, value: Any) -> None:
    """Makes a JAX array the Variable's value."""
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
