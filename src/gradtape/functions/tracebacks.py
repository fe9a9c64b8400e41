"""Tracebacks of errors that leave a compiled function: only the lines of the user's code, and
gradtape's message.

While a function is traced, dozens of frames of gradtape, JAX and AutoGraph lie between two lines of
the user's code.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from types import TracebackType

from gradtape.core.messages import chain_of
from gradtape.core.settings import settings
from gradtape.core.thread import here

_FULL = "GRADTAPE_FULL_TRACEBACK"
_LIBRARIES = ("gradtape", "keras_gradtape", "jax", "jaxlib", "malt", "optree", "keras")
# As everywhere in this package, whose import is to be short.
_STANDARD = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120
_JAXS_ADVICE = "For simplicity, JAX has removed its internal frames"


class _Kinds(dict[str, str]):
    """Whose code a source file contains: "library", "standard" or "users".

    Computed once for each file.
    """

    def __missing__(self, filename: str) -> str:
        if any(filename.startswith(folder) for folder in _folders()):
            kind = "library"
        elif filename.startswith("<frozen ") or (
            filename.startswith(_STANDARD) and "site-packages" not in filename
        ):
            kind = "standard"
        else:
            kind = "users"
        self[filename] = kind
        return kind


_kinds = _Kinds()


def _folders() -> list[str]:
    """The folders of those libraries that have been imported: others have no frames."""
    loaded = [sys.modules[name] for name in _LIBRARIES if name in sys.modules]
    return [folder + os.sep for module in loaded for folder in getattr(module, "__path__", ())]


def keep_users_frames(error: Exception) -> None:
    """Removes the frames of libraries from an error's traceback, and from those of the errors that
    led to it.

    An earlier error without a frame of the user's code is left out: the message already says what
    it said. Nothing is done if the environment variable GRADTAPE_FULL_TRACEBACK is set to anything
    but 0, after `disable_traceback_filtering`, or while another function is being traced, which the
    error has yet to leave. A bare `raise` afterwards adds no frame of its own.
    """
    if (
        here.state.trace is not None
        or not settings.short_tracebacks
        or os.environ.get(_FULL, "0") not in {"", "0"}
    ):
        return
    for found in list(chain_of(error)):
        found.__traceback__ = _trimmed(found.__traceback__)
        notes = getattr(found, "__notes__", None)
        if notes:
            found.__notes__ = [note for note in notes if _JAXS_ADVICE not in note]
    for found in list(chain_of(error)):
        if found.__cause__ is not None and found.__cause__.__traceback__ is None:
            found.__cause__ = None
            found.__suppress_context__ = True
        if found.__context__ is not None and found.__context__.__traceback__ is None:
            found.__context__ = None


def _trimmed(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    hidden = False
    while trace is not None:
        kind = _kinds[trace.tb_frame.f_code.co_filename]
        hidden = kind == "library" or (kind == "standard" and hidden)
        if not hidden:
            if kept and _continues(kept[-1], trace):
                kept.pop()
            kept.append(trace)
        trace = trace.tb_next
    for one, following in pairwise([*kept, None]):
        assert one is not None
        one.tb_next = following
    return kept[0] if kept else None


def _continues(outer: TracebackType, inner: TracebackType) -> bool:
    """Whether a frame is a block of the function in the frame before it that AutoGraph has turned
    into a function of the same name.
    """
    block, around = inner.tb_frame.f_code, outer.tb_frame.f_code
    return block.co_qualname == around.co_qualname and block in around.co_consts
