"""What an audit found, as text, as JSON and as a page."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from gradtape.compat.audit.sources import Unread
from gradtape.compat.audit.uses import Use
from gradtape.compat.audit.verdicts import ABSENT, DIFFERS, THERE, Verdict, verdict_on

_MOST_PLACES = 5


class Name(NamedTuple):
    """A name, what is known of it, and where it is used."""

    name: str
    verdict: Verdict
    uses: Sequence[Use]


class Findings(NamedTuple):
    """What an audit found."""

    files: int
    names: Sequence[Name]
    unread: Sequence[Unread]
    lost: int = 0  # files of which nothing could be read

    def of(self, kind: str) -> list[Name]:
        """The names of one kind, those with most uses first."""
        fitting = [name for name in self.names if name.verdict.kind == kind]
        return sorted(fitting, key=lambda name: (-len(name.uses), name.name))


def collected(files: int, uses: Iterable[Use], unread: Sequence[Unread], lost: int = 0) -> Findings:
    """Findings from single uses."""
    by_name: dict[str, list[Use]] = defaultdict(list)
    for use in uses:
        by_name[use.name].append(use)
    names = [Name(name, verdict_on(name), found) for name, found in sorted(by_name.items())]
    return Findings(files, names, unread, lost)


def _spelled(name: str) -> str:
    return f"tensorflow.{name}" if name.startswith("python") else f"tf.{name}".rstrip(".")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def summary(findings: Findings) -> str:
    """One line."""
    counts = {kind: findings.of(kind) for kind in (THERE, DIFFERS, ABSENT)}
    words = ", ".join(
        f"{len(names)} {kind}" + (f" (in {_count(places, 'place')})" if names else "")
        for kind, names in counts.items()
        for places in [sum(len(name.uses) for name in names)]
    )
    text = f"{_count(findings.files, 'file')}, {_count(len(findings.names), 'name')}: {words}"
    if findings.unread:
        text += f"; {_count(len(findings.unread), 'file')} not read"
    return text


def text(findings: Findings, *, everything: bool = False) -> str:
    """For reading in a terminal."""
    lines: list[str] = []
    for kind in (ABSENT, DIFFERS, *([THERE] if everything else [])):
        names = findings.of(kind)
        if names:
            lines += [f"{kind}:", ""]
        for name in names:
            lines.append(f"  {_spelled(name.name)}  ({_count(len(name.uses), 'place')})")
            if name.verdict.sentence:
                lines.append(f"      {name.verdict.sentence}")
            shown = name.uses if everything else name.uses[:_MOST_PLACES]
            lines += [f"      {use.place}:{use.line}" for use in shown]
            if len(shown) < len(name.uses):
                lines.append(f"      and {len(name.uses) - len(shown)} more")
        if names:
            lines.append("")
    if findings.unread:
        lines += ["not read:", ""]
        lines += [f"  {place}: {reason}" for place, reason in findings.unread]
        lines.append("")
    return "\n".join([*lines, summary(findings)]) + "\n"


def as_json(findings: Findings) -> str:
    """For other programs."""
    value: dict[str, Any] = {
        "files": findings.files,
        "counts": {kind: len(findings.of(kind)) for kind in (THERE, DIFFERS, ABSENT)},
        "names": [
            {
                "name": _spelled(name.name),
                "verdict": name.verdict.kind,
                "sentence": name.verdict.sentence,
                "uses": [{"file": use.place, "line": use.line} for use in name.uses],
            }
            for name in findings.names
        ],
        "unread": [{"file": place, "reason": reason} for place, reason in findings.unread],
    }
    return json.dumps(value, indent=2) + "\n"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TensorFlow names of this project</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color-scheme: light dark; }}
h2 {{ margin-top: 2rem; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0;
         border-bottom: 1px solid #8884; }}
details {{ font-size: .9rem; }}
code {{ font-family: ui-monospace, monospace; overflow-wrap: anywhere; }}
</style>
<h1>TensorFlow names of this project</h1>
<p>{summary}.</p>
{sections}
</html>
"""


def as_html(findings: Findings) -> str:
    """A page that needs nothing else."""
    sections = [
        _section(kind.capitalize(), findings.of(kind))
        for kind in (ABSENT, DIFFERS, THERE)
        if findings.of(kind)
    ]
    if findings.unread:
        rows = "".join(
            f"<tr><td><code>{escape(place)}</code></td><td>{escape(reason)}</td></tr>\n"
            for place, reason in findings.unread
        )
        sections.append(f"<h2>Not read</h2>\n<table>\n{rows}</table>")
    return _PAGE.format(summary=escape(summary(findings)), sections="\n".join(sections))


def _section(title: str, names: Sequence[Name]) -> str:
    rows = "".join(_row(name) for name in names)
    head = "<tr><th>name</th><th>uses</th><th>what to do</th></tr>\n"
    return f"<h2>{title} ({len(names)})</h2>\n<table>\n{head}{rows}</table>"


def _row(name: Name) -> str:
    places = "<br>".join(f"<code>{escape(use.place)}:{use.line}</code>" for use in name.uses)
    return (
        f"<tr><td><code>{escape(_spelled(name.name))}</code></td><td>{len(name.uses)}</td>"
        f"<td>{escape(name.verdict.sentence)}<details><summary>where</summary>{places}</details>"
        "</td></tr>\n"
    )
