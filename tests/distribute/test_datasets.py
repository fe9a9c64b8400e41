"""Distributed datasets of one replica; tests/distribute/test_strategy.py has those of eight."""

import pytest

import gradtape as tf
from gradtape.distribute.strategy import Strategy


def batches():
    return tf.data.Dataset.range(5).batch(2)


def test_one_replica_gets_the_batches_as_they_are():
    strategy = tf.distribute.get_strategy()
    dataset = strategy.experimental_distribute_dataset(batches())
    assert isinstance(dataset, tf.distribute.DistributedDataset)
    assert [batch.numpy().tolist() for batch in dataset] == [[0, 1], [2, 3], [4]]
    assert len(dataset) == 3
    assert dataset.element_spec == batches().element_spec == iter(dataset).element_spec


def test_from_a_function():
    seen = []

    def make(context):
        seen.append(repr(context))
        return batches().shard(context.num_input_pipelines, context.input_pipeline_id)

    dataset = tf.distribute.get_strategy().distribute_datasets_from_function(make)
    assert [batch.numpy().tolist() for batch in dataset] == [[0, 1], [2, 3], [4]]
    assert seen == [
        "InputContext(input_pipeline_id=0, num_input_pipelines=1, num_replicas_in_sync=1)"
    ]


def test_an_iterator_ends():
    elements = iter(tf.distribute.get_strategy().experimental_distribute_dataset(batches()))
    assert isinstance(elements, tf.distribute.DistributedIterator)
    assert elements.get_next().numpy().tolist() == [0, 1]
    assert elements.get_next_as_optional().get_value().numpy().tolist() == [2, 3]
    next(elements)
    assert not elements.get_next_as_optional().has_value()
    with pytest.raises(tf.errors.OutOfRangeError, match="has ended"):
        elements.get_next()


def test_a_function_goes_through_a_dataset():
    strategy = tf.distribute.get_strategy()
    dataset = strategy.experimental_distribute_dataset(batches())

    @tf.function
    def total():
        found = tf.constant(0, tf.int64)
        for batch in dataset:
            found += tf.reduce_sum(strategy.run(lambda x: x * 2, args=(batch,)))
        return found

    assert int(total()) == 20


def test_batch_sizes_must_divide():
    context = tf.distribute.InputContext(num_replicas_in_sync=4)
    assert context.get_per_replica_batch_size(8) == 2
    with pytest.raises(ValueError, match="not a multiple of the 4 replicas"):
        context.get_per_replica_batch_size(6)


@pytest.mark.parametrize(
    "call", ["experimental_distribute_dataset", "distribute_datasets_from_function"]
)
def test_something_else_is_refused(call):
    given = [1, 2] if call.startswith("experimental") else lambda context: [1, 2]
    with pytest.raises(TypeError, match=f"{call}.* must be a tf.data.Dataset"):
        getattr(tf.distribute.get_strategy(), call)(given)


def test_elements_that_are_no_batches_are_refused():
    strategy = Strategy(["CPU:0", "CPU:1"])  # whether or not there are two
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(3))
    with pytest.raises(ValueError, match="must be batches, whose rows the 2 replicas share"):
        next(iter(dataset))
