"""Ops that refuse some values and hand on the others as they are."""

from __future__ import annotations

from typing import Any

from gradtape.errors import invalid_argument
from gradtape.ops.batching import as_it_is
from gradtape.ops.declare import op


def _check_numerics(xp: Any, x: Any, *, message: str) -> Any:
    if not xp.isfinite(x).all():
        found = [name for name, test in (("Inf", xp.isinf), ("NaN", xp.isnan)) if test(x).any()]
        raise invalid_argument(f"{message} : the tensor has {' and '.join(found)} values.")
    return x


check_numerics = op(
    "check_numerics",
    _check_numerics,
    [lambda g, message: check_numerics(g, message=f"In the gradient of check_numerics: {message}")],
    linear=True,
    moves=True,
    batch=as_it_is,
)
