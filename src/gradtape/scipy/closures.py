"""`closed_over`: the Tensors and Variables, besides its arguments, that a function uses and that
something follows, found by running it once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape import nest
from gradtape.blocks import Block
from gradtape.core.batching import BatchedTensor
from gradtape.core.node import Node
from gradtape.core.recording import Recording, numbers
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable


def closed_over(function: Callable[..., Any], *args: Any) -> tuple[list[Any], Any]:
    """What a call with `args` uses of what was there before and is followed by a tape or an
    accumulator, Tensors in the order of their use after Variables in that of their creation; and
    the result of the call.

    Variables are found whether or not anything records. Under `vmap` only Variables are.
    """
    given = [leaf for leaf in nest.flatten(args) if isinstance(leaf, (Tensor, Variable))]
    with _Uses(given) as uses:
        result = function(*args)
    return uses.found(), result


class _Uses(Block):
    """A recorder that records only which Variables and earlier Tensors are used."""

    pushes = True
    recording = True
    scope: Recording | None = None

    def __init__(self, given: Sequence[Any]) -> None:
        self._given = {id(value) for value in given}
        self._first = next(numbers)
        self._variables: dict[int, Variable] = {}
        self._tensors: dict[int, Tensor] = {}

    def variable_node(self, variable: Variable) -> Node | None:
        if id(variable) not in self._given and variable.has_gradient and variable.trainable:
            self._variables[id(variable)] = variable
        return None

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        pass

    def push(self, node: Node, args: Sequence[Any], outputs: Any) -> None:
        for arg in args:
            if (
                isinstance(arg, Tensor)
                and not isinstance(arg, BatchedTensor)
                and arg.node is not None
                and arg.node.number < self._first
                and id(arg) not in self._given
            ):
                self._tensors[id(arg)] = arg

    def found(self) -> list[Any]:
        variables = sorted(self._variables.values(), key=lambda v: v.creation)
        # A Variable that was read before has its Node from then.
        read = {r.variable_node(v) for v in variables for r in here.state.recorders}
        return [*variables, *(t for t in self._tensors.values() if t.node not in read)]

    def enter(self) -> None:
        here.state.add(self)

    def leave(self) -> None:
        here.state.remove(self)
