"""What `conftest` gives every test: tried on small test files of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest
from gradtape.core.scope import here
from gradtape.core.tape import GradientTape

tape = GradientTape()

def test_leaves_a_tape_recording():
    tape.__enter__()

def test_comes_after():
    assert here.state.recorders == ()

@pytest.mark.slow
def test_slow():
    pass
"""


@pytest.fixture
def tests(pytester):
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers = slow: left out")
    pytester.makepyfile(TESTS)
    return pytester


def test_a_test_that_leaves_a_tape_recording_fails(tests):
    result = tests.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1, deselected=1)
    result.stdout.fnmatch_lines(["*this test left 1 recording: GradientTape*"])


def test_slow_tests_run_with_all(tests):
    tests.runpytest_inprocess("-p", "no:cacheprovider", "--all").assert_outcomes(passed=3, errors=1)
