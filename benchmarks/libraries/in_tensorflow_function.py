"""The workloads in TensorFlow, each step in a tf.function."""

from functools import partial

import tensorflow as tf

from benchmarks.libraries import compiled, in_tensorflow, networks_with_a_tape, with_a_tape

COMPILABLE = in_tensorflow.COMPILABLE | with_a_tape.steps(tf, networks_with_a_tape.COMPILED)
del COMPILABLE["adds"], COMPILABLE["burgers_nested"]
STEPS = compiled(COMPILABLE, partial(tf.function, autograph=False))
