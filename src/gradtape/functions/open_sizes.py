"""A program for open sizes, made from programs for known ones.

Functions are traced with known sizes. Traced for several sizes, a function has the same equations,
and the numbers in them that differ, in shapes and elsewhere, are linear in the sizes, or the
reciprocal of something linear, as in a mean. `Merged` compares such programs and runs their
equations with JAX's symbolic sizes in the place of those numbers. One program more than is needed
shows whether the numbers are as they were taken to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradtape.engines.xla.loading import load

FIRST, SECOND, THIRD = 11, 13, 17
"""Sizes that a function is traced with: prime numbers, so that few others are like them."""

_INLINED = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
    "remat": "jaxpr", "checkpoint": "jaxpr", "remat2": "jaxpr", "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
}  # fmt: skip
_EXACT = 1e-6  # how far a float may be from the number that it stands for, relatively


class NotOpenError(Exception):
    """The programs for different sizes differ in more than numbers that follow from the sizes."""


def samples(count: int) -> list[tuple[int, ...]]:
    """The sizes to trace with, for `count` open ones: each alone is changed once, and in the end
    all of them.
    """
    first = (FIRST,) * count
    changed = [(*first[:i], SECOND, *first[i + 1 :]) for i in range(count)]
    return [first, *changed, (THIRD,) * count] if count else [()]


class Merged:
    """Programs, one for each of `samples(len(symbols))`, as one with open sizes."""

    def __init__(self, programs: Sequence[Any], symbols: Sequence[Any]) -> None:
        """`programs` are closed jaxprs, `symbols` JAX's symbolic sizes."""
        self._programs = programs
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
        same, state, rows = _parted(arrays, first["num_consts"], first["num_carry"])

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
        factors = _linear([Fraction(int(n)) for n in found], len(self._symbols))
        if factors is None or any(f.denominator != 1 for f in factors):
            raise NotOpenError("a size is not linear in the open sizes")
        return self._sum([int(f) for f in factors])

    def _sum(self, factors: Sequence[int]) -> Any:
        total, *rest = factors
        for factor, symbol in zip(rest, self._symbols, strict=True):
            if factor:
                total = total + factor * symbol
        return total

    def _number(self, found: Sequence[Any], dtype: np.dtype[Any]) -> Any:
        """A number in the program that differs."""
        numbers = [complex(n).real for n in found]
        if all(np.isfinite(numbers)) and dtype.kind in "iuf":
            for inverse in (False, True) if dtype.kind == "f" and all(numbers) else (False,):
                near = [_fraction(1 / n if inverse else n) for n in numbers]
                factors = None if None in near else _linear(near, len(self._symbols))
                if factors is not None:
                    return self._value(factors, inverse, dtype)
        raise NotOpenError("a number in it is computed from a size in a way that is not linear")

    def _value(self, factors: Sequence[Fraction], inverse: bool, dtype: np.dtype[Any]) -> Any:
        xp = load().numpy
        common = int(np.lcm.reduce([f.denominator for f in factors]))
        total = xp.asarray(self._sum([int(f * common) for f in factors]))
        if dtype.kind != "f":
            return (total // common).astype(dtype)
        value = total.astype(np.float32 if dtype.itemsize <= 4 else dtype)
        value = common / value if inverse else value / common
        return value.astype(dtype)

    def _constant(self, found: Sequence[Any]) -> Any:
        """An array in the program: the same for all sizes, or one that counts along its axes."""
        first = found[0]
        arrays = [np.asarray(array) for array in found]
        if all(_same(array, arrays[0]) for array in arrays):
            return first
        counts = [_counting(array) for array in arrays]
        if None in counts or len({array.ndim for array in arrays}) != 1:
            raise NotOpenError(
                f"an array of shape {first.shape} in it was computed from a size by Python"
            )
        shape = self._merged([array.shape for array in arrays], "constant")
        start, *steps = [
            self._value_of(numbers, first.dtype) for numbers in zip(*counts, strict=True)
        ]
        xp, lax = load().numpy, load().lax
        total = xp.broadcast_to(xp.asarray(start, first.dtype), shape)
        for axis, step in enumerate(steps):
            if not (isinstance(step, (int, float, np.generic)) and step == 0):
                total = total + step * lax.broadcasted_iota(first.dtype, shape, axis)
        return total

    def _value_of(self, numbers: Sequence[Any], dtype: Any) -> Any:
        same = all(n == numbers[0] for n in numbers)
        return numbers[0] if same else self._number(numbers, np.dtype(dtype))


def _counting(array: np.ndarray[Any, Any]) -> list[Any] | None:
    """The first element of an array and its steps along the axes, if all others follow from them
    exactly.
    """
    if not array.size or array.dtype.kind not in "biuf":
        return None
    origin = (0,) * array.ndim
    start = array[origin]
    if array.dtype.kind == "b":
        return [start, *origin] if (array == start).all() else None
    steps = [
        array[(*origin[:axis], 1, *origin[axis + 1 :])] - start if size > 1 else 0
        for axis, size in enumerate(array.shape)
    ]
    whole = np.full(array.shape, start, array.dtype)
    for axis, step in enumerate(steps):
        line = np.arange(array.shape[axis]).astype(array.dtype) * step
        whole = whole + line.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    return [start, *steps] if _same(whole.astype(array.dtype), array) else None


def _parted(arrays: list[Any], first: int, second: int) -> tuple[list[Any], list[Any], list[Any]]:
    return arrays[:first], arrays[first : first + second], arrays[first + second :]


def _same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a is b or np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def _linear(found: Sequence[Fraction | None], count: int) -> list[Fraction] | None:
    """The constant and the factors of the sizes; None if the last of `found`, which is not needed
    to compute them, is another number than they give.
    """
    numbers = [n for n in found if n is not None]
    factors = [(n - numbers[0]) / (SECOND - FIRST) for n in numbers[1 : 1 + count]]
    constant = numbers[0] - FIRST * sum(factors)
    if constant + THIRD * sum(factors) != numbers[-1]:
        return None
    return [constant, *factors]


def _fraction(number: float) -> Fraction | None:
    """The simple fraction that a float stands for, if there is one."""
    near = Fraction(number).limit_denominator(10_000)
    return near if abs(near - Fraction(number)) <= abs(_EXACT * number) else None
