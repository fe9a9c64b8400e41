"""`tf.experimental.numpy` is `gradtape.numpy` itself."""

import sys

from gradtape import numpy
from gradtape.numpy import *  # noqa: F403 - for type checkers, which do not see the next line

sys.modules[__name__] = numpy  # so that `import gradtape.experimental.numpy as tnp` finds it
