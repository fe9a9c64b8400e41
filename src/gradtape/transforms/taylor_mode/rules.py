"""The rule by which a recorded op carries partial derivatives from its inputs to its output: its
declared jet, or a derived one.

The jet of an elementwise op that declares none is derived from its pulls: the pull of ones is the
slope, a recorded computation on what was saved, and its partials are found by the same rules.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from gradtape.core.record import OutputRule
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.ops.arithmetic import equal, logical_and
from gradtape.ops.broadcasting import identity
from gradtape.ops.derivative import may_hold_nan, unwrapped
from gradtape.ops.jets import Index, NoRule, Partials, plus, product_rule
from gradtape.ops.selection import drop
from gradtape.transforms.taylor_mode.jets import Jets, RecordedStep


def rule_for(step: RecordedStep) -> Partials:
    """The partials of a recorded op's output."""
    if isinstance(unwrapped(step.node.rule), OutputRule):
        return _output(step)
    op = step.op
    partials = None if op.jet is None else op.jet(step)
    if partials is None:
        if not step.is_elementwise:
            raise NoRule
        partials = _elementwise(step)
    return _with_zeros(step, partials) if step.is_elementwise and any(op.guarded) else partials


def _with_zeros(step: RecordedStep, partials: Partials) -> Partials:
    """Strong zeros: a partial is zero where no argument of an elementwise op varies, whatever its
    derivative there.
    """
    moving = [
        step.input(i) for i, pull in enumerate(step.op.pulls) if pull is not None and step.moves(i)
    ]

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


def _output(step: RecordedStep) -> Partials:
    """One output of an op with several: their partials come as a list."""
    parent, which = step.node.parents[0], unwrapped(step.node.rule).index

    def partials(index: Index) -> Any:
        outputs = step.jets.of(parent, index)
        return None if outputs is None else outputs[which]

    return partials


def _elementwise(step: RecordedStep) -> Partials:
    """Any elementwise op: a pull carries partials forward as it does tangents, and the slope has
    partials of its own.
    """
    moving = [i for i, pull in enumerate(step.op.pulls) if pull is not None and step.moves(i)]
    inputs = {i: step.input(i) for i in moving}
    slopes = step.cached(lambda i: _slope(step, i, moving))

    def term(i: int, index: Index) -> Any:
        first, rest = index[:1], index[1:]
        through = None if inputs[i](index) is None else step.pull(i, inputs[i](index))
        if not rest:
            return through
        moved = product_rule(
            rest,
            lambda part: slopes(i)(part) if part else None,
            lambda part: inputs[i](first + part),
        )
        return plus(through, moved)

    def partials(index: Index) -> Any:
        terms = {i: value for i in moving if (value := term(i, index)) is not None}
        total = None
        for value in terms.values():
            total = plus(total, value)
        return (
            total
            if total is None or len(step.op.arguments) == 1
            else step.spread(total, list(terms))
        )

    return partials


def _slope(step: RecordedStep, i: int, moving: list[int]) -> Partials:
    """The partials of an elementwise op's derivative with respect to argument `i`, without its
    value.
    """
    saved = step.saved_by(i)
    of = {step.op.arguments[k]: step.input(k) for k in moving} | {"out": step.output}
    fresh = {name: identity(saved[name]) for name in of if isinstance(saved.get(name), Tensor)}
    if not fresh:
        return lambda index: None
    shape = np.broadcast_shapes(
        *[value.array.shape for value in saved.values() if isinstance(value, Tensor)]
    )
    dtype = next(iter(fresh.values())).array.dtype
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(fresh)
        slope = step.pull(i, Tensor(np.ones(shape, dtype)), **fresh)
    node, recording = tape._node_of(slope), tape.scope
    if node is None or recording is None:
        return lambda index: None
    sources = {
        leaf: of[name]
        for name, value in fresh.items()
        if (leaf := tape._node_of(value)) is not None
    }
    jets = Jets(rule_for, sources, node, shape, recording)
    jets.tape = tape  # with which the recording would end
    step.at_release.append(jets.release)
    return lambda index: jets.of(node, index)
