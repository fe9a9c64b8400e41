"""The workloads in TensorFlow, each step in a tf.function that XLA compiles."""

from functools import partial

import tensorflow as tf

from benchmarks.libraries import compiled
from benchmarks.libraries.in_tensorflow_function import COMPILABLE

STEPS = compiled(COMPILABLE, partial(tf.function, autograph=False, jit_compile=True))
