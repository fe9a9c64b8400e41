"""The cotangents that a Jacobian's walk starts from: rows of an identity matrix,
made as they are needed.

The last ops before a target are often elementwise, after one matrix product. Their Jacobian is a
diagonal matrix times a known matrix, so the walk may start there and skip these ops: what a batch
of one-hot rows would compute in them is mostly zeros.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape.core.node import Node
from gradtape.core.path import Path
from gradtape.core.recording import Recording
from gradtape.core.tape import GradientTape
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.xla.tensor import XlaTensor, on_xla
from gradtape.engines.engine import NUMPY, engine_of
from gradtape.ops.broadcasting import broadcast_to
from gradtape.ops.derivative import Derivative, ElementwiseDerivative
from gradtape.ops.selection import where
from gradtape.ops.shaping import getitem, reshape, transpose
from gradtape.transforms.jacobians.row_walk import nothing_records


class Seeds:
    """One row for each element of a target, as cotangents of `node`: the target's own, or the only
    one that it depends on.

    With `examples`, the first axis of the target is a batch, and there is a row for each element of
    an example, the same for all examples. `expected` is a guess at the bytes that a row takes on
    its way back.
    """

    def __init__(
        self,
        tape: GradientTape,
        recording: Recording,
        target: Any,
        sources: Sequence[Node | None],
        *,
        examples: bool = False,
    ) -> None:
        array = target.array
        self.node: Node = tape._node_of(target)  # type: ignore[assignment]
        self.batch = len(array) if examples else 1
        self.count = math.prod(array.shape[1:]) if examples else array.size
        self._shape, self._dtype = array.shape, array.dtype
        self._on_xla = isinstance(target, XlaTensor)
        self._scale: Any = None
        self._matrix: Any = None
        path = Path([self.node], sources, recording)
        self.expected = (
            array.nbytes + sum(map(saved_bytes, path.nodes)) if engine_of(array) is NUMPY else 0
        )
        plain = nothing_records() and isinstance(array, np.ndarray)
        if (plain or (self._on_xla and _only_traced())) and array.size and array.dtype.kind == "f":
            self._start_behind(tape, path)

    @property
    def row_bytes(self) -> int:
        """What a row takes."""
        return math.prod(self._shape) * self._dtype.itemsize

    def rows(self, start: int, stop: int) -> Tensor:
        """The rows of some elements, stacked."""
        count = stop - start
        if self._on_xla and (self._matrix is not None or self._scale is not None):
            return self._rows_on_xla(start, stop)
        if self._matrix is not None:
            factors, matrix = (
                np.ascontiguousarray(part)
                for part in (self._scale[:, start:stop].T, self._matrix[start:stop])
            )
            return Tensor((factors[:, :, None] * matrix[:, None, :]).reshape(count, *self._shape))
        values = 1 if self._scale is None else self._scale[:, start:stop].T
        rows = Tensor(diagonal_rows(self._shape, self._dtype, start, stop, self.batch, values))
        return on_xla(rows) if self._on_xla else rows

    def _rows_on_xla(self, start: int, stop: int) -> Tensor:
        """The same in a program, by ops: XLA fuses them with those that follow."""
        count = stop - start
        rows: Any = None
        if self._scale is not None:
            columns = getitem(self._scale, key=(slice(None), slice(start, stop)))
            rows = reshape(transpose(columns, perm=(1, 0)), shape=(count, self.batch, 1))
        if self._matrix is None:
            ones = diagonal_rows((self.count,), np.dtype(bool), start, stop)
            rows = where(Tensor(ones[:, None]), rows, np.zeros((), self._dtype))
        else:
            if self.batch == 1:
                chosen = getitem(self._matrix, key=(slice(start, stop),))
            else:
                # A product leaves them in order, where a loop would go across a transposed matrix
                # once for each example.
                chosen = (
                    self._placed(diagonal_rows((self.count,), self._dtype, start, stop))
                    @ self._matrix
                )
            matrix = reshape(chosen, shape=(count, 1, chosen.array.shape[1]))
            rows = matrix if rows is None else rows * matrix
        return reshape(
            broadcast_to(rows, shape=(count, self.batch, rows.array.shape[2])),
            shape=(count, *self._shape),
        )

    def _start_behind(self, tape: GradientTape, path: Path) -> None:
        """Moves the start back to where the Jacobian stops being diagonal, and through one matrix
        product.
        """
        node, shape = self.node, self._shape
        while node not in path.sources:
            step = _behind(node, shape, path.leading, self.batch)
            if step is None:
                break
            node, shape = step
        if node is not self.node:
            ones: Any = np.ones(self._shape, self._dtype)
            pulled = tape._pull(
                {self.node: self._placed(ones)}, [node], path.recording, release=False
            ).get(node)
            if not self._takes(pulled, shape):
                return
            self.node, self._shape, self._scale = (
                node,
                shape,
                reshape(pulled, shape=(self.batch, self.count)),
            )
        if node not in path.sources:
            self._start_before_product(path.leading)

    def _placed(self, array: Any) -> Any:
        """An array in the form that the walk uses: in a program, a Tensor."""
        return on_xla(Tensor(array)) if self._on_xla else array

    def _takes(self, value: Any, shape: Any) -> bool:
        """Whether a value is an array of the target's dtype and of a given shape, in the form that
        the walk uses.
        """
        array = value.array if type(value) is XlaTensor else value
        return type(value) is (XlaTensor if self._on_xla else np.ndarray) and (
            array.shape,
            array.dtype,
        ) == (shape, self._dtype)

    def _start_before_product(self, needed: set[Node]) -> None:
        node = self.node
        rule: Any = node.rule
        if type(rule) is not Derivative or rule.op.rows is None or rule.op.rows.factor is None:
            return
        left, right = (parent is not None and parent in needed for parent in node.parents)
        if left == right:
            return
        index = 0 if left else 1
        saved = rule.named(node, index)
        found = rule.op.rows.factor(index, saved, self.batch, self.count)
        if found is None:
            return
        factor, transposed = found
        matrix = self._placed(factor)
        if not self._takes(matrix, factor.shape):
            return
        self._matrix = transpose(matrix, perm=(1, 0)) if transposed else matrix
        if self._scale is None and not self._on_xla:
            self._scale = np.ones((self.batch, self.count), self._dtype)
        self.node = node.parents[index]  # type: ignore[assignment]
        self._shape = saved[f"{rule.op.arguments[index]}_shape"]


def _only_traced() -> bool:
    """Whether a program is being traced, and nothing in it records."""
    state = here.state
    return state.scope is None and not state.levels and state.trace is not None


def diagonal_rows(
    shape: Any, dtype: Any, start: int, stop: int, batch: int = 1, values: Any = 1
) -> Any:
    """Rows of zeros, but for `values` on a diagonal that begins at `start`;
    the same in each of `batch` examples.
    """
    count, steps = stop - start, np.arange(stop - start)
    rows = np.zeros((count, batch, math.prod(shape) // batch), dtype)
    rows[steps, :, start + steps] = values
    return rows.reshape(count, *shape)


def _behind(node: Node, shape: Any, needed: set[Node], batch: int) -> tuple[Node, Any] | None:
    """The one Node that `node` depends on, and its shape,
    if each of its elements goes into one element of `node`.
    """
    rule = node.rule
    places = [i for i, parent in enumerate(node.parents) if parent is not None and parent in needed]
    if not places or len({node.parents[i] for i in places}) > 1:
        return None
    behind: Node = node.parents[places[0]]  # type: ignore[assignment]
    if type(rule) is ElementwiseDerivative:
        if any(rule.broadcast_from(node, i) is not None for i in places):
            return None
        return behind, shape
    if type(rule) is Derivative and rule.op.rows is not None and rule.op.rows.in_order:
        before = rule.named(node, 0)["x_shape"]
        return (behind, before) if batch == 1 or before[:1] == (batch,) else None
    return None


def saved_bytes(node: Node) -> int:
    """The size of what a Node saved, in bytes; a shape counts as an array of that shape, since its
    pull will make one.
    """
    total = 0
    for saved in node.saved or ():
        for value in saved if type(saved) in (tuple, list) else (saved,):
            if value is None:
                continue
            if isinstance(value, Tensor):
                total += getattr(value.array, "nbytes", 0)
            elif isinstance(value, np.ndarray):
                total += value.nbytes
            elif type(value) is tuple and value and all(type(n) is int for n in value):
                total += 4 * math.prod(value)
    return total
