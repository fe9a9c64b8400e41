"""`Buffered`: the array of a Variable, who may write it in place, and how it is replaced.

Signal handlers and other threads may read and write the same Variable at any moment: a check and
the write that relies on it stand in straight-line code, with no call between them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gradtape.core.writing import is_free, writing
from gradtape.engines.numpy.threads import other_threads
from gradtape.engines.xla import engine as xla_engine

relying: list[Any] = []
"""Those that rely on arrays that ops were given or made not to change, even if nobody holds them
any more: see `core.limit`. While there are any, such an array does not become a buffer, and the
user's own arrays are copied.
"""


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
    """The value as a JAX array, if a compiled function has used it: in addition to `array`, or
    instead of it.
    """

    array: Any = _Array()

    keeps_array = False
    """Whether a class stores its array in its own way: then it does not use `held`."""

    divided_as: Any = None
    """How programs divide the value among devices, if they do: a `Layout` of `engines.xla.meshes`.
    The array is whole, wherever it came from.
    """

    @property
    def outline(self) -> Any:
        """An array of the value's shape and dtype, which needs no values from other devices."""
        known = self.__dict__
        found = known.get("array")
        if found is None:
            found = known.get("held")
        return self.array if found is None else found

    def replace(self, array: Any) -> None:
        """Makes an array the value, without telling the recorders."""
        self.array = array
        self.__dict__.pop("held", None)

    def swap(self, seen: Any, array: Any) -> bool:
        """Makes an array the value, if the value is still the one that was `seen`: a signal handler
        may have written another one.
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
        """Whether `array`, a local variable of the caller, is the value and nothing else holds it,
        so that it can be written in place at once.

        The caller may refer to it from `uses` other places, such as views.

        Python runs signal handlers when a Python function begins, when a loop jumps back, and after
        a call of a C function. None of that happens between this answer and the caller's next call
        or assignment to elements. With other threads running, one of them could read the array
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
    """`_references[thing]` is the number of references to it: `getrefcount`, but without a call
    after which Python would run signal handlers.
    """

    __getitem__: Any = sys.getrefcount


_references = _References()


class _Alone:
    """Holds an array that nothing else holds, and reads it as a Variable does."""

    def __init__(self) -> None:
        self.array = np.zeros(1)

    def references(self) -> int:
        array = self.array
        return self._count(array)

    def _count(self, array: Any) -> int:
        return _references[array]


_REFERENCES_WHEN_ALONE = _Alone().references()
"""The number of references that `owns` counts for a buffer that only its variable holds; it depends
on the Python version.
"""
