"""Compiled programs kept on disk, by JAX's own cache, from one process to the next."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from gradtape.engines.xla.loading import load

_EVERYTHING = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
_before: dict[str, Any] = {}


def enable(path: str | os.PathLike[str] | None = None) -> str:
    """Keeps every program in a directory, which is created if it does not exist."""
    load()
    directory = os.fspath(_default() if path is None else path)
    os.makedirs(directory, exist_ok=True)  # noqa: PTH103 - pathlib takes 4 ms to import
    _set({"jax_compilation_cache_dir": directory, **_EVERYTHING})
    return directory


def disable() -> None:
    """Brings back the settings from before."""
    if _before:
        _set(dict(_before))
        _before.clear()


def _set(settings: dict[str, Any]) -> None:
    config = load().config
    for name, value in settings.items():
        _before.setdefault(name, getattr(config, name))
        config.update(name, value)
    # It has looked at the settings already.
    import_module("jax.experimental.compilation_cache.compilation_cache").reset_cache()


def _default() -> str:
    """This system's directory for the user's caches."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")  # noqa: PTH111
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return os.path.join(base, "gradtape", "xla")  # noqa: PTH118
