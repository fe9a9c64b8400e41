"""`MultiWorkerMirroredStrategy`: replicas on the devices of several processes.

Every process runs the same script. What replicas are given and return is an array of which each
process has its own part.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape.api.tensorflow.random.sequence import global_seed, set_seed
from gradtape.core.variable import Variable
from gradtape.core.xla.joining import join
from gradtape.core.xla.layouts import Layout, layout_of_all_processes
from gradtape.distribute.strategy import AXIS, MirroredStrategy
from gradtape.engines.xla import processes as xla_processes
from gradtape.published import published


class Task(NamedTuple):
    """What TF_CONFIG says of this process: its job and its number there, as TensorFlow's cluster
    resolvers have them, and the addresses of all processes, the first of which coordinates.
    """

    task_type: str | None
    task_id: int | None
    addresses: Sequence[str]
    number: int


def task_of(text: str) -> Task | None:
    """The task that the text of TF_CONFIG describes; None if it names no processes."""
    try:
        config = json.loads(text or "{}")
        cluster, task = config.get("cluster") or {}, config.get("task") or {}
        jobs: Mapping[str, Sequence[str]] = {job: list(cluster[job]) for job in cluster}
        kind, index = str(task.get("type")), int(task.get("index", 0))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            'TF_CONFIG must be like {"cluster": {"worker": ["host:port", ...]}, "task": {"type": '
            f'"worker", "index": 0}}}}, got {text!r}.'
        ) from error
    if "ps" in jobs:
        raise ValueError(
            "TF_CONFIG names parameter servers: MultiWorkerMirroredStrategy has only a chief and "
            "workers, which all have every Variable."
        )
    places = [(job, i) for job in ("chief", "worker") for i in range(len(jobs.get(job, ())))]
    if not places:
        return None
    if (kind, index) not in places:
        raise ValueError(
            f"TF_CONFIG: the task {kind!r} {index} is none of the cluster's, which are {places}."
        )
    addresses = [jobs[job][i] for job, i in places]
    return Task(kind, index, addresses, places.index((kind, index)))


@published(
    "distribute.MultiWorkerMirroredStrategy", "distribute.experimental.MultiWorkerMirroredStrategy"
)
class MultiWorkerMirroredStrategy(MirroredStrategy):
    """A replica on each device of all processes that TF_CONFIG names, or that have joined already
    with `keras.distribution.initialize`; on those of this process if there are no others.

    Make it before anything uses a device.

    >>> import gradtape as tf
    >>> tf.distribute.MultiWorkerMirroredStrategy().num_replicas_in_sync >= 1
    True
    """

    def __init__(
        self,
        cluster_resolver: Any = None,
        communication_options: Any = None,
        *,
        communication: Any = None,
    ) -> None:
        if cluster_resolver is not None:
            raise NotImplementedError(
                "MultiWorkerMirroredStrategy: cluster_resolver is not supported: describe the "
                "processes in the environment variable TF_CONFIG, start them with `python -m "
                "gradtape launch`, or call keras.distribution.initialize first."
            )
        task = task_of(os.environ.get("TF_CONFIG", ""))
        if task is not None and len(task.addresses) > 1 and not xla_processes.is_joined():
            join(task.addresses[0], len(task.addresses), task.number)
        super().__init__()
        self.cluster_resolver = task or Task(None, None, (), 0)
        if self.processes[0] > 1:
            seed = global_seed()
            own = int.from_bytes(os.urandom(4), "little") if seed is None else seed
            set_seed(int(xla_processes.of_the_first(np.int64(own))))

    @functools.cached_property
    def processes(self) -> tuple[int, int]:
        return xla_processes.how_many(), xla_processes.number_of_this()

    @functools.cached_property
    def layout(self) -> Layout:
        return super().layout if self.processes[0] == 1 else layout_of_all_processes(AXIS)

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are, in all processes."""
        return len(self._names) * self.processes[0]

    @property
    def own_replicas(self) -> range:
        first = len(self._names) * self.processes[1]
        return range(first, first + len(self._names))

    def agree(self, variable: Variable) -> None:
        """Gives a new Variable the value that it has in the first process."""
        if self.processes[0] > 1:
            variable.replace(xla_processes.of_the_first(variable.array))

    def _in_step(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if self.processes[0] == 1:
            return super()._in_step(fn, args, kwargs)
        raise RuntimeError(
            "Strategy.run: replicas of several processes run in compiled functions only: call it "
            "in a gradtape.function, with values of the same shape for every replica. "
            "drop_remainder=True in Dataset.batch leaves other batches out."
        )
