"""What each function of `gradtape.scipy` is checked for, from one row of a table."""

import itertools
from typing import Any, NamedTuple

import numpy as np

import gradtape as tf


class Row(NamedTuple):
    """A function of Tensors, SciPy's of arrays, and arguments; `fixed` says which of the arguments
    have no derivatives.
    """

    ours: Any
    theirs: Any
    args: tuple[Any, ...]
    fixed: tuple[int, ...] = ()
    second: bool = True
    rtol: float = 1e-6
    agreement: float = 1e-9  # of the values with SciPy's


def values(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def close(found, expected, rtol, what):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, what
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    np.testing.assert_allclose(
        found, expected, rtol=rtol, atol=rtol * max(scale, 1e-3), err_msg=what
    )


def weights_of(shape):
    return values(*shape, seed=17)


def difference(f, x, direction, step=2e-3):
    """The derivative along a direction, by central differences extrapolated twice."""
    rough = [
        (f(x + h * direction) - f(x - h * direction)) / (2 * h) for h in (step, step / 2, step / 4)
    ]
    better = [(4 * b - a) / 3 for a, b in itertools.pairwise(rough)]
    return (16 * better[1] - better[0]) / 15


def check(row):
    """Values as SciPy's; gradients, forward mode and second order as differences; compiled and
    mapped calls as eager ones.
    """
    args = [np.asarray(a) for a in row.args]
    moved = [i for i in range(len(args)) if i not in row.fixed]
    expected = np.asarray(row.theirs(*args))
    found = row.ours(*args)
    assert found.dtype == expected.dtype
    close(found, expected, row.agreement, "value")
    weights = weights_of(expected.shape)

    def total(*given):
        return tf.reduce_sum(tf.math.real(row.ours(*given)) * weights)

    def gradients(*given):
        given = [tf.convert_to_tensor(a) for a in given]
        with tf.GradientTape() as tape:
            tape.watch([given[i] for i in moved])
            loss = total(*given)
        return tape.gradient(loss, [given[i] for i in moved])

    def reference(*given):
        return np.sum(np.real(row.theirs(*given)) * weights)

    directions = [weights_of(args[i].shape) for i in moved]

    def along(function, place, direction):
        def at(x):
            changed = list(args)
            changed[place] = x
            return function(*changed)

        return difference(at, args[place], direction)

    first = gradients(*args)
    for i, direction, g in zip(moved, directions, first, strict=True):
        expected_slope = along(reference, i, direction)
        close(np.sum(g * direction), expected_slope, row.rtol, f"gradient by argument {i}")
        tensors = [tf.convert_to_tensor(a) for a in args]
        with tf.autodiff.ForwardAccumulator(tensors[i], tf.constant(direction)) as accumulator:
            loss = total(*tensors)
        close(accumulator.jvp(loss), expected_slope, row.rtol, f"forward mode by argument {i}")
    compiled = tf.function(gradients)(*args)
    for i, g, again in zip(moved, first, compiled, strict=True):
        close(again, g, 1e-9, f"compiled gradient by argument {i}")
    close(tf.function(row.ours)(*args), found, 1e-9, "compiled")
    if row.second:
        _check_second(gradients, args, moved, directions, along, row.rtol)
    _check_mapped(row, args, moved)


def _check_second(gradients, args, moved, directions, along, rtol):
    def slope(*given):
        return np.sum([np.sum(g * d) for g, d in zip(gradients(*given), directions, strict=True)])

    tensors = [tf.convert_to_tensor(a) for a in args]
    with tf.GradientTape() as tape:
        sources = [tensors[i] for i in moved]
        tape.watch(sources)
        total = tf.add_n(
            [tf.reduce_sum(g * d) for g, d in zip(gradients(*tensors), directions, strict=True)]
        )
    found = tape.gradient(total, sources, unconnected_gradients="zero")
    for i, direction, g in zip(moved, directions, found, strict=True):
        expected = along(slope, i, direction)
        close(np.sum(g * direction), expected, 10 * rtol, f"second order by argument {i}")


def _check_mapped(row, args, moved):
    for i in moved:
        pair = np.stack([args[i], args[i] * 0.9])
        one = lambda x, i=i: row.ours(*[x if j == i else a for j, a in enumerate(args)])
        found = tf.vectorized_map(one, tf.constant(pair))
        close(found, np.stack([one(x) for x in pair]), 1e-9, f"mapped over argument {i}")
