"""`GradientTape.gradient_per_example`: a separate gradient of each example's loss, as
differentially private training needs it.

If the examples are independent, one backward walk over the whole batch has the cotangent of each of
them in its own row of every intermediate result. Only where a result meets something that all
examples share, such as a weight, would their gradients be added up: that op's rule runs once more,
for each example with its own rows of what was saved. What looks like a batch may not be one, so a
random probe checks the result; if the check fails, it is computed as the Jacobian of the losses,
which is always right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.batching import BatchedTensor, Level
from gradtape.core.limit.segments import Dropped
from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.recording import Recording
from gradtape.core.tape import GradientTape
from gradtape.core.tape_arguments import leaves_of, unconnected_value
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unconnected import UnconnectedGradients, as_unconnected
from gradtape.core.walk import dense
from gradtape.ops.arithmetic import absolute, maximum
from gradtape.ops.broadcasting import cast
from gradtape.ops.elementary import sqrt
from gradtape.ops.reductions import reduce_sum
from gradtape.ops.shaping import reshape
from gradtape.transforms.jacobians.jacobian import differentiated, pace_of
from gradtape.transforms.jacobians.memory import in_chunks
from gradtape.transforms.jacobians.probes import differ, probe_for, size_of
from gradtape.transforms.jacobians.pulls import Pace, Stack, pull_identity
from gradtape.transforms.jacobians.row_walk import mapped, nothing_records, pull_rows
from gradtape.transforms.vectorize import whole


def gradient_per_example(
    tape: GradientTape,
    losses: Any,
    variables: Any,
    clip_norm: Any = None,
    *,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    memory_limit: int | None = None,
) -> Any:
    """`GradientTape.gradient_per_example`."""
    recording = tape._prepare("gradient_per_example")
    unconnected = as_unconnected(unconnected_gradients)
    pace = pace_of("gradient_per_example", None, True, memory_limit)
    found = leaves_of(losses, "gradient_per_example: losses")
    if len(found) != 1 or len(found[0].array.shape) != 1 or not found[0].dtype.is_floating:
        given = ", ".join(f"{loss.dtype.name}{list(loss.array.shape)}" for loss in found)
        raise ValueError(
            "gradient_per_example: losses must be one real tensor of shape [examples], got "
            f"{given or 'nothing'}; do not take the mean or sum over the batch."
        )
    norm = None if clip_norm is None else _checked_norm(clip_norm)
    leaves = leaves_of(variables, "gradient_per_example: variables")
    (target,) = found

    def run() -> list[Any]:
        rows = _gradients(tape, recording, target, leaves, pace)
        if unconnected is UnconnectedGradients.NONE:
            tape.explain_missing([target], leaves, rows)
        return rows if norm is None else _clipped(rows, norm)

    gradients = differentiated(tape, recording, "gradient_per_example", [target], run)
    filled = [
        unconnected_value(leaf, unconnected, target.array.shape) if g is None else g
        for g, leaf in zip(gradients, leaves, strict=True)
    ]
    return nest.pack_sequence_as(variables, filled) if nest.is_nested(variables) else filled[0]


def _checked_norm(clip_norm: Any) -> float:
    array = np.asarray(clip_norm.array if hasattr(clip_norm, "array") else clip_norm)
    if array.shape != () or array.dtype.kind not in "iuf" or not array > 0:
        raise ValueError(
            f"gradient_per_example: clip_norm must be a positive number, got {clip_norm!r}."
        )
    return float(array)


def _gradients(
    tape: GradientTape, recording: Recording, losses: Any, leaves: Sequence[Any], pace: Pace
) -> list[Tensor | None]:
    """The gradients of all examples, stacked; None where there is no path."""
    array, node = losses.array, tape._node_of(losses)
    plain = nothing_records() and type(array) is np.ndarray and len(array) > 1
    nodes = [tape._node_of(leaf) for leaf in leaves]
    if plain and node is not None and any(nodes):
        try:
            return Examples(tape, recording, losses, nodes).gradients(pace)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001, S110
            # Whatever fails on rows of its own, the Jacobian finds out what is really wrong.
            pass
    return pull_identity(tape, recording, losses, leaves, pace)


class MixedError(Exception):
    """The examples depend on each other, or an op's rule cannot be run for each separately."""


class Examples:
    """A batch of losses whose examples are assumed to be independent.

    A Node belongs to the batch if its cotangent has a row for each example; its inputs that do not
    belong to the batch are shared.
    """

    def __init__(
        self, tape: GradientTape, recording: Recording, losses: Any, nodes: Sequence[Node | None]
    ) -> None:
        self._tape, self._recording, self._nodes = tape, recording, nodes
        self._array = losses.array
        self._start: Node = tape._node_of(losses)  # type: ignore[assignment]
        path = Path([self._start], nodes, recording)
        ones = np.ones(self._array.shape, self._array.dtype)
        found = tape._pull({self._start: ones}, list(path.leading), recording, release=False)
        size = len(self._array)
        self._batch = {
            node: g for node, g in found.items() if node not in path.sources and _has_rows(g, size)
        }
        self._edges = [
            (node, i)
            for node in self._batch
            for i, parent in enumerate(node.parents)
            if parent is not None and parent in found and parent not in self._batch
        ]

    def gradients(self, pace: Pace) -> list[Tensor | None]:
        """The gradients, or `MixedError`."""
        size, probe = len(self._array), probe_for(self._array)
        expected = self._tape._pull(
            {self._start: probe}, self._nodes, self._recording, release=False
        )
        stacks = {node: Stack(size) for node in expected}
        totals: dict[Node, Any] = dict.fromkeys(expected, 0)
        largest: dict[Node, Any] = dict.fromkeys(expected, 0)
        per_row = (
            sum(dense(g).nbytes for g in expected.values())
            + sum(map(_bytes, self._batch.values())) / size
        )
        for start, stop, found in in_chunks(
            size, self._rows, limit=pace.limit, most=pace.most, expected=2 * per_row
        ):
            if found.keys() != expected.keys():
                raise MixedError
            for node, rows in found.items():
                flat = rows.array.reshape(stop - start, -1)
                totals[node] = totals[node] + probe[start:stop] @ flat
                largest[node] = np.maximum(largest[node], size_of(flat)) if flat.size else 0
                stacks[node].put(start, stop, rows)
        for node, g in expected.items():
            if differ(totals[node], dense(g).reshape(-1), largest[node], self._array.dtype):
                raise MixedError
        return [
            stacks[node].joined() if node is not None and node in stacks else None
            for node in self._nodes
        ]

    def _rows(self, start: int, stop: int) -> dict[Node, Tensor]:
        """The gradients of some examples: through each op where the batch meets what is shared,
        then back through the shared part.
        """
        with Level(stop - start) as level:
            seeds: dict[Node, Any] = {}
            for node, i in self._edges:
                parent: Node = node.parents[i]
                rows = here.state.walk(self._recording, self._pulled, node, i, start, stop, level)
                if rows is not None:
                    seeds[parent] = rows if parent not in seeds else seeds[parent] + rows
            found = here.state.walk(
                self._recording, pull_rows, seeds, self._nodes, self._recording, level, False
            )
        return {node: Tensor(array) for node, array in found.items()}

    def _pulled(self, node: Node, index: int, start: int, stop: int, level: Level) -> Any:
        """What a Node's rule returns for one parent when every example is a batch of its own."""
        rule: Any = node.rule
        saved = node.saved
        own = Node(
            rule,
            self._rows_of(
                saved.restored() if type(saved) is Dropped else saved, start, stop, level
            ),
            node.params,
            node.parents,
            node.scope,
            node.where,
        )
        wanted = [parent if i == index else None for i, parent in enumerate(node.parents)]
        g = mapped(
            self._batch[node], lambda array: BatchedTensor(Tensor(array[start:stop, None]), level)
        )
        pulled = rule.pull_tensors(own, g, wanted)[index]
        return None if pulled is None else whole(dense(pulled), level).array

    def _rows_of(self, saved: Any, start: int, stop: int, level: Level) -> Any:
        """What was saved for the whole batch, as it would have been saved for each example."""
        size = len(self._array)
        if isinstance(saved, Tensor):
            shared = (
                saved.node is not None
                and self._recording in saved.node.scope
                and saved.node not in self._batch
            )
            saved = saved if shared else saved.array
        if isinstance(saved, np.ndarray):
            return (
                BatchedTensor(Tensor(saved[start:stop, None]), level)
                if saved.shape[:1] == (size,)
                else Tensor(saved)
            )
        if type(saved) is tuple and saved and all(type(n) is int for n in saved):
            return (1, *saved[1:]) if saved[0] == size else saved  # a shape
        return (
            type(saved)(self._rows_of(part, start, stop, level) for part in saved)
            if type(saved) in (tuple, list)
            else saved
        )


def _has_rows(g: Any, size: int) -> bool:
    """Whether a cotangent, or those of all outputs of an op, have a row for each example."""
    arrays = g.values() if isinstance(g, dict) else [g]
    return all(type(array) is np.ndarray and array.shape[:1] == (size,) for array in arrays)


def _bytes(g: Any) -> int:
    return sum(array.nbytes for array in g.values()) if isinstance(g, dict) else g.nbytes


def _clipped(gradients: Sequence[Tensor | None], clip_norm: float) -> list[Tensor | None]:
    """Each example's gradients scaled down to a norm over all of them."""
    total: Any = None
    for g in gradients:
        if g is not None:
            squares = _squares(g)
            total = squares if total is None else total + squares
    if total is None:
        return list(gradients)
    factors = clip_norm / maximum(sqrt(total), clip_norm)
    return [None if g is None else g * _beside(factors, g) for g in gradients]


def _squares(g: Tensor) -> Tensor:
    """For each example, the sum of the squares of its gradient."""
    array = g.array
    if nothing_records() and isinstance(array, np.ndarray) and array.dtype.kind == "f":
        flat = array.reshape(len(array), math.prod(array.shape[1:]))
        return Tensor(np.einsum("bi,bi->b", flat, flat))  # without a copy of all gradients
    axes = tuple(range(1, len(array.shape)))
    size = absolute(g)
    return reduce_sum(size * size, axis=axes)


def _beside(factors: Tensor, g: Tensor) -> Tensor:
    lined_up = reshape(factors, shape=(*factors.array.shape, *(1,) * (len(g.array.shape) - 1)))
    return (
        lined_up if lined_up.array.dtype == g.array.dtype else cast(lined_up, dtype=g.array.dtype)
    )
