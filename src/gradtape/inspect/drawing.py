"""What a tape recorded as a graph for drawing: nodes with names in nested scopes, and their inputs.

What draws it, such as TensorBoard, is the caller's matter.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape.core.location import Location
from gradtape.inspect.grouping import OpSite, groups_of

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./-]+")
_NOWHERE = Location("", 0, "")


class Drawn(NamedTuple):
    """One node: its name, with `/` between scopes, its op, and the names of its inputs.

    `shapes` has the dtype and the shape of each result, where they are known, and `place` the line
    of code.
    """

    name: str
    op: str
    inputs: list[str]
    shapes: list[tuple[Any, tuple[int, ...]]] = []  # noqa: RUF012 - nobody changes it
    place: str = ""


class Names:
    """Names that differ from each other: the second `add` is `add_1`."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def new(self, wanted: str) -> str:
        """A name that has not been given yet."""
        clean = _NOT_IN_NAMES.sub("_", wanted).strip("_/-.") or "node"
        while True:
            number = self._seen[clean]
            self._seen[clean] += 1
            found = f"{clean}_{number}" if number else clean
            if not number or found not in self._seen:
                self._seen[found] += bool(number)
                return found


def drawn_recording(tape: GradientTape) -> list[Drawn]:
    """The ops that a tape recorded, in the scopes of the layers and functions that ran them."""
    recording = tape._prepare("graph")
    nodes = sorted(
        {node for scope in recording.scopes() for node in scope.nodes if node is not None},
        key=lambda node: node.number,
    )
    variables = {
        node: tape._variables[key] for key, node in tape._nodes.items() if key in tape._variables
    }
    places = [node.location() or _NOWHERE for node in nodes]
    names, found = Names(), list[Drawn]()
    given: dict[Any, str] = {}
    for node in sorted(variables, key=lambda node: node.number):
        variable = variables[node]
        given[node] = names.new(variable.name.removesuffix(":0"))
        shape = [(variable.dtype, tuple(variable.shape))]
        found.append(Drawn(given[node], "Variable", [], shape))
    sites = [
        OpSite(place, [variables[p].name for p in node.parents if p in variables])
        for node, place in zip(nodes, places, strict=True)
    ]
    scopes = Names()
    of_group: dict[Any, str] = {}
    for node, place, group in zip(nodes, places, groups_of(sites), strict=True):
        if node.rule is None:
            continue
        for parent in node.parents:
            if parent is not None and parent.rule is None and parent not in given:
                given[parent] = names.new("watched_tensor")
                found.append(Drawn(given[parent], "Placeholder", []))
        scope = of_group.setdefault(group, "") or scopes.new(group.path or group.title)
        of_group[group] = scope
        given[node] = names.new(f"{scope}/{node.rule.name}")
        inputs = [given[parent] for parent in node.parents if parent in given]
        where = f"{place.file}:{place.line}" if place.line else ""
        found.append(Drawn(given[node], node.rule.name, inputs, place=where))
    return found
