"""The files of a project: Python files and notebooks, and what in them is code."""

from __future__ import annotations

import ast
import json
import os
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

_SKIPPED = frozenset((
    ".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "env", "__pycache__", "node_modules",
    "site-packages", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".eggs",
))  # fmt: skip
_ENDINGS = (".py", ".ipynb")
_COMMAND = re.compile(r"\s*(%%?[a-zA-Z]|!(?!=)|\?)|\s*[\w, ]+=\s*(!|%[a-zA-Z])|[^#\"']*\?\s*$")

_MODULE = "tensorflow"


class Code(NamedTuple):
    """A piece of code: a file, or a cell of a notebook, whose first line is line 1."""

    place: str
    tree: ast.Module


class Unread(NamedTuple):
    """A file, or a cell, that could not be read, and why."""

    place: str
    reason: str


def files(paths: Sequence[str]) -> Iterator[str]:
    """The Python files and notebooks of files and folders, each once, sorted in their folder."""
    seen: set[str] = set()
    for path in paths:
        for file in _below(path) if Path(path).is_dir() else [path]:
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield file


def _below(folder: str) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        yield from (
            os.path.join(where, name)  # noqa: PTH118 - as the folder was given
            for name in sorted(names)
            if name.endswith(_ENDINGS)
        )


def codes(file: str) -> Iterator[Code | Unread]:
    """The code of one file. Nothing is parsed where no import of TensorFlow can be."""
    if Path(file).exists() and not Path(file).is_file():
        yield Unread(file, "it is a pipe, a socket or a device")
        return
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        yield Unread(file, error.strerror or str(error))
        return
    if file.endswith(".ipynb"):
        yield from _cells(file, data)
        return
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
        source = data.decode(encoding)
        if _MODULE in source:
            yield _parsed(file, source)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        yield Unread(file, f"its encoding is not that of Python code: {error}")


def _cells(file: str, data: bytes) -> Iterator[Code | Unread]:
    try:
        notebook = json.loads(data)
        if not isinstance(notebook, dict) or not {"cells", "worksheets"} & notebook.keys():
            raise ValueError("it has no cells")
        sheets = [notebook] if "cells" in notebook else notebook["worksheets"]
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        texts = [
            (number, "".join(cell.get("source") or cell.get("input") or ""))  # a text, or its lines
            for number, cell in enumerate(cells, 1)
            if cell.get("cell_type") == "code"
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        yield Unread(file, f"it is not a notebook: {error}")
        return
    if not any(_MODULE in text for _, text in texts):
        return
    for number, text in texts:
        if text.lstrip().startswith("%%") and not text.lstrip().startswith(("%%time", "%%capture")):
            continue  # another language
        place = f"{file}, cell {number}"
        found = _parsed(place, text)
        if isinstance(found, Unread):
            found = _parsed(place, "\n".join(_without_commands(text.splitlines())))
        yield found


def _without_commands(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a cell; one that is not Python but a command of the notebook does nothing, nor
    do those on which it goes on.
    """
    goes_on = False
    for line in lines:
        if goes_on:
            yield ""
        elif _COMMAND.match(line):
            yield line[: len(line) - len(line.lstrip())] + "pass"
        else:
            yield line
            continue
        goes_on = line.endswith("\\")


def _parsed(place: str, source: str) -> Code | Unread:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the project's strings are its own matter
            return Code(place, ast.parse(source))
    except SyntaxError as error:
        where = "" if error.lineno is None else f"line {error.lineno}: "
        return Unread(place, f"{where}{error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Unread(place, f"it cannot be parsed: {error}")
