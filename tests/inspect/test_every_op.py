"""For every op of the table that makes NaN or infinity of finite numbers, forward or backward:
`why_nonfinite` names it, its line and the place, in the middle of a chain, eager and compiled.

The numbers are found by trying: one element of one argument is set to numbers at which functions
tend not to be finite.
"""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradtape as tf
from tests.ops.table import Case, all_cases

# SciPy's functions of this family do not come back from large arguments.
NEAR = {"special_orders"}
EDGES = (0.0, 1.0, -1.0, 2.0, -3.0, 60.0, -60.0, 1e5, -1e5, 1e20, -1e20, 3e38, -3e38, 1e-30)


class Trial(NamedTuple):
    phase: str
    case: Case
    params: dict[str, Any]
    arrays: list[Any]
    wanted: list[int]  # the arguments that are followed


def marked_line(function: Any) -> int:
    """The line of a function that ends in `# here`."""
    code = function.__code__
    lines = Path(code.co_filename).read_text(encoding="utf-8").splitlines()
    start = code.co_firstlineno - 1
    return next(i + 1 for i in range(start, len(lines)) if lines[i].endswith("# here"))


def in_the_middle(trial: Trial, *followed: Any) -> tuple[list[Any], list[Any], Any]:
    """What the op is given, what it makes, and a number computed from that."""
    given = list(trial.arrays)
    moved = [tf.reshape(x * 1.0, x.shape) for x in followed]
    for i, x in zip(trial.wanted, moved, strict=True):
        given[i] = x
    # A call of an op notes the line above its public function, which the lambda stands for.
    results = (lambda: trial.case.op(*given, **trial.params))()  # noqa: PLC3002 # here
    outputs = results if isinstance(results, (list, tuple)) else [results]
    outputs = [out for out in outputs if out.dtype.is_floating]
    return moved, outputs, sum(tf.reduce_sum(out * 0.125) for out in outputs)


def is_finite(*tensors: Any) -> bool:
    return all(np.isfinite(np.asarray(t)).all() for t in tensors)


def recorded(trial: Trial) -> tuple[Any, list[Any], list[Any], list[Any], Any]:
    sources = [tf.constant(trial.arrays[i]) for i in trial.wanted]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(sources)
        moved, outputs, target = in_the_middle(trial, *sources)
    return tape, sources, moved, outputs, target


def phase_of(trial: Trial) -> str | None:
    """Where the op makes NaN or infinity of finite numbers; None if it does not, or something after
    it does.
    """
    tape, _, moved, outputs, target = recorded(trial)
    if not outputs or not isinstance(target, tf.Tensor) or target.dtype != tf.float32:
        return None
    if not is_finite(*outputs):
        return "forward"
    if not is_finite(target):
        return None
    gradients = [g for g in tape.gradient(target, [*outputs, *moved]) if g is not None]
    before = [g for g in tape.gradient(target, outputs) if g is not None]
    if not is_finite(*before):
        return None
    return None if is_finite(*map(tf.convert_to_tensor, gradients)) else "backward"


def trials_of(case: Case) -> Iterator[Trial]:
    """At most one trial for each phase."""
    found = set()
    for one in case.samples:
        wanted = one.wanted
        arrays = case.make(one, "float32")
        if "float32" not in case.dtypes_of(one) or not wanted:
            continue
        for i in wanted:
            if not arrays[i].size:
                continue
            for edge in EDGES[:5] if case.family in NEAR else EDGES:
                changed = arrays[i].copy()
                changed[tuple(n - 1 for n in changed.shape)] = edge
                given = [changed if k == i else a for k, a in enumerate(arrays)]
                trial = Trial("", case, one.params, given, wanted)
                try:
                    phase = phase_of(trial)
                except Exception:  # noqa: BLE001 - arguments that the op refuses
                    continue
                if phase is not None and phase not in found:
                    found.add(phase)
                    yield trial._replace(phase=phase)
                if len(found) == 2:
                    return


def plain_cases() -> list[Case]:
    return [case for case in all_cases() if case.orders and "float32" in case.dtypes]


CASES = plain_cases()


@functools.cache
def trials(number: int) -> tuple[Trial, ...]:
    return tuple(trials_of(CASES[number]))


def check(why: Any, trial: Trial, moved: Any, outputs: Any, gradients: Any) -> None:
    assert why, str(why)
    assert (why.kind, why.op, why.phase) == ("op", trial.case.name, trial.phase), str(why)
    assert why.location.line == marked_line(in_the_middle)
    assert why.location.file == __file__
    assert why.certain or why.missing, str(why)  # what is not followed may not have been saved
    arrays = outputs if trial.phase == "forward" else gradients
    places = [np.asarray(a)[why.index] for a in arrays if np.ndim(a) == len(why.index)
              and all(i < n for i, n in zip(why.index, np.shape(a), strict=True))]  # fmt: skip
    assert any(not np.isfinite(number) for number in places), str(why)
    assert not np.isfinite(why.value)
    assert why.advice.endswith(".")
    assert trial.case.name in str(why)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_the_op_is_named(number):
    for trial in trials(number):
        tape, sources, moved, outputs, target = recorded(trial)
        why = tape.why_nonfinite(target, sources)
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(target, moved) if g is not None]
        check(why, trial, moved, outputs, gradients)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_the_op_is_named_in_a_function(number):
    for trial in trials(number):
        sources = [tf.constant(trial.arrays[i]) for i in trial.wanted]
        function = tf.function(lambda *xs, trial=trial: in_the_middle(trial, *xs))
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            moved, outputs, target = function(*sources)
            target = target + 1.0
        gradients = [g for g in tape.gradient(target, sources) if g is not None]
        gradients = [tf.convert_to_tensor(g) for g in gradients]
        if is_finite(target, *(gradients if trial.phase == "backward" else ())):
            continue  # XLA's own answer is finite
        why = tape.why_nonfinite(target)
        if why.notes:  # it is XLA alone that is not finite
            continue
        check(why, trial, moved, outputs, gradients)


def test_many_ops_are_tried():
    found = [trial for number in range(len(CASES)) for trial in trials(number)]
    phases = [trial.phase for trial in found]
    assert phases.count("forward") > 100
    assert phases.count("backward") > 50
