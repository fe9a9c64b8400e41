"""The names that TensorFlow has, from the list that `tools/tensorflow_names.py` writes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_LIST = Path(__file__).with_suffix(".txt")


@cache
def namespaces() -> dict[str, frozenset[str]]:
    """The public names of each namespace, which is relative to `tf`: `` is `tf` itself."""
    found = {}
    for line in _LIST.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            namespace, _, names = line.partition(": ")
            found[namespace.removeprefix("tf").removeprefix(".")] = frozenset(names.split())
    return found


@cache
def all_names() -> frozenset[str]:
    """Every public name, such as `math.sin`."""
    return frozenset(
        f"{namespace}.{name}".lstrip(".")
        for namespace, names in namespaces().items()
        for name in names
    )


def has(full: str) -> bool:
    """Whether TensorFlow has a name, such as `math.sin`."""
    namespace, _, name = full.removeprefix("compat.v2.").rpartition(".")
    return name in namespaces().get(namespace, ())


def is_namespace(full: str) -> bool:
    """Whether a name of TensorFlow's is a namespace, such as `math`."""
    full = full.removeprefix("compat.v2").lstrip(".")
    return full in namespaces() or full.startswith("compat.v1.keras")
