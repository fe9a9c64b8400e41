"""How ops carry partial derivatives from their inputs to their output: the rules that `GradientTape.derivatives` goes by.

A rule takes a `Step` and gives the partials of its output; it is called once for each recorded op, so what it computes on the
way can be `step.cached`. `out` and `x` stand for the partials of the op's output and first argument.

An elementwise op without a rule of its own has one from its pulls: the pull of ones is the slope, a recorded computation on what
was saved, and the partials of that are found by the rules again.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from gradtape.core.backward import OutputRule
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.ops import elementary, pooling, reductions, shaping
from gradtape.ops.activations import sigmoid
from gradtape.ops.arithmetic import equal, logical_and, sign
from gradtape.ops.broadcasting import broadcast_to, identity
from gradtape.ops.derivative import may_hold_nan
from gradtape.ops.selection import drop, keep
from gradtape.transforms.taylor_mode.jets import (
    Index,
    Jets,
    NoRule,
    Partials,
    Step,
    chain_rule,
    declared,
    minus,
    plus,
    product_rule,
    scaled,
    square_rule,
)

Rule = Callable[[Step], Partials]

_rules: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    """Declares the rule of the ops with these names."""

    def declare(rule: Rule) -> Rule:
        _rules.update(dict.fromkeys(names, rule))
        return rule

    return declare


def rule_for(step: Step) -> Partials:
    """The partials of a recorded op's output."""
    if isinstance(declared(step.node), OutputRule):
        return _output(step)
    op = step.op
    rule = _rules.get(op.name) or (_linear if op.linear else _elementwise if step.is_elementwise else None)
    if rule is None:
        raise NoRule
    return _with_zeros(step, rule(step)) if step.is_elementwise and any(op.guarded) else rule(step)


def _with_zeros(step: Step, partials: Partials) -> Partials:
    """Strong zeros: a partial is zero where nothing that an elementwise op was given moves, whatever its derivative there."""
    moving = [step.input(i) for i, pull in enumerate(step.op.pulls) if pull is not None and step.moves(i)]

    def guarded(index: Index) -> Any:
        value = partials(index)
        if value is None or not may_hold_nan(value):
            return value
        parts = {part for count in range(1, len(index) + 1) for part in combinations(index, count)}
        still: Any = None
        for moved in [x(part) for x in moving for part in sorted(parts)]:
            if moved is not None:
                zero = equal(moved, 0)
                still = zero if still is None else logical_and(still, zero)
        return value if still is None else drop(value, still)

    return guarded


def _output(step: Step) -> Partials:
    """One output of an op with several: their partials come as a list."""
    parent, which = step.node.parents[0], declared(step.node).index

    def partials(index: Index) -> Any:
        outputs = step.jets.of(parent, index)
        return None if outputs is None else outputs[which]

    return partials


# Linear ops, and those that are linear in each argument


def _linear(step: Step) -> Partials:
    """The op itself; arguments that have no such partial are zeros."""
    op = step.op
    if len(op.arguments) == 1:
        x = step.input(0)
        return lambda index: None if (moved := x(index)) is None else op.call(moved, **step.params)
    fixed = {i: step.saved(name) for i, name in enumerate(op.arguments) if op.pulls[i] is None}
    inputs = [step.input(i) for i in range(len(op.arguments))]

    def partials(index: Index) -> Any:
        moved = {i: value for i, x in enumerate(inputs) if i not in fixed and (value := x(index)) is not None}
        if not moved:
            return None
        like = next(iter(moved.values()))
        shapes = [step.saved(f"{name}_shape") if step.saves(f"{name}_shape") else () for name in op.arguments]
        zeros = {i: _zeros(shape, like) for i, shape in enumerate(shapes)}
        every = zeros | fixed | moved
        return op.call(*[every[i] for i in range(len(op.arguments))], **step.params)

    return partials


def _of_many(join: Callable[[Step, list[Any]], Any]) -> Rule:
    """The rule of a linear op with any number of arguments; `join` gets their partials, None for zeros."""

    def rule(step: Step) -> Partials:
        def partials(index: Index) -> Any:
            parts = [step.jets.of(parent, index) for parent in step.node.parents]
            return None if all(part is None for part in parts) else join(step, parts)

        return partials

    return rule


def _concat(step: Step, parts: list[Any]) -> Any:
    like = next(part for part in parts if part is not None)
    shapes = step.saved("shapes")
    filled = [_zeros(shape, like) if part is None else part for part, shape in zip(parts, shapes, strict=True)]
    return shaping.concat(*filled, **step.params)


def _stack(step: Step, parts: list[Any]) -> Any:
    like = next(part for part in parts if part is not None)
    return shaping.stack(*[_zeros(like.array.shape, like) if part is None else part for part in parts], **step.params)


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return Tensor(np.zeros(shape, like.array.dtype))


def _add_n(step: Step, parts: list[Any]) -> Any:
    first, *others = [part for part in parts if part is not None]
    for part in others:
        first = first + part
    return first


@_rule("complex")
def _complex(step: Step) -> Partials:
    real, imag = step.input(0), step.input(1)

    def partials(index: Index) -> Any:
        like = real(index) if imag(index) is None else imag(index)
        if like is None:
            return None
        parts = [_zeros((), like) if part is None else part for part in (real(index), imag(index))]
        return step.in_full(step.op.call(*parts))

    return partials


_rules |= {"concat": _of_many(_concat), "stack": _of_many(_stack), "add_n": _of_many(_add_n)}


@_rule("multiply", "times", "both", "matmul", "conv", "conv_by_input", "conv_by_filter", "sparse_matmul", "dots_at", "convolve")
def _bilinear(step: Step) -> Partials:
    """Products of two arguments; further ones are indices."""
    op = step.op
    a, b, *fixed = [step.input(i) for i in range(len(op.arguments))]
    product = lambda a, b: op.call(a, b, *[value(()) for value in fixed], **step.params)
    return lambda index: product_rule(index, a, b, product=product)


@_rule("einsum")
def _einsum(step: Step) -> Partials:
    values, of = step.saved("args"), step.jets.of

    def factor(i: int) -> Partials:
        return lambda index: of(step.node.parents[i], index) if index else values[i]

    factors = [factor(i) for i in range(len(values))]
    return lambda index: product_rule(index, *factors, product=lambda *args: step.op.call(*args, **step.params))


@_rule("add")
def _add(step: Step) -> Partials:
    x, y = step.input(0), step.input(1)
    return lambda index: _spread(step, plus(x(index), y(index)), index)


@_rule("subtract")
def _subtract(step: Step) -> Partials:
    x, y = step.input(0), step.input(1)
    return lambda index: _spread(step, minus(x(index), y(index)), index)


def _spread(step: Step, value: Any, index: Index) -> Any:
    return None if value is None else step.spread(value, [i for i in (0, 1) if step.input(i)(index) is not None])


# Elementwise ops


@_rule("exp")
def _exp(step: Step) -> Partials:
    x, out = step.input(0), step.output
    return lambda index: chain_rule(index, out, x)


@_rule("tanh")
def _tanh(step: Step) -> Partials:
    x, out = step.input(0), step.output

    @step.cached
    def slope(index: Index) -> Any:
        return square_rule(index, out, -1) if index else 1 - out(()) * out(())

    return lambda index: chain_rule(index, slope, x)


@_rule("sigmoid")
def _sigmoid(step: Step) -> Partials:
    return _sigmoid_of(step, step.output)


def _sigmoid_of(step: Step, out: Partials) -> Partials:
    x = step.input(0)

    @step.cached
    def slope(index: Index) -> Any:
        return minus(out(index), square_rule(index, out))

    return lambda index: chain_rule(index, slope, x)


@_rule("softplus")
def _softplus(step: Step) -> Partials:
    x = step.input(0)

    @step.cached
    def slope(index: Index) -> Any:
        return of_slope(index) if index else sigmoid(x(()))

    of_slope = _sigmoid_of(step, slope)
    return lambda index: chain_rule(index, slope, x)


@_rule("sin")
def _sin(step: Step) -> Partials:
    return _sine_and_cosine(step)[0]


@_rule("cos")
def _cos(step: Step) -> Partials:
    return _sine_and_cosine(step)[1]


def _sine_and_cosine(step: Step) -> tuple[Partials, Partials]:
    """Each is the other's slope, but for the sign."""
    x = step.input(0)

    @step.cached
    def sine(index: Index) -> Any:
        return chain_rule(index, cosine, x) if index else elementary.sin(x(()))

    @step.cached
    def cosine(index: Index) -> Any:
        return minus(None, chain_rule(index, sine, x)) if index else elementary.cos(x(()))

    return sine, cosine


@_rule("log")
def _log(step: Step) -> Partials:
    x = step.input(0)

    @step.cached
    def slope(index: Index) -> Any:
        return _reciprocal_of(x, slope)(index) if index else 1 / x(())

    return lambda index: chain_rule(index, slope, x)


@_rule("reciprocal")
def _reciprocal(step: Step) -> Partials:
    return _reciprocal_of(step.input(0), step.output)


def _reciprocal_of(x: Partials, out: Partials) -> Partials:
    """From out * x = 1: what the terms with lower partials of `out` add up to, that with the highest must make good."""

    def partials(index: Index) -> Any:
        rest = product_rule(index, _below(index, out), x)
        return None if rest is None else -out(()) * rest

    return partials


def _below(index: Index, out: Partials) -> Partials:
    """The partials of an output as far as they are known when that for `index` is computed."""
    return lambda part: None if part == index else out(part)


@_rule("divide")
def _divide(step: Step) -> Partials:
    """From out * y = x."""
    x, y, out = step.input(0), step.input(1), step.output

    def partials(index: Index) -> Any:
        numerator = minus(x(index), product_rule(index, _below(index, out), y))
        return None if numerator is None else numerator / y(())

    return partials


@_rule("sqrt")
def _sqrt(step: Step) -> Partials:
    """From out * out = x."""
    x, out = step.input(0), step.output

    def partials(index: Index) -> Any:
        rest = minus(x(index), square_rule(index, _below(index, out)))
        return None if rest is None else rest / (out(()) + out(()))

    return partials


@_rule("square")
def _square(step: Step) -> Partials:
    x = step.input(0)
    return lambda index: square_rule(index, x)


@_rule("reduce_variance")
def _variance(step: Step) -> Partials:
    """The mean of the squared distances from the mean."""
    x, axis = step.input(0), step.params.get("axis")

    @step.cached
    def distance(index: Index) -> Any:
        moved = x(index)
        return None if moved is None else moved - reductions.reduce_mean(moved, axis=axis, keepdims=True)

    def partials(index: Index) -> Any:
        squared = square_rule(index, distance)
        return None if squared is None else reductions.reduce_mean(squared, **step.params)

    return partials


@_rule("pow")
def _pow(step: Step) -> Partials:
    """A power with an exponent that does not move is its factor times a lower power; a whole one comes to an end at 1."""
    if step.moves(1):
        return _elementwise(step)
    x = step.input(0)

    @step.cached
    def lowered(times: int, index: Index) -> Any:
        """A partial of the derivative that is taken `times` by x itself."""
        if index:
            return chain_rule(index, lambda part: lowered(times + 1, part), x)
        exponent, factor = step.saved("y"), 1
        for i in range(times):
            factor = factor * (exponent - i)
        if isinstance(exponent, Tensor):
            return factor * x(()) ** (exponent - times)
        if factor == 0:
            return None
        if times == exponent:
            return Tensor(np.full(x(()).array.shape, factor, x(()).array.dtype))
        return scaled(x(()) if exponent - times == 1 else x(()) ** (exponent - times), factor)

    return lambda index: lowered(0, index)


def _elementwise(step: Step) -> Partials:
    """Any elementwise op: a pull takes partials forward as it does tangents, and its slope moves on with what it depends on."""
    moving = [i for i, pull in enumerate(step.op.pulls) if pull is not None and step.moves(i)]
    inputs = {i: step.input(i) for i in moving}
    slopes = step.cached(lambda i: _slope(step, i, moving))

    def term(i: int, index: Index) -> Any:
        first, rest = index[:1], index[1:]
        through = None if inputs[i](index) is None else step.pull(i, inputs[i](index))
        if not rest:
            return through
        moved = product_rule(rest, lambda part: slopes(i)(part) if part else None, lambda part: inputs[i](first + part))
        return plus(through, moved)

    def partials(index: Index) -> Any:
        terms = {i: value for i in moving if (value := term(i, index)) is not None}
        total = None
        for value in terms.values():
            total = plus(total, value)
        return total if total is None or len(step.op.arguments) == 1 else step.spread(total, list(terms))

    return partials


def _slope(step: Step, i: int, moving: list[int]) -> Partials:
    """The partials of an elementwise op's derivative by argument `i`, apart from its value."""
    saved = step.saved_by(i)
    of = {step.op.arguments[k]: step.input(k) for k in moving} | {"out": step.output}
    fresh = {name: identity(saved[name]) for name in of if isinstance(saved.get(name), Tensor)}
    if not fresh:
        return lambda index: None
    shape = np.broadcast_shapes(*[value.array.shape for value in saved.values() if isinstance(value, Tensor)])
    dtype = next(iter(fresh.values())).array.dtype
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(fresh)
        slope = step.pull(i, Tensor(np.ones(shape, dtype)), **fresh)
    node, recording = tape._node_of(slope), tape.scope
    if node is None or recording is None:
        return lambda index: None
    sources = {leaf: of[name] for name, value in fresh.items() if (leaf := tape._node_of(value)) is not None}
    jets = Jets(rule_for, sources, node, shape, recording)
    jets.tape = tape  # with which the recording would end
    step.at_release.append(jets.release)
    return lambda index: jets.of(node, index)


# Choices, whose slopes are steps


@_rule("abs")
def _abs(step: Step) -> Partials:
    x = step.input(0)
    if x(()).array.dtype.kind == "c":
        raise NoRule
    signs = sign(x(()))
    return lambda index: None if (moved := x(index)) is None else moved * signs


@_rule("where")
def _where(step: Step) -> Partials:
    x, y, condition = step.input(1), step.input(2), step.saved("condition")

    def partials(index: Index) -> Any:
        kept, other = x(index), y(index)
        total = plus(None if kept is None else keep(kept, condition), None if other is None else drop(other, condition))
        return None if total is None else step.in_full(total)

    return partials


@_rule("pad")
def _pad(step: Step) -> Partials:
    x, paddings = step.input(0), step.params["paddings"]
    return lambda index: None if (moved := x(index)) is None else shaping.pad(moved, paddings=paddings)


@_rule("reduce_max", "reduce_min")
def _extremum(step: Step) -> Partials:
    x, out = step.input(0), step.output(())
    shares = step.pull(0, _ones_like(out))
    return lambda index: None if (moved := x(index)) is None else reductions.reduce_sum(moved * shares, **step.params)


def _ones_like(x: Tensor) -> Tensor:
    return Tensor(np.ones(x.array.shape, x.array.dtype))


@_rule("max_pool")
def _max_pool(step: Step) -> Partials:
    x, out = step.input(0), step.output(())
    return lambda index: None if (moved := x(index)) is None else pooling.max_pick(moved, x(()), out, **step.params)


# Softmax and its kin


@_rule("softmax")
def _softmax(step: Step) -> Partials:
    weights, _ = _softmax_of(step, (step.params["axis"],), lambda: step.output(()))
    return weights


@_rule("log_softmax")
def _log_softmax(step: Step) -> Partials:
    x = step.input(0)
    _, log_sum = _softmax_of(step, (step.params["axis"],), lambda: elementary.exp(step.output(())))

    def partials(index: Index) -> Any:
        moved = minus(x(index), log_sum(index))
        return None if moved is None else broadcast_to(moved, shape=step.output(()).array.shape)

    return partials


@_rule("reduce_logsumexp")
def _reduce_logsumexp(step: Step) -> Partials:
    shape = step.output(()).array.shape
    _, log_sum = _softmax_of(step, step.params.get("axis"), lambda: step.pull(0, _ones_like(step.output(()))))
    return lambda index: None if (moved := log_sum(index)) is None else shaping.reshape(moved, shape=shape)


def _softmax_of(step: Step, axis: tuple[int, ...] | None, value: Callable[[], Any]) -> tuple[Partials, Partials]:
    """The partials of a softmax, whose value is given, and of the logarithm that it subtracts: each moves with the other."""
    x = step.input(0)

    @step.cached
    def weights(index: Index) -> Any:
        first, rest = index[:1], index[1:]
        above = lambda part: minus(x(first + part), log_sum(first + part))
        return product_rule(rest, weights, above) if index else value()

    @step.cached
    def log_sum(index: Index) -> Any:
        moved = chain_rule(index, weights, x)
        return None if moved is None else reductions.reduce_sum(moved, axis=axis, keepdims=True)

    return weights, log_sum
