"""`tf.autograph`: how Python's control flow is converted in a function."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.autograph import experimental
from gradtape.functions.autograph.requests import set_verbosity, to_code, to_graph, trace

__all__ = ["experimental", "set_verbosity", "to_code", "to_graph", "trace"]
