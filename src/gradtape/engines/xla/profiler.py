"""XLA's own profiler, and when XLA compiles.

JAX is loaded when a profile is started, and not by looking on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from gradtape.engines.xla.loading import load, loaded

_COMPILED = "/jax/core/compile/backend_compile_duration"

_listeners: list[Callable[[float], None]] = []
_listens = False


def listen(listener: Callable[[float], None]) -> None:
    """Calls `listener` with the seconds that XLA took, on the thread that waited, whenever it has
    compiled a program; from the time on when JAX is loaded and this is called again.
    """
    global _listens
    if listener not in _listeners:
        _listeners.append(listener)
    jax = loaded()
    if jax is not None and not _listens:
        _listens = True
        jax.monitoring.register_event_duration_secs_listener(_heard)


def stop_listening(listener: Callable[[float], None]) -> None:
    with suppress(ValueError):  # it has stopped already
        _listeners.remove(listener)


def _heard(event: str, seconds: float, **_about: Any) -> None:
    if event == _COMPILED:
        for listener in _listeners:
            listener(seconds)


def start(logdir: str, levels: dict[str, int]) -> None:
    """Begins a profile in `logdir`; `levels` say how much of what is traced."""
    jax = load()
    options = jax.profiler.ProfileOptions()
    for name, level in levels.items():
        if hasattr(options, name):  # what the device does is always traced
            setattr(options, name, level)
    jax.profiler.start_trace(logdir, profiler_options=options)


def is_another(error: BaseException) -> bool:
    """Whether an error of `start` says that a profile is running that JAX's own user began."""
    return "already been started" in str(error)


def stop() -> None:
    """Ends the profile and writes it, unless a call that was interrupted has done so."""
    try:
        load().profiler.stop_trace()
    except RuntimeError as error:
        if "No profile started" not in str(error):
            raise


def serve(port: int) -> Any:
    """A server from which TensorBoard fetches profiles, as long as somebody holds it."""
    return load().profiler.start_server(port)


def named(name: str, step: int | None, about: dict[str, Any]) -> AbstractContextManager[Any]:
    """A block with a name in XLA's profile; one with a `step` is a step of training."""
    jax = loaded()
    if jax is None:  # then nothing is being profiled
        return nullcontext()
    if step is not None:
        return jax.profiler.StepTraceAnnotation(name, step_num=step, **about)
    return jax.profiler.TraceAnnotation(name, **about)
