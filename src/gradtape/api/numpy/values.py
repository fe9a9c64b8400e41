"""NumPy functions for which gradtape has no derivative, run on the values of Tensors."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import Any

import numpy as np

from gradtape import nest
from gradtape.api.numpy.operands import values_of, with_defaults, wrapped
from gradtape.convert import is_tensor_like, operand
from gradtape.core.departures import leaving
from gradtape.core.tensor import Tensor


def on_values(called: Any, args: Iterable[Any], keywords: Any, name: str | None = None) -> Any:
    """NumPy's own function on the values; the arrays that it gives become Tensors,
    which no tape follows.
    """
    name = name or called.__name__
    read = nest.map_structure(
        lambda leaf: operand(leaf) if is_tensor_like(leaf) else leaf, [list(args), dict(keywords)]
    )
    arrays, options = nest.map_structure(
        lambda leaf: values_of(leaf, name, "its arguments") if isinstance(leaf, Tensor) else leaf,
        read,
    )
    result = called(*arrays, **options)
    if _has_numbers(result):  # truth values and integers have no derivative that could be missed
        for leaf in nest.flatten(read):
            if isinstance(leaf, Tensor) and leaf.node is not None:
                leaving(leaf, f"numpy.{name}")
    if options.get("out") is not None:
        return result
    widths = [
        leaf.dtype
        for leaf in nest.flatten([arrays, options])
        if isinstance(leaf, (np.ndarray, np.generic))
    ]
    return wrapped(_narrowed(result, widths))


def _narrowed(result: Any, given: list[Any]) -> Any:
    """Floating-point results that NumPy widened on its own account in gradtape's default dtype."""
    if isinstance(result, (np.ndarray, np.generic)) and result.dtype.kind in "fc":
        return result.astype(with_defaults(result.dtype, given), copy=False)
    if isinstance(result, (list, tuple)):
        entries = [_narrowed(entry, given) for entry in result]
        return type(result)(*entries) if hasattr(result, "_fields") else type(result)(entries)
    return result


def _has_numbers(result: Any) -> bool:
    """Whether there are floating-point or complex numbers in a result; of objects, those that are
    neither integers nor text.
    """
    if isinstance(result, (list, tuple)):
        return any(_has_numbers(entry) for entry in result)
    if isinstance(result, np.ndarray) and result.dtype.kind == "O":
        return not all(
            isinstance(entry, (int, np.integer, np.bool, str, bytes, NoneType))
            for entry in result.flat
        )
    return isinstance(result, (float, complex)) or getattr(
        getattr(result, "dtype", None), "kind", ""
    ) in ("f", "c")
