"""`tf.compat.v2` is `gradtape` itself."""

import sys

import gradtape
from gradtape.compat.aliases import AliasFinder

sys.meta_path.insert(0, AliasFinder(__name__, "gradtape"))  # for what is below it
sys.modules[__name__] = gradtape  # so that `import gradtape.compat.v2 as tf` finds it
