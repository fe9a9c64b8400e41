"""`Found`: what type checkers know of a solver's result."""

from __future__ import annotations

from typing import Any, Protocol

from gradtape.core.tensor import Tensor


class Found(Protocol):
    """SciPy's OptimizeResult, with Tensors."""

    x: Tensor
    fun: Tensor
    root: Tensor
    success: Any
    message: str
    derivative: str

    def __getattr__(self, name: str) -> Any: ...

    def __getitem__(self, name: str) -> Any: ...
