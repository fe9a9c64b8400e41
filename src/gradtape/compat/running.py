"""Running a program as Python itself runs it, with `tensorflow` meaning gradtape.

`sys.argv`, `sys.path[0]`, `__main__`, exit codes and tracebacks are those that the program has
under `python program.py`, or under `python -m module`.
"""

from __future__ import annotations

import io
import os
import sys
import zipimport
from collections.abc import Callable
from importlib import util
from importlib.machinery import (
    BuiltinImporter,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
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
    # Not `abspath`, which takes `link/..` for the folder of the link.
    folder = os.getcwd()  # noqa: PTH109
    file_name = folder if path == "." else os.path.join(folder, path)  # noqa: PTH118
    sys.argv = [path, *arguments]
    if os.path.isdir(path) or _is_archive(file_name):  # noqa: PTH112 - as it was given
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
    if path.endswith(".pyc"):
        loader = SourcelessFileLoader("__main__", file_name)
        _run(
            lambda: loader.get_code("__main__"),
            __file__=file_name,
            __cached__=None,
            __loader__=loader,
        )
        return
    _run(
        lambda: _compiled(source, file_name),
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
        lambda: _compiled(source, name),
        __loader__=BuiltinImporter,
        **names,
    )


def run_module(name: str, arguments: list[str]) -> None:
    """Runs a module that can be imported, or the `__main__` of a package."""
    install()
    sys.argv = ["-m", *arguments]
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
    spec = _found(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _found(f"{name}.__main__")
    if spec is None:
        raise UsageError(f"there is no module {name!r}, or no __main__ in it.")
    if not hasattr(spec.loader, "get_code"):
        raise UsageError(f"the module {name!r} has no Python code of its own.")
    return spec


def _found(name: str) -> ModuleSpec | None:
    advice = f" (try {name[:-3]!r})" if name.endswith(".py") else ""
    missing = f"the module {name!r} cannot be found{advice}"
    package = name.rpartition(".")[0]
    if package:
        try:
            __import__(package)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{package}.".startswith(f"{error.name}."):
                raise  # a package above imports what is not there
            raise UsageError(f"{missing}: {error}") from error
    try:
        return util.find_spec(name)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{missing}: {error}") from error


def _is_archive(path: str) -> bool:
    """Whether Python imports from a file, or from a folder in it; a pipe is not read."""
    try:
        zipimport.zipimporter(path)
    except zipimport.ZipImportError:
        return False
    return True


def _compiled(source: str | bytes, file_name: str) -> CodeType:
    try:
        return compile(source, file_name, "exec", dont_inherit=True)
    except SyntaxError as error:
        if error.filename is None:  # the source is no text
            error.filename = file_name
        raise


def _run(code: Callable[[], Any], **names: Any) -> None:
    """Runs code as a `__main__` that has these names."""
    main = ModuleType("__main__")
    vars(main).update(__annotations__={}, __builtins__=sys.modules["builtins"], **names)
    sys.modules["__main__"] = main
    sys.modules["__mp_main__"] = main  # what it is called in processes that are started afresh
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
        hook = getattr(sys, "excepthook", None)
        if hook is not None and kind is not None and not issubclass(kind, UsageError):
            sys.excepthook = _showing_own_lines(hook)


def _showing_own_lines(shown: Callable[..., Any]) -> Callable[..., Any]:
    def show(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        while traceback is not None and _is_launchers(traceback.tb_frame.f_code.co_filename):
            traceback = traceback.tb_next
        error.__traceback__ = traceback  # none is left for an error of the program's syntax
        sys.last_traceback = traceback
        shown(kind, error, traceback)

    return show


def _is_launchers(file_name: str) -> bool:
    return file_name in _LAUNCHER or file_name.startswith(("<frozen runpy", "<frozen importlib"))
