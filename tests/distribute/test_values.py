"""PerReplica values, in eager code and in functions."""

import numpy as np

import gradtape as tf
from gradtape.distribute.values import PerReplica, of_replica, per_replica

EVEN = per_replica([tf.constant([1.0, 2.0]), tf.constant([3.0, 6.0])])
UNEVEN = per_replica([tf.constant([1.0, 2.0]), tf.constant([6.0])])


def test_its_public_name():
    assert tf.types.experimental.distributed.PerReplica is PerReplica
    assert isinstance(EVEN, tf.distribute.DistributedValues)


def test_values_of_one_shape_are_one_tensor():
    assert EVEN.stacked.shape == [2, 2]
    assert UNEVEN.stacked is None
    assert [v.numpy().tolist() for v in EVEN.values] == [[1.0, 2.0], [3.0, 6.0]]
    assert [v.numpy().tolist() for v in UNEVEN.values] == [[1.0, 2.0], [6.0]]
    assert per_replica([tf.constant(1.0)]).numpy() == 1.0


def test_a_function_takes_and_returns_them():
    @tf.function
    def double(value):
        return per_replica([2 * part for part in value.values])

    for value in (EVEN, UNEVEN):
        found = double(value)
        for one, other in zip(found.values, value.values, strict=True):
            np.testing.assert_array_equal(one, 2 * other)
    assert double.experimental_get_tracing_count() == 2


def test_structures_are_made_of_them():
    flat = tf.nest.flatten([EVEN, UNEVEN], expand_composites=True)
    assert len(flat) == 3
    packed = tf.nest.pack_sequence_as([EVEN, UNEVEN], flat, expand_composites=True)
    assert [v.numpy().tolist() for v in packed[1].values] == [[1.0, 2.0], [6.0]]
    assert of_replica({"a": UNEVEN, "b": 3}, 1)["a"].numpy().tolist() == [6.0]


def test_its_text():
    lines = repr(UNEVEN).splitlines()
    assert lines[0] == "PerReplica:{"
    assert "1: <tf.Tensor: shape=(1,)" in lines[2]


def test_local_results_of_structures():
    strategy = tf.distribute.get_strategy()
    assert strategy.experimental_local_results(3) == (3,)
    assert [v.numpy().tolist() for v in strategy.experimental_local_results(EVEN)] == [
        [1.0, 2.0],
        [3.0, 6.0],
    ]
