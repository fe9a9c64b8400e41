"""What is said of names that are not there."""

import importlib
import importlib.util
import subprocess
import sys
from functools import reduce

import pytest

import gradtape as tf


def error_of(name):
    with pytest.raises(AttributeError) as caught:
        reduce(getattr, name.split("."), tf)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lite", "gradtape has no tf.lite: save the Keras model"),
        ("lite.TFLiteConverter", "gradtape has no tf.lite: "),
        ("estimator", "TensorFlow itself"),
        ("linalg.LinearOperatorDag", "did you mean 'LinearOperatorDiag'?"),
        ("compat.v2.lite", "gradtape has no tf.lite: "),
        ("compat.v1.placeholder", "argument of a function"),
        ("compat.v1.nn.dynamic_rnn", "tf.keras.layers.RNN"),
        ("raw_ops.Abort", "gradtape has no tf.raw_ops.Abort: call the function"),
        ("redcue_sum", "did you mean 'reduce_sum'?"),
        ("gradientTape", "did you mean 'GradientTape'?"),
        ("math.redcue_sum", "module 'gradtape.math' has no attribute 'redcue_sum': did you mean"),
        ("errors.NotFoundEror", "did you mean 'NotFoundError'?"),
        ("nest.flaten", "did you mean 'flatten'?"),
        ("dtypes.flot32", "did you mean 'float32'?"),
        ("train.Chekpoint", "did you mean 'Checkpoint'?"),
        ("nn.rellu", "did you mean 'relu'?"),
        ("compat.v1.reduce_summ", "did you mean 'reduce_sum'?"),
        ("nonsense", "module 'gradtape' has no attribute 'nonsense'"),
        ("__nonsense__", "module 'gradtape' has no attribute '__nonsense__'"),
    ],
)
def test_an_error_says_what_to_use_or_which_name_is_meant(name, says):
    assert says in error_of(name)


def test_what_is_not_there_is_not_there():
    assert not hasattr(tf, "lite")
    assert not hasattr(tf.math, "lite")
    assert getattr(tf, "lite", 7) == 7
    assert not hasattr(tf, "redcue_sum")


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("from gradtape import lite", "gradtape has no tf.lite: save"),
        ("import gradtape.lite", "gradtape has no tf.lite: save"),
        ("import gradtape.lite.experimental", "gradtape has no tf.lite: save"),
        ("from gradtape.math import sinn", "did you mean 'sin'?"),
        ("from gradtape import redcue_sum", "did you mean 'reduce_sum'?"),
        ("from gradtape import nonsense", "cannot import name 'nonsense'"),
        ("import gradtape.nn.relu", "No module named 'gradtape.nn.relu'"),
        ("import gradtape.nonsense", "No module named 'gradtape.nonsense'"),
        ("from gradtape.train import SequenceExampl", "cannot import name"),
    ],
)
def test_an_import_says_the_same(statement, says):
    with pytest.raises(ImportError) as caught:
        exec(statement, {})
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["lite", "foo", "nn.rellu", "nn.relu", "math.sinn", "redcue_sum"])
def test_a_program_may_ask_whether_a_module_is_there(name):
    assert importlib.util.find_spec(f"gradtape.{name}") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"gradtape.{name}")


def test_a_name_that_is_found_needs_none_of_this():
    code = "import gradtape as tf, sys; tf.math.sin(1.0); tf.nn.relu; tf.reduce_sum\n"
    code += "print([m for m in sys.modules if m.startswith('gradtape.compat')], 'difflib' in "
    code += "sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"


def test_a_namespace_that_is_imported_first_says_so_too():
    module = importlib.import_module("gradtape.signal")
    with pytest.raises(AttributeError, match="did you mean 'stft'"):
        _ = module.stftt
