"""`tf.config.threading`: the number of threads."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.config import (
    get_inter_op_parallelism_threads,
    get_intra_op_parallelism_threads,
    set_inter_op_parallelism_threads,
    set_intra_op_parallelism_threads,
)

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "get_inter_op_parallelism_threads", "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads", "set_intra_op_parallelism_threads",
]  # fmt: skip
