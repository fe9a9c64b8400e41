"""Running a program as Python itself runs it, with `tensorflow` meaning gradtape.

`sys.argv`, `sys.path[0]`, `__main__`, exit codes and tracebacks are those that the program has
under `python program.py`, or under `python -m module`.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from importlib import util
from importlib.machinery import BuiltinImporter, ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from gradtape.compat.tensorflow_imports import install

_LAUNCHER = frozenset((
    __file__,
    os.path.join(os.path.dirname(os.path.dirname(__file__)), "__main__.py"),  # noqa: PTH118, PTH120
))  # fmt: skip


class UsageError(Exception):
    """What cannot be run; the message says why."""


def run_script(path: str, arguments: list[str]) -> None:
    """Runs a file, or a folder or archive that has a `__main__.py`."""
    install()
    file_name = os.path.abspath(path)  # noqa: PTH100 - links are not followed
    sys.argv = [path, *arguments]
    if os.path.isdir(path) or _is_archive(path):  # noqa: PTH112 - as it was given
        _run_folder(path, file_name)
        return
    try:
        with io.open_code(file_name) as file:
            source = file.read()
    except FileNotFoundError:
        raise UsageError(f"there is no program {path!r}: give the path of a Python file.") from None
    except OSError as error:
        raise UsageError(f"{path!r} cannot be read: {error.strerror}.") from error
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - as Python does
    _run(
        lambda: compile(source, file_name, "exec", dont_inherit=True),
        __file__=file_name,
        __cached__=None,
        __loader__=SourceFileLoader("__main__", file_name),
    )


def run_text(source: str | bytes, given_as: str, arguments: list[str]) -> None:
    """Runs a program that is no file: what follows `-c`, or the standard input."""
    install()
    name, names = "<string>", dict[str, Any]()
    if given_as == "-":
        name = "<stdin>"
        names = {"__file__": name, "__cached__": None}
    sys.argv = [given_as, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = ""
    _run(
        lambda: compile(source, name, "exec", dont_inherit=True),
        __loader__=BuiltinImporter,
        **names,
    )


def run_module(name: str, arguments: list[str]) -> None:
    """Runs a module that can be imported, or the `__main__` of a package."""
    install()
    with _WithoutLauncher():
        spec = _spec_of(name)
    sys.argv = [spec.origin or name, *arguments]
    _run_spec(spec)


def _run_folder(path: str, file_name: str) -> None:
    spec = PathFinder.find_spec("__main__", [file_name])
    if spec is None:
        raise UsageError(f"there is no __main__.py in {path!r}: give the path of a Python file.")
    if sys.flags.safe_path:
        sys.path.insert(0, file_name)
    else:
        sys.path[0] = file_name
    _run_spec(spec)


def _run_spec(spec: ModuleSpec) -> None:
    loader: Any = spec.loader
    _run(
        lambda: loader.get_code(spec.name),
        __file__=spec.origin,
        __cached__=spec.cached,
        __loader__=loader,
        __package__=spec.parent,
        __spec__=spec,
    )


def _spec_of(name: str) -> ModuleSpec:
    """What is known of a module. Packages above it are imported, and their errors are their own."""
    if name.startswith("."):
        raise UsageError(f"{name!r} is relative: give the full name of the module.")
    try:
        spec = util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = util.find_spec(f"{name}.__main__")
    except (ImportError, ValueError) as error:
        missing = getattr(error, "name", None)
        if missing is not None and not f"{name}.".startswith(f"{missing}."):
            raise  # a package above imports what is not there
        advice = f" (try {name[:-3]!r})" if name.endswith(".py") else ""
        raise UsageError(f"the module {name!r} cannot be found{advice}: {error}") from error
    if spec is None:
        raise UsageError(f"there is no module {name!r}, or no __main__ in it.")
    return spec


def _is_archive(path: str) -> bool:
    if path.endswith(".py") or not os.path.isfile(path):  # noqa: PTH113 - a pipe is read once
        return False
    import zipfile  # noqa: PLC0415 - few ask

    return zipfile.is_zipfile(path)


def _run(code: Callable[[], Any], **names: Any) -> None:
    """Runs code as a `__main__` that has these names."""
    main = ModuleType("__main__")
    vars(main).update(__builtins__=sys.modules["builtins"], __annotations__={}, **names)
    sys.modules["__main__"] = main
    with _WithoutLauncher():
        made = code()
        if not isinstance(made, CodeType):
            raise UsageError(f"{sys.argv[0]!r} has no Python code.")
        exec(made, vars(main))  # noqa: S102 - the user's program


class _WithoutLauncher:
    """Python shows an error, and ends, as it does without this module, whose lines are left out."""

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not issubclass(kind, (SystemExit, UsageError)):
            sys.excepthook = _showing_own_lines(sys.excepthook)


def _showing_own_lines(shown: Callable[..., Any]) -> Callable[..., Any]:
    def show(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        while traceback is not None and _is_launchers(traceback.tb_frame.f_code.co_filename):
            traceback = traceback.tb_next
        error.__traceback__ = traceback  # none is left for an error of the program's syntax
        shown(kind, error, traceback)

    return show


def _is_launchers(file_name: str) -> bool:
    return file_name in _LAUNCHER or file_name.startswith(("<frozen runpy", "<frozen importlib"))
