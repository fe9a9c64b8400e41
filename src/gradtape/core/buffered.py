"""`Buffered`: the array of a Variable, who may write it in place, and how it is replaced.

Signal handlers and other threads may read and write the same Variable at any moment: a check and
the write that relies on it stand in straight-line code, with no call between them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gradtape.core.xla.writing import is_free, writing
from gradtape.engines.numpy.threads import other_threads
from gradtape.engines.xla import engine as xla_engine


class _Array:
    """Finds the array of a Variable whose `__dict__` has none; one that has it is read without a
    call.

    After a compiled function has written the Variable, the value is `held` on XLA's side until
    somebody asks for it here. While an update writes an array in place it has set it `aside`: this
    puts it back, so that the update sees that somebody else has it now.
    """

    def __get__(self, variable: Buffered | None, owner: type | None = None) -> Any:
        if variable is None:
            return self
        known = variable.__dict__
        if not is_free() and (found := _meanwhile(known)) is not None:
            return found
        with writing.lock:
            while (found := known.get("array")) is None:  # no other thread was faster
                if "held" in known:
                    held = known["held"]
                    try:
                        array = xla_engine.to_numpy(held)
                    except Exception as error:
                        if not xla_engine.is_gone(error) or (
                            "held" in known and known["held"] is held
                        ):
                            raise
                        continue  # a signal handler has called a function that wrote over it
                    if "held" in known and known["held"] is held:
                        known["array"] = array
                elif "aside" in known:
                    known["array"] = known["aside"]
                    del known["aside"]
                elif "array" not in known:  # which a signal handler may have written since
                    raise AttributeError(
                        f"'{type(variable).__name__}' object has no attribute 'array'"
                    )
            return found


def _meanwhile(known: dict[str, Any]) -> Any:
    """The value while a program on another thread writes Variables, and maybe waits for this thread
    in a Python function that it calls; None if the program was handed the value's memory for good.
    """
    try:
        return xla_engine.to_numpy(known["held"])
    except KeyError:
        return None
    except Exception as error:
        if not xla_engine.is_gone(error):
            raise
        return None


class Buffered:
    """What holds an array that it alone may write."""

    held: Any
    """The value as a JAX array, where a compiled function has had it: beside `array`,
    or instead of it.
    """

    array: Any = _Array()

    keeps_array = False
    """Whether a class keeps its array in its own way: then it does not know of `held`."""

    def replace(self, array: Any) -> None:
        """Makes an array the value, of which nothing that records hears."""
        self.array = array
        self.__dict__.pop("held", None)

    def swap(self, seen: Any, array: Any) -> bool:
        """Makes an array the value, if that is still what was `seen`:
        a signal handler may have written another one.
        """
        known = self.__dict__
        if self.keeps_array:
            self.replace(array)
        elif "array" not in known or known["array"] is not seen:
            return False
        else:
            known["array"] = array
            if "held" in known:
                del known["held"]
        return True

    def owns(self, array: Any, uses: int = 0) -> bool:
        """Whether `array`, a name of the caller's, is the value, and nobody else holds it: so that
        it can be written in place, at once.

        The caller may refer to it from `uses` other places, such as views.

        Python runs signal handlers when one of its functions begins, when a loop goes on, and after
        a call of a function of C's. None of that is between this answer and the caller's next call
        or assignment to elements. With other threads about, one of them could read the array
        meanwhile.
        """
        if type(array) is np.ndarray and array.flags.owndata and not other_threads():
            known = self.__dict__
            if (
                "array" in known
                and known["array"] is array
                and _references[array] <= _REFERENCES_WHEN_ALONE + uses
            ):
                if "held" in known:
                    del known["held"]
                return True
        return False


class _References:
    """`_references[thing]` is how many references there are: `getrefcount`, without a call at whose
    end signals are answered.
    """

    __getitem__: Any = sys.getrefcount


_references = _References()


class _Alone:
    """Has an array that nobody else has, and asks for it as a Variable is asked."""

    def __init__(self) -> None:
        self.array = np.zeros(1)

    def references(self) -> int:
        array = self.array
        return self._count(array)

    def _count(self, array: Any) -> int:
        return _references[array]


_REFERENCES_WHEN_ALONE = _Alone().references()
"""What `Variable.owns` counts for a buffer that only its variable holds;
it depends on the Python version.
"""
