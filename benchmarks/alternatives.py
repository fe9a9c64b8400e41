"""The derivative of one function in each of the ways that docs/alternatives.md compares:
`python -m benchmarks.alternatives` prints its table.

Times are of the processor, the least of several runs: value and gradient of
`exp(-x**2) * cos(3 * x)`, summed, by every element of x.
"""

import math
import time

import jax.numpy as jnp
import numpy as np
import sympy

import gradtape as tf
from gradtape.bridge import black_box, from_jax, from_sympy

SIZES = (1, 1_000, 1_000_000)


@tf.custom_gradient
def manual(x):
    bell, wave = tf.exp(-(x**2)), tf.cos(3 * x)
    return bell * wave, lambda g: -g * bell * (2 * x * wave + 3 * tf.sin(3 * x))


def recorded(x):
    return tf.exp(-(x**2)) * tf.cos(3 * x)


def in_numpy(x):
    return np.exp(-(x**2)) * np.cos(3 * x)


def ways():
    x = sympy.Symbol("x")
    symbolic = from_sympy(sympy.exp(-(x**2)) * sympy.cos(3 * x), x)
    in_jax = from_jax(lambda x: jnp.exp(-(x**2)) * jnp.cos(3 * x))
    return {
        "tape": recorded,
        "tape, in a `function`": tf.function(recorded),
        "manual: `custom_gradient`": manual,
        "symbolic: `from_sympy`": symbolic,
        "symbolic, in a `function`": tf.function(symbolic),
        "JAX: `from_jax`": in_jax,
        "complex step, `elementwise`": black_box(in_numpy, "complex-step", elementwise=True),
        "differences, `elementwise`": black_box(in_numpy, elementwise=True),
        "differences, `batched`": black_box(in_numpy, batched=True),
    }


def gradient(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(f(x))
    return tape.gradient(total, x)


def seconds(run, least=0.3):
    """The least time of the processor that a run takes."""
    run()
    best, spent = math.inf, 0.0
    while spent < least:
        begin = time.process_time()
        run()
        took = time.process_time() - begin
        best, spent = min(best, took), spent + max(took, 1e-6)
    return best


def error(f):
    """The largest error of the derivative in double precision, beside the largest derivative."""
    points = np.linspace(-2, 2, 1001)
    bell = np.exp(-(points**2))
    exact = -bell * (2 * points * np.cos(3 * points) + 3 * np.sin(3 * points))
    off = gradient(f, tf.constant(points)).numpy() - exact
    return np.max(np.abs(off)) / np.max(np.abs(exact))


def text(duration):
    return f"{duration * 1e6:,.0f} µs" if duration < 1e-2 else f"{duration * 1e3:,.0f} ms"


def main():
    head = " | ".join(f"{size:,}" for size in SIZES)
    print(f"| way | {head} | error |\n|---|{'---:|' * (len(SIZES) + 1)}")
    for name, f in ways().items():
        cells = []
        for size in SIZES:
            x = tf.constant(np.linspace(-2, 2, size))
            if "batched" in name and size > 1_000:  # a call for each element
                cells.append("")
                continue
            cells.append(text(seconds(lambda f=f, x=x: gradient(f, x))))
        print(f"| {name} | {' | '.join(cells)} | {error(f):.0e} |")


if __name__ == "__main__":
    main()
