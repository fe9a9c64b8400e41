"""`tf.experimental`: `numpy`, which is `gradtape.numpy` itself, `dlpack`, `einops` and `scipy`, which lend a hand to these libraries."""

import sys

from gradtape import numpy
from gradtape.experimental import dlpack

sys.modules[f"{__name__}.numpy"] = numpy  # so that `import gradtape.experimental.numpy as tnp` finds it

__all__ = ["dlpack", "numpy"]
