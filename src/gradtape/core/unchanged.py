"""Blocks after which things are as before: `Unwritten` for Variables, and `unchanged` for random
numbers too. Used by what runs user code once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from gradtape.blocks import Block, block
from gradtape.core.thread import here

if TYPE_CHECKING:
    from gradtape.core.node import Node
    from gradtape.core.recording import Recording
    from gradtape.core.variable import Variable

keepers: list[Callable[[], Any]] = []
"""Blocks that keep other state as it is, such as that of random numbers, which layers above add."""


@block
def unchanged() -> Iterator[None]:
    """A block of eager code that leaves Variables, and the random numbers of `tf.random` to come,
    as they were. What else it does to Python objects stays.
    """
    with ExitStack() as stack:
        for keeper in keepers:
            stack.enter_context(keeper())
        stack.enter_context(Unwritten())
        yield


class Unwritten(Block):
    """A recorder that notes every Variable that is read or written, and restores their values if
    the block does not complete.
    """

    pushes = False
    recording = True
    scope: Recording | None = None

    def __init__(self) -> None:
        self.are_final = False
        self._before: dict[int, tuple[Variable, Any]] = {}
        self._read: dict[int, Variable] = {}

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        if id(variable) not in self._before:
            self._before[id(variable)] = variable, variable.array.copy()

    def variable_node(self, variable: Variable) -> Node | None:
        self._read[id(variable)] = variable
        return None

    def enter(self) -> None:
        here.state.add(self)

    def leave(self) -> None:
        here.state.remove(self)
        if not self.are_final:
            self.undo()

    def read(self) -> list[Variable]:
        return list(self._read.values())

    def written(self) -> list[Variable]:
        return [variable for variable, _ in self._before.values()]

    def undo(self) -> None:
        for variable, array in self._before.values():
            variable.assign(array, read_value=False)
