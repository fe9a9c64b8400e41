"""`tf.dtypes.experimental`: 8-bit floating-point dtypes.

Tensors hold, cast, store and compare them; they are too coarse to be differentiated, so no tape
follows them.

>>> import gradtape as tf
>>> print(tf.cast([0.3, 1.0], tf.dtypes.experimental.float8_e5m2))
tf.Tensor([0.3125 1], shape=(2,), dtype=float8_e5m2)
"""

from gradtape.dtypes import (
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
)

__all__ = [
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
]

PUBLISHED = {
    "experimental.float8_e4m3b11fnuz": float8_e4m3b11fnuz,
    "experimental.float8_e4m3fn": float8_e4m3fn,
    "experimental.float8_e4m3fnuz": float8_e4m3fnuz,
    "experimental.float8_e5m2": float8_e5m2,
    "experimental.float8_e5m2fnuz": float8_e5m2fnuz,
}
