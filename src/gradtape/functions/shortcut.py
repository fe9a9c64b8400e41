"""The fastest way to call a compiled program, which matters for small programs.

A shortcut takes the JAX arrays that Tensors and Variables have. It returns `NOT_RUN`, without
having done anything, if a value is not available as a JAX array or the arguments are of another
kind: `ConcreteFunction`'s general path handles that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from types import NoneType
from typing import Any

from gradtape.core.writing import writing
from gradtape.core.xla.held_variable import DisturbedError, Writes, copy_lent_values, loans
from gradtape.core.xla.tensor import XlaTensor, held_tensors
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.collector import call_uncollected
from gradtape.engines.xla.meshes import wait_on_parts_of_cpu
from gradtape.engines.xla.programs import UnpreparedError, is_inside_another
from gradtape.functions.staging import Part, Spared

Shortcut = Callable[[Sequence[Any]], Any]
"""Takes the Tensors of a call, returns its result or `NOT_RUN`."""

NOT_RUN = object()
"""What a shortcut returns if it has done nothing."""

_its_array = attrgetter("held")

_ABOUT_ARGUMENTS = (AttributeError, TypeError, DisturbedError, RecursionError)


def shortcut_of(
    part: Part,
    given: int,
    captured: Sequence[Any],
    writes: Writes | None,
    pack: Callable[[list[Any]], Any],
) -> Shortcut | None:
    """The shortcut to a part of which the first `given` inputs are arguments; None if an argument
    is not used, or if more has to be done around a call.

    `captured` are its other inputs, `writes` the Variables that it writes, if any, and `pack` gives
    the outputs the structure of the result.
    """
    if part.used[:given] != list(range(given)):
        return None
    run = part.executable()
    if run is None:
        return None
    outside = [captured[i - given] for i in part.used[given:]]
    if not xla_devices.are_several():
        if writes is not None:
            return _writing_shortcut(run, outside, part.large, writes, pack)
        return _reading_shortcut(run, outside, part.large, pack)

    def to_result(found: list[Any]) -> Any:
        arrays = [result.held for result in found]
        wait_on_parts_of_cpu(arrays or ([] if writes is None else writes.written_first()))
        return pack(_where_they_are(found))

    return _on_several_devices(
        part,
        _writing_shortcut(run, outside, part.large, writes, to_result)
        if writes is not None
        else _reading_shortcut(run, outside, part.large, to_result),
    )


def _on_several_devices(part: Part, shortcut: Shortcut) -> Shortcut:
    """A shortcut that is taken only while programs run where their arguments are, and batches are
    divided as the program divides them.
    """

    def call(args: Sequence[Any]) -> Any:
        if xla_settings.preferred() is not None or not part.is_up_to_date():
            return NOT_RUN
        if part.batches is not None and not all(map(_is_divided, args)):
            return NOT_RUN
        return shortcut(args)

    return call


def _is_divided(arg: Any) -> bool:
    held = getattr(arg, "held", None)
    return held is not None and (not held.ndim or held.sharding.num_devices > 1)


def _where_they_are(results: list[Any]) -> list[Any]:
    """The results of a program, all of which are on the same devices, as Tensors of the host or
    not.
    """
    if not results or xla_devices.is_on_host(results[0].held):
        return results
    return [XlaTensor(result.held) for result in results]


def _reading_shortcut(
    run: Spared, outside: list[Any], large: list[Any], pack: Callable[[list[Any]], Any]
) -> Shortcut:
    program = run.program

    def call(args: Sequence[Any]) -> Any:
        try:
            arrays = [*map(_its_array, args), *map(_its_array, outside)]
            if NoneType in map(type, arrays):  # one is to be converted now
                return NOT_RUN
            found = call_uncollected(program, *arrays, *large)
            if type(found) is not list:
                found = run.prepare(*arrays, *large)
        except Exception as error:
            if _is_of_a_handler(error):
                raise
            return NOT_RUN  # the long way raises it again, if it is not about the arguments
        return pack(held_tensors(found))

    return call


def _writing_shortcut(
    run: Spared,
    outside: list[Any],
    large: list[Any],
    writes: Writes,
    pack: Callable[[list[Any]], Any],
) -> Shortcut:
    seen, program = -1, run.program
    places = list(map(id, outside))
    nans, infinities = xla_settings.checks_of_results()

    def call(args: Sequence[Any]) -> Any:
        nonlocal seen
        if nans.value or infinities.value:
            return NOT_RUN
        done: list[Any] = []
        with writing.lock:
            try:
                for arg in args:
                    if arg.held is None:  # it is to be converted now
                        return NOT_RUN
                count = loans.count
                if seen != count:
                    copy_lent_values(writes.variables)
                    seen = count
                try:
                    found = writes.run(
                        program,
                        chain(map(_its_array, args), map(_its_array, outside), large),
                        done,
                    )
                except UnpreparedError:
                    taken = list(map(_its_array, outside))
                    if NoneType in map(type, taken):
                        return NOT_RUN
                    disturbed = writes.after(dict(zip(places, taken, strict=True)))
                    found = run.on_copies([*map(_its_array, args), *taken, *large], disturbed)
            except Exception as error:
                about_the_call = (
                    isinstance(error, _ABOUT_ARGUMENTS)
                    or xla_engine.is_gone(error)
                    or is_inside_another(error)
                    or xla_engine.are_apart(error)
                )
                if done or not about_the_call or _is_of_a_handler(error):
                    raise
                return NOT_RUN  # the long way raises it again, if it is not about the arguments
        return pack(held_tensors(found))

    return call


def _is_of_a_handler(error: Exception) -> bool:
    """Whether an error of a call came from a signal handler: from code outside gradtape and JAX, or
    from what such code has called.

    No other user code runs there. JAX itself is called through decorators of Python's.
    """
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if module not in _OURS:
            return True
        trace = trace.tb_next
    return False


_OURS = ("gradtape", "jax", "jaxlib", "contextlib", "functools")
