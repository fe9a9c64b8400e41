"""Division that truncates towards 0, and its remainder."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.ops.declare import binary


def _truncatediv(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return xp.trunc(x / y)
    _refuse_zero(xp, y)
    quotient = x // y
    return quotient + ((quotient < 0) & (quotient * y != x)).astype(quotient.dtype)


def _truncatemod(xp: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        _refuse_zero(xp, y)
    return xp.fmod(x, y)


def _refuse_zero(xp: Any, y: Any) -> None:
    """NumPy would divide by an integer zero and answer 0; XLA cannot refuse it."""
    if xp is np and not np.all(y):
        raise ValueError("integer division by zero")


truncatediv = binary("truncatediv", _truncatediv, kinds="iufV")
truncatemod = binary(
    "truncatemod", _truncatemod, lambda g: g, lambda g, x, y: -g * truncatediv(x, y), kinds="iufV"
)
