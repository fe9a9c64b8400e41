"""Warnings to the logger `gradtape`, some of them limited to a few for each line of the user's
code.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from types import CodeType
from typing import Any
from weakref import ref

from gradtape.core.location import caller, locate
from gradtape.dtypes import DType

# How often a message was said, by the identity of the code that it is about, as long as that is
# alive: code that is compiled anew, such as a notebook's cell, is new code, though it is equal.
_said: dict[int, tuple[ref[CodeType], Counter[tuple[int, str]]]] = {}


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
    if _is_placeholder(value):
        return _PLACEHOLDER
    backend = sys.modules["keras.src.backend.config"].backend()
    return (
        f"Keras runs on '{backend}' in this program, because it was imported before gradtape, or "
        "KERAS_BACKEND says so: write "
        "`import gradtape` above the first `import keras`, and remove the line that sets "
        'KERAS_BACKEND or set it to "gradtape".'
    )


_PLACEHOLDER = (
    "a KerasTensor has no values: it stands for the inputs of a functional model. Call functions "
    "of keras.ops, or put the call into a keras.layers.Lambda or a layer of your own."
)


def _is_placeholder(value: Any) -> bool:
    """Whether a value is, or a list holds, what Keras builds functional models of."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_placeholder, value))
    return type(value).__name__ == "KerasTensor" and type(value).__module__.startswith("keras.")


def no_array(value: Any, error: ValueError) -> str:
    """Why NumPy makes no array of a value: what its own `__array__` says, if it has one."""
    if _is_placeholder(value):
        return _PLACEHOLDER
    if str(error).startswith("setting an array element"):
        return "its rows have different lengths."
    return str(error)


def first_times(what: str, *, limit: int) -> Any:
    """The place in the user's code, if it has caused this message fewer than `limit` times; else
    None.
    """
    where = code, offset = caller()
    key = id(code)
    known = _said.get(key)
    if known is None:
        gone = lambda _: _said.pop(key, None)
        known = _said[key] = ref(code, gone), Counter()
    known[1][offset, what] += 1
    return where if known[1][offset, what] <= limit else None


def warn_not_trainable(what: str, dtype: DType) -> None:
    """Says that a dtype has no gradients: five times for each line of the user's code."""
    where = first_times(what, limit=5)
    if where is not None:
        log_warning(
            ("The dtype of the %s must be floating or complex (such as float32), got %s at %s: it "
             "will have no gradient."),
            what, dtype.name, locate(*where),
        )  # fmt: skip
