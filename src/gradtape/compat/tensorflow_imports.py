"""`tensorflow` meaning gradtape: what `gradtape.install_as_tensorflow()` and `python -m gradtape`
do.

A finder in front of Python's own gives gradtape's modules under TensorFlow's names, and answers
`importlib.metadata.version("tensorflow")`. Nothing is imported before a program asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module, metadata
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from gradtape.absent import is_only_asked
from gradtape.api.tensorflow.library import full_version
from gradtape.compat import adapters, private_modules, tf_keras
from gradtape.compat.aliases import AliasFinder, exists

_NAME = "tensorflow"
_DISTRIBUTIONS = frozenset(("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly"))
_ELSEWHERE = {
    f"{private_modules.ROOT}.keras": f"{_NAME}.keras",
    f"{private_modules.ROOT}.autograph": "malt",  # what TensorFlow's autograph became outside of it
}
"""Private modules that are whole packages elsewhere."""
_INSTALL = "import gradtape; gradtape.install_as_tensorflow(); "


class TensorFlowFinder(AliasFinder):
    """Finds `tensorflow` and what is below it."""

    def __init__(self) -> None:
        super().__init__(_NAME, "gradtape")

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == "keras" and os.environ.get("KERAS_BACKEND") == _NAME:
            os.environ["KERAS_BACKEND"] = (
                "gradtape"  # Keras would look for what only TensorFlow has
            )
        return super().find_spec(name, path, target)

    def spec_for(self, name: str) -> ModuleSpec | None:
        elsewhere = _elsewhere(name)
        if elsewhere is not None:
            of_keras = elsewhere.startswith(_NAME)
            if not (super().spec_for(elsewhere) if of_keras else exists(elsewhere)):
                return None
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        if name.startswith(private_modules.ROOT):
            if not private_modules.is_private_module(name):
                if is_only_asked(sys._getframe(1)):
                    return None
                raise ModuleNotFoundError(
                    f"gradtape has no {name}: tensorflow.python is private to TensorFlow: import "
                    "public names, such as `from tensorflow import nest`."
                )
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return super().spec_for(name)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        elsewhere = _elsewhere(name)
        if elsewhere is not None:
            sys.modules[name] = import_module(elsewhere)
        elif name.startswith(private_modules.ROOT):
            private_modules.fill(module)
        else:
            super().exec_module(module)

    def find_distributions(
        self, context: metadata.DistributionFinder.Context | None = None
    ) -> Iterator[metadata.Distribution]:
        """The distribution `tensorflow`, whose version programs ask for."""
        asked = str(getattr(context, "name", None) or "").lower().replace("_", "-")
        if asked in _DISTRIBUTIONS:
            yield _Distribution(asked)


def _elsewhere(name: str) -> str | None:
    """The module that a private one is."""
    for private, meant in _ELSEWHERE.items():
        if f"{name}.".startswith(f"{private}."):
            return meant + name.removeprefix(private)
    return None


class _Distribution(metadata.Distribution):
    """What `importlib.metadata` says of TensorFlow."""

    def __init__(self, name: str) -> None:
        self._own_name = name

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        return f"Metadata-Version: 2.1\nName: {self._own_name}\nVersion: {full_version()}\n"

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parents[1] / path


def install() -> None:
    """Makes `tensorflow` mean gradtape from now on; refuses if TensorFlow itself was imported."""
    if any(isinstance(finder, TensorFlowFinder) for finder in sys.meta_path):
        return
    loaded = sys.modules.get(_NAME)
    if loaded is not None and loaded is not sys.modules["gradtape"]:
        raise RuntimeError(
            "install_as_tensorflow: TensorFlow itself is already imported, from "
            f"{getattr(loaded, '__file__', 'an unknown place')}: call this before anything imports "
            "tensorflow, or restart the notebook."
        )
    sys.meta_path.insert(0, TensorFlowFinder())
    adapters.serve()
    tf_keras.serve()
    _serve_processes()


def _serve_processes() -> None:
    """Lets processes that `multiprocessing` starts afresh know `tensorflow` too."""
    from multiprocessing import set_forkserver_preload, spawn  # noqa: PLC0415 - it takes long

    spawn.get_command_line = _installing(spawn.get_command_line)
    set_forkserver_preload(["gradtape.compat.installed"])


def _installing(original: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """The command of a new process, which first does what `install` does."""

    @wraps(original)
    def get_command_line(**keywords: Any) -> list[str]:
        command = original(**keywords)
        if "-c" in command:
            place = command.index("-c") + 1
            command[place] = _INSTALL + command[place]
        return command

    return get_command_line
