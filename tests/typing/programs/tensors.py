"""Tensors, Variables, operators, indexing, and TensorFlow's functions."""

from typing import reveal_type

import numpy as np

import gradtape as tf

x = tf.constant([1.0, 2.0])
v = tf.Variable([1.0, 2.0])
matrix = tf.eye(2)
slices = tf.IndexedSlices(x[:, None], [0, 1], [2, 1])

reveal_type(x)  # Tensor
reveal_type(v)  # Variable
reveal_type(x.numpy())  # ndarray[Any, Any]
reveal_type(v.numpy())  # ndarray[Any, Any]
reveal_type(x.shape)  # TensorShape
reveal_type(x.dtype)  # DType
reveal_type(float(x[0]))  # float
reveal_type(bool(x[0] > 0))  # bool
reveal_type(len(x))  # int
reveal_type(list(matrix))  # list[Tensor]

reveal_type(x + v)  # Tensor
reveal_type(2.0 * v)  # Tensor
reveal_type(1 - x)  # Tensor
reveal_type(x / 2)  # Tensor
reveal_type(x**2)  # Tensor
reveal_type(-v)  # Tensor
reveal_type(abs(x))  # Tensor
reveal_type(matrix @ matrix)  # Tensor
reveal_type(x == v)  # Tensor
reveal_type(x != v)  # Tensor
reveal_type(x < 1)  # Tensor
reveal_type(~(x < 1))  # Tensor
reveal_type((x < 1) & (x > 0))  # Tensor
reveal_type(x[0])  # Tensor
reveal_type(x[..., tf.newaxis])  # Tensor
reveal_type(matrix[:, 1:])  # Tensor
reveal_type(matrix[matrix > 0])  # Tensor
reveal_type(v[0])  # Tensor

reveal_type(v.assign(x))  # Variable
reveal_type(v.assign(x, read_value=False))  # Variable | None
reveal_type(v.assign_add(x))  # Variable
reveal_type(v.assign_sub(x))  # Variable
reveal_type(v.scatter_nd_update([[0]], [1.0]))  # Variable
reveal_type(v.read_value())  # Tensor
reveal_type(v.value())  # Tensor
reveal_type(v.trainable)  # bool
reveal_type(v.name)  # str

reveal_type(tf.convert_to_tensor(np.ones(2)))  # Tensor
reveal_type(tf.cast(x, tf.int32))  # Tensor
reveal_type(tf.cast(slices, tf.float64))  # IndexedSlices
reveal_type(tf.identity(x))  # Tensor
reveal_type(tf.stop_gradient(v))  # Tensor
reveal_type(tf.stop_gradient(slices))  # IndexedSlices
reveal_type(tf.reduce_sum(x))  # Tensor
reveal_type(tf.reduce_mean(matrix, axis=0, keepdims=True))  # Tensor
reveal_type(tf.reduce_max(x))  # Tensor
reveal_type(tf.argmax(x))  # Tensor
reveal_type(tf.matmul(matrix, matrix))  # Tensor
reveal_type(tf.concat([x, x], axis=0))  # Tensor
reveal_type(tf.stack([x, x]))  # Tensor
reveal_type(tf.unstack(x))  # list[Tensor]
reveal_type(tf.split(x, 2))  # list[Tensor]
reveal_type(tf.where(x > 1, x, 0.0))  # Tensor
reveal_type(tf.gather(x, [0]))  # Tensor
reveal_type(tf.math.log(x))  # Tensor
reveal_type(tf.math.mod(x, v))  # Tensor
reveal_type(tf.nn.relu(x))  # Tensor
reveal_type(tf.nn.softmax(x))  # Tensor
reveal_type(tf.linalg.svd(matrix))  # tuple[Tensor, Tensor, Tensor]
reveal_type(tf.linalg.svd(matrix, compute_uv=False))  # Tensor
reveal_type(tf.linalg.inv(matrix))  # Tensor
reveal_type(tf.random.normal([2]))  # Tensor
reveal_type(tf.clip_by_value(x, 0.0, 1.0))  # Tensor
reveal_type(tf.clip_by_norm(slices, 1.0))  # IndexedSlices
reveal_type(tf.__version__)  # str
