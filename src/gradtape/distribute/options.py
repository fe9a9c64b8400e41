"""Options that programs pass to strategies: JAX decides how devices speak to each other, so they
change nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from gradtape.published import published


@published("distribute.CrossDeviceOps")
class CrossDeviceOps:
    """How devices add up what they have. XLA chooses that; the class exists for programs that pass
    it.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.MirroredStrategy(
    ...     ["/cpu:0"], cross_device_ops=tf.distribute.NcclAllReduce()
    ... )
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


@published("distribute.NcclAllReduce")
class NcclAllReduce(CrossDeviceOps):
    """As TensorFlow has it: XLA uses NCCL on GPUs by itself."""


@published("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(CrossDeviceOps):
    """As TensorFlow has it: XLA chooses how it adds up."""


@published("distribute.ReductionToOneDevice")
class ReductionToOneDevice(CrossDeviceOps):
    """As TensorFlow has it: XLA chooses how it adds up."""


@published("distribute.InputReplicationMode")
class InputReplicationMode(Enum):
    """How many input pipelines there are."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class _Noted:
    """Keeps what it is given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)


@published("distribute.InputOptions")
class InputOptions(_Noted):
    """Options of distributed datasets, which are the same whatever they say."""


@published("distribute.RunOptions")
class RunOptions(_Noted):
    """Options of `Strategy.run`, which is the same whatever they say."""


@published("distribute.experimental.CommunicationOptions")
class CommunicationOptions(_Noted):
    """Options for what devices send each other, which XLA decides."""


@published("distribute.experimental.CollectiveHints")
class CollectiveHints(_Noted):
    """Options for what devices send each other, which XLA decides."""


@published(
    "distribute.experimental.CommunicationImplementation",
    "distribute.experimental.CollectiveCommunication",
)
class CommunicationImplementation(Enum):
    """What devices send each other values with, which XLA decides."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@published("distribute.experimental.ValueContext")
class ValueContext:
    """Which replica a value is for, in `Strategy.experimental_distribute_values_from_function`.

    >>> import gradtape as tf
    >>> strategy = tf.distribute.get_strategy()
    >>> int(strategy.experimental_distribute_values_from_function(
    ...     lambda context: tf.constant(context.replica_id_in_sync_group)))
    0
    """

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1) -> None:
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = num_replicas_in_sync
