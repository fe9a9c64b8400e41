"""Running a program as Python itself runs it, with `tensorflow` meaning gradtape.

`sys.argv`, `sys.path[0]`, `__main__`, exit codes and tracebacks are those that the program has
under `python program.py`, or under `python -m module`.
"""

from __future__ import annotations

import io
import os
import sys
from importlib import util
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from gradtape.compat.tensorflow_imports import install


class UsageError(Exception):
    """What cannot be run; the message says why."""


def run_script(path: str, arguments: list[str]) -> None:
    """Runs a file, or a folder or archive that has a `__main__.py`."""
    install()
    if not os.path.isfile(path) or _is_archive(path):  # noqa: PTH113 - as it was given
        spec = PathFinder.find_spec("__main__", [path])
        if spec is None:
            raise UsageError(f"there is no program {path!r}: give the path of a Python file.")
        sys.path[0] = path
        sys.argv = [path, *arguments]
        _run(_code_of(spec), path, spec)
        return
    file_name = os.path.abspath(path)  # noqa: PTH100 - links are not followed
    try:
        with io.open_code(file_name) as file:
            source = file.read()
    except OSError as error:
        raise UsageError(f"{path!r} cannot be read: {error.strerror}.") from error
    sys.path[0] = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - as Python does
    sys.argv = [path, *arguments]
    _run(lambda: compile(source, file_name, "exec", dont_inherit=True), file_name, None)


def run_module(name: str, arguments: list[str]) -> None:
    """Runs a module that can be imported, or the `__main__` of a package."""
    install()
    try:
        spec = util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = util.find_spec(f"{name}.__main__")
    except (ImportError, ValueError) as error:
        raise UsageError(f"the module {name!r} cannot be found: {error}") from error
    if spec is None:
        raise UsageError(f"there is no module {name!r}, or no __main__ in it.")
    origin = spec.origin or name
    sys.argv = [origin, *arguments]
    _run(_code_of(spec), origin, spec)


def _is_archive(path: str) -> bool:
    import zipfile  # noqa: PLC0415 - few ask

    return not path.endswith(".py") and zipfile.is_zipfile(path)


def _code_of(spec: ModuleSpec) -> Any:
    loader: Any = spec.loader
    return lambda: loader.get_code(spec.name)


def _run(code: Any, path: str, spec: ModuleSpec | None) -> None:
    """Runs code as `__main__`; an error is shown as Python shows it, without the lines of this
    module.
    """
    main = ModuleType("__main__")
    vars(main).update(
        __file__=path,
        __builtins__=sys.modules["builtins"],
        __loader__=spec.loader if spec is not None else SourceFileLoader("__main__", path),
        __package__=spec.parent if spec is not None else None,
        __spec__=spec,
        __annotations__={},
    )
    sys.modules["__main__"] = main
    try:
        made = code()
        if not isinstance(made, CodeType):
            raise UsageError(f"{path!r} has no Python code.")
        exec(made, vars(main))  # noqa: S102 - the user's program
    except Exception as error:
        if isinstance(error, UsageError):
            raise
        error.__traceback__ = _without_this_module(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)


def _without_this_module(traceback: Any) -> Any:
    """The part of a traceback that is the program's own; nothing for an error of its syntax."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback
