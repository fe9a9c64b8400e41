"""Iterators: the end, tapes, compiled functions, and checkpoints."""

import numpy as np
import pytest

import gradtape as tf


def test_the_end():
    elements = iter(tf.data.Dataset.range(1))
    assert int(elements.get_next()) == 0
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        elements.get_next()
    assert not bool(elements.get_next_as_optional().has_value())
    assert next(elements, None) is None
    assert elements.element_spec == tf.TensorSpec([], tf.int64)


def test_an_empty_optional_refuses_its_value():
    empty = tf.experimental.Optional.empty(tf.TensorSpec([], tf.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no value"):
        empty.get_value()
    assert empty.element_spec == tf.TensorSpec([], tf.int64)


def test_a_tape_does_not_record_what_a_dataset_computes():
    weight = tf.Variable(2.0)
    dataset = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * weight)
    with tf.GradientTape() as tape:
        total = sum(x for x in dataset)
    assert tape.gradient(total, weight) is None
    with tf.GradientTape() as tape:
        total = sum(x * weight for x in dataset)
    assert float(tape.gradient(total, weight)) == 6.0


# Compiled functions


def test_a_loop_in_a_function_runs_over_the_elements_of_each_call():
    dataset = tf.data.Dataset.range(100).shuffle(100, seed=1).batch(10)

    @tf.function
    def last():
        found = tf.zeros([10], tf.int64)
        for batch in dataset:
            found = batch
        return found

    one, two = last().numpy().tolist(), last().numpy().tolist()
    assert one != two  # each call is a pass of its own


def test_training_in_a_function():
    x = np.random.default_rng(1).normal(size=(32, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [2.0], [3.0]], np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)

    def train(wrap):
        weight = tf.Variable(tf.zeros([3, 1]))

        def epoch(data):
            loss = tf.constant(0.0)
            for inputs, targets in data:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((inputs @ weight - targets) ** 2)
                weight.assign_sub(0.1 * tape.gradient(loss, weight))
            return loss

        run = wrap(epoch)
        return [float(run(dataset)) for _ in range(3)], weight.numpy()

    eager, compiled = train(lambda f: f), train(tf.function)
    np.testing.assert_allclose(eager[0], compiled[0], rtol=1e-4)
    np.testing.assert_allclose(eager[1], compiled[1], rtol=1e-4)
    assert eager[0][2] < eager[0][0]


def test_an_iterator_is_an_argument_of_a_function():
    @tf.function
    def step(elements):
        return next(elements) * 2

    elements = iter(tf.data.Dataset.range(3))
    assert [int(step(elements)) for _ in range(3)] == [0, 2, 4]


@pytest.mark.parametrize("autograph", [True, False])
@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("take", [next, lambda elements: elements.get_next()])
def test_the_end_within_a_function_is_an_out_of_range_error(take, nested, autograph):
    total = tf.Variable(0, dtype=tf.int64)

    @tf.function(autograph=autograph)
    def step(elements):
        total.assign_add(take(elements))
        return total.read_value()

    outer = tf.function(lambda elements: step(elements) + 0) if nested else step
    elements = iter(tf.data.Dataset.range(3))
    assert [int(outer(elements)) for _ in range(3)] == [0, 1, 3]
    for _ in range(2):
        with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
            outer(elements)
    assert int(total) == 3


def test_the_end_of_another_iterator_within_a_function_is_its_own():
    @tf.function
    def step(numbers):
        next(iter(tf.data.Dataset.range(1)))
        return next(numbers)

    with pytest.raises(StopIteration):
        step(iter([]))


def test_break_and_conditions_in_a_loop():
    @tf.function
    def first_above(limit):
        found = tf.constant(-1, tf.int64)
        for n in tf.data.Dataset.range(10):
            if n > limit:
                found = n
                break
        return found

    assert int(first_above(tf.constant(4, tf.int64))) == 5


def test_a_function_with_jit_compile_says_what_to_do():
    @tf.function(jit_compile=True)
    def total():
        found = tf.constant(0, tf.int64)
        for n in tf.data.Dataset.range(10):
            found += n
        return found

    with pytest.raises(Exception, match=r"tf\.data\.Dataset"):
        total()


def test_map_calls_a_compiled_function():
    double = tf.function(lambda x: {"y": x * 2})
    dataset = tf.data.Dataset.range(4).map(double).batch(2)
    assert [b["y"].numpy().tolist() for b in dataset] == [[0, 2], [4, 6]]


# Checkpoints


def numbers(elements, count):
    return [np.asarray(tf.nest.flatten(next(elements))[0]).tolist() for _ in range(count)]


SAVED = {
    "rows": lambda: tf.data.Dataset.range(50),
    "shuffled": lambda: tf.data.Dataset.range(50).shuffle(50, seed=4),
    "buffered": lambda: tf.data.Dataset.range(50).shuffle(7, seed=4),
    "repeated": lambda: tf.data.Dataset.range(9).shuffle(9, seed=4).repeat(),
    "batches": lambda: tf.data.Dataset.range(200).shuffle(200, seed=4).batch(4),
    "mapped": lambda: tf.data.Dataset.range(50).map(lambda n: n * 2).batch(2),
    "filtered": lambda: tf.data.Dataset.range(90).filter(lambda n: n % 2 == 0).shuffle(5, seed=1),
    "pairs": lambda: tf.data.Dataset.zip((tf.data.Dataset.range(50), tf.data.Dataset.range(50))),
    "prefetched": lambda: tf.data.Dataset.range(50).map(lambda n: n + 1).prefetch(3),
    "parallel": lambda: tf.data.Dataset.range(50).map(lambda n: n, num_parallel_calls=2),
    "interleaved": lambda: tf.data.Dataset.range(9).interleave(tf.data.Dataset.range, 3),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_checkpoint_keeps_the_place(name, tmp_path):
    dataset = SAVED[name]()
    list(dataset.take(3))  # so that the pass is not the first one
    elements = iter(dataset)
    checkpoint = tf.train.Checkpoint(elements=elements)
    numbers(elements, 5)
    path = checkpoint.save(tmp_path / "ckpt")
    wanted = numbers(elements, 10)
    # In the same program, with an iterator that has gone on,
    checkpoint.restore(path).assert_consumed()
    assert numbers(elements, 10) == wanted
    # and in another, whose iterator is new.
    other = iter(SAVED[name]())
    tf.train.Checkpoint(elements=other).restore(path).assert_consumed()
    assert numbers(other, 10) == wanted
    # To save changes nothing.
    again = iter(SAVED[name]())
    tf.train.Checkpoint(elements=again).restore(path)
    numbers(again, 2)
    tf.train.Checkpoint(elements=again).save(tmp_path / "more")
    assert numbers(again, 8) == wanted[2:]


def test_a_checkpoint_of_an_iterator_that_has_ended(tmp_path):
    dataset = tf.data.Dataset.range(3)
    elements = iter(dataset)
    list(elements)
    path = tf.train.Checkpoint(elements=elements).save(tmp_path / "ckpt")
    other = iter(dataset)
    tf.train.Checkpoint(elements=other).restore(path)
    assert next(other, None) is None


def test_functions_of_elements_that_are_skipped_are_not_called(tmp_path):
    calls = []
    dataset = tf.data.Dataset.range(50).map(lambda n: calls.append(1) or n)
    elements = iter(dataset)
    numbers(elements, 20)
    checkpoint = tf.train.Checkpoint(elements=elements)
    path = checkpoint.save(tmp_path / "ckpt")
    calls.clear()
    checkpoint.restore(path)
    other = iter(dataset)
    tf.train.Checkpoint(elements=other).restore(path)
    assert numbers(other, 1) == [20]
    assert len(calls) == 1
