"""The order of elements: the indices that would sort them.

The sorting itself is a gather.
"""

from __future__ import annotations

from typing import Any

from gradtape.ops.batching import as_it_is
from gradtape.ops.declare import op


def _argsort(xp: Any, x: Any, *, descending: bool) -> Any:
    """Equal elements keep their order, also from the largest down."""
    if not descending:
        return xp.argsort(x, axis=-1, stable=True)
    return x.shape[-1] - 1 - xp.flip(xp.argsort(xp.flip(x, -1), axis=-1, stable=True), -1)


argsort = op("argsort", _argsort, [None], batch=as_it_is)
