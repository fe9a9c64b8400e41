"""Structures of specs and plain values as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradtape import dtypes
from gradtape.shapes import TensorSpec

_PLAIN = (bool, int, float, str, type(None))


def to_json(structure: Any, what: str) -> Any:
    """A structure of lists, tuples, dicts, TensorSpecs and plain values; `what` names it in an
    error.
    """
    if isinstance(structure, TensorSpec):
        shape = None if structure.shape.rank is None else list(structure.shape)
        return {"spec": [shape, structure.dtype.name, structure.name]}
    if isinstance(structure, _PLAIN):
        if isinstance(structure, float) and structure - structure != 0:
            return {"float": str(structure)}  # JSON has no NaN and no infinity
        return {"value": structure}
    if isinstance(structure, (list, tuple)):
        kind = "list" if isinstance(structure, list) else "tuple"
        return {kind: [to_json(part, what) for part in structure]}
    if isinstance(structure, Mapping):
        if not all(isinstance(key, str) for key in structure):
            raise TypeError(f"{what}: a dict in a SavedModel has strings as its keys.")
        return {"dict": {key: to_json(part, what) for key, part in structure.items()}}
    if isinstance(structure, dtypes.DType):
        return {"dtype": structure.name}
    raise TypeError(
        f"{what}: a SavedModel can hold tensors, numbers, strings, None, and lists, tuples and "
        f"dicts of them, got {structure!r} of type {type(structure).__name__}."
    )


def from_json(entry: Any) -> Any:
    """The structure that an entry describes, or ValueError."""
    if not isinstance(entry, dict) or len(entry) != 1:
        raise ValueError("an argument or a result is not described")
    ((kind, value),) = entry.items()
    if kind == "spec":
        shape, dtype, name = value
        return TensorSpec(shape, dtypes.as_dtype(dtype), name)
    if kind == "value" and isinstance(value, _PLAIN):
        return value
    if kind == "dtype":
        return dtypes.as_dtype(value)
    if kind == "float" and value in ("nan", "inf", "-inf"):
        return float(value)
    if kind in ("list", "tuple") and isinstance(value, list):
        parts = [from_json(part) for part in value]
        return parts if kind == "list" else tuple(parts)
    if kind == "dict" and isinstance(value, dict):
        return {key: from_json(part) for key, part in value.items()}
    raise ValueError(f"an argument or a result is of the unknown kind {kind!r}")
