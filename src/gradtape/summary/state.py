"""What summaries of a thread are written to, at which step, and whether they are: each thread has
its own, as in TensorFlow.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradtape.summary.writers import SummaryWriter


class State:
    """The default writer, the default step, and the condition under which summaries are recorded:
    a boolean, a tensor of one, or a function that gives one.

    `inner` names those that a block inside of a function has set: these belong to the function,
    the others to whoever calls it.
    """

    def __init__(self) -> None:
        self.writer: SummaryWriter | None = None
        self.step: Any = None
        self.condition: Any = True
        self.inner: frozenset[str] = frozenset()


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.state = State()


_of_thread = _OfThread()


def state_here() -> State:
    """The state of this thread."""
    return _of_thread.state
