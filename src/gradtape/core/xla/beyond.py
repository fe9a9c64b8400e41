"""What a function does that XLA cannot compile: the errors for it, which cannot be hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gradtape.core.thread import here
from gradtape.engines.xla.engine import NotTraceableError

Result = TypeVar("Result")


class BeyondXlaError(NotTraceableError):
    """XLA cannot compile what a function does here, but eager code can run it.

    The program that is being traced notes it: a handler in the user's code may catch it, and what
    the function computes then is not what it computes in eager code.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        if here.state.trace is not None:
            here.state.trace.beyond = message


class UnforeseenError(NotTraceableError):
    """A compiled program that is running has met something that its tracing did not foresee, and
    that eager code can run: the call has written nothing yet, and is made again as Python code.
    """


def attempt(run: Callable[[], Result]) -> Result:
    """The result of something that there is another way to: if it fails, nothing in it was beyond
    XLA.
    """
    trace = here.state.trace
    before = None if trace is None else trace.beyond
    try:
        return run()
    except Exception:
        if trace is not None:
            trace.beyond = before
        raise
