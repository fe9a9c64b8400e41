"""A program for open sizes, made from programs for known ones.

Functions are traced with known sizes. Traced for several sizes, a function has the same equations,
and the numbers in them that differ, in shapes and elsewhere, follow from the sizes as
`open_numbers` says. `Merged` compares such programs and runs their equations with JAX's symbolic
sizes in the place of those numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.engines.xla.loading import load
from gradtape.functions.open_numbers import (
    Diagonal,
    NotOpenError,
    Sizes,
    Term,
    counting,
    diagonal,
    fitted,
    same,
)

_INLINED = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
    "remat": "jaxpr", "checkpoint": "jaxpr", "remat2": "jaxpr", "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
}  # fmt: skip


class Merged:
    """Programs for `samples` of sizes, and maybe for others, as one with open sizes."""

    def __init__(
        self, programs: Sequence[Any], sizes: Sequence[Sizes], symbols: Sequence[Any]
    ) -> None:
        """`programs` are closed jaxprs, each for one of `sizes`, `symbols` JAX's symbolic sizes."""
        self._programs = programs
        self._sizes = sizes
        self._symbols = symbols

    def __call__(self, *arrays: Any) -> list[Any]:
        """Runs the equations, in a program that is being traced with the symbolic sizes."""
        return self._run(
            [p.jaxpr for p in self._programs], [p.consts for p in self._programs], arrays
        )

    def shape(self, shapes: Sequence[Sequence[int]]) -> tuple[Any, ...]:
        """A shape that differs between the programs, with open sizes."""
        return self._merged([tuple(shape) for shape in shapes], "result")

    def _run(
        self, jaxprs: Sequence[Any], constants: Sequence[Sequence[Any]], arrays: Sequence[Any]
    ) -> list[Any]:
        first = jaxprs[0]
        if any(len(jaxpr.eqns) != len(first.eqns) for jaxpr in jaxprs):
            raise NotOpenError("it does not have as many steps for each size")
        values: dict[Any, Any] = dict(zip(first.invars, arrays, strict=True))
        for variable, *found in zip(first.constvars, *constants, strict=True):
            values[variable] = self._constant(found)
        for equations in zip(*[jaxpr.eqns for jaxpr in jaxprs], strict=True):
            found = self._equation(equations, [
                self._read(variables, values)
                for variables in zip(*[e.invars for e in equations], strict=True)
            ])  # fmt: skip
            values.update(zip(equations[0].outvars, found, strict=True))
        return [
            self._read(variables, values)
            for variables in zip(*[jaxpr.outvars for jaxpr in jaxprs], strict=True)
        ]

    def _read(self, variables: Sequence[Any], values: Mapping[Any, Any]) -> Any:
        first = variables[0]
        if not hasattr(first, "val"):
            return values[first]
        literals = [variable.val for variable in variables]
        if all(np.array_equal(literal, literals[0], equal_nan=True) for literal in literals):
            return first.val
        return self._number(literals, np.dtype(first.aval.dtype))

    def _equation(self, equations: Sequence[Any], arrays: list[Any]) -> list[Any]:
        first = equations[0]
        name = first.primitive.name
        if any(equation.primitive is not first.primitive for equation in equations):
            raise NotOpenError("it does not take the same steps for each size")
        params = [equation.params for equation in equations]
        if name in _INLINED and _INLINED[name] in first.params:
            return self._inner([p[_INLINED[name]] for p in params], arrays)
        special = {"while": self._while, "scan": self._scan, "cond": self._cond}.get(name)
        if special is not None:
            return special(params, arrays)
        if any(p.keys() != first.params.keys() for p in params):
            raise NotOpenError(f"the step '{name}' differs")
        merged = {key: self._merged([p[key] for p in params], name) for key in first.params}
        found = first.primitive.bind(*arrays, **merged)
        return list(found) if first.primitive.multiple_results else [found]

    def _inner(self, inner: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        jaxprs = [getattr(part, "jaxpr", part) for part in inner]
        return self._run(jaxprs, [getattr(part, "consts", ()) for part in inner], arrays)

    def _while(self, params: Sequence[Any], arrays: list[Any]) -> list[Any]:
        first = params[0]
        of_condition, of_body = first["cond_nconsts"], first["body_nconsts"]
        condition, body, state = _parted(arrays, of_condition, of_body)
        return load().lax.while_loop(
            lambda now: self._inner([p["cond_jaxpr"] for p in params], [*condition, *now])[0],
            lambda now: self._inner([p["body_jaxpr"] for p in params], [*body, *now]),
            list(state),
        )

    def _scan(self, params: Sequence[Any], arrays: list[Any]) -> list[Any]:
        first = params[0]
        same, state, rows = _parts_of_a_scan(first, arrays)

        def step(now: Any, row: Any) -> Any:
            found = self._inner([p["jaxpr"] for p in params], [*same, *now, *row])
            return found[: len(state)], found[len(state) :]

        # The rows say how many there are, whereas JAX asks for a known number here.
        length = None if rows else self._merged([p["length"] for p in params], "scan")
        last, stacked = load().lax.scan(
            step, state, rows, length, reverse=first["reverse"], unroll=first["unroll"]
        )
        return [*last, *stacked]

    def _cond(self, params: Sequence[Any], arrays: list[Any]) -> list[Any]:
        index, *given = arrays

        def branch(number: int) -> Callable[..., list[Any]]:
            return lambda *now: self._inner([p["branches"][number] for p in params], now)

        branches = [branch(number) for number in range(len(params[0]["branches"]))]
        return load().lax.switch(index, branches, *given)

    def _merged(self, found: Sequence[Any], step: str) -> Any:
        """A parameter of a step, with open sizes where it differs."""
        first = found[0]
        if isinstance(first, (bool, np.bool_)) or first is None:
            pass
        elif isinstance(first, (int, np.integer)):
            if any(other != first for other in found):
                return self._size(found)
            return first
        elif isinstance(first, (tuple, list)):
            if any(type(other) is not type(first) or len(other) != len(first) for other in found):
                raise NotOpenError(f"a parameter of the step '{step}' differs")
            parts = [self._merged(part, step) for part in zip(*found, strict=True)]
            return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
        elif isinstance(first, dict):
            return {key: self._merged([other[key] for other in found], step) for key in first}
        elif hasattr(first, "eqns") or hasattr(first, "jaxpr"):
            if any(str(other) != str(first) for other in found):
                raise NotOpenError(f"the function in the step '{step}' differs")
            return first
        if any(other is not first and other != first for other in found):
            raise NotOpenError(f"a parameter of the step '{step}' differs")
        return first

    def _size(self, found: Sequence[int]) -> Any:
        terms = fitted([int(n) for n in found], self._sizes, 0.0)
        if any(term.factor.denominator != 1 for term in terms):
            raise NotOpenError("a size is a fraction of the open sizes")
        return self._sum(terms)

    def _sum(self, terms: Sequence[Term]) -> Any:
        total: Any = 0
        for factor, places in terms:
            total = total + math.prod([self._symbols[i] for i in places], start=int(factor))
        return total

    def _number(self, found: Sequence[Any], dtype: np.dtype[Any]) -> Any:
        """A number in the program that differs. What is None in it may be anything."""
        is_float = load().numpy.issubdtype(dtype, np.floating)
        if not is_float and dtype.kind not in "iu":
            raise NotOpenError(f"a number in it of dtype {dtype} differs")
        numbers = [None if n is None else float(n) if is_float else int(n) for n in found]
        if not is_float:
            return self._value(fitted(numbers, self._sizes, 0.0), dtype)
        error = 2.0 * float(load().numpy.finfo(dtype).eps)
        try:
            return self._value(fitted(numbers, self._sizes, error), dtype)
        except NotOpenError:
            if not all(n is None or n for n in numbers):
                raise
        inverse = fitted([None if n is None else 1 / n for n in numbers], self._sizes, error)
        return self._value(inverse, dtype, inverse=True)

    def _value(self, terms: Sequence[Term], dtype: np.dtype[Any], *, inverse: bool = False) -> Any:
        xp = load().numpy
        common = math.lcm(*[term.factor.denominator for term in terms])
        total = xp.asarray(
            self._sum([term._replace(factor=term.factor * common) for term in terms])
        )
        if not xp.issubdtype(dtype, np.floating):
            return (total // common).astype(dtype)
        value = total.astype(np.float32 if dtype.itemsize <= 4 else dtype)
        value = common / value if inverse else value / common
        return value.astype(dtype)

    def _constant(self, found: Sequence[Any]) -> Any:
        """An array in the program: the same for all sizes, one that counts along its axes, or one
        that is a mask along a diagonal.
        """
        arrays = [np.asarray(array) for array in found]
        if all(same(array, arrays[0]) for array in arrays):
            return found[0]
        if len({array.ndim for array in arrays}) == 1:
            counts = [counting(array) for array in arrays]
            if None not in counts:
                return self._counting(arrays, counts)
            diagonals = [diagonal(array) for array in arrays]
            if diagonals[0] is not None and all(d == diagonals[0] for d in diagonals):
                return self._along_diagonal(arrays, diagonals[0])
        raise NotOpenError(
            f"an array of shape {found[0].shape} in it was computed from a size by Python"
        )

    def _counting(self, arrays: Sequence[Any], counts: Sequence[Any]) -> Any:
        dtype, shape = arrays[0].dtype, self._shape_of(arrays)
        start, *steps = [self._value_of(numbers, dtype) for numbers in zip(*counts, strict=True)]
        xp, lax = load().numpy, load().lax
        total = xp.broadcast_to(xp.asarray(start, dtype), shape)
        for axis, step in enumerate(steps):
            if isinstance(step, (bool, np.generic)) and not step:
                continue
            place = lax.broadcasted_iota(dtype, shape, axis)
            # A step that divides by the size less one is infinite where there is one place.
            total = total + xp.where(place > 0, step * place, xp.zeros((), dtype))
        return total

    def _along_diagonal(self, arrays: Sequence[Any], parts: Diagonal) -> Any:
        xp, lax = load().numpy, load().lax
        shape, dtype = self._shape_of(arrays), arrays[0].dtype
        rows, columns = [lax.broadcasted_iota(np.int64, shape, axis) for axis in parts.axes]
        below, on, above = [xp.asarray(part, dtype) for part in parts[1:]]
        return xp.where(rows > columns, below, xp.where(rows == columns, on, above))

    def _shape_of(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        return self.shape([array.shape for array in arrays])

    def _value_of(self, numbers: Sequence[Any], dtype: Any) -> Any:
        """A number of a counting array, where None is one that the array does not show."""
        known = [n for n in numbers if n is not None]
        if not known:
            return np.zeros((), dtype)[()]
        return known[0] if all(n == known[0] for n in known) else self._number(numbers, dtype)


def _parts_of_a_scan(
    params: Mapping[str, Any], arrays: list[Any]
) -> tuple[list[Any], list[Any], list[Any]]:
    """What all steps use, what goes from step to step, and what has a row for each step."""
    if "num_consts" in params:
        return _parted(arrays, params["num_consts"], params["num_carry"])
    same, state, rows = map(list, params["ft_in"].update(arrays).unpack())  # from JAX 0.11 on
    return same, state, rows


def _parted(arrays: list[Any], first: int, second: int) -> tuple[list[Any], list[Any], list[Any]]:
    return arrays[:first], arrays[first : first + second], arrays[first + second :]
