"""Arguments and results of functions that are no plain tensors: what is made of tensors is an input, everything else counts by its value."""

from __future__ import annotations

import collections
import dataclasses
import gc
import weakref

import numpy as np
import optree
import pytest

import gradtape as tf
from gradtape.api.tensorflow.type_specs import SparseTensorSpec

PLACES = [[0, 0], [1, 2]]


def sparse(values, shape=(2, 3), places=PLACES):
    return tf.sparse.SparseTensor(places, values, list(shape))


def written(*values):
    array = tf.TensorArray(tf.float32, size=len(values), clear_after_read=False)
    for i, value in enumerate(values):
        array = array.write(i, value)
    return array


# Sparse tensors


def test_a_sparse_tensor_is_an_input():
    f = tf.function(lambda s: tf.sparse.to_dense(s) * 2.0)
    np.testing.assert_array_equal(f(sparse([1.0, 2.0])), [[2.0, 0.0, 0.0], [0.0, 0.0, 4.0]])
    np.testing.assert_array_equal(f(sparse([5.0, 6.0], places=[[0, 1], [1, 0]])), [[0.0, 10.0, 0.0], [12.0, 0.0, 0.0]])
    assert f.experimental_get_tracing_count() == 1
    assert f(sparse([1.0, 2.0], (4, 3))).shape == [4, 3]
    assert f(sparse([1.0], places=[[0, 0]])).shape == [2, 3]
    assert f(sparse(np.array([1.0, 2.0]))).dtype == tf.float64
    assert f.experimental_get_tracing_count() == 4


def test_gradients_by_the_values_of_a_sparse_tensor():
    f = tf.function(lambda s, w: tf.reduce_sum(tf.sparse.sparse_dense_matmul(s, w) ** 2))
    w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))
    for _ in range(2):
        s = sparse([1.0, 2.0])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(s.values)
            compiled, eager = f(s, w), f.python_function(s, w)
        for source in (s.values, w):
            np.testing.assert_allclose(tape.gradient(compiled, source), tape.gradient(eager, source), rtol=1e-6)
    assert f.experimental_get_tracing_count() == 1


def test_sparse_tensors_are_returned():
    f = tf.function(lambda s: {"same": s, "twice": s * 2.0, "made": tf.sparse.from_dense(tf.eye(2))})
    s = sparse([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(s.values)
        found = f(s)
    assert all(type(part) is tf.sparse.SparseTensor for part in found.values())
    assert found["twice"].shape == [2, 3]
    np.testing.assert_array_equal(tf.sparse.to_dense(found["same"]), tf.sparse.to_dense(s))
    np.testing.assert_array_equal(tf.sparse.to_dense(found["made"]), np.eye(2))
    np.testing.assert_array_equal(tape.gradient(found["twice"].values, s.values), [2.0, 2.0])


def test_sparse_tensors_between_functions_and_in_structures():
    inner = tf.function(lambda s: s * 2.0)
    outer = tf.function(lambda batch: tf.sparse.to_dense(inner(batch["s"])) + batch["x"])
    for x in (1.0, 10.0):
        expected = np.array([[2 * x, 0, 0], [0, 0, 4.0]]) + x
        np.testing.assert_array_equal(outer({"s": sparse([x, 2.0]), "x": tf.constant(x)}), expected)
    assert outer.experimental_get_tracing_count() == inner.experimental_get_tracing_count() == 1


def test_a_signature_with_a_sparse_tensor():
    f = tf.function(lambda s: tf.sparse.reduce_sum(s), input_signature=[SparseTensorSpec([None, 3])])
    assert [float(f(sparse([1.0, 2.0]))), float(f(sparse([1.0, 5.0], (7, 3)))), float(f(sparse([4.0], places=[[0, 0]])))] == [
        3,
        6,
        4,
    ]
    assert f.experimental_get_tracing_count() == 1
    for wrong in (sparse([1.0, 2.0], (2, 4)), sparse([1, 2]), tf.ones([2, 3]), None):
        with pytest.raises(TypeError, match="does not fit SparseTensorSpec"):
            f(wrong)


def test_specs_of_sparse_tensors():
    spec = tf.type_spec_from_value(sparse([1.0, 2.0]))
    assert spec == SparseTensorSpec([2, 3], tf.float32)
    assert hash(spec) == hash(SparseTensorSpec([2, 3], tf.float32))
    assert spec != SparseTensorSpec([None, 3])
    assert repr(spec) == "SparseTensorSpec(TensorShape([2, 3]), tf.float32)"
    assert isinstance(spec, tf.TypeSpec)
    assert (spec.shape, spec.dtype) == ([2, 3], tf.float32)
    with pytest.raises(TypeError, match="must be a SparseTensor, got Tensor"):
        SparseTensorSpec.from_value(tf.ones([2]))


# Slices


@pytest.mark.parametrize("shape", [None, [5, 2]])
def test_indexed_slices_are_inputs(shape):
    f = tf.function(lambda s: (s.values * 2.0, s.indices, s.dense_shape is None))
    for start in (1.0, 4.0):
        values, indices, bare = f(tf.IndexedSlices(tf.fill([2, 2], start), tf.constant([0, 3]), shape))
        np.testing.assert_array_equal(values, np.full((2, 2), 2 * start))
        assert [indices.numpy().tolist(), bool(bare)] == [[0, 3], shape is None]
    assert f.experimental_get_tracing_count() == 1


def test_a_gradient_of_rows_is_applied_in_a_function():
    table = tf.Variable(tf.ones([4, 2]))
    step = tf.function(lambda gradient: table.scatter_sub(gradient))
    for rows in ([0, 2], [2, 2]):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, rows))
        step(tape.gradient(y, table))
    np.testing.assert_array_equal(table, [[0.0, 0.0], [1.0, 1.0], [-2.0, -2.0], [1.0, 1.0]])
    assert step.experimental_get_tracing_count() == 1
    dense = tf.function(lambda gradient: tf.convert_to_tensor(gradient) + 0.0)
    assert dense(tf.IndexedSlices([[1.0, 2.0]], [3], [4, 2])).numpy()[3].tolist() == [1.0, 2.0]


# TensorArrays


def test_a_tensor_array_is_an_input():
    f = tf.function(lambda array: array.stack() * 2.0)
    array = written(1.0, 2.0)
    assert f(array).numpy().tolist() == [2.0, 4.0]
    array = array.write(0, 5.0)  # in eager code it is the same object
    assert f(array).numpy().tolist() == [10.0, 4.0]
    assert f(written(7.0, 8.0)).numpy().tolist() == [14.0, 16.0]
    assert f.experimental_get_tracing_count() == 1
    assert f(written(7.0, 8.0, 9.0)).shape == [3]


def test_gradients_through_a_tensor_array_that_goes_in_and_comes_out():
    f = tf.function(lambda array, x: array.write(0, x * array.read(1)))
    x, y = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        found = f(written(1.0, y), x).stack()
    assert found.numpy().tolist() == [12.0, 4.0]
    assert [type(array) for array in tf.function(lambda array: [array])(written(1.0, 2.0))] == [tf.TensorArray]
    assert [float(g) for g in tape.gradient(found, [x, y])] == [4.0, 4.0]


# Dataclasses and containers


@dataclasses.dataclass
class State:
    x: object
    scale: float = 2.0
    names: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: object
    scale: float = 2.0


Pair = collections.namedtuple("Pair", "first second")


class Attributes(dict):
    def __getattr__(self, name):
        return self[name]


class Rows(list):
    pass


@pytest.mark.parametrize("make", [State, Frozen], ids=["plain", "frozen with slots"])
def test_the_tensors_of_a_dataclass_are_inputs(make):
    f = tf.function(lambda state: state.x * state.scale)
    assert [float(f(make(tf.constant(value)))) for value in (1.0, 5.0)] == [2.0, 10.0]
    assert float(f(make(tf.constant(1.0), 3.0))) == 3.0
    assert f.experimental_get_tracing_count() == 2
    assert f.why_retraced() == ["'state'['scale'] changed from 2.0 to 3.0"]
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(make(x))
    assert float(tape.gradient(y, x)) == 2.0


def test_a_dataclass_that_changes():
    f = tf.function(lambda state: state.x * state.scale)
    state = State(tf.constant(1.0))
    assert float(f(state)) == 2.0
    state.x = tf.constant(7.0)
    assert float(f(state)) == 14.0
    state.scale = 10.0
    assert float(f(state)) == 70.0


def test_dataclasses_are_returned_with_what_is_no_tensor_in_them():
    @tf.function
    def step(state):
        return State(state.x + 1.0, state.scale, [*state.names, "step", np.ones(2)]), State([state.x])

    one, two = step(State(tf.constant(1.0), names=["start"]))
    assert [float(one.x), one.scale, one.names[:2]] == [2.0, 2.0, ["start", "step"]]
    assert tf.is_tensor(one.names[2])
    assert float(two.x[0]) == 1.0


def test_a_dataclass_with_variables():
    f = tf.function(lambda state: state.x.assign_add(1.0) * state.scale)
    one, two = State(tf.Variable(1.0)), State(tf.Variable(10.0))
    assert [float(f(state)) for state in (one, two, one)] == [4.0, 22.0, 6.0]
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    ("make", "get"),
    [
        (lambda x: Pair(x, [None, x]), lambda found: found.first + found.second[1]),
        (lambda x: Attributes(a=x, b=Attributes(c=x)), lambda found: found.a + found.b.c),
        (lambda x: Rows([x, x]), lambda found: found[0] + found[1]),
        (lambda x: collections.OrderedDict(b=x, a=x), lambda found: found["a"] + found["b"]),
        (lambda x: collections.defaultdict(list, a=x, b={"c": [x]}), lambda found: found["a"] + found["b"]["c"][0]),
        (lambda x: {"a": {"b": (x, None, "text")}, "c": x}, lambda found: found["a"]["b"][0] + found["c"]),
        (lambda x: {1: x, "a": x}, lambda found: found[1] + found["a"]),
    ],
    ids=["namedtuple", "dict's subclass", "list's subclass", "OrderedDict", "defaultdict", "nested", "mixed keys"],
)
def test_containers(make, get):
    seen = []

    @tf.function(autograph=False)
    def f(found):
        seen.append(type(found))
        return get(found)

    assert [float(f(make(tf.constant(value)))) for value in (1.0, 5.0)] == [2.0, 10.0]
    assert seen == [type(make(1))]


def test_a_class_that_is_registered_with_optree():
    class Box:
        def __init__(self, content):
            self.content = content

    optree.register_pytree_node(
        Box, lambda box: ((box.content,), None), lambda _, c: Box(*c), namespace=optree.registry.__GLOBAL_NAMESPACE
    )
    try:
        f = tf.function(lambda box: box.content * 2.0)
        assert [float(f(Box(tf.constant(value)))) for value in (1.0, 5.0)] == [2.0, 10.0]
        assert f.experimental_get_tracing_count() == 1
    finally:
        optree.unregister_pytree_node(Box, namespace=optree.registry.__GLOBAL_NAMESPACE)


# Values


class Point:
    """Equal by what it holds, and hashed by it."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Point) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


@pytest.mark.parametrize(
    ("values", "traces"),
    [
        (["a", "b", "a", None, None], 3),
        ([float("nan"), float("nan"), -float("nan")], 1),
        ([1, 1.0, True, 2], 2),
        ([Point(1), Point(1), Point(2)], 2),
        ([{1, 2}, {2, 1}, {1, 3}], 2),
        ([slice(0, 2), slice(0, 2), slice(0, 3)], 2),
        ([tf.float32, tf.float32, tf.float64], 2),
        ([tf.constant("a"), tf.constant("a"), tf.constant("b"), np.array(["a"])], 3),
        ([np.float32(1), np.float32(2), np.int32(1)], 2),
        ([tf.sin, tf.sin, tf.cos], 2),
        ([tf.TensorShape([1]), tf.TensorShape([1]), tf.TensorShape([2])], 2),
        ([tf.TensorSpec([1]), tf.TensorSpec([1]), tf.ones([1])], 2),
    ],
    ids=[
        "strings",
        "nan",
        "numbers",
        "equal objects",
        "sets",
        "slices",
        "dtypes",
        "tensors of strings",
        "scalars",
        "functions",
        "shapes",
        "specs",
    ],
)
def test_values_count_by_equality(values, traces):
    seen = []
    f = tf.function(lambda x, value: seen.append(value) or x + 1.0, autograph=False)
    for value in values:
        f(tf.constant(1.0), value)
    assert len(seen) == traces


def test_tensors_of_strings_are_known_while_tracing():
    f = tf.function(lambda x, mode: (x * 2.0 if mode.numpy() == b"twice" else x, mode), autograph=False)
    for _ in range(2):
        assert [float(f(tf.constant(1.0), tf.constant(mode))[0]) for mode in ("twice", "once")] == [2.0, 1.0]
    found = f(tf.constant(1.0), tf.constant("once"))
    assert [type(found), float(found[0]), found[1].numpy()] == [tuple, 1.0, b"once"]
    g = tf.function(lambda text: text)
    assert [g(tf.constant(word)).numpy() for word in ("a", "b", "a")] == [b"a", b"b", b"a"]


def test_a_set_that_changes():
    f = tf.function(lambda x, chosen: x * float(len(chosen)))
    chosen = {1}
    results = [float(f(tf.constant(1.0), chosen))]
    chosen.add(2)
    assert [*results, float(f(tf.constant(1.0), chosen))] == [1.0, 2.0]


def test_a_slice_and_a_module():
    class Scale(tf.Module):
        def __init__(self, factor):
            super().__init__()
            self.w = tf.Variable(factor)

    f = tf.function(lambda module, x, key: module.w * x[key])
    x, one, two = tf.constant([1.0, 2.0, 3.0]), Scale(2.0), Scale(3.0)
    assert f(one, x, slice(0, 2)).numpy().tolist() == [2.0, 4.0]
    assert f(two, x, slice(1, None)).numpy().tolist() == [6.0, 9.0]
    one.w.assign(10.0)
    assert f(one, x, slice(0, 2)).numpy().tolist() == [10.0, 20.0]
    assert f.experimental_get_tracing_count() == 2


class Wrapped:
    """What a Keras variable is to gradtape."""

    def __init__(self, value):
        self.__gradtape_variable__ = tf.Variable(value)

    def __gradtape_tensor__(self):
        return self.__gradtape_variable__.tensor()

    def add(self, value):
        self.__gradtape_variable__.assign_add(value)


def test_what_stands_for_a_variable_stays_what_it_is():
    def body(x, v):
        v.add(x)
        return x * v

    f = tf.function(body)
    one, two = Wrapped(2.0), Wrapped(10.0)
    x = tf.constant(1.0)
    assert [float(f(x, v)) for v in (one, two, one)] == [3.0, 11.0, 4.0]
    assert f.experimental_get_tracing_count() == 1
    with tf.GradientTape() as tape:
        y = f(tf.constant(5.0), two)
    assert float(tape.gradient(y, two.__gradtape_variable__)) == 5.0


# Methods


def test_objects_that_are_equal_have_programs_of_their_own():
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

        @tf.function
        def __call__(self, x):
            return x * self.factor

    one, two = Scale(2.0), Scale(3.0)
    assert [float(one(tf.constant(1.0))), float(two(tf.constant(1.0)))] == [2.0, 3.0]


def test_a_method_of_an_object_without_a_hash_is_traced_once():
    seen = []

    @dataclasses.dataclass
    class Scale:
        factor: float

        @tf.function
        def __call__(self, x):
            seen.append(1)
            return x * self.factor

    model = Scale(2.0)
    assert [float(model(tf.constant(x))) for x in (1.0, 2.0)] == [2.0, 4.0]
    assert len(seen) == 1
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert not Scale.__dict__["__call__"]._bound
