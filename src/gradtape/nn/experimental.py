"""`tf.nn.experimental`: dropout that is a pure function of a seed."""

from gradtape.api.nn import stateless_dropout

__all__ = ["stateless_dropout"]
