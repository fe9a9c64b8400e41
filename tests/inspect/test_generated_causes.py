"""What `tape.explain` and hints say of generated programs is right, or is that evidence is missing;
never a wrong cause, and never a wrong line.
"""

import importlib
import logging
import random
import sys
from itertools import count

import pytest

from gradtape.inspect.explanation import Cause
from tests.inspect.broken_flows import (
    BOUND,
    COME_BACK,
    CONDITIONS,
    NAMED,
    NEW,
    OLD,
    RESETS,
    TAKEN,
    THREADS,
    USES,
    WHEN,
    bound_again,
    come_back,
    conditional,
    named,
    reset,
    threaded,
)
from tests.inspect.broken_programs import (
    AROUND,
    ASKED,
    BREAKS,
    PLACES,
    WHOLE,
    some_broken,
    whole,
)
from tests.inspect.broken_writes import (
    OTHERS,
    OUTSIDE,
    STORES,
    VALUES,
    WRITES,
    gradient_outside,
    through,
    written,
)

_numbers = count()
# Where what would tell is not kept: these may say so.
WITHOUT_EVIDENCE = ("recomputed-",)


@pytest.fixture
def run(tmp_path, monkeypatch, caplog):
    """Runs a program; gives what is wrong with what was said about it, or None."""
    caplog.set_level(logging.WARNING, "gradtape")
    monkeypatch.syspath_prepend(tmp_path)
    names = []

    def run(program):
        name, helper = (f"{part}_{next(_numbers)}" for part in ("program", "helper"))
        names.extend((name, helper))
        file, other = tmp_path / f"{name}.py", tmp_path / f"{helper}.py"
        file.write_text(program.text.replace("HELPER", helper))
        other.write_text(program.helper)
        importlib.invalidate_caches()
        caplog.clear()
        module = importlib.import_module(name)
        said = [record.getMessage() for record in caplog.records]
        # In a loop, a gradient is explained the first time.
        (reason,) = module.found[-1 if "-explain-" in program.name else 0]
        return wrong(program, reason, said, (file, other))

    yield run
    for name in names:
        sys.modules.pop(name, None)


def wrong(program, reason, said, files):
    """What is wrong with a reason and with what the log says; None if nothing is."""
    about = f"{program.name}: {reason.cause!r}: {reason}"
    unknown = reason.cause is Cause.UNKNOWN
    if unknown and program.name.startswith(WITHOUT_EVIDENCE):
        return None
    if reason.cause not in program.causes:
        return f"the cause is {program.causes}: {about}"
    marked = [
        (str(file), number)
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if line.endswith("# here")
    ]
    if program.has_line and marked and not unknown:
        place = reason.location
        alike = reason.cause is Cause.NO_GRADIENT and " or " in reason.message
        if not (place is None and alike) and (
            place is None or (place.file, place.line) not in marked
        ):
            return f"the line is {marked}: {about}"
    if program.named is not None and reason.path[-1].op != program.named:
        return f"what is named is {program.named}: {about}"
    if "-explain-" not in program.name and not any(reason.message in line for line in said):
        return f"the log says {said}: {about}"
    return None


def arranged(kind):
    """A kind of program in everything that can be around it, asked in all ways in turn."""
    asked = list(ASKED)
    for i, around in enumerate(AROUND):
        for offset in range(len(asked)):
            found = whole(kind, asked[(i + offset) % len(asked)], around)
            if found is not None:
                yield found
                break


@pytest.mark.parametrize("kind", WHOLE)
def test_causes_that_are_in_the_order_of_lines(kind, run):
    programs = list(arranged(kind))
    assert programs
    assert [found for program in programs if (found := run(program)) is not None] == []


@pytest.mark.parametrize("seed", range(12))
def test_chains_that_an_expression_breaks(seed, run):
    programs = some_broken(25, seed)
    assert [found for program in programs if (found := run(program)) is not None] == []


def combined(make, count, *parts, seed=0):
    """Programs of all first parts, each with several choices of the others."""
    chosen = random.Random(seed)
    found = []
    for first in parts[0]:
        made = []
        for _ in range(100):
            program = make(first, *map(chosen.choice, parts[1:]))
            if program is not None and program.name not in {p.name for p in made}:
                made.append(program)
            if len(made) == count:
                break
        assert made, first
        found += made
    return found


# A short way to say: any of these.
ASKS, AROUNDS, SOURCE = list(ASKED), list(AROUND), ("w", "x", "net.w", "params['w']")
FLOWS = {
    "values that come back": (come_back, 4, list(COME_BACK), list(TAKEN), SOURCE),
    "names that are bound again": (bound_again, 8, list(BOUND), list(NEW), list(OLD), WHEN),
    "what old names are bound to": (
        lambda new, way, *rest: bound_again(way, new, *rest), 10,
        list(NEW), list(BOUND), list(OLD), WHEN,
    ),
    "lines that ran": (
        lambda use, *rest: conditional(use, rest[0], True, *rest[1:]), 8,
        [use for use, (_, computes) in USES.items() if not computes], list(CONDITIONS), ("w", "x"),
    ),
    "lines that did not run": (
        lambda use, *rest: conditional(use, rest[0], False, *rest[1:]), 8,
        list(USES), list(CONDITIONS), ("w", "x"),
    ),
    "resets": (reset, 5, list(RESETS)),
    "threads": (threaded, 5, list(THREADS)),
    "names of functions": (named, 6, list(NAMED)),
    "values in Variables": (written, 10, list(WRITES), STORES, list(VALUES), SOURCE),
    "values in indices, metrics and gradients": (through, 5, list(OTHERS), SOURCE),
    "gradients outside": (gradient_outside, 8, list(OUTSIDE), SOURCE),
}  # fmt: skip


@pytest.mark.parametrize("kind", FLOWS)
def test_flows(kind, run):
    make, count, *parts = FLOWS[kind]
    programs = combined(make, count, *parts, ASKS, AROUNDS)
    assert [found for program in programs if (found := run(program)) is not None] == []


def test_the_programs_have_everything_in_them():
    names = "\n".join(program.name for seed in range(12) for program in some_broken(25, seed))
    assert [part for part in (*BREAKS, *PLACES, *AROUND) if f"{part}-" not in names] == []


def test_a_wrong_cause_line_and_name_are_found(run):
    (right,) = some_broken(1, 0)
    assert run(right) is None
    assert "the cause is" in run(right._replace(causes=(Cause.OTHER_TAPE,)))
    assert "what is named is" in run(right._replace(named="cosine"))
    without = right._replace(
        text=right.text.replace("  # here", "").replace(
            "import numpy as np", "import numpy as np  # here"
        ),
        helper=right.helper.replace("  # here", ""),
    )
    assert "the line is" in run(without)
    silent = right._replace(name=right.name.replace("-explain-", "-gradient-"))
    assert "the log says" in run(silent)
