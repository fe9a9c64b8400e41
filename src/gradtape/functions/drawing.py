"""The program of a compiled function as a graph for drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape import dtypes
from gradtape.core.variable import Variable
from gradtape.functions.exporting import jaxpr_of
from gradtape.functions.function import Function
from gradtape.inspect.drawing import Drawn, Names

if TYPE_CHECKING:
    from gradtape.functions.concrete_function import ConcreteFunction


def drawn_function(function: Function | ConcreteFunction) -> list[Drawn]:
    """The programs that a function has by now, each in a scope of its own."""
    programs = list(function._concrete.values()) if isinstance(function, Function) else [function]
    if not programs:
        raise ValueError(
            "graph: the function has not been traced yet: call it first, or give "
            "function.get_concrete_function(...)."
        )
    names, found = Names(), list[Drawn]()
    for program in programs:
        if program.runs_eagerly:
            raise ValueError(
                f"graph: {program.name} is not compiled, but runs op by op, so that it has no "
                "program: give a tape that has recorded a call."
            )
        title = program.name.rpartition("<locals>.")[2]
        _Drawing(names, found).program(program, f"{names.new(title)}/")
    return found


class _Drawing:
    def __init__(self, names: Names, found: list[Drawn]) -> None:
        self._names, self._found = names, found

    def program(self, concrete: ConcreteFunction, scope: str) -> None:
        """Its arguments, the Variables it reads, what it computes, and its results."""
        program = concrete.program
        jaxpr = jaxpr_of(program).jaxpr
        known: dict[int, str] = {}
        sources = [*[None] * len(program.specs), *program.taken]
        for variable, source in zip(jaxpr.invars, sources, strict=True):
            is_variable = isinstance(source, Variable)
            name = source.name.removesuffix(":0") if is_variable else "argument"
            op = "Variable" if is_variable else "Placeholder"
            known[id(variable)] = self._add(scope + name, op, [], [variable])
        self._equations(jaxpr, known, scope)
        for output in jaxpr.outvars:
            if id(output) in known:
                self._add(f"{scope}result", "Result", [known[id(output)]], [output])

    def _add(self, name: str, op: str, inputs: list[str], results: list[Any]) -> str:
        given = self._names.new(name)
        shapes = [(dtypes.as_dtype(r.aval.dtype), tuple(r.aval.shape)) for r in results]
        self._found.append(Drawn(given, op, inputs, shapes))
        return given

    def _equations(self, jaxpr: Any, known: dict[int, str], scope: str) -> None:
        for equation in jaxpr.eqns:
            inputs = [known[id(v)] for v in equation.invars if id(v) in known]
            below = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
            below = getattr(below, "jaxpr", below)
            if hasattr(below, "eqns") and len(below.invars) == len(equation.invars):
                inner = {
                    id(own): known[id(outer)]
                    for own, outer in zip(below.invars, equation.invars, strict=True)
                    if id(outer) in known
                }
                name = str(equation.params.get("name", equation.primitive.name))
                self._equations(below, inner, f"{self._names.new(scope + name.strip('_'))}/")
                for own, outer in zip(below.outvars, equation.outvars, strict=True):
                    if id(own) in inner:
                        known[id(outer)] = inner[id(own)]
                continue
            op = equation.primitive.name
            name = self._add(scope + op, op, inputs, equation.outvars)
            known.update({id(result): name for result in equation.outvars})
