"""Arguments and results of functions that are made of tensors: sparse tensors, slices,
TensorArrays, dataclasses and containers.
"""

from __future__ import annotations

import collections
import dataclasses

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
    np.testing.assert_array_equal(
        f(sparse([5.0, 6.0], places=[[0, 1], [1, 0]])), [[0.0, 10.0, 0.0], [12.0, 0.0, 0.0]]
    )
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
            np.testing.assert_allclose(
                tape.gradient(compiled, source), tape.gradient(eager, source), rtol=1e-6
            )
    assert f.experimental_get_tracing_count() == 1


def test_sparse_tensors_are_returned():
    f = tf.function(
        lambda s: {"same": s, "twice": s * 2.0, "made": tf.sparse.from_dense(tf.eye(2))}
    )
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
    f = tf.function(
        lambda s: tf.sparse.reduce_sum(s), input_signature=[SparseTensorSpec([None, 3])]
    )
    assert [
        float(f(sparse([1.0, 2.0]))),
        float(f(sparse([1.0, 5.0], (7, 3)))),
        float(f(sparse([4.0], places=[[0, 0]]))),
    ] == [
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
        values, indices, bare = f(
            tf.IndexedSlices(tf.fill([2, 2], start), tf.constant([0, 3]), shape)
        )
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
    assert [type(array) for array in tf.function(lambda array: [array])(written(1.0, 2.0))] == [
        tf.TensorArray
    ]
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
        return State(state.x + 1.0, state.scale, [*state.names, "step", np.ones(2)]), State(
            [state.x]
        )

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
        (
            lambda x: collections.defaultdict(list, a=x, b={"c": [x]}),
            lambda found: found["a"] + found["b"]["c"][0],
        ),
        (
            lambda x: {"a": {"b": (x, None, "text")}, "c": x},
            lambda found: found["a"]["b"][0] + found["c"],
        ),
        (lambda x: {1: x, "a": x}, lambda found: found[1] + found["a"]),
    ],
    ids=[
        "namedtuple",
        "dict's subclass",
        "list's subclass",
        "OrderedDict",
        "defaultdict",
        "nested",
        "mixed keys",
    ],
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
        Box,
        lambda box: ((box.content,), None),
        lambda _, c: Box(*c),
        namespace=optree.registry.__GLOBAL_NAMESPACE,
    )
    try:
        f = tf.function(lambda box: box.content * 2.0)
        assert [float(f(Box(tf.constant(value)))) for value in (1.0, 5.0)] == [2.0, 10.0]
        assert f.experimental_get_tracing_count() == 1
    finally:
        optree.unregister_pytree_node(Box, namespace=optree.registry.__GLOBAL_NAMESPACE)
