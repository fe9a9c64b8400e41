"""The objects of a checkpoint that TensorFlow wrote, as `restoring` follows them.

Modules, lists and dicts have the same names there as here. Keras's objects do not: here they hold
their variables by path. So a file's variables are also known by the full names that Keras gave
them, which are those paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gradtape.api.tensorflow.checkpoint.bundle import wire
from gradtape.api.tensorflow.checkpoint.bundle.reader import OBJECT_GRAPH, Bundle
from gradtape.api.tensorflow.checkpoint.layout import DamagedError, GraphNode
from gradtape.api.tensorflow.checkpoint.object_graph import without_counters

_VALUE = "VARIABLE_VALUE"


class ObjectGraph(NamedTuple):
    """The objects, the first being the root, and the full names of those that are variables."""

    nodes: Sequence[GraphNode]
    full_names: Mapping[int, str]


def read_graph(bundle: Bundle) -> ObjectGraph | None:
    """The objects of a checkpoint; None if it has values by name only, as those before 2.0."""
    if OBJECT_GRAPH not in bundle.entries:
        return None
    entry = bundle.entries[OBJECT_GRAPH]
    if entry.dtype != "string" or entry.shape:
        raise DamagedError("its objects are not a text")
    messages = wire.parts(wire.grouped(bundle.read(OBJECT_GRAPH)[()]).get(1))
    nodes: list[GraphNode] = []
    names: dict[int, str] = {}
    for message in messages:
        said = wire.grouped(message)
        children = dict(_child(child, len(messages)) for child in wire.parts(said.get(1)))
        key = None
        for attribute in wire.parts(said.get(2)):
            value = wire.grouped(attribute)
            if wire.text(value.get(1)) == _VALUE:
                key = wire.text(value.get(3))
                names[len(nodes)] = wire.text(value.get(2))
        if key is not None and key not in bundle.entries:
            raise DamagedError(f"an object has the value '{key}', which is not there")
        nodes.append(GraphNode(children, key))
    if not nodes:
        raise DamagedError("it has no objects")
    return ObjectGraph(nodes, names)


def _child(message: bytes, count: int) -> tuple[str, int]:
    said = wire.grouped(message)
    node = wire.number(said.get(1))
    if not 0 <= node < count:
        raise DamagedError("an object refers to one that does not exist")
    return wire.text(said.get(2)), node


def by_path(
    nodes: Sequence[GraphNode], full_names: Mapping[int, str], number: int, paths: Iterable[str]
) -> dict[str, int]:
    """The variables below an object of a file by the paths that Keras gives them here.

    Keras 3 puts a Sequential model's name before the paths of its variables, Keras 2 does not: it
    is added where all `paths` of the program begin with one name, and none in the file do.
    """
    below = [number]
    seen = {number}
    for at in below:  # grows as the loop goes on
        fresh = [child for child in nodes[at].children.values() if child not in seen]
        seen.update(fresh)
        below += fresh
    found: dict[str, int] = {}
    times: dict[str, int] = {}
    for at in below:
        name = full_names.get(at)
        if name is not None:
            times[name] = count = times.get(name, 0) + 1
            found[name if count == 1 else f"{name} ({count})"] = at
    models = _first_names(paths)
    if len(models) == 1 and not models & _first_names(found):
        (model,) = models
        return {f"{model}/{name}": at for name, at in found.items()}
    return found


def _first_names(paths: Iterable[str]) -> set[str]:
    return {without_counters(path.partition("/")[0]) for path in paths}
