"""Profiles for Keras's TensorBoard callback, which requests them only for backends that it
knows.
"""

from __future__ import annotations

from typing import Any


def start_trace(logdir: Any) -> None:
    """Refuses: a profile of compiled programs is JAX's business."""
    raise NotImplementedError(_HOW)


def stop_trace(save: Any) -> None:
    """Refuses, as there is no profile."""
    raise NotImplementedError(_HOW)


def start_batch_trace(batch: Any) -> None:
    """Refuses: a profile of compiled programs is JAX's business."""
    raise NotImplementedError(_HOW)


def stop_batch_trace(batch_trace_context: Any) -> None:
    """Refuses, as there is no profile."""
    raise NotImplementedError(_HOW)


_HOW = (
    "TensorBoard(profile_batch=...) is not supported by the backend 'gradtape': use "
    "jax.profiler.trace(logdir) around fit()."
)
