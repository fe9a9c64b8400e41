"""Several processes that compute together, through `jax.distributed`: how they join, what they tell
each other, and arrays whose parts are in all of them.

They must make the same calls in the same order. Where one of them waits for others that do not
come, an error says so after `GRADTAPE_WAIT_SECONDS`, which are 300 if the environment does not say.
"""

from __future__ import annotations

import os
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from gradtape.engines.xla.loading import load
from gradtape.engines.xla.settings import wide

_meetings = count()


def wait_seconds() -> int:
    """How long a process waits for others."""
    text = os.environ.get("GRADTAPE_WAIT_SECONDS", "300")
    if not text.isdigit() or int(text) == 0:
        raise ValueError(f"GRADTAPE_WAIT_SECONDS must be a whole number of seconds, got {text!r}.")
    return int(text)


def join(coordinator: str | None, processes: int | None, number: int | None) -> None:
    """Joins the processes of a job; without arguments, as the environment says: JAX knows Slurm,
    MPI, Kubernetes and TPU pods.
    """
    seconds = wait_seconds()
    jax = load()
    import_module("jax.distributed").initialize(
        coordinator_address=coordinator,
        num_processes=processes,
        process_id=number,
        initialization_timeout=seconds,
        heartbeat_timeout_seconds=min(seconds, 100),
        shutdown_timeout_seconds=seconds,
    )
    jax.devices()  # they tell each other of their devices


def is_joined() -> bool:
    """Whether this process has joined others."""
    return bool(import_module("jax.distributed").is_initialized())


def how_many() -> int:
    """How many processes work together."""
    return int(load().process_count())


def number_of_this() -> int:
    """The number of this process."""
    return int(load().process_index())


def meet(what: str) -> None:
    """Waits until all processes have come here, to do the same."""
    client = import_module("jax._src.distributed").global_state.client
    if client is None or how_many() == 1:
        return
    seconds = wait_seconds()
    try:
        client.wait_at_barrier(f"gradtape {next(_meetings)}: {what}", seconds * 1000)
    except Exception as error:
        raise RuntimeError(
            f"{what} is done by all {how_many()} processes together, and process "
            f"{number_of_this()} has waited {seconds} seconds for the others: the same lines must "
            "run in every process, and not only in the first one. JAX says: "
            f"{str(error).splitlines()[0]}"
        ) from error


def whole(array: Any) -> np.ndarray[Any, Any]:
    """The values of an array whose parts are in several processes, all of which must call this."""
    meet(f"Reading an array of shape {tuple(array.shape)} whose parts are in several processes")
    with wide():
        found = import_module("jax.experimental.multihost_utils").process_allgather(
            array, tiled=True
        )
    return np.asarray(found)


def of_the_first(value: Any) -> np.ndarray[Any, Any]:
    """The value that the first process has, for all: an array of the same shape and dtype."""
    array = np.asarray(value)
    if how_many() == 1:
        return array
    meet(f"Agreeing on a value of shape {array.shape}")
    with wide():
        found = import_module("jax.experimental.multihost_utils").broadcast_one_to_all(array)
    return np.asarray(found).astype(array.dtype, copy=False)
