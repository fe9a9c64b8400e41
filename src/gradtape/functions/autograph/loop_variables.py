"""`LoopVariables`: the variables of a loop that XLA runs, which must keep their shapes and dtypes
from step to step.

Python numbers become tensors, of the dtype that they have after a step. A variable that is
undefined before the loop gets the shape and dtype that it has after a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.convert import as_tensor
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.functions.autograph.blocks import ConvertedBlock
from gradtape.functions.autograph.values import (
    described,
    fits,
    in_words,
    is_like_a_tensor,
    is_number,
    is_same,
    is_text,
    is_undefined,
    location,
    made_of,
    parts_of,
    shaped_like,
    spec,
    specs_of,
    tensors_in,
)
from gradtape.functions.traced import another_shape
from gradtape.shapes import TensorShape, TensorSpec


class OfBlockError(Exception):
    """An error that only the loop of this block can handle."""

    def __init__(self, message: str, block: ConvertedBlock) -> None:
        super().__init__(message)
        self.block = block


class FirstStepDiffersError(OfBlockError, BeyondXlaError):
    """A variable has a different kind before the loop than after a step; a loop of known length can
    run its first step separately, others are beyond XLA.
    """


class ListGrowsError(OfBlockError, TypeError):
    """A list grows with every step; a loop of known length can be unrolled."""


class _Again(Exception):  # noqa: N818 - it is no error
    """A loop must be traced again with other initial values of its variables."""

    def __init__(self, values: Sequence[Any]) -> None:
        super().__init__()
        self.values = values


def looped(
    block: ConvertedBlock, run: Callable[[LoopVariables], list[Any]], invariants: Sequence[Any] = ()
) -> None:
    """Runs a loop, and gives its variables the values that they have after it.

    `invariants` are pairs of a variable's value before the loop and the shape, or the structure of
    shapes, that it may have after a step.
    """
    values: Sequence[Any] = block.before
    declared = _declared(invariants)
    while True:
        variables = LoopVariables(block, values, declared)
        try:
            found = run(variables)
        except _Again as again:
            values = [nest.map_structure(_read, value) for value in again.values]
            continue
        block.finish(variables.packed_after(found))
        return


class LoopVariables:
    """The variables of a loop with their initial values; `tensors` are the leaves that XLA carries
    through the loop.
    """

    def __init__(
        self,
        block: ConvertedBlock,
        values: Sequence[Any],
        declared: Sequence[tuple[Any, TensorShape]] = (),
    ) -> None:
        self._block = block
        self._values = values
        self._declared = declared
        self._leaves = [nest.flatten(value) for value in values]
        self._specs = [
            [specs_of(leaf) if _is_carried(leaf) else None for leaf in leaves]
            for leaves in self._leaves
        ]
        self.tensors = self._carried(values)
        # By their numbers, variables that are undefined before the loop, as a step leaves them.
        self._later: dict[int, Any] = {}

    def _carried(self, values: Sequence[Any]) -> list[Tensor]:
        pairs = [
            (nest.flatten(value), specs)
            for value, specs in zip(values, self._specs, strict=True)
            if any(specs)
        ]
        leaves = [pair for found, specs in pairs for pair in zip(found, specs, strict=True)]
        return [
            tensor
            for leaf, wanted in leaves
            if wanted is not None
            for tensor in tensors_in(leaf, wanted)
        ]

    def packed(self, tensors: Sequence[Any]) -> list[Any]:
        """Values of the variables, with the given tensors in place of those that are carried."""
        given = iter(tensors)
        pairs = zip(self._values, self._leaves, self._specs, strict=True)
        return [
            _filled(value, leaves, specs, given) if any(specs) else value
            for value, leaves, specs in pairs
        ]

    def packed_after(self, tensors: Sequence[Any]) -> list[Any]:
        """The values of all variables after the loop; those that were undefined before it come last
        among the tensors.
        """
        found, given = self.packed(tensors), iter(tensors[len(self.tensors) :])
        for number, value in self._later.items():
            found[number] = nest.map_structure(
                lambda leaf: made_of(leaf, given) if _is_carried(leaf) else leaf, value
            )
        return found

    def tensors_after(self, values: Sequence[Any]) -> list[Tensor]:
        """The tensors to carry to the next step, from the variables after a step, which must have
        the kinds they had before.
        """
        names = self._block.names
        first = [
            self._fitted(name, before, after)
            for name, before, after in zip(names, self._values, values, strict=True)
        ]
        if any(a is not b for a, b in zip(first, self._values, strict=True)):
            raise _Again(first)
        # What is read before it has a value is an error that this run has found, so that it needs
        # no value before the loop.
        before = enumerate(self._values)
        self._later = {
            i: values[i]
            for i, value in before
            if is_undefined(value) and not is_undefined(values[i])
        }
        later = [
            leaf
            for value in self._later.values()
            for leaf in nest.flatten(value)
            if _is_carried(leaf)
        ]
        return [
            *self._carried(values),
            *(tensor for leaf in later for tensor in tensors_in(leaf, specs_of(leaf))),
        ]

    def _fitted(self, name: str, before: Any, after: Any) -> Any:
        """The initial value of a variable, or another one that has the kind it has after a step."""
        if before is after:
            return before
        if is_undefined(before):
            return before
        if is_undefined(after):
            raise ValueError(
                f"{in_words(name)} is deleted in a loop on tensors: delete it after the loop."
            )
        if before is None:
            raise FirstStepDiffersError(
                f"{in_words(name)} is None before the loop, and {described(after)} after a "
                f"step: {_SET}",
                self._block,
            )
        if type(before) is type(after) is list and len(before) < len(after):
            raise ListGrowsError(
                f"{in_words(name)} is a list that grows in a loop on tensors: use a TensorArray.",
                self._block,
            )
        try:
            nest.assert_same_structure(before, after)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{in_words(name)} has a different structure after a step than before: {error}"
            ) from None
        old = nest.flatten(before)
        new = [self._fitted_leaf(name, a, b) for a, b in zip(old, nest.flatten(after), strict=True)]
        return (
            before
            if all(a is b for a, b in zip(old, new, strict=True))
            else nest.pack_sequence_as(before, new)
        )

    def _fitted_leaf(self, name: str, before: Any, after: Any) -> Any:
        if not _is_carried(before):
            if is_same(before, after):
                return before
            if isinstance(source_object(before), Variable) and is_like_a_tensor(after):
                return _ValueOf(source_object(before))
            if before is None:
                raise FirstStepDiffersError(
                    f"{in_words(name)} is None before the loop, and {described(after)} after a "
                    f"step: {_SET}",
                    self._block,
                )
            raise (BeyondXlaError if is_text(before) and is_text(after) else TypeError)(
                f"{in_words(name)} changes from {described(before)} to {described(after)} in a "
                "loop on tensors: only tensors and numbers may change there."
            )
        if not is_like_a_tensor(after) or nest.is_composite(before) != nest.is_composite(after):
            raise TypeError(
                f"{in_words(name)} is {described(before)} before a loop on tensors, and "
                f"{described(after)} after a step."
            )
        if not nest.is_composite(before):
            return self._with_dtype(name, before, after)
        first = shaped_like(before, after)
        if specs_of(first) != specs_of(after) and [d for _, d in specs_of(first)] == [
            d for _, d in specs_of(after)
        ]:
            raise BeyondXlaError(
                f"{in_words(name)} grows in a loop on tensors, where a variable must keep its "
                "shape: allocate it at its full size before the loop."
            )
        for one, other in zip(parts_of(first), parts_of(after), strict=True):
            self._with_dtype(name, one, other)
        return first

    def _with_dtype(self, name: str, before: Any, after: Any) -> Any:
        (shape, dtype), (new_shape, new) = spec(before), spec(after)
        if shape != new_shape:
            declared = next((s for value, s in self._declared if value is before), None)
            error = another_shape(
                f"{in_words(name)} has the shape {shape} before a loop on tensors, and "
                f"{new_shape} after a step",
                new_shape,
                declared,
            )
            if is_number(before) and declared is None:
                error = FirstStepDiffersError(str(error), self._block)
            raise error
        if dtype == new or (is_number(after) and fits(after, dtype)):
            return before
        if is_number(before) and fits(before, new):
            return Tensor(np.asarray(before, new))
        raise TypeError(
            f"{in_words(name)} has the dtype {dtypes.from_numpy(dtype).name} before a loop on "
            "tensors, and "
            f"{dtypes.from_numpy(new).name} after a step: cast it."
        )


_SET = "give it a tensor of that kind before the loop."


def _declared(invariants: Sequence[Any]) -> list[tuple[Any, TensorShape]]:
    """The tensors that may change their shapes in a loop, and the shapes that they may have."""
    found = []
    for value, shapes in invariants:
        whole = isinstance(shapes, (TensorShape, TensorSpec)) and not nest.is_nested(value)
        pairs = (
            [(value, shapes)]
            if whole
            else list(zip(nest.flatten(value), nest.flatten(shapes), strict=False))
        )
        for tensor, given in pairs:
            shape = getattr(given, "shape", given)
            if not isinstance(shape, TensorShape):
                raise TypeError(
                    f"{location()}: set_loop_options: shape_invariants must be pairs of a "
                    f"variable and a TensorShape or TensorSpec, got {shapes!r}."
                )
            found.append((tensor, shape))
    return found


def _filled(
    value: Any, leaves: Sequence[Any], specs: Sequence[Any], tensors: Iterator[Tensor]
) -> Any:
    """A value with the next tensors in place of the leaves that have specs."""
    filled = [
        leaf if wanted is None else made_of(leaf, tensors)
        for leaf, wanted in zip(leaves, specs, strict=True)
    ]
    return nest.pack_sequence_as(value, filled)


def _is_carried(leaf: Any) -> bool:
    return is_like_a_tensor(leaf) and not isinstance(source_object(leaf), Variable)


class _ValueOf:
    """A Variable whose value is needed, which only the program around the loop can read."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable


def _read(leaf: Any) -> Any:
    return as_tensor(leaf.variable) if isinstance(leaf, _ValueOf) else leaf
