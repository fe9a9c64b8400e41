"""What `import gradtape` means for Keras: `gradtape.keras` is Keras on gradtape, `gradtape.losses`
and others are its namespaces, and an `import keras` that comes later gives the same.

Nothing of Keras is imported before it is needed: `serve_keras` only puts a finder in front of
Python's own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_PACKAGE = "gradtape."
_KERAS = "keras._tf_keras.keras"  # Keras with the names that only TensorFlow's has
_BACKENDS = frozenset(("tensorflow", "jax", "torch", "openvino"))


class KerasFinder:
    """Gives Keras the backend "gradtape" before Keras is imported, and finds `gradtape.keras`, what
    is below it, and the namespaces of Keras that `gradtape` has too.
    """

    def __init__(self, namespaces: Iterable[str]) -> None:
        self.serves = frozenset(namespaces)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.startswith(_PACKAGE) and name.split(".", 2)[1] in self.serves:
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        if name == "keras" and os.environ.get("KERAS_BACKEND", "") in {"", "gradtape"}:
            return import_module("keras_gradtape.hook").offer().find_spec(name, path, target)
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves it to Python to make a module, whose place is taken at once."""

    def exec_module(self, module: ModuleType) -> None:
        """Puts a module of Keras, with TensorFlow's names in it, in the place of a module."""
        import_module("keras_gradtape").install()
        below = module.__name__.removeprefix(_PACKAGE).removeprefix("keras").lstrip(".")
        sys.modules[module.__name__] = import_module(f"{_KERAS}.{below}".rstrip("."))


class MissingBackendFinder:
    """The last finder of all, asked for what nobody has found: if it is a backend that Keras wants,
    the error says why Keras does.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in _BACKENDS and "keras" in sys.modules:
            import_module("keras_gradtape.hook").explain_missing(name)


def serve_keras(namespaces: Iterable[str]) -> None:
    """Makes Keras run on gradtape, unless the environment variable KERAS_BACKEND names another
    backend, and found under these names of `gradtape`.
    """
    if not any("keras" in getattr(finder, "serves", ()) for finder in sys.meta_path):
        sys.meta_path.insert(0, KerasFinder(namespaces))
        sys.meta_path.append(MissingBackendFinder())
