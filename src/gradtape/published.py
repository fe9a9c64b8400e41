"""Public names: `published` says under which names a definition is public, `shown` what `dir`
lists.

`make names` writes the namespaces from the decorators at the definitions:

    @published("sin", "math.sin")
    def sin(x): ...

A name is relative to `gradtape`: this one is `tf.sin` and `tf.math.sin`. What is neither a function
nor a class has its public names in a dict named `PUBLISHED` at the end of its module:

    PUBLISHED = {"float32": float32, "array_api.float32": float32}

`tools/names.py` reads both from the source. Everything may use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Definition = TypeVar("Definition")


def published(*names: str) -> Callable[[Definition], Definition]:
    """Says under which names a function or a class is public, and leaves it as it is."""
    return _unchanged


def _unchanged(definition: Definition) -> Definition:
    return definition


def shown(names: Iterable[str], *internal: str) -> list[str]:
    """What `dir`, and so an editor's completion, lists of an object: without its internal names."""
    return [name for name in names if name not in internal and (name[0] != "_" or name[:2] == "__")]
