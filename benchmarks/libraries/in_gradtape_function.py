"""The workloads in gradtape, each step in a gradtape.function."""

import jax

import gradtape as tf
from benchmarks.libraries import compiled, in_gradtape, networks_with_a_tape, with_a_tape


def _without_waiting(function):
    return tf.function(function, autograph=False)


def _function(function):
    """A function that returns when its results are there: programs run beside Python; its first
    calls, while XLA compiles, run on NumPy, and have them at once.
    """
    program = _without_waiting(function)

    def run(*arguments):
        found = program(*arguments)
        jax.block_until_ready([getattr(tensor, "held", None) for tensor in found])
        return found

    return run


STEPS = compiled(
    in_gradtape.COMPILABLE | with_a_tape.steps(tf, networks_with_a_tape.COMPILED), _function
)
STEPS |= compiled({"calls": in_gradtape.COMPILABLE["calls"]}, _without_waiting)
del STEPS["adds"]
