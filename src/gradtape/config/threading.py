"""`tf.config.threading`: the number of threads."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.config import (
    get_inter_op_parallelism_threads,
    get_intra_op_parallelism_threads,
    set_inter_op_parallelism_threads,
    set_intra_op_parallelism_threads,
)

__all__ = [
    "get_inter_op_parallelism_threads", "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads", "set_intra_op_parallelism_threads",
]  # fmt: skip
