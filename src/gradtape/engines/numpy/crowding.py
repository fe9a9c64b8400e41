"""Whether other programs want the cores that threads of this one would share.

Work that threads share ends when the last of them does. Where other programs have the cores, one
thread waits for its turn while the others spin, and a matrix product of 0.2 ms takes 90. Nothing
announces that; but work that took much longer than this thread computed shows it. For a while
nothing is shared then, and afterwards the next large work is a trial: the while is twice as long
after each trial that fails.
"""

from __future__ import annotations

from threading import get_ident, main_thread
from time import perf_counter

LONG = 5e-4
"""Work of so many seconds is worth a closer look at what follows it."""

# In seconds.
_LOOK = 0.1
_NOTICEABLE = 2e-3  # a thread that is interrupted on an idle machine is back sooner
_FIRST_WHILE, _LONGEST_WHILE = 0.25, 4.0


class Crowd:
    """What is known of other programs: nothing is shared before `until`.

    Work is measured before `measured_until`: asking for the time that a thread computed takes a
    microsecond, too much for every product. Nothing is noticed if it is `ignored`: BLAS rounds
    differently for each number of threads, so that results depend on other programs otherwise.
    """

    def __init__(self) -> None:
        self.ignored = False
        self.until = 0.0
        self.measured_until = 0.0
        self._while = _FIRST_WHILE
        self._took = self._computed = 0.0  # seconds, since nothing is shared

    def is_here(self) -> bool:
        """Whether the main thread, which is the one that asks, should work alone.

        Other threads are likely to be workers of a pool that has its own plan for the cores.
        """
        if not self.until or not on_main_thread():
            return False
        now = perf_counter()
        if now < self.until:
            return True
        if self._took > 1.2 * self._computed + _NOTICEABLE:
            # Even this thread alone has to wait for a core.
            self._begin(now)
            return True
        if now > self.until + 2 * _LONGEST_WHILE:  # a trial is long past, and did not fail
            self.until = 0.0
            self._while = _FIRST_WHILE
        return False

    def note(self, took: float, computed: float) -> None:
        """Notes how many seconds work took that threads shared, and for how many of them this
        thread computed, or spun.
        """
        if took > LONG:
            self.look_closer()
        if took - computed > _NOTICEABLE and took > 1.5 * computed and not self.ignored:
            if self.until:
                self._while = min(2 * self._while, _LONGEST_WHILE)
            self._begin(perf_counter())

    def look_closer(self) -> None:
        """Measures what comes next."""
        self.measured_until = perf_counter() + _LOOK

    def note_alone(self, took: float, computed: float) -> None:
        """Notes the same of work that this thread did alone."""
        if took > LONG:
            self.look_closer()
        self._took += took
        self._computed += computed

    def _begin(self, now: float) -> None:
        self.until = now + self._while
        self._took = self._computed = 0.0


crowd = Crowd()


def on_main_thread() -> bool:
    return get_ident() == main_thread().ident
