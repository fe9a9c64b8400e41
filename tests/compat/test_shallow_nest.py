"""`tensorflow.python.util.nest`: shallow structures and paths."""

import collections

import pytest

import gradtape as tf
from gradtape.compat import shallow_nest as nest

Pair = collections.namedtuple("Pair", ["first", "second"])
DEEP = {"b": [1, (2, 3)], "a": Pair({"x": 4}, 5)}


@pytest.mark.parametrize(
    ("shallow", "parts"),
    [
        ({"b": 0, "a": 0}, [Pair({"x": 4}, 5), [1, (2, 3)]]),
        ({"b": [0, 0], "a": Pair(0, 0)}, [{"x": 4}, 5, 1, (2, 3)]),
        (DEEP, [4, 5, 1, 2, 3]),
        (0, [DEEP]),
    ],
)
def test_up_to(shallow, parts):
    assert nest.flatten_up_to(shallow, DEEP) == parts
    found = nest.map_structure_up_to(shallow, lambda part, again: (part, again), DEEP, DEEP)
    assert nest.flatten_up_to(shallow, found) == [(part, part) for part in parts]


def test_what_does_not_fit():
    with pytest.raises(TypeError, match="input must also be a sequence"):
        nest.assert_shallow_structure([1], 1)
    with pytest.raises(TypeError, match="same sequence type"):
        nest.assert_shallow_structure([1], (1,))
    with pytest.raises(ValueError, match="same sequence length"):
        nest.assert_shallow_structure([1], [1, 2])
    with pytest.raises(ValueError, match="same keys"):
        nest.assert_shallow_structure({"a": 1}, {"b": 1})
    nest.assert_shallow_structure([1], (1,), check_types=False)


def test_paths():
    paths = [("a", "first", "x"), ("a", "second"), ("b", 0), ("b", 1, 0), ("b", 1, 1)]
    assert list(nest.yield_flat_paths(DEEP)) == paths
    assert nest.flatten_with_tuple_paths(DEEP) == list(zip(paths, [4, 5, 1, 2, 3], strict=True))
    assert nest.flatten_with_joined_string_paths(DEEP)[0] == ("a/first/x", 4)
    named = nest.map_structure_with_paths(lambda path, leaf: f"{path}={leaf}", DEEP)
    assert named["b"] == ["b/0=1", ("b/1/0=2", "b/1/1=3")]


def test_what_a_function_opens():
    shallow = nest.get_traverse_shallow_structure(lambda part: not isinstance(part, tuple), DEEP)
    assert shallow == {"b": [False, False], "a": False}
    chosen = nest.get_traverse_shallow_structure(
        lambda part: [True, False] if isinstance(part, list) else not isinstance(part, tuple),
        [{"a": 1}, {"b": 2}],
    )
    assert chosen == [{"a": False}, False]


@pytest.mark.parametrize(
    "structure",
    [
        [1, 2],
        (1, 2),
        Pair(1, 2),
        {"b": 1, "a": 2},
        collections.OrderedDict(b=1, a=2),
        collections.defaultdict(int, {"b": 1, "a": 2}),
    ],
)
def test_containers_are_made_again(structure):
    again = nest._sequence_like(structure, nest._yield_value(structure))
    assert type(again) is type(structure)
    assert again == structure
    assert list(again) == list(structure)


def test_composites():
    x = tf.ragged.constant([[1], [2, 3]])
    assert nest.flatten_up_to([0], [x]) == [x]
    assert len(nest.flatten_with_tuple_paths([x], expand_composites=True)) == 2
