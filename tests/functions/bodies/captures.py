"""The ways in which a body gets at a value that was computed before it,
as pieces of the source of `constructs.py`.
"""

from __future__ import annotations

import linecache
from itertools import count as numbers
from typing import Any, NamedTuple

from .constructs import CONSTRUCTS


class Capture(NamedTuple):
    hold: str  # statements before the branch or loop
    read: str  # what the body applies the op to
    write: str = "y"  # where the result goes: for most captures to the place that the body read
    let_go: str = ""  # what becomes of that place before the function ends
    parameter: str = ""


VALUE = "tf.sin(x) + 0.5"

CAPTURES = {
    "argument": Capture("", "{argument}"),
    "closure": Capture(f"c = {VALUE}", "c"),
    "rebound closure": Capture(f"c = {VALUE}", "c", "c", "c = None"),
    "attribute": Capture(f"state.c = {VALUE}", "state.c", "state.c", "state.c = None"),
    "dict": Capture(f'd = {{{{"c": {VALUE}}}}}', 'd["c"]', 'd["c"]', 'd["c"] = None'),
    "list": Capture(f"items = [{VALUE}]", "items[0]", "items[0]", "items[0] = None"),
    "global": Capture(f"global HELD\nHELD = {VALUE}", "HELD", "HELD", "HELD = None"),
    "default argument": Capture(f"c = {VALUE}", "c", "y", "c = None", parameter="c=c"),
    "Variable in a rule": Capture("", "{argument}"),  # the rule of the op reads it: see body_ops.py
}


class State:
    """An object with attributes, such as the layer of a recurrent network that keeps its state."""

    c: Any = None


def source(construct: str, capture: str) -> str:
    """The source of `f` for a construct that captures in a certain way."""
    shape, how = CONSTRUCTS[construct], CAPTURES[capture]
    read = how.read.format(argument=shape.argument)
    hold, applied = how.hold.format(), f"op({read})"
    # A statement has no parameters: a function that it calls has them.
    if how.parameter and not shape.takes_parameters:
        hold, applied = (
            f"{hold}\n\ndef with_default({how.parameter}):\n    return {applied}\n",
            "with_default()",
        )
    if shape.accumulates and how.write == "y":  # nothing is there yet that could be added to
        hold = f"{hold}\n{how.write} = x"
    pieces = {
        "hold": hold,
        "parameter": how.parameter,
        "applied": applied,
        "write": how.write,
        "let_go": f"result = {how.write}\n{how.let_go}",
    }
    lines: list[str] = []
    for line in shape.template.strip("\n").splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines += [
            (indent + part).rstrip() for part in line.strip().format(**pieces).splitlines()
        ] or [""]
    return "\n".join(lines) + "\n"


_numbers = numbers()


def function(construct: str, capture: str, names: dict[str, Any]) -> Any:
    """`f` with the names that its source refers to; `inspect.getsource` finds the source."""
    text = source(construct, capture)
    path = f"<{construct}, {capture}, {next(_numbers)}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    namespace = {"__name__": __name__, "state": State(), **names}
    exec(compile(text, path, "exec"), namespace)
    return namespace["f"]
