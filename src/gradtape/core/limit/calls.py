"""Which kernel made which array while a tape records, so that the array can be computed again.

A call is only listed if it can be repeated exactly: its kernel is one of an op that is declared
`pure`. Everything else (random numbers, results of compiled functions, of the user's own code)
counts as given. The list holds arrays only while they are alive anyway: a call refers to its
arguments and results as Values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import ref

import numpy as np

from gradtape.core.thread import here
from gradtape.engines.numpy import engine as numpy_engine
from gradtape.engines.numpy.engine import is_reentry

SMALL = 1024
"""Arrays of up to so many bytes are no Values, unless they are views of larger ones: a call that is
given one keeps it.
"""

_MANY = 256


class Value:
    """An array: result number `index` of a call, or one that was given (`call` is None)."""

    __slots__ = ("call", "index")

    def __init__(self, call: KernelCall | None, index: int = 0) -> None:
        self.call = call
        self.index = index


class KernelCall:
    """A call of a kernel, with Values in place of arrays.

    Values refer to calls and calls to the Values that they were given, so that nothing is kept of
    calls that no array in use came from.
    """

    __slots__ = ("args", "kernel", "number", "params")

    def __init__(
        self, kernel: Callable[..., Any], args: tuple[Any, ...], params: dict[str, Any], number: int
    ) -> None:
        self.kernel = kernel
        self.args = args
        self.params = params
        self.number = number

    def given(self) -> Iterable[Value]:
        return [arg for arg in self.args if type(arg) is Value]

    def again(self, values: dict[Value, Any]) -> Any:
        """The results of the same call; no observer sees it."""
        args = [values[arg] if type(arg) is Value else arg for arg in self.args]
        try:
            return here.state.quiet_run(self.kernel, *args, **self.params)
        except RuntimeError as error:
            if not is_reentry(error):
                raise
            return numpy_engine.run(self.kernel, *args, **self.params)


class Calls:
    """The Values of the arrays that are alive."""

    def __init__(self) -> None:
        self.count = 0
        self._known: dict[int, tuple[ref[Any], Value]] = {}
        self._due = _MANY

    def find(self, array: Any) -> Value | None:
        """The Value of an array."""
        entry = self._known.get(id(array))
        return None if entry is None or entry[0]() is not array else entry[1]

    def add(self, array: Any, value: Value) -> Value:
        self._known[id(array)] = (ref(array), value)
        return value

    def made(self, call: KernelCall, args: tuple[Any, ...], result: Any) -> int:
        """Notes the results of a call; returns how many bytes they take."""
        self.count += 1
        total = 0
        results = result if isinstance(result, (list, tuple)) else (result,)
        for i, array in enumerate(results):
            if keeps_much(array) and not any(array is arg for arg in args):
                self.add(array, Value(call, i))
                total += array.nbytes
        if len(self._known) > self._due:
            self._known = {k: entry for k, entry in self._known.items() if entry[0]() is not None}
            self._due = _MANY + 2 * len(self._known)
        return total

    def forget(self, array: Any) -> None:
        """An array is given from now on, if it is used again."""
        self._known.pop(id(array), None)

    def forget_given(self) -> None:
        """Forgets all that was given, since what nobody holds for us may change: Variables are
        written in place where only they have their array.
        """
        self._known = {k: entry for k, entry in self._known.items() if entry[1].call is not None}

    def clear(self) -> None:
        self._known.clear()


def keeps_much(array: Any) -> bool:
    """Whether an array is large, or keeps a large one alive."""
    return type(array) is np.ndarray and (
        array.nbytes > SMALL or (array.base is not None and owner(array).nbytes > SMALL)
    )


def owner(array: Any) -> Any:
    """The array whose memory an array shows."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array
