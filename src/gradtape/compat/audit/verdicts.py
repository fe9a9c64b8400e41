"""What is known of a name of TensorFlow's: it is there, it is there and differs, or it is absent.

Nothing that the project has is imported; gradtape's own namespaces are. Keras's names are looked up
in the list of TensorFlow's, so that Keras itself need not be imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import gradtape
from gradtape.absent import nearest
from gradtape.compat import private_modules, tensorflow_names
from gradtape.compat.sentences import sentence_for

THERE, DIFFERS, ABSENT = "there", "differs", "absent"
_DIFFERENCES = Path(__file__).with_name("differences.txt")
_KERAS = ("keras", "losses", "metrics", "optimizers", "initializers")
_OF_MODULES = ("__version__", "__file__", "__name__", "__path__", "__doc__")


class Verdict(NamedTuple):
    """What is known of a name: one of three words, and a sentence for the last two."""

    kind: str
    sentence: str = ""


@cache
def differences() -> dict[str, str]:
    """What differs, by name, in the words of docs/differences.md."""
    found: dict[str, str] = {}
    for line in _DIFFERENCES.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            names, _, sentence = line.partition(": ")
            for name in names.split():
                found[name] = f"{found[name]} Also, {sentence}" if name in found else sentence
    return found


@cache
def verdict_on(name: str) -> Verdict:
    """What is known of a name, relative to `tf`."""
    name = name.removeprefix("compat.v2.")
    if name in ("", "compat.v2"):
        return Verdict(THERE)
    if _is_there(name):
        sentence = differences().get(name)
        return Verdict(DIFFERS, sentence) if sentence else Verdict(THERE)
    return Verdict(ABSENT, _instead(name))


def _is_there(name: str) -> bool:
    root = name.partition(".")[0]
    if root in _KERAS:
        return _is_kerass(name)
    if root == "python":
        return _is_there_privately(name)
    try:
        reduce(getattr, name.split("."), gradtape)
    except AttributeError:
        return False
    return True


def _is_kerass(name: str) -> bool:
    """Whether Keras has a name. What is below a class or function of its own, such as a method,
    counts as there, since only Keras itself could tell.
    """
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        namespace, own = ".".join(parts[: length - 1]), parts[length - 1]
        full = ".".join(parts[:length])
        if own in _OF_MODULES and tensorflow_names.is_namespace(namespace):
            return True
        if not tensorflow_names.has(full):
            return False
        if not tensorflow_names.is_namespace(full):
            return True
    return True


def _is_there_privately(name: str) -> bool:
    full = f"tensorflow.{name}"
    if name == "python.keras" or name.startswith("python.keras."):
        return _is_there(name.removeprefix("python."))
    if private_modules.is_private_module(full):
        return True
    module, _, own = full.rpartition(".")
    try:
        private_modules.finds(module)(own)
    except (AttributeError, ImportError):
        return False
    return private_modules.is_private_module(module)


def _instead(name: str) -> str:
    """What to do without a name."""
    sentence = sentence_for(name)
    if sentence is not None:
        return sentence
    if name.startswith("python."):
        return (
            "tensorflow.python is private to TensorFlow, and this has no public name here: use a "
            "public function of tf instead."
        )
    namespace, _, own = name.rpartition(".")
    meant = nearest(own, _names_in(namespace))
    if meant is not None:
        return f"TensorFlow 2.21 has no such name either; {meant!r} is similar."
    return "TensorFlow 2.21 has no such name either."


def _names_in(namespace: str) -> Iterable[str]:
    if namespace.partition(".")[0] in _KERAS:
        return tensorflow_names.namespaces().get(namespace, ())
    try:
        return dir(import_module(f"gradtape.{namespace}".rstrip(".")))
    except ImportError:
        return ()
