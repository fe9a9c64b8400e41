"""Importing this module lets `einops.rearrange`, `reduce`, `repeat`, `einsum`, `pack` and `unpack`
take Tensors and Variables.

`einops.array_api` takes them without it.

>>> import einops
>>> import gradtape as tf
>>> import gradtape.experimental.einops
>>> einops.rearrange(tf.constant([[1, 2], [3, 4]]), "rows columns -> (columns rows)").numpy()
array([1, 3, 2, 4], dtype=int32)
"""

# Importing it is what this module is for.
import gradtape.api.tensorflow.einops_backend  # noqa: F401

__all__: list[str] = []
