"""Gradients and Jacobians of a tape, and the Variables that it watches."""

from typing import reveal_type

import gradtape as tf

x = tf.constant([1.0, 2.0])
v = tf.Variable([1.0, 2.0])
table = tf.Variable([[1.0], [2.0]])

with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    y = x * v
    rows = tf.reduce_sum(tf.gather(table, [0]))

reveal_type(tape)  # GradientTape
reveal_type(tape.watched_variables())  # tuple[Variable, ...]
reveal_type(tape.gradient(y, v))  # Tensor | Any
reveal_type(tape.gradient(y, [v, x]))  # list[Tensor | Any]
reveal_type(tape.gradient(y, (v, v)))  # tuple[Tensor | Any, ...]
reveal_type(tape.gradient(y, {"v": v, "x": x}))  # dict[str, Tensor | Any]
reveal_type(tape.gradient(y, {"v": [v], "x": (x,)}))  # Any
reveal_type(tape.gradient(y, tape.watched_variables()))  # tuple[Tensor | Any, ...]
reveal_type(tape.jacobian(y, v))  # Tensor | Any
reveal_type(tape.jacobian(y, [v, v], mode="forward"))  # list[Tensor | Any]
reveal_type(tape.jacobian(y, (v, v)))  # tuple[Tensor | Any, ...]
reveal_type(tape.jacobian(y, {"v": v}))  # dict[str, Tensor | Any]
reveal_type(tape.jacobian(y, v, sparse=True))  # Any
reveal_type(tape.jacobian([y, y], v))  # Any
reveal_type(tape.batch_jacobian(y[:, None], x[:, None]))  # Tensor | Any
reveal_type(tape.gradient_per_example(y, [v]))  # list[Tensor | Any]
reveal_type(tape.derivatives(y, {"x": x}, ["x", "xx"]))  # dict[Any, Tensor | Any]

# A training step needs no assertions.
for variable, gradient in zip([v, table], tape.gradient(y, [v, table]), strict=True):
    if gradient is not None:
        reveal_type(variable.assign_sub(0.1 * gradient))  # Variable
reveal_type(v.assign_sub(0.1 * tape.gradient(y, v)))  # Variable
clipped, norm = tf.clip_by_global_norm(tape.gradient(y, [v, x]), 1.0)
reveal_type(clipped)  # list[Tensor | Any]
reveal_type(norm)  # Tensor

# What may be sparse is asked for.
sparse = tape.gradient(rows, table)
if isinstance(sparse, tf.IndexedSlices):
    reveal_type(sparse.indices)  # Tensor
    reveal_type(table.scatter_sub(sparse))  # Variable

accumulator = tf.autodiff.ForwardAccumulator(x, x)
reveal_type(accumulator)  # ForwardAccumulator
