"""What a body does with the value that it gets: a plain op,
and everything that brings Python of its own.

Each entry makes an op of `Material`: a smooth function, and the number that the rules written here
multiply with. Where that number is a Variable, nothing but a rule reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import gradtape as tf


class Material(NamedTuple):
    smooth: Callable[[Any], Any]
    scale: Any  # 1.5, or a Variable
    count: Callable[[str], None]


class BodyOp(NamedTuple):
    # The op, and Variables of its own.
    make: Callable[[Material], tuple[Callable[[Any], Any], list[Any]]]
    # How often Python of the smooth function may run while it is traced: at least, at most.
    runs: tuple[int, int]
    dtype: tf.DType = tf.float64


def material(
    dtype: tf.DType, *, variable_in_rule: bool, count: Callable[[str], None]
) -> tuple[Material, list[Any]]:
    """What ops are made of, and the Variables that it has."""
    if not variable_in_rule:

        def smooth(q):
            count("op")
            return q * tf.sin(q)

        return Material(smooth, 1.5, count), []

    scale = tf.Variable(2.0, dtype=dtype)

    @tf.custom_gradient
    def scaled(q):
        def rule(g):
            count("rule")
            return g * scale * tf.cos(q)

        return q * 1.0, rule

    def smooth_with_rule(q):
        count("op")
        return scaled(q) * tf.sin(q)

    return Material(smooth_with_rule, scale, count), [scale]


def plain(m: Material):
    return m.smooth, []


def nested_function(m: Material):
    return tf.function(m.smooth), []


def custom_gradient(m: Material):
    @tf.custom_gradient
    def op(q):
        def rule(g):
            m.count("rule")
            return g * m.scale * tf.cos(q)

        return m.smooth(q), rule

    return op, []


def recompute_grad(m: Material):
    return tf.recompute_grad(m.smooth), []


def grad_pass_through(m: Material):
    return tf.grad_pass_through(m.smooth), []


def py_function(m: Material):
    def op(q):
        return tf.ensure_shape(tf.py_function(m.smooth, [q], q.dtype), q.shape)

    return op, []


def stop_gradient(m: Material):
    def op(q):
        return tf.stop_gradient(m.smooth(q)) * q

    return op, []


def keras_layer(m: Material):
    layer = tf.keras.layers.Dense(3, activation=m.smooth)
    layer.build([1, 3])
    layer.set_weights(
        [
            np.array([[0.3, -0.4, 0.5], [0.2, 0.6, -0.1], [-0.7, 0.1, 0.4]]),
            np.array([0.1, -0.2, 0.3]),
        ]
    )
    return layer, [layer.kernel, layer.bias]


ANY_NUMBER = (0, 10**6)

BODY_OPS = {
    "plain op": BodyOp(plain, (1, 1)),
    "nested function": BodyOp(nested_function, (1, 1)),
    "custom_gradient": BodyOp(custom_gradient, (1, 1)),
    "recompute_grad": BodyOp(recompute_grad, (1, 2)),  # to run again is what it is for
    "grad_pass_through": BodyOp(grad_pass_through, (1, 1)),
    # Its Python is the program's, and runs when that runs.
    "py_function": BodyOp(py_function, ANY_NUMBER),
    "stop_gradient": BodyOp(stop_gradient, (1, 1)),
    "Keras layer": BodyOp(keras_layer, (1, 1), tf.float32),  # what layers compute in
}
