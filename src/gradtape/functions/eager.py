"""Functions that XLA cannot compile, or for which that would not pay yet: they run as eager Python,
as one call.

XLA needs known shapes. A function with other shapes runs as eager code, while the functions that it
calls are compiled as before. If it fails, the Variables get back the values from before the call.
So does a function that is called with a size that is new, and the functions that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gradtape import nest
from gradtape.blocks import block
from gradtape.core.messages import log_warning
from gradtape.core.thread import here
from gradtape.core.unchanged import Unwritten
from gradtape.core.xla.trace import NotTracedError
from gradtape.errors import OutOfRangeError
from gradtape.functions.autograph.marks import NeedsConversion, needing_conversion
from gradtape.functions.reason import NotCompiled

if TYPE_CHECKING:
    from gradtape.functions.function import Function
    from gradtape.functions.signature import Arguments


def run_eagerly(
    function: Function, arguments: Arguments, why: NotCompiled, call: Unwritten | None = None
) -> Any:
    """The result of the Python function; the log says once for each function why it was not
    compiled. `call` notes what it reads and writes.
    """
    if not function.said_why:
        function.said_why = True
        log_warning("%s runs op by op, without XLA, because of %s", function._name, why)
    return _run_either_way(function, arguments, str(why), call)


def run_while_waiting(function: Function, arguments: Arguments) -> Any:
    """The result of the Python function for a size that is not worth a program yet."""
    with waiting():
        return _run_either_way(function, arguments, _NEW_SIZE, None)


@block
def waiting(goes_on: Callable[[], None] | None = None) -> Iterator[None]:
    """A call of a function for a size that is not worth a program yet, or while XLA compiles it;
    `goes_on` is called before each op then.
    """
    state = here.state
    before = state.waits, state.goes_on
    state.waits, state.goes_on = True, goes_on
    try:
        yield
    finally:
        state.waits, state.goes_on = before


_NEW_SIZE = "a size of its arguments that is new."


def _run_either_way(
    function: Function, arguments: Arguments, why: str, call: Unwritten | None
) -> Any:
    if not function.runs_converted:
        try:
            return _run(function, arguments, why, call or Unwritten())
        except NeedsConversion:
            function.runs_converted = True
    return _run(function, arguments, why, call or Unwritten())


def _run(function: Function, arguments: Arguments, why: str, call: Unwritten) -> Any:
    """The Python function as it is, which is faster, unless AutoGraph has to bound its loops."""
    args, kwargs = arguments.rebuilt(arguments.tensors)
    converted = function.runs_converted
    run = function.converted() if converted else function.python_function
    with call, needing_conversion(possible=function.autograph and not converted):
        try:
            result = nest.map_structure(function.output, run(*args, **kwargs))
        except NotTracedError as error:
            error.say_why(f"{function._name} runs op by op, because of {why}")
            raise
        except StopIteration as end:
            if isinstance(end.__cause__, OutOfRangeError):  # of `next` of a dataset's iterator
                raise end.__cause__ from None
            raise
        call.are_final = True
        return result
