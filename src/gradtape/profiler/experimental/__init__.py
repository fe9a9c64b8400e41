"""`tf.profiler.experimental`: starts and stops profiles, and names parts of a program in them."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.api.tensorflow.profiler import Profile, ProfilerOptions, Trace, start, stop
from gradtape.profiler.experimental import server

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["Profile", "ProfilerOptions", "Trace", "server", "start", "stop"]
