"""The attributes of Keras objects that lead to their variables, beside the paths by which a
checkpoint knows those.

TensorFlow follows attributes: `l1`, and of that `_kernel`. A file has them too, so that a program
can make a part of a model by hand, as `Checkpoint(l1=Checkpoint(bias=...))`, and restore it. They
are objects below one that is named `.attributes`, as no variable is, and lead to the same values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradtape.api.tensorflow.checkpoint.layout import GraphNode
from gradtape.api.tensorflow.checkpoint.object_graph import (
    children,
    graph_of,
    has_state,
    identity,
    is_keras_like,
    variable_of,
)

ATTRIBUTES = ".attributes"


def keras_part(thing: Any) -> Any:
    """The Keras object that a thing is, or that is a Checkpoint's root; None if there is none."""
    if is_keras_like(thing):
        return thing
    follows = hasattr(type(thing), "__gradtape_children__")
    root = getattr(thing, "root", None) if follows else None
    return root if root is not None and is_keras_like(root) else None


def graph_with_attributes(root: Any) -> tuple[list[GraphNode], dict[str, Any]]:
    """What `graph_of` gives of objects and values, with the attributes of Keras objects."""
    nodes, leaves, things = graph_of(root)
    number = {identity(thing): at for at, thing in enumerate(things)}
    for at, thing in enumerate(things):
        held = None if variable_of(thing) is not None else keras_part(thing)
        more = [] if held is None else _attribute_nodes(held, len(nodes), number)
        if more:
            nodes[at].children[ATTRIBUTES] = len(nodes)
            nodes += more
    return nodes, leaves


def _attribute_nodes(held: Any, first: int, number: Mapping[int, int]) -> list[GraphNode]:
    """The objects that lead by attributes from a Keras object to its variables, itself the first;
    none if no attribute does.

    They are numbered from `first` on; `number` has the numbers of the variables, by identity.
    """
    own = {identity(child) for child in children(held).values() if variable_of(child) is not None}
    things, place = [held], {identity(held): 0}
    edges: list[list[tuple[str, int]]] = []
    leading: list[dict[str, int]] = []
    for thing in things:  # grows as the loop goes on
        below: list[tuple[str, int]] = []
        values: dict[str, int] = {}
        for name, child in _named(thing):
            if identity(child) in own:
                values |= dict.fromkeys(_spellings(thing, name), number[identity(child)])
            elif _is_container(child) or is_keras_like(child) or has_state(child):
                if identity(child) not in place:
                    place[identity(child)] = len(things)
                    things.append(child)
                below += [(s, place[identity(child)]) for s in _spellings(thing, name)]
        edges.append(below)
        leading.append(values)
    kept = _that_lead(edges, leading)
    if 0 not in kept:
        return []
    numbered = {at: first + position for position, at in enumerate(kept)}
    return [
        GraphNode({n: numbered[to] for n, to in edges[at] if to in numbered} | leading[at], None)
        for at in kept
    ]


def _that_lead(
    edges: Sequence[Sequence[tuple[str, int]]], leading: Sequence[Mapping[str, int]]
) -> list[int]:
    """The places from which a value can be reached, in their order."""
    above: list[list[int]] = [[] for _ in edges]
    for at, below in enumerate(edges):
        for _, to in below:
            above[to].append(at)
    stack = [at for at, values in enumerate(leading) if values]
    kept = set(stack)
    while stack:
        new = set(above[stack.pop()]) - kept
        kept |= new
        stack.extend(new)
    return sorted(kept)


def _named(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, Mapping):
        yield from ((name, child) for name, child in thing.items() if isinstance(name, str))
    elif _is_container(thing):
        yield from ((str(position), child) for position, child in enumerate(thing))
    else:
        for name, child in getattr(thing, "__dict__", {}).items():
            # Keras's own lists, as `_layers`, say where a layer stands, not what it is.
            if not (_is_container(child) and (name.startswith("_") or name == "variables")):
                yield name, child


def _is_container(thing: Any) -> bool:
    return isinstance(thing, (list, tuple, Mapping))


def _spellings(thing: Any, name: str) -> list[str]:
    """An attribute's name, and that of the property which reads it: `_kernel` and `kernel`."""
    public = name.removeprefix("_")
    if public != name and isinstance(getattr(type(thing), public, None), property):
        return [name, public]
    return [name]
