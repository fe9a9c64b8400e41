"""NumPy's functions and methods."""

from typing import reveal_type

import gradtape as tf
import gradtape.numpy as np

x = np.asarray([[1.0, 2.0], [3.0, 4.0]])
v = tf.Variable([1.0, 2.0])

reveal_type(x)  # Tensor
reveal_type(np.sum(x))  # Tensor
reveal_type(np.mean(x, axis=0))  # Tensor
reveal_type(np.concatenate([x, x], axis=1))  # Tensor
reveal_type(np.stack([x, x]))  # Tensor
reveal_type(np.exp(x))  # Tensor
reveal_type(np.add(x, 1.0))  # Tensor
reveal_type(np.maximum(x, 0, dtype="float64"))  # Tensor
reveal_type(np.divmod(x, 2.0))  # tuple[Tensor, Tensor]
reveal_type(np.where(x > 1))  # tuple[Tensor, ...]
reveal_type(np.where(x > 1, x, 0.0))  # Tensor
reveal_type(np.linspace(0.0, 1.0, 5))  # Tensor
reveal_type(np.linspace(0.0, 1.0, 5, retstep=True))  # tuple[Tensor, Tensor]
reveal_type(np.unique(x))  # Tensor
reveal_type(np.unique(x, return_counts=True))  # tuple[Tensor, ...]
reveal_type(np.average(x, returned=True))  # tuple[Tensor, Tensor]
reveal_type(np.atleast_2d(v))  # Tensor
reveal_type(np.atleast_2d(v, v))  # tuple[Tensor, ...]
reveal_type(np.take(x, [0], axis=0))  # Tensor
reveal_type(np.linalg.norm(x))  # Tensor
reveal_type(np.linalg.svd(x))  # SVDResult
reveal_type(np.linalg.svd(x, compute_uv=False))  # Tensor
reveal_type(np.fft.fft(x))  # Tensor
reveal_type(np.pi)  # float
reveal_type(tf.numpy.tanh(v))  # Tensor
reveal_type(tf.experimental.numpy.amax(x))  # Tensor

reveal_type(x.sum(axis=0))  # Tensor
reveal_type(x.sum(1, "float64", keepdims=True))  # Tensor
reveal_type(v.mean())  # Tensor
reveal_type(v.mean(axis=(0,)))  # Tensor
reveal_type(x.std(axis=0, ddof=1))  # Tensor
reveal_type(x.max(0, initial=0.0))  # Tensor
reveal_type(x.argsort(descending=True))  # Tensor
reveal_type(x.clip(0.0, 1.0))  # Tensor
reveal_type(x.clip(min=0.0))  # Tensor
reveal_type(x.dot(v))  # Tensor
reveal_type(x.take([0], axis=1))  # Tensor
reveal_type(v.round(2).conj().copy().squeeze())  # Tensor
reveal_type((x > 1).all(axis=0).any())  # Tensor
reveal_type(x.T)  # Tensor
reveal_type(x.mT)  # Tensor
reveal_type(x.reshape(4))  # Tensor
reveal_type(x.reshape(2, -1, order="F"))  # Tensor
reveal_type(x.transpose(1, 0))  # Tensor
reveal_type(x.astype("float64"))  # Tensor
reveal_type(x.flatten())  # Tensor
reveal_type(x.nonzero())  # tuple[Tensor, ...]
reveal_type(x.ndim)  # int
reveal_type(x.size)  # int
