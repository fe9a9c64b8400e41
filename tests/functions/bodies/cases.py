"""The product of constructs, body ops, captures and derivatives; how one case is measured; and a
sample that has every pair.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from typing import Any, NamedTuple

import gradtape as tf

from .body_ops import BODY_OPS, material
from .captures import CAPTURES, function
from .constructs import CONSTRUCTS
from .derivatives import DERIVATIVES

# The sum of one is above zero, of the other below: both branches are taken.
POINTS = ([[0.9, -0.4, 0.3]], [[-0.7, 0.4, -0.5]])


class Case(NamedTuple):
    construct: str
    body_op: str
    capture: str
    derivative: str

    def __str__(self) -> str:
        return ", ".join(self)


class Measured(NamedTuple):
    results: list[list[Any]]  # for each point a value and derivatives: arrays or None
    runs: list[Counter[str]]  # after each point, how often the Python of each body had run
    traces: int | None


def measure(case: Case, *, eager: bool) -> Measured:
    """What a case gives at each point, with what it is made of made anew; Variables that rules read
    change between the points.
    """
    runs: Counter[str] = Counter()

    def count(label: str) -> None:
        runs[label] += 1

    make, _, dtype = BODY_OPS[case.body_op]
    parts, scales = material(
        dtype, variable_in_rule=case.capture == "Variable in a rule", count=count
    )
    op, variables = make(parts)
    f = function(case.construct, case.capture, {"tf": tf, "op": op, "count": count})
    derive = DERIVATIVES[case.derivative]
    ask, compiled = derive((lambda f: f) if eager else tf.function, f, [*scales, *variables])
    measured = Measured([], [], None)
    tf.config.run_functions_eagerly(eager)
    try:
        for point in POINTS:
            found = ask(tf.constant(point, dtype))
            measured.results.append([None if each is None else each.numpy() for each in found])
            measured.runs.append(Counter(runs))
            for scale in scales:
                scale.assign(5.0)
    finally:
        tf.config.run_functions_eagerly(False)
    return (
        measured if eager else measured._replace(traces=compiled.experimental_get_tracing_count())
    )


def _is_kept(numbers: tuple[int, ...]) -> bool:
    """Every other combination, as on a chessboard, so that whatever three of the four are, half of
    what the fourth can be meets them.
    """
    return sum(numbers) % 2 == 0


def is_promised(case: Case) -> bool:
    """What a program calls on the host is outside it: Variables that are read there are no inputs,
    and examples of a batch have no values.
    """
    on_host = case.body_op == "py_function"
    by_variable = case.capture == "Variable in a rule" and case.derivative.startswith(
        "second order"
    )
    return not (on_host and (by_variable or case.construct == "vectorized_map"))


AXES = (tuple(CONSTRUCTS), tuple(BODY_OPS), tuple(CAPTURES), tuple(DERIVATIVES))
CASES = [
    Case(*(axis[number] for axis, number in zip(AXES, numbers, strict=True)))
    for numbers in product(*(range(len(axis)) for axis in AXES))
    if _is_kept(numbers)
]
CASES = [case for case in CASES if is_promised(case)]


def pairs(case: Case) -> set[tuple[str, str]]:
    return set(combinations(case, 2))


def sample() -> list[Case]:
    """Few cases that have every pair of what two of the four can be: one for each construct and
    capture, chosen for the pairs it adds.
    """
    missing = set().union(*map(pairs, CASES))
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in CASES:
        groups.setdefault((case.construct, case.capture), []).append(case)
    chosen = []
    for group in [*groups.values(), *groups.values()]:
        best = max(group, key=lambda case: len(pairs(case) & missing))
        if pairs(best) & missing:
            chosen.append(best)
            missing -= pairs(best)
    assert not missing
    return chosen
