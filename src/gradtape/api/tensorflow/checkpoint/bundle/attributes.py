"""The variables of a Keras object that a checkpoint of TensorFlow's has under the same attributes.

TensorFlow follows the attributes of layers, models and optimizers: `l1`, and of that `_kernel`.
Keras 3 has the same attributes here. Keras 2 has some without the underscore, and numbers the
layers of its functional models, also those that have weights. An exported model has lists of its
variables.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradtape.api.tensorflow.checkpoint.layout import GraphNode
from gradtape.api.tensorflow.checkpoint.object_graph import (
    identity,
    is_keras_like,
    variable_of,
)

_NUMBERED = "layer_with_weights-"
_IN_ORDER = "_variables"
_LISTS = ("trainable_variables", "non_trainable_variables")


def by_attribute(nodes: Sequence[GraphNode], number: int, thing: Any) -> Iterator[tuple[Any, int]]:
    """Each variable below a Keras object that the file has too, and its node there."""
    queue = deque([(thing, number)])
    seen: set[int] = set()
    while queue:
        held, at = queue.popleft()
        if identity(held) in seen:
            continue
        seen.add(identity(held))
        if variable_of(held) is not None:
            if nodes[at].tensor is not None:
                yield held, at
            continue
        for name, child in nodes[at].children.items():
            found = _attribute(held, name, len(nodes[child].children))
            if found is not None:
                queue.append((found, child))


def _attribute(thing: Any, name: str, below: int) -> Any:
    """What a thing has under a name of the file; `below` is how many objects the file has there."""
    if isinstance(thing, Mapping):
        return thing.get(name)
    if isinstance(thing, (list, tuple)):
        return thing[int(name)] if name.isdecimal() and int(name) < len(thing) else None
    if not hasattr(thing, "__dict__"):
        return None
    if name.startswith(_NUMBERED):
        weighted = [layer for layer in getattr(thing, "layers", ()) if layer.weights]
        return _attribute(weighted, name.removeprefix(_NUMBERED), below)
    if name in _LISTS and is_keras_like(thing):
        listed = list(getattr(thing, name, ()))
        return listed if len(listed) == below else None
    own = vars(thing)
    found = own.get(name, own.get(f"_{name}"))
    if name == _IN_ORDER and (not isinstance(found, list) or len(found) != below):
        return None  # an optimizer of Keras 2 has others there, and the same ones by name
    return found
