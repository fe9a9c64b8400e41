"""What the NumPy spelling of a call costs over gradtape's own, while a tape records:
`python -m benchmarks.numpy_spelling`.

The two are timed in turns, in many short runs, of which the fastest counts: whatever else the
machine does can only add time.
"""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

import gradtape as tf

BUDGET = 1.5  # µs that the NumPy spelling may cost on top
RUNS, CALLS = 200, 200


def calls() -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """The name of a call, gradtape's spelling and NumPy's."""
    x = tf.Variable(np.linspace(0.1, 1, 16, dtype=np.float32).reshape(4, 4)) * 1.0
    y = tf.constant(np.ones((4, 4), np.float32))
    mask = tf.constant(np.eye(4, dtype=bool))
    yield "tanh", lambda: tf.tanh(x), lambda: np.tanh(x)
    yield "exp", lambda: tf.exp(x), lambda: np.exp(x)
    yield "multiply", lambda: tf.multiply(x, y), lambda: np.multiply(x, y)
    yield "add a number", lambda: tf.add(x, 2.0), lambda: np.add(x, 2.0)
    yield "maximum", lambda: tf.maximum(x, y), lambda: np.maximum(x, y)
    yield "matmul", lambda: tf.matmul(x, y), lambda: np.matmul(x, y)
    yield "mean", lambda: tf.reduce_mean(x), lambda: np.mean(x)
    yield "sum over an axis", lambda: tf.reduce_sum(x, axis=1), lambda: np.sum(x, axis=1)
    yield "max", lambda: tf.reduce_max(x), lambda: np.max(x)
    yield "where", lambda: tf.where(mask, x, y), lambda: np.where(mask, x, y)
    yield "reshape", lambda: tf.reshape(x, (16,)), lambda: np.reshape(x, (16,))
    yield "transpose", lambda: tf.transpose(x), lambda: np.transpose(x)
    yield "concatenate", lambda: tf.concat([x, y], 0), lambda: np.concatenate([x, y])


def times(*spellings: Callable[[], Any]) -> list[float]:
    """Microseconds a call, of each spelling."""
    best = [float("inf")] * len(spellings)
    for _ in range(RUNS):
        for i, spelling in enumerate(spellings):
            start = perf_counter()
            for _ in range(CALLS):
                spelling()
            best[i] = min(best[i], (perf_counter() - start) / CALLS)
    return [1e6 * seconds for seconds in best]


def main() -> None:
    print(f"{'µs a call':18}{'gradtape':>10}{'NumPy':>10}{'on top':>10}")
    with tf.GradientTape(persistent=True):
        for name, ours, theirs in calls():
            if theirs().node is None:
                raise AssertionError(f"{name}: the NumPy spelling was not recorded")
            own, spelled = times(ours, theirs)
            note = "" if spelled - own <= BUDGET else f"   over the budget of {BUDGET}"
            print(f"{name:18}{own:10.2f}{spelled:10.2f}{spelled - own:+10.2f}{note}")


if __name__ == "__main__":
    main()
