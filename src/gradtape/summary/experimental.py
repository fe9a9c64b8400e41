"""`tf.summary.experimental`: the default step, tags, and whole messages."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.summary.recording import get_step, set_step, summary_scope, write_raw_pb

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = ["get_step", "set_step", "summary_scope", "write_raw_pb"]
