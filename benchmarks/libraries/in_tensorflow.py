"""The workloads in TensorFlow, eager."""

from functools import partial

import tensorflow as tf

from benchmarks.libraries import Step, with_a_tape
from benchmarks.workloads import Inputs

small_mlp = partial(with_a_tape.small_mlp, tf)
chain = partial(with_a_tape.chain, tf)
large_mlp = partial(with_a_tape.large_mlp, tf)
adds = partial(with_a_tape.adds, tf)
jacobian = partial(with_a_tape.jacobian, tf)
batch_jacobian = partial(with_a_tape.batch_jacobian, tf)
hessian = partial(with_a_tape.hessian, tf)
curves = partial(with_a_tape.curves, tf)
burgers = burgers_nested = partial(with_a_tape.burgers_nested, tf)


def tall_jacobian(inputs: Inputs) -> Step:
    """A column for each parameter in forward mode: the tape's own method would go back from each of 10,000 values."""
    rates, times = tf.constant(inputs.x), tf.constant(inputs.y)
    directions = tf.unstack(tf.eye(len(inputs.x)))

    def step():
        columns = []
        for direction in directions:
            with tf.autodiff.ForwardAccumulator(rates, direction) as accumulator:
                y = with_a_tape.curve(tf, rates, times)
            columns.append(accumulator.jvp(y))
        return [tf.stack(columns, axis=1)]

    return step
