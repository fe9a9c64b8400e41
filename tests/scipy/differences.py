"""Differences that derivatives are compared with."""

from itertools import pairwise

import numpy as np

import gradtape as tf


def slope(f, at=0.0, step=1e-3):
    """A derivative by central differences, extrapolated twice."""
    found = [(f(at + h) - f(at - h)) / (2 * h) for h in (step, step / 2, step / 4)]
    once = [(4 * b - a) / 3 for a, b in pairwise(found)]
    return (16 * once[1] - once[0]) / 15


def close(found, expected, rtol=1e-6):
    expected = np.asarray(expected)
    np.testing.assert_allclose(
        np.asarray(found), expected, rtol=rtol, atol=rtol * np.abs(expected).max(initial=1e-3)
    )


def check_derivatives(objective, reference, at, *, rtol=1e-6, second=True, compiled=True):
    """The derivatives of a number of a solution by a vector: in reverse and forward mode, of second
    order, in a program, in a batch; `reference` computes it from a NumPy array.
    """
    at = np.asarray(at, np.float64)
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(2, *at.shape))
    expected = [slope(lambda s, d=d: reference(at + s * d)) for d in directions]
    x = tf.constant(at)

    def along(f, d):
        return np.sum(np.asarray(tf.grad(f)(x)) * d)

    ways = [objective, tf.function(objective)] if compiled else [objective]
    for f in ways:
        close(f(x), reference(at), rtol=1e-6)
        close([along(f, d) for d in directions], expected, rtol)
        close([tf.jvp(f, [x], [tf.constant(d)])[1] for d in directions], expected, rtol)
    if second:
        first = lambda s: along_at(objective, at + s * directions[0], directions[1])
        by = slope(first, step=1e-2)
        for f in ways:
            twice = tf.hvp(f, x, tf.constant(directions[0]))
            close(np.sum(np.asarray(twice) * directions[1]), by, max(rtol, 1e-5))
            nested = tf.grad(lambda v, f=f: tf.reduce_sum(tf.grad(f)(v) * directions[1]))(x)
            close(np.sum(np.asarray(nested) * directions[0]), by, max(rtol, 1e-5))
    rows = np.stack([at, at + 0.01 * directions[0]])
    close(tf.vectorized_map(objective, tf.constant(rows)), [reference(r) for r in rows])
    batched = tf.vectorized_map(tf.grad(objective), tf.constant(rows)).numpy()
    close([np.sum(batched[0] * d) for d in directions], expected, rtol)


def along_at(f, at, direction):
    return np.sum(np.asarray(tf.grad(f)(tf.constant(at))) * direction)
