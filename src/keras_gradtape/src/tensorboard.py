"""Keras's TensorBoard callback on `gradtape.summary`, and its profiles, which are
`gradtape.profiler.experimental`'s.

`keras_gradtape.hook` puts `with_summaries(TensorBoard)` and `keras_model_summary` into Keras's
module, which would import TensorFlow for them.
"""

from __future__ import annotations

import inspect
import shutil
import tempfile
import warnings
from types import ModuleType
from typing import Any

import gradtape as tf

_WARMING_UP: list[str] = []
"""The folders of profiles that are started only to be quicker the next time."""


def start_trace(logdir: Any) -> None:
    """Starts a profile."""
    folder = str(logdir)
    if not folder:
        folder = tempfile.mkdtemp()
        _WARMING_UP.append(folder)
    tf.profiler.experimental.start(folder)


def stop_trace(save: Any) -> None:
    """Writes the profile, or leaves it."""
    tf.profiler.experimental.stop(save=bool(save))
    while _WARMING_UP:
        shutil.rmtree(_WARMING_UP.pop(), ignore_errors=True)


def start_batch_trace(batch: Any) -> Any:
    """Starts the part of a profile that is a step of training."""
    section = tf.profiler.experimental.Trace("train", step_num=int(batch))
    section.__enter__()
    return section


def stop_batch_trace(batch_trace_context: Any) -> None:
    """Ends such a part."""
    batch_trace_context.__exit__(None, None, None)


def with_summaries(base: Any) -> Any:
    """Keras's callback, which writes with gradtape's summaries."""

    class TensorBoard(base):
        __doc__ = base.__doc__

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            # Keras knows profiles only on other backends, so it is told of none at first.
            given = inspect.signature(base).bind(*args, **kwargs)
            batches = given.arguments.pop("profile_batch", 0)
            super().__init__(**given.arguments)
            self._init_profile_batch(batches)

        @property
        def summary(self) -> ModuleType:
            return tf.summary

    TensorBoard.__module__ = base.__module__
    TensorBoard.__qualname__ = base.__qualname__
    return TensorBoard


def keras_model_summary(name: str, data: Any, step: Any = None) -> Any:
    """Writes a model's layers for TensorBoard's page of graphs; False if there is no default
    writer.
    """
    from tensorboard.compat.proto.summary_pb2 import (  # noqa: PLC0415 - for those who use it
        SummaryMetadata,
    )

    about = SummaryMetadata()
    about.plugin_data.plugin_name = "graph_keras_model"
    about.plugin_data.content = b"1"
    try:
        described = data.to_json()
    except Exception as error:  # noqa: BLE001 - a layer of the user's own may not describe itself
        warnings.warn(f"The model cannot be written as JSON: {error}", stacklevel=2)
        return False
    with tf.summary.experimental.summary_scope(name, "graph_keras_model") as (tag, _):
        return tf.summary.write(tag=tag, tensor=described, step=step, metadata=about)
