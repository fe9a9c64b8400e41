"""`Engine`: what gradtape asks of an array library, and `engine_of`: which one computes with an
array.

There are two, a module each: `engines.numpy.engine` and `engines.xla.engine`. The second loads JAX
when it is first used. What code that knows no engine may ask of XLA's arrays and errors is here
too; only what is about XLA itself imports from `engines.xla`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gradtape.engines.numpy import engine as numpy_engine
from gradtape.engines.numpy.engine import Kernel
from gradtape.engines.xla import engine as xla_engine
from gradtape.engines.xla.engine import (
    EndedError,
    NotTraceableError,
    address_of,
    is_xla,
    waited_for,
)
from gradtape.engines.xla.engine import is_traced as is_traced_array
from gradtape.engines.xla.host import host_kernel

__all__ = [
    "NUMPY", "XLA", "EndedError", "Engine", "NotTraceableError", "address_of", "engine_of",
    "host_kernel", "is_traced_array", "is_xla", "waited_for",
]  # fmt: skip


class Engine(Protocol):
    """What computes with arrays of one kind."""

    def bind(self, kernel: Kernel) -> Callable[..., Any]:
        """A kernel as a function of this engine's arrays."""

    def run(self, kernel: Callable[..., Any], /, *arrays: Any, **params: Any) -> Any:
        """What a bound kernel gives, without warnings of overflow and the like."""

    def to_numpy(self, array: Any) -> Any:
        """The values as a NumPy array, or a NumPy scalar; shared where possible."""


NUMPY: Engine = numpy_engine
XLA: Engine = xla_engine


def engine_of(array: Any) -> Engine:
    """The engine that computes with an array."""
    return NUMPY if isinstance(array, (np.ndarray, np.generic)) else XLA
