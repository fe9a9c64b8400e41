"""Single functions and classes of `tensorflow.python` that libraries import."""

import pytest

import gradtape as tf
from gradtape.compat import internals


def test_eager_context():
    assert internals.context().executing_eagerly()
    with internals.eager_mode(), internals.silence():
        pass
    with pytest.raises(NotImplementedError, match="no graphs"):
        internals.graph_mode()


def test_shapes_of_values():
    assert internals.constant_value_as_shape(tf.constant([2, -1])) == tf.TensorShape([2, None])
    assert internals.constant_value_as_shape([2, 3]) == tf.TensorShape([2, 3])
    seen = []
    tf.function(lambda n: seen.append(internals.constant_value_as_shape(n)))(tf.constant([1, 2]))
    assert seen == [tf.TensorShape([None, None])]


def test_variable_specs():
    spec = internals.VariableSpec([2], tf.float32)
    assert isinstance(spec, tf.TypeSpec)
    assert spec._with_tensor_ranks_only().shape == tf.TensorShape([None])
    assert spec.is_compatible_with(tf.Variable([1.0, 2.0]))


def test_values_of_variables():
    v = tf.Variable(1.0)
    found = internals.convert_variables_to_tensors({"v": v, "n": 2})
    v.assign(3.0)
    assert (found["v"].numpy(), found["n"]) == (1.0, 2)


def test_a_gradient_that_is_prevented():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = internals.prevent_gradient(x, message="why") * 2
    assert y.numpy() == 4.0
    with pytest.raises(LookupError, match="why"):
        tape.gradient(y, x)


def test_names_of_specs():
    class Spec(tf.TypeSpec):
        pass

    internals.register_type_spec("tests.Spec")(Spec)
    try:
        assert internals.type_spec_name(Spec) == "tests.Spec"
        assert internals.type_spec_by_name("tests.Spec") is Spec
        with pytest.raises(ValueError, match="taken"):
            internals.register_type_spec("tests.Spec")(Spec)
    finally:
        del internals.NAMES_OF_SPECS[Spec], internals.SPECS_BY_NAME["tests.Spec"]
    with pytest.raises(ValueError, match="registered"):
        internals.type_spec_name(Spec)
    with pytest.raises(ValueError, match="registered"):
        internals.type_spec_by_name("tests.Spec")


def test_case():
    found = internals.case_helper(tf.cond, [(True, lambda: 1)], lambda: 2, False, "case")
    assert found == 1
