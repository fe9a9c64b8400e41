"""`tf.experimental`: `numpy`, which is `gradtape.numpy` itself, `dlpack`, `einops` and `scipy`,
which lend a hand to these libraries.
"""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.experimental import dlpack, numpy

__all__ = ["dlpack", "numpy"]
