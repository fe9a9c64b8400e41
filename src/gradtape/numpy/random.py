"""`gradtape.numpy.random`: NumPy's random numbers, as far as `tf.experimental.numpy` has them.

They follow `tf.random.set_seed`.
"""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.numpy.random import (
    poisson,
    rand,
    randint,
    randn,
    random,
    seed,
    standard_normal,
    uniform,
)

__all__ = ["poisson", "rand", "randint", "randn", "random", "seed", "standard_normal", "uniform"]
