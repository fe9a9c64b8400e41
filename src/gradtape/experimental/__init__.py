"""`tf.experimental`: `numpy`, which is `gradtape.numpy` itself, and support for `dlpack`, `einops`
and `scipy`.
"""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.experimental_dtypes import (
    float8_e4m3b11fnuz,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
)
from gradtape.experimental import dlpack, numpy

__all__ = [
    "dlpack", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "numpy",
]  # fmt: skip
