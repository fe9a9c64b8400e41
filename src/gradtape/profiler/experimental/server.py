"""`tf.profiler.experimental.server`: lets TensorBoard fetch profiles from a running program."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.profiler import start_server as start

__all__ = ["start"]
