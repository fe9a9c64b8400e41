"""The backend's base class of every Keras layer. Tapes and functions find a layer's Variables
without it; it has what `tf.Module` gives Keras's layers under TensorFlow.
"""

from typing import Any


class BackendLayer:
    """The base of Keras's layers."""

    @property
    def submodules(self) -> tuple[Any, ...]:
        """All layers inside this one."""
        layers: Any = self
        return tuple(layers._flatten_layers(include_self=False))
