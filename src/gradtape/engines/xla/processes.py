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

from gradtape.engines.xla.loading import load, loaded
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
    client = _client()
    if client is None or how_many() == 1:
        return
    seconds = wait_seconds()
    try:
        client.wait_at_barrier(f"gradtape {next(_meetings)}: {what}", seconds * 1000)
    except Exception as error:
        raise _alone(what, seconds, error) from error


def _client() -> Any:
    """How this process reaches the one that coordinates; None if it has not joined others."""
    return import_module("jax._src.distributed").global_state.client


def _alone(what: str, seconds: int, error: Exception) -> RuntimeError:
    return RuntimeError(
        f"{what} is done by all {how_many()} processes together, and process {number_of_this()} "
        f"has waited {seconds} seconds for the others: the same lines must run in every process, "
        f"and not only in the first one. JAX says: {str(error).splitlines()[0]}"
    )


def whole(array: Any) -> np.ndarray[Any, Any]:
    """The values of an array whose parts are in several processes, all of which must call this."""
    meet(f"Reading an array of shape {tuple(array.shape)} whose parts are in several processes")
    with wide():
        found = import_module("jax.experimental.multihost_utils").process_allgather(
            array, tiled=True
        )
    return np.asarray(found)


def of_the_first(value: Any) -> np.ndarray[Any, Any]:
    """The value that the first process has, for all: an array of the same shape and dtype.

    It goes through the process that coordinates, in pieces that it takes, and not through a program
    of XLA's: a function may be being traced.
    """
    array = np.asarray(value)
    if how_many() == 1:
        return array
    what = f"Agreeing on a value of shape {array.shape}"
    meet(what)
    key, parts = f"gradtape/{next(_meetings)}", range(-(-array.nbytes // _PIECE))
    if number_of_this() == 0:
        data = np.ascontiguousarray(array).tobytes()
        for i in parts:
            _client().key_value_set_bytes(f"{key}/{i}", data[i * _PIECE : (i + 1) * _PIECE])
    else:
        array = np.frombuffer(b"".join(_told(f"{key}/{i}", what) for i in parts), array.dtype)
        array = array.reshape(np.shape(value)).copy()
    meet(what)
    if number_of_this() == 0:
        _client().key_value_delete(key)
    return array


def all_have(value: Any) -> bool:
    """Whether a value is true in all processes."""
    if not loaded() or how_many() == 1:
        return bool(value)
    key, what = f"gradtape/{next(_meetings)}", "The next element of a dataset"
    _client().key_value_set(f"{key}/{number_of_this()}", str(int(bool(value))))
    found = [_told(f"{key}/{i}", what) for i in range(how_many())]
    meet(what)
    if number_of_this() == 0:
        _client().key_value_delete(key)
    return all(found_one == b"1" for found_one in found)


_PIECE = 2**20  # bytes


def _told(key: str, what: str) -> bytes:
    """What another process has said, when it has."""
    seconds = wait_seconds()
    try:
        return bytes(_client().blocking_key_value_get_bytes(key, seconds * 1000))
    except Exception as error:
        raise _alone(what, seconds, error) from error
