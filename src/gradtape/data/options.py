"""`Options`: what users may ask of how a pipeline runs."""

from __future__ import annotations

import copy
import enum
from typing import Any

from gradtape.published import published


class _Settings:
    """Named settings, all None until they are set; a name that is none is refused."""

    _names: tuple[str, ...] = ()

    def __init__(self) -> None:
        for name in self._names:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(
                f"{type(self).__name__} has no setting {name!r}: it has {', '.join(self._names)}."
            )
        object.__setattr__(self, name, value)

    def merged(self, other: Any) -> Any:
        """These settings, with those of another that are set in their place."""
        found = copy.copy(self)
        for name in self._names:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, _Settings):
                theirs = mine.merged(theirs)
            object.__setattr__(found, name, mine if theirs is None else theirs)
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self).__name__)

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in vars(self).items() if value is not None]
        return f"{type(self).__name__}({', '.join(given)})"


@published("data.experimental.AutoShardPolicy")
class AutoShardPolicy(enum.IntEnum):
    """How datasets are divided between workers, in TensorFlow.

    >>> import gradtape as tf
    >>> tf.data.experimental.AutoShardPolicy.OFF.name
    'OFF'
    """

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


@published("data.ThreadingOptions", "data.experimental.ThreadingOptions")
class ThreadingOptions(_Settings):
    """How many threads a pipeline has, in TensorFlow; here each stage has its own.

    >>> import gradtape as tf
    >>> options = tf.data.Options()
    >>> options.threading.private_threadpool_size = 4
    """

    _names = ("max_intra_op_parallelism", "private_threadpool_size")


@published("data.experimental.AutotuneOptions")
class AutotuneOptions(_Settings):
    """How TensorFlow chooses what is AUTOTUNE.

    >>> import gradtape as tf
    >>> tf.data.experimental.AutotuneOptions().enabled is None
    True
    """

    _names = ("enabled", "cpu_budget", "ram_budget", "autotune_algorithm", "initial_parallelism")


@published("data.experimental.DistributeOptions")
class DistributeOptions(_Settings):
    """How datasets are divided between workers, in TensorFlow.

    >>> import gradtape as tf
    >>> options = tf.data.Options()
    >>> options.experimental_distribute.auto_shard_policy = (
    ...     tf.data.experimental.AutoShardPolicy.DATA
    ... )
    """

    _names = ("auto_shard_policy", "num_devices")


@published("data.experimental.OptimizationOptions")
class OptimizationOptions(_Settings):
    """Which stages TensorFlow puts together; gradtape does it where the result is the same.

    >>> import gradtape as tf
    >>> tf.data.experimental.OptimizationOptions().map_fusion is None
    True
    """

    _names = (
        "apply_default_optimizations", "filter_fusion", "filter_parallelization", "inject_prefetch",
        "map_and_batch_fusion", "map_and_filter_fusion", "map_fusion", "map_parallelization",
        "noop_elimination", "parallel_batch", "seq_interleave_prefetch",
        "shuffle_and_repeat_fusion",
    )  # fmt: skip


@published("data.Options")
class Options(_Settings):
    """What can be asked of a pipeline, for `with_options`.

    They are kept and given back, and change nothing: each stage keeps the order of elements, and
    has the threads that it needs.

    >>> import gradtape as tf
    >>> options = tf.data.Options()
    >>> options.deterministic = False
    >>> tf.data.Dataset.range(3).with_options(options).options().deterministic
    False
    """

    _names = (
        "autotune", "dataset_name", "deterministic", "experimental_distribute",
        "experimental_external_state_policy", "experimental_optimization", "experimental_slack",
        "experimental_symbolic_checkpoint", "experimental_warm_start", "framework_type",
        "threading",
    )  # fmt: skip

    deterministic: Any
    threading: Any

    def __init__(self) -> None:
        super().__init__()
        self.autotune = AutotuneOptions()
        self.experimental_distribute = DistributeOptions()
        self.experimental_optimization = OptimizationOptions()
        self.threading = ThreadingOptions()

    @property
    def experimental_deterministic(self) -> Any:
        """The older name of `deterministic`."""
        return self.deterministic

    @property
    def experimental_threading(self) -> Any:
        """The older name of `threading`."""
        return self.threading

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("experimental_deterministic", "experimental_threading"):
            name = name.removeprefix("experimental_")
        super().__setattr__(name, value)

    def merge(self, options: Options) -> Options:
        """These options, with those of another that are set in their place."""
        found: Options = self.merged(options)
        return found
