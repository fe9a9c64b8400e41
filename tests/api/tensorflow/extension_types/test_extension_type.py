"""ExtensionTypes: fields of all kinds, constructors, what is refused, and where they are values."""

import copy
import pickle
from collections.abc import Mapping
from typing import Optional, Union

import numpy as np
import pytest

import gradtape as tf


class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor
    name: str = "masked"

    def __validate__(self):
        self.values.shape.assert_is_compatible_with(self.mask.shape)

    def total(self):
        return tf.reduce_sum(tf.where(self.mask, self.values, tf.zeros_like(self.values)))


class Nested(tf.experimental.ExtensionType):
    parts: tuple[Masked, ...]
    by_name: Mapping[str, tf.Tensor]
    rows: tf.RaggedTensor
    other: Optional[tf.Tensor] = None  # noqa: UP045 - both spellings are fields
    either: Union[int, tf.Tensor] = 0  # noqa: UP007 - as above


def masked(dtype=tf.float64):
    return Masked(tf.constant([1.0, 2.0, 4.0], dtype), [True, False, True])


def nested():
    return Nested(
        (masked(), masked()), {"a": 1.0, "b": [2, 3]}, tf.ragged.constant([[1.0], [2.0, 3.0]]), 5.0
    )


def leaves(value):
    return [part.numpy() for part in tf.nest.flatten(value, expand_composites=True)]


def same(one, two):
    return type(one) is type(two) and all(
        np.array_equal(a, b) for a, b in zip(leaves(one), leaves(two), strict=True)
    )


VALUES = {"masked": masked, "nested": nested}


@pytest.fixture(params=VALUES)
def value(request):
    return VALUES[request.param]()


# Fields


class Every(tf.experimental.ExtensionType):
    flag: bool = True
    count: int = 1
    rate: float = 0.5
    text: str = "t"
    data: bytes = b"b"
    nothing: None = None
    dtype: tf.DType = tf.float32
    shape: tf.TensorShape = tf.TensorShape([1, None])
    tensor: tf.Tensor = 1.0
    spec: tf.TensorSpec([None, 2], tf.float32) = ((1.0, 2.0),)
    pair: tuple[int, tf.Tensor] = (1, 2.0)
    many: tuple[str, ...] = ()
    mapping: Mapping[str, int] = {}
    optional: int | None = None
    variable: tf.Variable | None = None


GOOD = {
    "count": [3, np.int64(3)],
    "rate": [2, np.float32(2)],
    "dtype": ["int8", np.int8, tf.int8],
    "shape": [[1, 2], (1, 2), tf.TensorShape([1, 2])],
    "tensor": [[1, 2], np.ones(2), tf.Variable(1.0)],
    "spec": [[[1.0, 2.0]], np.ones([3, 2], np.float32)],
    "pair": [(2, 1), [2, tf.constant(1)]],
    "many": [("a", "b"), []],
    "mapping": [{"a": 1}],
    "optional": [4],
    "variable": [tf.Variable(1.0)],
}
BAD = {
    "flag": [1, None, "x"],
    "count": [1.5, True, "1", None],
    "rate": ["x", None, True],
    "text": [1, b"x", None],
    "data": ["x", 1],
    "nothing": [0, False],
    "dtype": ["no dtype", 1.5],
    "shape": ["ab", 1.5],
    "tensor": [object(), {"a": 1}, tf.TensorSpec([])],
    "spec": [[1.0], [[1, 2, 3]], tf.constant([[1, 2]])],
    "pair": [(1,), (1, 2, 3), ("a", 1), 5],
    "many": [(1,), "ab", ("a", 1)],
    "mapping": [{"a": "b"}, {1: 1}, [1]],
    "optional": ["x"],
    "variable": [1.0],
}


@pytest.mark.parametrize("name", GOOD)
def test_values_that_fields_take(name):
    for given in GOOD[name]:
        made = Every(**{name: given})
        found = getattr(made, name)
        kind = type(getattr(Every(**{name: GOOD[name][0]}), name))
        assert type(found) is kind, given
        assert isinstance(tf.type_spec_from_value(made), Every.Spec)


@pytest.mark.parametrize("name", BAD)
def test_values_that_fields_refuse(name):
    for given in BAD[name]:
        with pytest.raises(TypeError, match=f"{name}: Every"):
            Every(**{name: given})


@pytest.mark.parametrize(
    "kind", [list, dict[str, int], "list[int]", object(), set[int], np.ndarray]
)
def test_annotations_that_no_field_has(kind):
    with pytest.raises(TypeError, match=r"Wrong\.x: unsupported type annotation"):
        type("Wrong", (tf.experimental.ExtensionType,), {"__annotations__": {"x": kind}})


@pytest.mark.parametrize("name", ["self", "Spec", "__x__", "_tf_extension_type_x"])
def test_names_that_no_field_has(name):
    with pytest.raises(ValueError, match="reserved"):
        type("Wrong", (tf.experimental.ExtensionType,), {"__annotations__": {name: int}})


def test_a_mapping_cannot_be_changed():
    found = nested().by_name
    for change in (
        lambda: found.update(a=1),
        lambda: found.__setitem__("a", 1),
        lambda: found.pop("a"),
        found.clear,
    ):
        with pytest.raises(TypeError, match="cannot be changed"):
            change()


# Constructors


def test_what_is_given_is_checked():
    with pytest.raises(TypeError, match="Masked: missing a required argument: 'mask'"):
        Masked([1.0])
    with pytest.raises(TypeError, match="unexpected keyword argument 'no'"):
        Masked([1.0], [True], no=1)
    with pytest.raises(ValueError, match="incompatible"):
        Masked([1.0], [True, False])


def test_a_constructor_written_by_hand():
    class Polynomial(tf.experimental.ExtensionType):
        coefficients: tuple[tf.Tensor, ...]
        degree: int

        def __init__(self, *coefficients):
            self.coefficients = coefficients
            self.degree = 0
            self.degree = len(coefficients) - 1

        def __call__(self, x):
            return sum(c * x**i for i, c in enumerate(self.coefficients))

    p = Polynomial(1.0, 2.0, 3.0)
    assert (p(2.0).numpy(), p.degree) == (17.0, 2)
    assert tf.function(lambda p, x: p(x))(p, 2.0).numpy() == 17.0


def test_a_constructor_must_set_all_fields_and_no_others():
    class Less(tf.experimental.ExtensionType):
        x: tf.Tensor

        def __init__(self):
            pass

    class More(tf.experimental.ExtensionType):
        x: tf.Tensor = 1.0

        def __init__(self):
            self.y = 2

    with pytest.raises(ValueError, match=r"Less\.x was not set"):
        Less()
    with pytest.raises(ValueError, match="unexpected fields in More: y"):
        More()


def test_fields_are_inherited_with_their_defaults():
    class Named(Masked):
        extra: int = 3

        def doubled(self):
            return Named(self.values * 2, self.mask, self.name, self.extra)

    x = Named([1.0], [True]).doubled()
    assert (x.name, x.extra, x.total().numpy()) == ("masked", 3, 2.0)
    assert isinstance(x, Masked)
    assert issubclass(Named.Spec, Masked.Spec)


def test_nothing_can_be_changed(value):
    name = next(iter(vars(value)))
    for change in (
        lambda: setattr(value, name, 1),
        lambda: setattr(value, "new", 1),
        lambda: delattr(value, name),
    ):
        with pytest.raises(AttributeError, match="outside the custom constructor"):
            change()
    spec = tf.type_spec_from_value(value)
    with pytest.raises(AttributeError, match="outside the custom constructor"):
        setattr(spec, name, 1)


# Equality, text, copies


def test_equality(value):
    other = VALUES[type(value).__name__.lower()]()
    assert (value == other).numpy()
    assert not (value != other).numpy()
    assert value != 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(value)
    x = masked()
    assert not (x == Masked(x.values + 1, x.mask)).numpy()
    assert x != Masked(x.values, x.mask, "another")


def test_text():
    x = Masked([1.0], [True])
    assert repr(x) == f"Masked(values={x.values!r}, mask={x.mask!r}, name='masked')"
    assert repr(x._type_spec) == (
        "Masked.Spec(values=TensorSpec(shape=(1,), dtype=tf.float32, name=None), "
        "mask=TensorSpec(shape=(1,), dtype=tf.bool, name=None), name='masked')"
    )
    assert list(tf.experimental.extension_type.as_dict(x)) == ["values", "mask", "name"]


def test_copies(value):
    assert same(copy.deepcopy(value), value)
    assert same(pickle.loads(pickle.dumps(value)), value)


# Specs


def test_specs_of_values(value):
    spec = tf.type_spec_from_value(value)
    assert isinstance(spec, type(value).Spec)
    assert spec.is_compatible_with(value)
    assert spec == tf.type_spec_from_value(value)
    assert hash(spec) == hash(copy.deepcopy(spec))
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_specs_check_their_fields():
    with pytest.raises(TypeError, match=r"values: .*Spec: expected a tf\.TensorSpec"):
        Masked.Spec(1, tf.TensorSpec([]), "x")
    with pytest.raises(TypeError, match="missing a required argument"):
        Masked.Spec(tf.TensorSpec([]))


def test_a_spec_with_more_to_it():
    class Vector(tf.experimental.ExtensionType):
        values: tf.Tensor

        class Spec:
            def __init__(self, size, dtype=tf.float32):
                self.values = tf.TensorSpec([size], dtype)

            def __validate__(self):
                if self.values.shape.rank != 1:
                    raise ValueError("a vector has rank 1")

            @property
            def size(self):
                return self.values.shape[0]

    spec = Vector.Spec(3)
    assert spec.size == 3
    assert spec == tf.type_spec_from_value(Vector([1.0, 2.0, 3.0]))
    assert Vector.Spec(None).is_compatible_with(Vector([1.0]))
    assert Vector.Spec(2).most_specific_common_supertype([spec]) == Vector.Spec(None)


# Values of functions, loops, tapes, datasets


def test_in_and_out_of_functions(value):
    traces = []

    @tf.function
    def same_value(x):
        traces.append(x)
        return {"x": x}

    for _ in range(2):
        assert same(same_value(value)["x"], value)
    assert len(traces) == 1


def test_another_plain_field_is_another_program():
    traces = []

    @tf.function
    def total(x):
        traces.append(x.name)
        return x.total()

    for name in ("a", "b", "a"):
        assert total(Masked([1.0, 2.0], [False, True], name)).numpy() == 2.0
    assert traces == ["a", "b"]


def scaled(x):
    return Masked(x.values * 3.0, x.mask, x.name)


RUNS = {
    "eager": scaled,
    "function": tf.function(scaled),
    "while_loop": tf.function(
        lambda x: tf.while_loop(lambda i, x: i < 1, lambda i, x: (i + 1, scaled(x)), (0, x))[1]
    ),
    "cond": tf.function(lambda x: tf.cond(tf.reduce_any(x.mask), lambda: scaled(x), lambda: x)),
    "map": lambda x: next(iter(tf.data.Dataset.from_tensors(x).map(scaled))),
}


@pytest.mark.parametrize("run", RUNS)
def test_the_same_value_however_it_is_computed(run):
    assert same(RUNS[run](masked()), Masked(masked().values * 3.0, masked().mask))


@pytest.mark.parametrize("run", [run for run in RUNS if run != "map"])
def test_gradients(run):
    x = masked()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = RUNS[run](x).total() ** 2
    gradient = tape.gradient(y, x)
    assert gradient.values.numpy().tolist() == [90.0, 0.0, 90.0]
    assert gradient.mask.numpy().tolist() == x.mask.numpy().tolist()


def test_gradients_of_nested_fields():
    x = nested()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x.parts[1].total() + tf.cast(tf.reduce_sum(x.rows.flat_values**2), tf.float64)
    gradient = tape.gradient(y, x)
    assert gradient.parts[0].values is None
    assert gradient.parts[1].values.numpy().tolist() == [1.0, 0.0, 1.0]
    assert gradient.rows.flat_values.numpy().tolist() == [2.0, 4.0, 6.0]


def test_an_input_signature_with_open_sizes():
    spec = Masked.Spec(tf.TensorSpec([None]), tf.TensorSpec([None], tf.bool), "masked")
    total = tf.function(lambda x: x.total(), input_signature=[spec])
    assert total(Masked([1.0, 2.0], [True, True])).numpy() == 3.0
    assert total(Masked([1.0], [True])).numpy() == 1.0
    with pytest.raises(TypeError, match="does not fit"):
        total(Masked([1.0], [True], "another"))


def test_vectorized_map():
    x = masked()
    found = tf.vectorized_map(lambda v: Masked(v, tf.constant(True)).total() ** 2, x.values)
    assert found.numpy().tolist() == [1.0, 4.0, 16.0]
