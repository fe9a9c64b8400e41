"""The workloads in TensorFlow, eager."""

import tensorflow as tf

from benchmarks.libraries import Step, derivatives_with_a_tape, networks_with_a_tape, with_a_tape
from benchmarks.workloads import Inputs


def tall_jacobian(inputs: Inputs) -> Step:
    """A column for each parameter in forward mode:
    the tape's own method would go back from each of 10,000 values.
    """

    def step(rates, times):
        columns = []
        for direction in tf.unstack(tf.eye(rates.shape[0])):
            with tf.autodiff.ForwardAccumulator(rates, direction) as accumulator:
                y = derivatives_with_a_tape.curve(tf, rates, times)
            columns.append(accumulator.jvp(y))
        return [tf.stack(columns, axis=1)]

    return Step(step, (tf.constant(inputs.x), tf.constant(inputs.y)))


COMPILABLE = with_a_tape.steps(tf, with_a_tape.TRAINING | derivatives_with_a_tape.DERIVATIVES)
COMPILABLE |= {"tall_jacobian": tall_jacobian, "burgers": COMPILABLE["burgers_nested"]}
STEPS = COMPILABLE | with_a_tape.steps(tf, networks_with_a_tape.EAGER)
del STEPS["calls"], STEPS["update"]
