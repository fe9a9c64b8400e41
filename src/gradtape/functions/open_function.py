"""`OpenFunction`: what `get_concrete_function` returns for arguments with unknown (open) sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gradtape import nest
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.functions.concrete_calls import arguments_of_call
from gradtape.functions.described import Described
from gradtape.functions.shortcut import NOT_RUN
from gradtape.functions.signature import Arguments, Parameters
from gradtape.shapes import TensorSpec

if TYPE_CHECKING:
    from gradtape.core.variable import Variable
    from gradtape.functions.concrete_function import ConcreteFunction
    from gradtape.functions.function import Function


class OpenFunction(Described):
    """A function for one kind of arguments with open sizes: each size has its own program, made in
    the first call with that size.
    """

    def __init__(self, function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name = function._name
        self._function = function
        self._programs: dict[int, ConcreteFunction] = {}
        self.structured_input_signature = args, kwargs
        function.sizes.are_open = True
        if function._kinds.add(Arguments(args, kwargs).key_with_open_sizes()):
            function.open_kinds.append((args, kwargs))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        around = here.state.around_call
        return self._call(args, kwargs) if around is None else around(self, args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = arguments_of_call(
            self._function._parameters, args, kwargs, self.structured_input_signature, self.name
        )
        function = self._function.for_this_thread()
        result = function.called_while_waiting(arguments)
        if result is not NOT_RUN:
            return result
        program = function._traced_for(arguments)
        self._programs[id(program)] = program
        result = function.called_first(arguments, program)
        return program.call(arguments) if result is NOT_RUN else result

    def written_variables(self) -> list[Variable]:
        return [v for program in self._programs.values() for v in program.written_variables()]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The Variables that the programs made so far read or write."""
        found = {
            id(variable): variable
            for program in self._programs.values()
            for variable in program.variables
        }
        return tuple(found.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def captured_inputs(self) -> list[Any]:
        """What the programs made so far capture besides their arguments."""
        found = {
            id(outside): outside
            for program in self._programs.values()
            for outside in program.captured_inputs
        }
        return list(found.values())

    @cached_property
    def structured_outputs(self) -> Any:
        """The result's structure, with a TensorSpec for each tensor.

        The Python function is traced for two sizes to see which are open.

        >>> import gradtape as tf
        >>> tf.function(lambda x: (x, x[:1])).get_concrete_function(
        ...     tf.TensorSpec([None])
        ... ).structured_outputs
        (TensorSpec(shape=(None,), dtype=tf.float32, name=None), TensorSpec(shape=(1,),
        dtype=tf.float32, name=None))
        """
        return nest.map_structure(
            _common, *[self._program_for(size).structured_outputs for size in _SIZES]
        )

    def _program_for(self, size: int) -> ConcreteFunction:
        """The program for tensors whose open sizes are all the same."""

        def example(leaf: Any) -> Any:
            if not isinstance(leaf, TensorSpec):
                return leaf
            if leaf.shape.rank is None:
                raise ValueError(
                    f"{self.name}: the structure of its outputs is unknown for {leaf}, since its "
                    "rank is open."
                )
            shape = [size if n is None else n for n in leaf.shape]
            return Tensor(np.broadcast_to(np.zeros((), leaf.dtype.numpy), shape))

        program = self._function._traced_for(
            Arguments(*nest.map_structure(example, self.structured_input_signature))
        )
        self._programs[id(program)] = program
        return program

    def _inputs(self) -> tuple[Parameters, Sequence[Any], dict[str, Any]]:
        return self._function._parameters, *self.structured_input_signature

    def __repr__(self) -> str:
        return f"<OpenFunction {self.name}>"


_SIZES = (2, 3)


def _common(first: Any, second: Any) -> Any:
    return first.most_specific_compatible_type(second) if isinstance(first, TensorSpec) else first
