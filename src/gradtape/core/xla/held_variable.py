"""A Variable's value as a JAX array: what compiled functions read and write,
without a copy to NumPy in between.

`variable.held` is the value as a JAX array, beside `variable.array` or instead of it. A write by
eager code drops it. A Variable that a compiled function wrote, or a large one that it read, has
only `held` until eager code asks for its array: so a buffer that nothing else has seen can be
donated to the next call, which overwrites it.

A `PlacedVariable` was created on a device other than the host. `HiddenState` is what programs keep
from one call to the next, such as how many random numbers they have drawn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, islice, repeat, starmap
from operator import is_, setitem
from sys import getrefcount
from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor, full_name
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.writing import writing
from gradtape.core.xla.tensor import XlaTensor
from gradtape.core.xla.trace import outside_programs
from gradtape.engines.engine import XLA, engine_of
from gradtape.engines.numpy.threads import other_threads
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import meshes as xla_meshes
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.collector import COLLECTS_ANYWHERE, call_uncollected

_LARGE = 2**16  # bytes of which a second copy is worth the trouble


class HiddenState(Variable):
    """One integer, or several, that programs read and write like Variables, without the user's
    knowledge.

    Under `vmap` all examples share one state. Where a loop gives each example its own, the largest
    is kept: states only grow.
    """

    hidden = True

    def __init__(self, value: Any, name: str) -> None:
        with outside_programs():
            super().__init__(value, trainable=False, name=name)


class PlacedVariable(Variable):
    """A Variable on an XLA device, its `place`. Its array is a JAX array.

    A program may overwrite the array it is given, so an array that eager code has seen is copied
    for it first.
    """

    place: Any
    _buffer: Any
    _seen = False

    @property
    def outline(self) -> Any:
        return self._buffer

    @property
    def array(self) -> Any:
        self._seen = True
        return self._buffer

    @array.setter
    def array(self, value: Any) -> None:
        seen = engine_of(value) is XLA
        with xla_settings.at_once():
            placed = xla_devices.put(value, self.place.device)
        self._buffer, self._seen = placed, seen

    def for_a_program(self) -> Any:
        while self._seen:
            # No signal is answered between this and what follows.
            if self._renew(xla_devices.copied):
                self._seen = False
        return self._buffer

    def come_home(self) -> None:
        """Moves what a program has written, perhaps on another device, to this one."""
        while not self._renew(lambda buffer: xla_devices.put(buffer, self.place.device)):
            pass

    def _renew(self, make: Callable[[Any], Any]) -> bool:
        """Replaces the buffer by a function of it; returns False, and changes nothing, if a signal
        handler has written it meanwhile.
        """
        buffer = self._buffer
        try:
            with xla_settings.at_once():
                made = make(buffer)
        except Exception as error:
            if self._buffer is buffer or not xla_engine.is_gone(error):
                raise
            return False  # by a program that wrote over it
        if self._buffer is not buffer:
            return False
        self._buffer = made
        return True

    def swap(self, seen: Any, array: Any) -> bool:
        with xla_settings.at_once():
            value = xla_devices.put(array, self.place.device)
        if self._buffer is not seen:
            return False
        self._buffer, self._seen = value, True
        return True

    @property
    def device(self) -> str:
        return full_name(self.place.name)

    def tensor(self) -> Tensor:
        state = here.state
        if state.trace is not None:
            return super().tensor()
        return XlaTensor(self.array, self._joint_node(state.recorders))

    def _compatible(self, value: Any, method: str, *, argument: str = "value") -> Any:
        array = super()._compatible(value, method, argument=argument)
        with nullcontext() if here.state.trace is not None else xla_settings.at_once():
            return xla_devices.put(array, self.place.device)

    def _combined(self, ufunc: np.ufunc, array: Any, change: Any) -> Any:
        with xla_settings.at_once():
            return xla_engine.run(xla_engine.bind(ufunc.__name__), array, change)

    def write_at(
        self, key: Any, values: Any, ufunc: np.ufunc | None = None, *, given: Any = None
    ) -> None:
        if here.state.trace is not None:
            super().write_at(key, values, ufunc, given=given)
            return
        self.tell_recorders(given, replaces=False)
        with writing.lock, xla_settings.at_once():
            while not self.swap(
                array := self.array, xla_engine.written_at(array, key, values, ufunc)
            ):
                pass


def hold(variable: Variable, value: Any) -> None:
    """Makes a JAX array the Variable's value."""
    Writes([variable]).store([value])


class Writes:
    """The Variables that a program writes.

    They get their new values together, whenever a signal arrives.

    Python runs signal handlers between two bytecode instructions, and an exception from a handler
    at the wrong moment would leave Variables whose memory has been donated to the program and whose
    new values are lost. So everything from the program's call to the last Variable's attribute is
    done by Python's built-in iterators, without an instruction in between.

    Variables of a class that stores its array in its own way, or on a device that the program may
    not have run on, are written after that.
    """

    def __init__(self, variables: Sequence[Variable], outputs: int = 0) -> None:
        self.variables = list(variables)
        self.outputs = outputs  # how many results the program has before the new values
        self._attributes = ["_buffer" if type(v) is PlacedVariable else "held" for v in variables]
        self._known = [v.__dict__ for v in variables]
        self._placed = [v.__dict__ for v in variables if type(v) is PlacedVariable]
        self._apart = [v for v in variables if v.keeps_array]
        # What must be there still when it runs.
        self._checked: list[tuple[dict[str, Any], str, Any]] = []
        self._is_plain = not self._apart

    def after(self, taken: dict[int, Any], *, unseen: bool = False) -> Writes:
        """The same for a program that was given the arrays `taken` from Variables, by the ids of
        the Variables.

        Raises a DisturbedError if a signal handler has written one of them since; and, with
        `unseen`, if it has read a PlacedVariable, whose buffer the program would overwrite.
        """
        made = Writes.__new__(Writes)
        made.__dict__.update(self.__dict__)
        made._checked = [
            (known, attribute, taken[id(variable)])
            for variable, known, attribute in zip(
                self.variables, self._known, self._attributes, strict=True
            )
            if id(variable) in taken and (attribute == "_buffer" or not variable.keeps_array)
        ]
        if unseen:
            made._checked += [(known, "_seen", False) for known in self._placed]
        made._is_plain = self._is_plain and not made._checked
        return made

    def run(
        self,
        program: Callable[..., Iterable[Any]],
        given: Iterable[Any],
        done: list[Any] | None = None,
    ) -> list[Any]:
        """The outputs of a program, which must itself be a compiled function, for the arrays
        `given`; afterwards `done` is not empty.
        """
        outputs: list[Any] = []
        results = chain.from_iterable(starmap(program, (given,)))
        work = chain(
            map(outputs.append, islice(results, self.outputs)),
            map(setitem, self._known, self._attributes, results),
            map(dict.pop, self._known, _ARRAY, _NOTHING),
        )
        if done is not None:
            work = chain(work, map(done.append, (True,)))
        if not self._is_plain:
            self._do(work)
        elif COLLECTS_ANYWHERE:
            call_uncollected(deque, work, 0)
        else:
            deque(work, 0)
        return outputs

    def written_first(self) -> list[Any]:
        """The value of the first Variable, if it is held."""
        return [value for known in self._known[:1] if (value := known.get("held")) is not None]

    def store(self, values: Sequence[Any]) -> None:
        """Gives each Variable its value, a JAX array that nothing else holds."""
        if xla_settings.is_tracing() and any(map(xla_engine.is_traced, values)):
            raise TypeError(
                "A function that assigns Variables, draws random numbers or calls Python functions "
                "was called while JAX traces your own function, as jax.jit does: what it keeps for "
                "later calls would be tracers instead of values. Call it outside jax.jit."
            )
        self._do(
            chain(
                map(setitem, self._known, self._attributes, values),
                map(dict.pop, self._known, _ARRAY, _NOTHING),
            )
        )

    def _do(self, work: Iterator[Any]) -> None:
        if self._checked:
            known, names, expected = zip(*self._checked, strict=True)
            work = chain(map(undisturbed, map(is_, map(dict.get, known, names), expected)), work)
        call_uncollected(
            deque, chain(work, map(setitem, self._placed, repeat("_seen"), repeat(False))), 0
        )
        for variable in self._apart:
            if isinstance(variable, PlacedVariable):
                variable.come_home()
            elif (held := variable.__dict__.get("held")) is not None:
                variable.array = xla_engine.to_numpy(held)
                variable.__dict__.pop("held", None)


def assign_together(
    variables: Sequence[Variable], values: Sequence[Tensor], seen: dict[int, Any]
) -> None:
    """Gives each Variable its value, computed by eager ops from the arrays that were `seen` in
    Variables, by their ids: all at one moment, whenever a signal arrives, as `Writes` does.

    Raises a DisturbedError if a signal handler has written one of them since.
    """
    changes = list(zip(variables, values, strict=True))
    for variable, value in changes:
        variable.tell_recorders(value)
    together = [change for change in changes if not change[0].keeps_array]
    known = [variable.__dict__ for variable, _ in together]
    arrays = [variable.to_own(value) for variable, value in together]
    checked = [variable for variable, _ in together if id(variable) in seen]
    found = map(dict.get, [variable.__dict__ for variable in checked], _ARRAY)
    work = chain(
        map(undisturbed, map(is_, found, [seen[id(variable)] for variable in checked])),
        map(setitem, known, _ARRAY, arrays),
        map(dict.pop, known, repeat("held"), _NOTHING),
    )
    call_uncollected(deque, work, 0)
    for variable, value in changes:
        if variable.keeps_array:
            variable.assign(value, read_value=False)


class DisturbedError(Exception):
    """A signal handler used a Variable after it was read and before the result was written: nothing
    has been written.
    """


class _Undisturbed(dict[bool, None]):
    def __missing__(self, key: bool) -> None:
        raise DisturbedError


undisturbed = _Undisturbed({True: None}).__getitem__
"""An assertion without a bytecode instruction: it is called with what must be true."""

_ARRAY, _NOTHING = repeat("array"), repeat(None)


_ALONE = 3
"""The number of references to an array that a Variable and one other place hold: these two, and
that of the call that counts them.
"""


def places_of(written: Sequence[Any], taken: Sequence[Any], offset: int) -> list[tuple[int, Any]]:
    """The Variables that a program writes, each with its position among the captured inputs, which
    begin at `offset`.
    """
    identities = {id(variable) for variable in written}
    return [(offset + i, outside) for i, outside in enumerate(taken) if id(outside) in identities]


class _Loans:
    """How often a Variable's value was lent: if that has not changed, there is no need to look for
    lent arrays.
    """

    count = 0


loans = _Loans()


def lend(variable: Variable) -> Any:
    """The Variable's value as a JAX array for something that may keep it,
    such as a tape that records a call.
    """
    known = variable.__dict__
    while True:
        value = held(variable)
        known["lent"] = True
        loans.count += 1
        # Else a signal handler has written it since, and maybe over it.
        if is_still_held(variable, value):
            return value


def is_still_held(variable: Variable, value: Any) -> bool:
    """Whether a JAX array is still what `held` returns for a Variable; assumed for a class that
    stores its array in its own way.
    """
    known = variable.__dict__
    if type(variable) is PlacedVariable:
        return known["_buffer"] is value
    return variable.keeps_array or ("held" in known and known["held"] is value)


def copy_lent_inputs(arrays: list[Any], places: Sequence[tuple[int, Any]], more: int = 0) -> None:
    """Replaces those inputs of a program that it overwrites and that are still lent by copies.

    `more` is the number of references besides those of the Variable and of the list.

    What this has in common with `copy_lent_values` is written out in both: a function for it would
    hold references itself, and a signal handler could run as it is entered.
    """
    for i, variable in places:
        known = variable.__dict__
        if "lent" in known:
            own = _is_view(known.get("array"), arrays[i])  # which XLA itself respects
            if getrefcount(arrays[i]) > _ALONE + more + own:
                arrays[i] = xla_devices.copied(arrays[i])
            known.pop("lent", None)


def copy_lent_values(variables: Sequence[Variable]) -> None:
    """Gives Variables that a program is about to overwrite copies of arrays that are still lent."""
    for variable in variables:
        known = variable.__dict__
        if "lent" in known:
            value = known.get("held")
            own = _is_view(known.get("array"), value)  # which XLA itself respects
            if value is not None and getrefcount(value) > _ALONE + own:
                copy = xla_devices.copied(value)
                # And not what a signal handler has written.
                if "held" in known and known["held"] is value:
                    known["held"] = copy
            known.pop("lent", None)


def _is_view(array: Any, value: Any) -> bool:
    """Whether a NumPy array is a view of a JAX array's memory, with one reference to it."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, memoryview) and array.obj is value


def _is_copy(value: Any, array: np.ndarray[Any, Any]) -> bool:
    """Whether the JAX array made of a NumPy array is on this machine's CPU too, in other memory."""
    if xla_meshes.is_spread(value):
        return True
    return value.device.platform == "cpu" and not xla_engine.shares_memory(value, array)


def held(variable: Variable) -> Any:
    """The Variable's value as a JAX array, which is kept for the next time."""
    if type(variable) is PlacedVariable:
        return variable.for_a_program()
    known = variable.__dict__
    value = known.get("held")
    return _brought(variable, known) if value is None else value


def _brought(variable: Variable, known: dict[str, Any]) -> Any:
    with writing.lock:
        while True:
            array, layout = variable.array, variable.divided_as
            with xla_settings.at_once():
                value = (
                    xla_engine.device_put(array)
                    if layout is None
                    else xla_meshes.spread(array, layout.sharding)
                )
            one_is_enough = (
                array.nbytes >= _LARGE and not other_threads() and _is_copy(value, array)
            )
            if variable.keeps_array:
                return value
            # And not what a signal handler has written.
            if "array" in known and known["array"] is array:
                known["held"] = value
                if one_is_enough:
                    del known["array"]
                return value
