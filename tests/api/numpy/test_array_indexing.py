"""Indexing Tensors with arrays, by NumPy's rules, where TensorFlow's end."""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf

GRID = np.random.default_rng(0).normal(size=(3, 4, 5, 2))
ROW, COLUMN = np.array([2, 0, -1]), np.array([[1], [2]])
MASK, WIDE = np.array([True, False, True]), np.random.default_rng(1).random((4, 5)) < 0.4

KEYS = {
    "array": ROW,
    "array in a tuple": (ROW,),
    "two": (ROW, ROW),
    "second axis": (slice(None), ROW),
    "last axis": (..., ROW % 2),
    "apart": (ROW, slice(None), ROW),
    "number and array": (0, ROW),
    "number apart": (0, slice(None), ROW),
    "array and number": (ROW, 1),
    "new axis": (None, ROW),
    "new axis between": (ROW, None, ROW),
    "broadcast": (COLUMN, ROW),
    "after a slice": (slice(1, 3), COLUMN, ROW % 3),
    "between slices": (slice(None, None, -1), ROW, slice(0, 4, 2)),
    "all axes": (0, 1, 2, ROW % 2),
    "mask": (MASK,),
    "mask and number": (MASK, 0),
    "mask and list": (MASK, [0, 3]),
    "mask of two axes": (slice(None), WIDE),
    "mask of two axes and number": (slice(None), WIDE, 0),
    "mask, new axis, ellipsis": (MASK, None, ..., 0),
    "lists": ([0, 1], [1, 2]),
    "lists at the end": (..., [0, 1], [1, 0]),
    "empty list": ([],),
    "tuples": ((0, 1), (1, 2)),
    "tuple and array": (1, (0, 0, 1), ROW % 4),
    "mask that is a tuple": (slice(None), slice(None), (True, False, True, False, True)),
    "scalar array": (np.array(1), ROW),
    "unsigned": (ROW.astype(np.uint8) % 3,),
}

each_key = pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)


def with_tensors(key):
    if isinstance(key, tuple):
        return tuple(tf.constant(part) if isinstance(part, np.ndarray) else part for part in key)
    return tf.constant(key)


@pytest.mark.parametrize("form", [lambda key: key, with_tensors], ids=["arrays", "Tensors"])
@each_key
def test_values_and_gradients_are_numpys(key, form):
    x = tf.constant(GRID)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = x[form(key)]
        total = tf.reduce_sum(found * found)
    expected = np.zeros_like(GRID)
    np.add.at(expected, key, 2 * GRID[key])
    np.testing.assert_array_equal(found.numpy(), GRID[key])
    np.testing.assert_allclose(tape.gradient(total, x).numpy(), expected)


@each_key
def test_forward_mode_takes_the_same_elements(key):
    tangent = np.cos(GRID)
    with tf.autodiff.ForwardAccumulator(
        x := tf.constant(GRID), tf.constant(tangent)
    ) as accumulator:
        found = x[key]
    np.testing.assert_array_equal(accumulator.jvp(found).numpy(), tangent[key])


def test_each_example_of_a_batch_has_its_own_indices():
    places = np.array([[0, 1], [1, 1], [-1, 0]])
    found = tf.vmap(lambda x, i: x[:, i])(tf.constant(GRID[:, :, 0]), tf.constant(places))
    np.testing.assert_array_equal(
        found.numpy(), np.stack([x[:, i] for x, i in zip(GRID[:, :, 0], places, strict=True)])
    )


@each_key
def test_part_of_a_variable_can_be_assigned(key):
    variable, expected = tf.Variable(GRID), GRID.copy()
    variable[key].assign(np.zeros_like(GRID[key]))
    expected[key] = 0
    np.testing.assert_array_equal(variable.numpy(), expected)


def test_an_index_array_may_change_after_its_use():
    x, places = tf.constant(GRID), np.array([0, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x[places]
        places[:] = 2
    np.testing.assert_array_equal(tape.gradient(y, x).numpy()[:, 0, 0, 0], [1.0, 1.0, 0.0])


def test_short_integers_reach_every_place():
    x = tf.range(300)
    assert x[np.array([-1, 0], np.int8)].numpy().tolist() == [299, 0]
    assert np.take(x, np.array([-1], np.int8)).numpy().tolist() == [299]
    assert np.take(x, np.array([-1], np.int8), mode="wrap").numpy().tolist() == [299]


def test_a_list_alone_names_an_index_for_each_axis():
    np.testing.assert_array_equal(tf.constant(GRID)[[1, 2]].numpy(), GRID[1, 2])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ((np.array([5]),), "index 5 is out of range for an axis of size 3"),
        ((ROW, np.array([-5, 0, 0])), "index -5 is out of range for an axis of size 4"),
        ((ROW, np.array([0, 1])), "do not broadcast"),
        ((ROW,) * 5, "5 indices are too many"),
        ((slice(None), MASK), r"a mask of shape \(3,\) does not fit axis 1"),
        ((..., ROW, ...), "only one ellipsis"),
    ],
)
def test_indices_that_do_not_fit_are_refused(key, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"getitem: .*{message}"):
        tf.constant(GRID)[key]


def test_indices_that_are_no_integers_are_refused():
    with pytest.raises(
        TypeError, match="getitem: index arrays must be integers or booleans, got float64"
    ):
        tf.constant(GRID)[np.array([0.5])]
