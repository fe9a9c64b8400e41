"""`TapePage`: what `tape.show` returns, one HTML file that needs nothing else.

Text from the user's code goes into the file as JSON in which no character can end a script, and
reaches the document as text alone. Besides, the page's policy allows only the one script that is
named there by its hash, and nothing from a network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from gradtape.inspect.picture import asked, picture

if TYPE_CHECKING:
    from gradtape.core.tape import GradientTape
    from gradtape.inspect.profile import profile as Profile  # noqa: N812 - it is a class
    from gradtape.inspect.question import Place

SCRIPTS = (
    "tape.js", "folds.js", "wires.js", "words.js", "list.js", "graph.js", "chart.js", "code.js",
    "details.js", "page.js",
)  # fmt: skip
# What could end a script, or begin a comment in it. All that is not ASCII is escaped anyway.
_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}
_HEIGHT = 640


def show(
    tape: GradientTape,
    path: str | os.PathLike[str] | None,
    target: Any,
    sources: Any,
    profile: Profile | None,
    place: Place,
) -> TapePage:
    """What `GradientTape.show` does."""
    if path is not None:
        _check(path, "show")
    page = TapePage(picture(tape, asked(target, sources, place), profile))
    if path is not None:
        page.save(path)
    return page


class TapePage:
    """A tape as a page to look at: `html` is the whole page, and `data` what it shows.

    It says how things were when `show` was called, and keeps nothing of the tape alive.
    """

    path: str | None = None

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def html(self) -> str:
        """The page, with all that it needs."""
        style = _file("page.css")
        script = '"use strict";\n(() => {\n' + "".join(map(_file, SCRIPTS)) + "})();\n"
        parts = {
            "policy": (
                f"default-src 'none'; style-src '{_hash(style)}'; "
                f"script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
            ),
            "style": style,
            "data": json.dumps(self.data, allow_nan=False, separators=(",", ":")).translate(
                _UNSAFE
            ),
            "script": script,
        }
        before, *rest = _file("page.html").split("{{")
        pieces = [before]
        for part in rest:
            name, _, text = part.partition("}}")
            pieces += [parts[name], text]
        return "".join(pieces)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        _check(path, "save")
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes 4 ms
            file.write(self.html)
        self.path = os.fspath(path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that neither it nor the notebook changes the other."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="A tape" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0; border-radius: 8px"></iframe>'
        )

    def __repr__(self) -> str:
        ops, found = self.data["totals"]["ops"], len(self.data["findings"])
        says = "nothing found" if not found else f"{found} finding{'s' if found > 1 else ''}"
        where = "" if self.path is None else f", in {self.path}"
        return f"<TapePage: {ops} op{'' if ops == 1 else 's'}, {says}{where}>"


def _check(path: Any, method: str) -> None:
    """A number would be taken for an open file, which would then be closed."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"{method}: path must be the name of a file, a str or a PathLike, got {path!r}. What "
            "to differentiate is given by name: tape.show(target=loss)."
        )


def _file(name: str) -> str:
    return files("gradtape.inspect").joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How a page's policy names a script or a style."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
