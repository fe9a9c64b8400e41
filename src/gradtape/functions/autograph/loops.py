"""`while` and `for`: Python's own where the number of steps is known to Python, XLA's where tensors decide on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.core.tape import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.trace import inside_a_program
from gradtape.core.variable import Variable
from gradtape.core.xla_tensor import is_traced
from gradtape.functions import traced
from gradtape.functions.autograph.blocks import (
    Block,
    as_spec,
    described,
    fits,
    is_like_a_tensor,
    is_number,
    is_same,
    is_undefined,
    location,
    spec,
    zeros,
)
from gradtape.functions.autograph.branches import if_stmt
from gradtape.functions.autograph.rows import Progression, Rows, rows_of
from gradtape.functions.autograph.truth import truth
from gradtape.ops.arithmetic import add, less, logical_and
from gradtape.ops.convert import as_tensor

_GetState = Callable[[], Any]
_SetState = Callable[[Any], None]
_Options = dict[str, Any]


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], Any],
    get_state: _GetState,
    set_state: _SetState,
    names: Sequence[str],
    options: _Options,
) -> None:
    """A `while` loop: from the first test on that is a tensor, it is a loop of the program."""
    found = test()
    while not _is_for_the_program(found):
        if not found:
            return
        body()
        found = test()
    block = Block(get_state, set_state, names, test, body)

    def run(variables: LoopVariables) -> list[Any]:
        def holds(*tensors: Tensor) -> Tensor:
            return truth(block.run(test, variables.packed(tensors))[0], "a `while`")

        def step(*tensors: Tensor) -> list[Tensor]:
            return variables.tensors_after(block.run(body, variables.packed(tensors))[1])

        return list(traced.while_loop(holds, step, variables.tensors, _bound(options)))

    _looped(block, run)


def _is_for_the_program(value: Any) -> bool:
    return inside_a_program() and isinstance(source_object(value), (Tensor, Variable))


def for_stmt(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: _GetState,
    set_state: _SetState,
    names: Sequence[str],
    options: _Options,
) -> None:
    """A `for` loop. `extra_test` is there if the loop may end early: it tells whether it goes on."""
    rows = rows_of(iterated)
    if rows is None:
        _for_python(iterated, extra_test, body, get_state, set_state, names)
    elif isinstance(rows, Progression):
        _for_progression(rows, extra_test, body, get_state, set_state, names, options)
    elif extra_test is not None:
        _for_rows_until(rows, extra_test, body, get_state, set_state, names, options)
    else:
        _for_rows(rows, body, get_state, set_state, names, options)


def _for_python(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: _GetState,
    set_state: _SetState,
    names: Sequence[str],
) -> None:
    """Python's loop. Once a tensor decides whether it has ended, every further step is an `if` of the program."""
    goes_on: Any = True
    for entry in iterated:
        if extra_test is not None:
            goes_on = extra_test()
        if is_traced(goes_on):
            if_stmt(goes_on, lambda entry=entry: body(entry), lambda: None, get_state, set_state, names, len(names))
        elif goes_on:
            body(entry)
        else:
            return


def _for_rows(
    rows: Rows, body: Callable[[Any], Any], get_state: _GetState, set_state: _SetState, names: Sequence[str], options: _Options
) -> None:
    """A loop over a known number of rows."""
    rows = rows.first(_bound(options))
    if not rows.length:
        return
    block = Block(get_state, set_state, names, body)

    def run(variables: LoopVariables) -> list[Any]:
        def step(*given: Any) -> list[Tensor]:
            tensors, entry = given if variables.tensors else ([], *given)
            return variables.tensors_after(block.run(lambda: body(rows.entry(entry)), variables.packed(tensors))[1])

        state = variables.tensors or None
        nothing = lambda *_: ()
        last, _ = traced.scan("for", step, state, rows.tensors, rows.tensors, rows.length, reverse=False, collect=nothing)
        return last or []

    try:
        _looped(block, run)
    except FirstStepDiffersError as error:
        if error.block is not block:
            raise
        body(rows.entry([rows.at(t, 0) for t in rows.tensors]))
        _for_rows(rows.after_first(), body, get_state, set_state, names, {})


def _for_rows_until(
    rows: Rows,
    extra_test: Callable[[], Any],
    body: Callable[[Any], Any],
    get_state: _GetState,
    set_state: _SetState,
    names: Sequence[str],
    options: _Options,
) -> None:
    """A loop over rows that may end early; since it is bounded, it has a gradient."""
    rows = rows.first(_bound(options))
    if not rows.length:
        return
    block = Block(get_state, set_state, names, extra_test, body)

    def run(variables: LoopVariables) -> list[Any]:
        def holds(place: Tensor, *tensors: Tensor) -> Tensor:
            goes_on = block.run(extra_test, variables.packed(tensors))[0]
            return logical_and(less(place, rows.length), truth(goes_on, "a `for`"))

        def step(place: Tensor, *tensors: Tensor) -> list[Tensor]:
            entry = rows.entry([rows.at(t, place) for t in rows.tensors])
            after = block.run(lambda: body(entry), variables.packed(tensors))[1]
            return [add(place, 1), *variables.tensors_after(after)]

        first = Tensor(np.zeros((), np.int32))
        return list(traced.while_loop(holds, step, [first, *variables.tensors], rows.length))[1:]

    _looped(block, run)


def _for_progression(
    numbers: Progression,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: _GetState,
    set_state: _SetState,
    names: Sequence[str],
    options: _Options,
) -> None:
    """A loop over numbers up to one that only the program will know."""
    block = Block(get_state, set_state, names, extra_test, body)

    def run(variables: LoopVariables) -> list[Any]:
        def holds(number: Tensor, *tensors: Tensor) -> Tensor:
            inside = numbers.contains(number)
            if extra_test is None:
                return inside
            return logical_and(inside, truth(block.run(extra_test, variables.packed(tensors))[0], "a `for`"))

        def step(number: Tensor, *tensors: Tensor) -> list[Tensor]:
            after = block.run(lambda: body(number), variables.packed(tensors))[1]
            return [add(number, numbers.step), *variables.tensors_after(after)]

        return list(traced.while_loop(holds, step, [numbers.start, *variables.tensors], _bound(options)))[1:]

    _looped(block, run)


def _bound(options: _Options) -> int | None:
    limit = options.get("maximum_iterations")
    if limit is None:
        return None
    if is_traced(limit):
        raise ValueError(f"{location()}: set_loop_options: maximum_iterations must be known when the function is traced.")
    return int(as_tensor(limit, argument="set_loop_options: maximum_iterations"))


# The variables of a loop


class FirstStepDiffersError(ValueError):
    """A variable is of another kind before the loop than after a step; a loop of known length can do its first step apart."""

    def __init__(self, message: str, block: Block) -> None:
        super().__init__(message)
        self.block = block


class _Again(Exception):  # noqa: N818 - it is no error
    """A loop is to be traced again with other first values of its variables."""

    def __init__(self, values: Sequence[Any]) -> None:
        super().__init__()
        self.values = values


def _looped(block: Block, run: Callable[[LoopVariables], list[Any]]) -> None:
    """Runs a loop, and gives its variables the values that they have after it."""
    values: Sequence[Any] = block.before
    while True:
        variables = LoopVariables(block, values)
        try:
            found = run(variables)
        except _Again as again:
            values = [nest.map_structure(_read, value) for value in again.values]
            continue
        block.finish(variables.packed(found))
        return


class LoopVariables:
    """The variables of a loop with their first values; `tensors` are those leaves of them that XLA carries along."""

    def __init__(self, block: Block, values: Sequence[Any]) -> None:
        self._block = block
        self._where = location()
        self._values = values
        leaves = nest.flatten(list(values))
        self._specs = [spec(leaf) if _is_carried(leaf) else None for leaf in leaves]
        self.tensors = [as_spec(leaf, wanted) for leaf, wanted in zip(leaves, self._specs, strict=True) if wanted is not None]
        self._leaves = leaves

    def packed(self, tensors: Sequence[Any]) -> list[Any]:
        """Values of the variables, with some tensors in the places of those that are carried."""
        given = iter(tensors)
        leaves = [leaf if wanted is None else next(given) for leaf, wanted in zip(self._leaves, self._specs, strict=True)]
        return list(nest.pack_sequence_as(list(self._values), leaves))

    def tensors_after(self, values: Sequence[Any]) -> list[Tensor]:
        """The tensors to carry on, from the variables after a step, which must be of the kinds they had before."""
        names = self._block.names
        first = [self._fitted(name, before, after) for name, before, after in zip(names, self._values, values, strict=True)]
        found = nest.flatten(first)
        if len(found) != len(self._leaves) or any(a is not b for a, b in zip(found, self._leaves, strict=True)):
            raise _Again(first)
        leaves = zip(nest.flatten(list(values)), self._specs, strict=True)
        return [as_spec(leaf, wanted) for leaf, wanted in leaves if wanted is not None]

    def _fitted(self, name: str, before: Any, after: Any) -> Any:
        """The first value of a variable, or another one that fits what it is after a step."""
        if is_undefined(before):
            # What is read before it has a value is an error that the first run has found, so that any value will do.
            return before if is_undefined(after) else nest.map_structure(_any_value, after)
        if is_undefined(after):
            raise ValueError(f"{self._what(name)} is deleted in the loop.")
        if before is None and after is not None:
            raise FirstStepDiffersError(
                f"{self._what(name)} is None before the loop, and {described(after)} after a step: {_SET}", self._block
            )
        try:
            nest.assert_same_structure(before, after)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self._what(name)} has another structure after a step than before: {error}") from None
        if not nest.is_nested(before):
            return self._fitted_leaf(name, before, after)
        leaves = zip(nest.flatten(before), nest.flatten(after), strict=True)
        return nest.pack_sequence_as(before, [self._fitted_leaf(name, a, b) for a, b in leaves])

    def _fitted_leaf(self, name: str, before: Any, after: Any) -> Any:
        if not _is_carried(before):
            if is_same(before, after):
                return before
            if isinstance(source_object(before), Variable) and is_like_a_tensor(after):
                return _ValueOf(source_object(before))
            if before is None:
                raise FirstStepDiffersError(
                    f"{self._what(name)} is None before the loop, and {described(after)} after a step: {_SET}", self._block
                )
            raise TypeError(
                f"{self._what(name)} changes from {described(before)} to {described(after)} in a loop on tensors: only tensors and "
                "numbers can."
            )
        if not is_like_a_tensor(after):
            raise TypeError(
                f"{self._what(name)} is {described(before)} before a loop on tensors, and {described(after)} after a step."
            )
        return self._with_dtype(name, before, after)

    def _with_dtype(self, name: str, before: Any, after: Any) -> Any:
        (shape, dtype), (new_shape, new) = spec(before), spec(after)
        if shape != new_shape:
            message = f"{self._what(name)} has the shape {shape} before a loop on tensors, and {new_shape} after a step: {_KEEP}"
            raise FirstStepDiffersError(message, self._block) if is_number(before) else ValueError(message)
        if dtype == new or (is_number(after) and fits(after, dtype)):
            return before
        if is_number(before) and fits(before, new):
            return Tensor(np.asarray(before, new))
        raise TypeError(
            f"{self._what(name)} has the dtype {dtypes.from_numpy(dtype).name} before a loop on tensors, and "
            f"{dtypes.from_numpy(new).name} after a step: cast it."
        )

    def _what(self, name: str) -> str:
        return f"{self._where}: {'what is returned' if name.startswith('retval_') else repr(name)}"


_SET = "give it a tensor of that kind before the loop."
_KEEP = "in a gradtape.function a variable keeps its shape from step to step."


def _is_carried(leaf: Any) -> bool:
    return is_like_a_tensor(leaf) and not isinstance(source_object(leaf), Variable)


class _ValueOf:
    """A Variable whose value is to be read, which only the program around the loop can do."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable


def _read(leaf: Any) -> Any:
    return as_tensor(leaf.variable) if isinstance(leaf, _ValueOf) else leaf


def _any_value(leaf: Any) -> Any:
    return zeros(spec(leaf)) if _is_carried(leaf) else leaf
