"""What `tape.explain` and hints say of generated programs is right, or is that evidence is missing;
never a wrong cause, and never a wrong line.
"""

import importlib
import logging
import sys
from itertools import count

import pytest

from gradtape.inspect.explanation import Cause
from tests.inspect.broken_programs import (
    AROUND,
    ASKED,
    BREAKS,
    PLACES,
    WHOLE,
    some_broken,
    whole,
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
