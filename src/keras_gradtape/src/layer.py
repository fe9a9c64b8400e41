"""The backend's base class of every Keras layer. Tapes and functions find a layer's Variables
without it; it has what `tf.Module` gives Keras's layers under TensorFlow, and tells checkpoints of
variables that are made after `restore`.
"""

from typing import Any

from keras.src.backend.common.stateless_scope import in_stateless_scope

from gradtape.extend import variables_made


class BackendLayer:
    """The base of Keras's layers."""

    @property
    def submodules(self) -> tuple[Any, ...]:
        """All layers inside this one."""
        layers: Any = self
        return tuple(layers._flatten_layers(include_self=False))

    def _post_build(self) -> None:
        if not in_stateless_scope():  # else the variables have no values yet: see Variable
            variables_made(self)
