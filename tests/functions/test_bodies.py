"""A body of a branch or a loop, whatever it calls and however it gets at its values, is Python that
runs once while it is traced.

Each case is a function made of a construct, an op in its body, a way to capture a value and a way
to ask for a derivative (see `bodies/`). It is called at two points, undecorated and as a
`tf.function`, and must give the same.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

import gradtape as tf

from .bodies.body_ops import ANY_NUMBER, BODY_OPS
from .bodies.captures import function, source
from .bodies.cases import AXES, CASES, POINTS, Case, Measured, is_promised, measure, pairs, sample
from .bodies.constructs import CONSTRUCTS

SAMPLE = sample()


def parameters():
    quick = set(SAMPLE)
    return [
        pytest.param(case, id=str(case), marks=() if case in quick else pytest.mark.slow)
        for case in CASES
    ]


def differences(eager: Measured, compiled: Measured, *, zeros_too: bool = False) -> list[str]:
    """What a compiled function gave that the eager one did not.

    A gradient is None where no branch leads to the source. Where the branch that is taken does not,
    and another one does, eager code says None and the compiled function zeros, as in TensorFlow.
    With `zeros_too`, so may it where none does: the gradient of a branch or a loop is a branch or a
    loop of its own, of which it is not known by what it has a derivative.
    """
    found = []
    for point, (expected, results) in enumerate(zip(eager.results, compiled.results, strict=True)):
        for number, (taken, result) in enumerate(zip(expected, results, strict=True)):
            connected = [other[number] for other in eager.results if other[number] is not None]
            if taken is None and zeros_too and result is not None:
                connected.append(result)
            right = np.zeros_like(connected[0]) if taken is None and connected else taken
            if not same(right, result):
                found.append(
                    f"result {number} at point {point} is {result}, eager code gives {right}"
                )
    return found


def same(right: np.ndarray | None, result: np.ndarray | None) -> bool:
    if right is None or result is None:
        return right is result
    tolerance = 1e-5 if right.dtype == np.float32 else 1e-9
    return (
        right.dtype == result.dtype
        and right.shape == result.shape
        and np.allclose(result, right, rtol=tolerance, atol=tolerance)
    )


def wrong_runs(case: Case, compiled: Measured) -> list[str]:
    """Bodies whose Python did not run once while the function was traced,
    and Python that ran again in the second call.
    """
    allowed = dict.fromkeys(CONSTRUCTS[case.construct].labels, (1, 1))
    allowed["op"] = BODY_OPS[case.body_op].runs
    allowed["rule"] = (
        0,
        1 if case.derivative in {"tape outside", "tape inside", "forward accumulator"} else 2,
    )
    # One inside the other, each with its rule.
    if (case.body_op, case.capture) == ("custom_gradient", "Variable in a rule"):
        allowed["rule"] = (0, 2)
    if allowed["op"] == ANY_NUMBER:
        allowed["rule"] = ANY_NUMBER
    first, second = compiled.runs
    found = [
        f"{label!r} ran {first[label]} times, not {least} to {most}"
        for label, (least, most) in allowed.items()
        if not least <= first[label] <= most
    ]
    return found + [
        f"{label!r} ran {second[label] - first[label]} times in the second call"
        for label in allowed
        if allowed[label] != ANY_NUMBER and second[label] != first[label]
    ]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", parameters())
def test_compiled_is_eager(case):
    eager, compiled = measure(case, eager=True), measure(case, eager=False)
    wrong = differences(
        eager, compiled, zeros_too=case.derivative.startswith("second order")
    ) + wrong_runs(case, compiled)
    assert not wrong, "\n".join([*wrong, "", source(case.construct, case.capture)])
    assert compiled.traces == 1


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_eager_gradients_are_derivatives(construct):
    """What the cases are compared with is right: a central difference in float64."""
    f = function(
        construct, "closure", {"tf": tf, "op": lambda q: q * tf.sin(q), "count": lambda label: None}
    )
    direction = np.array([[0.5, -1.0, 2.0]])
    for point in POINTS:
        x = tf.constant(point, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        slope = np.sum(tape.gradient(y, x).numpy() * direction)
        step = 1e-6 * direction
        difference = np.sum(f(x + step).numpy() - f(x - step).numpy()) / 2e-6
        np.testing.assert_allclose(slope, difference, rtol=1e-7)


def test_the_product_is_large_and_the_sample_has_every_pair():
    assert len(CASES) >= 3000
    for axes in combinations(range(4), 3):
        triples = {tuple(case[axis] for axis in axes) for case in CASES}
        promised = filter(is_promised, map(Case._make, product(*AXES)))
        assert triples == {tuple(case[axis] for axis in axes) for case in promised}
    assert len(SAMPLE) <= 200
    assert set().union(*map(pairs, SAMPLE)) == set().union(*map(pairs, CASES))


def test_the_checks_find_what_is_wrong():
    """Wrong numbers, shapes, dtypes, None and zeros; Python that ran too often,
    too seldom or again.
    """
    case = Case("if", "plain op", "closure", "tape outside")
    once = Counter(taken=1, other=1, op=1)
    right = Measured([[np.ones(3), np.ones(3), None], [np.ones(3), None, None]], [once, once], 1)
    zeros = right._replace(results=[right.results[0], [np.ones(3), np.zeros(3), None]])
    assert not differences(right, zeros)
    assert not wrong_runs(case, zeros)
    for number, wrong in (
        (0, np.array([1.0, 1.0, 1.0 + 1e-6])),
        (0, np.ones(1)),
        (0, np.ones(3, np.float32)),
        (0, None),
        (1, None),
        (1, np.ones(3)),
        (2, np.zeros(3)),
    ):
        results = [
            wrong if each == number else result for each, result in enumerate(zeros.results[1])
        ]
        assert len(differences(right, zeros._replace(results=[zeros.results[0], results]))) == 1
    for runs in (
        [once - Counter(taken=1)] * 2,
        [once + Counter(op=1)] * 2,
        [once + Counter(rule=2)] * 2,
        [once, once + once],
    ):
        assert wrong_runs(case, zeros._replace(runs=runs))
