"""Where the time of an eager step goes: `python -m benchmarks.profile`.

Nothing is instrumented, since a probe costs more than what it would measure. Four programs are
timed in turns instead, each doing a little more than the one before: NumPy forward, gradtape
forward without a tape, gradtape forward under a tape, and the whole step; and NumPy forward and
back. The parts are their differences.
"""

import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import gradtape as tf
from benchmarks.libraries import in_gradtape, in_numpy
from benchmarks.workloads import CHAIN_FACTOR, CHAIN_LENGTH, CHAIN_SUMMAND, TRAINING
from gradtape.core.recording import numbers

RUNS, SECONDS = 150, 0.004


def _small_mlp(xp: Any, product: Callable[..., Any], x: Any, y: Any, weights: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = weights
    h = xp.tanh(product(x, w1) + b1)
    h = xp.tanh(product(h, w2) + b2)
    return xp.square(product(h, w3) + b3 - y)


def _chain(xp: Any, product: Callable[..., Any], x: Any, y: Any, weights: Any) -> Any:
    for _ in range(CHAIN_LENGTH):
        x = xp.tanh(x * CHAIN_FACTOR + CHAIN_SUMMAND)
    return x


MODELS = {"small_mlp": _small_mlp, "chain": _chain}


def parts(name: str) -> list[tuple[str, float]]:
    """The parts of a step and their µs; they add up to the step."""
    inputs = next(workload.inputs for workload in TRAINING if workload.name == name)
    model, mean = MODELS[name], name == "small_mlp"
    by_hand, ours = in_numpy.STEPS[name](inputs), in_gradtape.STEPS[name](inputs)
    x, y = tf.constant(inputs.x), None if inputs.y is None else tf.constant(inputs.y)
    variables = [tf.Variable(weight) for weight in inputs.weights]

    def numpy_forward() -> Any:
        value = model(np, np.matmul, inputs.x, inputs.y, inputs.weights)
        return value.mean() if mean else value

    def forward() -> Any:
        value = model(tf, tf.matmul, x, y, variables)
        return tf.reduce_mean(value) if mean else value

    def recorded() -> Any:
        with tf.GradientTape() as tape:
            if not variables:
                tape.watch(x)
            return forward()

    before = next(numbers)
    recorded()
    nodes = next(numbers) - before - 1
    programs = [numpy_forward, forward, recorded, partial(ours.function, *ours.arguments)]
    programs += [
        partial(by_hand.function, *by_hand.arguments),
        partial(_locations, nodes),
        partial(_nothing, nodes),
    ]
    numpy_alone, plain, taped, step, hand, located, loop = _times(programs)
    location = located - loop
    return [
        ("forward: NumPy kernels", numpy_alone),
        ("forward: from a call to its kernel and back", plain - numpy_alone),
        ("forward: recording, without locations", taped - plain - location),
        (f"forward: the line of code of each of {nodes} ops", location),
        ("backward: NumPy kernels, written by hand", hand - numpy_alone),
        ("backward: walk, rules and their extra kernels", (step - taped) - (hand - numpy_alone)),
        ("the step", step),
    ]


def _locations(count: int) -> None:
    for _ in range(count):
        frame = sys._getframe(1)
        (frame.f_code, frame.f_lasti)  # noqa: B018 - what a Node keeps


def _nothing(count: int) -> None:
    for _ in range(count):
        pass


def _times(programs: list[Callable[[], Any]]) -> list[float]:
    """Microseconds of each, the best of many short runs in turns:
    whatever else the machine does can only add time.
    """
    loops = [
        max(1, round(SECONDS / min(_seconds(program, 1) for _ in range(5)))) for program in programs
    ]
    best = [float("inf")] * len(programs)
    for _ in range(RUNS):
        for i, program in enumerate(programs):
            best[i] = min(best[i], _seconds(program, loops[i]))
    return [1e6 * seconds for seconds in best]


def _seconds(program: Callable[[], Any], loops: int) -> float:
    start = perf_counter()
    for _ in range(loops):
        program()
    return (perf_counter() - start) / loops


def table(found: list[tuple[str, float]]) -> list[list[str]]:
    whole = found[-1][1]
    return [
        ["", "µs", "of the step"],
        *([part, f"{time:.1f}", f"{time / whole:.0%}"] for part, time in found),
    ]


def main() -> None:
    # The parts are measured without it.
    from benchmarks.report import as_text, title  # noqa: PLC0415

    for name in MODELS:
        print(f"{title(name)}\n\n{as_text(table(parts(name)))}\n")


if __name__ == "__main__":
    main()
