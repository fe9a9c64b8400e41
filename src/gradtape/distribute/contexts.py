"""`ReplicaContext`: what a function that every replica runs may ask, and how replicas speak to each
other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradtape import nest
from gradtape.convert import as_tensor
from gradtape.core.batching import BatchedTensor
from gradtape.core.indexed_slices import IndexedSlices
from gradtape.core.replicas import now, running
from gradtape.core.tensor import Tensor
from gradtape.core.xla.trace import inside_a_program
from gradtape.distribute.reductions import ReduceOp, added, divided, joined, operation
from gradtape.distribute.values import per_replica
from gradtape.errors import invalid_argument
from gradtape.functions.replicated import all_of_replicas, replica_number, sum_of_replicas
from gradtape.published import published
from gradtape.transforms.custom_gradient import custom_gradient

if TYPE_CHECKING:
    from gradtape.distribute.lockstep import Lockstep
    from gradtape.distribute.strategy import Strategy


@published("distribute.ReplicaContext")
class ReplicaContext:
    """One replica of a strategy, in a function that `Strategy.run` was given:
    `get_replica_context()` returns it.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    >>> def step(x):
    ...     return tf.distribute.get_replica_context().all_reduce("sum", x)
    >>> strategy.run(step, args=(tf.constant(2.0),))
    <tf.Tensor: shape=(), dtype=float32, numpy=2.0>
    """

    def __init__(self, strategy: Strategy, replica_id_in_sync_group: Any) -> None:
        self._strategy = strategy
        self._number = replica_id_in_sync_group

    @property
    def strategy(self) -> Strategy:
        """The strategy of which this is a replica."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica: a tensor in a compiled function."""
        return self._number

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of this replica; that of the first one in a compiled function."""
        devices = self._strategy.extended.worker_devices
        return (devices[self._number if isinstance(self._number, int) else 0],)

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """The sum or the mean of what all replicas give, for all of them; `value` may be a
        structure.
        """
        way = operation(reduce_op, "all_reduce")

        def one(leaf: Any) -> Any:
            tensor = _tensor(leaf, "all_reduce")
            if tensor.dtype.is_bool:
                raise invalid_argument(
                    "all_reduce: value has dtype bool, which cannot be added up: cast it first."
                )
            total = self._sum(tensor)
            return total if way is ReduceOp.SUM else divided(total, self.num_replicas_in_sync)

        return nest.map_structure(one, value)

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """What all replicas give, one after the other along an axis, for all of them."""

        def one(leaf: Any) -> Any:
            tensor = _tensor(leaf, "all_gather")
            rank = tensor.outline.ndim
            if not -rank <= axis < rank:
                raise invalid_argument(
                    f"all_gather: axis {axis} is not an axis of a value of shape {tensor.shape}."
                )
            return self._gathered(tensor, axis % rank)

        return nest.map_structure(one, value)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Calls `merge_fn(strategy, ...)` once for all replicas, with their arguments together."""

        def merged(calls: Any) -> Any:
            given, named = nest.map_structure(lambda *leaves: per_replica(leaves), *calls)
            with running(self._strategy, None):
                return merge_fn(self._strategy, *given, **named)

        return self._together(merged, (tuple(args), dict(kwargs or {})))

    def _together(self, combine: Callable[[list[Any]], Any], value: Any) -> Any:
        """What a function makes of the values of all replicas."""
        return combine([value])

    def _sum(self, tensor: Tensor) -> Tensor:
        """The sum of what all replicas give."""
        return tensor

    def _gathered(self, tensor: Tensor, axis: int) -> Tensor:
        """What all replicas give, one after the other along an axis."""
        return tensor

    def __enter__(self) -> ReplicaContext:
        self._around = now.strategy, now.context
        now.strategy, now.context = self._strategy, self
        return self

    def __exit__(self, *error: object) -> None:
        now.strategy, now.context = self._around


class TracedContext(ReplicaContext):
    """All replicas at once, in a program that each of them runs."""

    def __init__(self, strategy: Strategy) -> None:
        super().__init__(strategy, replica_number(strategy.layout))

    def _sum(self, tensor: Tensor) -> Tensor:
        return sum_of_replicas(tensor, self._strategy.layout)

    def _gathered(self, tensor: Tensor, axis: int) -> Tensor:
        return all_of_replicas(tensor, self._strategy.layout, axis)

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        raise NotImplementedError(
            "merge_call is not available in a gradtape.function, which all replicas run at once: "
            "use all_reduce or all_gather of the replica context, or call Strategy.run outside "
            "the function."
        )


class EagerContext(ReplicaContext):
    """A replica that runs as eager code, in step with the others."""

    def __init__(self, strategy: Strategy, number: int, lockstep: Lockstep) -> None:
        super().__init__(strategy, number)
        self._lockstep = lockstep

    def _together(self, combine: Callable[[list[Any]], Any], value: Any) -> Any:
        if inside_a_program():
            raise RuntimeError(
                "A gradtape.function that a replica calls in eager code cannot speak to other "
                "replicas: give the function itself to Strategy.run, or call Strategy.run inside "
                "a gradtape.function."
            )
        return self._lockstep.meet(self._number, value, combine)

    def _sum(self, tensor: Tensor) -> Tensor:
        # A tape records one thread only, and each replica has its own: what they tell each other
        # is an op, whose derivative they tell each other again.
        def total(x: Tensor) -> tuple[Tensor, Any]:
            return self._across(lambda values, _: added(values), x, 0), self._sum

        return custom_gradient(total)(tensor)

    def _gathered(self, tensor: Tensor, axis: int) -> Tensor:
        def gathered(x: Tensor) -> tuple[Tensor, Any]:
            rows = self._together(lambda sizes: sizes, x.shape[axis])
            first = sum(rows[: self._number])

            def own(g: Tensor) -> Tensor:
                part = slice(first, first + rows[self._number])
                return self._sum(g)[(slice(None),) * axis + (part,)]

            return self._across(joined, x, axis), own

        return custom_gradient(gathered)(tensor)

    def _across(self, combine: Callable[[list[Any], int], Any], x: Tensor, axis: int) -> Tensor:
        """What a function makes of the tensors of all replicas and of an axis; of batches, of which
        only this thread knows, for all examples at once.
        """
        if isinstance(x, BatchedTensor):
            return BatchedTensor(self._across(combine, x.inner, axis + 1), x.level)
        found: Tensor = self._together(lambda values: combine(values, axis), x)
        return found


def _tensor(leaf: Any, what: str) -> Tensor:
    dense = leaf.__gradtape_tensor__() if isinstance(leaf, IndexedSlices) else leaf
    return as_tensor(dense, argument=f"{what}: value")
