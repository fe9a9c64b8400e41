"""`tf.autodiff`: reverse and forward mode."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.core.forward import ForwardAccumulator
from gradtape.core.tape import GradientTape

__all__ = ["ForwardAccumulator", "GradientTape"]
