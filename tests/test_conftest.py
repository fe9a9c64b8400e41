"""What `conftest` gives every test: tried on small test files of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest
from gradtape.core.thread import here
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

SAMPLED = """
import pytest

@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", range(100))
def test_many(case):
    pass

@pytest.mark.sampled(10_000)
@pytest.mark.parametrize("case", ["a", "b"])
def test_few(case):
    assert case == "a"
"""

PART = """
import pytest

@pytest.mark.parametrize("case", range(100))
def test_many(case):
    pass

@pytest.mark.devices
@pytest.mark.parametrize("case", range(10))
def test_on_every_device(case):
    pass

@pytest.mark.slow
def test_slow():
    pass
"""


@pytest.fixture
def tests(pytester):
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makeini(
        "[pytest]\nmarkers =\n    slow: left out\n    sampled(n): one of n\n    devices: all"
    )
    pytester.makepyfile(TESTS)
    return pytester


def test_a_test_that_leaves_a_tape_recording_fails(tests):
    result = tests.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1, deselected=1)
    result.stdout.fnmatch_lines(["*this test left 1 recording: GradientTape*"])


def test_slow_tests_run_with_all(tests):
    tests.runpytest_inprocess("-p", "no:cacheprovider", "--all").assert_outcomes(passed=3, errors=1)


def test_a_sample_is_a_part_of_every_test_and_always_the_same(tests):
    file = tests.makepyfile(test_sampled=SAMPLED)
    found = [
        tests.runpytest_inprocess("-p", "no:cacheprovider", file, *options).parseoutcomes()
        for options in ([], [], ["--all"])
    ]
    assert found[0] == found[1]
    assert 15 < found[0]["passed"] < 35
    assert found[0]["passed"] + found[0]["deselected"] == 102
    assert found[2] == {"passed": 101, "failed": 1}


def test_a_part_is_always_the_same_and_has_everything_about_devices(tests):
    file = tests.makepyfile(test_part=PART)
    options = ([], ["--part=4"], ["--part=4"], ["--part=4", "--all"])
    found = [
        tests.runpytest_inprocess("-p", "no:cacheprovider", file, *some).parseoutcomes()
        for some in options
    ]
    assert found[0] == {"passed": 110, "deselected": 1}
    assert found[1] == found[2]
    assert 10 + 15 < found[1]["passed"] < 10 + 35
    assert found[3]["passed"] - found[1]["passed"] in (0, 1)  # the slow one may be in the part
