"""Which Keras layer, or which function, each op of a recording belongs to.

A Node knows the code that ran it, and the Variables among its parents know their names; nothing
else was noted. Code in Keras's folder of layers, and a method `call`, name the class of a layer;
the path of a Variable that it reads, such as `net/dense_1/kernel`, names the layer itself. One of
Keras's layers without Variables is known by its class alone, and all other code by its function.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from gradtape.core.location import Location

_LAYERS = os.path.join("", "keras", "src", "layers", "")  # noqa: PTH118 - pathlib takes 4 ms

LAYER, FUNCTION = "layer", "function"


class OpSite(NamedTuple):
    """What is known of an op: its place, and the names of the Variables that it reads."""

    place: Location
    reads: Sequence[str]


class Group(NamedTuple):
    """Ops that are shown together: those of a layer, or of a function between two layers.

    `path` is the layer's path in its model, if a Variable tells it, and `part` counts the new
    layers that ran before a function's ops, so that what runs before a layer and what runs after it
    are not taken together.
    """

    kind: str
    name: str
    file: str
    path: str
    part: int

    @property
    def detail(self) -> str:
        """What the name alone does not say."""
        if self.kind == LAYER:
            return f"{self.name}, {self.path}" if self.path else "layer"
        return os.path.basename(self.file)  # noqa: PTH119

    @property
    def title(self) -> str:
        if self.path:
            return self.path.rpartition("/")[2]
        return self.name.rpartition("<locals>.")[2]


def groups_of(ops: Sequence[OpSite]) -> list[Group]:
    """The group of each op; the ops are in the order of recording."""
    paths = _paths(ops)
    seen: set[Group] = set()
    part = 0
    found = []
    for op, path in zip(ops, paths, strict=True):
        if path:
            group = Group(LAYER, _class(op.place), op.place.file, path, 0)
            if group not in seen:
                part += 1
                seen.add(group)
        elif _LAYERS in op.place.file:
            group = Group(LAYER, _class(op.place), op.place.file, "", part)
        else:
            group = Group(FUNCTION, op.place.function, op.place.file, "", part)
        found.append(group)
    return found


def _class(place: Location) -> str:
    """The class that a method belongs to, if it is one."""
    return place.function.rpartition("<locals>.")[2].partition(".")[0]


def _paths(ops: Sequence[OpSite]) -> list[str]:
    """The path of the layer that each op is part of; empty if no Variable tells it.

    Ops that follow each other in the code of one class are one call, or calls of several layers. A
    call of another layer begins where the class's code begins again, before another layer's
    Variable is read.
    """
    paths = [""] * len(ops)
    runs = [_layer_code(op.place) for op in ops]
    start = 0
    for i in range(1, len(ops) + 1):
        if i == len(ops) or runs[i] != runs[start]:
            if runs[start] is not None:
                _name_run(ops, paths, start, i)
            start = i
    return paths


def _layer_code(place: Location) -> tuple[str, str] | None:
    """The file and class of code that may be a layer's."""
    may_be = _LAYERS in place.file or place.function.endswith(".call")
    return (place.file, _class(place)) if may_be else None


def _name_run(ops: Sequence[OpSite], paths: list[str], start: int, end: int) -> None:
    """Names the ops of one class that follow each other."""
    begins, current = start, ""
    for i in range(start, end):
        path = next((p for p in map(_layer_path, ops[i].reads) if p), "")
        if path and current and path != current:
            first = ops[begins].place
            again = [
                k
                for k in range(begins + 1, i)
                if ops[k].place == first and ops[k - 1].place != first
            ]
            split = again[-1] if again else i
            paths[begins:split] = [current] * (split - begins)
            begins = split
        current = path or current
    paths[begins:end] = [current] * (end - begins)


def _layer_path(variable: str) -> str:
    """The path of a layer, from the name of its Variable: `net/dense` of `net/dense/kernel:0`."""
    return variable.rpartition("/")[0]
