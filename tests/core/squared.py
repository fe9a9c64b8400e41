"""A small recording for tests of the tape, and how its gradients are compared."""

from collections import namedtuple

import numpy as np

import gradtape as tf

Pair = namedtuple("Pair", ["first", "second"])


def squared(value=3.0, **options):
    """A tape that has recorded y = x * x, with x and y."""
    x = tf.constant(value)
    with tf.GradientTape(**options) as tape:
        tape.watch(x)
        y = x * x
    return tape, x, y


def is_equal(tensor, expected):
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(expected, tensor.numpy().dtype))
    return True
