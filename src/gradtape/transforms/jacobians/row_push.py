"""A forward walk with many tangents at once on plain arrays: the fast path for Jacobians that
nothing records.

It goes from Node to Node through elementwise ops, products with one matrix, and ops that only move
elements: what their pulls saved is enough to push a tangent. A Node does not know its own shape,
which other rules would need: those use `RecordedWalk`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.recording import Recording
from gradtape.core.thread import here
from gradtape.ops.derivative import Derivative, ElementwiseDerivative
from gradtape.ops.rows import Shape, lined_up, spread
from gradtape.transforms.jacobians.seeds import saved_bytes


class NoShortWay(Exception):  # noqa: N818 - it says which way to go, not that something is wrong
    """An op on the way cannot be pushed through from what its pulls saved."""


class ShortWay:
    """The Nodes from a source to a target, to push rows of tangents along; raises `NoShortWay` if
    that is not possible for one of them.
    """

    def __init__(self, recording: Recording, target: Node, source: Node) -> None:
        path = Path([target], [source], recording)
        self._target, self._source, self._needed = target, source, path.leading
        self._order = path.between
        for node in self._order:
            rule: Any = node.rule
            if type(rule) is not ElementwiseDerivative and (
                type(rule) is not Derivative or rule.op.rows is None
            ):
                raise NoShortWay
        self.expected = sum(map(saved_bytes, self._order))  # bytes that a row may take on its way
        self._uses = Counter(
            parent for node in self._order for parent in node.parents if parent in path.leading
        )

    def push(self, tangents: Any) -> Any:
        """The target's tangents for rows of the source's."""
        if self._target not in self._needed:
            raise NoShortWay
        rows, uses = {self._source: tangents}, self._uses.copy()
        for node in self._order:
            given = [rows.get(parent) if parent is not None else None for parent in node.parents]
            rows[node] = _pushed(node, given)
            for parent in node.parents:
                if parent in rows and parent is not None:
                    uses[parent] -= 1
                    if not uses[parent] and parent is not self._target:
                        del rows[parent]
        return rows[self._target]


def _pushed(node: Node, tangents: Sequence[Any]) -> Any:
    rule: Any = node.rule
    if type(rule) is ElementwiseDerivative:
        return _through_elements(rule, node, tangents)
    found = here.state.run_on_host(
        rule.op.rows.push, tangents, lambda i: rule.named(node, i), **(node.params or {})
    )
    if found is None:
        raise NoShortWay
    return found


def _through_elements(rule: ElementwiseDerivative, node: Node, tangents: Sequence[Any]) -> Any:
    """An elementwise op: the sum of its arguments' tangents times the partial derivatives."""
    op, run = rule.op, here.state.run_on_host
    shape = _broadcast(rule, node, tangents) if op.broadcasts else None
    total: Any = None
    for i, tangent in enumerate(tangents):
        pull = op.pulls[i]
        if tangent is None or pull is None:
            continue
        partial = rule.partial(node, i, tangent.dtype.type(1))
        known = isinstance(partial, (np.ndarray, np.generic)) and partial.dtype == tangent.dtype
        if not known or not _is_finite(partial):
            raise NoShortWay  # zeros among the tangents must not meet an infinite derivative
        rows = tangent if shape is None else lined_up(tangent, len(shape))
        term = rows if not partial.ndim and partial == 1 else run(np.multiply, rows, partial)
        total = term if total is None else run(np.add, total, term)
    if total is None:
        raise NoShortWay
    return total if shape is None or total.shape[1:] == shape else spread(total, shape)


def _is_finite(partial: Any) -> bool:
    """Whether a real derivative is finite, and not so large that the sum of its squares is
    infinite.
    """
    if not partial.ndim:
        return math.isfinite(partial)
    flat = partial.reshape(-1)
    return math.isfinite(flat.dot(flat))


def _broadcast(rule: ElementwiseDerivative, node: Node, tangents: Sequence[Any]) -> Shape | None:
    """The shape of the output if an argument was broadcast to it, found from what was saved; else
    None.
    """
    shapes: list[Shape] = []
    for i, tangent in enumerate(tangents):
        if tangent is not None:
            if rule.broadcast_from(node, i) is None:
                return None if len(tangents) == 1 or tangents[1 - i] is None else tangent.shape[1:]
            shapes.append(tangent.shape[1:])
            other = rule.op.arguments[1 - i]
            for name, array in rule.named(node, i).items():
                if name in ("out", other) and isinstance(array, (np.ndarray, np.generic)):
                    shapes.append(array.shape)
        elif node.saved[i] is not None and (smaller := rule.broadcast_from(node, i)) is not None:
            shapes.append(smaller)
    if len(shapes) < 2:
        raise NoShortWay
    first, second = shapes[:2]
    return second if not first else first if not second else np.broadcast_shapes(first, second)
