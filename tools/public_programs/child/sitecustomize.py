"""What every public program finds when it starts: small files in the place of downloads.

Python imports this module by itself, since its folder is on `PYTHONPATH`. Keras's `get_file`
gives the stand-in of the file that is asked for, and refuses to download any other; and folders
named in `PUBLIC_PROGRAMS_PACKAGES` come last on the path. TensorFlow and gradtape use the same
Keras, so both see the same data.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_PATCHED = "keras.src.utils.file_utils"


class NoDownloadError(Exception):
    pass


def _stand_in(fname=None, origin=None, *arguments, **options):
    name = Path(str(fname or origin)).name
    folder = Path(os.environ["PUBLIC_PROGRAMS_STAND_INS"])
    for candidate in (name, Path(str(origin)).name):
        if (folder / candidate).exists():
            return str(folder / candidate)
    raise NoDownloadError(f"{origin} would be downloaded; there is no stand-in for {name}.")


class _Patching:
    """Finds Keras's module of downloads as Python does, and puts the stand-ins into it."""

    def find_spec(self, name, path=None, target=None):
        if name != _PATCHED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            get_file = module.get_file

            def get_file_or_stand_in(fname=None, origin=None, *arguments, **options):
                return _stand_in(fname, origin)

            # Keras's own decorator has put its public name on the function.
            for attribute in ("_api_export_path", "_api_export_symbol_id"):
                if hasattr(get_file, attribute):
                    setattr(get_file_or_stand_in, attribute, getattr(get_file, attribute))
            module.get_file = get_file_or_stand_in

        spec.loader.exec_module = exec_module
        return spec


if "PUBLIC_PROGRAMS_STAND_INS" in os.environ:
    sys.meta_path.insert(0, _Patching())
sys.path += [p for p in os.environ.get("PUBLIC_PROGRAMS_PACKAGES", "").split(os.pathsep) if p]
