"""Options of a Variable that matter only where there are several copies of it, as in TensorFlow's
distributed strategies.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from gradtape.published import published


@published("VariableSynchronization")
class VariableSynchronization(Enum):
    """When copies of a distributed variable are synchronised.

    A process has only one copy; the enum exists for compatibility.
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@published("VariableAggregation")
class VariableAggregation(Enum):
    """How copies of a distributed variable are combined."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def member(choices: type[Enum], value: Any, argument: str) -> Any:
    """A choice, given as itself or as its number; None is the first one."""
    if isinstance(value, choices):
        return value
    try:
        return choices(0 if value is None else value)
    except ValueError:
        raise ValueError(
            f"Variable: {argument} must be a {choices.__name__}, got {value!r}."
        ) from None
