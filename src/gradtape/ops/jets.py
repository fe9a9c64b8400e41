"""Partial derivatives of every order through one op: what an op may declare as its `jet`,
for Taylor mode.

An `Index` lists the inputs to differentiate with respect to: (0, 0, 1) is twice input 0 and once
input 1. `Partials` are a function from an Index to the partial derivative of one value, None where
that is zero everywhere; for the empty Index it returns the value itself.

A jet takes a `JetCall`, which is a recorded call of its op, and returns the Partials of the output.
It is called once for each of them, so intermediate results can be `step.cached`. A linear op needs
no jet of its own, nor does an elementwise op, whose slope is the pull of ones; where such an op
declares a jet, it is shorter or faster.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np

from gradtape.core.node import Node
from gradtape.core.tensor import Tensor

Index = tuple[int, ...]
Partials = Callable[[Index], Any]
Shape = tuple[int, ...]


class JetCall(Protocol):
    """A recorded call of an op as its jet sees it; `transforms.taylor_mode` makes them."""

    node: Node
    params: dict[str, Any]
    jets: Any

    @property
    def op(self) -> Any: ...

    def cached(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that keeps its results as long as this Step is needed."""

    def moves(self, i: int) -> bool:
        """Whether argument `i` depends on the sources."""

    def input(self, i: int) -> Partials:
        """The partials of argument `i`."""

    def output(self, index: Index) -> Any:
        """The partials of the output, of lower order than those that are being computed."""

    def saves(self, name: str) -> bool:
        """Whether some pull has saved what it calls `name`."""

    def saved(self, name: str) -> Any:
        """What a pull has saved as `name`."""

    def pull(self, i: int, g: Any, **changed: Any) -> Any:
        """The pull of argument `i` as it is declared, with some of what it saved `changed`."""

    def spread(self, value: Any, arguments: Sequence[int]) -> Any:
        """What an elementwise op makes of some of its arguments, in the shape of its output."""

    def in_full(self, value: Any) -> Any:
        """A partial that may have been computed from smaller arguments,
        in the shape of the output.
        """


Jet = Callable[[JetCall], Partials | None]
"""Gives None for a call that it says nothing about; an elementwise op's pulls tell then."""


# Not an error: the derivatives are computed in another way then.
class NoRule(Exception):  # noqa: N818
    """There is no jet for an op, or it misses something that was not saved."""


# Sums and products of partials, in which None is zero


def plus(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x + y


def minus(x: Any, y: Any) -> Any:
    return (None if y is None else -y) if x is None else x if y is None else x - y


def scaled(x: Any, factor: float) -> Any:
    return x if factor == 1 else -x if factor == -1 else x * factor


@cache
def distributions(index: Index, count: int) -> tuple[tuple[tuple[Index, ...], int], ...]:
    """The ways to hand out the entries of an Index to `count` factors,
    and how often each comes about.
    """
    ways: Counter[tuple[Index, ...]] = Counter({((),) * count: 1})
    for entry in index:
        longer: Counter[tuple[Index, ...]] = Counter()
        for parts, times in ways.items():
            for i in range(count):
                longer[(*parts[:i], (*parts[i], entry), *parts[i + 1 :])] += times
        ways = longer
    return tuple(ways.items())


def product_rule(
    index: Index, *factors: Partials, product: Callable[..., Any] = operator.mul
) -> Any:
    """The partial of a product of `factors`, which may be any op that is linear in each."""
    total = None
    for parts, times in distributions(index, len(factors)):
        given = list(zip(factors, parts, strict=True))
        # Only then may the others not have been saved.
        if any(part and factor(part) is None for factor, part in given):
            continue
        values = [factor(part) for factor, part in given]
        if all(value is not None for value in values):
            total = plus(total, scaled(product(*values), times))
    return total


def square_rule(index: Index, x: Partials, factor: float = 1) -> Any:
    """The partial of `factor` times the square of x:
    each pair of different partials comes twice.
    """
    total = None
    for (first, second), times in distributions(index, 2):
        if first <= second and x(first) is not None and x(second) is not None:
            total = plus(
                total, scaled(x(first) * x(second), factor * times * (1 if first == second else 2))
            )
    return total


def chain_rule(index: Index, slope: Partials, x: Partials) -> Any:
    """The partial of a function of x whose derivative is `slope`: that of slope times one first
    partial of x, differentiated on.
    """
    first, rest = index[:1], index[1:]
    return product_rule(rest, slope, lambda part: x(first + part))


def below(index: Index, out: Partials) -> Partials:
    """The partials of an output as far as they are known when that for `index` is computed."""
    return lambda part: None if part == index else out(part)


# Jets of many ops


def linear(step: JetCall) -> Partials:
    """The op itself; arguments that have no such partial are zeros."""
    op = step.op
    if len(op.arguments) == 1:
        return through(step, lambda moved: op.call(moved, **step.params))
    fixed = {i: step.saved(name) for i, name in enumerate(op.arguments) if op.pulls[i] is None}
    inputs = [step.input(i) for i in range(len(op.arguments))]

    def partials(index: Index) -> Any:
        moved = {
            i: value
            for i, x in enumerate(inputs)
            if i not in fixed and (value := x(index)) is not None
        }
        if not moved:
            return None
        like = next(iter(moved.values()))
        shapes = [
            step.saved(f"{name}_shape") if step.saves(f"{name}_shape") else ()
            for name in op.arguments
        ]
        every = {i: zeros(shape, like) for i, shape in enumerate(shapes)} | fixed | moved
        return op.call(*[every[i] for i in range(len(op.arguments))], **step.params)

    return partials


def through(step: JetCall, push: Callable[[Any], Any]) -> Partials:
    """The jet of an op that takes each partial of its first argument to that of its output."""
    x = step.input(0)
    return lambda index: None if (moved := x(index)) is None else push(moved)


def of_many(join: Callable[[JetCall, list[Any]], Any]) -> Jet:
    """The jet of a linear op with any number of arguments; `join` gets their partials,
    None for zeros.
    """

    def jet(step: JetCall) -> Partials:
        def partials(index: Index) -> Any:
            parts = [step.jets.of(parent, index) for parent in step.node.parents]
            return None if all(part is None for part in parts) else join(step, parts)

        return partials

    return jet


def bilinear(step: JetCall) -> Partials:
    """Products of two arguments; further ones are indices."""
    op = step.op
    a, b, *fixed = [step.input(i) for i in range(len(op.arguments))]
    product = lambda a, b: op.call(a, b, *[value(()) for value in fixed], **step.params)
    return lambda index: product_rule(index, a, b, product=product)


def zeros(shape: Shape, like: Tensor) -> Tensor:
    return Tensor(np.zeros(shape, like.array.dtype))


def ones_like(x: Tensor) -> Tensor:
    return Tensor(np.ones(x.array.shape, x.array.dtype))


def same_shape(out: Shape, /, **saved: Any) -> Shape:
    """Declared as `input_shape`: the argument of an op has the shape of its output."""
    return out
