"""`Strategy`: functions that every replica runs on its own part of the data.

Variables made in its scope are the same on all devices. In a `gradtape.function`, `run` becomes a
part of the program that each device runs; in eager code the replicas run one after the other, in
step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

from gradtape import nest
from gradtape.blocks import Block, block
from gradtape.convert import as_tensor
from gradtape.core.device import device
from gradtape.core.replicas import now, running
from gradtape.core.tensor import Tensor, full_name
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.layouts import Layout, device_names, lay_out, layout_of_devices
from gradtape.core.xla.trace import inside_a_program
from gradtape.distribute.contexts import EagerContext, ReplicaContext, TracedContext
from gradtape.distribute.datasets import (
    DistributedDataset,
    InputContext,
    distributed,
    from_function,
)
from gradtape.distribute.lockstep import Lockstep
from gradtape.distribute.meshes import names_of_devices
from gradtape.distribute.options import ValueContext
from gradtape.distribute.reductions import joined, operation, reduced
from gradtape.distribute.values import PerReplica, of_replica, of_this_process, per_replica
from gradtape.functions.decorator import function
from gradtape.functions.function import Function
from gradtape.functions.replicated import begins_with_zero, run_replicated
from gradtape.functions.traced import Flat
from gradtape.published import published

AXIS = "replica"


class _Mirrored:
    """The place of Variables that are made in the scope of a strategy with several devices."""

    name = "CPU:0"

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    def move(self, tensor: Tensor) -> Tensor:
        """Eager code runs on the host."""
        return tensor

    def adopt(self, variable: Variable) -> None:
        """Gives a new Variable to all devices; strings stay on the host."""
        if type(variable) is Variable and variable.outline.dtype.kind != "O":
            self._strategy.agree(variable)
            lay_out(variable, self._strategy.layout)
            if begins_with_zero(variable):
                self._strategy.parts.append(ref(variable))


@block
def _making(place: _Mirrored) -> Iterator[None]:
    """A block in which Variables are made for the devices of a strategy."""
    state = here.state
    before, state.device = state.device, place
    try:
        yield
    finally:
        state.device = before


class Scope(Block):
    """The scope of a strategy."""

    _blocks: tuple[Any, ...] = ()

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    def enter(self) -> None:
        self._blocks = running(self._strategy, None), self._strategy.place()
        for one in self._blocks:
            one.__enter__()

    def leave(self) -> None:
        blocks, self._blocks = self._blocks, ()
        for one in reversed(blocks):
            one.__exit__(None, None, None)

    def __enter__(self) -> Strategy:  # type: ignore[override]
        super().__enter__()
        return self._strategy


class StrategyExtended:
    """What TensorFlow has for those who write strategies: `Strategy.extended`."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The names of the devices on which replicas run."""
        return tuple(full_name(name) for name in self._names)

    parameter_devices = worker_devices


@published("distribute.Strategy")
class Strategy:
    """Replicas of a computation, one on each of some devices. Make one of the classes that say on
    which: `MirroredStrategy` or `OneDeviceStrategy`.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    >>> with strategy.scope():
    ...     v = tf.Variable(2.0)
    >>> strategy.reduce("sum", strategy.run(lambda x: v * x, args=(tf.constant(3.0),)), axis=None)
    <tf.Tensor: shape=(), dtype=float32, numpy=6.0>
    """

    is_default = False

    def __init__(self, names: Sequence[str]) -> None:
        """`names` are those of the devices, such as `GPU:0`."""
        self._names = list(names)
        self._functions: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        # The Variables whose value is the sum of what replicas have.
        self.parts: list[ref[Variable]] = []
        self.extended = StrategyExtended(names)

    @functools.cached_property
    def layout(self) -> Layout:
        """That of values which all devices have."""
        return layout_of_devices(self._names, AXIS)

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return len(self._names)

    @property
    def own_replicas(self) -> range:
        """The numbers of those of this process."""
        return range(self.num_replicas_in_sync)

    @property
    def processes(self) -> tuple[int, int]:
        """How many processes have replicas, and the number of this one."""
        return 1, 0

    def scope(self) -> Scope:
        """A block in which this is the strategy, and Variables are made for all its devices."""
        return Scope(self)

    def place(self) -> Any:
        """Where Variables of its scope are made, as a block."""
        if self.num_replicas_in_sync > 1:
            return _making(_Mirrored(self))
        return device(None if self._names == ["CPU:0"] else f"/{self._names[0]}")

    def agree(self, variable: Variable) -> None:
        """Makes a new Variable the same in all processes; there is one."""

    # Running

    def run(
        self,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: dict[str, Any] | None = None,
        options: Any = None,
    ) -> Any:
        """What a function returns on each replica, as a PerReplica; with one replica, what it
        returns.

        Of a PerReplica among the arguments each replica gets its own value.
        """
        if now.context is not None and now.strategy is self:
            raise RuntimeError("Strategy.run was called in a function that it runs.")
        args, kwargs = tuple(args or ()), dict(kwargs or {})
        if self.num_replicas_in_sync == 1:
            with self.place(), running(self, ReplicaContext(self, 0)):
                return fn(*args, **kwargs)
        if inside_a_program():
            return self._traced(_python(fn), args, kwargs)
        if not isinstance(fn, Function) or _differ(args, kwargs):
            return self._in_step(_python(fn), args, kwargs)
        compiled = self._functions.get(fn)
        if compiled is None:
            compiled = self._functions[fn] = self._compiled(ref(fn))
        return compiled(args, kwargs)

    def _compiled(self, fn: ref[Function]) -> Any:
        """A function that runs another one on all replicas."""
        return function(lambda args, kwargs: self.run(_python(fn()), args, kwargs), autograph=False)

    def _traced(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The same in a program that is being traced."""
        leaves = nest.flatten((args, kwargs))
        if _differ(args, kwargs):
            raise BeyondXlaError(
                "Strategy.run: the replicas have values of different shapes, for example of the "
                "last batch: XLA runs one program on all of them. drop_remainder=True in "
                "Dataset.batch leaves such batches out."
            )
        tensors = [leaf for leaf in leaves if isinstance(leaf, (PerReplica, Tensor))]
        given = [leaf.stacked if isinstance(leaf, PerReplica) else leaf for leaf in tensors]
        flat: list[Flat] = []

        def body(values: list[Tensor]) -> list[Tensor]:
            parts = iter(values)
            filled = [
                next(parts) if isinstance(leaf, (PerReplica, Tensor)) else leaf for leaf in leaves
            ]
            own_args, own_kwargs = nest.pack_sequence_as((args, kwargs), filled)
            flat[:] = [Flat(lambda: fn(*own_args, **own_kwargs), "Strategy.run: a result")]
            with running(self, TracedContext(self)):
                return flat[0]()

        own = [isinstance(leaf, PerReplica) for leaf in tensors]
        with self.place():
            found = run_replicated(body, self.layout, given, own)  # type: ignore[arg-type]
        values = iter(found)
        return nest.map_structure(
            lambda leaf: None if leaf is None else PerReplica(next(values)), flat[0].structure
        )

    def _in_step(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The same as eager code."""
        count = self.num_replicas_in_sync
        self.parts = [known for known in self.parts if known() is not None]
        lockstep = Lockstep(self, count, [v for known in self.parts if (v := known()) is not None])
        contexts = [EagerContext(self, number, lockstep) for number in range(count)]

        def call(number: int) -> Any:
            own_args, own_kwargs = of_replica((args, kwargs), number)
            return fn(*own_args, **own_kwargs)

        results = lockstep.run(contexts, call)
        return nest.map_structure(lambda *leaves: _per_replica(leaves), *results)

    # Values

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """One value made of those of all replicas, and of their entries along an axis if one is
        given: their sum or their mean.
        """
        way, count = operation(reduce_op, "reduce"), self.num_replicas_in_sync
        if count == 1 and axis is None:
            return nest.map_structure(as_tensor, value)
        return nest.map_structure(lambda leaf: reduced(way, leaf, axis, count), value)

    def gather(self, value: Any, axis: int) -> Any:
        """What all replicas have, one after the other along an axis."""
        if not isinstance(value, PerReplica):
            return nest.map_structure(as_tensor, value)
        return joined(value.everywhere, axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas of this process, as a tuple."""
        if isinstance(value, PerReplica):
            return value.values
        if nest.is_nested(value) and any(isinstance(v, PerReplica) for v in nest.flatten(value)):
            return tuple(of_replica(value, i) for i in range(len(self.own_replicas)))
        return (value,)

    def experimental_distribute_values_from_function(
        self, value_fn: Callable[[ValueContext], Any]
    ) -> Any:
        """What a function returns for each replica."""
        count = self.num_replicas_in_sync
        own = [as_tensor(value_fn(ValueContext(i, count))) for i in self.own_replicas]
        return per_replica(own) if self.processes[0] == 1 else of_this_process(own, self.layout)

    # Data

    def experimental_distribute_dataset(
        self, dataset: Any, options: Any = None
    ) -> DistributedDataset:
        """A dataset of batches, of each of which every replica gets a part."""
        return distributed(self, dataset)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any = None
    ) -> DistributedDataset:
        """A dataset whose elements are batches of replicas: each gets one of them at a time."""
        return from_function(self, dataset_fn)

    def __deepcopy__(self, memo: Any) -> Strategy:
        return self


def _python(fn: Any) -> Callable[..., Any]:
    """A function as Python code, converted by AutoGraph if it is a `function`."""
    return fn.converted() if isinstance(fn, Function) else fn


def _differ(args: Any, kwargs: Any) -> bool:
    """Whether replicas are given values of different shapes."""
    leaves = nest.flatten((args, kwargs))
    return any(isinstance(leaf, PerReplica) and leaf.stacked is None for leaf in leaves)


def _per_replica(leaves: Sequence[Any]) -> Any:
    if all(leaf is None for leaf in leaves):
        return None
    return per_replica([as_tensor(leaf, argument="Strategy.run: a result") for leaf in leaves])


@published("distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """A replica on each device of this process: on all GPUs or TPUs if there are any.

    `cross_device_ops` is accepted; XLA chooses how devices add up.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    >>> strategy.num_replicas_in_sync
    1
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: Any = None) -> None:
        super().__init__(names_of_devices(devices, "MirroredStrategy"))


@published("distribute.TPUStrategy", "distribute.experimental.TPUStrategy")
class TPUStrategy(MirroredStrategy):
    """A replica on each TPU; JAX finds them, so that no cluster resolver is needed.

    >>> import gradtape as tf
    >>> issubclass(tf.distribute.TPUStrategy, tf.distribute.MirroredStrategy)
    True
    """

    def __init__(
        self,
        tpu_cluster_resolver: Any = None,
        experimental_device_assignment: Any = None,
        experimental_spmd_xla_partitioning: bool = False,
    ) -> None:
        if experimental_device_assignment is not None:
            raise ValueError("TPUStrategy: experimental_device_assignment: leave it out.")
        found = [name for name in device_names() if name.startswith("TPU:")]
        if not found:
            raise RuntimeError("TPUStrategy: JAX finds no TPU: use MirroredStrategy elsewhere.")
        super().__init__(found)


@published("distribute.OneDeviceStrategy")
class OneDeviceStrategy(Strategy):
    """One replica, on a device.

    >>> import gradtape as tf
    >>> tf.distribute.OneDeviceStrategy(device="/cpu:0").num_replicas_in_sync
    1
    """

    def __init__(self, device: str) -> None:
        super().__init__(names_of_devices([device], "OneDeviceStrategy"))


class _DefaultStrategy(Strategy):
    """What there is without a strategy: one replica, wherever code runs."""

    is_default = True

    def __init__(self) -> None:
        super().__init__(["CPU:0"])


@functools.cache
def default_strategy() -> Strategy:
    """The one that is in force where no other is."""
    return _DefaultStrategy()
