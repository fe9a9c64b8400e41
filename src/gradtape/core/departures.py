"""Where values leave a tape: `.numpy()`, `float()`, `np.asarray()` and the like on a Tensor that a
tape is recording.

No gradient flows through what is computed from such values, which is often a mistake and always
silent. The recordings that follow the Tensor note the place in the user's code, once for each
place, with a count; a strict tape raises instead. Where the chain had ended before, as with
`float(tf.argmax(x))`, it is noted too, for explanations only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import numpy as np

from gradtape.core.endings import Ending
from gradtape.core.location import Location, locate, own_files
from gradtape.core.thread import here
from gradtape.dtypes import DType
from gradtape.shapes import TensorShape

if TYPE_CHECKING:
    from gradtape.core.node import Node
    from gradtape.core.recording import Recording
    from gradtape.core.tensor import Tensor


_FEW = 16  # enough to tell where values came from


class Departure(NamedTuple):
    """A place where the values of recorded tensors left the tape.

    `method` is what took them first, such as "numpy", "float" or "__array__", from a tensor of this
    `shape` and `dtype`; `count` says how often values were taken there, and `callers` are the
    places in the user's code that had led to it the first time, and `origins` are the Nodes of the
    first few tensors, as long as anything else has them; those of ends of chains are kept.
    """

    method: str
    shape: TensorShape
    dtype: DType
    # A tuple has a method of this name, which nobody misses here.
    count: int  # type: ignore[assignment]
    location: Location
    callers: tuple[Location, ...] = ()
    origins: tuple[Callable[[], Node | None], ...] = ()


class Departures(dict[tuple[CodeType, int, bool], list[Any]]):
    """The departures from one recording, by place, and by whether the chain had ended before: the
    method, the shape and dtype of the first tensor, the count, and the places of the callers.
    """

    __slots__ = ()
    strict = False

    def note(self, tensor: Tensor, method: str, frame: FrameType) -> None:
        node = tensor.node
        assert node is not None
        place = frame.f_code, frame.f_lasti, isinstance(node, Ending)
        known = self.get(place)
        if known is None:
            known = self[place] = [
                method, tensor.shape, tensor.dtype, 0, tuple(_callers(frame.f_back)), (),
            ]  # fmt: skip
        known[3] += 1
        if len(known[5]) < _FEW:
            known[5] += (_Kept(node) if isinstance(node, Ending) else ref(node),)

    def records(self, *, ended: bool = False) -> tuple[Departure, ...]:
        """The departures, in the order in which their places were first reached; also those of
        chains that had `ended`, if they are wanted.
        """
        return tuple(
            Departure(
                method, shape, dtype, count, locate(code, offset),
                tuple(locate(*place) for place in callers), origins,
            )
            for (code, offset, had_ended), (
                method, shape, dtype, count, callers, origins,
            ) in self.items()
            if ended or not had_ended
        )  # fmt: skip


class _Kept:
    """What stands for a weak reference to an Ending, which nothing else may have, and which keeps
    nothing alive.
    """

    __slots__ = ("_ending",)

    def __init__(self, ending: Ending) -> None:
        self._ending = ending

    def __call__(self) -> Ending:
        return self._ending


class NoDepartures(Departures):
    """What a strict tape has instead: it raises where another tape takes a note."""

    __slots__ = ()
    strict = True


class DepartureError(RuntimeError):
    """Values of a recorded tensor were about to leave a `GradientTape(strict=True)`."""


def leaving(tensor: Any, method: str) -> None:
    """Notes that `method` hands out the values of `tensor`, if something on this thread records it.

    Called only for a tensor that has a Node: any other is not recorded.
    """
    node, scope = tensor.node, here.state.scope
    if node is None or scope is None:
        return
    ended = isinstance(node, Ending)
    followed_by = (_followed(node) if ended else node.scope.recordings) & scope.recordings
    notes = [recording.departures for recording in followed_by if recording.departures is not None]
    if ended:
        notes = [departures for departures in notes if not departures.strict]
    if not notes:
        return
    method, frame = _asked(method, sys._getframe(1))
    place = frame.f_code, frame.f_lasti
    if any(departures.strict for departures in notes):
        raise DepartureError(
            f"{method}: a tensor of shape {tensor.shape} and dtype {tensor.dtype.name} was "
            "converted to values, which leave its GradientTape(strict=True), at "
            f"{locate(*place)}: no gradient flows through what is computed from them. Keep it a "
            "tensor and use gradtape or NumPy functions on it; call gradtape.stop_gradient(x) "
            "first if its gradient should end here, or use `with tape.stop_recording():` around "
            "logging."
        )
    for departures in notes:
        departures.note(tensor, method, frame)


def _followed(ending: Ending) -> set[Recording]:
    """The recordings that followed a chain until it ended."""
    found = (reference() for one in ending.each() for reference in one.followed)
    return {recording for recording in found if recording is not None}


def _callers(frame: FrameType | None) -> Iterator[tuple[CodeType, int]]:
    """The places in the user's code that led to a frame, the innermost first."""
    while frame is not None:
        if not _not_users[frame.f_code.co_filename]:
            yield frame.f_code, frame.f_lasti
        frame = frame.f_back


def _asked(method: str, frame: FrameType) -> tuple[str, FrameType]:
    """What the user called, and the user's frame.

    The search begins at the method that hands out values. If a function of this package or of SciPy
    called it, as `nn.dropout` calls `float(rate)`, that function is what the user called. A dotted
    name, such as "numpy.digitize", already is what the user called.
    """
    exact, inner = "." in method, frame
    while frame.f_back is not None and _not_users[frame.f_code.co_filename]:
        name = frame.f_code.co_name
        if not exact and frame is not inner and not name.startswith(("_", "<")):
            if own_files[frame.f_code.co_filename]:
                method = name
            elif (module := frame.f_globals.get("__name__", "")).startswith("scipy."):
                method = f"{module.partition('._')[0]}.{name}"
        frame = frame.f_back
    return method, frame


class _NotUsers(dict[str, bool]):
    """Whether a source file is part of this package, of NumPy or of SciPy,
    answered once per file.
    """

    def __missing__(self, filename: str) -> bool:
        answer = self[filename] = own_files[filename] or filename.startswith(tuple(self._roots()))
        return answer

    def _roots(self) -> Iterator[str]:
        """The folders of these packages; SciPy's only if it has been imported."""
        for library in (np, sys.modules.get("scipy")):
            if library is not None:
                # pathlib takes 4 ms to import.
                yield os.path.dirname(library.__file__ or "") + os.sep  # noqa: PTH120


_not_users = _NotUsers()
