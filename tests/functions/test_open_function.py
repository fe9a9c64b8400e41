"""Concrete functions of which some sizes are open, and the arguments that they take."""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
from gradtape.api.tensorflow.type_specs import SparseTensorSpec


def test_a_concrete_function_with_open_sizes():
    w, fixed = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    f = tf.function(lambda x, n=2: x * w * fixed * n)
    concrete = f.get_concrete_function(tf.TensorSpec([None, 3]))
    assert f.experimental_get_tracing_count() == 1
    assert [concrete(tf.ones([n, 3])).shape.as_list() for n in (5, 2)] == [[5, 3], [2, 3]]
    assert f(tf.ones([7, 3])).shape == [7, 3]
    assert f.experimental_get_tracing_count() == 1
    assert {id(v) for v in concrete.variables} == {id(w), id(fixed)}
    assert [v is w for v in concrete.trainable_variables] == [True]
    assert concrete.structured_input_signature[0][0] == tf.TensorSpec([None, 3])
    with tf.GradientTape() as tape:
        y = concrete(tf.ones([1, 3]))
    assert float(tape.gradient(y, w)) == 18.0
    assert repr(concrete) == f"<OpenFunction {f._name}>"


def test_the_concrete_function_of_a_signature():
    f = tf.function(
        lambda x, s: x * tf.sparse.reduce_sum(s),
        input_signature=[tf.TensorSpec([None]), SparseTensorSpec([None])],
    )
    concrete = f.get_concrete_function()
    found = concrete(tf.ones([2]), tf.sparse.SparseTensor([[1]], [3.0], [4]))
    assert found.numpy().tolist() == [3.0, 3.0]
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("shape", [[2], [None]])
def test_arguments_of_concrete_functions(shape):
    concrete = tf.function(lambda x, *, y=None: x * 2.0).get_concrete_function(tf.TensorSpec(shape))
    for given in (
        tf.constant([1.0, 2.0]),
        [1.0, 2.0],
        np.array([1.0, 2.0]),
        tf.Variable([1.0, 2.0]),
    ):
        assert concrete(given).numpy().tolist() == [2.0, 4.0]
    assert concrete(x=tf.ones([3])).shape == [3]  # shapes are not enforced
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="argument 0 must have dtype float32, got int32"
    ):
        concrete(tf.constant([1, 2]))
    with pytest.raises(TypeError):
        concrete()
    with pytest.raises(TypeError):
        concrete(tf.ones([2]), tf.ones([2]))


def test_the_structure_of_a_concrete_functions_arguments():
    concrete = tf.function(lambda pair, *, z: pair["a"] + pair["b"] + z).get_concrete_function(
        {"a": tf.TensorSpec([None]), "b": tf.TensorSpec([])}, z=tf.TensorSpec([])
    )
    assert concrete({"a": [1.0, 2.0], "b": 1.0}, z=1).numpy().tolist() == [3.0, 4.0]
    with pytest.raises(TypeError, match="structure"):
        concrete({"a": tf.ones([2])}, z=1.0)
