"""Generated code: a whole backward walk, for recordings of one structure: see `core.repeats`.

The steps are those of `ops.written_pulls`, one after the other, with a variable for each cotangent
in place of a dict by Node.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from textwrap import indent
from typing import Any

from gradtape.core.indexed_slices import RawSlices
from gradtape.core.node import Node
from gradtape.core.record import OutputRule
from gradtape.core.variable import ReadRule
from gradtape.core.walk import pull_step
from gradtape.ops.derivative import Derivative
from gradtape.ops.source import defined, tuple_text
from gradtape.ops.written_pulls import hiding_text, names_of, pull_text

_LASTING = (Derivative, OutputRule, ReadRule)  # rules that the next recording will have too

_PASSING = ("pulled", "s", "v")  # variables that a step lets go of

_numbers = count()
_FILES = 64  # that tracebacks find


def write_walk(
    order: list[Node], seeds: list[Node], wanted: set[Node]
) -> Callable[..., dict[Node, Any] | None] | None:
    """The walk over Nodes from seeds to all wanted sources, for recordings that have the same
    rules and parents; None if that is not worth writing.
    """
    names = {node: f"n{i}" for i, node in enumerate(order)}
    if not all(seed in names for seed in seeds) or not all(
        isinstance(node.rule, _LASTING) for node in order
    ):
        return None
    writer = _Writer(dict(names), seeds)
    compared = "".join(writer.compared(node) for node in order)
    steps = "".join(writer.step(node) for node in reversed(order))
    sources = writer.sources
    if wanted != set(sources) or not wanted <= writer.reached:
        return None
    given = " or ".join(f"{names[seed]} not in cotangents" for seed in seeds)
    inner = [f"g_{names[node]}" for node in order]
    outer = [f"g_{name}" for name in sources.values()]
    text = f"""
def walk_back(nodes, cotangents, wanted, release, watch):
    {tuple_text(names[node] for node in order)} = nodes
{compared}
    if len(cotangents) != {len(seeds)} or {given} or wanted != {{{", ".join(sources.values())}}}:
        return None
    {" = ".join([*inner, *outer])} = None
    owned = set()
{
        "".join(
            f'''
    g_{names[seed]} = cotangents.pop({names[seed]})'''
            for seed in seeds
        )
    }
{steps}
    found = {{{", ".join(f"{name}: g_{name}" for name in sources.values())}}}
    if {" or ".join(f"{g} is None" for g in outer)}:
        return {{node: g for node, g in found.items() if g is not None}}
    if release:
        for node in nodes:
            node.parents = ()
        nodes.clear()
    return found
"""
    return defined(f"walk_{next(_numbers) % _FILES}", "walk_back", text, writer.namespace)


class _Writer:
    """Writes the steps of one walk, and notes what they use."""

    def __init__(self, names: dict[Node, str], seeds: list[Node]) -> None:
        self.names = names
        self.reached = set(seeds)
        self._sparse = set(seeds)  # Nodes whose cotangent may be sparse
        self.sources: dict[Node, str] = {}
        self.namespace: dict[str, Any] = {"RawSlices": RawSlices, "pull_step": pull_step}
        self._rules: dict[Any, str] = {}

    def compared(self, node: Node) -> str:
        """Compares a Node's rule and parents; a source is whatever stands where it was first."""
        name = self.names[node]
        first = ""
        for i, parent in enumerate(node.parents):
            if parent is not None and parent not in self.names:
                source = self.names[parent] = self.sources[parent] = f"v{len(self.sources)}"
                first += f"""
    {source} = {name}.parents[{i}]"""
        if first:
            first = f"""
    if len({name}.parents) != {len(node.parents)}:
        return None
{first}"""
        parents = ("None" if p is None else self.names[p] for p in node.parents)
        return f"""
{first}
    if {name}.rule is not {self._rule(node.rule)} or {name}.parents != {tuple_text(parents)}:
        return None"""

    def _rule(self, rule: Any) -> str:
        """The name of a rule, which is also the prefix of what its lines use."""
        if rule not in self._rules:
            name = self._rules[rule] = f"rule_{len(self._rules)}"
            self.namespace[name] = rule
            if _is_written(rule):
                self.namespace |= names_of(rule.op, f"{name}_")
        return self._rules[rule]

    def step(self, node: Node) -> str:
        """The step of a Node, which reaches its parents."""
        name = self.names[node]
        rule: Any = node.rule
        release = f"""
    if release:
        {name}.saved = {name}.params = None"""
        if node not in self.reached:
            return release
        dense = ""
        if node in self._sparse and not rule.takes_slices:
            dense = f"""
        if type(g_{name}) is RawSlices:
            g_{name} = g_{name}.dense()"""
        lines = self._pulls(node) if _is_written(rule) else self._general(node)
        used = "".join(f"{variable} = " for variable in _PASSING if f"{variable} " in lines)
        return f"""
    if g_{name} is not None:
{dense}
{lines}
        g_{name} = {used}None
{release}"""

    def _pulls(self, node: Node) -> str:
        name = self.names[node]
        rule: Any = node.rule
        op, prefix = rule.op, f"{self._rule(rule)}_"
        saved = f"{name}.saved"
        text = indent(hiding_text(op, saved, prefix), "    ")
        for i, parent in enumerate(node.parents):
            if parent is None or op.pulls[i] is None:
                continue
            to = self.names[parent]
            if parent not in self.reached:
                text += pull_text(op, i, saved, f"g_{name}", f"g_{to}", prefix)
            else:
                text += f"""
{pull_text(op, i, saved, f"g_{name}", "pulled", prefix)}
        if pulled is not None:
            g_{to} = pulled if g_{to} is None else summed(g_{to}, pulled, {to}, owned)"""
            self.reached.add(parent)
            if not op.elementwise:
                self._sparse.add(parent)
        return text

    def _general(self, node: Node) -> str:
        """The step of a rule of another kind."""
        name = self.names[node]
        parents = {parent: self.names[parent] for parent in node.parents if parent is not None}
        before = "".join(
            f"""
        if g_{to} is not None:
            pulled[{to}] = g_{to}"""
            for parent, to in parents.items()
            if parent in self.reached
        )
        after = "".join(
            f"""
        g_{to} = pulled.get({to})"""
            for to in parents.values()
        )
        self.reached.update(parents)
        self._sparse.update(parents)
        return f"""
        pulled = {{}}
{before}
        pull_step({name}, g_{name}, pulled, owned, watch)
{after}"""


def _is_written(rule: Any) -> bool:
    return isinstance(rule, Derivative) and rule.op.pull_all is None and not rule.op.several
