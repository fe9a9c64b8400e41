"""`GradientTape.jacobian` and `batch_jacobian`: one backward walk for each element of the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.core.backward import finished, release_all
from gradtape.core.indexed_slices import RawSlices
from gradtape.core.node import Node
from gradtape.core.scope import Scope, here
from gradtape.core.tape import GradientTape, UnconnectedGradients, as_unconnected, leaves_of, unconnected_value
from gradtape.core.tensor import Tensor
from gradtape.ops.shaping import reshape, stack

Unconnected = UnconnectedGradients | str


def jacobian(
    self: GradientTape,
    target: Any,
    sources: Any,
    unconnected_gradients: Unconnected = UnconnectedGradients.NONE,
    parallel_iterations: int | None = None,
    experimental_use_pfor: bool = True,
) -> Any:
    """The derivative of every element of `target` by every element of `sources`.

    Each result has the target's shape followed by the source's. With a structure of targets, the result has its structure,
    with that of `sources` inside.

    >>> import gradtape as tf
    >>> x = tf.constant([1.0, 2.0])
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.jacobian(y, x).numpy()
    array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    recording = self._prepare("jacobian")
    unconnected = as_unconnected(unconnected_gradients)
    targets = leaves_of(target, "jacobian: target")
    flat_sources = leaves_of(sources, "jacobian: sources")

    def of(one_target: Any) -> Any:
        size = math.prod(one_target.array.shape)
        rows = _rows(self, recording, one_target, flat_sources, size, lambda i: np.arange(size) == i)
        found = [_joined(row, one_target, source, unconnected) for row, source in zip(rows, flat_sources, strict=True)]
        return nest.pack_sequence_as(sources, found) if nest.is_nested(sources) else found[0]

    results = _differentiated(self, recording, "jacobian", targets, lambda: [of(one) for one in targets])
    return nest.pack_sequence_as(target, results) if nest.is_nested(target) else results[0]


def batch_jacobian(
    self: GradientTape,
    target: Any,
    source: Any,
    unconnected_gradients: Unconnected = UnconnectedGradients.NONE,
    parallel_iterations: int | None = None,
    experimental_use_pfor: bool = True,
) -> Any:
    """The Jacobian of each example of a batch by itself: `target[b]` is taken to depend on `source[b]` alone.

    >>> import gradtape as tf
    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.batch_jacobian(y, x).numpy().tolist()
    [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]
    """
    recording = self._prepare("batch_jacobian")
    as_unconnected(unconnected_gradients)
    (one_target,) = leaves_of(target, "batch_jacobian: target")
    (one_source,) = leaves_of(source, "batch_jacobian: source")
    shape, source_shape = one_target.array.shape, one_source.array.shape
    if len(shape) < 2 or len(source_shape) < 2:
        raise ValueError(f"batch_jacobian: target and source need rank 2 or more, got shapes {shape} and {source_shape}.")
    if shape[0] != source_shape[0]:
        raise ValueError(f"batch_jacobian: target and source differ in the batch size: {shape[0]} and {source_shape[0]}.")
    size = math.prod(shape[1:])

    def run() -> Any:
        def seed(i: int) -> Any:
            return np.broadcast_to(np.arange(size) == i, (shape[0], size))

        (rows,) = _rows(self, recording, one_target, [one_source], size, seed)
        if not size or all(row is None for row in rows):
            return Tensor(np.zeros(shape + source_shape[1:], one_source.array.dtype))
        stacked = stack(*_zeros_for_none(rows, one_source), axis=1)
        return finished(reshape(stacked, shape=shape + source_shape[1:]))

    return _differentiated(self, recording, "batch_jacobian", [one_target], run)


def _differentiated(tape: GradientTape, recording: Scope, method: str, targets: Sequence[Any], run: Callable[[], Any]) -> Any:
    """`run()` as the one differentiation that a non-persistent tape gives."""
    tape._leave_before_differentiating(method)
    nodes = [node for target in targets if (node := tape._node_of(target)) is not None]
    try:
        return run()
    except BaseException as error:
        tape._ended_by = f"a {method}() that failed with {type(error).__name__}: {error}"
        raise
    finally:
        if not tape._persistent:
            release_all(nodes, recording)
            tape._close()


def _rows(
    tape: GradientTape, recording: Scope, target: Any, sources: Sequence[Any], size: int, seed: Callable[[int], Any]
) -> list[list[Any]]:
    """For each source, its gradient for each of `size` seeds; None where there is no path."""
    node = tape._node_of(target)
    nodes = [tape._node_of(source) for source in sources]
    rows: list[list[Any]] = [[] for _ in sources]
    array = target.array
    for i in range(size):
        g = seed(i).reshape(array.shape).astype(array.dtype)
        found: dict[Node | None, Any] = {}
        if node is not None:
            seeds = {node: Tensor(g) if here.state.scope is not None else g}
            found = tape._pull(seeds, nodes, recording, release=False)
        for row, source, source_node in zip(rows, sources, nodes, strict=True):
            pulled = found.get(source_node) if source_node is not None else g if source is target else None
            row.append(pulled.dense() if isinstance(pulled, RawSlices) else pulled)
    return rows


def _joined(rows: list[Any], target: Any, source: Any, unconnected: UnconnectedGradients) -> Any:
    shape = target.array.shape
    connected = [row for row in rows if row is not None]
    if not rows and source.dtype.is_trainable and target.dtype.is_trainable:
        return Tensor(np.zeros(shape + source.array.shape, source.array.dtype))
    if not connected:
        return unconnected_value(source, unconnected, shape)
    return finished(reshape(stack(*_zeros_for_none(rows, source), axis=0), shape=shape + source.array.shape))


def _zeros_for_none(rows: Sequence[Any], source: Any) -> list[Any]:
    zeros = np.zeros(source.array.shape, source.array.dtype)
    tensors = any(isinstance(row, Tensor) for row in rows)
    return [(Tensor(zeros) if tensors else zeros) if row is None else row for row in rows]


GradientTape.jacobian = jacobian  # type: ignore[method-assign]
GradientTape.batch_jacobian = batch_jacobian  # type: ignore[method-assign]
