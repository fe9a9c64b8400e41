"""Source text of generated code, and the functions that it becomes: see `ops.written`.

Templates are indented as the code that they become; empty lines between them are left out.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from typing import Any

_FOLDER = __file__.rpartition("/")[0]


def tuple_text(parts: Iterable[str]) -> str:
    """A tuple of expressions."""
    return f"({''.join(f'{part}, ' for part in parts)})"


def frame_text(depth: int) -> str:
    """Finds the user's frame, which is `depth` frames above, most of the time."""
    return f"""
    try:
        frame = getframe({depth})
    except ValueError:  # called from the top of a module, with nothing above
        frame = getframe(1)
    code = frame.f_code
    if code.co_filename not in users_files and own_files[code.co_filename]:
        frame = outside(frame)
        code = frame.f_code"""


def defined(op: str, name: str, text: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """The function `name` that a text for an op defines; tracebacks and debuggers find the text."""
    filename = f"{_FOLDER}/written/{op}.{name}.py"
    lines = [f"{line}\n" for line in text.splitlines() if line.strip()]
    source = "".join(lines)
    linecache.cache[filename] = len(source), None, lines, filename
    exec(compile(source, filename, "exec"), namespace)  # noqa: S102 - the text is this package's
    return namespace[name]
