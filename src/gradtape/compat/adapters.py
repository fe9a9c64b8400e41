"""Adapters: what a library needs where it uses something private to TensorFlow.

`AdapterFinder` loads `gradtape.compat.<library>` when a module that it adapts is imported, and lets
its `adapt` see that module. No file of a library is changed, and a library that is not imported
costs nothing. Each adapter says why it is there.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

ADAPTED = {
    "tensorflow_probability.python.internal.backend.numpy._utils": "tensorflow_probability",
}
"""The modules that are adapted, and the adapter of each: a module of `gradtape.compat`."""


class AdapterFinder:
    """Finds the modules of ADAPTED where Python does, and has them adapted when they are loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in ADAPTED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Adapting(spec.loader, ADAPTED[name])  # type: ignore[assignment]
        return spec


class _Adapting:
    """A loader that adapts what it has loaded."""

    def __init__(self, loader: Any, adapter: str) -> None:
        self._loader, self._adapter = loader, adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        import_module(f"gradtape.compat.{self._adapter}").adapt(module)


def serve() -> None:
    """Lets modules that are imported from now on be adapted."""
    if not any(isinstance(finder, AdapterFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, AdapterFinder())
