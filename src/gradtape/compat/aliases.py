"""Imports under other names: `AliasFinder` lets `tensorflow.keras.layers` be
`gradtape.keras.layers`, the same module and not a second one.
"""

from __future__ import annotations

import sys
from importlib import import_module, util
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class AliasFinder:
    """Finds what is below one name where it is below another."""

    def __init__(self, prefix: str, target: str) -> None:
        self.prefix, self.target = prefix, target

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == self.prefix or name.startswith(f"{self.prefix}."):
            return self.spec_for(name)
        return None

    def spec_for(self, name: str) -> ModuleSpec | None:
        """How a name below the prefix is loaded; None if there is nothing of that name."""
        meant = self.target + name.removeprefix(self.prefix)
        if not exists(meant):
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves it to Python to make a module, whose place is taken at once."""

    def exec_module(self, module: ModuleType) -> None:
        """Puts the module that is meant in the place of a module."""
        name = module.__name__
        sys.modules[name] = import_module(self.target + name.removeprefix(self.prefix))


def exists(name: str) -> bool:
    """Whether a module can be imported."""
    if name in sys.modules:
        return True
    try:
        return util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if error.name is None:  # it says what to use instead
            raise
        return False
