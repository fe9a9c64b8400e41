"""`tf.compat.v2` is `gradtape` itself."""

import sys

import gradtape

sys.modules[__name__] = gradtape  # so that `import gradtape.compat.v2 as tf` finds it
