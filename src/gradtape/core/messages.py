"""Warnings to the logger `gradtape`, some of them limited to a few for each line of the user's
code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from gradtape.core.location import caller, locate
from gradtape.dtypes import DType

_said: dict[tuple[Any, str], int] = {}


def log_warning(message: str, *values: Any) -> None:
    """A warning in the log.

    `logging` is imported here because that takes 2 ms, and most programs never warn.
    """
    import logging  # noqa: PLC0415

    logging.getLogger("gradtape").warning(message, *values)


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """An error and all that led to it, each once."""
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        found = pending.pop()
        if found is not None and id(found) not in seen:
            seen.add(id(found))
            yield found
            pending += (found.__context__, found.__cause__)


def advice_about(value: Any, otherwise: str) -> str:
    """Advice for a value that no tape can follow: a Keras variable comes from Keras on another
    backend.
    """
    if not type(value).__module__.startswith("keras."):
        return otherwise
    backend = sys.modules["keras.src.backend.config"].backend()
    return (
        f"Keras runs on '{backend}' in this program, because it was imported before gradtape, or "
        "KERAS_BACKEND says so: write "
        "`import gradtape` above the first `import keras`, and remove the line that sets "
        'KERAS_BACKEND or set it to "gradtape".'
    )


def first_times(what: str, *, limit: int) -> Any:
    """The place in the user's code, if it has caused this message fewer than `limit` times; else
    None.
    """
    where = caller()
    key = (where, what)
    _said[key] = _said.get(key, 0) + 1
    return where if _said[key] <= limit else None


def warn_not_trainable(what: str, dtype: DType) -> None:
    """Says that a dtype has no gradients: five times for each line of the user's code."""
    where = first_times(what, limit=5)
    if where is not None:
        log_warning(
            ("The dtype of the %s must be floating or complex (such as float32), got %s at %s: it "
             "will have no gradient."),
            what, dtype.name, locate(*where),
        )  # fmt: skip
