"""A backward walk with many cotangents at once on plain arrays, for Jacobians that nothing records.

Each cotangent is an array with the rows as its first axis. An elementwise op has the same partial
derivatives for all rows: they are computed once and multiplied with the rows, in place where
nothing else holds them. A product with one matrix is one product for all rows. Every other op runs
on `BatchedTensor`s, as it would under `vmap`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.core.batching import BatchedTensor, Level
from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.record import PerOutput
from gradtape.core.recording import Recording
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.walk import dense, walk
from gradtape.ops.derivative import Derivative, ElementwiseDerivative
from gradtape.ops.rows import RowRule, Shape, rows_summed
from gradtape.transforms.vectorize import whole


def nothing_records() -> bool:
    """Whether plain arrays suffice: no tape or accumulator, no vmap, no program that is being
    traced, no device but the host.
    """
    state = here.state
    return state.scope is None and not state.levels and state.trace is None and state.device is None


class CotangentRows:
    """A cotangent's rows; `own` if nothing else holds the array, so that it may be written to."""

    __slots__ = ("array", "own")

    def __init__(self, array: Any, own: bool) -> None:
        self.array = array
        self.own = own


def pull_rows(
    seeds: dict[Node, Any],
    sources: Sequence[Node | None],
    recording: Recording,
    level: Level,
    own: bool,
) -> dict[Node, Any]:
    """The cotangents of `sources` for all rows of `seeds`;
    a source without a path from a seed is missing.

    `own` lets the walk write to the seeds. Kernels run through the thread's `run`, where a Meter
    may measure them.
    """
    path = Path(seeds, sources, recording)
    # Once a partial derivative was infinite, rows may be, which zeros among later ones must not
    # meet either.
    finite = True

    def pull(node: Node, g: Any, parents: Sequence[Node | None]) -> Sequence[Any]:
        nonlocal finite
        if node in path.sources:
            g.own = False
        if not any(parents):
            return ()
        pulled = _quickly(node, g, parents, level) if finite else None
        if pulled is None:
            finite = finite and type(node.rule) is not ElementwiseDerivative
            pulled = _through_rule(node, g, parents, level)
        return pulled

    found = walk(path, {node: CotangentRows(rows, own) for node, rows in seeds.items()}, pull, _sum)
    return {node: rows.array for node, rows in found.items()}


def _quickly(
    node: Node, g: Any, parents: Sequence[Node | None], level: Level
) -> Sequence[Any] | None:
    """The cotangents of a Node's parents, as rows, for the ops that most of a Jacobian goes
    through; None for others.
    """
    rule: Any = node.rule
    if type(g) is not CotangentRows or type(g.array) is not np.ndarray or g.array.dtype.kind != "f":
        return None
    if type(rule) is ElementwiseDerivative:
        return _through_elements(rule, node, g, parents)
    if type(rule) is not Derivative:
        return None
    declared = rule.op.rows
    if declared is None:
        return None
    return [
        None if parent is None else _by_row_rule(declared, node, i, g, level)
        for i, parent in enumerate(parents)
    ]


def _by_row_rule(
    declared: RowRule, node: Node, index: int, g: CotangentRows, level: Level
) -> CotangentRows:
    """The cotangent of one parent, by the rule that the op declares for rows."""
    rule: Any = node.rule
    found = here.state.run_on_host(declared.pulls[index], g.array, **rule.named(node, index))
    if found is not None:
        return CotangentRows(found, own=declared.fresh)
    return _through_rule(
        node, g, [parent if i == index else None for i, parent in enumerate(node.parents)], level
    )[index]


def _through_elements(
    rule: ElementwiseDerivative, node: Node, g: CotangentRows, parents: Sequence[Node | None]
) -> Sequence[Any] | None:
    """An elementwise op: rows times its partial derivatives.

    None if one of them is infinite: it must not be multiplied with zeros in the rows.
    """
    op, array = rule.op, g.array
    one = array.dtype.type(1)
    partials: list[Any] = []
    for i, (pull, parent) in enumerate(zip(op.pulls, parents, strict=True)):
        if parent is None or pull is None:
            partials.append(None)
            continue
        partial = rule.partial(node, i, one)
        known = isinstance(partial, (np.ndarray, np.generic)) and partial.dtype == array.dtype
        if not known or not np.isfinite(partial).all():
            return None
        partials.append((partial, rule.broadcast_from(node, i)))
    pulled: list[Any] = []
    left = sum(entry is not None for entry in partials)
    for entry in partials:
        if entry is None:
            pulled.append(None)
            continue
        left -= 1
        partial, shape = entry
        rows = _times(g, partial, own=g.own and not left, shared=left > 0)
        pulled.append(rows if shape is None else _summed(rows, shape))
    return pulled


def _times(g: CotangentRows, partial: Any, *, own: bool, shared: bool) -> CotangentRows:
    """Rows times numbers that are the same for all of them; `own` if the rows are no longer
    needed.
    """
    array = g.array
    if not partial.ndim and partial == 1:
        if shared:
            g.own = False
        return CotangentRows(array, own=own)
    if own:
        here.state.run_on_host(np.multiply, array, partial, out=array)
        return CotangentRows(array, own=True)
    return CotangentRows(here.state.run_on_host(np.multiply, array, partial), own=True)


def _summed(rows: CotangentRows, shape: Shape) -> CotangentRows:
    """Rows summed back to the shape from which they had been broadcast."""
    total = here.state.run_on_host(rows_summed, rows.array, shape)
    return CotangentRows(total, own=rows.own or total.size != rows.array.size)


def _through_rule(
    node: Node, g: Any, parents: Sequence[Node | None], level: Level
) -> Sequence[Any]:
    """Any op, by its rule on BatchedTensors: as Rows or, by output, as PerOutput of Rows."""
    rule: Any = node.rule
    batch = mapped(g, lambda rows: BatchedTensor(Tensor(rows.array), level))
    return [_rows_of(pulled, level) for pulled in rule.pull_tensors(node, batch, parents)]


def _rows_of(pulled: Any, level: Level) -> Any:
    if pulled is None:
        return None
    return mapped(dense(pulled), lambda p: CotangentRows(whole(p, level).array, own=False))


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """A cotangent, or those of several outputs, changed."""
    return (
        PerOutput((i, change(g)) for i, g in value.items())
        if isinstance(value, dict)
        else change(value)
    )


def _sum(earlier: Any, cotangent: Any, parent: Node) -> Any:
    """Two cotangents of one Node, added into whichever array is free."""
    if type(earlier) is PerOutput:
        for index, g in cotangent.items():
            earlier[index] = _sum(earlier[index], g, parent) if index in earlier else g
        return earlier
    into, other = (earlier, cotangent) if earlier.own else (cotangent, earlier)
    if into.own:
        here.state.run_on_host(np.add, into.array, other.array, out=into.array)
        return into
    return CotangentRows(
        here.state.run_on_host(operator.add, earlier.array, cotangent.array), own=True
    )
