"""`Reference`: what `x.ref()` returns."""

from __future__ import annotations

from typing import Any


class Reference:
    """A hashable stand-in for a Tensor or Variable; `deref()` gives it back."""

    __slots__ = ("_object",)

    def __init__(self, referred: Any) -> None:
        self._object = referred

    def deref(self) -> Any:
        return self._object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._object!r}>"
