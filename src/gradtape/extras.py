"""Packages that only some functions need: imported when such a function is called, and an error
that says how to install them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = {"google": "protobuf", "google_crc32c": "google-crc32c", "PIL": "Pillow"}
"""What packages are called that have modules of other names."""


def needed_for(what: str, module: str, extra: str) -> Any:
    """A module of a package that `pip install 'gradtape[extra]'` brings, needed for `what`."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # it is installed, but something that it needs itself is not
        raise ImportError(
            f"{what} needs the package {_NAMES.get(package, package)}, which is not installed: "
            f"pip install 'gradtape[{extra}]'.",
            name=error.name,
        ) from error
