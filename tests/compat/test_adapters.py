"""Adapters are loaded with the module that they adapt; a missing `tf_keras` is Keras 3."""

import subprocess
import sys

import pytest

from gradtape.compat import adapters

LIBRARY = """
def find(name):
    return {"tf.abs": abs}[name] if name != "tf.no" else getattr(find, "no")

def copy_docstring(name, function):
    find(name)
    return "documented"
"""


def test_a_module_is_adapted_when_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "some_library_utils.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(adapters.ADAPTED, "some_library_utils", "tensorflow_probability")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    adapters.serve()
    adapters.serve()
    assert [type(f) for f in sys.meta_path].count(adapters.AdapterFinder) == 1
    import some_library_utils as utils

    monkeypatch.delitem(sys.modules, "some_library_utils")
    assert utils.copy_docstring("tf.abs", len) == "documented"
    assert utils.copy_docstring("tf.no", len) is len
    with pytest.raises(KeyError):
        utils.copy_docstring("tf.other", len)  # other errors are the library's own


PROGRAM = """
import tf_keras, keras
from tf_keras import __internal__
import tf_keras.api._v1.keras.__internal__.legacy.layers as layers
assert tf_keras.optimizers.Adam is keras.optimizers.Adam
assert layers.Dense is keras.layers.Dense
__internal__.utils.register_symbolic_tensor_type(int)
from tf_keras import *
assert Sequential is keras.Sequential
"""


def test_tf_keras_is_keras_3():
    done = subprocess.run(
        [sys.executable, "-m", "gradtape", "-c", PROGRAM],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
