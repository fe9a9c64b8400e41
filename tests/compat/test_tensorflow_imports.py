"""`tensorflow` meaning gradtape, in processes of their own."""

import sys
import types

import pytest

import gradtape
from gradtape.compat import tensorflow_imports
from tests.compat.programs import printed, python

IMPORTS = """
import tensorflow as tf
import tensorflow.compat.v1 as tf1
import tensorflow.compat.v2 as tf2
import tensorflow.compat.v2.keras.layers as L2
import tensorflow.keras as tk
import keras
from tensorflow import GradientTape, keras as k, nn
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Dense
from tensorflow.keras.optimizers.schedules import ExponentialDecay
from tensorflow.python.keras.layers import Dense as Old
from tensorflow.python.framework import ops
assert tf is tf2 and tf1 is tf.compat.v1 and nn is tf.nn and k is tk
assert Dense is keras.layers.Dense is L2.Dense is Old
assert ops.convert_to_tensor is tf.convert_to_tensor
assert keras.backend.backend() == "gradtape"
print(tf.__name__)
"""


def test_every_kind_of_import():
    assert printed(IMPORTS) == "gradtape"


def test_the_keras_that_a_program_asks_for_is_ours_too():
    code = "import os; os.environ['KERAS_BACKEND'] = 'tensorflow'\n"
    code += "import keras; print(keras.backend.backend())"
    assert printed(code) == "gradtape"


def test_its_version_can_be_asked_for():
    code = "from importlib import metadata, util\n"
    code += (
        "import gradtape; v = metadata.version; assert v('tensorflow') == gradtape.__version__\n"
    )
    code += "assert v('tensorflow-cpu') == v('tensorflow') != v('numpy')\n"
    code += "assert metadata.metadata('tensorflow')['Name'] == 'tensorflow'\n"
    code += "assert util.find_spec('tensorflow') is not None\n"
    for absent in ("nonsense", "foo", "lite", "python.nonsense", "python.lite", "nn.relu"):
        code += f"assert util.find_spec('tensorflow.{absent}') is None\n"
    code += "print('gradtape' in [d.metadata['Name'] for d in metadata.distributions()])"
    assert printed(code) == "True"


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("import tensorflow.lite", "gradtape has no tf.lite: save"),
        ("from tensorflow import lite", "gradtape has no tf.lite: save"),
        ("import tensorflow.contrib.slim", "gradtape has no tf.contrib: TensorFlow itself"),
        ("import tensorflow.nonsense", "No module named 'tensorflow.nonsense'"),
        ("from tensorflow.python.framework import nonsense", "framework.nonsense: tensorflow.p"),
        ("import tensorflow.python.nonsense", "tensorflow.python is private to TensorFlow"),
        (
            "from tensorflow.python.framework.ops import Graph",
            "ops.Graph: tensorflow.python is private",
        ),
        ("from tensorflow.keras import nonsense", "nonsense"),
    ],
)
def test_what_is_not_there(statement, says):
    code = f"try:\n    {statement}\nexcept ImportError as error:\n    print(error)"
    assert says in printed(code)


def test_nothing_is_imported_before_it_is_needed():
    code = "import sys; print(sorted({m.partition('.')[0] for m in sys.modules} & "
    code += "{'jax', 'keras', 'absl', 'scipy'}))"
    assert printed(code) == "[]"


def test_the_second_call_changes_nothing():
    code = "import sys; n = len(sys.meta_path); gradtape.install_as_tensorflow()\n"
    code += "print(len(sys.meta_path) - n)"
    assert printed(code) == "0"


def test_it_refuses_where_tensorflow_itself_is_imported(monkeypatch):
    real = types.ModuleType("tensorflow")
    real.__file__ = "/somewhere/tensorflow/__init__.py"
    monkeypatch.setitem(sys.modules, "tensorflow", real)
    before = list(sys.meta_path)
    with pytest.raises(RuntimeError, match=r"already imported, from /somewhere.*restart"):
        gradtape.install_as_tensorflow()
    assert sys.meta_path == before


def test_without_it_tensorflow_stays_what_it_is():
    done = python("-c", "import gradtape, importlib.util as u; print(u.find_spec('tensorflow'))")
    assert "gradtape" not in done.stdout


def test_processes_get_the_same_command(monkeypatch):
    command = tensorflow_imports._installing(lambda **k: ["python", "-c", "main()", "--x"])()
    assert command[2] == "import gradtape; gradtape.install_as_tensorflow(); main()"
    frozen = tensorflow_imports._installing(lambda **k: ["program", "--multiprocessing-fork"])()
    assert frozen == ["program", "--multiprocessing-fork"]
