"""What the page of `tape.show` shows, as plain data: collected from the recording, and from what
the rest of this package finds out about it. How it looks is the page's own matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape.core.location import Location
from gradtape.core.node import Node
from gradtape.core.recording import Recording
from gradtape.core.tape_arguments import leaves_of
from gradtape.core.thread import here
from gradtape.core.variable import Variable
from gradtape.inspect.findings import Finding, found_in
from gradtape.inspect.grouping import Group, OpSite, groups_of
from gradtape.inspect.listing import Listing
from gradtape.inspect.memory import TapeMemory, memory
from gradtape.inspect.norms import Norms, dtype_and_shape
from gradtape.inspect.profile import profile as Profile  # noqa: N812 - it is a class
from gradtape.inspect.search import seed_from

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape
    from gradtape.inspect.question import Place

_MARKS = {
    "none": "None", "vanishing": "vanishes", "exploding": "explodes", "zero": "zero",
    "failed": "fails",
}  # fmt: skip
_NOWHERE = Location("", 0, "")


class PageQuestion(NamedTuple):
    """What `tape.show` was asked: the gradients of which targets by which sources, if any."""

    targets: Sequence[Any]
    sources: Sequence[Any] | None
    place: Place


def asked(target: Any, sources: Any, place: Place) -> PageQuestion:
    return PageQuestion(
        [] if target is None else leaves_of(target, "show: target"),
        None if sources is None else leaves_of(sources, "show: sources"),
        place,
    )


def picture(tape: GradientTape, question: PageQuestion, profile: Profile | None) -> dict[str, Any]:
    """Everything that a page shows of `tape`."""
    recording = tape._prepare("show")
    if here.state.trace is not None or recording.traced:
        raise RuntimeError(
            "show: a tape cannot be shown while a function is being traced, since there are no "
            "values yet. Call the function eagerly with tf.config.run_functions_eagerly(True)."
        )
    kept = memory(tape)  # before anything here refers to a Node
    norms, why_not = _norms(tape, question, recording)
    return _Picture(tape, recording, kept, norms).data(question, why_not, profile or _running())


def _running() -> Profile | None:
    """The profile that measures this thread now, if one does."""
    return next((o for o in here.state.observers if isinstance(o, Profile)), None)


def _norms(
    tape: GradientTape, question: PageQuestion, recording: Recording
) -> tuple[Norms | None, str | None]:
    """The norms of the gradients, or why there are none."""
    seeds: dict[Node, Any]
    if question.targets:
        with here.state.only([]):
            seeds, _ = tape._seeds(question.targets, None)
        if not seeds:
            return None, "The tape has recorded nothing that leads to the target."
    else:
        seeds = {n: seed_from(kept) for ref, kept in tape._asked if (n := ref()) is not None}
        if not seeds:
            return None, "Give the target, tape.show(target=loss), to see its gradients."
    norms = Norms(recording, seeds)
    error = norms.failure
    if error is None:
        return norms, None
    return norms, f"The backward walk failed with {type(error).__name__}: {error}"


class _Picture:
    """The Nodes of a recording, numbered in their order, and what is told about them."""

    def __init__(
        self, tape: GradientTape, recording: Recording, kept: TapeMemory, norms: Norms | None
    ) -> None:
        self.tape = tape
        self.kept = kept
        self.walked = norms
        self.norms = None if norms is None or norms.failure is not None else norms
        self.nodes = sorted(
            {n for scope in recording.scopes() for n in scope.nodes if n is not None},
            key=lambda node: node.number,
        )
        self.variables = {
            node: tape._variables[key]
            for key, node in tape._nodes.items()
            if key in tape._variables
        }
        self.index = {node: i for i, node in enumerate(self.nodes)}
        self.sources = self._sources(recording)
        self.index.update({node: -1 - i for i, node in enumerate(self.sources)})
        self.listing = Listing()
        self.places = [node.location() or _NOWHERE for node in self.nodes]

    def _sources(self, recording: Recording) -> list[Node]:
        """What is watched: the Variables, and the Tensors that some op used."""
        used = {
            parent
            for node in self.nodes
            for parent in node.parents
            # What another tape watches is none of this one's.
            if parent is not None and parent.rule is None and recording in parent.scope
        }
        return sorted(used | self.variables.keys(), key=lambda node: node.number)

    def data(
        self, question: PageQuestion, why_not: str | None, profile: Profile | None
    ) -> dict[str, Any]:
        norms = self.norms
        findings = found_in(
            self.tape, question.targets, question.sources, question.place, self.walked,
            list(zip(self.nodes, self.places, strict=True)),
            {node: variable.name for node, variable in self.variables.items()},
        )  # fmt: skip
        rows, groups, row_of = self._rows()
        times = [] if profile is None else self._times(profile)
        buffers = self._buffers()
        unwatched = self._unwatched(question)
        apart = {id(source): len(self.sources) + i for i, source in enumerate(unwatched)}
        marks = [self._finding(finding, apart) for finding in findings]
        why = {mark["source"]: f.why for mark, f in zip(marks, findings, strict=True) if f.why}
        sources = [*map(self._source, self.sources), *map(_source_apart, unwatched)]
        return {
            "totals": {
                "ops": len(self.nodes),
                "bytes": self.kept.total,
                "shared": self.kept.shared,
                "seconds": None if profile is None else profile.seconds,
                "seed": None if norms is None else number(norms.seed),
            },
            "noGradients": why_not,
            "groups": [
                {"kind": g.kind, "title": g.title, "detail": g.detail} for g in groups
            ],
            "rows": rows,
            "ops": self._ops(row_of),
            "sources": [source | {"why": why.get(i)} for i, source in enumerate(sources)],
            "times": times,
            "buffers": buffers,
            "findings": marks,
            "files": self.listing.files(),
        }  # fmt: skip

    def _rows(self) -> tuple[list[dict[str, Any]], list[Group], list[int]]:
        """The lines of each group, the groups, and the line of each op."""
        names = {node: v.name for node, v in self.variables.items()}
        ops = [
            OpSite(place, [names[p] for p in node.parents if p is not None and p in names])
            for node, place in zip(self.nodes, self.places, strict=True)
        ]
        groups: dict[Group, int] = {}
        found: dict[tuple[int, str, int], int] = {}
        rows: list[dict[str, Any]] = []
        row_of = []
        for op, group in zip(ops, groups_of(ops), strict=True):
            number_of_group = groups.setdefault(group, len(groups))
            file, line, function = op.place
            key = number_of_group, file, line
            if key not in found:
                found[key] = len(rows)
                rows.append({
                    "group": number_of_group, "file": self.listing.file(file, line), "line": line,
                    "function": function,
                })  # fmt: skip
            row_of.append(found[key])
        return rows, list(groups), row_of

    def _ops(self, row_of: list[int]) -> dict[str, Any]:
        """The ops by column: many of them are the same, and there may be many ops."""
        names, shapes = _Words(), _Words()
        shown = {} if self.norms is None else self.norms.shapes
        kept = [self.kept.by_number.get(node.number, (0, 0)) for node in self.nodes]
        return {
            "name": [names.number(node.rule.name if node.rule else "") for node in self.nodes],
            "names": names.words,
            "row": row_of,
            "shape": [shapes.number(shown.get(node, "")) for node in self.nodes],
            "shapes": shapes.words,
            "bytes": [own for own, _ in kept],
            "shared": [shared for _, shared in kept],
            "norm": [self._norm(node) for node in self.nodes],
            "parents": [
                list(dict.fromkeys(self.index[p] for p in node.parents if p in self.index))
                for node in self.nodes
            ],
        }

    def _norm(self, node: Node) -> float | str | None:
        found = None if self.norms is None else self.norms.norms.get(node)
        return None if found is None else number(found)

    def _source(self, node: Node) -> dict[str, Any]:
        variable = self.variables.get(node)
        place = node.location()
        shape = "" if self.norms is None else self.norms.shapes.get(node, "")
        if variable is not None:
            shape = _shape_of(variable)
        return {
            "name": "watched tensor" if variable is None else variable.name.removesuffix(":0"),
            "shape": shape,
            "norm": self._norm(node),
            "place": None if place is None else self._place(place),
        }

    def _place(self, place: Location) -> dict[str, int]:
        return {"file": self.listing.file(place.file, place.line), "line": place.line}

    def _times(self, profile: Profile) -> list[dict[str, Any]]:
        """The time of each line of the files that the tape's ops are in."""
        files = {place.file for place in self.places}
        found: dict[tuple[str, int], list[float]] = {}
        for row in profile.rows:
            if row.file in files:
                sums = found.setdefault((row.file, row.line), [0.0, 0.0, 0.0, 0, 0])
                figures = row.forward, row.backward, row.compiling, row.calls, row.pulls
                for i, figure in enumerate(figures):
                    sums[i] += figure
        names = ("forward", "backward", "compiling", "calls", "pulls")
        return [
            {"file": self.listing.file(file, line), "line": line}
            | dict(zip(names, sums, strict=True))
            for (file, line), sums in found.items()
        ]

    def _buffers(self) -> list[dict[str, Any]]:
        return [
            {
                "file": self.listing.file(row.file, row.line),
                "line": row.line,
                "op": row.op,
                "array": f"{row.dtype}[{', '.join(map(str, row.shape))}]",
                "asked": ", ".join(map(str, row.asked)),
                "bytes": row.bytes,
                "shared": row.shared,
                "count": row.buffers,
            }
            for row in self.kept.rows
        ]

    def _unwatched(self, question: PageQuestion) -> list[Any]:
        """What no gradient can reach: Variables that are watched in vain, and sources that the
        question names and the tape does not follow.
        """
        found = [v for key, v in self.tape._variables.items() if key not in self.tape._nodes]
        found += [s for s in question.sources or () if self.tape._node_of(s) not in self.index]
        return list({id(source): source for source in found}.values())

    def _finding(self, finding: Finding, apart: dict[int, int]) -> dict[str, Any]:
        source = next((-1 - self.index[n] for n in finding.sources if n in self.index), None)
        return {
            "kind": finding.kind,
            "mark": finding.mark or _MARKS[finding.kind],
            "title": finding.title,
            "text": finding.text,
            "place": None if finding.place is None else self._place(finding.place),
            "ops": sorted(self.index[node] for node in finding.nodes if node in self.index),
            "source": apart.get(finding.of or 0) if source is None else source,
        }


def _source_apart(source: Any) -> dict[str, Any]:
    """A source that the tape does not follow."""
    name = source.name.removesuffix(":0") if isinstance(source, Variable) else "a tensor"
    return {"name": name, "shape": _shape_of(source), "norm": None, "place": None}


class _Words:
    """Words that occur many times, numbered."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        return self._numbers.setdefault(word, len(self._numbers))

    @property
    def words(self) -> Iterable[str]:
        return list(self._numbers)


def _shape_of(source: Any) -> str:
    try:
        return dtype_and_shape(source.array)
    except RuntimeError:  # on a device that is gone, for example
        return ""


def number(value: float) -> float | str:
    """A number for strict JSON, which has no NaN and no infinity; four digits are enough."""
    if math.isfinite(value):
        return float(f"{value:.4g}")
    return "NaN" if math.isnan(value) else "Infinity"
