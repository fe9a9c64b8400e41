"""`gradtape.testing`: for tests of users' own functions."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.debugging.gradients import batching_fallbacks, check_gradients

__all__ = ["batching_fallbacks", "check_gradients"]
