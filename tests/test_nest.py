"""`tf.nest`: how structures are flattened, packed, mapped over and compared."""

from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import gradtape as tf

Point = namedtuple("Point", ["x", "y"])


@pytest.mark.parametrize(
    ("structure", "leaves"),
    [
        (1, [1]),
        (None, [None]),
        ("text", ["text"]),
        ([], []),
        ((), []),
        ({}, []),
        ([1, [2, (3,)], []], [1, 2, 3]),
        ([None, [None]], [None, None]),
        ({"b": 1, "a": 2}, [2, 1]),
        (OrderedDict([("b", 1), ("a", 2)]), [2, 1]),
        (defaultdict(int, {"b": 1, "a": 2}), [2, 1]),
        (Point(x=1, y={"k": 2}), [1, 2]),
        ({"z": [1, 2], "a": Point(3, 4)}, [3, 4, 1, 2]),
        ({5}, [{5}]),
    ],
    ids=repr,
)
def test_flatten(structure, leaves):
    assert tf.nest.flatten(structure) == leaves


def test_arrays_tensors_and_variables_are_leaves():
    leaves = [np.ones((2, 2)), tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])]
    flat = tf.nest.flatten({"a": leaves[0], "b": leaves[1:]})
    assert all(found is leaf for found, leaf in zip(flat, leaves, strict=True))


@pytest.mark.parametrize(
    "structure",
    [
        1,
        [1, 2],
        (1, (2, 3)),
        {"b": 1, "a": 2},
        OrderedDict([("b", 1), ("a", [2])]),
        Point(1, Point(2, 3)),
        [None, {"a": (None,)}],
        [],
        {},
    ],
    ids=repr,
)
def test_pack_sequence_as_undoes_flatten(structure):
    packed = tf.nest.pack_sequence_as(structure, tf.nest.flatten(structure))
    assert packed == structure
    assert type(packed) is type(structure)
    if isinstance(structure, dict):
        assert list(packed) == list(structure)


def test_pack_sequence_as_with_other_leaves():
    assert tf.nest.pack_sequence_as({"b": (0, 0), "a": 0}, [3, 1, 2]) == {"b": (1, 2), "a": 3}


@pytest.mark.parametrize("flat", [[1], [1, 2, 3]], ids=["too few", "too many"])
def test_a_wrong_number_of_leaves_is_a_value_error(flat):
    with pytest.raises(ValueError):
        tf.nest.pack_sequence_as([0, 0], flat)


def test_leaves_that_are_no_sequence_are_a_type_error():
    with pytest.raises(TypeError):
        tf.nest.pack_sequence_as([0], 1)


def test_map_structure():
    assert tf.nest.map_structure(lambda a: a + 1, {"b": [1, 2], "a": Point(3, 4)}) == {
        "b": [2, 3],
        "a": Point(4, 5),
    }
    assert tf.nest.map_structure(lambda a, b: a * b, [1, (2,)], [10, (20,)]) == [10, (40,)]
    assert tf.nest.map_structure(lambda a: a is None, [None]) == [True]


def test_map_structure_keeps_the_order_of_keys():
    assert list(tf.nest.map_structure(lambda a: a, {"z": 1, "a": 2})) == ["z", "a"]


def test_map_structure_may_give_structures():
    assert tf.nest.map_structure(lambda a: [a, a], [1, 2]) == [[1, 1], [2, 2]]


def test_map_structure_takes_structures_of_one_type():
    with pytest.raises(TypeError):
        tf.nest.map_structure(lambda a, b: a + b, [1, 2], (1, 2))
    assert tf.nest.map_structure(lambda a, b: a + b, [1, 2], (1, 2), check_types=False) == [2, 4]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.nest.map_structure(3, [1]), TypeError),
        (lambda: tf.nest.map_structure(lambda: 1), ValueError),
        (lambda: tf.nest.map_structure(lambda a, b: a, [1], [1, 2]), ValueError),
        (lambda: tf.nest.map_structure(lambda a: a, [1], colour="red"), ValueError),
    ],
    ids=["no function", "no structure", "different lengths", "unknown argument"],
)
def test_wrong_calls_of_map_structure(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1, 2),
        ([1, (2, 3)], [4, (5, 6)]),
        ({"a": 1, "b": 2}, {"b": 3, "a": 4}),
        (Point(1, 2), Point(3, 4)),
        ([None], [1]),
        ([tf.constant(1.0)], [np.ones(3)]),
    ],
    ids=repr,
)
def test_these_have_the_same_structure(one, two):
    tf.nest.assert_same_structure(one, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ([1], [1, 2]),
        ([1], 1),
        ([[1]], [1]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ([1, (2,)], [(1,), 2]),
    ],
    ids=repr,
)
def test_other_nestings_are_value_errors(one, two):
    with pytest.raises(ValueError):
        tf.nest.assert_same_structure(one, two)


def test_other_types_are_type_errors_unless_types_are_not_checked():
    with pytest.raises(TypeError):
        tf.nest.assert_same_structure([1, 2], (1, 2))
    tf.nest.assert_same_structure([1, 2], (1, 2), check_types=False)


@pytest.mark.parametrize(
    ("value", "nested"),
    [
        ([], True),
        ((1,), True),
        ({}, True),
        (Point(1, 2), True),
        (None, False),
        ("text", False),
        (1, False),
        (np.ones(2), False),
    ],
    ids=repr,
)
def test_is_nested(value, nested):
    assert tf.nest.is_nested(value) is nested


def test_a_tensor_is_not_nested():
    assert not tf.nest.is_nested(tf.constant([1.0]))
    assert not tf.nest.is_nested(tf.Variable([1.0]))
