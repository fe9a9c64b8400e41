"""`OpenFunction`: what `get_concrete_function` gives for arguments of which some sizes are open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape.functions.signature import Arguments, cast_to_kind

if TYPE_CHECKING:
    from gradtape.core.variable import Variable
    from gradtape.functions.function import ConcreteFunction, Function


class OpenFunction:
    """A function for arguments of one kind that leaves sizes open: each size has a program of its own, made in the first call with it."""

    def __init__(self, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name = function._name
        self._function = function
        self._programs: dict[int, ConcreteFunction] = {}
        self.structured_input_signature = args, kwargs
        function._kinds.add(Arguments(args, kwargs).key_with_open_sizes())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._function._parameters.in_order(args, kwargs)
        arguments = cast_to_kind(args, kwargs, self.structured_input_signature, self.name)
        program = self._function._traced_for(arguments)
        self._programs[id(program)] = program
        return program.call(arguments)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The Variables that the programs read or write which have been made so far."""
        found = {id(variable): variable for program in self._programs.values() for variable in program.variables}
        return tuple(found.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(variable for variable in self.variables if variable.trainable)

    def __repr__(self) -> str:
        return f"<OpenFunction {self.name}>"
