"""The room that a library takes on disk with everything it depends on,
by the files that its installer wrote down.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from benchmarks.libraries import Contender

_ROOT = Path(__file__).parent.parent


def sizes(contenders: Sequence[Contender]) -> dict[str, float]:
    """The bytes of each package; gradtape's without extras, and with the one that compiles."""
    found = {
        c.package: _of_closure([c.distribution or c.package])
        for c in contenders
        if c.package != "gradtape"
    }
    # gradtape runs from its sources here, so its files and its requirements are read from these
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = sum(float(path.stat().st_size) for path in (_ROOT / "src" / "gradtape").rglob("*.py"))
    needs, extra = project["dependencies"], project["optional-dependencies"]["xla"]
    return {
        "gradtape": own + _of_closure(needs),
        "gradtape[xla]": own + _of_closure([*needs, *extra]),
    } | found


def _of_closure(requirements: Iterable[str]) -> float:
    """The bytes of these distributions and of all that they require, each counted once."""
    seen: dict[tuple[str, str], Distribution | None] = {}
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, of_extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": of_extra}):
            continue
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        for extra in ("", *requirement.extras):
            if (name, extra) not in seen:
                seen[name, extra] = found = _installed(name)
                waiting += [
                    (Requirement(text), extra) for text in (found.requires if found else None) or ()
                ]
    named = {name: found for (name, _), found in seen.items() if found is not None}
    return sum(_size(found) for found in named.values())


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None  # an optional dependency of another platform


def _size(found: Distribution) -> float:
    paths = [Path(str(found.locate_file(file))) for file in found.files or ()]
    return sum(
        float(path.stat().st_size)
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts
    )
