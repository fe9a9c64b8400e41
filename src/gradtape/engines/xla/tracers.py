"""What stands for an array of a compiled program while it is traced: JAX's tracers, and the
placeholders of what the program takes in.

Ops ask about each of their arrays several times, so the answer is kept for each class.
"""

from __future__ import annotations

from enum import Enum
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from gradtape.engines.xla.loading import loaded


class _Kind(Enum):
    TRACER = "tracer"
    ARRAY = "array"
    OTHER = "other"


_kinds: dict[type, _Kind] = {}  # what its instances are, by a class
_placeholders: WeakValueDictionary[int, Any] = WeakValueDictionary()


def add_placeholder(array: Any) -> None:
    """Lets a JAX array stand for an input of a program."""
    _placeholders[id(array)] = array


def is_traced(value: Any) -> bool:
    """Whether a value is a tracer or a placeholder:
    it stands for an array that a compiled program will have.
    """
    kind = _kinds.get(type(value)) or _kind_of(type(value))
    return kind is _Kind.TRACER or (kind is _Kind.ARRAY and _placeholders.get(id(value)) is value)


def is_array(value: Any) -> bool:
    """Whether a value is a JAX array, and no tracer."""
    return (_kinds.get(type(value)) or _kind_of(type(value))) is _Kind.ARRAY


def _kind_of(known: type) -> _Kind:
    """What the instances of a class are to JAX, as far as it is loaded."""
    jax = loaded()
    if issubclass(known, (np.ndarray, np.generic)):
        kind = _Kind.OTHER
    elif jax is None:
        return _Kind.OTHER
    elif issubclass(known, jax.core.Tracer):
        kind = _Kind.TRACER
    else:
        kind = _Kind.ARRAY if issubclass(known, jax.Array) else _Kind.OTHER
    _kinds[known] = kind
    return kind
