"""What is said of a name that is not there: what to use instead of a function of TensorFlow's that
gradtape has not, or which name is meant.

`absent_from` makes the `__getattr__` of a namespace. Nothing of this costs anything while all names
are found; the sentences are in `gradtape.compat.sentences`, and are read when one is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

_PACKAGE = "gradtape"


def absent_from(module: str) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a namespace that finds nothing, and says so."""

    def refuse(name: str) -> NoReturn:
        raise found_below(module.removeprefix(_PACKAGE).removeprefix("."), name)

    return refuse


def found_when_used(
    module: str, folder: str, names: dict[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a namespace with names that are imported from modules
    of a folder when they are first used.
    """
    refuse = absent_from(module)

    def find(name: str) -> Any:
        if name not in names:
            raise refuse(name)
        found = getattr(import_module(f"{folder}.{names[name]}"), name)
        vars(sys.modules[module])[name] = found  # the next use asks nobody
        return found

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[module]), *names})

    return find, listed


class AbsentFinder:
    """The last finder of all, asked for what nobody has found: `from gradtape import lite` and
    `import gradtape.lite` then say what to use instead.
    """

    says = _PACKAGE

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        parent, _, own = name.rpartition(".")
        if f"{parent}.".startswith(f"{_PACKAGE}.") and not own.startswith("_"):
            if own in dir(sys.modules.get(parent)) or is_only_asked(sys._getframe(1)):
                return
            namespace = parent.removeprefix(_PACKAGE).removeprefix(".")
            message = str(found_below(namespace, own))
            if ": " in message:  # with the `name` that is looked for, Python would leave it out
                raise ModuleNotFoundError(message)


def is_only_asked(frame: FrameType | None) -> bool:
    """Whether a finder runs for `importlib.util.find_spec`, which answers None, not for an import.

    Between the two are frames of the import system, and of the finders of `gradtape.compat`.
    """
    asked = False
    while frame is not None:
        place = frame.f_globals.get("__name__", "")
        if not place.startswith(("importlib", "gradtape.compat.")):
            break
        asked = place == "importlib.util" and frame.f_code.co_name == "find_spec"
        frame = frame.f_back
    return asked


def serve_absent() -> None:
    """Lets imports of names that are not there say what to use instead."""
    if not any(getattr(finder, "says", None) == _PACKAGE for finder in sys.meta_path):
        sys.meta_path.append(AbsentFinder())


def absent(full: str) -> str | None:
    """What to use instead of a name of TensorFlow's; None if no sentence is known for it."""
    return import_module("gradtape.compat.sentences").sentence_for(full)


def found_below(namespace: str, name: str, today: str | None = None) -> AttributeError:
    """The error for a name that is not in a namespace, such as `math`, or `` for gradtape itself.

    `today` is the name that it has outside of that namespace.
    """
    module = f"{_PACKAGE}.{namespace}".rstrip(".")
    if name.startswith("__"):  # which Python itself asks for
        return AttributeError(f"module '{module}' has no attribute '{name}'")
    full = f"{namespace}.{name}".lstrip(".")
    instead = absent(full) or (absent(today) if today else None)
    if instead is not None:
        message = f"gradtape has no tf.{full}: {instead}"
    else:
        message = f"module '{module}' has no attribute '{name}'"
        meant = nearest(name, dir(sys.modules[module]) if module in sys.modules else ())
        if meant is not None:
            message += f": did you mean '{meant}'?"
    # Without `name` and `obj`, Python adds no suggestion of its own.
    return AttributeError(message)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that is meant by a misspelt one, if there is a similar one."""
    from difflib import get_close_matches  # noqa: PLC0415 - it takes long to import

    candidates = {other.lower(): other for other in names if not other.startswith("_")}
    found = get_close_matches(name.lower(), candidates, n=1, cutoff=0.75)
    return candidates[found[0]] if found else None
