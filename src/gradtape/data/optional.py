"""`Optional`: an element, or none."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape.core.tensor import Tensor
from gradtape.data.structure import Leaf, normalised, spec_of
from gradtape.errors import invalid_argument
from gradtape.published import published


class OptionalSpec:
    """What is known of an Optional: the specs of its value."""

    def __init__(self, element_spec: Any) -> None:
        self.element_spec = element_spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OptionalSpec) and self.element_spec == other.element_spec

    def __hash__(self) -> int:
        return hash(str(self.element_spec))

    def __repr__(self) -> str:
        return f"OptionalSpec({self.element_spec!r})"


@published("experimental.Optional", "data.experimental.Optional")
class Optional(Leaf):
    """An element that may not be there: what `get_next_as_optional` gives.

    >>> import gradtape as tf
    >>> first = tf.experimental.Optional.from_value(3)
    >>> bool(first.has_value()), int(first.get_value())
    (True, 3)
    >>> bool(tf.experimental.Optional.empty(tf.TensorSpec([], tf.int32)).has_value())
    False
    """

    def __init__(self, values: tuple[Any, ...], element_spec: Any) -> None:
        self._values = values
        self._spec = element_spec

    @staticmethod
    def from_value(value: Any) -> Optional:
        """An Optional that has a value."""
        element = normalised(value, "Optional.from_value: value")
        return Optional((element,), spec_of(element))

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """An Optional without a value."""
        return Optional((), element_spec)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value."""
        return Tensor(np.bool_(bool(self._values)))

    def get_value(self, name: str | None = None) -> Any:
        """The value, which must be there."""
        if not self._values:
            raise invalid_argument("Optional.get_value: this Optional has no value.")
        return self._values[0]

    @property
    def element_spec(self) -> Any:
        """The specs of the value."""
        return self._spec

    def __gradtape_spec__(self) -> OptionalSpec:
        return OptionalSpec(self._spec)
