"""`tf.distribute`: replicas of a computation on several devices."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.distribute import experimental
from gradtape.distribute.contexts import ReplicaContext
from gradtape.distribute.current import (
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from gradtape.distribute.datasets import DistributedDataset, DistributedIterator, InputContext
from gradtape.distribute.options import (
    CrossDeviceOps,
    HierarchicalCopyAllReduce,
    InputOptions,
    InputReplicationMode,
    NcclAllReduce,
    ReductionToOneDevice,
    RunOptions,
)
from gradtape.distribute.reductions import ReduceOp
from gradtape.distribute.strategy import MirroredStrategy, OneDeviceStrategy, Strategy, TPUStrategy
from gradtape.distribute.values import DistributedValues
from gradtape.distribute.workers import MultiWorkerMirroredStrategy

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "CrossDeviceOps", "DistributedDataset", "DistributedIterator", "DistributedValues",
    "HierarchicalCopyAllReduce", "InputContext", "InputOptions", "InputReplicationMode",
    "MirroredStrategy", "MultiWorkerMirroredStrategy", "NcclAllReduce", "OneDeviceStrategy",
    "ReduceOp", "ReductionToOneDevice", "ReplicaContext", "RunOptions", "Strategy", "TPUStrategy",
    "experimental", "experimental_set_strategy", "get_replica_context", "get_strategy",
    "has_strategy", "in_cross_replica_context",
]  # fmt: skip
