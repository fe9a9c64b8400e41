"""`Replay`: runs the calls that a program made while it was traced again, on other tensors,
recorded by whatever records now.

The list holds the calls of gradtape's own ops, programs and loops. What was computed between them
on bare arrays, such as the key of a random number, has no derivative: its values come from the
equations that JAX traced.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from gradtape.core.batching import BatchedTensor
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import result_tensor, tensor_of
from gradtape.core.xla.trace import TracedCall
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.loading import load
from gradtape.functions.ahead import Ahead
from gradtape.functions.staging import Staged, is_literal

Slot = int


class _ReplayedCall(NamedTuple):
    """A call whose arrays are replaced by positions in a list; each argument is a position or a
    constant.
    """

    run: Callable[[list[Tensor]], Sequence[Any]]
    given: list[Slot | Tensor]
    results: list[Slot]
    where: tuple[CodeType, int]


class Arrays:
    """The arguments and results of some calls, and a program's outputs, each array once, with a
    position for each.
    """

    def __init__(self, calls: Sequence[TracedCall], outputs: Sequence[Any]) -> None:
        self._places: dict[int, Slot] = {}
        self.arrays: list[Any] = []
        self.outputs = [self._constant_or_place(tensor_of(array)) for array in outputs]
        self.steps = [
            _ReplayedCall(
                call.run,
                [self._constant_or_place(t) for t in call.given],
                list(map(self._place, call.results)),
                call.where,
            )
            for call in calls
        ]

    def _place(self, array: Any) -> Slot:
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self._places[id(array)]

    def _constant_or_place(self, tensor: Tensor) -> Slot | Tensor:
        return (
            self._place(tensor.array)
            if xla_engine.is_traced(tensor.array)
            else tensor_of(tensor.array)
        )


class Replay:
    """Runs the calls of a program again.

    `inputs` are JAX's variables of its inputs, `variables` those of the positions.
    """

    def __init__(
        self, staged: Staged, inputs: Sequence[Any], known: Arrays, variables: Sequence[Any]
    ) -> None:
        self.staged = staged
        self._variables = list(variables)
        self._inputs = list(inputs)
        self._outputs = known.outputs
        self._steps = self._needed(known.steps)

    @functools.cached_property
    def _ahead(self) -> Ahead | None:
        """What is computed before the calls, if any of them draws random numbers."""
        made = [self._variables[place] for step in self._steps for place in step.results]
        places = [place for step in self._steps for place in step.given] + self._outputs
        needed = [self._variables[place] for place in places if isinstance(place, int)]
        ahead = Ahead(self.staged, self._inputs, made, needed)
        return ahead if ahead.drawn else None

    def draws_ahead(self) -> bool:
        """Whether what is to be computed before the calls is little."""
        return self._ahead is None or self._ahead.is_small

    @functools.cached_property
    def _over(self) -> list[list[int]]:
        """For each call, the ids of the variables that nothing needs after it."""
        cuts = {id(self._variables[place]) for step in self._steps for place in step.results}
        cuts.update(map(id, self._inputs))
        between: dict[int, set[int]] = {}

        def needs(place: Slot | Tensor) -> set[int]:
            if not isinstance(place, int):
                return set()
            variable = self._variables[place]
            if id(variable) in cuts:
                return {id(variable)}
            if id(variable) not in between:
                numbers = self.staged.needed_for([variable], cuts)
                read = set(map(id, self.staged.used_by(numbers)))
                between[id(variable)] = read | self.staged.made_by(numbers)
            return between[id(variable)]

        kept: set[int] = set().union(*map(needs, self._outputs))
        found = []
        for step in reversed(self._steps):
            met = {id(self._variables[place]) for place in step.results}.union(
                *map(needs, step.given)
            )
            found.append(list(met - kept))
            kept |= met
        return found[::-1]

    def _needed(self, steps: Sequence[_ReplayedCall]) -> list[_ReplayedCall]:
        """The calls that outputs depend on, through other calls or through what was computed
        between them.
        """
        variables, staged = self._variables, self.staged
        made = [variables[place] for step in steps for place in step.results]
        cuts = {id(v) for v in (*made, *self._inputs)}
        wanted: set[int] = set()

        def want(places: Sequence[Slot | Tensor]) -> None:
            found = [variables[place] for place in places if isinstance(place, int)]
            between = [v for v in found if id(v) not in cuts and id(v) not in wanted]
            wanted.update(map(id, found))
            if between:
                wanted.update(id(v) for v in staged.used_by(staged.needed_for(between, cuts)))

        want(self._outputs)
        needed = []
        for step in reversed(steps):
            if any(id(variables[place]) in wanted for place in step.results):
                needed.append(step)
                want(step.given)
        return needed[::-1]

    def __call__(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs for other inputs."""
        known = {
            id(v): tensor for v, tensor in zip(self._inputs, inputs, strict=True) if v is not None
        }
        state = here.state
        before, goes_on = state.where, state.goes_on
        drawn: Container[int] = ()
        if state.waits and self._ahead is not None and self._ahead.is_small:
            known.update(self._ahead.values(inputs))
            drawn = self._ahead.drawn
        try:
            for step, over in zip(self._steps, self._over, strict=True):
                if any(id(self._variables[place]) in drawn for place in step.results):
                    continue
                if goes_on is not None:
                    goes_on()
                given = [self._value(place, known) for place in step.given]
                state.where = step.where
                results = step.run(given)
                for place, result in zip(step.results, results, strict=True):
                    known.setdefault(
                        id(self._variables[place]),
                        result if isinstance(result, Tensor) else tensor_of(result),
                    )
                del given, results  # memory is as large as what is still needed
                for variable in over:
                    known.pop(variable, None)
        finally:
            state.where = before
        return [self._value(place, known) for place in self._outputs]

    def _value(self, place: Slot | Tensor, known: dict[int, Tensor]) -> Tensor:
        """The tensor at a position; what was computed on bare arrays is computed now, if it is not
        known yet.
        """
        if not isinstance(place, int):
            return tensor_of(place.array)  # another one each time: a tape may watch it
        variable = self._variables[place]
        if id(variable) not in known:
            if is_literal(variable):
                return _literal(variable)
            for number in self.staged.needed_for([variable], known):
                read, made = self.staged.equation(number)
                given = [
                    known[id(v)] if id(v) in known else tensor_of(self.staged.constant(v))
                    for v in read
                ]
                result = self._on_host(number, dict(zip(map(id, read), given, strict=True)))
                results = (
                    _evaluated(functools.partial(self.staged.evaluated, number), given)
                    if result is None
                    else [result]
                )
                known.update(zip(map(id, made), results, strict=True))
        return (
            known[id(variable)]
            if id(variable) in known
            else tensor_of(self.staged.constant(variable))
        )

    def _on_host(self, number: int, known: dict[int, Tensor]) -> Tensor | None:
        """What an equation defines, computed by NumPy, if it is simple enough and nothing is to be
        compiled now; `known` are what it reads, by the ids of the variables.
        """
        equation = self.staged.jaxpr.eqns[number]
        function = _ON_HOST.get(equation.primitive.name)
        if function is None or not here.state.waits:
            return None
        given = [_literal(v) if is_literal(v) else known[id(v)] for v in equation.invars]
        if any(isinstance(t, BatchedTensor) for t in given):
            return None
        arrays = [t.array for t in given]
        if not all(isinstance(a, (np.ndarray, np.generic)) and a.dtype != bool for a in arrays):
            return None
        return tensor_of(here.state.quietly(function, *arrays))


def _literal(variable: Any) -> Tensor:
    return tensor_of(np.asarray(variable.val, variable.aval.dtype)[()])


_ON_HOST: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "optimization_barrier": lambda array: array,
    "copy": lambda array: array,
}
"""What is between calls in most programs, such as the arithmetic of `assign_add` and `assign_sub`;
each of XLA's ops would be compiled alone.
"""


def _evaluated(function: Callable[..., Sequence[Any]], tensors: Sequence[Tensor]) -> list[Tensor]:
    """A function of arrays, applied to Tensors, and to every example of batches."""
    levels = [t.level for t in tensors if isinstance(t, BatchedTensor)]
    if not levels:
        with xla_settings.wide():
            return [
                result_tensor(array)
                for array in function(*[xla_engine.to_xla(t.array) for t in tensors])
            ]
    level = max(levels, key=lambda found: found.depth)
    mapped = [isinstance(t, BatchedTensor) and t.level is level for t in tensors]
    inner = [
        t.inner if m else t  # type: ignore[attr-defined]
        for t, m in zip(tensors, mapped, strict=True)
    ]
    whole = load().vmap(function, in_axes=tuple(0 if m else None for m in mapped))
    return [BatchedTensor(result, level) for result in _evaluated(whole, inner)]
