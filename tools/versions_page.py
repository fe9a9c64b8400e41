"""Writes docs/versions.md: which versions gradtape works with.

Run it after a change of pyproject.toml:

python -m tools.versions_page
"""

from __future__ import annotations

import tomllib
from typing import Any

import gradtape
from tools import versions

PAGE = versions.ROOT / "docs" / "versions.md"

SHOWN = {
    "numpy": ("NumPy", "all arrays of eager code"),
    "scipy": ("SciPy", "special functions, sparse Jacobians"),
    "ml_dtypes": ("ml_dtypes", "bfloat16 and other small dtypes"),
    "optree": ("optree", "structures of Tensors"),
    "safetensors": ("safetensors", "the files of checkpoints"),
    "jax": ("JAX", "`tf.function`, XLA, GPUs"),
    "diastatic-malt": ("diastatic-malt", "AutoGraph: Python's `if` and `while` on Tensors"),
    "flatbuffers": ("flatbuffers", "`tf.saved_model`: programs in files"),
    "keras": ("Keras", "`tf.keras`"),
    "google-crc32c": ("google-crc32c", "the checksums of TFRecords and TensorFlow's checkpoints"),
    "protobuf": ("protobuf", "`tf.train.Example`, serialized tensors"),
    "pillow": ("Pillow", "images"),
    "tensorboard": ("TensorBoard", "`tf.summary`"),
    "fsspec": ("fsspec", "files of other file systems"),
    "grain": ("Grain", "`Dataset.to_grain`"),
}
"""By requirement, its name in the table and what it is for."""

HEAD = """# Versions

What gradtape needs, as `pyproject.toml` says it:

| | versions | installed by | for |
|---|---|---|---|
"""

TAIL = """
A lower bound is the lowest version that passes `make test-versions`. It installs the lowest and the
newest versions allowed, and runs the tests that a version can change, on those of Python
{pythons} that it finds. There is an upper bound where internals are used.
`gradtape.numpy` [follows the installed NumPy](numpy.md#versions-of-numpy) where versions differ.

TensorFlow itself is not needed. `tf.__version__` is `{version}`: the interface's
version, then gradtape's own. `make test-tf` compares with TensorFlow itself.
"""


def project() -> dict[str, Any]:
    """What pyproject.toml says of the project."""
    text = (versions.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def requirements() -> dict[str, tuple[str, str]]:
    """By name, the bounds of each requirement, and the command that installs it."""
    extras = project()["optional-dependencies"]
    found = {}
    for extra in ("", "xla", "keras", "io", "image", "tensorboard", "remote", "grain"):
        for requirement in extras[extra] if extra else project()["dependencies"]:
            if requirement.startswith("gradtape["):
                continue
            name, at_least, bounds = requirement.partition(">=")
            command = f"pip install '.[{extra}]'" if extra else "pip install ."
            found[name] = (at_least + bounds.replace(",", ", "), command)
    return found


def page() -> str:
    interface = gradtape.__version__.partition("+")[0]
    rows = [("Python", project()["requires-python"], "", "everything")]
    for name, (bounds, command) in requirements().items():
        title, purpose = SHOWN[name]
        rows.append((title, bounds, f"`{command}`", purpose))
    rows.append(("TensorFlow's interface", interface, "", "names, arguments and errors"))
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    tail = TAIL.format(
        pythons=f"{', '.join(versions.PYTHONS[:-1])} and {versions.PYTHONS[-1]}",
        version=f"{interface}+gradtape.{project()['version']}",
    )
    return HEAD + table + tail


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
