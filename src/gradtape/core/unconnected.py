"""`UnconnectedGradients`: the gradient where there is no path from the target to a source."""

from __future__ import annotations

from enum import Enum
from typing import Any

from gradtape.published import published


@published("UnconnectedGradients")
class UnconnectedGradients(Enum):
    """What the gradient of a source is that the target does not depend on: None, or zeros."""

    NONE = "none"
    ZERO = "zero"


Unconnected = UnconnectedGradients | str
"""What users pass for it."""
NONE = UnconnectedGradients.NONE


def as_unconnected(value: Any) -> UnconnectedGradients:
    if type(value) is UnconnectedGradients:
        return value
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise ValueError(
            "unconnected_gradients must be UnconnectedGradients.NONE or ZERO, or 'none' or "
            f"'zero', got {value!r}."
        ) from None
