"""Which Tensors of eager code are inputs of a function's program, and which are its constants.

A Tensor by which somebody wants a derivative has to be an input; one whose value decides a shape
has to be a constant. Which are which shows while the function is traced, so it is traced until that
is settled.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradtape.core.messages import log_warning
from gradtape.core.tensor import Tensor
from gradtape.core.xla.trace import Constants, NeedsTracedConstants
from gradtape.functions.concrete_function import ConcreteFunction
from gradtape.functions.reason import is_beyond_xla

if TYPE_CHECKING:
    from gradtape.functions.function import Function
    from gradtape.functions.signature import Arguments


def settled(
    function: Function, arguments: Arguments, inputs: Sequence[Tensor], others: Sequence[Tensor]
) -> ConcreteFunction:
    """A program whose inputs are the Tensors that have to be, `inputs` and those by which its
    function asks for derivatives, and `others` if it does not need their values.

    It is traced again after each of these, until nothing is asked for:

    - a derivative by a constant is asked for: that one is needed, and constants are traced arrays
      from now on; and those of called functions, by which it may ask next, are among the others;
    - the value of a traced array is needed: first the others are constants again; if it was not one
      of them, all constants are, for good;
    - a derivative is asked for that no more inputs can give: constants are traced for good.
    """
    needed, beside = _Kept(inputs), _Kept(others)
    constants = Constants.KNOWN
    while True:
        try:
            return ConcreteFunction(function, arguments, [*needed, *beside], constants=constants)
        except NeedsTracedConstants as asked:
            asked_for, of_called = asked.constants, asked.others
        except Exception as error:
            if constants is Constants.KNOWN_FOR_GOOD or not is_beyond_xla(error):
                raise
            if beside:
                beside = _Kept(())
            elif constants is Constants.KNOWN:
                raise
            else:
                constants = Constants.KNOWN_FOR_GOOD
            continue
        # Not above, where the error and its frames still hold Tensors that the tracing has made:
        # these are no inputs, since the next tracing makes others.
        new = [needed.add(asked_for), beside.add(of_called)]
        first = constants is Constants.KNOWN
        constants = Constants.TRACED if first or any(new) else Constants.TRACED_FOR_GOOD


class _Kept(list[Tensor]):
    """Tensors that are to be inputs of a program, each once."""

    def add(self, references: Sequence[weakref.ref[Tensor]]) -> bool:
        """Takes those that somebody still has; whether one of them is new."""
        before = len(self)
        for reference in references:
            tensor = reference()
            if tensor is not None and all(tensor is not known for known in self):
                self.append(tensor)
        return len(self) > before


def followed_constants(program: ConcreteFunction | None) -> list[Tensor]:
    """The constants of programs for one kind of arguments that something follows now."""
    found: dict[int, Tensor] = {}
    while program is not None:
        found.update((id(tensor), tensor) for tensor in program.constants_that_are_followed())
        program = program.otherwise
    return list(found.values())


def has_inputs(program: ConcreteFunction, followed: Sequence[Tensor]) -> bool:
    """Whether a program has the Tensors for which it was traced as inputs, or runs as eager
    code.
    """
    inputs = set(map(id, program.input_tensors()))
    return program.runs_eagerly or all(id(tensor) in inputs for tensor in followed)


def give_up(
    program: ConcreteFunction, earlier: ConcreteFunction, followed: Sequence[Tensor]
) -> None:
    """Lets Tensors that are `followed`, but that the function does not find any more, be constants
    of earlier programs whatever follows them, so that these serve calls again.
    """
    inputs = set(map(id, program.input_tensors()))
    found = inputs.union(map(id, program.known_constants()))
    for known in earlier.with_earlier():
        gone = [t for t in known.known_constants() if id(t) not in found]
        known.leave_constant([*gone, *(t for t in followed if id(t) not in inputs)])
    log_warning(
        "%s: a tape or accumulator follows a Tensor that was a constant when the function was "
        "traced, and that the function does not find any more: it has no gradient through the "
        "function. Pass it as an argument.",
        program.name,
    )
