"""`tf.nn.experimental`: dropout that is a pure function of a seed,
or of random numbers that are given.
"""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.nn.activations import general_dropout, stateless_dropout

__all__ = ["general_dropout", "stateless_dropout"]
