"""`gradtape.testing`: for tests of users' own functions."""

from gradtape.api.tensorflow.debugging.gradients import batching_fallbacks, check_gradients

__all__ = ["batching_fallbacks", "check_gradients"]
