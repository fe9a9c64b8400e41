"""Sparsity of single ops: which elements of the inputs each element of the output may depend on,
which an op may declare as its `links`.

A *pattern* is a boolean sparse matrix with a row for each element of a tensor; the columns are the
elements of some other tensor that it is asked about. A `Link` maps the pattern of an input to that
of the output, and back. Those of elementwise ops follow from their declaration, and those of ops
that only move elements are found by moving indices. Ops declare links if their derivative calls the
op itself or its transpose; for any other op they follow from the ops that its derivative calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape.core.node import Node
from gradtape.core.tensor import Tensor

if TYPE_CHECKING:
    from gradtape.ops.op import Op

Pattern = Any
Shape = tuple[int, ...]
Links = Callable[["LinkedCall", int], "Link | None"]
"""Takes a call and the number of an input, and gives a Link, or None if the derivative shows it."""


class Link:
    """The elements of an output linked with those of one input: a product of boolean matrices,
    the input's own first.

    Several matrices are often much smaller than their product.
    """

    __slots__ = ("matrices",)

    def __init__(self, *matrices: Pattern) -> None:
        self.matrices = matrices

    def push(self, rows: Pattern) -> Pattern:
        """The output's pattern from the input's."""
        for matrix in self.matrices:
            rows = matrix @ rows
        return rows

    def pull(self, rows: Pattern) -> Pattern:
        """The input's pattern from the output's."""
        for matrix in reversed(self.matrices):
            rows = matrix.T.tocsr() @ rows
        return rows


SAME = Link()
"""Each element of the output depends on the input's element in its place."""


class LinkedCall(NamedTuple):
    """A recorded call of an op: the shapes of its output and, by their numbers,
    of the inputs that are asked about.
    """

    op: Op
    node: Node
    shape: Shape
    inputs: dict[int, Shape]

    @property
    def params(self) -> dict[str, Any]:
        return {**self.op.defaults, **(self.node.params or {})}

    def saved(self, index: int, name: str) -> Any:
        """What the pull of an argument saved under a name, as an array."""
        value = self.node.saved[index][self.op.saves[index].index(name)]
        return value.array if isinstance(value, Tensor) else value


# Matrices


def pairs(outputs: Any, inputs: Any, size: int, input_size: int) -> Pattern:
    """The matrix that links elements of an output with elements of an input,
    given as two equally long lists.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - scipy is imported at first use

    outputs, inputs = np.ravel(outputs), np.ravel(inputs)
    return csr_array((np.ones(len(outputs), bool), (outputs, inputs)), shape=(size, input_size))


def along(outputs: Any, inputs: Any, sizes: tuple[int, int], before: int, after: int) -> Pattern:
    """The same for one axis of tensors: places on it are linked, and all others stay as they are.

    `sizes` are those of the axis in output and input; `before` and `after` say how many elements
    the axes around it have.
    """
    blocks, steps = np.arange(before)[:, None, None], np.arange(after)
    rows, columns = (
        (blocks * size + np.asarray(places)[:, None]) * after + steps
        for places, size in zip((outputs, inputs), sizes, strict=True)
    )
    return pairs(rows, columns, before * sizes[0] * after, before * sizes[1] * after)


def aligned(
    shape: Shape, axes: Sequence[Any], input_shape: Shape, input_axes: Sequence[Any]
) -> Link:
    """Every element of the input with every one of the output,
    as far as they agree on the axes that both name.

    An axis of another size than the other's of its name is broadcast or reduced, and says nothing.
    """
    sizes = dict(zip(axes, shape, strict=True))
    shared = {
        name: size
        for name, size in zip(input_axes, input_shape, strict=True)
        if sizes.get(name) == size
    }
    count = math.prod(shared.values())
    size, input_size = math.prod(shape), math.prod(input_shape)
    groups, input_groups = _groups(shape, axes, shared), _groups(input_shape, input_axes, shared)
    united = (
        []
        if input_size == count
        else [pairs(input_groups, np.arange(input_size), count, input_size)]
    )
    if size == count and np.array_equal(groups, np.arange(size)):
        return Link(*united)
    return Link(*united, pairs(np.arange(size), groups, size, count))


def _groups(shape: Shape, axes: Sequence[Any], shared: dict[Any, int]) -> Any:
    """For each element, where it stands on the shared axes."""
    found = np.zeros(shape, np.intp)
    step = 1
    for name, size in reversed(shared.items()):
        axis = axes.index(name)
        found += (np.arange(size) * step).reshape(-1, *(1,) * (len(shape) - 1 - axis))
        step *= size
    return np.ravel(found)


# Links of many ops


def elementwise(call: LinkedCall, index: int) -> Link:
    shape, input_shape = call.shape, call.inputs[index]
    return (
        SAME
        if shape == input_shape
        else aligned(shape, _from_the_right(shape), input_shape, _from_the_right(input_shape))
    )


def _from_the_right(shape: Shape) -> list[int]:
    return list(range(len(shape), 0, -1))


def matrices(*axes: str | None) -> Links:
    """For ops on matrices, the last two axes, over batches that broadcast:
    the axes of output and inputs by name.

    None stands for an input that the derivative shows.
    """

    def links(call: LinkedCall, index: int) -> Link | None:
        output, of_input = axes[0], axes[index + 1]
        if output is None or of_input is None:
            return None
        shape, input_shape = call.shape, call.inputs[index]
        batch, input_batch = (_from_the_right(s)[:-2] for s in (shape, input_shape))
        return aligned(shape, [*batch, *output], input_shape, [*input_batch, *of_input])

    return links


def mixed_along_axes(call: LinkedCall, index: int) -> Link:
    params, shape, input_shape = call.params, call.shape, call.inputs[index]
    mixed = {axis % len(shape) for axis in params.get("axes", (params.get("axis"),))}
    names = [
        [(kind, axis) if axis in mixed else axis for axis in range(len(shape))]
        for kind in ("output", "input")
    ]
    return aligned(shape, names[0], input_shape, names[1])


def united_backwards(size: int, width: int) -> list[tuple[Any, Any]]:
    """Links of each place with itself and the `width` - 1 places before it: of 2, then of 4,
    ... of them.

    These few matrices have two entries in a row, where their product has `width`.
    """
    places, links, covered = np.arange(size), [], 1
    while covered < min(width, size):
        step = min(covered, min(width, size) - covered)
        links.append((np.append(places, places[step:]), np.append(places, places[: size - step])))
        covered += step
    return links
