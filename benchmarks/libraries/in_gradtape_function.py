"""The workloads in gradtape, each step in a gradtape.function."""

from collections.abc import Callable
from functools import partial

import jax

import gradtape as tf
from benchmarks.libraries import Step, in_gradtape, networks_with_a_tape
from benchmarks.workloads import Inputs


def _ready(step: Step) -> Step:
    """A step that ends when its results are there: programs run beside Python."""

    def run():
        found = step()
        jax.block_until_ready([tensor.held for tensor in found])
        return found

    return run


def _compiled(make: Callable[[Inputs], Step]) -> Callable[[Inputs], Step]:
    return lambda inputs: _ready(tf.function(make(inputs), autograph=False))


def _network(make: Callable[..., Step]) -> Callable[[Inputs], Step]:
    return lambda inputs: _ready(make(tf, inputs))


calls = partial(networks_with_a_tape.calls, tf)
small_mlp = _compiled(in_gradtape.small_mlp)
large_mlp = _compiled(in_gradtape.large_mlp)
elementwise = _network(networks_with_a_tape.elementwise)
lstm = _network(networks_with_a_tape.lstm)
transformer = _network(networks_with_a_tape.transformer)
cnn = _network(networks_with_a_tape.cnn)
update = _network(networks_with_a_tape.update)
