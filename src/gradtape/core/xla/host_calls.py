"""Calls from a compiled program to the host: prints, checks, Python functions.

They happen in program order, in loops and branches too: a hidden state is threaded through all of
them. That keeps them in the program even if their results are not used, and out of its derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape.blocks import block
from gradtape.core.batching import in_all_examples
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.writing import being_called_back
from gradtape.core.xla.held_variable import HiddenState
from gradtape.core.xla.tensor import tensor_of
from gradtape.core.xla.trace import outside_programs
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla import settings as xla_settings
from gradtape.engines.xla.host import call_host

Spec = tuple[tuple[int, ...], Any]

_NUMBER: Spec = (), np.dtype(np.int32)
_order = HiddenState(np.int32(0), "order_on_host")


def call_in_order(
    function: Callable[..., Sequence[Any]], specs: Sequence[Spec], arrays: Sequence[Any]
) -> list[Any]:
    """The arrays, of the shapes and dtypes `specs`, that a function of NumPy arrays returns when
    the program reaches this point.
    """
    trace = here.state.trace
    assert trace is not None
    given = trace.taken_in([tensor_of(array) for array in arrays])
    with xla_settings.wide():
        number, *values = [
            xla_engine.to_xla(tensor.array) for tensor in (trace.value(_order), *given)
        ]
        after, *results = call_host(_given_on(function), [_NUMBER, *specs], [number, *values])
    trace.write(_order, after)
    return results


def call_for_results(
    function: Callable[..., Sequence[Any]], specs: Sequence[Spec], arrays: Sequence[Any]
) -> list[Any]:
    """The same for a function without side effects: whether and when it runs depends on the use of
    its results.
    """
    with xla_settings.wide():
        return call_host(
            _by_itself(function), specs, [xla_engine.to_xla(array) for array in arrays]
        )


def call_in_order_unless(
    condition: Any, function: Callable[..., Any], arrays: Sequence[Any]
) -> None:
    """Makes the program call a function of NumPy arrays, which raises an error, unless all elements
    of a condition are true.
    """
    trace = here.state.trace
    assert trace is not None
    call = _given_on(function)

    def checked(tensors: Sequence[Tensor]) -> list[Any]:
        """The number for the next call, after a check; all examples of a batch are checked at
        once.
        """
        with xla_settings.wide():
            number, holds, *given = [
                xla_engine.to_xla(in_all_examples(tensor)) for tensor in tensors
            ]
            lax = xla_engine.namespace().lax
            fails = lambda *values: call_host(call, [_NUMBER], values)[0]
            return [lax.cond(holds.all(), lambda number, *_: number, fails, number, *given)]

    given = trace.taken_in(
        [trace.value(_order), *(tensor_of(array) for array in (condition, *arrays))]
    )
    (after,) = trace.listed(checked, given, checked(given))
    trace.write(_order, after)


def _given_on(function: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
    """The function, extended by the number that is passed from one call to the next."""
    alone = _by_itself(function)
    return lambda number, *arrays: [number, *alone(*arrays)]


def _by_itself(function: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    def call(*arrays: Any) -> Sequence[Any]:
        with _alone():
            return function(*arrays)

    return call


@block
def _alone() -> Iterator[None]:
    """A block that no tape, batch or program sees, although it may run on the thread that is
    waiting for it.
    """
    state = here.state
    levels, state.levels = state.levels, ()
    try:
        with state.only([]), outside_programs(), being_called_back():
            yield
    finally:
        state.levels = levels
