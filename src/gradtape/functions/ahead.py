"""`Ahead`: the random numbers of a program, which XLA draws in a small program of their own, so
that NumPy can run the rest with the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gradtape.core.tensor import Tensor
from gradtape.core.xla.tensor import array_to_pass, result_tensor
from gradtape.engines.xla import programs as xla_programs
from gradtape.functions.staging import Staged, is_literal

_SHARE = 0.5
"""The part of all equations that may be compiled ahead: then it takes half the time at most."""


class Ahead:
    """What is computed before the calls of a program run on NumPy: its random numbers, and what is
    computed on bare arrays from its inputs alone, such as how many have been drawn.

    `inputs` are JAX's variables of its inputs, `results` those that its calls made, and `needed`
    those that they and its outputs need.
    """

    def __init__(
        self,
        staged: Staged,
        inputs: Sequence[Any],
        results: Iterable[Any],
        needed: Iterable[Any],
    ) -> None:
        made = {id(v) for v in results}
        drawn, bare = _drawn_and_bare(staged, inputs, made)
        self.drawn = frozenset(map(id, drawn))
        wanted = {id(v): v for v in drawn}
        wanted.update((id(v), v) for v in needed if id(v) in bare)
        self._wanted = list(wanted.values())
        equations = staged.needed_for(self._wanted, {id(v) for v in inputs})
        self.is_small = len(equations) <= _SHARE * len(staged.jaxpr.eqns)
        is_used = self.is_small and bool(drawn)
        self._part = staged.part(equations, inputs, self._wanted) if is_used else None

    def values(self, inputs: Sequence[Tensor]) -> dict[int, Tensor]:
        """What is computed, by the ids of the variables."""
        assert self._part is not None
        arrays: list[Any] = [None] * len(inputs)
        for place in self._part.used:
            arrays[place] = array_to_pass(inputs[place])
        found = map(result_tensor, self._part.run(arrays))
        return dict(zip(map(id, self._wanted), found, strict=True))


def _drawn_and_bare(
    staged: Staged, inputs: Sequence[Any], made: set[int]
) -> tuple[list[Any], set[int]]:
    """The results of calls that draw random numbers, and the ids of what is computed from inputs
    without a call.
    """
    drawn: list[Any] = []
    drawing: set[int] = set()  # what such a call has computed by then
    bare = {id(v) for v in (*inputs, *staged.jaxpr.constvars)}
    for equation in staged.jaxpr.eqns:
        read = [v for v in equation.invars if not is_literal(v)]
        draws = (
            equation.primitive.name == "random_wrap"
            or any(xla_programs.uses(p, "random_wrap") for p in xla_programs.parts(equation.params))
            or any(id(v) in drawing for v in read)
        )
        is_bare = not draws and all(id(v) in bare for v in read)
        for variable in equation.outvars:
            if id(variable) in made:
                drawn += [variable] * draws
            elif draws:
                drawing.add(id(variable))
            elif is_bare:
                bare.add(id(variable))
    return drawn, bare
