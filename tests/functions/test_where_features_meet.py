"""Faults that lay where two features meet: each is a pair of a compiled and an eager run that must
agree.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf


def gradient(f):
    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return run


def tangent(f):
    def run(x):
        with tf.autodiff.ForwardAccumulator(x, 0.7 * tf.ones_like(x)) as accumulator:
            y = f(x)
        return accumulator.jvp(y)

    return run


def by_graph(f):
    return lambda x: tf.gradients(f(x), x)[0]


ORDERS = {
    "two tapes outside": lambda f: gradient(gradient(tf.function(f))),
    "a tape inside and one outside": lambda f: gradient(tf.function(gradient(f))),
    "two tapes inside": lambda f: tf.function(gradient(gradient(f))),
    "forward over reverse": lambda f: tangent(gradient(tf.function(f))),
    "reverse over forward": lambda f: gradient(tangent(tf.function(f))),
    "gradients twice": lambda f: tf.function(by_graph(by_graph(f))),
    "a hessian": lambda f: tf.hessian(tf.function(f)),
    "first without a tape": lambda f: (
        h := tf.function(gradient(f)),
        h(tf.constant(0.0, tf.float64)),
        gradient(h),
    )[2],
    "recomputed": lambda f: tf.function(gradient(gradient(tf.recompute_grad(f)))),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("place", [0.0, 1e-4, 0.5])
def test_second_derivatives_where_a_cotangent_is_zero(order, place):
    """Strong zeros are for what a cotangent multiplies, not for the cotangent's own derivative."""
    f = lambda x: tf.sin(x) * x
    x = tf.constant(place, tf.float64)
    right = 2 * np.cos(place) - place * np.sin(place)
    scale = 0.7 if "forward" in order else 1.0
    np.testing.assert_allclose(ORDERS[order](f)(x), right * scale, rtol=1e-9)


@pytest.mark.parametrize(
    "order",
    [
        "two tapes outside",
        "forward over reverse",
        "two tapes inside",
        "a tape inside and one outside",
    ],
)
def test_only_a_later_output_of_an_inner_function(order):
    inner = tf.function(lambda x: (x * x, tf.sin(x)))
    x = tf.constant(1.5, tf.float64)
    scale = 0.7 if "forward" in order else 1.0
    np.testing.assert_allclose(
        ORDERS[order](lambda x: inner(x)[1])(x), -np.sin(1.5) * scale, rtol=1e-9
    )


@pytest.mark.parametrize("effect", ["print", "assign", "random", "assertion"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_gradient_function_with_effects(effect, inside):
    seen = tf.Variable(0.0)

    @tf.custom_gradient
    def doubled(x):
        def grad(g):
            if effect == "print":
                tf.print("", end="")
            elif effect == "assign":
                seen.assign_add(1.0)
            elif effect == "random":
                g = g + 0.0 * tf.random.normal([])
            else:
                tf.debugging.assert_positive(g)
            return g * 2.0

        return x * 1.0, grad

    f = lambda x: doubled(x)
    found = (tf.function(gradient(f)) if inside else gradient(tf.function(f)))(tf.constant(1.0))
    assert float(found) == 2.0


@pytest.mark.parametrize("derive", [gradient, tangent])
@pytest.mark.parametrize("loop", ["foldl", "while", "cond"])
def test_a_derivative_of_a_function_with_a_loop_inside_vmap(derive, loop):
    bodies = {
        "foldl": lambda x: tf.foldl(lambda s, r: s * r, x, tf.constant(1.0)),
        "while": lambda x: tf.while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, y * x[0]), (0, x[1])
        )[1],
        "cond": lambda x: tf.cond(x[0] > 2.0, lambda: x[0] * x[1], lambda: x[1]),
    }
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    compiled = tf.vectorized_map(derive(tf.function(bodies[loop])), x)
    np.testing.assert_allclose(compiled, tf.vectorized_map(derive(bodies[loop]), x))


def test_a_custom_gradient_of_an_example_in_a_branch():
    @tf.custom_gradient
    def squared(x):
        return x * x, lambda g: g * 2 * x

    x = tf.constant([1.0, -1.0])
    f = lambda x: tf.vectorized_map(
        lambda row: tf.cond(row > 0, lambda: squared(row), lambda: row), x
    )
    np.testing.assert_array_equal(tf.function(f)(x), f(x))
    np.testing.assert_array_equal(gradient(tf.function(f))(x), gradient(f)(x))
