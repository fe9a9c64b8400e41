"""The C compiler that tinygrad calls: the system's,
or else the one inside the package `ziglang`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory


@contextmanager
def on_path() -> Iterator[None]:
    """Lets `clang` be found for the length of a block, if there is one."""
    if which("clang") is not None or find_spec("ziglang") is None:
        yield
        return
    before = os.environ.get("PATH", os.defpath)
    with TemporaryDirectory() as folder:
        script = Path(folder) / "clang"
        script.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -m ziglang clang "$@"\n', encoding="utf-8"
        )
        script.chmod(0o755)
        os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
        try:
            yield
        finally:
            os.environ["PATH"] = before
