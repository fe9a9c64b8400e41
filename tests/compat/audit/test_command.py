"""`python -m gradtape audit`: what it says of names, in every form, and its exit status."""

import ast
import gc
import json
import os
import re

import pytest

from gradtape import absent
from gradtape.compat.audit.command import audit, audited
from gradtape.compat.audit.verdicts import ABSENT, DIFFERS, THERE, verdict_on
from tests.compat.programs import python
from tools import audit_differences

MODULES = ("array_ops", "math_ops", "gen_nn_ops", "nowhere")
PROGRAM = """
import tensorflow as tf
from tensorflow.keras.layers import Dense

@tf.function
def step(x):
    return tf.reduce_sum(x) + tf.compat.v1.placeholder(tf.float32)

tf.lite.TFLiteConverter
tf.lite.TFLiteConverter
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "broken.py").write_text("import tensorflow\ndef f(:\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("", THERE, ""),
        ("reduce_sum", THERE, ""),
        ("keras.layers.Dense", THERE, ""),
        ("losses.MeanSquaredError", THERE, ""),
        ("compat.v1.reduce_sum", THERE, ""),
        ("compat.v2.reduce_sum", THERE, ""),
        ("python.framework.ops", THERE, ""),
        ("python.framework.ops.Tensor", THERE, ""),
        ("python.keras.layers.Dense", THERE, ""),
        ("__version__", DIFFERS, "2.21.0+gradtape"),
        ("function", DIFFERS, "open dimensions"),
        ("train.Checkpoint", DIFFERS, "safetensors"),
        ("compat.v1.Session", DIFFERS, "refuses"),
        ("lite", ABSENT, "convert it where TensorFlow is installed"),
        ("lite.TFLiteConverter", ABSENT, "convert it where"),
        ("compat.v1.placeholder", ABSENT, "argument of a function"),
        ("python.framework.ops.Graph", ABSENT, "private"),
        ("python.nonsense", ABSENT, "private"),
        ("redcue_sum", ABSENT, "no such name either; 'reduce_sum' is similar"),
        ("keras.layers.Dens", ABSENT, "'Dense' is similar"),
        ("nonsense", ABSENT, "no such name either."),
        ("nonsense.below", ABSENT, "no such name either."),
    ],
)
def test_verdicts(name, kind, says):
    found = verdict_on(name)
    assert found.kind == kind
    assert says in found.sentence
    assert bool(found.sentence) == (kind != THERE)


def test_the_text(project, capsys):
    assert audit([str(project)]) == 1
    printed = capsys.readouterr().out
    assert "absent:\n\n  tf.lite.TFLiteConverter  (2 places)\n" in printed
    assert f"      {project}/train.py:9\n" in printed
    assert "differs:\n\n  tf.function  (1 place)\n" in printed
    assert f"  {project}/broken.py: line 2: invalid syntax\n" in printed
    assert "tf.reduce_sum" not in printed
    assert printed.endswith(
        "2 files, 6 names: 3 there (in 3 places), 1 differs (in 1 place), 2 absent (in 3 places); "
        "1 file not read\n"
    )
    audit([str(project), "--all"])
    assert "tf.reduce_sum" in capsys.readouterr().out


def test_json(project, capsys):
    assert audit([str(project), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == {"there": 3, "differs": 1, "absent": 2}
    names = {entry["name"]: entry for entry in found["names"]}
    assert names["tf.lite.TFLiteConverter"]["verdict"] == "absent"
    assert names["tf.lite.TFLiteConverter"]["uses"] == [
        {"file": f"{project}/train.py", "line": line} for line in (9, 10)
    ]
    assert found["unread"][0]["reason"] == "line 2: invalid syntax"


def test_the_page(project, capsys):
    (project / "<b>.py").write_text("import tensorflow as tf\ntf.lite")
    assert audit([str(project), "--html"]) == 1
    page = capsys.readouterr().out
    assert page.startswith("<!DOCTYPE html>")
    assert "<h2>Absent (3)</h2>" in page
    assert "&lt;b&gt;.py:2" in page
    assert "<b>" not in page
    assert page.count("<table>") == page.count("</table>") == 4


@pytest.mark.parametrize("form", ["--all", "--json", "--html"])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_of_files_that_the_output_cannot_spell(tmp_path, form, encoding):
    for name in (os.fsdecode(b"\xff.py"), "日本.py"):
        (tmp_path / name).write_text("import tensorflow as tf\ntf.exp(1)\ntf.exp(")
    (tmp_path / "good.py").write_text("import tensorflow as tf\ntf.exp(1)\n")
    done = python("-m", "gradtape", "audit", tmp_path, form, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("dcff.py") == 1


def test_the_exit_status(tmp_path, capsys):
    (tmp_path / "good.py").write_text("import tensorflow as tf\ntf.exp(1.0)\ntf.function\n")
    assert audit([str(tmp_path)]) == 0
    assert audit([str(tmp_path / "nothing")]) == 2
    assert "there is no" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert audit([str(tmp_path / "empty")]) == 2
    assert "no Python files" in capsys.readouterr().err
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import tensorflow as tf\ntf.exp(\n")
    assert audit([str(tmp_path)]) == 0  # the other file could be read
    assert audit([str(wrong)]) == 2
    assert "wrong.py: line 2" in capsys.readouterr().out


def test_it_runs_from_the_command_line_without_keras_or_jax(project):
    done = python("-X", "importtime", "-m", "gradtape", "audit", project)
    assert done.returncode == 1
    assert "2 absent" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "gradtape.compat.audit.command" in imported
    assert imported.isdisjoint({"jax", "keras", "tensorflow", "scipy"})


def test_many_files(tmp_path):
    body = "\n".join(
        f"def f{n}(x):\n    return tf.nn.relu(tf.matmul(x, x)) + {n}" for n in range(100)
    )
    for number in range(50):
        (tmp_path / f"m{number}.py").write_text(f"import tensorflow as tf\n{body}\n")
    findings = audited([str(tmp_path)])
    assert findings.files == 50
    assert [len(name.uses) for name in findings.names] == [5000, 5000]
    assert {name.name for name in findings.names} == {"matmul", "nn.relu"}


def test_only_files_that_name_tensorflow_are_parsed(tmp_path, monkeypatch):
    cell = {"cell_type": "code", "source": ["import numpy\n", "numpy.nothing("]}
    (tmp_path / "notebook.ipynb").write_text(json.dumps({"cells": [cell]}))
    (tmp_path / "other.py").write_text("import numpy\nnumpy.nothing(\n")
    (tmp_path / "uses.py").write_text("import tensorflow as tf\ntf.exp(1.0)\n")
    parsed = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda source: parsed.append(source) or parse(source))
    findings = audited([str(tmp_path)])
    assert findings.files == 3
    assert findings.lost == 0
    assert [name.name for name in findings.names] == ["exp"]
    assert parsed == [(tmp_path / "uses.py").read_text()]
    assert gc.isenabled()


def test_similar_names_are_looked_for_a_few_times_for_each_name(monkeypatch):
    """It takes longer than anything else that is done for a name."""
    asked = []
    nearest = absent.nearest
    monkeypatch.setattr(absent, "nearest", lambda *of: asked.append(of) or nearest(*of))
    names = [f"python.ops.{module}.nothing{number}" for number in range(50) for module in MODULES]
    for name in names:
        assert verdict_on(name).kind == ABSENT
    assert len(asked) <= 5 * len(names)


def test_what_differs_is_what_the_page_says():
    fresh = audit_differences.LIST.read_text(encoding="utf-8") == audit_differences.text()
    assert fresh, "run `python -m tools.audit_differences`"
    assert len(re.findall("^", audit_differences.text(), re.MULTILINE)) > 25


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("__version__.startswith", "there"),
        ("version.VERSION.split", "there"),
        ("__version__.starts_with", "absent"),
        ("keras.__version__", "there"),
        ("keras.__version__.split", "there"),
        ("keras.Model.fit", "there"),
        ("keras.Model.__init__", "there"),
        ("keras.layers.Dense.__name__", "there"),
        ("compat.v1.keras.layers.Dense.call", "there"),
        ("optimizers.Adam.apply_gradients", "there"),
        ("keras.nothing.fit", "absent"),
        ("keras.layers.Sequential", "absent"),
        ("Tensor.shape", "there"),
        ("Tensor.shapes", "absent"),
    ],
)
def test_what_is_below_a_class_or_a_value_is_judged_by_it(name, kind):
    assert verdict_on(name).kind == kind


@pytest.mark.parametrize("name", ["compiler.tf2xla.python.xla", "core.framework.graph_pb2"])
def test_a_folder_of_tensorflows_package_is_called_that(name):
    assert "a folder of TensorFlow's package" in verdict_on(name).sentence
