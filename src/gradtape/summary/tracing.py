"""`tf.summary.graph`, and `trace_on` and `trace_export`, which profile what runs between them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import Any

from gradtape.api.tensorflow.profiler import start as start_profile
from gradtape.api.tensorflow.profiler import stop as stop_profile
from gradtape.core.messages import first_times, log_warning
from gradtape.core.tape import GradientTape
from gradtape.core.xla.trace import inside_a_program
from gradtape.functions.concrete_function import ConcreteFunction
from gradtape.functions.drawing import drawn_function
from gradtape.functions.function import Function
from gradtape.inspect.drawing import Drawn, drawn_recording
from gradtape.io.paths import text_of
from gradtape.published import published
from gradtape.summary.recording import should_record_summaries
from gradtape.summary.state import state_here
from gradtape.summary.writers import tensorboards


class _Running:
    """What is being traced: the folder of the profile, if there is one, and whether it is to be
    moved from there.
    """

    now: _Running | None = None

    def __init__(self, folder: str | None, *, moved: bool) -> None:
        self.folder = folder
        self.moved = moved


@published("summary.graph")
def graph(graph_data: Any) -> bool:
    """Writes a graph for TensorBoard's page of graphs: what a tape recorded, the programs of a
    `tf.function` or of a concrete one, or a GraphDef, TensorFlow's or TensorBoard's message. False
    if there is no default writer.

    >>> import gradtape as tf
    >>> x = tf.Variable(2.0, name="x")
    >>> with tf.GradientTape() as tape:
    ...     y = tf.sin(x) * x
    >>> tf.summary.graph(tape)
    False
    """
    if isinstance(graph_data, GradientTape):
        graph_data = _message(drawn_recording(graph_data))
    elif isinstance(graph_data, (Function, ConcreteFunction)):
        graph_data = _message(drawn_function(graph_data))
    if not (hasattr(graph_data, "SerializeToString") and hasattr(graph_data, "node")):
        raise ValueError(
            "graph: graph_data must be a tape, a tf.function, a concrete function or a GraphDef, "
            f"got {type(graph_data).__name__}."
        )
    writer = state_here().writer
    if writer is None or not bool(should_record_summaries()):
        return False
    events = tensorboards("compat.proto.event_pb2")
    return writer.add(events.Event(graph_def=graph_data.SerializeToString()))


def _message(nodes: Sequence[Drawn]) -> Any:
    """A GraphDef of nodes."""
    graph = tensorboards("compat.proto.graph_pb2").GraphDef()
    for drawn in nodes:
        node = graph.node.add(name=drawn.name, op=drawn.op, input=drawn.inputs)
        for dtype, shape in drawn.shapes:
            node.attr["_output_shapes"].list.shape.add(dim=[{"size": size} for size in shape])
            node.attr["dtype"].s = dtype.name.encode()
        if drawn.place:
            node.attr["line"].s = drawn.place.encode()
    graph.versions.producer = 22  # what TensorBoard takes for TensorFlow 2
    return graph


@published("summary.trace_on")
def trace_on(
    graph: bool = True,
    profiler: bool = False,
    profiler_outdir: str | os.PathLike[str] | None = None,
) -> None:
    """Starts what `trace_export` ends: a profile, if `profiler` is true. It collects no graphs:
    `tf.summary.graph` takes a function.

    >>> import gradtape as tf, tempfile
    >>> with tf.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     tf.summary.trace_on(graph=True)
    ...     y = tf.function(lambda x: x + 1)(1)
    ...     tf.summary.trace_export("step", step=0)
    """
    if inside_a_program():
        raise RuntimeError("trace_on cannot be called inside of a function: call it around it.")
    if _Running.now is not None:
        log_warning("trace_on: a trace is running already: trace_export or trace_off ends it.")
        return
    if graph and first_times("summary graph", limit=1) is not None:
        log_warning(
            "trace_on: trace_export writes no graph: give the function to tf.summary.graph."
        )
    if not profiler:
        _Running.now = _Running(None, moved=False)
        return
    folder = (
        tempfile.mkdtemp()
        if profiler_outdir is None
        else text_of(profiler_outdir, "trace_on: profiler_outdir")
    )
    start_profile(folder)
    _Running.now = _Running(folder, moved=profiler_outdir is None)


@published("summary.trace_export")
def trace_export(
    name: str, step: Any = None, profiler_outdir: str | os.PathLike[str] | None = None
) -> None:
    """Ends what `trace_on` has started, and writes the profile into its folder, or into
    `profiler_outdir`.

    >>> import gradtape as tf
    >>> tf.summary.trace_on(graph=False)
    >>> tf.summary.trace_export("step", step=0)
    """
    running = _Running.now
    if running is None:
        raise ValueError("trace_export: nothing is traced: call trace_on first.")
    if running.folder is None:
        _Running.now = None
        return
    if running.moved and profiler_outdir is None:
        raise ValueError("trace_export: give profiler_outdir, the folder for the profile.")
    _Running.now = None
    stop_profile()
    if running.moved and profiler_outdir is not None:
        target = text_of(profiler_outdir, "trace_export: profiler_outdir")
        shutil.copytree(running.folder, target, dirs_exist_ok=True)
        shutil.rmtree(running.folder)


@published("summary.trace_off")
def trace_off() -> None:
    """Ends what `trace_on` has started, and writes nothing.

    >>> import gradtape as tf
    >>> tf.summary.trace_on(graph=False)
    >>> tf.summary.trace_off()
    """
    running, _Running.now = _Running.now, None
    if running is not None and running.folder is not None:
        stop_profile(save=False)
        if running.moved:
            shutil.rmtree(running.folder)
