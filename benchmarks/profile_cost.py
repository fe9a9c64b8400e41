"""What `gradtape.profile` costs, for each op: `python -m benchmarks.profile_cost`.

A step of a small network is timed in turns, without a profile, in one, and in two: in many short
runs, of which the fastest counts. An op counts once forward and once backward. What is not on must
cost nothing, so the step is also timed before the first profile and after the last one.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import gradtape as tf

BUDGET = 2.0  # µs for each op, while a profile is on
RUNS, STEPS = 150, 20


def network() -> tuple[Callable[[], Any], Callable[[], Any], int]:
    """A forward pass under a tape, a whole step, and how many ops it records."""
    random = np.random.default_rng(0)
    x = tf.constant(random.standard_normal((8, 16)).astype("float32"))
    weights = [tf.Variable(random.standard_normal((16, 16)).astype("float32")) for _ in range(3)]

    def forward() -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            h = x
            for w in weights:
                h = tf.tanh(h @ w + 0.5) * 0.5
            return tape, tf.reduce_mean(tf.square(h))

    def step() -> Any:
        tape, loss = forward()
        return tape.gradient(loss, weights)

    with tf.profile() as counted:
        forward()
    return forward, step, sum(row.calls for row in counted.rows)


def times(programs: list[Callable[[], float]]) -> list[float]:
    """The best of each, in turns."""
    best = [float("inf")] * len(programs)
    for _ in range(RUNS):
        for i, program in enumerate(programs):
            best[i] = min(best[i], program())
    return best


def microseconds(program: Callable[[], Any], profiles: int) -> float:
    """Of a call, while so many profiles are on."""
    with ExitStack() as stack:
        for _ in range(profiles):
            stack.enter_context(tf.profile())
        start = perf_counter()
        for _ in range(STEPS):
            program()
        return 1e6 * (perf_counter() - start) / STEPS


def main() -> None:
    forward, step, ops = network()
    (before,) = times([partial(microseconds, step, 0)])
    for name, program, count in (("forward", forward, ops), ("step", step, 2 * ops)):
        off, on, nested = times([partial(microseconds, program, n) for n in range(3)])
        print(f"{name}: {off:.1f} µs, profiled {on:.1f}, twice {nested:.1f}; {count} ops and rules")
        for title, cost in (("a profile", on - off), ("a second one", nested - on)):
            note = "" if cost / count <= BUDGET else f"   over the budget of {BUDGET}"
            print(f"    {title} costs {cost / count:.2f} µs each{note}")
    (after,) = times([partial(microseconds, step, 0)])
    print(f"a step before all profiles {before:.1f} µs, after them {after:.1f} µs")


if __name__ == "__main__":
    main()
