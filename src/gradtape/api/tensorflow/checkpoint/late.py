"""Keras objects that make variables after `restore`: which of them wait for values, and which names
of the file belong to layers that are not all built yet.

A Restoration leaves a note on a Keras object below which values wait. Keras's backend calls
`variables_made` when a layer or an optimizer has made its variables, before anything reads them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gradtape.api.tensorflow.checkpoint.object_graph import (
    is_seed_path,
    variable_of,
    without_counters,
)

_NOTE = "_gradtape_waiting"
# By identity, in the order of their restores: a later one gives its values after an earlier one.
_noted: dict[int, weakref.ref[Any]] = {}


def note(thing: Any, waiting: Callable[[Any], None] | None) -> None:
    """Has `waiting` called with a Keras object when variables were made; None: no longer."""
    _noted.pop(id(thing), None)
    vars(thing).pop(_NOTE, None)
    if waiting is not None:
        # Keras would follow what is assigned.
        object.__setattr__(thing, _NOTE, waiting)
        _noted[id(thing)] = weakref.ref(thing, _Gone(id(thing)))


class _Gone:
    """Removes the note of an object that was collected."""

    def __init__(self, key: int) -> None:
        self._key = key

    def __call__(self, reference: weakref.ref[Any]) -> None:
        if _noted.get(self._key) is reference:
            del _noted[self._key]


def variables_made(part: Any = None) -> None:
    """Gives new variables of Keras's the values of a checkpoint that wait for them: those of one
    layer or optimizer, and else of all.
    """
    if not _noted:
        return
    for reference in list(_noted.values()):
        thing = reference()
        waiting = None if thing is None else vars(thing).get(_NOTE)
        if waiting is not None and (part is None or any(part is one for one in _parts(thing))):
            try:
                waiting(thing)
            except BaseException:
                note(thing, None)  # said once, not again for each layer
                raise


def is_unfinished(held: Any) -> bool:
    """Whether a Keras object, or a layer inside it, has yet to make its variables."""
    return any(getattr(part, "built", True) is False for part in _parts(held))


def _parts(held: Any) -> Iterator[Any]:
    seen: set[int] = set()
    stack = [held]
    while stack:
        part = stack.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            stack.extend(_layers(part))
            stack.extend(
                inner
                for name in ("optimizer", "inner_optimizer")
                if (inner := getattr(part, name, None)) is not None
            )


def _layers(held: Any) -> Sequence[Any]:
    layers = getattr(held, "_layers", ())
    return layers if isinstance(layers, (list, tuple)) else ()


def by_layer(held: Any, saved: Sequence[str]) -> dict[int, str]:
    """The path in a file of each variable below a Keras object, by the variable's identity.

    Layers and the names in the paths are matched level by level: of one kind (`dense`, `dense_1`)
    in their order if there are as many, the layers that are not yet built among them, and else by
    equal names. So it is known what belongs to the first of them before the second is built.
    """
    tree: dict[str, Any] = {}
    for path in saved:
        if is_seed_path(path):  # not below its layer
            continue
        *above, last = path.split("/")
        level = tree
        for name in above:
            level = level.setdefault(f"{name}/", {})
        level[last] = path
    found: dict[int, str] = {}
    outer = [name for name in tree if name.endswith("/")]
    own = _kinds(tree).get(without_counters(str(getattr(held, "name", ""))))
    _take(held, tree[outer[0]] if own == outer and len(outer) == 1 else tree, found, {id(held)})
    return found


def _take(held: Any, tree: Mapping[str, Any], found: dict[int, str], seen: set[int]) -> None:
    """Matches what is below a layer with what is below a name."""
    times: dict[str, int] = {}
    own = vars(held)
    for variable in (
        *own.get("_trainable_variables", ()),
        *own.get("_non_trainable_variables", ()),
    ):
        name = variable.path.rpartition("/")[2]
        times[name] = count = times.get(name, 0) + 1
        path = tree.get(name if count == 1 else f"{name} ({count})")
        inner = variable_of(variable)
        if isinstance(path, str) and inner is not None:
            found[id(inner)] = path
    _match(_layers(held), tree, found, seen)


def _match(
    layers: Iterable[Any], tree: Mapping[str, Any], found: dict[int, str], seen: set[int]
) -> None:
    names = _kinds(tree)
    groups: dict[str, list[Any]] = {}
    for layer in layers:
        if id(layer) not in seen:
            seen.add(id(layer))
            groups.setdefault(without_counters(layer.name), []).append(layer)
    for kind, alike in groups.items():
        others = names.get(kind, [])
        equal = [f"{layer.name}/" for layer in alike]
        if not others:  # called by another name, or with no scope of its own
            for layer in alike:
                _take(layer, tree, found, seen)
        elif len(others) == len(alike):
            for layer, other in zip(alike, others, strict=True):
                _take(layer, tree[other], found, seen)
        elif set(equal) <= set(others):
            for layer, other in zip(alike, equal, strict=True):
                _take(layer, tree[other], found, seen)


def _kinds(tree: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names that have others below them, by kind."""
    kinds: dict[str, list[str]] = {}
    for name in tree:
        if name.endswith("/"):
            kinds.setdefault(without_counters(name[:-1]), []).append(name)
    return kinds
