"""Control flow in a program that is being traced: TensorFlow's functions, built from `Switch`,
`Scan` and `Loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape import dtypes, nest
from gradtape.convert import as_tensor
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.functions.loop import Loop
from gradtape.functions.scan import Scan
from gradtape.functions.structured import (
    Body,
    Closed,
    Spec,
    around,
    each_once,
    moved,
    spec_of,
    values_now,
    write_back,
)
from gradtape.functions.switch import Switch
from gradtape.ops.arithmetic import equal
from gradtape.ops.broadcasting import cast
from gradtape.ops.selection import where
from gradtape.shapes import TensorShape


class Flat:
    """A Python function whose result is flattened into a list of Tensors; `structure` is that of
    its last result.
    """

    def __init__(self, function: Callable[..., Any], argument: str) -> None:
        self._function = function
        self._argument = argument
        self.structure: Any = None

    def __call__(self, *args: Any) -> list[Tensor]:
        self.structure = self._function(*args)
        leaves = [
            source_object(leaf) for leaf in nest.flatten(self.structure, expand_composites=True)
        ]
        return [as_tensor(leaf, argument=self._argument) for leaf in leaves if leaf is not None]

    def packed(self, tensors: Sequence[Tensor]) -> Any:
        """Tensors in the structure of the last result."""
        given = iter(tensors)
        leaves = [_filled(leaf, given) for leaf in nest.flatten(self.structure)]
        return nest.pack_sequence_as(self.structure, leaves)


def _filled(leaf: Any, tensors: Iterator[Tensor]) -> Any:
    """A leaf of a result, made from the next tensors."""
    if leaf is None:
        return None
    return leaf.__gradtape_unflatten__(tensors) if nest.is_composite(leaf) else next(tensors)


def switch(function: str, index: Tensor, branches: Sequence[Callable[[], Any]]) -> Any:
    """The result of branch number `index`. All branches return the same structure, shapes and
    dtypes.
    """
    flat = [Flat(branch, f"{function}: a branch's result") for branch in branches]
    closed = [Closed(function, _without_arguments(run), []) for run in flat]
    for i, (run, other) in enumerate(zip(flat[1:], closed[1:], strict=True), start=1):
        _check_alike(function, flat[0], closed[0].outputs, run, other.outputs, i)
    taken = each_once(*(c.taken for c in closed))
    written = each_once(*(c.written for c in closed))
    bodies = [c.body(taken, written) for c in closed]
    results = Switch(bodies, [c.paths(taken, written) for c in closed]).call(
        [index, *values_now(taken)]
    )
    count = len(results) - len(written)
    write_back(written, results[count:])
    return flat[0].packed(results[:count])


def _without_arguments(run: Flat) -> Body:
    return lambda tensors: run()


def _check_alike(
    function: str,
    first: Flat,
    specs: Sequence[Spec],
    other: Flat,
    others: Sequence[Spec],
    number: int,
) -> None:
    try:
        nest.assert_same_structure(first.structure, other.structure)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{function}: branch {number} returns a different structure than branch 0: {error}"
        ) from None
    if list(specs) != list(others):
        same_dtypes = [dtype for _, dtype in specs] == [dtype for _, dtype in others]
        raise (BeyondXlaError if same_dtypes else TypeError)(
            f"{function}: in a gradtape.function all branches must return the same shapes and "
            "dtypes, but branch 0 returns "
            f"{_described(specs)} and branch {number} returns {_described(others)}."
        )


def _described(specs: Sequence[Spec]) -> str:
    return (
        ", ".join(f"{dtypes.from_numpy(dtype).name}{list(shape)}" for shape, dtype in specs)
        or "nothing"
    )


def index_of(pred: Any) -> Tensor:
    """0 if a boolean tensor is true, else 1."""
    return cast(as_tensor(pred), dtype=np.dtype(np.int32)) * -1 + 1


def place_among(number: Tensor, keys: Sequence[int], otherwise: int) -> Tensor:
    """The position of a number among `keys`, or `otherwise` if it is not there."""
    place: Any = Tensor(np.full((), otherwise, np.int32))
    for i, key in enumerate(keys):
        place = where(equal(number, key), Tensor(np.full((), i, np.int32)), place)
    return place


def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    limit: int | None,
    *,
    may_add: bool = False,
    may_become: Sequence[TensorShape | None] = (),
) -> Any:
    """A loop whose number of steps is determined when the program runs.

    With `may_add`, the body returns further values after the variables; those of the last step come
    after the variables in the result. `may_become` has the shapes that loop variables are declared
    to have after a step: one for each tensor or TensorArray, None where nothing is declared.
    """
    loop_vars = _with_shapes("while_loop", lambda values: body(*values), loop_vars, [])
    leaves = nest.flatten(loop_vars, expand_composites=True)
    values = [as_tensor(leaf, argument="while_loop: loop_vars") for leaf in leaves]
    specs = [spec_of(v) for v in values]
    shapes = _for_each_tensor(may_become, loop_vars) if may_become else [None] * len(specs)

    def packed(tensors: Sequence[Tensor]) -> Any:
        return nest.pack_sequence_as(loop_vars, list(tensors), expand_composites=True)

    def run_condition(tensors: list[Tensor]) -> list[Tensor]:
        return [_scalar_truth(condition(*packed(tensors)))]

    def run_body(tensors: list[Tensor]) -> list[Tensor]:
        result = body(*packed(tensors))
        result = result if isinstance(result, (list, tuple)) else (result,)
        if len(result) != len(loop_vars) and not may_add:
            raise ValueError(
                f"while_loop: body returned {len(result)} values for {len(loop_vars)} loop_vars."
            )
        leaves = nest.flatten(result, expand_composites=True)
        after = [
            _like(leaf, spec, "while_loop", i, declared)
            for i, (leaf, spec, declared) in enumerate(
                zip(leaves, specs, shapes, strict=not may_add)
            )
        ]
        return [*after, *leaves[len(specs) :]]

    closed_condition = Closed("while_loop", run_condition, specs)
    closed_body = Closed("while_loop", run_body, specs)
    if closed_condition.written:
        raise ValueError(
            "while_loop: in a gradtape.function cond must not assign Variables, draw random "
            "numbers or print: do it in body."
        )
    written = closed_body.written
    taken = [
        t
        for t in each_once(closed_condition.taken, closed_body.taken)
        if all(t is not w for w in written)
    ]
    added = [Tensor(np.zeros(*spec)) for spec in closed_body.outputs[len(values) :]]
    count, start, end = (
        len(values),
        len(values) + len(added),
        len(values) + len(added) + len(written),
    )

    def ordered(tensors: list[Any]) -> list[Any]:
        """Loop variables, then values of what is captured, then of what is written, as the closed
        bodies expect them.
        """
        return [*tensors[:count], *tensors[end:], *tensors[start:end]]

    whole_condition = closed_condition.body([*taken, *written], [])
    whole_body = closed_body.body([*taken, *written], written)
    inputs = [*values, *added, *values_now(written), *values_now(taken)]
    loop = Loop(
        lambda ts: whole_condition(ordered(ts)), lambda ts: whole_body(ordered(ts)), end, limit
    )
    places = ordered(list(range(len(inputs))))
    steps = [moved(path, places) for path in closed_body.paths([*taken, *written], written)]
    loop.paths = around(steps, end, at_once=True)
    results = loop.call(inputs)
    write_back(written, results[start:end])
    return [*packed(results[:count]), *results[count:start]] if may_add else packed(results[:count])


def _for_each_tensor(shapes: Sequence[TensorShape | None], variables: Any) -> list[Any]:
    """What is declared for each tensor of some loop variables: nothing for those in a
    TensorArray.
    """
    return [
        None if nest.is_composite(leaf) else shape
        for leaf, shape in zip(nest.flatten(variables), shapes, strict=True)
        for _ in nest.flatten([leaf], expand_composites=True)
    ]


def _with_shapes(
    function: str, step: Callable[[Any], Any], variables: Any, entries: Sequence[Spec]
) -> Any:
    """Loop variables in which every TensorArray knows the shape of its entries; an empty one gets
    it from what a step writes.

    `step` takes the variables, followed by entries of the given shapes and dtypes.
    """
    before = nest.flatten(variables)
    if not any(nest.is_composite(leaf) and not leaf.__gradtape_flatten__() for leaf in before):
        return variables
    known = [as_tensor(leaf) for leaf in nest.flatten(variables, expand_composites=True)]
    after: list[Any] = []

    def run(tensors: list[Tensor]) -> list[Tensor]:
        values = nest.pack_sequence_as(variables, tensors[: len(known)], expand_composites=True)
        after[:] = nest.flatten(step(values, *tensors[len(known) :]))
        return []

    Closed(function, run, [*map(spec_of, known), *entries])
    if len(after) != len(before):
        return variables
    shaped = [
        old.__gradtape_like__(new) if nest.is_composite(old) and type(new) is type(old) else old
        for old, new in zip(before, after, strict=True)
    ]
    return nest.pack_sequence_as(variables, shaped)


def _scalar_truth(value: Any) -> Tensor:
    found = as_tensor(value, argument="while_loop: the result of cond")
    if found.array.ndim:
        raise ValueError(
            f"while_loop: the result of cond must be a scalar, got shape {found.shape}."
        )
    return found


def _like(
    value: Any, spec: Spec, function: str, number: int, declared: TensorShape | None = None
) -> Tensor:
    """A loop variable after a step: of the shape and dtype that it began with. XLA cannot compile
    a loop in which it has another shape, even if that is `declared`.
    """
    shape, dtype = spec
    found = as_tensor(source_object(value), argument=f"{function}: a loop variable")
    what = f"loop variable {number}"
    if tuple(found.array.shape) != shape:
        raise another_shape(
            f"{function}: {what} began with shape {shape}, but has shape "
            f"{tuple(found.array.shape)} after a step",
            found.array.shape,
            declared,
        )
    if found.array.dtype != dtype:
        raise TypeError(
            f"{function}: {what} began with dtype {dtypes.from_numpy(dtype).name}, but has dtype "
            f"{found.dtype.name} after a step: "
            "cast it."
        )
    return found


def another_shape(
    what: str, shape: tuple[int, ...], declared: TensorShape | None
) -> BeyondXlaError | ValueError:
    """The error for a loop variable that changes its shape: eager code runs the loop if the new
    shape is `declared`, as one of TensorFlow's shape invariants.
    """
    if declared is not None and declared.is_compatible_with(shape):
        return BeyondXlaError(f"{what}.")
    return ValueError(
        f"{what}; in a gradtape.function a loop variable must keep its shape, unless "
        "shape_invariants leave it open"
        + ("." if declared is None else f", but they give it the shape {declared}.")
    )


def scan(
    function: str,
    fn: Callable[..., Any],
    state: Any,
    elems: Any,
    tensors: Sequence[Tensor],
    length: int,
    *,
    reverse: bool,
    collect: Callable[[Any, Any], Any],
    may_add: bool = False,
) -> tuple[Any, Any]:
    """`fn(state, entry)` for each entry: the last state, and what `collect(state, result)` returns
    at each step, stacked.

    Without a state (None), `fn` takes only the entry. With `may_add`, it returns further values
    after the state; those of the last step come after the last state, and nothing is collected.
    """
    outputs: dict[str, Any] = {}
    entry_specs = [(tuple(t.array.shape[1:]), t.array.dtype) for t in tensors]

    def packed(values: Sequence[Tensor], structure: Any) -> Any:
        return nest.pack_sequence_as(structure, list(values), expand_composites=True)

    if state is not None:
        state = _with_shapes(
            function, lambda values, *entry: fn(values, packed(entry, elems)), state, entry_specs
        )
    leaves = [] if state is None else nest.flatten(state, expand_composites=True)
    carried = [as_tensor(leaf, argument=f"{function}: initializer") for leaf in leaves]
    specs = [spec_of(t) for t in carried]

    def run(values: list[Tensor]) -> list[Tensor]:
        entry = packed(values[len(carried) :], elems)
        if state is None:
            result, after = fn(entry), []
        else:
            result = fn(packed(values[: len(carried)], state), entry)
            leaves = nest.flatten(result, expand_composites=True)
            after = [
                _like(leaf, spec, function, i)
                for i, (leaf, spec) in enumerate(zip(leaves, specs, strict=not may_add))
            ]
            after += leaves[len(specs) :]
        collected = Flat(lambda: collect(state, result), f"{function}: a result")
        rows = collected()
        outputs["rows"] = collected
        return [*after, *rows]

    closed = Closed(function, run, [*specs, *entry_specs])
    written = closed.written
    taken = [t for t in closed.taken if all(t is not w for w in written)]
    body = closed.body([*taken, *written], written)
    added = [Tensor(np.zeros(*spec)) for spec in closed.outputs[len(carried) :]] if may_add else []
    count, start, end = (
        len(carried),
        len(carried) + len(added),
        len(carried) + len(added) + len(written),
    )
    stacked = len(tensors)

    def ordered(values: list[Any]) -> list[Any]:
        """The state, an entry, values of what is captured and then of what is written, as the
        closed body expects them.
        """
        return [*values[:count], *values[end:], *values[start:end]]

    def with_writes_first(found: list[Any]) -> list[Any]:
        rows = len(found) - len(written)
        return [*found[:start], *found[rows:], *found[start:rows]]

    inputs = [*carried, *added, *values_now(written), *tensors, *values_now(taken)]
    loop = Scan(
        lambda ts: with_writes_first(body(ordered(ts))), end, stacked, length, reverse=reverse
    )
    places = ordered(list(range(len(inputs))))
    paths = [moved(path, places) for path in closed.paths([*taken, *written], written)]
    loop.paths = around(with_writes_first(paths), end, at_once=False)
    results = loop.call(inputs)
    write_back(written, results[start:end])
    last: Any = None if state is None else packed(results[:count], state)
    return [*last, *results[count:start]] if may_add else last, outputs["rows"].packed(
        results[end:]
    )
