"""`tf.summary`: what TensorBoard shows."""

# Written by `make names`: the decorators at the definitions say what is public.

import typing as _typing

from gradtape.summary import experimental
from gradtape.summary.kinds import audio, histogram, image, scalar, text
from gradtape.summary.recording import record_if, should_record_summaries, write
from gradtape.summary.tracing import graph, trace_export, trace_off, trace_on
from gradtape.summary.writers import SummaryWriter, create_file_writer, create_noop_writer, flush

if not _typing.TYPE_CHECKING:  # a type checker would take any name to be there
    from gradtape.absent import absent_from as _absent_from

    __getattr__ = _absent_from(__name__)

__all__ = [
    "SummaryWriter", "audio", "create_file_writer", "create_noop_writer", "experimental", "flush",
    "graph", "histogram", "image", "record_if", "scalar", "should_record_summaries", "text",
    "trace_export", "trace_off", "trace_on", "write",
]  # fmt: skip
