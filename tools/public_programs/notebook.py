"""Runs the code cells of a notebook in order, as Jupyter does, and writes down which stop and why.

    python -m gradtape tools/public_programs/notebook.py NOTEBOOK REPORT.json

A cell that stops does not end the run. Lines of the shell and of IPython (`!pip`, `%matplotlib`)
are left out, but for `%%writefile`. The report has an entry for each cell: its first line, the
error if it stopped, and whether that is the consequence of a cell before (a name which that cell
would have set).
"""

from __future__ import annotations

import ast
import json
import linecache
import re
import sys
import time
import traceback
import types
from pathlib import Path

_MAGIC = re.compile(r"^(\s*)([!%].*)$", re.MULTILINE)


def code_cells(path):
    for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"])


def as_python(source):
    """A cell without what only IPython understands; as there, its first line sets the margin."""
    if source.startswith("%%writefile "):
        name, text = source.removeprefix("%%writefile ").split("\n", 1)
        return f"with open({name.strip()!r}, 'w') as file:\n    _ = file.write({text!r})"
    source = _MAGIC.sub(r"\1pass", source.lstrip("\n"))
    margin = len(source) - len(source.lstrip(" "))
    return re.sub(rf"^ {{{margin}}}", "", source, flags=re.MULTILINE) if margin else source


def names_set_by(source):
    """The names that a cell would have set at its top level."""
    try:
        nodes = ast.walk(ast.parse(source))
    except SyntaxError:
        return set()
    names = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(name.asname or name.name).split(".")[0] for name in node.names}
    return names


def run_cell(source, file_name, namespace):
    """Runs a cell, and shows the value of its last line."""
    linecache.cache[file_name] = (len(source), None, source.splitlines(keepends=True), file_name)
    tree = ast.parse(source, file_name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file_name, "exec"), namespace)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), file_name, "eval"), namespace)
        if value is not None:
            print(repr(value))


def place_of(error, file_name):
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file_name]
    return lines[-1] if lines else None


def run_notebook(path):
    main = types.ModuleType("__main__")
    main.__dict__["display"] = print
    sys.modules["__main__"] = main
    lost, report = set(), []
    for number, original in enumerate(code_cells(path)):
        file_name = f"<{Path(path).name}, cell {number}>"
        source = as_python(original)
        entry = {"cell": number, "first_line": original.strip().split("\n")[0], "error": None}
        print(f"--- cell {number}", flush=True)
        started = time.perf_counter()
        try:
            run_cell(source, file_name, main.__dict__)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            unknown = getattr(error, "name", None) if isinstance(error, NameError) else None
            entry["error"] = f"{type(error).__name__}: {error}"
            entry["line"] = place_of(error, file_name)
            entry["module"] = type(error).__module__
            entry["consequence"] = unknown in lost
            lost |= names_set_by(source) - set(main.__dict__)
        entry["seconds"] = round(time.perf_counter() - started, 2)
        report.append(entry)
        yield report


if __name__ == "__main__":
    sys.path.insert(0, "")
    for report in run_notebook(sys.argv[1]):
        Path(sys.argv[2]).write_text(json.dumps(report, indent=1), encoding="utf-8")
