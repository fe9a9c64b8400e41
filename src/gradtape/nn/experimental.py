"""`tf.nn.experimental`: dropout as a pure function of a seed, or of given random numbers."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.nn.dropout import general_dropout, stateless_dropout

__all__ = ["general_dropout", "stateless_dropout"]
