"""How Keras's own tests are counted: nothing that is not collected drops out."""

import ast
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

# As the suite itself has it in its processes.
sys.path.append(str(Path(__file__).parents[2] / "tools" / "keras_suite"))

import named_branches
import needs_torch
import suite

REPORT = """<testsuites><testsuite>
<testcase classname="trainers.some_test.SomeTest" name="test_passes"/>
<testcase classname="trainers.some_test.SomeTest" name="test_fails"><failure/></testcase>
<testcase classname="trainers.some_test.SomeTest" name="test_skips"><skipped/></testcase>
<testcase classname="" name="trainers.broken_test"><error message="collection failure"/></testcase>
</testsuite></testsuites>"""
ON_JAX = (
    "trainers/broken_test.py::BrokenTest::test_one\n"
    "trainers/broken_test.py::test_two[a::b.py-1]\n"
    "\n2 tests collected in 0.1s\n"
)


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Runs of pytest that only write their reports; what they were asked for is kept."""
    asked = []

    def fake(backend, *arguments):
        asked.append((backend, arguments))
        report = next(
            (a.removeprefix("--junitxml=") for a in arguments if a.startswith("--junitxml=")), None
        )
        if report and runs.report is not None:
            Path(report).write_text(runs.report)
        return SimpleNamespace(
            stdout=ON_JAX if "--collect-only" in arguments else "",
            stderr="",
            returncode=runs.returncode,
        )

    runs = SimpleNamespace(asked=asked, report=REPORT, returncode=1)
    monkeypatch.setattr(suite, "pytest", fake)
    monkeypatch.setattr(suite, "RESULTS", tmp_path)
    return runs


def test_the_tests_of_a_file_that_is_not_collected_have_failed(runs):
    found = suite.run("trainers", "gradtape")
    assert found == {
        "trainers.some_test.SomeTest.test_passes": "passed",
        "trainers.some_test.SomeTest.test_fails": "failed",
        "trainers.some_test.SomeTest.test_skips": "skipped",
        "not collected: trainers.broken_test": "failed",
        "trainers.broken_test.BrokenTest.test_one": "failed",
        "trainers.broken_test.test_two[a::b.py-1]": "failed",
    }
    (_, (backend, arguments)) = runs.asked
    assert backend == "jax"
    assert arguments[-1].endswith("keras/src/trainers/broken_test.py")


def test_no_list_excuses_what_is_not_collected():
    found = {
        "not collected: trainers.broken_test": "failed",
        "trainers.a_test.test": "failed",
        "trainers.b_test.test": "failed",
    }
    failed = suite.compared(found, {"not collected: trainers.broken_test", "trainers.a_test.test"})[
        "failed"
    ]
    assert failed == ["not collected: trainers.broken_test", "trainers.b_test.test"]


@pytest.mark.parametrize("returncode", [2, 3, 4, 5, -11])
def test_a_run_that_does_not_come_to_its_end_has_failed(runs, returncode):
    runs.report, runs.returncode = None, returncode
    assert list(suite.run("losses", "gradtape").values()) == ["failed"]


def test_a_file_that_keras_no_longer_has_has_failed(runs, monkeypatch):
    monkeypatch.setitem(suite.GROUPS, "losses", ["losses", "no_such_test.py"])
    (name,) = suite.run("losses", "gradtape")
    assert name.endswith("no_such_test.py")


def test_running_some_groups_on_jax_leaves_the_others_in_the_list(runs, monkeypatch, tmp_path):
    listed = tmp_path / "jax_not_passed.txt"
    listed.write_text("# head\nlosses.a_test.test\ntrainers.old_test.test\nops.nn_test.test\n")
    monkeypatch.setattr(suite, "NOT_PASSED_ON_JAX", listed)
    monkeypatch.setattr(sys, "argv", ["suite.py", "--backend", "jax", "trainers"])
    assert suite.main() == 1  # a file was not collected there either
    names = {"losses.a_test.test", "ops.nn_test.test"} | {
        f"trainers.some_test.SomeTest.test_{end}" for end in ("fails", "skips")
    }
    assert suite.not_passed_on_jax() == names


SOURCE = """
import torch
from torch.utils.data import Dataset as TorchDataset
class Data(TorchDataset):
    pass
def uses():
    return torch.Tensor
def does_not():
    return 1
"""


def test_without_pytorch_only_what_uses_it_is_skipped():
    namespace = {}
    exec(
        compile(named_branches.with_torch_missing(ast.parse(SOURCE)), "some_test.py", "exec"),
        namespace,
    )
    assert namespace["torch"] is needs_torch
    assert namespace["does_not"]() == 1
    for call in (namespace["uses"], namespace["Data"]):
        with pytest.raises(pytest.skip.Exception, match="needs PyTorch, which is not installed"):
            call()
    assert not hasattr(needs_torch, "__wrapped__")  # pytest asks for it
