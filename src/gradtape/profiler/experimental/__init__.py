"""`tf.profiler.experimental`: starts and stops profiles, and names parts of a program in them."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.api.tensorflow.profiler import Profile, ProfilerOptions, Trace, start, stop
from gradtape.profiler.experimental import server

__all__ = ["Profile", "ProfilerOptions", "Trace", "server", "start", "stop"]
