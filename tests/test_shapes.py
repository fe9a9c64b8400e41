"""`TensorShape` and `TensorSpec`: what is known of a shape, and how it meets another."""

import copy
import operator
import pickle

import numpy as np
import pytest

import gradtape as tf
from gradtape.shapes import TensorShape, TensorSpec

UNKNOWN = tf.TensorShape(None)


# TensorShape


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ([2, 3], [2, 3]),
        ((2, None), [2, None]),
        ([], []),
        (5, [5]),
        (np.array([2, 3]), [2, 3]),
        ([np.int64(2)], [2]),
        (tf.TensorShape([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
    ],
    ids=repr,
)
def test_a_shape_can_be_made_from(dims, expected):
    assert tf.TensorShape(dims).as_list() == expected


@pytest.mark.parametrize(
    ("dims", "error"),
    [([-1], ValueError), ([1.5], TypeError), (["2"], TypeError), ([[2]], TypeError)],
    ids=repr,
)
def test_a_shape_cannot_be_made_from(dims, error):
    with pytest.raises(error):
        tf.TensorShape(dims)


@pytest.mark.parametrize(
    ("shape", "rank", "count", "defined"),
    [
        (tf.TensorShape([2, 3]), 2, 6, True),
        (tf.TensorShape([]), 0, 1, True),
        (tf.TensorShape([0, 3]), 2, 0, True),
        (tf.TensorShape([2, None]), 2, None, False),
        (UNKNOWN, None, None, False),
    ],
    ids=repr,
)
def test_what_is_known(shape, rank, count, defined):
    assert shape.rank == shape.ndims == rank
    assert shape.num_elements() == count
    assert shape.is_fully_defined() is defined
    if defined:
        shape.assert_is_fully_defined()
    else:
        with pytest.raises(ValueError):
            shape.assert_is_fully_defined()


def test_a_shape_reads_like_a_list():
    shape = tf.TensorShape([2, None, 4])
    assert len(shape) == 3
    assert list(shape) == [2, None, 4]
    assert (shape[0], shape[-1]) == (2, 4)
    assert shape[1:] == tf.TensorShape([None, 4])
    assert isinstance(shape[:1], tf.TensorShape)
    assert np.zeros(tf.TensorShape([2, 3])).shape == (2, 3)


@pytest.mark.parametrize(
    "read",
    [len, list, lambda shape: shape.as_list(), lambda shape: shape[0].value],
    ids=["len", "list", "as_list", "index"],
)
def test_a_shape_of_unknown_rank_cannot_be_read(read):
    with pytest.raises((ValueError, AttributeError)):
        read(UNKNOWN)


def test_a_shape_is_true_if_its_rank_is_known():
    assert tf.TensorShape([])
    assert tf.TensorShape([0])
    assert not UNKNOWN


@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [
        (tf.TensorShape([2, 3]), [2, 3], True),
        (tf.TensorShape([2, 3]), (2, 3), True),
        (tf.TensorShape([2, 3]), (2.0, 3.0), True),
        (tf.TensorShape([2, 3]), (2, -1), False),
        (tf.TensorShape([2, 3]), tf.TensorShape([3, 2]), False),
        (tf.TensorShape([]), [], True),
        (tf.TensorShape([2]), 2, True),
        (tf.TensorShape([2]), "text", False),
        (tf.TensorShape([2]), 1.5, False),
        (tf.TensorShape([None]), tf.TensorShape([None]), True),
        (tf.TensorShape([None]), tf.TensorShape([2]), False),
        (UNKNOWN, tf.TensorShape([2]), False),
    ],
    ids=repr,
)
def test_equality(one, two, equal):
    assert (one == two) is equal
    assert (one != two) is not equal


def test_shapes_can_be_keys():
    assert {tf.TensorShape([2, 3]): "a"}[tf.TensorShape((2, 3))] == "a"


@pytest.mark.parametrize(
    ("one", "two", "merged"),
    [
        ([2, 3], [2, 3], [2, 3]),
        ([2, None], [None, 3], [2, 3]),
        (None, [2, 3], [2, 3]),
        ([2, 3], None, [2, 3]),
        ([2, 3], [2, 4], ValueError),
        ([2], [2, 3], ValueError),
        ([2, 3], [None], ValueError),
    ],
    ids=repr,
)
def test_shapes_that_fit_can_be_merged(one, two, merged):
    shape = tf.TensorShape(one)
    if merged is ValueError:
        assert not shape.is_compatible_with(two)
        with pytest.raises(ValueError):
            shape.assert_is_compatible_with(two)
        with pytest.raises(ValueError):
            shape.merge_with(two)
    else:
        assert shape.is_compatible_with(two)
        shape.assert_is_compatible_with(two)
        assert shape.merge_with(two).as_list() == merged


def test_beside_a_tuple_that_asks_for_the_rest_a_shape_is_a_tuple_as_numpys_are():
    x = tf.zeros([2, 3, 4])
    target = operator.add((-1,), np.tanh(x).shape[2:])
    assert type(target) is tuple
    assert target == (-1, 4)
    assert operator.add(x.shape[:2], [-1]) == (2, 3, -1)
    assert np.reshape(np.tanh(x), target).shape == tf.reshape(x, target).shape == (6, 4)
    with pytest.raises(ValueError, match="at least 0, got -2"):
        operator.add((-2,), x.shape)


def test_concatenation():
    shape = tf.TensorShape([2])
    assert shape.concatenate([3, None]).as_list() == [2, 3, None]
    assert (shape + [3]).as_list() == [2, 3]  # noqa: RUF005 - the operator is what is tested
    assert ([3] + shape).as_list() == [3, 2]  # noqa: RUF005
    assert shape.concatenate(UNKNOWN).rank is None


def test_a_rank_can_be_asked_for():
    assert tf.TensorShape([2, 3]).with_rank(2).as_list() == [2, 3]
    assert UNKNOWN.with_rank(2).as_list() == [None, None]
    with pytest.raises(ValueError):
        tf.TensorShape([2, 3]).with_rank(3)
    tf.TensorShape([2, 3]).assert_has_rank(2)
    with pytest.raises(ValueError):
        tf.TensorShape([2, 3]).assert_has_rank(1)


@pytest.mark.parametrize(
    ("shape", "text", "printed"),
    [
        (tf.TensorShape([2, 3]), "TensorShape([2, 3])", "(2, 3)"),
        (tf.TensorShape([2]), "TensorShape([2])", "(2,)"),
        (tf.TensorShape([]), "TensorShape([])", "()"),
        (tf.TensorShape([None, 3]), "TensorShape([None, 3])", "(None, 3)"),
        (UNKNOWN, "TensorShape(None)", "<unknown>"),
    ],
    ids=repr,
)
def test_texts(shape, text, printed):
    assert (repr(shape), str(shape)) == (text, printed)


@pytest.mark.parametrize(
    "shape", [tf.TensorShape([2, None]), UNKNOWN, tf.TensorShape([])], ids=repr
)
def test_shapes_can_be_pickled_and_copied(shape):
    for twin in (pickle.loads(pickle.dumps(shape)), copy.deepcopy(shape)):
        assert twin.rank == shape.rank
        assert repr(twin) == repr(shape)


def test_the_shape_of_a_tensor_is_a_shape():
    assert tf.zeros([2, 3]).shape == tf.TensorShape([2, 3])
    assert isinstance(tf.Variable([1.0]).shape, tf.TensorShape)


# TensorSpec


def test_a_spec_has_a_shape_a_dtype_and_a_name():
    spec = tf.TensorSpec([None, 3], "float64", name="x")
    assert (spec.shape.as_list(), spec.dtype, spec.name) == ([None, 3], tf.float64, "x")
    assert tf.TensorSpec([2]).dtype == tf.float32
    assert repr(spec) == "TensorSpec(shape=(None, 3), dtype=tf.float64, name='x')"


def test_a_spec_from_a_tensor():
    spec = tf.TensorSpec.from_tensor(tf.zeros([2, 3], tf.int32))
    assert (spec.shape, spec.dtype) == (tf.TensorShape([2, 3]), tf.int32)
    assert tf.TensorSpec.from_spec(spec, name="y") == tf.TensorSpec([2, 3], tf.int32, "y")


def test_specs_compare_by_value():
    assert tf.TensorSpec([2], tf.int32) == tf.TensorSpec([2], tf.int32)
    assert tf.TensorSpec([2], tf.int32) != tf.TensorSpec([2], tf.int64)
    assert tf.TensorSpec([2]) != tf.TensorSpec([None])
    assert {tf.TensorSpec([2]): "a"}[tf.TensorSpec([2])] == "a"


@pytest.mark.parametrize(
    ("other", "fits"),
    [
        (lambda: tf.TensorSpec([5, 3]), True),
        (lambda: tf.TensorSpec([5, 4]), False),
        (lambda: tf.TensorSpec([5, 3], tf.int32), False),
        (lambda: tf.zeros([1, 3]), True),
        (lambda: tf.zeros([3]), False),
    ],
    ids=["spec", "another size", "another dtype", "tensor", "another rank"],
)
def test_what_fits_a_spec(other, fits):
    assert tf.TensorSpec([None, 3]).is_compatible_with(other()) is fits


def test_specs_can_be_pickled():
    spec = tf.TensorSpec([None, 3], tf.int8, "x")
    assert pickle.loads(pickle.dumps(spec)) == spec


# Types of shapes, from the most open to the most specific: each is a subtype of those that `ABOVE`
# lists.
ABOVE = {
    (): [None],
    (None,): [None],
    (2,): [None, (None,)],
    (3,): [None, (None,)],
    (None, None): [None],
    (2, None): [None, (None, None)],
    (None, 2): [None, (None, None)],
    (2, 2): [None, (None, None), (2, None), (None, 2)],
    None: [],
}


@pytest.mark.parametrize("one", ABOVE)
@pytest.mark.parametrize("other", ABOVE)
def test_subtypes_and_common_supertypes(one, other):
    a, b = TensorShape(one), TensorShape(other)
    assert a.is_subtype_of(b) == (one == other or other in ABOVE[one])
    common = a.most_specific_common_supertype([b])
    shared = [{shape, *ABOVE[shape]} for shape in (one, other)]
    nearest = max(shared[0] & shared[1], key=lambda shape: len(ABOVE[shape]))
    assert common.dims == (None if nearest is None else list(nearest))
    assert common == a.most_specific_compatible_shape(other)
    assert a.is_subtype_of(common)
    assert b.is_subtype_of(common)


def test_common_supertypes_of_several_and_of_other_things():
    shape = TensorShape([2, 3, 4])
    assert shape.most_specific_common_supertype([]) is shape
    assert shape.most_specific_common_supertype(
        [TensorShape([2, 5, 4]), TensorShape([1, 3, 4])]
    ) == [None, None, 4]
    assert shape.most_specific_common_supertype([shape, [2, 3, 4]]) is None
    assert not shape.is_subtype_of([2, 3, 4])


def test_ranks():
    shape, unknown = TensorShape([2, None]), TensorShape(None)
    assert shape.with_rank_at_least(2) is shape.with_rank_at_most(2) is shape
    assert unknown.with_rank_at_least(7) is unknown.with_rank_at_most(0) is unknown
    with pytest.raises(ValueError, match="rank at least 3"):
        shape.with_rank_at_least(3)
    with pytest.raises(ValueError, match="rank at most 1"):
        shape.with_rank_at_most(1)
    shape.assert_same_rank([5, 6])
    shape.assert_same_rank(unknown)
    with pytest.raises(ValueError, match="the same rank"):
        shape.assert_same_rank([5])


@pytest.mark.parametrize(
    ("other", "is_subtype", "common"),
    [
        (TensorSpec([2], "float32"), True, TensorSpec([2], "float32")),
        (TensorSpec([None], "float32"), True, TensorSpec([None], "float32")),
        (TensorSpec(None, "float32"), True, TensorSpec(None, "float32")),
        (TensorSpec([3], "float32"), False, TensorSpec([None], "float32")),
        (TensorSpec([2], "int32"), False, None),
        (TensorSpec([2], "float32", "named"), True, None),
        ("something else", False, None),
    ],
    ids=repr,
)
def test_types_of_specs(other, is_subtype, common):
    spec = TensorSpec([2], "float32")
    assert spec.is_subtype_of(other) == is_subtype
    assert spec.most_specific_common_supertype([other]) == common
    assert not TensorSpec([2], "float32", "named").is_subtype_of(spec)
