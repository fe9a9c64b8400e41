"""Functions that run once for many rows give what they give for each element; others are called for
each element.
"""

import numpy as np
import pytest

import gradtape as tf

X = np.random.default_rng(3).integers(0, 255, (30, 4, 4, 3)).astype(np.uint8)
Y = np.arange(30) % 10
CALLS = []


def normal(x, y):
    x = tf.cast(x, tf.float32) / 255.0
    return x - tf.reduce_mean(x), tf.one_hot(y, 10)


def branching(x, y):
    return (x, y) if y > 5 else (x + 1, y)


def counting(x, y):
    CALLS.append(1)
    return x, y


AT_ONCE = [
    normal,
    lambda x, y: {"image": tf.cast(x, tf.float32) * 2.0, "label": tf.cast(y, tf.int32)},
    lambda x, y: (x[:2], y * y),
    lambda x, y: (tf.image.flip_left_right(x), tf.image.rgb_to_grayscale(x)),
    lambda x, y: (tf.reshape(x, [-1]), tf.expand_dims(y, 0)),
    lambda x, y: (tf.reduce_max(x), 5),
    lambda x, y: tf.transpose(x, [2, 0, 1]),
    lambda x, y: [y, y + 1],
    lambda x, y: (tf.where(y > 5, y, -y), tf.cast(x, tf.bfloat16)),
    tf.function(normal),
]
EACH = [
    branching,
    counting,
    lambda x, y: (x, y + tf.random.uniform([], 0, 5, tf.int64)),
    lambda x, y: (tf.strings.as_string(y) if hasattr(tf, "strings") else "text", x),
    lambda x, y: tf.numpy_function(lambda a: a * 2, [y], tf.int64),
]


def source():
    return tf.data.Dataset.from_tensor_slices((X, Y))


def same(one, two):
    for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(two), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=1e-5)


@pytest.mark.parametrize("function", AT_ONCE)
@pytest.mark.parametrize(
    "build",
    [
        lambda f: source().map(f).batch(7),
        lambda f: source().shuffle(30, seed=2).map(f).batch(7),
        lambda f: source().map(f).shuffle(30, seed=2).batch(7),
        lambda f: source().map(f).repeat(2).batch(16),
        lambda f: source().map(f).cache().batch(7),
    ],
)
def test_at_once_is_one_by_one(function, build):
    dataset = build(function)
    assert mapped(dataset)._vectorised is not None
    # Each element is mapped by itself when it is asked for by itself.
    elements = list(build(function).unbatch().as_numpy_iterator())
    assert len(elements) in (30, 60)
    alone = {
        str(i): e
        for i, e in enumerate(
            tf.data.Dataset.from_generator(
                lambda: zip(X, Y, strict=True),
                output_signature=(tf.TensorSpec([4, 4, 3], tf.uint8), tf.TensorSpec([], tf.int64)),
            )
            .map(function)
            .as_numpy_iterator()
        )
    }
    ordered = list(source().map(function).batch(7).unbatch().as_numpy_iterator())
    for one, two in zip(ordered, alone.values(), strict=True):
        same(one, two)
    assert tf.nest.is_nested(elements[0]) == tf.nest.is_nested(alone["0"])


def mapped(dataset):
    stage = dataset.stage
    while type(stage).__name__ != "Map":
        stage = stage.inputs[0]
    return stage


@pytest.mark.parametrize("function", EACH)
def test_each_by_itself(function):
    dataset = source().map(function).batch(7)
    assert mapped(dataset)._vectorised is None
    CALLS.clear()
    assert sum(1 for _ in dataset) == 5
    assert len(CALLS) in (0, 30)


def test_what_fails_for_a_later_row_fails_with_its_number():
    table = tf.constant([1.0, 2.0, 3.0, 4.0] * 5)

    def picked(n):
        return tf.gather(table, n)

    found = tf.data.Dataset.range(25).map(picked).batch(10)
    elements = iter(found)
    assert next(elements).shape == (10,)
    assert next(elements).shape == (10,)
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        next(elements)
    assert "map of a tf.data.Dataset, at its element 20" in "\n".join(error.value.__notes__)
    for number in (21, 22, 23, 24):  # each ends a batch
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            next(elements)
        assert f"element {number}." in error.value.__notes__[0]
    assert next(elements, None) is None


def failing(n):
    return tf.gather(tf.constant([1.0] * 12), tf.where(n == 5, tf.constant(99, tf.int64), n))


@pytest.mark.parametrize(
    "build",
    [
        lambda: tf.data.Dataset.range(12).map(failing),
        lambda: tf.data.Dataset.range(12).map(failing).repeat(2),
        lambda: tf.data.Dataset.range(12).map(failing).enumerate(),
        lambda: tf.data.Dataset.zip((tf.data.Dataset.range(12).map(failing), range_to(12))),
        lambda: tf.data.Dataset.zip((range_to(12), tf.data.Dataset.range(12).map(failing))),
        lambda: tf.data.Dataset.range(12).map(failing).skip(2).take(9),
        lambda: tf.data.Dataset.range(12).map(failing).shuffle(20, seed=1),
    ],
)
def test_a_failing_row_costs_its_batch_and_no_more(build):
    """As elements one by one would: a batch ends at the row that fails."""
    rows = build().batch(2)
    alone = build().filter(lambda *element: True).batch(2)
    found = [list(rows.ignore_errors().as_numpy_iterator()) for _ in range(2)]
    wanted = [list(alone.ignore_errors().as_numpy_iterator()) for _ in range(2)]
    for one, two in zip(found, wanted, strict=True):
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            same(a, b)


def range_to(n):
    return tf.data.Dataset.range(n)


def test_results_of_different_shapes_stay_elements():
    """A result's shape may depend on values that the first rows do not show."""
    values = np.ones((20, 3), np.float32)
    values[12:, 0] = -1
    dataset = tf.data.Dataset.from_tensor_slices(values).map(lambda x: tf.boolean_mask(x, x > 0))
    assert [len(x) for x in dataset] == [3] * 12 + [2] * 8
    with pytest.raises(tf.errors.InvalidArgumentError, match="use padded_batch"):
        list(dataset.batch(20))
