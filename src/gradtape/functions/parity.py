"""`function(check_parity=True)`: compares what a program computes with what eager code does, before
the program is first used.

Every op that was traced, those of gradients included, is computed again by NumPy from the inputs
that it has in the program. So an op is not blamed for earlier differences, and the first op named
is the one that differs. Then the Python function runs eagerly, and its results and the Variables it
writes are compared too: that covers the bodies of branches and loops, whose ops stay inside XLA.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape import dtypes, nest
from gradtape.core.location import caller, locate
from gradtape.core.tensor import Tensor
from gradtape.core.thread import here
from gradtape.core.unchanged import Unwritten
from gradtape.core.variable import Variable
from gradtape.core.xla.held_variable import held
from gradtape.core.xla.tensor import XlaTensor
from gradtape.core.xla.trace import Constants, NeedsTracedConstants
from gradtape.engines.numpy.engine import Quiet
from gradtape.engines.xla import engine as xla_engine
from gradtape.functions.program import Program
from gradtape.functions.staging import Spec

if TYPE_CHECKING:
    from gradtape.ops.op import Op

Body = Callable[[list[Tensor]], list[Tensor]]

_ROUNDING = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 2e-5,
    "float64": 1e-9,
    "complex64": 2e-5,
    "complex128": 1e-9,
}
"""How far results of one op may differ, as a fraction of the largest one; the engines round
differently.
"""

_OFF_THE_HOST = {"float32": 1e-3, "complex64": 1e-3}
"""The same for programs on an accelerator, which multiplies matrices of float32 with a shorter
mantissa.
"""

_LAST_PLACE = {
    "float16": 2**-10,
    "bfloat16": 2**-7,
    "float32": 2**-23,
    "float64": 2**-52,
    "complex64": 2**-23,
    "complex128": 2**-52,
}

_ADDED_UP = 20  # the same for results of a whole function, as a multiple
# An op's result may be this many times as far off as a change of its inputs in the last place moves
# it.
_MOVED = 100
# And a function's result as many times as a change by 100 last places does, which lets everything
# round anew.
_MOVED_ALL = 8
_CHANGES = 3  # how many such changes are tried


class ParityError(AssertionError):
    """A compiled function does not compute what its Python function does in eager code."""


class TracedStep(NamedTuple):
    """One op of a program: arrays that NumPy knows already, and tracers."""

    op: Op
    inputs: list[Any]
    params: dict[str, Any]
    results: list[Any]
    where: tuple[CodeType, int]


class Watched:
    """A program whose body is traced while every op is noted."""

    def __init__(self, name: str, body: Body, specs: Sequence[Spec]) -> None:
        self.name = name
        self.steps: list[TracedStep] = []
        self.off_the_host = False  # whether it was last run on an accelerator
        self.unique = True  # whether its results are to be the same on both engines
        # The place of each traced array among the further results.
        self._seen: dict[int, tuple[int, Any]] = {}
        self._count = 0
        self._body = body
        self._program = Program(name, self._traced, specs, constants=Constants.KNOWN)
        try:
            self._program.trace()
        except NeedsTracedConstants:
            self.steps, self._seen, self._count = [], {}, 0
            self._program = Program(name, self._traced, specs, constants=Constants.TRACED_FOR_GOOD)
            self._program.trace()
        self.taken = self._program.taken or []
        self.draws = self._program.compiled_plain().draws_random_numbers()
        self.written = self._program.written

    def _traced(self, tensors: list[Tensor]) -> list[Tensor]:
        trace = here.state.trace
        assert trace is not None
        trace.on_op = self._note
        try:
            outputs = self._body(tensors)
        finally:
            trace.on_op = None
        self._count = len(outputs)
        return [*outputs, *(XlaTensor(array) for _, array in self._seen.values())]

    def _note(self, op: Op, arrays: Sequence[Any], params: dict[str, Any], result: Any) -> None:
        results = list(result) if op.several else [result]
        if not any(map(xla_engine.is_traced, results)):
            return
        if not op.unique:
            self.unique = False
        elif not _depends_on_values(params):
            self.steps.append(TracedStep(op, list(arrays), params, results, caller()))
            for array in (*arrays, *results):
                if xla_engine.is_xla(array) and array.size and id(array) not in self._seen:
                    self._seen[id(array)] = len(self._seen), array

    def run(self, inputs: Sequence[Any]) -> Run:
        """One run for arrays, which it leaves as they are."""
        found, written = self._program.call([Tensor(np.array(array)[()]) for array in inputs])
        arrays = [np.asarray(tensor.array) for tensor in found]
        self.off_the_host = any(type(tensor) is XlaTensor for tensor in found)
        seen = arrays[self._count :]

        def value(array: Any) -> Any:
            if not array.size:
                return np.zeros(array.shape, array.dtype)
            return seen[self._seen[id(array)][0]] if id(array) in self._seen else np.asarray(array)

        return Run(arrays[: self._count], [np.array(array) for array in written], value)


class Run(NamedTuple):
    """A program's outputs, what it wrote, and the function that returns the values of each array of
    its steps.
    """

    outputs: list[Any]
    written: list[Any]
    value: Callable[[Any], Any]


def check(
    name: str,
    body: Body,
    specs: Sequence[Spec],
    tensors: Sequence[Tensor],
    eager: Callable[[], list[Tensor]],
) -> None:
    """Raises a ParityError unless `body`, compiled, and `eager` compute the same.

    Variables are left as they were.
    """
    with here.state.only([]):
        watched = Watched(name, body, specs)
        inputs = [np.array(_value(outside)) for outside in (*tensors, *watched.taken)]
        run = watched.run(inputs)
        for step in watched.steps:
            _check_step(watched, step, run.value)
        if watched.unique and not watched.draws:  # eager code would draw other random numbers
            _check_results(watched, inputs, run, eager)


def _value(outside: Any) -> Any:
    if isinstance(outside, Variable):
        return held(outside)
    return outside.array


def _depends_on_values(params: dict[str, Any]) -> bool:
    """Whether a parameter is a traced value."""
    leaves = nest.flatten(list(params.values()))
    return any(
        xla_engine.is_traced(leaf.array if isinstance(leaf, Tensor) else leaf) for leaf in leaves
    )


def _check_step(watched: Watched, step: TracedStep, value: Callable[[Any], Any]) -> None:
    name, off_the_host = watched.name, watched.off_the_host
    inputs = [value(array)[()] for array in step.inputs]
    compiled = [value(array) for array in step.results]
    what = (
        f"{name}: {step.op.name}, called at {locate(*step.where)} with "
        f"{', '.join(map(_described, inputs))}{_given(step.params)},"
    )
    try:
        eager = _computed(step, inputs)
    except Exception as error:
        raise ParityError(
            f"{what} runs compiled, but eager code raises {type(error).__name__}: {error}"
        ) from error
    for number, (found, expected) in enumerate(zip(compiled, eager, strict=True)):
        which = f"result {number}" if len(eager) > 1 else "its result"
        if found.shape != expected.shape or found.dtype != expected.dtype:
            raise ParityError(
                f"{what}: {which} is {_described(found)} compiled, and {_described(expected)} in "
                "eager code."
            )
        worst = _worst(found, expected)
        rounding = _rounding(expected, off_the_host)
        if worst is None or worst.difference <= rounding:
            continue
        allowed = rounding + _MOVED * _moved(step, inputs, number, expected)
        if worst.difference > allowed:
            raise ParityError(
                f"{what} differs between compiled and eager code: {worst.told(which, allowed)}"
            )


def _computed(step: TracedStep, inputs: list[Any]) -> list[Any]:
    """An op's results by NumPy."""
    found = step.op.computed(here.state.run, inputs, step.params)
    return [np.asarray(array) for array in (found if step.op.several else [found])]


class Worst(NamedTuple):
    """Where two arrays differ most."""

    difference: float
    place: tuple[int, ...]
    compiled: Any
    eager: Any

    def told(self, what: str, allowed: float) -> str:
        at = f" at {list(self.place)}" if self.place else ""
        return (
            f"{what} differs by up to {self.difference:.3g}{at}, where it is {self.compiled} "
            f"compiled and {self.eager} in eager code; rounding explains at most {allowed:.2g}."
        )


def _worst(compiled: Any, eager: Any) -> Worst | None:
    """The largest difference; an infinite one where only one of the two is NaN, or infinite.

    None if there is none at all.
    """
    wide = np.complex128 if eager.dtype.kind == "c" else np.float64
    a, b = compiled.astype(wide), eager.astype(wide)
    with Quiet():
        apart = np.abs(a - b)
    apart = np.where(
        (a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.where(np.isnan(apart), np.inf, apart)
    )
    if not apart.size or not apart.any():
        return None
    place = tuple(map(int, np.unravel_index(int(np.argmax(apart)), apart.shape)))
    return Worst(float(apart[place]), place, compiled[place], eager[place])


def _rounding(eager: Any, off_the_host: bool) -> float:
    """How far results may differ for any op: a fraction of the largest finite one."""
    name = dtypes.from_numpy(eager.dtype).name
    share = max(_ROUNDING.get(name, 0.0), _OFF_THE_HOST.get(name, 0.0) if off_the_host else 0.0)
    return share * _largest(eager) if share else 0.0


def _largest(array: Any) -> float:
    sizes = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    finite = sizes[np.isfinite(sizes)]
    return float(finite.max()) if finite.size else 0.0


def _moved(step: TracedStep, inputs: list[Any], number: int, eager: Any) -> float:
    """How much a result changes when the inputs change in the last digit: where terms cancel, that
    is more than its own last digit.
    """
    try:
        return _distance(_computed(step, _changed(inputs, 1))[number], eager)
    except Exception:  # noqa: BLE001
        # An op may refuse what is no longer symmetric, or a probability.
        return 0.0


def _changed(inputs: Sequence[Any], places: int, seed: int = 0) -> list[Any]:
    """Arrays with each number changed by a few units in the last place, but by no more than a
    hundredth of itself.
    """
    signs = np.random.default_rng(seed)
    found = []
    for array in inputs:
        change = min(places * _LAST_PLACE.get(dtypes.from_numpy(array.dtype).name, 0.0), 0.01)
        factors = 1 + change * signs.choice([-1.0, 1.0], np.shape(array))
        found.append(np.asarray(array * factors).astype(array.dtype)[()] if change else array)
    return found


def _distance(a: Any, b: Any) -> float:
    worst = _worst(a, b) if a.shape == b.shape else None
    return 0.0 if worst is None or not math.isfinite(worst.difference) else worst.difference


def _check_results(
    watched: Watched, inputs: Sequence[Any], run: Run, eager: Callable[[], list[Tensor]]
) -> None:
    """Compares results and written Variables with those of an eager run,
    and undoes what that has written.
    """
    name = watched.name
    shown = [
        i for i, variable in enumerate(watched.written) if not getattr(variable, "hidden", False)
    ]
    variables = [watched.written[i] for i in shown]
    writes = Unwritten()
    try:
        with here.state.only([writes]):
            found = [np.asarray(tensor.array) for tensor in eager()]
        found += [np.array(variable.array) for variable in variables]
    except Exception as error:
        raise ParityError(
            f"{name} runs compiled, but raises {type(error).__name__} in eager code: {error}"
        ) from error
    finally:
        writes.undo()
    if unexpected := [v.name for v in writes.written() if all(v is not w for w in variables)]:
        raise ParityError(
            f"{name} writes the Variable '{unexpected[0]}' in eager code, but not compiled."
        )
    compiled = [*run.outputs, *(run.written[i] for i in shown)]
    if len(found) != len(compiled):
        raise ParityError(
            f"{name} returns {len(run.outputs)} tensors compiled, and {len(found) - len(shown)} "
            "in eager code."
        )
    moved: list[list[Any]] = []
    for i, (ours, expected) in enumerate(zip(compiled, found, strict=True)):
        what = (
            f"result {i}"
            if i < len(run.outputs)
            else f"the Variable '{variables[i - len(run.outputs)].name}'"
        )
        if ours.shape != expected.shape or ours.dtype != expected.dtype:
            raise ParityError(
                f"{name}: {what} is {_described(ours)} compiled, and {_described(expected)} in "
                "eager code."
            )
        worst, allowed = (
            _worst(ours, expected),
            _ADDED_UP * _rounding(expected, watched.off_the_host),
        )
        if worst is None or worst.difference <= allowed:
            continue
        if not moved:
            runs = [watched.run(_changed(inputs, 100, seed)) for seed in range(_CHANGES)]
            moved = [[*again.outputs, *(again.written[k] for k in shown)] for again in runs]
        allowed += _MOVED_ALL * max(_distance(results[i], ours) for results in moved)
        if worst.difference > allowed:
            raise ParityError(
                f"{name}: {worst.told(what, allowed)} All ops that could be compared one by one "
                "agree, so look at the Python code that decides which ops run, at its side "
                "effects, and at the bodies of branches and loops."
            )


def _described(array: Any) -> str:
    return f"{dtypes.from_numpy(array.dtype).name}{list(array.shape)}"


def _given(params: dict[str, Any]) -> str:
    return "".join(f", {key}={value!r}" for key, value in params.items())
