"""The command `python -m gradtape audit`."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from gradtape.compat.audit import report
from gradtape.compat.audit.sources import Unread, codes, files
from gradtape.compat.audit.uses import Use, uses
from gradtape.compat.audit.verdicts import ABSENT

_STATUS = """\
exit status: 0 if every name is there, 1 if a name is absent, 2 if a path does not exist or nothing
could be read. What differs changes no status, nor does a file that could not be read beside others,
which is named."""


def audit(arguments: Sequence[str]) -> int:
    """Reads the files, writes the report, and gives the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m gradtape audit",
        description="Lists the names of TensorFlow that a project uses, and which are there.",
        epilog=_STATUS,
    )
    parser.add_argument("paths", nargs="+", metavar="path", help="files, notebooks and folders")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for other programs")
    form.add_argument("--html", action="store_true", help="a page")
    parser.add_argument("--all", action="store_true", help="also the names that are there")
    chosen = parser.parse_args(list(arguments))
    missing = [path for path in chosen.paths if not Path(path).exists()]
    if missing:
        print(f"gradtape audit: there is no {missing[0]!r}.", file=sys.stderr)  # noqa: T201
        return 2
    findings = audited(chosen.paths)
    if not findings.files:
        print("gradtape audit: there are no Python files here.", file=sys.stderr)  # noqa: T201
        return 2
    if chosen.json:
        written = report.as_json(findings)
    elif chosen.html:
        written = report.as_html(findings)
    else:
        written = report.text(findings, everything=chosen.all)
    encoding = sys.stdout.encoding or "utf-8"  # which may lack letters of a file's name
    sys.stdout.write(written.encode(encoding, "backslashreplace").decode(encoding))
    if findings.of(ABSENT):
        return 1
    return 2 if findings.lost == findings.files else 0


def audited(paths: Sequence[str]) -> report.Findings:
    """What the files of some paths use."""
    count, lost, found, unread = 0, 0, list[Use](), list[Unread]()
    # Syntax trees are many objects without cycles: looking for garbage among them would take a
    # third of the time of parsing, and find nothing.
    searching = gc.isenabled()
    try:
        gc.disable()
        for file in files(paths):
            count += 1
            pieces = list(codes(file))
            wrong = [piece for piece in pieces if isinstance(piece, Unread)]
            unread += wrong
            lost += bool(pieces) and len(wrong) == len(pieces)
            found += uses([piece for piece in pieces if not isinstance(piece, Unread)])
        return report.collected(count, found, unread, lost)
    finally:
        if searching:
            gc.enable()
