"""What the wheel has beside Python's modules."""

import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from gradtape.inspect.show import SCRIPTS

ROOT = Path(__file__).parent.parent
PAGE = "gradtape/inspect/page"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The names in the wheel."""
    folder = str(tmp_path_factory.mktemp("dist"))
    (built,) = WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        return set(wheel.namelist())


def test_it_has_the_page(files):
    names = {path.name for path in (ROOT / "src" / PAGE).iterdir()}
    assert names == {"page.html", "page.css", *SCRIPTS}
    assert {f"{PAGE}/{name}" for name in names} <= files


def test_it_has_the_marks_of_types_and_the_start_of_keras(files):
    assert {"gradtape/py.typed", "keras_gradtape/py.typed", "keras_gradtape.pth"} <= files


def test_it_has_the_tables_of_names(files):
    tables = ("sentences.txt", "tensorflow_names.txt", "audit/differences.txt")
    assert {f"gradtape/compat/{table}" for table in tables} <= files
