"""The benchmarks measure what they say: gradtape's steps are right, a wrong step is refused, and
the report tells what was measured.
"""

import sys
from dataclasses import replace
from pathlib import Path
from shutil import which
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from benchmarks import aims, chart, clang, document, reference
from benchmarks.libraries import FUNCTION, GRADTAPE, in_gradtape
from benchmarks.results import Results
from benchmarks.workloads import TIMED, Inputs


def small(workload):
    """The workload with less to compute, where it is large."""
    inputs = workload.inputs
    if workload.name == "embedding":
        inputs = Inputs(inputs.x % 100, inputs.y, (inputs.weights[0][:100],))
    elif workload.name == "lstm":
        inputs = Inputs(inputs.x[:4, :3], inputs.y[:4, :3], inputs.weights)
    elif workload.name in ("large_mlp", "cnn", "transformer", "burgers", "burgers_nested"):
        inputs = inputs.first(3)
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
    return Results(
        quick=False, machine="a machine", load_before=0.1, versions={"numpy": "2"}, steps=steps,
        memory=memory, first_calls={"cnn": {FUNCTION: 1.0}}, imports={"gradtape": 0.07},
        sizes={"gradtape": 1e8}, profile={"small_mlp": [("all", 1.0)]},
    )  # fmt: skip


def test_aims_compare_with_the_best_of_the_peers(results):
    said = {(o.workload, o.by, o.said): (o.figure, o.met) for o in aims.outcomes(results)}
    assert said["small_mlp", GRADTAPE, "at most 2.2 × the time of NumPy by hand"] == (
        "2.00 ×",
        True,
    )
    assert said["small_mlp", GRADTAPE, "PyTorch takes at least 2.5 × its time"] == ("2.00 ×", False)
    assert said["small_mlp", GRADTAPE, "TensorFlow takes at least 20 × its time"] == ("-", None)
    assert said["cnn", FUNCTION, "at most 1 × the time of the best peer"] == ("1.20 ×", False)
    assert said["cnn", GRADTAPE, "at most 1 × the memory of PyTorch"] == ("1.00 ×", True)
    assert said["import", GRADTAPE, "under 60 ms on top of NumPy"] == ("70.0 ms", False)


def test_a_results_file_is_read_as_it_was_written(results, tmp_path):
    results.write(tmp_path / "results.json")
    read = Results.read(tmp_path / "results.json")
    assert read.steps == results.steps
    assert read.imports == results.imports


def test_the_page_has_every_figure_and_the_picture_is_a_picture(results):
    page = document.page(results)
    assert "| small MLP, 32-64-64-1, batch 16 | 100 µs | 0.50 × | 2.00 × | - |" in page
    assert "a machine" in page
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
