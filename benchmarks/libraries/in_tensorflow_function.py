"""The workloads in TensorFlow, each step in a tf.function."""

from collections.abc import Callable
from functools import partial

import tensorflow as tf

from benchmarks.libraries import Step, in_tensorflow, networks_with_a_tape
from benchmarks.workloads import Inputs


def _compiled(make: Callable[[Inputs], Step]) -> Callable[[Inputs], Step]:
    return lambda inputs: tf.function(make(inputs), autograph=False)


small_mlp = _compiled(in_tensorflow.small_mlp)
chain = _compiled(in_tensorflow.chain)
large_mlp = _compiled(in_tensorflow.large_mlp)
jacobian = _compiled(in_tensorflow.jacobian)
batch_jacobian = _compiled(in_tensorflow.batch_jacobian)
hessian = _compiled(in_tensorflow.hessian)
curves = _compiled(in_tensorflow.curves)
tall_jacobian = _compiled(in_tensorflow.tall_jacobian)
burgers = burgers_nested = _compiled(in_tensorflow.burgers)
calls = partial(networks_with_a_tape.calls, tf)
elementwise = partial(networks_with_a_tape.elementwise, tf)
lstm = partial(networks_with_a_tape.lstm, tf)
transformer = partial(networks_with_a_tape.transformer, tf)
cnn = partial(networks_with_a_tape.cnn, tf)
update = partial(networks_with_a_tape.update, tf)
