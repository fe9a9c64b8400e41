"""`tf.data.experimental`: older and rarer spellings of what `tf.data` has."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from gradtape.data.optional import Optional
from gradtape.data.options import (
    AutoShardPolicy,
    AutotuneOptions,
    DistributeOptions,
    OptimizationOptions,
    ThreadingOptions,
)

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "AutoShardPolicy", "AutotuneOptions",
    "DistributeOptions", "OptimizationOptions", "Optional", "ThreadingOptions",
]  # fmt: skip
