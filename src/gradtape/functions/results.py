"""A function's results: which Tensors of them are outputs of its program, and how the outputs of a
call get the structure of what the Python function returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from gradtape import nest
from gradtape.convert import as_tensor, to_array
from gradtape.core.tape_arguments import source_object
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable
from gradtape.core.xla.tensor import XlaTensor
from gradtape.functions.autograph.rows import Progression
from gradtape.functions.composites import Opened, flatten_composites, opened
from gradtape.ops.broadcasting import identity


def output_of(leaf: Any, name: str) -> Any:
    """One leaf of a result as a Tensor; None and composites are returned unchanged."""
    leaf = source_object(leaf)
    if leaf is None or type(opened(leaf)) is Opened:
        return leaf
    if isinstance(leaf, Variable):
        return leaf.read_value()
    if isinstance(leaf, Tensor):
        return identity(leaf) if isinstance(leaf, XlaTensor) else leaf
    if isinstance(leaf, Progression):
        return as_tensor(leaf)
    if isinstance(leaf, (bool, int, float, complex, str, bytes, np.ndarray, np.generic)):
        return Tensor(to_array(leaf, argument=f"{name}: a result"))
    raise TypeError(
        f"{name}: a function must return tensors, numbers, None, or structures of them, got "
        f"{leaf!r} of type {type(leaf).__name__}."
    )


def planned(leaf: Any, outputs: list[Tensor], name: str) -> Callable[[list[Any]], Any]:
    """Adds a leaf's Tensors to the outputs; returns the function that rebuilds the leaf from the
    outputs of a call.
    """
    found = output_of(leaf, name)
    if found is None:
        return _always(None)
    if type(opened(found)) is Opened:
        parts, spec = flatten_composites(found)
        plan = [
            planned(part, outputs, name) if _is_array(part) else _always(part) for part in parts
        ]
        return lambda results: optree.tree_unflatten(spec, [make(results) for make in plan])
    if found.array.dtype == object:
        return _always(found)
    start = len(outputs)
    outputs.append(found)
    return lambda results: results[start]


def _is_array(part: Any) -> bool:
    return isinstance(source_object(part), (Tensor, Variable, np.ndarray))


def _always(value: Any) -> Callable[[list[Any]], Any]:
    return lambda results: value


def packer(
    result: Any, plan: Sequence[Callable[[list[Any]], Any]], count: int
) -> Callable[[list[Any]], Any]:
    """The function that gives a call's outputs the structure of the result."""
    if not nest.is_nested(result):
        return plan[0]
    flat = type(result) in (list, tuple) and count == len(result)
    if flat and all(isinstance(source_object(entry), (Tensor, Variable)) for entry in result):
        return (lambda results: results) if type(result) is list else tuple
    structure = nest.map_structure(lambda leaf: None, result)
    return lambda results: nest.pack_sequence_as(structure, [make(results) for make in plan])
