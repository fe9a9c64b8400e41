"""Pipelines as index arithmetic give what elements one by one give.

Random chains of stages are built twice: over slices, which are rows of arrays, and over the same
elements from a generator, which come one by one.
"""

import numpy as np
import pytest

import gradtape as tf

X = np.arange(60, dtype=np.float32).reshape(20, 3)
Y = np.arange(20)


def by_rows():
    return tf.data.Dataset.from_tensor_slices({"x": X, "y": Y})


def one_by_one():
    def elements():
        for x, y in zip(X, Y, strict=True):
            yield {"x": x, "y": y}

    spec = {"x": tf.TensorSpec([3], tf.float32), "y": tf.TensorSpec([], tf.int64)}
    found = tf.data.Dataset.from_generator(elements, output_signature=spec)
    return found.apply(tf.data.experimental.assert_cardinality(20))


def double(*element):
    return tf.nest.map_structure(lambda leaf: leaf + leaf, element[-1])


STAGES = [
    lambda ds: ds.shuffle(100, seed=3),
    lambda ds: ds.shuffle(4, seed=3),
    lambda ds: ds.shuffle(7, seed=5, reshuffle_each_iteration=False),
    lambda ds: ds.repeat(2),
    lambda ds: ds.repeat(3).take(31),
    lambda ds: ds.repeat().take(25),
    lambda ds: ds.take(13),
    lambda ds: ds.take(0),
    lambda ds: ds.skip(3),
    lambda ds: ds.skip(50),
    lambda ds: ds.shard(3, 2),
    lambda ds: ds.enumerate().map(lambda i, e: e),
    lambda ds: ds.map(double),
    lambda ds: ds.concatenate(ds.take(2)),
    lambda ds: tf.data.Dataset.zip((ds.skip(1), ds)).map(lambda a, b: a),
    lambda ds: ds.cache(),
    lambda ds: ds.prefetch(1),
]


def chains():
    random = np.random.default_rng(11)
    for number in range(120):
        count = int(random.integers(1, 6))
        yield number, [int(n) for n in random.integers(0, len(STAGES), count)]


def built(source, chain):
    dataset = source()
    for number in chain:
        dataset = STAGES[number](dataset)
    return dataset


def flat(elements):
    return [(e["x"].tolist(), np.asarray(e["y"]).tolist()) for e in elements]


@pytest.mark.parametrize(("number", "chain"), list(chains()))
def test_rows_are_the_elements(number, chain):
    one, two = built(by_rows, chain), built(one_by_one, chain)
    assert int(one.cardinality()) == int(two.cardinality())
    for _ in range(2):  # the second pass has other orders, and caches
        assert flat(one.as_numpy_iterator()) == flat(two.as_numpy_iterator())
    one, two = one.batch(4), two.batch(4)
    for _ in range(2):
        assert flat(one.as_numpy_iterator()) == flat(two.as_numpy_iterator())


def test_batches_in_order_are_views_of_the_data():
    dataset = by_rows()
    one, two = (next(iter(dataset.batch(4)))["x"].array for _ in range(2))
    assert np.shares_memory(one, two)


def test_slices_are_a_copy_of_what_was_given():
    given = np.zeros(4)
    dataset = tf.data.Dataset.from_tensor_slices(given)
    given[:] = 1
    assert [float(x) for x in dataset] == [0.0] * 4


def test_numpy_arrays_of_elements_are_the_callers_own():
    dataset = by_rows().batch(4)
    next(dataset.as_numpy_iterator())["x"][:] = -1
    assert next(dataset.as_numpy_iterator())["x"][0, 0] == 0


def test_blocks_do_not_run_ahead_without_bounds():
    """What is read ahead of a user who takes elements one by one is a block, and blocks grow."""
    wide = np.zeros((50, 1 << 17), np.float32)  # half a megabyte in each row
    dataset = tf.data.Dataset.from_tensor_slices(wide)
    elements = iter(dataset)
    first, second = next(elements).array, next(elements).array
    assert first.base is second.base  # views, no copies
    shuffled = iter(dataset.shuffle(50))
    blocks = {next(shuffled).array.base.nbytes for _ in range(20)}
    assert max(blocks) <= 2 << 20
