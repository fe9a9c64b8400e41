"""Writes `src/gradtape/compat/audit/differences.txt` from the table of docs/differences.md: which
names of TensorFlow's differ, and what is said of them there.

    python -m tools.audit_differences

The names are those in the first column, and those of `ALSO`.
"""

import re
from pathlib import Path

from gradtape.compat import tensorflow_names

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "differences.md"
LIST = ROOT / "src" / "gradtape" / "compat" / "audit" / "differences.txt"
HEAD = "# Written by `python -m tools.audit_differences` from docs/differences.md.\n"
NAMESPACES = ("", "nn", "math", "linalg", "random", "signal", "train", "autodiff", "debugging")

ALSO = {
    "indices and labels out of range": "function gather",
    "random numbers in a function": "random.Generator",
    "a VALID window": "nn.max_pool nn.max_pool2d nn.avg_pool nn.conv2d nn.convolution",
    "devices": "device",
    "warnings": "get_logger",
    "softmax cross entropy": "nn.softmax_cross_entropy_with_logits",
    "what a tape keeps alive": "config.experimental.get_memory_info",
}
"""Names of rows that say in words what they are about, by how such a row begins."""


def rows(page):
    """The cells of the first table, without its head."""
    table = page.partition("|---|")[2].partition("\n\n")[0]
    for line in table.splitlines()[1:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if len(cells) == 3:
            yield cells


def plain(markdown):
    """Markdown without the targets of links."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)


def names_of(cell):
    """The names of TensorFlow's that a cell has in backticks, or is about."""
    found = []
    for quoted in re.findall(r"`([^`]+)`", cell):
        own = quoted.removeprefix("tf.").partition("(")[0]
        places = [f"{namespace}.{own}".lstrip(".") for namespace in NAMESPACES]
        found += [name for name in places if tensorflow_names.has(name) or name == "__version__"]
    for beginning, names in ALSO.items():
        if cell.startswith(beginning):
            found += names.split()
    return sorted(set(found))


def text():
    """What the list should be."""
    lines = [
        f"{' '.join(names)}: {plain(cell)}: TensorFlow: {plain(theirs)}; gradtape: {plain(ours)}."
        for cell, theirs, ours in rows(PAGE.read_text(encoding="utf-8"))
        for names in [names_of(cell)]
        if names
    ]
    return HEAD + "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    LIST.write_text(text(), encoding="utf-8")
