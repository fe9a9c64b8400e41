"""What libraries import from TensorFlow's private modules of linear operators."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.compat.linear_operators import add_operators
from gradtape.compat.private_modules import finds

ROOT = "tensorflow.python.ops.linalg"


def test_sums():
    one, other = tf.linalg.LinearOperatorDiag([1.0, 2.0]), tf.linalg.LinearOperatorIdentity(2)
    (found,) = add_operators([one, other])
    assert isinstance(found, tf.linalg.LinearOperatorDiag)
    np.testing.assert_allclose(found.to_dense(), [[2.0, 0.0], [0.0, 3.0]])
    assert finds(f"{ROOT}.linear_operator_addition")("add_operators") is add_operators


def test_what_cannot_be_added_is_refused():
    one = tf.linalg.LinearOperatorDiag([1.0, 2.0])
    with pytest.raises(TypeError, match="LinearOperatorPermutation"):
        add_operators([one, tf.linalg.LinearOperatorPermutation([1, 0])])
    with pytest.raises(TypeError, match="operators"):
        add_operators([one, tf.eye(2)])
    with pytest.raises(ValueError, match="at least one"):
        add_operators([])
    with pytest.raises(ValueError, match=r"\(3, 3\)"):
        add_operators([one, tf.linalg.LinearOperatorIdentity(3)])
    with pytest.raises(ValueError, match="addition_tiers"):
        add_operators([one], addition_tiers=[])


def test_classes_are_found_where_tensorflow_defines_them():
    assert finds(f"{ROOT}.linear_operator")("LinearOperator") is tf.linalg.LinearOperator
    assert finds(f"{ROOT}.linear_operator_diag")("LinearOperatorDiag") is (
        tf.linalg.LinearOperatorDiag
    )


def test_a_library_overrides_what_it_knows_better():
    """As TensorFlow Probability does, with the names that TensorFlow's own classes have."""
    make_composite_tensor = finds(f"{ROOT}.linear_operator")("make_composite_tensor")

    @make_composite_tensor
    class Careful(tf.linalg.LinearOperatorLowerTriangular):
        def _log_abs_determinant(self):
            return tf.reduce_sum(tf.math.log(tf.abs(self._get_diag()))) + 0.0

    tril = tf.constant([[2.0, 9.0], [1.0, 3.0]])
    operator = Careful(tril)
    np.testing.assert_allclose(operator.log_abs_determinant(), np.log(6.0), rtol=1e-6)
    np.testing.assert_allclose(operator._get_tril(), [[2.0, 0.0], [1.0, 3.0]])
    full = tf.linalg.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 2.0]])
    full._is_positive_definite = full._is_self_adjoint = True
    assert full.is_positive_definite
    assert isinstance(full.cholesky(), tf.linalg.LinearOperatorLowerTriangular)
