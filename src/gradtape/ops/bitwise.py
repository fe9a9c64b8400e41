"""Shifts of the bits of integers; `and`, `or`, `xor` and `not` are in `arithmetic`, since the
operators of booleans use them.
"""

from __future__ import annotations

from typing import Any

from gradtape.ops.declare import binary


def _within(xp: Any, x: Any, y: Any) -> Any:
    """As in TensorFlow, a shift by less than 0 is by 0,
    and one by all bits or more is by all but one.
    """
    return xp.clip(y, 0, 8 * x.dtype.itemsize - 1)


left_shift = binary("left_shift", lambda xp, x, y: xp.left_shift(x, _within(xp, x, y)), kinds="iu")
right_shift = binary(
    "right_shift", lambda xp, x, y: xp.right_shift(x, _within(xp, x, y)), kinds="iu"
)
