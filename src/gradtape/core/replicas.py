"""Which strategy of `tf.distribute` is in force on a thread, and which replica of it runs there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from gradtape.blocks import block


class _Now(threading.local):
    scope: Any = None  # that of `experimental_set_strategy`
    strategy: Any = None  # whose scope has been entered; None for the default one
    context: Any = None  # that of the replica which runs, in a function that `run` was given


now = _Now()


@block
def running(strategy: Any, context: Any) -> Iterator[None]:
    """A block in which a replica of a strategy runs; without a context, one about all replicas."""
    before = now.strategy, now.context
    now.strategy, now.context = strategy, context
    try:
        yield
    finally:
        now.strategy, now.context = before


def replica_context() -> Any:
    """The context of the replica that runs, if there are others beside it."""
    return None if replicas_now() == 1 else now.context


def replicas_now() -> int:
    """How many replicas run what is called."""
    return 1 if now.context is None else int(now.context.num_replicas_in_sync)
