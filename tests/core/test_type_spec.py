"""What follows from the parts that a TypeSpec defines: comparing, finding a common one, copying."""

import copy
import pickle

import pytest

import gradtape as tf


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second


class PairSpec(tf.TypeSpec):
    value_type = Pair

    def __init__(self, first, second, note=None):
        self.first, self.second, self.note = first, second, note

    def _serialize(self):
        return self.first, self.second, self.note

    @property
    def _component_specs(self):
        return {"first": self.first, "second": self.second}

    def _to_components(self, value):
        return {"first": value.first, "second": value.second}

    def _from_components(self, components):
        return Pair(**components)


def floats(*shape):
    return tf.TensorSpec(shape, tf.float32)


SPECS = {
    "pair": (PairSpec(floats(2), floats(3)), PairSpec(floats(None), floats(3))),
    "nested": (
        PairSpec(PairSpec(floats(1), floats()), floats(2), note={"a": [1, (2,)]}),
        PairSpec(PairSpec(floats(None), floats()), floats(None), note={"a": [1, (2,)]}),
    ),
    "sparse": (tf.SparseTensorSpec([2, 3], tf.float32), tf.SparseTensorSpec([2, None], tf.float32)),
    "ragged": (
        tf.RaggedTensorSpec([2, None], tf.float32),
        tf.RaggedTensorSpec([None, None], tf.float32),
    ),
    "slices": (
        tf.IndexedSlicesSpec([4, 2], tf.float32),
        tf.IndexedSlicesSpec([None, 2], tf.float32),
    ),
}
UNLIKE = {
    "pair": PairSpec(tf.TensorSpec([2], tf.int32), floats(3)),
    "nested": PairSpec(PairSpec(floats(1), floats()), floats(2), note={"a": [1, (3,)]}),
    "sparse": tf.SparseTensorSpec([2, 3], tf.float64),
    "ragged": tf.RaggedTensorSpec([2, None], tf.float32, row_splits_dtype=tf.int32),
    "slices": tf.IndexedSlicesSpec([4, 2], tf.float32, indices_dtype=tf.int32),
}


@pytest.fixture(params=SPECS)
def name(request):
    return request.param


def test_equality_and_hash(name):
    narrow, wide = SPECS[name]
    same = type(narrow)._deserialize(narrow._serialize())
    assert same == narrow
    assert hash(same) == hash(narrow)
    assert narrow != wide
    assert narrow != UNLIKE[name]
    assert narrow != 1


def test_compatible_if_sizes_fit(name):
    narrow, wide = SPECS[name]
    assert narrow.is_compatible_with(wide)
    assert wide.is_compatible_with(narrow)
    assert not narrow.is_compatible_with(UNLIKE[name])
    assert not narrow.is_compatible_with(tf.constant(1.0))


def test_subtypes(name):
    narrow, wide = SPECS[name]
    assert narrow.is_subtype_of(wide)
    assert narrow.is_subtype_of(narrow)
    assert not wide.is_subtype_of(narrow)
    assert not narrow.is_subtype_of(UNLIKE[name])


def test_supertypes(name):
    narrow, wide = SPECS[name]
    assert narrow.most_specific_common_supertype([wide]) == wide
    assert narrow.most_specific_compatible_type(wide) == wide
    assert narrow.most_specific_common_supertype([UNLIKE[name]]) is None
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        narrow.most_specific_compatible_type(UNLIKE[name])


def test_sizes_left_open(name):
    narrow, wide = SPECS[name]
    assert narrow._with_tensor_ranks_only() == wide._with_tensor_ranks_only()


def test_copies(name):
    narrow, _ = SPECS[name]
    assert copy.deepcopy(narrow) == narrow
    assert pickle.loads(pickle.dumps(narrow)) == narrow


def test_what_is_missing_is_named():
    class Nothing(tf.TypeSpec):
        pass

    for read in (
        lambda spec: spec.value_type,
        lambda spec: spec._component_specs,
        lambda spec: spec._to_components(1),
        lambda spec: spec._from_components(1),
        repr,
    ):
        with pytest.raises(NotImplementedError, match="Nothing, a TypeSpec, must define"):
            read(Nothing())


@pytest.mark.parametrize(
    "value",
    [
        tf.sparse.SparseTensor([[0, 1]], [2.0], [1, 2]),
        tf.IndexedSlices([[1.0]], [0], [3, 1]),
        tf.IndexedSlices([[1.0]], [0]),
        tf.ragged.constant([[1.0], [2.0, 3.0]]),
        tf.ragged.constant([[[1]], [[2, 3], []]]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_made_again_of_their_components(value):
    spec = tf.type_spec_from_value(value)
    components = spec._to_components(value)
    again = spec._from_components(components)
    assert tf.type_spec_from_value(again) == spec == value._type_spec
    assert all(
        s.is_compatible_with(c) for s, c in zip(spec._component_specs, components, strict=True)
    )
    assert tf.nest.flatten(spec, expand_composites=True) == list(spec._component_specs)
    packed = tf.nest.pack_sequence_as(spec, list(components), expand_composites=True)
    assert type(packed) is type(value)
