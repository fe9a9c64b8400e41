"""`keras.name_scope` names Variables as Keras's own does, and is left whatever ends it."""

import gc
from contextlib import ExitStack, suppress

import numpy as np
import pytest
from keras.src.backend.common.name_scope import current_path

import gradtape as tf
from gradtape import keras
from tests.conftest import open_scopes_of_keras
from tests.moments import RAISES_WHERE_SIGNALS_DO, anywhere_at


def test_paths_of_variables():
    with keras.name_scope("outer"):
        with keras.name_scope("inner") as scope:
            assert scope.name == "inner"
            assert keras.Variable(1.0, name="v").path == "outer/inner/v"
        assert keras.Variable(1.0, name="v").path == "outer/v"
    assert current_path() == ""


def test_a_scope_is_entered_once_for_one_caller():
    caller = object()
    with keras.name_scope("layer", caller=caller):
        with keras.name_scope("layer", caller=caller):
            assert current_path() == "layer"
        assert current_path() == "layer"
    assert current_path() == ""


def test_a_scope_can_be_entered_again_and_within_itself():
    scope = keras.name_scope("a")
    for _ in range(2):
        with scope:
            with scope:
                assert current_path() == "a/a"
            assert current_path() == "a"
        assert current_path() == ""


def test_an_exception_leaves_the_scopes():
    def fail():
        with keras.name_scope("a"), ExitStack() as stack:
            stack.enter_context(keras.name_scope("b"))
            raise ValueError(current_path())

    with pytest.raises(ValueError, match="a/b"):
        fail()
    assert current_path() == ""


def test_a_cleared_session_within_a_scope():
    with keras.name_scope("a"):
        keras.utils.clear_session()
        with keras.name_scope("b"):
            assert current_path() == "b"
    assert current_path() == ""


@pytest.mark.parametrize("name", ["a/b", 7])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(ValueError, match="name"):
        keras.name_scope(name)


class SignalError(Exception):
    pass


@RAISES_WHERE_SIGNALS_DO
def test_a_signal_at_any_moment_leaves_the_scopes():
    def raises():
        raise SignalError

    def named():
        with keras.name_scope("a"), keras.name_scope("b"):
            return current_path()

    count = anywhere_at(0, raises, named)
    assert count > 20
    for moment in range(1, count + 1):
        with suppress(SignalError):
            anywhere_at(moment, raises, named)
        gc.collect()
        assert open_scopes_of_keras() == [], moment
    assert named() == "a/b"


def test_a_layer_that_fails_to_build_leaves_its_scope():
    class Failing(keras.layers.Layer):
        def build(self, shape):
            raise ValueError(current_path())

        def call(self, x):
            return x

    with pytest.raises(ValueError, match="failing"):
        keras.Sequential([Failing(name="failing")])(tf.constant(np.ones((1, 2), np.float32)))
    assert current_path() == ""
