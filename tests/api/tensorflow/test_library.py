"""`tf.version`, `tf.sysconfig` and the namespaces of Keras that `tf` has too."""

import importlib
import sys
from pathlib import Path

import pytest

import gradtape as tf
from gradtape.start import OF_KERAS


def test_the_version_is_the_same_everywhere():
    assert tf.version.VERSION == tf.__version__
    assert tf.__version__ in tf.version.GIT_VERSION
    assert isinstance(tf.version.COMPILER_VERSION, str)
    assert tf.version.GRAPH_DEF_VERSION > tf.version.GRAPH_DEF_VERSION_MIN_PRODUCER >= 0


def test_the_library_says_where_it_is_and_that_it_was_built_for_no_device():
    assert Path(tf.sysconfig.get_lib()) == Path(tf.__file__).parent
    assert set(tf.sysconfig.get_build_info().values()) == {False}


@pytest.mark.parametrize("name", [name for name in OF_KERAS if name != "keras"])
def test_namespaces_of_keras(name):
    module = getattr(tf, name)
    assert module is getattr(tf.keras, name)
    assert importlib.import_module(f"gradtape.{name}") is module
    assert importlib.import_module(f"gradtape.keras.{name}") is module


def test_what_is_below_keras_can_be_imported_and_is_keras_itself():
    from gradtape.keras.layers import Dense
    from gradtape.optimizers.schedules import ExponentialDecay

    keras = sys.modules["keras"]
    assert Dense is keras.layers.Dense
    assert ExponentialDecay is keras.optimizers.schedules.ExponentialDecay
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("gradtape.keras.no_such_thing")
