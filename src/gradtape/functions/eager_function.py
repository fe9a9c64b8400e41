"""`EagerFunction`: what a function has in place of a program where XLA cannot compile it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

from gradtape import nest
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unchanged import Unwritten
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.functions.concrete_function import ConcreteFunction, is_followed, something_follows
from gradtape.functions.described import spec_or_itself
from gradtape.functions.eager import run_eagerly
from gradtape.functions.reason import NotCompiled
from gradtape.functions.signature import Arguments

if TYPE_CHECKING:
    from gradtape.functions.function import Function


class EagerFunction(ConcreteFunction):
    """A function that XLA cannot compile for one kind of arguments: it runs as Python, on
    gradtape's own ops, as one call.
    """

    runs_eagerly = True

    def __init__(
        self,
        function: Function,
        arguments: Arguments,
        why: NotCompiled,
        followed: Sequence[Tensor] = (),
    ) -> None:
        """With Tensors that are `followed`, it is for calls in which one of them still is. If it
        was made while something recorded, it is for such calls: for others there may be a program.
        """
        self.name = function._name
        self._function = function
        self._arguments = arguments.without_values()
        self.why = why
        self._taken, self._written = [], []
        self._used, self._same, self._captured, self.otherwise = {}, {}, frozenset(), None
        self._is_closed = False
        self._specs: Any = None
        self.made = set()
        self._followed = [ref(tensor) for tensor in followed]
        self._was_recorded = bool(here.state.recorders)

    def fits(self, arguments: Arguments) -> bool:
        if self._followed:
            known = [tensor for reference in self._followed if (tensor := reference()) is not None]
            return something_follows() and any(map(is_followed, known))
        return bool(here.state.recorders) or not self._was_recorded

    def constants_that_are_followed(self) -> list[Tensor]:
        return []

    def known_constants(self) -> list[Tensor]:
        """It has none."""
        return []

    def leave_constant(self, tensors: Sequence[Tensor]) -> None:
        """It has none."""

    def call(self, arguments: Arguments) -> Any:
        if here.state.trace is not None:  # the program around is run this way then, as a whole
            raise BeyondXlaError(str(self.why))
        call = Unwritten()
        result = run_eagerly(self._function, arguments, self.why, call)
        self._note(call, arguments)
        self._specs = nest.map_structure(spec_or_itself, result)
        return result

    def _note(self, call: Unwritten, arguments: Arguments) -> None:
        """Notes which Variables a call has used that are not its arguments: other calls may use
        others.
        """
        given = set(map(id, arguments.variables))
        known = {id(variable) for variable, _ in self._taken}
        new = [v for v in (*call.read(), *call.written()) if id(v) not in given]
        self._taken += [(v, None) for v in {id(v): v for v in new}.values() if id(v) not in known]
        known = {id(variable) for variable, _ in self._written}
        self._written += [
            (v, None) for v in call.written() if id(v) not in given and id(v) not in known
        ]

    @property
    def structured_outputs(self) -> Any:
        """The structure and specs of the last result, which may differ from call to call;
        None before the first.
        """
        return self._specs

    def check_parity(self, arguments: Arguments) -> None:
        """There is nothing to compare."""

    def forget(self) -> None:
        """There is nothing compiled."""

    def worth(self) -> None:
        """There is nothing to compile."""
