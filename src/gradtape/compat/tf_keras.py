"""`tf_keras` meaning Keras 3, for libraries that ask for Keras 2 by its own name.

tensorflow_probability and gpflow import `tf_keras`, which is written in TensorFlow's internals.
What they use of it, its optimizers above all, Keras 3 has too. Where tf_keras is installed, it is
left alone.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

_NAME = "tf_keras"
_PREFIXES = ("api._v1.keras.__internal__.legacy", "api._v1.keras", "api._v2.keras", "src", "api")


class TfKerasFinder:
    """The last finder of all, for `tf_keras` and what is below it."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == _NAME or name.startswith(f"{_NAME}."):
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves it to Python to make a module."""

    def exec_module(self, module: ModuleType) -> None:
        """Gives a module what Keras has in that place."""
        place = module.__name__.removeprefix(_NAME).removeprefix(".")
        keras = import_module("gradtape.compat.tf_keras").keras_below(place)
        names = vars(module)
        names["__internal__"] = _INTERNAL
        names["__getattr__"] = lambda name: getattr(keras, name)
        names["__all__"] = [name for name in dir(keras) if not name.startswith("_")]


def _nothing_to_register(cls: type) -> type:
    """Keras 3 has symbolic tensors of its own only."""
    return cls


_INTERNAL = SimpleNamespace(
    utils=SimpleNamespace(register_symbolic_tensor_type=_nothing_to_register)
)
"""What libraries use of `tf_keras.__internal__`."""


def keras_below(place: str) -> Any:
    """What stands for a module of tf_keras: Keras itself for its older spellings."""
    found: Any = import_module("gradtape").keras
    for prefix in _PREFIXES:
        if place == prefix or place.startswith(f"{prefix}."):
            place = place.removeprefix(prefix).removeprefix(".")
    for name in filter(None, place.split(".")):
        found = getattr(found, name, found)
    return found


def serve() -> None:
    """Lets `import tf_keras` find Keras 3 where no tf_keras is installed."""
    if not any(isinstance(finder, TfKerasFinder) for finder in sys.meta_path):
        sys.meta_path.append(TfKerasFinder())
