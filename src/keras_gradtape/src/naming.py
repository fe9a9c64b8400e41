"""`name_scope`: what the names of layers and Variables begin with, in a block that is left whenever
a signal arrives. Otherwise, after Ctrl-C, all later names would begin with it.
"""

from typing import Any

from keras.src.backend.common import global_state
from keras.src.backend.common import name_scope as common

from gradtape.extend import Block


class name_scope(Block, common.name_scope):  # noqa: N801 - Keras's name
    """Keras's own, left as a Block is."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._depths: list[int] = []  # how many scopes were open when it was entered

    def enter(self) -> None:
        """Opens the scope."""
        self._depths.append(len(_open()))
        common.name_scope.__enter__(self)

    def leave(self) -> None:
        """Closes the scope, and those within it that an exception has left open."""
        if self._depths:
            del _open()[self._depths[-1] :]
            self._depths.pop()


def _open() -> list[Any]:
    """The scopes that are open on this thread, from the outermost to the innermost."""
    stack: list[Any] = global_state.get_global_attribute(
        "name_scope_stack", default=[], set_to_default=True
    )
    return stack
