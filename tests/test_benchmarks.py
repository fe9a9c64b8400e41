"""The benchmarks measure what they say: gradtape's steps are right, a wrong step is refused, and
the report tells what was measured.
"""

import re
import sys
from dataclasses import replace
from pathlib import Path
from shutil import which
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from benchmarks import (
    aims,
    changing_shapes,
    chart,
    clang,
    data,
    document,
    many_variables,
    readme,
    reference,
)
from benchmarks.keras_models import MODELS
from benchmarks.libraries import FUNCTION, GRADTAPE, in_gradtape, in_gradtape_function
from benchmarks.results import Results
from benchmarks.sections import SECTIONS
from benchmarks.workloads import BY_NAME, TIMED, Inputs


def small(workload):
    """The workload with less to compute, where it is large."""
    inputs = workload.inputs
    if workload.name == "embedding":
        inputs = Inputs(inputs.x % 100, inputs.y, (inputs.weights[0][:100],))
    elif workload.name == "lstm":
        inputs = Inputs(inputs.x[:4, :3], inputs.y[:4, :3], inputs.weights)
    elif workload.name in ("large_mlp", "cnn", "transformer", "burgers", "burgers_nested"):
        inputs = inputs.first(3)
    elif workload.name == "gaussian_process":
        inputs = Inputs(inputs.x, tuple(part[:20] for part in inputs.y))
    elif workload.name in ("elementwise", "sparse_jacobian"):
        inputs = inputs.first(500)
    return replace(workload, make=lambda _: inputs)


def results_of(workload):
    step = in_gradtape.STEPS[workload.name](workload.inputs)
    found = step.function(*step.arguments)
    return [np.asarray(result) for result in (found if step.read is None else step.read())]


WORKLOADS = {workload.name: workload for workload in TIMED if workload.name in in_gradtape.STEPS}


@pytest.mark.parametrize("name", WORKLOADS)
def test_steps_are_right(name):
    workload = small(WORKLOADS[name])
    reference.check(workload, {GRADTAPE: results_of(workload)})


@pytest.mark.parametrize("name", ["small_mlp", "gaussian_process"])
def test_compiled_steps_are_right_from_their_first_call(name):
    workload = small(WORKLOADS[name])
    step = in_gradtape_function.STEPS[name](workload.inputs)
    for _ in range(2):
        found = step.function(*step.arguments)
        reference.check(workload, {FUNCTION: [result.numpy() for result in found]})


@pytest.mark.parametrize("name", ["small_mlp", "lstm", "embedding", "hessian"])
@pytest.mark.parametrize("index", [0, -1])
def test_a_wrong_step_is_refused(name, index):
    workload = small(WORKLOADS[name])
    found = results_of(workload)
    found[index] = found[index] * 1.1
    with pytest.raises(AssertionError, match=f"{workload.title} in wrong"):
        reference.check(workload, {"wrong": found})


def test_a_result_of_another_shape_is_refused():
    workload = small(WORKLOADS["chain"])
    with pytest.raises(AssertionError, match="shapes"):
        reference.check(workload, {"wrong": [results_of(workload)[0][:1]]})


@pytest.fixture
def results():
    steps = {
        "small_mlp": {
            GRADTAPE: 1e-4,
            "NumPy by hand": 5e-5,
            "PyTorch": 2e-4,
            FUNCTION: 2e-5,
            "jax.jit": 2e-5,
        },
        "cnn": {
            GRADTAPE: 0.03,
            "TensorFlow": 0.02,
            FUNCTION: 0.012,
            "jax.jit": 0.02,
            "tf.function": 0.01,
        },
    }
    memory = {"cnn": {GRADTAPE: 2e7, "PyTorch": 2e7}}
    tables = {
        "keras_fit": {"tabular, 3 dense layers, batch 64": {GRADTAPE: 2e-3, "Keras on JAX": 4e-3}},
        "busy": {"cnn": {GRADTAPE: 0.03, "one BLAS thread": 0.02}},
        "data": {"generator, batch": {GRADTAPE: 1e-3, "tf.data": 5e-4}},
    }
    return Results(
        quick=False, machine="a machine", load_before=0.1, versions={"numpy": "2"}, steps=steps,
        memory=memory, first_calls={"cnn": {FUNCTION: 1.0}}, imports={"gradtape": 0.07},
        sizes={"gradtape": 1e8}, profile={"small_mlp": [("all", 1.0)]}, tables=tables,
    )  # fmt: skip


def test_aims_compare_with_the_best_of_the_peers(results):
    said = {(o.workload, o.by, o.said): (o.figure, o.met) for o in aims.outcomes(results)}
    assert said["small_mlp", GRADTAPE, "at most 1.8 × the time of NumPy by hand"] == (
        "2.00 ×",
        False,
    )
    assert said["small_mlp", GRADTAPE, "PyTorch takes at least 2.5 × its time"] == ("2.00 ×", False)
    assert said["small_mlp", GRADTAPE, "TensorFlow takes at least 20 × its time"] == ("-", None)
    assert said["cnn", FUNCTION, "at most 1 × the time of the best peer"] == ("1.20 ×", False)
    assert said["cnn", GRADTAPE, "at most 1 × the memory of PyTorch"] == ("1.00 ×", True)
    assert said["cnn", GRADTAPE, "at most 1.3 × the time on a busy machine of one BLAS thread"] == (
        "1.50 ×",
        False,
    )
    model = "tabular, 3 dense layers, batch 64"
    on_both = "at most 1 × the time of Keras on TensorFlow and Keras on JAX"
    assert said[model, GRADTAPE, on_both] == ("0.50 ×", True)
    assert said["generator, batch", GRADTAPE, "tf.data takes at least 1 × its time"] == (
        "0.50 ×",
        False,
    )
    assert said["import", GRADTAPE, "under 60 ms on top of NumPy"] == ("70.0 ms", False)


def test_every_aim_is_about_a_row_that_is_measured():
    rows = {
        "steps": BY_NAME, "memory": BY_NAME, "first_calls": BY_NAME, "busy": BY_NAME,
        "keras_fit": MODELS, "keras_predict": MODELS, "keras_first": MODELS,
        "many_variables": many_variables.LIMITS, "data": data.PIPELINES,
        "changing_shapes": (changing_shapes.FIRST, changing_shapes.LATER),
    }  # fmt: skip
    tables = {name for section in SECTIONS for name in section.tables}
    assert {aim.measure for aim in aims.AIMS} <= rows.keys()
    assert tables <= rows.keys()
    assert [aim for aim in aims.AIMS if aim.workload not in rows[aim.measure]] == []


def test_a_results_file_is_read_as_it_was_written(results, tmp_path):
    results.write(tmp_path / "results.json")
    read = Results.read(tmp_path / "results.json")
    assert read.steps == results.steps
    assert read.imports == results.imports
    assert read.tables == results.tables


def test_the_page_has_every_figure_and_the_picture_is_a_picture(results):
    page = document.page(results)
    assert "| small MLP, 32-64-64-1, batch 16 | 100 µs | 0.50 × | 2.00 × | - |" in page
    assert "a machine" in page
    assert "| tabular, 3 dense layers, batch 64 | 2.0 ms | 4.0 ms |" in page
    assert "| CNN, 28 × 28, 32 and 64 channels, batch 64 | 30.0 ms | 20.0 ms |" in page
    assert "Shapes that change" not in page.partition("## How")[0]
    picture = ET.fromstring(chart.chart(results.steps, GRADTAPE, compiled=False))
    bars = [text for text in picture.itertext() if text.strip() in ("0.5", "2", "0.667")]
    assert len(bars) == 3


def test_a_compiler_from_a_package_is_found_where_the_system_has_none(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(clang, "find_spec", lambda name: name)
    with clang.on_path():
        script = Path(which("clang"))
        assert (
            script.read_text(encoding="utf-8").splitlines()[1]
            == f'exec "{sys.executable}" -m ziglang clang "$@"'
        )
    assert which("clang") is None
    monkeypatch.setattr(clang, "find_spec", lambda name: None)
    with clang.on_path():
        assert which("clang") is None


def tables_of(page):
    """A page's tables, by their heading and the line above them: cells by row and column."""
    tables, heading, above, columns = {}, "", "", None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            heading, above = (line[3:], "") if line.startswith("## ") else (heading, line or above)
            columns = None
        elif columns is None:
            columns, table, above = cells[1:], tables.setdefault((heading, above), {}), ""
        elif not cells[0].startswith("---"):
            table |= {(cells[0], name): x for name, x in zip(columns, cells[1:], strict=True)}
    return tables


def test_tables_are_told_apart():
    one = "|  | x | y |\n|---|---:|---:|\n| row | 1 ms | - |"
    page = f"## A\n\nOne:\n\n{one}\n\nTwo:\n\n|  | x |\n|---|---:|\n| row | 2 |\n"
    assert tables_of(page) == {
        ("A", "One:"): {("row", "x"): "1 ms", ("row", "y"): "-"},
        ("A", "Two:"): {("row", "x"): "2"},
    }


PAGE = tables_of((document.DOCS / "benchmarks.md").read_text(encoding="utf-8"))
QUANTITY = re.compile(r"\d[\d,.]* (?:µs|ms|MB)")


def part_of_the_readme(name):
    return readme.part_of(readme.README.read_text(encoding="utf-8"), name)


@pytest.mark.parametrize("heading", ["Eager", "Compiled"])
def test_the_readme_has_the_times_of_the_page(heading):
    of_the_page = PAGE[heading, "The times themselves:"]
    table = part_of_the_readme("steps").partition(f"| {heading.lower()} |")[2].partition("\n\n")[0]
    (found,) = tables_of(f"| {heading} |{table}").values()
    assert len(found) >= 24
    assert {key: of_the_page[key] for key in found} == found


def test_the_readme_has_the_imports_sizes_and_other_times_of_the_page():
    packages = PAGE["Memory, import and size", ""]
    names = ("gradtape", "torch", "tensorflow")
    columns = ("import, on top of NumPy's", "installed with all it needs")
    wanted = [packages[name, column] for column in columns for name in names]
    sentence = part_of_the_readme("steps").rpartition("|")[2]
    assert QUANTITY.findall(sentence) == wanted

    model, backends = "tabular, 3 dense layers, batch 64", readme.BACKENDS
    tables = [
        PAGE["Keras", above]
        for above in ("A step of `fit`:", "The first call of `fit`, for one step:")
    ]
    wanted = [table[model, name] for table in tables for name in backends]
    assert QUANTITY.findall(part_of_the_readme("keras")) == wanted

    row = BY_NAME["lstm"].title
    wanted = [PAGE["A busy machine", "The steps:"][row, name] for name in readme.BESIDE_OTHERS]
    assert QUANTITY.findall(part_of_the_readme("busy")) == wanted


def test_the_figures_of_the_readme_are_replaced_and_nothing_else(results):
    steps = {name: dict.fromkeys(readme.EAGER + readme.COMPILED, 0.5) for name in BY_NAME}
    model = "tabular, 3 dense layers, batch 64"
    tables = {
        "keras_fit": {model: dict.fromkeys(readme.BACKENDS, 3e-3)},
        "keras_first": {model: dict.fromkeys(readme.BACKENDS, 4e-3)},
        "busy": {"lstm": dict.fromkeys(readme.BESIDE_OTHERS, 5e-3)},
    }
    packages = dict.fromkeys(("gradtape", "torch", "tensorflow"), 0.006)
    sizes = dict.fromkeys(packages, 7 * 2**20)
    run = replace(results, steps=steps, tables=tables, imports=packages, sizes=sizes)
    text = readme.README.read_text(encoding="utf-8")
    found = readme.written(text, run)
    amounts = {"500,000 µs", "500 ms", "6.0 ms", "7.0 MB"}
    assert set(QUANTITY.findall(readme.part_of(found, "steps"))) == amounts
    assert QUANTITY.findall(readme.part_of(found, "keras")) == ["3.0 ms"] * 3 + ["4.0 ms"] * 3
    assert readme.part_of(found, "busy").count("5.0 ms") == 3
    for name in readme.PARTS:
        text = text.replace(readme.part_of(text, name), "")
        found = found.replace(readme.part_of(found, name), "")
    assert found == text
    with pytest.raises(ValueError, match="no part 'steps'"):
        readme.written("# gradtape", run)
