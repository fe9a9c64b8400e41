"""`while` and `for`: Python's own where the number of steps is known while tracing, XLA's where it
depends on tensors.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape.convert import as_tensor
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.tensor import is_traced
from gradtape.core.xla.trace import inside_a_program
from gradtape.functions import traced
from gradtape.functions.autograph.blocks import ConvertedBlock, GetState, SetState
from gradtape.functions.autograph.branches import traced_if
from gradtape.functions.autograph.loop_variables import (
    FirstStepDiffersError,
    ListGrowsError,
    LoopVariables,
    looped,
)
from gradtape.functions.autograph.rows import LoopRows, Progression, rows_of
from gradtape.functions.autograph.truth import truth
from gradtape.functions.autograph.values import location
from gradtape.ops.arithmetic import add, less, logical_and


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], Any],
    get_state: GetState,
    set_state: SetState,
    names: Sequence[str],
    options: dict[str, Any],
) -> None:
    """A `while` loop: from the first test that is a tensor, it is a loop of the program. In eager
    code it is Python's, but with the bound that a loop on tensors has.
    """
    bound, found = _bound(options), test()
    while not _is_for_the_program(found):
        if not found or (bound == 0 and _is_tensor(found)):
            return
        body()
        bound, found = None if bound is None else max(bound - 1, 0), test()
    block = ConvertedBlock(get_state, set_state, names, test, body)

    def run(variables: LoopVariables) -> list[Any]:
        def holds(*tensors: Tensor) -> Tensor:
            return truth(block.run(test, variables.packed(tensors))[0], "a `while`")

        def step(*tensors: Tensor) -> list[Tensor]:
            return variables.tensors_after(block.run(body, variables.packed(tensors))[1])

        return list(traced.while_loop(holds, step, variables.tensors, bound, may_add=True))

    looped(block, run, _invariants(options))


def _is_for_the_program(value: Any) -> bool:
    return inside_a_program() and _is_tensor(value)


def _is_tensor(value: Any) -> bool:
    return isinstance(source_object(value), (Tensor, Variable))


def for_stmt(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: GetState,
    set_state: SetState,
    names: Sequence[str],
    options: dict[str, Any],
) -> None:
    """A `for` loop.

    `extra_test` is given if the loop may end early: it tells whether it continues.
    """
    rows = rows_of(iterated)
    new_block = functools.partial(ConvertedBlock, get_state, set_state, names, extra_test, body)
    if rows is None:
        bound = _bound(options) if _is_tensor(iterated) else None
        _for_python(itertools.islice(iterated, bound), extra_test, body, new_block)
    elif isinstance(rows, Progression):
        _for_numbers(rows, extra_test, body, new_block(), options)
    elif extra_test is not None:
        _for_rows_until(rows.first(_bound(options)), extra_test, body, new_block(), options)
    else:
        _for_rows(rows.first(_bound(options)), body, new_block, options)


def _for_python(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    new_block: Callable[[], ConvertedBlock],
) -> None:
    """Python's loop.

    Once a tensor decides whether it has ended, every further step is an `if` of the program.
    """
    goes_on: Any = True
    for entry in iterated:
        if extra_test is not None:
            goes_on = extra_test()
        if is_traced(goes_on):
            block = new_block()
            traced_if(
                goes_on, block, functools.partial(body, entry), lambda: None, len(block.names)
            )
        elif goes_on:
            body(entry)
        else:
            return


def _for_rows(
    rows: LoopRows,
    body: Callable[[Any], Any],
    new_block: Callable[[], ConvertedBlock],
    options: dict[str, Any],
) -> None:
    """A loop over a known number of rows; if there are none, what its body reads has a gradient all
    the same, of zeros.
    """
    block = new_block()

    def run(variables: LoopVariables) -> list[Any]:
        def step(tensors: Any, entry: Any) -> list[Tensor]:
            return variables.tensors_after(
                block.run(lambda: body(rows.entry(entry)), variables.packed(tensors))[1]
            )

        nothing, given = lambda *_: (), rows.tensors
        state = variables.tensors
        last, _ = traced.scan(
            "for",
            step,
            state,
            given,
            given,
            rows.length,
            reverse=False,
            collect=nothing,
            may_add=True,
        )
        return last

    trace = here.state.trace
    assert trace is not None
    beyond = trace.beyond
    try:
        looped(block, run, _invariants(options))
    except FirstStepDiffersError as error:
        if error.block is not block:
            raise
        trace.beyond = beyond  # there is this other way
        if rows.length:
            body(rows.number(0))
        if rows.length > 1:
            _for_rows(rows.after_first(), body, new_block, options)
    except ListGrowsError as error:
        if error.block is not block:
            raise
        for entry in rows:
            body(entry)


def _for_rows_until(
    rows: LoopRows,
    extra_test: Callable[[], Any],
    body: Callable[[Any], Any],
    block: ConvertedBlock,
    options: dict[str, Any],
) -> None:
    """A loop over rows that may end early; since it is bounded, it has a gradient."""

    def run(variables: LoopVariables) -> list[Any]:
        def holds(place: Tensor, *tensors: Tensor) -> Tensor:
            goes_on = block.run(extra_test, variables.packed(tensors))[0]
            return logical_and(less(place, rows.length), truth(goes_on, "a `for`"))

        def step(place: Tensor, *tensors: Tensor) -> list[Tensor]:
            entry = rows.number(place)
            after = block.run(lambda: body(entry), variables.packed(tensors))[1]
            return [add(place, 1), *variables.tensors_after(after)]

        first = Tensor(np.zeros((), np.int32))
        return list(
            traced.while_loop(holds, step, [first, *variables.tensors], rows.length, may_add=True)
        )[1:]

    looped(block, run, _invariants(options))


def _for_numbers(
    numbers: Progression,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    block: ConvertedBlock,
    options: dict[str, Any],
) -> None:
    """A loop over a range whose bounds are traced tensors."""
    bound = _bound(options)

    def run(variables: LoopVariables) -> list[Any]:
        def holds(number: Tensor, *tensors: Tensor) -> Tensor:
            inside = numbers.contains(number)
            if extra_test is None:
                return inside
            return logical_and(
                inside, truth(block.run(extra_test, variables.packed(tensors))[0], "a `for`")
            )

        def step(number: Tensor, *tensors: Tensor) -> list[Tensor]:
            after = block.run(lambda: body(number), variables.packed(tensors))[1]
            return [add(number, numbers.step), *variables.tensors_after(after)]

        return list(
            traced.while_loop(holds, step, [numbers.start, *variables.tensors], bound, may_add=True)
        )[1:]

    looped(block, run, _invariants(options))


def _invariants(options: dict[str, Any]) -> Any:
    """The shapes that `set_loop_options` declares for variables after a step."""
    return options.get("shape_invariants") or ()


def _bound(options: dict[str, Any]) -> int | None:
    """The largest number of steps that `set_loop_options` allows."""
    limit = options.get("maximum_iterations")
    if limit is None:
        return None
    if is_traced(limit):
        raise BeyondXlaError(
            f"{location()}: set_loop_options: maximum_iterations must be known while the function "
            "is traced: use a Python integer."
        )
    return int(as_tensor(limit, argument="set_loop_options: maximum_iterations"))
