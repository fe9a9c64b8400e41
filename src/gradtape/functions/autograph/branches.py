"""`if` and `a if c else b`: Python's own where the condition is known while tracing, XLA's where it
is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gradtape import dtypes, nest
from gradtape.convert import as_tensor
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.xla.beyond import BeyondXlaError
from gradtape.core.xla.tensor import is_traced
from gradtape.functions.autograph.blocks import ConvertedBlock, GetState, SetState, in_a_block
from gradtape.functions.autograph.truth import known_if, truth
from gradtape.functions.autograph.values import (
    UndefinedReturnValue,
    as_spec,
    described,
    fits,
    in_words,
    is_flag,
    is_like_a_tensor,
    is_number,
    is_same,
    is_text,
    is_undefined,
    made_of,
    parts_of,
    shaped_like,
    spec,
    specs_of,
    zeros,
)
from gradtape.functions.structured import Body, Closed, Spec, each_once, values_now, write_back
from gradtape.functions.switch import Switch
from gradtape.functions.traced import index_of


def if_stmt(
    condition: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: GetState,
    set_state: SetState,
    names: Sequence[str],
    outputs: int,
) -> None:
    """An `if` statement. The first `outputs` of the variables are used after it."""
    if is_traced(condition):
        block = ConvertedBlock(get_state, set_state, names, body, orelse)
        traced_if(condition, block, body, orelse, outputs)
    elif condition:
        body()
    else:
        orelse()


def traced_if(
    condition: Any,
    block: ConvertedBlock,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    outputs: int,
) -> None:
    """An `if` statement of the program."""

    def run(part: Callable[[], Any], *, holds: bool) -> Sequence[Any]:
        return block.run(part, known_if(condition, holds, block.before))[1][:outputs]

    runs = [lambda: run(body, holds=True), lambda: run(orelse, holds=False)]
    found = _chosen(truth(condition, "an `if`"), runs, block.names[:outputs])
    block.finish([*found, *block.before[outputs:]])


def if_exp(
    condition: Any, if_true: Callable[[], Any], if_false: Callable[[], Any], text: str
) -> Any:
    """A conditional expression."""
    if not is_traced(condition):
        return if_true() if condition else if_false()
    runs = [lambda: [in_a_block(if_true)], lambda: [in_a_block(if_false)]]
    return _chosen(truth(condition, "a conditional expression"), runs, [f"... if {text} else ..."])[
        0
    ]


def _chosen(
    condition: Tensor, runs: Sequence[Callable[[], Sequence[Any]]], names: Sequence[str]
) -> list[Any]:
    """The values of one of two branches, chosen when the program runs."""
    branches = [_Branch(run) for run in runs]
    left = [_is_left(names, branch.values) for branch in branches]
    values = zip(names, branches[0].values, branches[1].values, strict=True)
    merged, places = [], [0, 0]
    for name, a, b in values:
        merged.append(_Merged(name, [a, b], left, places))
        places = [
            place + sum(len(_computed(leaf)) for leaf in nest.flatten(v))
            for place, v in zip(places, [a, b], strict=True)
        ]
    taken = each_once(*(branch.closed.taken for branch in branches))
    written = each_once(*(branch.closed.written for branch in branches))
    choices = [[choice for m in merged for choice in m.choices[i]] for i in range(len(branches))]
    bodies = [
        branch.body(taken, written, choice)
        for branch, choice in zip(branches, choices, strict=True)
    ]
    paths = [
        branch.paths(taken, written, choice)
        for branch, choice in zip(branches, choices, strict=True)
    ]
    results = Switch(bodies, paths).call([index_of(condition), *values_now(taken)])
    count = len(results) - len(written)
    write_back(written, results[count:])
    given = iter(results[:count])
    return [m.packed(given) for m in merged]


class _Branch:
    """A branch: `values` is what its variables hold after it, as its first run has shown."""

    def __init__(self, run: Callable[[], Sequence[Any]]) -> None:
        self._run = run
        self.values: Sequence[Any] = ()
        self.closed = Closed("if", self._tensors, [])

    def _tensors(self, tensors: list[Tensor]) -> list[Tensor]:
        self.values = [nest.map_structure(_settled, value) for value in self._run()]
        return [
            as_tensor(source_object(part))
            for leaf in nest.flatten(list(self.values))
            for part in _computed(leaf)
        ]

    def body(
        self, taken: Sequence[Any], written: Sequence[Any], choices: Sequence[_Choice]
    ) -> Body:
        """The branch as a body that returns what XLA chooses from, and then the values of what is
        written.
        """
        run, count = self.closed.body(taken, written), len(self.closed.outputs)

        def chosen_from(tensors: list[Tensor]) -> list[Tensor]:
            found = run(tensors)
            wanted = [
                as_spec(c.part if c.place is None else found[c.place], c.spec) for c in choices
            ]
            return [*wanted, *found[count:]]

        return chosen_from

    def paths(
        self, taken: Sequence[Any], written: Sequence[Any], choices: Sequence[_Choice]
    ) -> list[int]:
        """For each output of that body, the inputs from which there is a path to it."""
        found = self.closed.paths(taken, written)
        return [
            *(0 if c.place is None else found[c.place] for c in choices),
            *found[len(self.closed.outputs) :],
        ]


class _Choice(NamedTuple):
    """A tensor after a branch that XLA may choose: the branch's result number `place`,
    or the constant `part`.
    """

    place: int | None
    part: Any
    spec: Spec


def _settled(leaf: Any) -> Any:
    """A leaf with its tensors computed: nothing can be computed from a branch's tensors outside
    it.
    """
    parts = parts_of(leaf) if nest.is_composite(leaf) else []
    return made_of(leaf, iter(parts)) if parts else leaf


def _computed(leaf: Any) -> list[Any]:
    """The tensors of a leaf; a Python number has none, since it is constant."""
    return [] if is_number(leaf) or not is_like_a_tensor(leaf) else parts_of(leaf)


def _is_left(names: Sequence[str], values: Sequence[Any]) -> bool:
    """Whether a branch ends with return, break or continue, so variables that it has not defined
    are not used.
    """
    return any(value is True and is_flag(name) for name, value in zip(names, values, strict=True))


_MISSING = object()
"""A placeholder for a tensor that one branch does not define."""


class _Merged:
    """One variable after two branches: the parts that are the same, and those that XLA chooses."""

    def __init__(
        self, name: str, values: list[Any], left: Sequence[bool], places: Sequence[int]
    ) -> None:
        self._name = name
        after = list(values)
        undefined = [is_undefined(value) for value in values]
        if all(undefined):
            leaves = [(values[0], values[0])]
        elif any(undefined):
            missing = undefined.index(True)
            # It may be returned later.
            if not left[missing] and not isinstance(values[missing], UndefinedReturnValue):
                self._refuse_undefined(missing)
            values = [values[1 - missing]] * 2
            leaves = [
                (leaf, _MISSING if is_like_a_tensor(leaf) else leaf)
                for leaf in nest.flatten(values[0])
            ]
        else:
            self._refuse_unless_alike(values)
            leaves = list(zip(*(nest.flatten(value) for value in values), strict=True))
        self._structure = values[0]
        leaves = [(shaped_like(a, b), b) for a, b in leaves]
        self._shapes = [a for a, _ in leaves]
        self._specs = [None if is_same(a, b) else self._spec(a, b) for a, b in leaves]
        self.choices = [
            self._from(value, place) for value, place in zip(after, places, strict=True)
        ]

    def _refuse_undefined(self, branch: int) -> None:
        name = "the first branch" if branch == 0 else "the other branch (`else`)"
        raise ValueError(
            f"{in_words(self._name)} is undefined after {name} of an `if` on a tensor, but used "
            "later: assign it in both branches, or before the `if`."
        )

    def _refuse_unless_alike(self, values: Sequence[Any]) -> None:
        try:
            nest.assert_same_structure(*values)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{in_words(self._name)} has a different structure after each branch of an `if` "
                f"on a tensor: {error}"
            ) from None

    def _spec(self, a: Any, b: Any) -> list[Spec]:
        """The shapes and dtypes of a leaf that differs."""
        if b is _MISSING:
            return specs_of(a)
        if a is None or b is None:
            other = described(b if a is None else a)
            raise ValueError(
                f"{in_words(self._name)} is None after one branch of an `if` on a tensor, and "
                f"{other} after the other: give it a tensor in both."
            )
        if not (is_like_a_tensor(a) and is_like_a_tensor(b)) or nest.is_composite(
            a
        ) != nest.is_composite(b):
            raise (BeyondXlaError if is_text(a) and is_text(b) else TypeError)(
                f"{in_words(self._name)} is {described(a)} after one branch of an `if` on a tensor "
                f"and {described(b)} after the other: only "
                "tensors and numbers can depend on a tensor."
            )
        parts = zip(parts_of(a), parts_of(shaped_like(b, a)), strict=True)
        return [self._common(one, other) for one, other in parts]

    def _common(self, a: Any, b: Any) -> Spec:
        (shape, dtype), (other_shape, other) = spec(a), spec(b)
        if shape != other_shape:
            raise BeyondXlaError(
                f"{in_words(self._name)} has the shape {shape} after one branch of an `if` on a "
                f"tensor and {other_shape} after the other: in a gradtape.function the shapes "
                "must be the same."
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
            f"{in_words(self._name)} has the dtype {dtypes.from_numpy(dtype).name} after one "
            "branch of an `if` on a tensor and "
            f"{dtypes.from_numpy(other).name} after the other: cast one."
        )

    def _from(self, value: Any, place: int) -> list[_Choice]:
        """What XLA chooses from after a branch that returned `value`, whose tensors are its results
        from number `place` on.
        """
        leaves = zip(nest.flatten(value), self._shapes, self._specs, strict=False)
        if is_undefined(value):
            return [
                _Choice(None, zeros(one), one)
                for wanted in self._specs
                if wanted is not None
                for one in wanted
            ]
        found = []
        for leaf, shape, wanted in leaves:
            own = len(_computed(leaf))
            if wanted is not None and own:
                found += [_Choice(place + i, None, one) for i, one in enumerate(wanted)]
            elif wanted is not None:
                parts = parts_of(shaped_like(leaf, shape))
                found += [_Choice(None, part, one) for part, one in zip(parts, wanted, strict=True)]
            place += own
        return found

    def packed(self, given: Iterator[Tensor]) -> Any:
        """The variable's value, made of the chosen tensors."""
        leaves = zip(self._shapes, self._specs, strict=True)
        filled = [leaf if wanted is None else made_of(leaf, given) for leaf, wanted in leaves]
        return nest.pack_sequence_as(self._structure, filled)
