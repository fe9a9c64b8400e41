"""`tf.autodiff`: reverse and forward mode."""

from gradtape.core.forward import ForwardAccumulator
from gradtape.core.tape import GradientTape

__all__ = ["ForwardAccumulator", "GradientTape"]
