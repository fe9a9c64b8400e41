"""Functions of many Variables, beside jax.jit: `python -m benchmarks.many_variables`.

A step of gradient descent of a chain of dense layers, with a tape inside: what tracing it takes,
without compiling. And a compiled call that reads a hundred Variables, changes them and does
little else. JAX has no Variables: there they are arguments, and results that are donated. Both run
in this process, in turns, and the fastest turn counts.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from benchmarks.results import Figures

TRACED = (100, 1000)
CALLED = 100
WIDTH, BATCH, RATE = 8, 4, 1e-3
TURNS, CALLS = 5, 300
FUNCTION, JIT = "gradtape.function", "jax.jit"
CALL = f"a call that changes {CALLED} Variables"
LIMITS = {f"tracing a step of {n:,} Variables": 1.5 for n in TRACED} | {CALL: 1.3}
"""How many times jax.jit's time each row may take."""


def weights(count: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal((WIDTH, WIDTH) if i % 2 == 0 else (WIDTH,)).astype(np.float32)
        for i in range(count)
    ]


def inputs() -> Any:
    return np.ones((BATCH, WIDTH), np.float32)


def step_of_tape(count: int) -> Callable[[Any], Any]:
    variables = [tf.Variable(w) for w in weights(count)]

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            for w, b in zip(variables[::2], variables[1::2], strict=True):
                x = tf.tanh(x @ w + b)
            loss = tf.reduce_mean(tf.square(x))
        for variable, g in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(RATE * g)
        return loss

    return step


def step_of_jax(parameters: list[Any], x: Any) -> Any:
    def loss_of(parameters: list[Any]) -> Any:
        y = x
        for w, b in zip(parameters[::2], parameters[1::2], strict=True):
            y = jnp.tanh(y @ w + b)
        return jnp.mean(jnp.square(y))

    loss, found = jax.value_and_grad(loss_of)(parameters)
    return loss, [p - RATE * g for p, g in zip(parameters, found, strict=True)]


def tracing(count: int) -> dict[str, Callable[[], float]]:
    """The seconds that tracing takes; new functions each time, so that nothing is known of them."""
    arrays, x = [jnp.asarray(w) for w in weights(count)], jnp.asarray(inputs())

    def of_tape() -> float:
        function = tf.function(step_of_tape(count), autograph=False)
        start = perf_counter()
        function.get_concrete_function(tf.TensorSpec([BATCH, WIDTH]))
        return perf_counter() - start

    def of_jax() -> float:
        function = jax.jit(lambda *given: step_of_jax(*given), donate_argnums=0)
        start = perf_counter()
        function.trace(arrays, x)
        return perf_counter() - start

    return {FUNCTION: of_tape, JIT: of_jax}


def calling(count: int) -> dict[str, Callable[[], float]]:
    """The seconds of a call that adds to each Variable."""
    variables = [tf.Variable(w) for w in weights(count)]
    added = tf.constant(RATE)

    @tf.function(autograph=False)
    def change(x: Any) -> None:
        for variable in variables:
            variable.assign_add(tf.zeros_like(variable) + x)

    change_arrays = jax.jit(lambda arrays, x: [a + x for a in arrays], donate_argnums=0)
    held = [jnp.asarray(w) for w in weights(count)]
    number = jnp.float32(RATE)

    def of_tape() -> float:
        change(added)
        start = perf_counter()
        for _ in range(CALLS):
            change(added)
        return (perf_counter() - start) / CALLS

    def of_jax() -> float:
        nonlocal held
        held = change_arrays(held, number)
        start = perf_counter()
        for _ in range(CALLS):
            held = change_arrays(held, number)
        return (perf_counter() - start) / CALLS

    return {FUNCTION: of_tape, JIT: of_jax}


def best(contenders: dict[str, Callable[[], float]], turns: int) -> dict[str, float]:
    """The first turn of each, which loads and compiles what is needed, does not count."""
    for measure in contenders.values():
        measure()
    rounds = [{name: measure() for name, measure in contenders.items()} for _ in range(turns)]
    return {name: min(found[name] for found in rounds) for name in contenders}


def figures(quick: bool) -> dict[str, Figures]:
    """The seconds of each row, by contender."""
    before = tf.config.get_wait_for_compilation()
    tf.config.set_wait_for_compilation(True)
    try:
        made = [*(tracing(n) for n in TRACED), calling(CALLED)]
        rows = dict(zip(LIMITS, made, strict=True))
        turns = 1 if quick else TURNS
        return {"many_variables": {row: best(found, turns) for row, found in rows.items()}}
    finally:
        tf.config.set_wait_for_compilation(before)


def main() -> None:
    for row, found in figures(quick=False)["many_variables"].items():
        ratio = found[FUNCTION] / found[JIT]
        print(f"{row}: {ratio:.2f} of jax.jit's time, {1e3 * found[FUNCTION]:,.2f} ms")


if __name__ == "__main__":
    main()
