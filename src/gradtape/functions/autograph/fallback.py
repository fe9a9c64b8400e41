"""Functions that AutoGraph does not convert: a warning for each, and an error that explains a
tensor used in one of their `if`s.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from gradtape.core.location import Location, locate, own_files
from gradtape.core.messages import log_warning
from gradtape.errors import OperatorNotAllowedInGraphError

_said: set[tuple[str, int, str]] = set()


class NotConvertedError(Exception):
    """A function cannot be converted; the message says why."""


@dataclass
class Talk:
    """How much AutoGraph logs about what it converts."""

    level: int = 0
    to_stdout: bool = False

    def about(self, function: FunctionType) -> None:
        code = function.__code__
        text = f"AutoGraph converts {code.co_qualname} ({code.co_filename}:{code.co_firstlineno})."
        if self.level > 0:
            import logging  # noqa: PLC0415 - most programs never log

            logging.getLogger("gradtape").info("%s", text)
            if self.to_stdout:
                sys.stdout.write(text + "\n")


talk = Talk()


class ExplainedError(OperatorNotAllowedInGraphError):
    """A tensor of a program was used as a Python value; the message says where,
    and why AutoGraph did not prevent it.
    """


def warn_once(function: FunctionType, why: str) -> None:
    """Says, once for each function, that it could not be converted."""
    code = function.__code__
    key = code.co_filename, code.co_firstlineno, code.co_qualname
    if key not in _said:
        _said.add(key)
        log_warning(
            "AutoGraph could not convert %s (%s:%s), because %s. It runs as it is; decorate it "
            "with gradtape.autograph.experimental.do_not_convert to silence this warning.",
            code.co_qualname, code.co_filename, code.co_firstlineno, why,
        )  # fmt: skip


def run_as_it_is(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], why: str
) -> Any:
    """Calls a function that is not converted; an error in it says why."""
    name = getattr(f, "__qualname__", None) or type(f).__qualname__
    return run_explaining(f, args, kwargs, f"AutoGraph did not convert '{name}', because {why}.")


def run_explaining(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], explanation: str
) -> Any:
    """Calls a function; if it uses a traced tensor as a Python value, the error says where, and
    why.
    """
    try:
        return f(*args, **kwargs)
    except ExplainedError:
        raise
    except OperatorNotAllowedInGraphError as error:
        message = f"{users_line(error)}: {error} {explanation}"
        raise ExplainedError(message).with_traceback(error.__traceback__) from None


def users_line(error: BaseException) -> Location | None:
    """The last line of the user's code that an error came from."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not own_files[code.co_filename]:
            found = locate(code, trace.tb_lasti)
        trace = trace.tb_next
    return found
