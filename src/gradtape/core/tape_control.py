"""`TapeControl`: the methods of `GradientTape` that stop and reset it, and say what it watches,
which values left it, and whether it can be differentiated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape.core.messages import first_times, log_warning
from gradtape.core.pause import Pause
from gradtape.core.tape_notes import TapeNotes
from gradtape.core.thread import here

if TYPE_CHECKING:
    from gradtape.core.departures import Departure, Departures
    from gradtape.core.recording import Recording
    from gradtape.core.thread import ThreadState
    from gradtape.core.variable import Variable


class TapeControl(TapeNotes):
    """What a program does to a tape besides recording and differentiating."""

    if TYPE_CHECKING:
        scope: Recording | None
        _persistent: bool
        _recording: bool
        _ended_by: str | None
        _thread: ThreadState
        _variables: dict[int, Variable]
        _departures: Departures | None

        def _start(self, state: ThreadState, position: int | None = None) -> None: ...
        def _go_on(self, position: int | None) -> None: ...
        def _stop(self) -> None: ...
        def _close(self) -> None: ...

    def stop_recording(self) -> Pause:
        """Pauses this tape for a block.

        >>> import gradtape as tf
        >>> x = tf.Variable(2.0)
        >>> with tf.GradientTape() as tape:
        ...     y = x * x
        ...     with tape.stop_recording():
        ...         print("not recorded:", (y * y).numpy())
        not recorded: 16.0
        """
        return Pause(self)

    def _position(self) -> int | None:
        """The position of this tape among what records on this thread."""
        recorders: tuple[Any, ...] = here.state.recorders
        return next((i for i, recorder in enumerate(recorders) if recorder is self), None)

    def reset(self) -> None:
        """Forgets everything recorded and watched so far, and goes on recording.

        >>> import gradtape as tf
        >>> x = tf.Variable(2.0)
        >>> with tf.GradientTape() as tape:
        ...     y = x * x
        ...     tape.reset()
        ...     z = x * 3
        >>> tape.gradient(z, x).numpy()
        np.float32(3.0)
        """
        if not self._recording:
            raise ValueError(
                "reset: this tape is not recording; call reset inside its `with` block."
            )
        position = self._position()
        resets = self._with_reset(self.scope) if self.scope is not None else ()
        self._stop()
        self._close()
        self._start(here.state, position)
        self._resets = resets

    def watched_variables(self) -> tuple[Variable, ...]:
        """The Variables this tape watches, in the order in which they were created.

        >>> import gradtape as tf
        >>> a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
        >>> with tf.GradientTape() as tape:
        ...     y = b * a
        >>> [v.name for v in tape.watched_variables()]
        ['a:0', 'b:0']
        """
        return tuple(sorted(self._variables.values(), key=lambda v: v.creation))

    def departures(self) -> tuple[Departure, ...]:
        """Where values left this tape while it recorded them: no gradient flows through what was
        computed from those values.

        >>> import gradtape as tf
        >>> x = tf.Variable([1.0, 2.0])
        >>> with tf.GradientTape() as tape:
        ...     y = tf.constant(tf.square(x).numpy()) * x
        >>> [
        ...     (left.method, left.shape, left.count, left.location.line)
        ...     for left in tape.departures()
        ... ]
        [('numpy', TensorShape([2]), 1, 2)]
        """
        return () if self._departures is None else self._departures.records()

    # Before differentiating

    def _prepare(self, method: str) -> Recording:
        """The recording to differentiate, or the error that says why there is none."""
        if self.scope is None:
            if self._ended_by is None:
                raise RuntimeError(
                    f"{method}: this tape has recorded nothing; enter it with `with` before "
                    f"{method}()."
                )
            raise RuntimeError(
                f"{method}: this tape was used up by {self._ended_by}. A non-persistent "
                "GradientTape computes one gradient; use GradientTape(persistent=True) for more."
            )
        return self.scope

    def _leave_before_differentiating(self, method: str) -> None:
        """A tape that is still recording stops, unless it is persistent:
        then it records its own gradient.
        """
        if not self._persistent:
            self._ended_by = f"an earlier {method}()"
        if not self._recording:
            return
        if not self._persistent:
            self._stop()
        elif first_times("inside", limit=1) is not None:
            log_warning(
                "%s() was called on a persistent tape inside its own `with` block, so the "
                "gradient's ops are recorded too, which costs time and memory; call it outside "
                "the block unless you want higher-order derivatives.",
                method,
            )
