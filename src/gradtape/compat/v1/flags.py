"""`tf.compat.v1.flags` and `tf.compat.v1.app`, which are absl's; Keras brings it along."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from absl import app
from absl import flags as _flags

from gradtape.absent import found_below


def run(main: Any = None, argv: list[str] | None = None) -> NoReturn:
    """Reads the flags and calls the program's `main`."""
    app.run(main or sys.modules["__main__"].main, argv)
    raise SystemExit


def __getattr__(name: str) -> Any:
    try:
        return getattr(_flags, name)
    except AttributeError:
        raise found_below("compat.v1.flags", name) from None
