"""`tf.function` keeps the signature of what it compiles."""

from typing import reveal_type

import gradtape as tf


@tf.function
def scaled(x: tf.Tensor, factor: float = 2.0) -> tf.Tensor:
    return x * factor


@tf.function(reduce_retracing=True)
def pair(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return x, x


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def with_signature(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"x": x}


class Model(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 2.0])

    @tf.function
    def call(self, x: tf.Tensor, factor: float = 1.0) -> tf.Tensor:
        return x * self.w * factor

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def step(self, x: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(self.call(x))
        self.w.assign_sub(0.1 * tape.gradient(y, self.w))


x = tf.constant([1.0, 2.0])
model = Model()

reveal_type(scaled(x))  # Tensor
reveal_type(scaled(x, factor=3.0))  # Tensor
reveal_type(pair(x))  # tuple[Tensor, Tensor]
reveal_type(with_signature(x))  # dict[str, Tensor]
reveal_type(model.call(x))  # Tensor
reveal_type(model.call(x, factor=3.0))  # Tensor
reveal_type(model.step(x))  # None
reveal_type(model.trainable_variables)  # tuple[Variable, ...]
reveal_type(tf.function(scaled.python_function)(x))  # Tensor
reveal_type(scaled.experimental_get_tracing_count())  # int
reveal_type(scaled.get_concrete_function(x))  # ConcreteFunction
