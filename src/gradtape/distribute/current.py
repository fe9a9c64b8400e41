"""Which strategy is in force, and which of its replicas runs."""

from __future__ import annotations

from gradtape.core.replicas import now
from gradtape.distribute.contexts import ReplicaContext
from gradtape.distribute.strategy import Strategy, default_strategy
from gradtape.published import published


@published("distribute.get_strategy")
def get_strategy() -> Strategy:
    """The strategy in whose scope this is called; outside, one with a single replica.

    >>> import gradtape as tf
    >>> tf.distribute.get_strategy().num_replicas_in_sync
    1
    """
    strategy: Strategy | None = now.strategy
    return default_strategy() if strategy is None else strategy


@published("distribute.has_strategy")
def has_strategy() -> bool:
    """Whether this is called in the scope of a strategy.

    >>> import gradtape as tf
    >>> tf.distribute.has_strategy()
    False
    """
    return now.strategy is not None


@published("distribute.get_replica_context")
def get_replica_context() -> ReplicaContext | None:
    """The replica that runs; None in a strategy's scope, but not in a function that it runs.

    >>> import gradtape as tf
    >>> tf.distribute.get_replica_context().num_replicas_in_sync
    1
    """
    if now.context is not None:
        return now.context
    return ReplicaContext(default_strategy(), 0) if now.strategy is None else None


@published("distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Whether this is about all replicas: in a strategy's scope, not in a function that it runs.

    >>> import gradtape as tf
    >>> with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
    ...     tf.distribute.in_cross_replica_context()
    True
    """
    return now.strategy is not None and now.context is None


@published("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Makes a strategy the one in force on this thread, without a scope; None ends that.

    >>> import gradtape as tf
    >>> tf.distribute.experimental_set_strategy(None)
    """
    scope = vars(now).pop("scope", None)
    if scope is not None:
        scope.leave()
    if strategy is not None:
        now.scope = strategy.scope()
        now.scope.enter()
