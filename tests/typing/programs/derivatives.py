"""Derivatives as functions of functions: arguments are checked, results are Tensors."""

from collections.abc import Callable
from typing import reveal_type

import gradtape as tf


def loss(x: tf.Tensor, factor: float = 2.0) -> tf.Tensor:
    return tf.reduce_sum(x**3) * factor


def of_parameters(parameters: dict[str, tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(parameters["w"] * x)


@tf.custom_gradient
def clipped(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    return x, lambda upstream: tf.clip_by_value(upstream, -1.0, 1.0)


@tf.recompute_grad
def block(x: tf.Tensor, power: int = 2) -> tf.Tensor:
    return x**power


class Layer:
    @tf.custom_gradient
    def call(self, x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        return x, lambda upstream: upstream


x = tf.constant([1.0, 2.0])

reveal_type(tf.grad(loss)(x, factor=3.0))  # Tensor | Any
reveal_type(tf.grad(loss, argnums=1)(x, 3.0))  # Any
reveal_type(tf.grad(loss, argnums=(0, 1))(x, 3.0))  # tuple[Any, ...]
reveal_type(tf.grad(of_parameters)({"w": x}, x))  # Any
reveal_type(tf.grad(lambda x: x**3)(2.0))  # Tensor | Any (mypy: Any)
reveal_type(tf.value_and_grad(loss)(x))  # tuple[Tensor, Tensor | Any]
reveal_type(tf.value_and_grad(of_parameters)({"w": x}, x))  # tuple[Tensor, Any]
reveal_type(tf.hessian(loss)(x))  # Tensor
reveal_type(tf.diag_hessian(loss)(x))  # Tensor
reveal_type(tf.laplacian(loss)(x, factor=3.0))  # Tensor
reveal_type(tf.hvp(loss, x, x))  # Tensor
reveal_type(tf.hessians(loss, [x]))  # list[Tensor]
reveal_type(tf.jvp(loss, [x], [x]))  # tuple[Tensor, Tensor]
value, pull = tf.vjp(loss, x)
reveal_type(value)  # Tensor
reveal_type(pull(value))  # tuple[Tensor | Any, ...]
reveal_type(tf.vmap(loss, in_axes=(0, None))(x, 3.0))  # Tensor
reveal_type(tf.vectorized_map(loss, x))  # Tensor
reveal_type(clipped(x))  # Tensor
reveal_type(block(x, power=3))  # Tensor
reveal_type(Layer().call(x))  # Tensor
reveal_type(tf.grad_pass_through(tf.round)(x))  # Tensor
reveal_type(tf.map_fn(loss, x))  # Tensor
reveal_type(tf.cond(x[0] > 0, lambda: x, lambda: 2.0))  # Tensor | float
