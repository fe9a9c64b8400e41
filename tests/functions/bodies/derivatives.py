"""The ways in which a derivative of a function is asked for,
each the same for eager and for compiled code.

Each takes `compiled`, which is `tf.function` or gives back the function that it is given, the
function, and Variables that are sources beside the argument. It gives a function of the argument: a
value and derivatives, some of them None.
"""

from __future__ import annotations

import gradtape as tf


def tape_outside(compiled, f, variables):
    f = compiled(f)

    def measure(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return [y, *tape.gradient(y, [x, *variables])]

    return measure, f


def tape_inside(compiled, f, variables):
    def whole(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return [y, *tape.gradient(y, [x, *variables])]

    whole = compiled(whole)
    return whole, whole


def persistent(compiled, f, variables):
    """A persistent tape inside the function, asked twice:
    the first answer must not use anything up.
    """

    def whole(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
            z = y * y
        return [y, *tape.gradient(y, [x, *variables]), *tape.gradient(z, [x, *variables])]

    whole = compiled(whole)
    return whole, whole


def forward_accumulator(compiled, f, variables):
    f = compiled(f)

    def measure(x):
        with tf.autodiff.ForwardAccumulator(
            x, tf.constant([[0.5, -1.0, 2.0]], x.dtype)
        ) as accumulator:
            y = f(x)
        return [y, accumulator.jvp(y)]

    return measure, f


def second_order(compiled, f, variables):
    """A tape inside the function, and one around it."""

    def whole(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    whole = compiled(whole)

    def measure(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            first = whole(x)
        return [first, *tape.gradient(first, [x, *variables])]

    return measure, whole


def second_order_outside(compiled, f, variables):
    """Two tapes around the function."""
    f = compiled(f)

    def measure(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        return [first, *outer.gradient(first, [x, *variables])]

    return measure, f


DERIVATIVES = {
    "tape outside": tape_outside,
    "tape inside": tape_inside,
    "persistent": persistent,
    "forward accumulator": forward_accumulator,
    "second order": second_order,
    "second order outside": second_order_outside,
}
