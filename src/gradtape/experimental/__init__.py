"""`tf.experimental`: `numpy`, which is `gradtape.numpy` itself, and `dlpack`."""

from gradtape import numpy
from gradtape.experimental import dlpack

__all__ = ["dlpack", "numpy"]
