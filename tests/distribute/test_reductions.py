"""How values of replicas become one: of equal shapes, and of different ones."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.distribute.reductions import operation, reduced
from gradtape.distribute.values import PerReplica, per_replica

ReduceOp = tf.distribute.ReduceOp
EVEN = per_replica([tf.constant([1.0, 2.0]), tf.constant([3.0, 6.0])])
UNEVEN = per_replica([tf.constant([1.0, 2.0]), tf.constant([6.0])])
WHOLE = per_replica([tf.constant(3), tf.constant(4)])


@pytest.mark.parametrize(
    ("value", "way", "axis", "expected"),
    [
        (EVEN, ReduceOp.SUM, None, [4.0, 8.0]),
        (EVEN, ReduceOp.MEAN, None, [2.0, 4.0]),
        (EVEN, ReduceOp.SUM, 0, 12.0),
        (EVEN, ReduceOp.MEAN, -1, 3.0),
        (UNEVEN, ReduceOp.SUM, 0, 9.0),
        (UNEVEN, ReduceOp.MEAN, 0, 3.0),
        (WHOLE, ReduceOp.SUM, None, 7),
        (WHOLE, ReduceOp.MEAN, None, 3),
        (tf.constant([2.0, 4.0]), ReduceOp.MEAN, 0, 3.0),
        (tf.constant([2.0, 4.0]), ReduceOp.MEAN, None, [2.0, 4.0]),
    ],
)
def test_values_become_one(value, way, axis, expected):
    found = reduced(way, value, axis, 2)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.dtype == (tf.int32 if value is WHOLE else tf.float32)


def test_the_gradient_goes_to_every_replica():
    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        total = reduced(ReduceOp.MEAN, per_replica([x * x, y * y]), None, 2)
    assert [float(g) for g in tape.gradient(total, [x, y])] == [2.0, 3.0]


def test_names_of_operations():
    assert operation("sum", "f") is operation("SUM", "f") is operation(ReduceOp.SUM, "f")
    with pytest.raises(ValueError, match="all_reduce: reduce_op must be 'sum' or 'mean', got 'ma"):
        operation("max", "all_reduce")


def test_an_axis_that_is_not_there():
    with pytest.raises(ValueError, match="axis 1 is not an axis of a value of shape"):
        reduced(ReduceOp.SUM, EVEN, 1, 2)


def test_a_strategy_reduces_structures():
    strategy = tf.distribute.get_strategy()
    found = strategy.reduce("sum", {"a": tf.constant([1.0, 2.0]), "b": (3.0,)}, axis=None)
    assert found["a"].numpy().tolist() == [1.0, 2.0]
    assert isinstance(UNEVEN, PerReplica)
