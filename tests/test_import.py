"""What `import gradtape` brings in, seen in a fresh Python."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.version import Version

import gradtape

HEAVY = {
    "jax", "jaxlib", "keras", "scipy", "tensorflow", "torch", "matplotlib", "PIL", "google",
    "google_crc32c", "tensorboard", "fsspec", "safetensors",
}  # fmt: skip
LATER = {
    "optree", "logging", "dataclasses", "concurrent", "multiprocessing", "asyncio", "pathlib",
    "html", "urllib", "difflib",
}  # fmt: skip


def modules_after(code):
    """The root packages that a fresh Python, in which warnings are errors,
    has imported after running `code`.
    """
    report = (
        "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in "
        "sys.modules})))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(gradtape.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{code}\n{report}"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return set(json.loads(done.stdout))


def test_import_brings_in_nothing_heavy():
    found = modules_after("import gradtape")
    assert {"gradtape", "numpy"} <= found
    assert not found & HEAVY
    assert not found & (LATER - modules_after("import numpy"))


def test_import_brings_in_no_namespace_that_is_loaded_when_used():
    code = """
import sys
import gradtape as tf
from gradtape.start import FOUND_WHEN_USED, LOADED_WHEN_USED
both = {f"gradtape.{name}" for name in LOADED_WHEN_USED} | set(FOUND_WHEN_USED.values())
assert not both & set(sys.modules), both & set(sys.modules)
for name, module in FOUND_WHEN_USED.items():
    assert name in dir(tf)
    assert name not in vars(tf)
    assert getattr(tf, name) is getattr(sys.modules[module], name)
    assert vars(tf)[name] is getattr(tf, name)
assert not isinstance(tf.constant(1.0), tf.RaggedTensor)
assert isinstance(tf.ragged.constant([[1], []]), tf.RaggedTensor)
"""
    modules_after(code)


def test_a_namespace_finds_names_when_they_are_used():
    code = """
import sys
import gradtape as tf
from gradtape.start import IMPORTED_WHEN_USED
assert not [m for m in sys.modules if m.startswith(tuple(f"{f}." for f in IMPORTED_WHEN_USED))]
assert "LinearOperatorDiag" in dir(tf.linalg) and "LinearOperatorDiag" not in vars(tf.linalg)
found = tf.linalg.LinearOperatorDiag
assert vars(tf.linalg)["LinearOperatorDiag"] is found
from gradtape.linalg import LinearOperator
assert issubclass(found, LinearOperator)
assert not hasattr(tf.linalg, "LinearOperatorDag")
"""
    modules_after(code)


def test_a_gradient_brings_in_nothing_heavy():
    code = """
import gradtape as tf
w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(tf.nn.relu(tf.matmul(w, w) - 1.0))
assert tape.gradient(loss, w) is not None
"""
    assert not modules_after(code) & HEAVY


def test_the_check_sees_what_is_imported():
    assert "scipy" in modules_after("import scipy")


def test_the_version_is_tensorflows_and_then_our_own():
    """Programs compare it with TensorFlow's versions, by their first parts or with `packaging`."""
    own = metadata.version("gradtape")
    assert gradtape.__version__ == f"2.21.0+gradtape.{own}"
    assert gradtape.__version__.startswith("2.")
    assert tuple(int(part) for part in gradtape.__version__.split(".")[:2]) >= (2, 0)
    assert Version(gradtape.__version__) >= Version("2.21.0")
    assert Version(gradtape.__version__) < Version("2.22")
    project = tomllib.loads(
        (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    assert own == project["version"]


def test_without_an_installation_it_is_unknown(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert gradtape.__version__ == "2.21.0+gradtape.unknown"
    assert Version(gradtape.__version__) > Version("2.20")
