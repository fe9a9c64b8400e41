"""`Trace`: what a program that is being traced has taken in from outside, and what it has written.

While `here.state.trace` is set, a Variable's value is the program's, not the Variable's own: reads become inputs of the program and
writes its outputs. A Tensor from outside that a tape follows becomes an input too, so that a gradient can reach it.

An input is known by its placeholder, a JAX array of its own that ops take like any other: when JAX has turned what was traced
into a program, it lists the arrays that came from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape.core.batching import BatchedTensor
from gradtape.core.scope import here
from gradtape.core.tensor import Tensor
from gradtape.core.xla_tensor import XlaTensor
from gradtape.engines import xla_engine

if TYPE_CHECKING:
    from gradtape.core.variable import Variable


class NeedsValues(Exception):  # noqa: N818 - it asks for something, and is no error
    """Raised while tracing by what needs real values, such as a Variable's first value computed from an argument."""


class Taken:
    """A Variable or Tensor from outside, and the Tensor that stands for its value in the program now."""

    __slots__ = ("outside", "placeholder", "tensor", "written")

    def __init__(self, outside: Any, tensor: Tensor) -> None:
        self.outside = outside
        self.tensor = tensor
        self.placeholder = tensor.array
        self.written = False


class Trace:
    """One program that is being traced.

    `given` pairs what is known to be taken in with the Tensors that stand for it. `on_taking` hears of the stand-in for
    everything else, when it is first used. `outside` holds the identities of Tensors that are known to come from outside.
    A `staged` trace is a program of its own; others only give Variables other values within the program around them.
    """

    def __init__(
        self,
        given: Sequence[tuple[Any, Tensor]] = (),
        on_taking: Callable[[Tensor], None] | None = None,
        outside: frozenset[int] = frozenset(),
        *,
        staged: bool = False,
    ) -> None:
        self._outside = outside
        self._enclosing = None if staged else here.state.trace
        self.stage: object = self if staged else None if self._enclosing is None else self._enclosing.stage
        self.taken: dict[int, Taken] = {id(outside): Taken(outside, _shared(outside, tensor)) for outside, tensor in given}
        self.made: set[int] = set()  # the Variables that were created while tracing
        self._on_taking = on_taking
        self.on_op: Callable[..., None] | None = None  # hears of every op, its arrays, parameters and result

    def _of(self, outside: Any) -> Taken:
        taken = self.taken.get(id(outside))
        if taken is None and self._enclosing is not None:
            return self._enclosing._of(outside)
        if taken is None:
            stand_in = XlaTensor(xla_engine.placeholder(outside.array.shape, outside.array.dtype))
            if self._on_taking is not None:
                self._on_taking(stand_in)
            taken = self.taken[id(outside)] = Taken(outside, stand_in)
        return taken

    def value(self, outside: Variable | Tensor) -> Any:
        """What stands for a Variable, at this point of the program, or for a Tensor from outside."""
        return self._of(outside).tensor

    def taken_in(self, args: Sequence[Any]) -> list[Any]:
        """An op's arguments with stand-ins for the Tensors that come from outside, as far as a gradient may be wanted of them."""
        return [self.value(arg) if self.comes_from_outside(arg) else arg for arg in args]

    def comes_from_outside(self, value: Any) -> bool:
        """Whether something else stands for a value in this program."""
        if not isinstance(value, Tensor):
            return False
        if id(value) in self._outside or id(value) in self.taken:
            return True
        if self._enclosing is not None:
            return self._enclosing.comes_from_outside(value)
        if self.stage is not self:
            return False
        if isinstance(value, BatchedTensor):
            return value.level not in here.state.levels
        node = value.node
        return node is not None and node.scope.any_open() and not any(part.stage is self for part in node.scope.recordings)

    def write(self, variable: Variable, array: Any) -> None:
        """Gives a Variable another value from here on; what it is connected with stays."""
        taken = self._of(variable)
        if isinstance(taken.tensor, BatchedTensor):
            raise ValueError(f"'{variable.name}' cannot be assigned inside vmap: every example would give it another value.")
        with xla_engine.wide():
            taken.tensor = XlaTensor(xla_engine.to_xla(array), taken.tensor.node)
        taken.written = True

    @contextmanager
    def running(self) -> Iterator[None]:
        """Traces a block."""
        state = here.state
        before, state.trace = state.trace, self
        try:
            yield
        finally:
            state.trace = before


def _shared(outside: Any, tensor: Tensor) -> Tensor:
    """The value of something from outside; that of a hidden state is one for all examples of a batch."""
    return one_for_all(tensor) if getattr(outside, "hidden", False) else tensor


def one_for_all(tensor: Tensor) -> Tensor:
    """A hidden state from a batch of them: the largest."""
    levels = []
    while isinstance(tensor, BatchedTensor):
        levels.append(tensor.level)
        tensor = tensor.inner
    if not levels:
        return tensor
    smallest = np.iinfo(tensor.array.dtype).min  # of no examples
    with xla_engine.wide():
        largest = xla_engine.namespace().max(xla_engine.to_xla(tensor.array), axis=tuple(range(len(levels))), initial=smallest)
        return XlaTensor(largest)


@contextmanager
def outside_programs() -> Iterator[None]:
    """Runs a block that is no part of the program that is being traced, if one is."""
    state = here.state
    trace, state.trace = state.trace, None
    try:
        yield
    finally:
        state.trace = trace


def inside_a_program() -> bool:
    """Whether a program is being traced on this thread."""
    return here.state.trace is not None
