"""The public names: TensorFlow's most used ones are there, and a new or lost one is a visible change.

`tier1.txt` lists the symbols that nearly every user of a tape calls. `public_names.txt` lists every name of `gradtape` and of
its namespaces; after a change that is meant, write it anew with `python tests/test_public_names.py`.
"""

from functools import reduce
from pathlib import Path
from types import ModuleType

import pytest

import gradtape

HERE = Path(__file__).parent
TIER_1 = (HERE / "tier1.txt").read_text(encoding="utf-8").split()
PINNED = HERE / "public_names.txt"

# The packages that public names come from. They show in dir(gradtape), because Python puts a submodule on its package.
INTERNAL = {"api", "blocks", "core", "engines", "extend", "functions", "inspect", "ops", "shapes", "transforms"}


def public_names():
    """Every public name, sorted, such as `exp` and `math.exp`."""
    found = []
    for name in dir(gradtape):
        value = getattr(gradtape, name)
        is_module = isinstance(value, ModuleType)
        if name.startswith("_") or (is_module and name in INTERNAL):
            continue
        found.append(name)
        if is_module and name != "keras":  # Keras's own names are its own matter
            found.extend(f"{name}.{member}" for member in value.__all__)
    return sorted(found)


@pytest.mark.parametrize("symbol", TIER_1)
def test_tier_1(symbol):
    assert reduce(getattr, symbol.split("."), gradtape) is not None


def test_names_are_pinned():
    pinned = set(PINNED.read_text(encoding="utf-8").split())
    found = set(public_names())
    assert sorted(found - pinned) == [], "new public names: see this file's docstring"
    assert sorted(pinned - found) == [], "public names that are gone: see this file's docstring"


def test_namespaces_have_what_they_promise():
    missing = []
    for name in public_names():
        try:
            reduce(getattr, name.split("."), gradtape)
        except AttributeError:
            missing.append(name)
    assert missing == []


if __name__ == "__main__":
    PINNED.write_text("".join(f"{name}\n" for name in public_names()), encoding="utf-8")
