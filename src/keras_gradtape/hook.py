"""The import hook through which Keras finds the backend "gradtape".

While Keras is imported, this hook loads the few modules that choose a backend with one more branch
(`branches.py`), and some others with a change (`changes.py`). Nothing is written to Keras's folder.
`keras.src.backend.gradtape.<module>` are aliases of this package's modules.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import FrameType, ModuleType

from keras_gradtape.branches import ALIAS, BACKEND, WithBranch
from keras_gradtape.changes import LOADERS

KNOWN_VERSIONS = ("3.15",)

_HERE = "keras_gradtape.src"
_OPS = frozenset(("core", "image", "linalg", "math", "nn", "numpy"))

_CHOOSING = frozenset((
    "keras.src.backend",
    "keras.src.layers.layer",
    "keras.src.models.model",
    "keras.src.optimizers.optimizer",
    "keras.src.export.saved_model",
    "keras.src.utils.backend_utils",
))  # fmt: skip
"""The modules with a chain."""


def install() -> None:
    """Makes the next `import keras` use this backend; refuses if Keras runs on another one,
    or is told to.

    Does nothing if it has been done already.
    """
    loaded = sys.modules.get("keras.src.backend.config")
    told = os.environ.get("KERAS_BACKEND")
    if loaded is not None and loaded.backend() != BACKEND:
        raise RuntimeError(
            f"Keras runs on '{loaded.backend()}' and cannot change to gradtape now: "
            f"{_why(loaded.backend())}"
        )
    if told and told != BACKEND:
        raise RuntimeError(f"Keras cannot run on gradtape: {_why(told)}")
    check_version()
    offer()


def _why(backend: str) -> str:
    """What made Keras choose another backend, and what to change."""
    if os.environ.get("KERAS_BACKEND") == backend:
        return (
            f"the environment variable KERAS_BACKEND says '{backend}'. Remove the line that sets "
            "it, here or where the program is "
            f'started, or set it to "{BACKEND}" before Keras is imported.'
        )
    return (
        f"Keras was imported before gradtape, and then chooses '{backend}'. Write `import "
        "gradtape` above the first `import keras`, "
        "also above imports that import Keras, or set the environment variable "
        f"KERAS_BACKEND={BACKEND}."
    )


def explain_missing(name: str) -> None:
    """Raises if Keras imports `name` as its backend,
    after everybody who could find it has been asked.
    """
    settings = sys.modules.get("keras.src.backend.config")
    if settings is None or settings.backend() != name:
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("keras.src."):
        frame = frame.f_back
    if frame is not None and frame.f_code.co_name == "<module>":
        raise ModuleNotFoundError(
            f"Keras wants its backend '{name}', which is not installed: {_why(name)}", name=name
        )


def offer() -> BackendFinder:
    """Makes the next `import keras` use this backend, and looks at Keras's version then: a program
    may only ask whether Keras is there.

    Gives the finder that does it, for one that was asked for Keras just now.
    """
    found = next(
        (finder for finder in sys.meta_path if getattr(finder, "backend", None) == BACKEND), None
    )
    if not isinstance(found, BackendFinder):
        found = BackendFinder()
        sys.meta_path.insert(0, found)
    return found


def offer_if_told() -> BackendFinder | None:
    """Offers the backend if the environment variable KERAS_BACKEND names it, or, where it names
    none, Keras's settings do.
    """
    return offer() if (os.environ.get("KERAS_BACKEND") or _in_settings()) == BACKEND else None


def _in_settings() -> str | None:
    """The backend that `keras.json` names, in the folder where Keras looks for it."""
    home = os.environ.get("KERAS_HOME")
    if home is None:
        base = Path.home()
        # As Keras does.
        home = str((base if os.access(base, os.W_OK) else Path("/tmp")) / ".keras")  # noqa: S108
    try:
        settings = json.loads(
            Path(home).expanduser().joinpath("keras.json").read_text(encoding="utf-8")
        )
    except (OSError, ValueError):
        return None
    return settings.get("backend") if isinstance(settings, dict) else None


def keras_version() -> str:
    """The version of the Keras that an `import keras` finds; an ImportError if there is none."""
    spec = PathFinder.find_spec("keras")
    if spec is None or spec.origin is None:
        raise ImportError(
            "gradtape.keras is Keras 3, which is not installed: pip install 'gradtape[keras]'.",
            name="keras",
        )
    try:
        text = Path(spec.origin).with_name("src").joinpath("version.py").read_text(encoding="utf-8")
    except FileNotFoundError:  # Keras 2
        text = Path(spec.origin).read_text(encoding="utf-8")
    found = re.search(r"__version__\s*=\s*[\"']([^\"']+)", text)
    return found[1] if found else "of unknown version"


def check_version() -> None:
    """Refuses a Keras that is older than those this package has been written for, or not Keras 3.

    A newer one is tried.
    """
    version = keras_version()
    if not _is_known(version) and not _is_newer(version):
        raise ImportError(
            f"gradtape supports Keras {_KNOWN}, but Keras {version} is installed: {_ADVICE}"
        )


_KNOWN = " or ".join(KNOWN_VERSIONS)
_ADVICE = (
    f"pip install 'keras=={KNOWN_VERSIONS[-1]}.*' installs a supported version. To use Keras "
    "without gradtape, set the environment variable KERAS_BACKEND to another backend."
)


def _is_known(version: str) -> bool:
    return version.startswith(tuple(f"{known}." for known in KNOWN_VERSIONS))


def _is_newer(version: str) -> bool:
    """Whether a version is of Keras 3, and later than those that are known."""
    found = re.match(r"3\.(\d+)\.", version)
    return found is not None and int(found[1]) > max(
        int(known.partition(".")[2]) for known in KNOWN_VERSIONS
    )


class BackendFinder(MetaPathFinder):
    """Finds the backend's modules under Keras's names for them,
    and Keras's modules that choose a backend.
    """

    backend = BACKEND

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "keras" and os.environ.get("KERAS_BACKEND", BACKEND) in {"", BACKEND}:
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and type(spec.loader) is SourceFileLoader:
                spec.loader = _Tried(spec.loader.name, spec.loader.path)
            return spec
        if not name.startswith("keras.src."):
            return None
        if name == ALIAS or name.startswith(ALIAS + "."):
            return ModuleSpec(name, _Alias(_target(name)), is_package=name == ALIAS)
        loader = _LOADERS.get(name, WithBranch if name in _CHOOSING else None)
        if loader is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = loader(spec.loader.name, spec.loader.path)
        return spec


def _target(alias: str) -> str:
    """The module of this package that has a name among Keras's backends."""
    module = alias[len(ALIAS) + 1 :]
    if not module:
        return _HERE
    return f"{_HERE}.ops.{module}" if module in _OPS else f"{_HERE}.{module}"


class _Alias(Loader):
    """Puts an existing module under another name."""

    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = import_module(self._target)


class _Tried(SourceFileLoader):
    """Loads Keras.

    If it is newer than what this package was written for, whatever goes wrong is said to be about
    that.
    """

    def exec_module(self, module: ModuleType) -> None:
        version = keras_version()
        if not _is_newer(version):
            super().exec_module(module)
            return
        try:
            super().exec_module(module)
            check_bases()
        except Exception as error:
            raise ImportError(
                f"gradtape supports Keras {_KNOWN}. It tried Keras {version}, which failed: "
                f"{type(error).__name__}: {error} {_ADVICE}"
            ) from error


def check_bases() -> None:
    """Checks that Keras runs on this backend and that its classes are built on those of this
    package.
    """
    chosen = sys.modules["keras.src.backend.config"].backend()
    if chosen != BACKEND:
        raise ImportError(f"Keras has chosen the backend '{chosen}'.")
    for module, name in _ON_THE_BACKEND:
        bases = getattr(import_module(module), name).__mro__
        if not any(base.__module__.startswith("keras_gradtape.") for base in bases):
            raise ImportError(f"{module}.{name} is not built on a class of the backend's.")


_ON_THE_BACKEND = (
    ("keras.src.layers.layer", "Layer"),
    ("keras.src.models.model", "Model"),
    ("keras.src.optimizers.optimizer", "Optimizer"),
    ("keras.src.backend", "Variable"),
)
"""Modules and classes of Keras that choose a base by the backend."""


class _Chosen(SourceFileLoader):
    """Loads Keras's settings with the backend chosen, unless the environment has chosen one."""

    def exec_module(self, module: ModuleType) -> None:
        if os.environ.get("KERAS_BACKEND", BACKEND) == BACKEND:
            check_version()
        if os.environ.get("KERAS_BACKEND"):
            super().exec_module(module)
            return
        # For the settings alone: programs that this one starts choose for themselves.
        os.environ["KERAS_BACKEND"] = BACKEND
        try:
            super().exec_module(module)
        finally:
            del os.environ["KERAS_BACKEND"]


_LOADERS: dict[str, type[SourceFileLoader]] = {"keras.src.backend.config": _Chosen, **LOADERS}
