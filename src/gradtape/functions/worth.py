"""`Worth`: what compiling a traced program takes, and what it saves, estimated from its equations.

The estimate depends on the program alone, and not on how fast a machine is at the moment: two runs
of the same code compile the same sizes in the same calls. Only programs with more than a gigabyte
of results at a time depend on what memory is free.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gradtape.engines.numpy.free_memory import free_bytes
from gradtape.engines.xla import programs as xla_programs

# Seconds, measured with training steps: attention, an LSTM, convolutions, elementwise work.
_COMPILE = 0.05  # for a program, whatever is in it
_COMPILE_EQUATION = 2e-3
_RUN_STEP = 1.5e-6  # of an op on NumPy, beyond what XLA takes for it
_RUN_ELEMENT = 1.5e-10  # of a result that XLA would not have to write to memory

_MOST = 1000  # calls
_MEMORY = 1 << 30  # bytes at a time for which the machine is not asked what it has
_SHARE = 4  # a run on NumPy may take this part of what is free

_NOT_REPLAYED = frozenset(("pure_callback", "io_callback", "call_exported"))


class Worth(NamedTuple):
    """What a program consists of."""

    equations: int  # in its text, bodies of loops and branches included
    steps: float  # when it runs
    elements: float  # of all results of these steps
    primitives: frozenset[str]
    memory: int  # bytes of results that are needed at the same time, if XLA does not fuse them

    @classmethod
    def of(cls, jaxpr: Any) -> Worth:
        """Of a program as JAX traced it."""
        equations, steps, elements = 0, 0.0, 0.0
        primitives: set[str] = set()
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            primitives.add(name)
            equations += 1
            inner = [Worth.of(part) for part in xla_programs.parts(equation.params)]
            times = _times(name, equation.params)
            for part in inner:
                equations += part.equations
                steps += times * part.steps if part.steps else 0.0
                elements += times * part.elements if part.elements else 0.0
                primitives |= part.primitives
            if not inner:
                steps += 1
                elements += sum(math.prod(v.aval.shape) for v in equation.outvars)
        return cls(equations, steps, elements, frozenset(primitives), _memory(jaxpr))

    def pays_in_call(self) -> int:
        """In which call with the same sizes compiling pays, if those before it have run on NumPy:
        what compiling would have saved in them is as much as it takes.

        With a branch it is the first: to a tape in eager code only the branch that is taken exists.
        """
        if "cond" in self.primitives:
            return 1
        saved = self._saved()
        if not saved:
            return _MOST
        return 1 + min(int(self._taken() / saved), _MOST)

    def runs_soon(self) -> bool:
        """Whether a run on NumPy takes less time than compiling, as far as that is known: not for
        a loop whose length only the program knows.
        """
        saved = self._saved()
        return math.isinf(saved) or saved <= self._taken()

    def _saved(self) -> float:
        """The seconds that a compiled run takes less than one on NumPy."""
        return self.steps * _RUN_STEP + self.elements * _RUN_ELEMENT

    def _taken(self) -> float:
        """The seconds that compiling takes."""
        return _COMPILE + self.equations * _COMPILE_EQUATION

    def can_be_replayed(self) -> bool:
        """Whether its calls can run one by one: not loaded programs, which would be compiled, nor
        what is done on the host, which would be done in another order. And whether its results fit
        into memory, where XLA may never have them.
        """
        if self.primitives & _NOT_REPLAYED:
            return False
        return self.memory <= _MEMORY or self.memory <= free_bytes() // _SHARE

    def draws_random_numbers(self) -> bool:
        return "random_wrap" in self.primitives


def _memory(jaxpr: Any) -> int:
    last: dict[int, int] = {}
    for number, equation in enumerate(jaxpr.eqns):
        last.update((id(v), number) for v in equation.invars)
    last.update((id(v), len(jaxpr.eqns)) for v in jaxpr.outvars)
    over: dict[int, int] = {}  # the bytes of what is last read by an equation
    now = most = 0
    for number, equation in enumerate(jaxpr.eqns):
        for variable in equation.outvars:
            bytes_of = math.prod(variable.aval.shape) * variable.aval.dtype.itemsize
            end = last.get(id(variable), number)
            over[end] = over.get(end, 0) + bytes_of
            now += bytes_of
        most = max(most, now)
        now -= over.pop(number, 0)
    return most


def _times(name: str, params: dict[str, Any]) -> float:
    """How often the body of a loop runs: for ever, if only the program knows."""
    if name == "scan":
        return float(params.get("length", 1))
    return math.inf if name == "while" else 1.0
