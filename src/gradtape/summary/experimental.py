"""`tf.summary.experimental`: the default step, tags, and whole messages."""

# Written by `make names`: the decorators at the definitions say what is public.

from gradtape.summary.recording import get_step, set_step, summary_scope, write_raw_pb

__all__ = ["get_step", "set_step", "summary_scope", "write_raw_pb"]
