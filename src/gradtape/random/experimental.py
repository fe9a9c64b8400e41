"""`tf.random.experimental`: older names for parts of `tf.random`, and `stateless_shuffle`."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.random.generator import (
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)
from gradtape.api.tensorflow.random.stateless import Algorithm, stateless_shuffle
from gradtape.api.tensorflow.random.stateless import fold_in as stateless_fold_in
from gradtape.api.tensorflow.random.stateless import split as stateless_split

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "Algorithm", "Generator", "create_rng_state", "get_global_generator", "set_global_generator",
    "stateless_fold_in", "stateless_shuffle", "stateless_split",
]  # fmt: skip
