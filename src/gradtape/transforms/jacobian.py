"""`GradientTape.jacobian` and `batch_jacobian`: one backward walk with a whole batch of cotangents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.core.backward import dense, finished, release_all
from gradtape.core.batching import BatchedTensor, Level
from gradtape.core.node import Node
from gradtape.core.scope import Scope, here
from gradtape.core.tape import GradientTape, UnconnectedGradients, as_unconnected, leaves_of, unconnected_value
from gradtape.core.tensor import Tensor
from gradtape.ops.shaping import reshape, stack, transpose
from gradtape.transforms.vectorize import whole

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
        array = one_target.array
        seeds = np.eye(array.size, dtype=array.dtype).reshape(array.size, *array.shape)
        found = _pulled(self, recording, one_target, flat_sources, seeds)
        shaped = [
            unconnected_value(source, unconnected, array.shape)
            if rows is None
            else reshape(rows, shape=array.shape + source.array.shape)
            for rows, source in zip(found, flat_sources, strict=True)
        ]
        return nest.pack_sequence_as(sources, shaped) if nest.is_nested(sources) else shaped[0]

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
        columns = np.eye(size, dtype=one_target.array.dtype)[:, None, :]
        seeds = np.broadcast_to(columns, (size, shape[0], size)).reshape(size, *shape)
        (rows,) = _pulled(self, recording, one_target, [one_source], seeds)
        if rows is None:
            return Tensor(np.zeros(shape + source_shape[1:], one_source.array.dtype))
        batch_first = transpose(rows, perm=(1, 0, *range(2, rows.array.ndim)))
        return reshape(batch_first, shape=shape + source_shape[1:])

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


def _pulled(tape: GradientTape, recording: Scope, target: Any, sources: Sequence[Any], seeds: Any) -> list[Tensor | None]:
    """For each source, its gradients for all `seeds` of the target, stacked; None where there is no path."""
    node = tape._node_of(target)
    nodes = [tape._node_of(source) for source in sources]
    if node is None or target.array.dtype not in dtypes.TRAINABLE:
        return [Tensor(seeds) if source is target and source.dtype.is_trainable else None for source in sources]
    if not len(seeds):
        return [
            None if n is None else Tensor(np.zeros((0, *s.array.shape), s.array.dtype))
            for n, s in zip(nodes, sources, strict=True)
        ]
    try:
        found = _pulled_at_once(tape, recording, node, nodes, seeds)
    except Exception:  # noqa: BLE001 - a custom gradient that cannot take a batch; what is really wrong is raised again below
        found = _pulled_one_by_one(tape, recording, node, nodes, seeds)
    return [found.get(n) if n is not None else None for n in nodes]


def _pulled_at_once(tape: GradientTape, recording: Scope, node: Node, nodes: Sequence[Any], seeds: Any) -> dict[Node, Any]:
    with Level(len(seeds)) as level:
        found = tape._pull({node: BatchedTensor(Tensor(seeds), level)}, nodes, recording, release=False)
        return {source: whole(dense(g), level) for source, g in found.items()}


def _pulled_one_by_one(tape: GradientTape, recording: Scope, node: Node, nodes: Sequence[Any], seeds: Any) -> dict[Node, Any]:
    tensors = here.state.scope is not None
    rows = [tape._pull({node: Tensor(g) if tensors else g}, nodes, recording, release=False) for g in seeds]
    return {source: finished(stack(*[dense(row[source]) for row in rows], axis=0)) for source in rows[0]}


GradientTape.jacobian = jacobian  # type: ignore[method-assign]
GradientTape.batch_jacobian = batch_jacobian  # type: ignore[method-assign]
