"""`Pause`: the block of `GradientTape.stop_recording`."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import TYPE_CHECKING
from weakref import ref

from gradtape.blocks import Block
from gradtape.core.endings import End, ReadEnding
from gradtape.core.location import caller
from gradtape.core.thread import here

if TYPE_CHECKING:
    from typing import Any

    from gradtape.core.node import Node
    from gradtape.core.recording import Recording
    from gradtape.core.tape_control import TapeControl
    from gradtape.core.variable import Variable


class Pause(Block, ContextDecorator):
    """A block in which a tape does not record.

    It is also a recorder, which stands for the tape where nothing else records: what is read from a
    Variable there says so.
    """

    pushes = False
    scope = None

    def __init__(self, tape: TapeControl) -> None:
        self._tape = tape
        self._followed: ref[Recording] | None = None
        self._position: int | None = None
        self._begun = False
        self.recording = False

    def enter(self) -> None:
        tape, state = self._tape, here.state
        if tape.scope is None and not tape._recording:
            raise RuntimeError(
                "stop_recording: this tape has never been entered; use it inside the tape's "
                "`with` block."
            )
        if not tape._recording:
            raise ValueError(
                "stop_recording: this tape is not recording; call it inside the tape's `with` "
                "block."
            )
        self._position = tape._position()
        tape._note_pause()
        self._begun = True
        tape._stop()
        if tape.scope is not None:
            self._followed = ref(tape.scope)
            tape.scope.paused = True
            if state.scope is None:
                self.recording = True
                state.add(self)

    def __enter__(self) -> None:  # type: ignore[override]  # as TensorFlow has it
        self.enter()

    def leave(self) -> None:
        tape = self._tape
        if not self._begun:
            return
        if self.recording:
            tape._thread.remove(self)
            self.recording = False
        if tape.scope is not None:
            tape.scope.paused = False
            tape._go_on(self._position)
        self._begun = False

    def _recreate_cm(self) -> Pause:
        return Pause(self._tape)

    # As a recorder

    def variable_node(self, variable: Variable) -> Node | None:
        if here.state.scope is not None or self._followed is None:
            return None  # what records has Nodes of its own
        read = ReadEnding(("read_variable", End.PAUSED, ()), (), (self._followed,), caller())
        read.variable = ref(variable)
        return read

    def before_write(self, variable: Variable, value: Any, *, replaces: bool = True) -> None:
        """Nothing is noted."""
