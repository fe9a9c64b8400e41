"""Which objects an object holds, and under what names: the graph that a checkpoint follows to find
Variables.

It follows the attributes of Modules and Checkpoints, lists, tuples, dicts and deques, random
generators, and Keras objects. Keras is not imported: an object that has `variables`, each with a
`path`, counts as a Keras object. Everything else, such as numbers and strings, is ignored.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape.api.tensorflow.checkpoint.layout import GraphNode
from gradtape.core.module import Module
from gradtape.core.tensor import Tensor
from gradtape.core.variable import Variable

_PLAIN = (int, float, complex, str, bytes, type(None), np.ndarray, np.generic, Tensor)
_SEED = "seed_generator_state"
_COUNTER = re.compile(r"_\d+(?=[/_]|$)")


def variable_of(thing: Any) -> Variable | None:
    """The Variable that a thing is, or is a Keras variable around."""
    if isinstance(thing, Variable):
        return thing
    return thing.__gradtape_variable__ if _wraps_variable(thing) else None


def identity(thing: Any) -> int:
    """The same number for a Keras variable and for the Variable inside."""
    variable = variable_of(thing)
    return id(thing if variable is None else variable)


def is_followed(thing: Any) -> bool:
    """Whether a checkpoint looks at a thing at all."""
    if isinstance(thing, _PLAIN):
        return False
    return (
        isinstance(thing, (Variable, Module, Mapping, list, tuple, deque))
        or _wraps_variable(thing)
        or hasattr(type(thing), "__gradtape_children__")
        or has_state(thing)
        or is_keras_like(thing)
    )


def children(thing: Any) -> dict[str, Any]:
    """The things right below one that a checkpoint looks at, by name."""
    if isinstance(thing, Variable) or _wraps_variable(thing):
        return {}
    return {name: child for name, child in _named(thing) if is_followed(child)}


def _named(thing: Any) -> Iterator[tuple[str, Any]]:
    if hasattr(type(thing), "__gradtape_children__"):
        yield from thing.__gradtape_children__()
    elif isinstance(thing, Module):
        yield from vars(thing).items()
    elif isinstance(thing, Mapping):
        yield from _entries(thing)
    elif isinstance(thing, (list, tuple, deque)):
        for position, child in enumerate(thing):
            yield str(position), child
    elif is_keras_like(thing):
        yield from _of_keras(thing)
    else:
        yield "state", thing.state


def _entries(mapping: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for key, child in mapping.items():
        if not is_followed(child):
            continue
        if not isinstance(key, (str, int)):
            raise TypeError(
                f"The keys of a dict in a checkpoint must be strings or integers, got {key!r}: "
                "use its name as the key."
            )
        if str(key) in seen:
            raise ValueError(
                f"A checkpoint cannot tell the keys {str(key)!r} and {key!r} of a dict apart: "
                "rename one."
            )
        seen.add(str(key))
        yield str(key), child


def _of_keras(thing: Any) -> Iterator[tuple[str, Any]]:
    """A Keras object's variables by path, numbered where several have the same, and the optimizer
    that a model was compiled with.
    """
    times: dict[str, int] = {}
    for variable in thing.variables:
        times[variable.path] = number = times.get(variable.path, 0) + 1
        yield variable.path if number == 1 else f"{variable.path} ({number})", variable
    optimizer = getattr(thing, "optimizer", None)
    if optimizer is not None:
        yield "optimizer", optimizer


def _wraps_variable(thing: Any) -> bool:
    return hasattr(type(thing), "__gradtape_variable__")


def has_state(thing: Any) -> bool:
    """Whether it is a `tf.random.Generator` or a Keras `SeedGenerator`."""
    state = getattr(thing, "state", None)
    return isinstance(state, Variable) or _wraps_variable(state)


def is_seed(thing: Any) -> bool:
    """Whether it is the state of a Keras `SeedGenerator`."""
    return _wraps_variable(thing) and is_seed_path(getattr(thing, "path", ""))


def is_seed_path(path: str) -> bool:
    """Whether a path is that of such a state."""
    return path.endswith(_SEED)


def is_keras_like(thing: Any) -> bool:
    if isinstance(thing, Module):
        return False
    variables = getattr(thing, "variables", None)
    return isinstance(variables, (list, tuple)) and all(
        _wraps_variable(v) and hasattr(v, "path") for v in variables
    )


def keras_paths(below: Mapping[str, Any]) -> list[str]:
    """The names below a thing that are paths of Keras's variables."""
    return [
        name
        for name, child in below.items()
        if _wraps_variable(child) and name.startswith(getattr(child, "path", "/"))
    ]


def matched_names(below: Mapping[str, Any], saved: Sequence[str]) -> dict[str, str]:
    """The name in a file of each name below a thing.

    Keras numbers layers as a program makes them (`dense`, `dense_1`), so that a model made for the
    second time has other paths: where paths differ in such numbers alone and there are as many of
    them, they match in their order.
    """
    in_file = set(saved)
    matched = {name: name for name in below if name in in_file}
    paths = keras_paths(below)
    of_file = _alike([name for name in saved if name not in matched or name in paths])
    for kind, alike in _alike(paths).items():
        others = of_file.get(kind, [])
        if len(alike) == len(others) and set(alike) != set(others):
            matched |= dict(zip(alike, others, strict=True))
    return matched


def matched_seeds(below: Mapping[str, Any], saved: Sequence[str]) -> dict[str, str]:
    """`matched_names` of the states of Keras's `SeedGenerator`s while some may not be made yet:
    only where there are as many of a kind as in the file.

    Layers make them before they are built, and their paths are not those of their layers.
    """
    seeds = {name: child for name, child in below.items() if is_seed(child)}
    of_file = _alike([name for name in saved if is_seed_path(name)])
    as_many = (
        name
        for kind, alike in _alike(list(seeds)).items()
        for name in of_file.get(kind, ())
        if len(alike) == len(of_file[kind])
    )
    return matched_names(seeds, list(as_many))


def without_counters(path: str) -> str:
    """A path of Keras's without the numbers that it gives to names: `dense_1/kernel` is
    `dense/kernel`.
    """
    return _COUNTER.sub("", path)


def _alike(names: Sequence[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(without_counters(name), []).append(name)
    return groups


def graph_of(root: Any) -> tuple[list[GraphNode], dict[str, Any], list[Any]]:
    """Every object below `root`, the nearest first, each once; those with a value, by a key that
    is the path to it; and the things that the objects are.
    """
    nodes: list[GraphNode] = []
    leaves: dict[str, Any] = {}
    things, paths, number = [root], [""], {identity(root): 0}
    for thing, path in zip(things, paths, strict=True):  # both grow as the loop goes on
        below = {}
        for name, child in children(thing).items():
            if identity(child) not in number:
                number[identity(child)] = len(things)
                things.append(child)
                paths.append(f"{path}/{name}" if path else name)
            below[name] = number[identity(child)]
        key = None
        if variable_of(thing) is not None:
            key = _unused(path or "root", leaves)
            leaves[key] = thing
        nodes.append(GraphNode(below, key))
    return nodes, leaves, things


def _unused(key: str, taken: Mapping[str, Any]) -> str:
    """The key itself, unless names with slashes in them have led to the same one before."""
    number = 1
    unused = key
    while unused in taken:
        number += 1
        unused = f"{key} ({number})"
    return unused
