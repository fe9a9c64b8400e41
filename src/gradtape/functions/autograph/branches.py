"""`if` and `a if c else b`: Python's own where the condition is known, XLA's where only the program will know it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


from gradtape import dtypes, nest
from gradtape.core.tensor import Tensor
from gradtape.core.xla_tensor import is_traced
from gradtape.functions.autograph.blocks import (
    Block,
    Moment,
    UndefinedReturnValue,
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
from gradtape.functions.autograph.truth import known_if, truth
from gradtape.functions.structured import Closed, Spec, together, values_now, write_back
from gradtape.functions.switch import Switch
from gradtape.functions.traced import index_of


def if_stmt(
    condition: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    names: Sequence[str],
    outputs: int,
) -> None:
    """An `if` statement. The first `outputs` of the variables are used after it."""
    if not is_traced(condition):
        (body if condition else orelse)()
        return
    block = Block(get_state, set_state, names, body, orelse)
    runs = [
        lambda part=part, holds=holds: block.run(part, known_if(condition, holds, block.before))[1][:outputs]
        for part, holds in ((body, True), (orelse, False))
    ]
    found = _chosen(truth(condition, "an `if`"), runs, names[:outputs])
    block.finish([*found, *block.before[outputs:]])


def if_exp(condition: Any, if_true: Callable[[], Any], if_false: Callable[[], Any], text: str) -> Any:
    """A conditional expression."""
    if not is_traced(condition):
        return if_true() if condition else if_false()
    moment = Moment([if_true, if_false])
    runs = [lambda part=part: (moment.run(part),) for part in (if_true, if_false)]
    return _chosen(truth(condition, "a conditional expression"), runs, ["the value of the conditional expression"])[0]


def _chosen(condition: Tensor, runs: Sequence[Callable[[], Sequence[Any]]], names: Sequence[str]) -> list[Any]:
    """The values that one of two branches gives, chosen when the program runs."""
    branches = [_Branch(run) for run in runs]
    closed = [Closed("if", branch, []) for branch in branches]
    left = [_is_left(names, branch.values) for branch in branches]
    values = zip(names, branches[0].values, branches[1].values, strict=True)
    merged = [_Merged(name, [a, b], left) for name, a, b in values]
    for number, branch in enumerate(branches):
        branch.merge = [m.tensors[number] for m in merged]
    taken = together(*(c.taken for c in closed))
    written = together(*(c.written for c in closed))
    results = Switch(index_of(condition), [c.body(taken, written) for c in closed]).call(values_now(taken))
    count = len(results) - len(written)
    write_back(written, results[count:])
    given = iter(results[:count])
    return [m.packed(given) for m in merged]


class _Branch:
    """A branch as a body: the first run shows what it gives; later ones give those tensors that XLA is to choose from."""

    def __init__(self, run: Callable[[], Sequence[Any]]) -> None:
        self._run = run
        self.values: Sequence[Any] = ()
        self.merge: Sequence[Callable[[Any], list[Tensor]]] | None = None

    def __call__(self, tensors: list[Tensor]) -> list[Tensor]:
        values = self._run()
        if self.merge is not None:
            return [tensor for part, value in zip(self.merge, values, strict=True) for tensor in part(value)]
        self.values = values
        return [as_spec(leaf, spec(leaf)) for leaf in nest.flatten(list(values)) if is_like_a_tensor(leaf)]


def _is_left(names: Sequence[str], values: Sequence[Any]) -> bool:
    """Whether a branch ends with return, break or continue, so that what it has not defined will not be used."""
    flags = ("do_return", "break_", "continue_")
    return any(value is True and name.startswith(flags) for name, value in zip(names, values, strict=True))


class _Missing:
    """Stands for a tensor that one branch does not give."""

    def __init__(self, other: Any) -> None:
        self.other = other


class _Merged:
    """One variable after two branches: what stays what it is, and what XLA chooses.

    `tensors` are two functions, which take the value after a branch to the tensors to choose from.
    """

    def __init__(self, name: str, values: list[Any], left: Sequence[bool]) -> None:
        self._name = name
        undefined = [is_undefined(value) for value in values]
        self.tensors = [self._taken, self._taken]
        if all(undefined):
            leaves = [(values[0], values[0])]
        elif any(undefined):
            missing = undefined.index(True)
            if not left[missing] and not isinstance(values[missing], UndefinedReturnValue):  # it may be returned later
                self._refuse_undefined(missing)
            values = [values[1 - missing]] * 2
            leaves = [(leaf, _Missing(leaf) if is_like_a_tensor(leaf) else leaf) for leaf in nest.flatten(values[0])]
            self.tensors[missing] = self._zeros
        else:
            self._refuse_unless_alike(values)
            leaves = list(zip(*(nest.flatten(value) for value in values), strict=True))
        self._structure = values[0]
        self._fixed = [a for a, _ in leaves]
        self._specs = [None if is_same(a, b) else self._spec(a, b) for a, b in leaves]

    def _what(self) -> str:
        name = "what is returned" if self._name.startswith("retval_") else f"'{self._name}'"
        return f"{location()}: {name}"

    def _refuse_undefined(self, branch: int) -> None:
        name = "the first branch" if branch == 0 else "the other branch (`else`)"
        raise ValueError(
            f"{self._what()} is undefined after {name} of an `if` on a tensor, but used later: give it a value in both branches, "
            "or before."
        )

    def _refuse_unless_alike(self, values: Sequence[Any]) -> None:
        try:
            nest.assert_same_structure(*values)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self._what()} has another structure after one branch than after the other: {error}") from None

    def _spec(self, a: Any, b: Any) -> Spec:
        """The shape and dtype of a leaf that differs."""
        if isinstance(b, _Missing):
            return spec(a)
        if a is None or b is None:
            raise ValueError(
                f"{self._what()} is None after one branch of an `if` on a tensor, and {described(b if a is None else a)} after the other."
            )
        if not (is_like_a_tensor(a) and is_like_a_tensor(b)):
            raise TypeError(
                f"{self._what()} is {described(a)} after one branch of an `if` on a tensor and {described(b)} after the other: only "
                "tensors and numbers can depend on a tensor."
            )
        (shape, dtype), (other_shape, other) = spec(a), spec(b)
        if shape != other_shape:
            raise ValueError(
                f"{self._what()} has the shape {shape} after one branch of an `if` on a tensor and {other_shape} after the other: in a "
                "gradtape.function it must be the same."
            )
        if dtype == other:
            return shape, dtype
        if is_number(a) and is_number(b):
            return shape, dtypes.promote(dtype, other)
        if is_number(a) and fits(a, other):
            return shape, other
        if is_number(b) and fits(b, dtype):
            return shape, dtype
        raise TypeError(
            f"{self._what()} has the dtype {dtypes.from_numpy(dtype).name} after one branch of an `if` on a tensor and "
            f"{dtypes.from_numpy(other).name} after the other: cast one."
        )

    def _taken(self, value: Any) -> list[Tensor]:
        leaves = zip(nest.flatten(value), self._specs, strict=True)
        return [as_spec(leaf, wanted) for leaf, wanted in leaves if wanted is not None]

    def _zeros(self, value: Any) -> list[Tensor]:
        return [zeros(wanted) for wanted in self._specs if wanted is not None]

    def packed(self, given: Any) -> Any:
        """The variable's value, from an iterator over the chosen tensors."""
        leaves = [fixed if wanted is None else next(given) for fixed, wanted in zip(self._fixed, self._specs, strict=True)]
        return nest.pack_sequence_as(self._structure, leaves) if nest.is_nested(self._structure) else leaves[0]
