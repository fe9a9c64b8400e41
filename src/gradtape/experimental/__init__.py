"""`tf.experimental`: `numpy`, which is `gradtape.numpy` itself, and support for `dlpack`, `einops`
and `scipy`.
"""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.data.optional import Optional
from gradtape.experimental import dlpack, numpy

__all__ = ["Optional", "dlpack", "numpy"]
