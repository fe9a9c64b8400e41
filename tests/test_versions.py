"""`make test-versions`: what it says of Pythons that it does not find, and of failures; and the
bounds that it tries both ends of.
"""

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import gradtape
from tools import versions, versions_page

PROJECT = tomllib.loads((versions.ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = {
    r.name: r
    for r in map(Requirement, [*PROJECT["dependencies"], *EXTRAS["xla"], *EXTRAS["keras"]])
}


@pytest.fixture
def faked(monkeypatch):
    """A machine that has only Python 3.12, where installing and testing do nothing;
    `results` says how tests end.
    """
    results = {"passes": True, "installs": True}

    def prepare(path, version, end):
        if not results["installs"]:
            raise subprocess.CalledProcessError(1, "uv")
        return Path(sys.executable)

    monkeypatch.setattr(
        versions, "interpreter", lambda version: sys.executable if version == "3.12" else None
    )
    monkeypatch.setattr(versions, "prepare", prepare)
    monkeypatch.setattr(versions, "passes", lambda python: results["passes"])
    return results


def test_a_python_that_is_not_found_is_named(faked, capsys):
    assert versions.main(("3.11", "3.12")) == 0
    shown = capsys.readouterr().out
    assert "Python 3.11: NOT TESTED, no interpreter found" in shown
    assert "Python 3.12, lowest: passed" in shown
    assert f"numpy {version('numpy')}" in shown


def test_none_found_is_a_failure(faked, capsys):
    assert versions.main(("3.11",)) == 1


@pytest.mark.parametrize(
    ("what", "says"), [("passes", "newest: FAILED in"), ("installs", "lowest: FAILED to install")]
)
def test_failures_are_told(faked, capsys, what, says):
    faked[what] = False
    assert versions.main(("3.12",)) == 1
    assert says in capsys.readouterr().out


def test_an_interpreter_is_asked_for_its_version(tmp_path):
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert versions.version_of(sys.executable) == here
    assert versions.version_of(str(tmp_path / "no python")) is None
    shim = tmp_path / "shim"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert versions.version_of(str(shim)) is None
    assert versions.version_of(versions.interpreter(here)) == here
    assert versions.interpreter("3.99") is None


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_there_is_a_lower_bound_and_what_is_installed_is_allowed(name):
    bounds = REQUIREMENTS[name].specifier
    assert ">=" in [bound.operator for bound in bounds]
    assert Version(version(name)) in bounds


@pytest.mark.parametrize("name", ["jax", "diastatic-malt", "keras", "numpy"])
def test_what_has_internals_that_are_used_has_an_upper_bound(name):
    assert "<" in [bound.operator for bound in REQUIREMENTS[name].specifier]


def test_all_that_is_required_is_shown_in_the_report():
    assert {name.replace("_", "-") for name in REQUIREMENTS} <= set(versions.SHOWN)


@pytest.mark.parametrize("name", [*versions.TESTS, *versions.LEFT_OUT])
def test_the_chosen_tests_exist(name):
    path, _, test = name.partition("::")
    assert (versions.ROOT / path).exists()
    assert not test or f"def {test}(" in (versions.ROOT / path).read_text()


def test_the_page_is_fresh():
    """Write it anew with `python -m tools.versions_page`."""
    shown = versions_page.PAGE.read_text(encoding="utf-8")
    assert shown == versions_page.page()
    for name in ("Python", "NumPy", "JAX", "Keras", "diastatic-malt", "TensorFlow's interface"):
        assert f"\n| {name} | " in shown


def test_the_readme_leads_to_the_page():
    assert "](docs/versions.md)" in (versions.ROOT / "README.md").read_text(encoding="utf-8")


def test_the_citation_file_says_what_pyproject_says():
    citation = (versions.ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {PROJECT['version']}" in citation
    assert f"license: {PROJECT['license']}" in citation
    assert f'  - name: "{PROJECT["authors"][0]["name"]}"' in citation


def test_the_interface_is_that_of_the_tensorflow_that_is_compared():
    interface = gradtape.__version__.partition("+")[0]
    assert f"tensorflow-cpu=={interface}" in EXTRAS["bench"]


def test_classifiers_name_pythons_that_are_allowed_and_tried():
    begin = "Programming Language :: Python :: 3."
    named = ["3." + c.removeprefix(begin) for c in PROJECT["classifiers"] if c.startswith(begin)]
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert named
    assert set(named) <= set(versions.PYTHONS)
    assert all(version in allowed for version in named)
