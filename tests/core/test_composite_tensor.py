"""Values that are made of tensors, as libraries define them: everything follows from the spec."""

import numpy as np
import pytest

import gradtape as tf

CompositeTensor = tf.__internal__.CompositeTensor


class Scaled(CompositeTensor):
    """A tensor, a Variable or a tensor that scales it, and a name."""

    def __init__(self, value, scale, name="scaled"):
        self.value, self.scale, self.name = value, scale, name
        self.cache = {}  # which is no part of what it is

    @property
    def _type_spec(self):
        return ScaledSpec(*map(tf.type_spec_from_value, (self.value, self.scale)), self.name)

    def dense(self):
        return self.value * self.scale


class ScaledSpec(tf.__internal__.BatchableTypeSpec):
    value_type = Scaled

    def __init__(self, value, scale, name):
        self.value, self.scale, self.name = value, scale, name

    def _serialize(self):
        return self.value, self.scale, self.name

    @property
    def _component_specs(self):
        return [self.value, self.scale]

    def _to_components(self, value):
        return [value.value, value.scale]

    def _from_components(self, components):
        return Scaled(*components, self.name)

    def _batch(self, batch_size):
        return ScaledSpec(self.value._batch(batch_size), self.scale._batch(batch_size), self.name)

    def _unbatch(self):
        return ScaledSpec(self.value._unbatch(), self.scale._unbatch(), self.name)


def scaled(dtype=np.float64):
    return Scaled(tf.constant([1.0, 2.0], dtype), tf.constant(3.0, dtype))


def same(one, two):
    parts = [tf.nest.flatten(each, expand_composites=True) for each in (one, two)]
    return type(one) is type(two) and all(np.array_equal(a, b) for a, b in zip(*parts, strict=True))


@pytest.mark.parametrize(
    "value",
    [
        tf.sparse.SparseTensor([[0, 1]], [2.0], [1, 2]),
        tf.IndexedSlices([[1.0]], [0]),
        tf.ragged.constant([[1.0], [2.0, 3.0]]),
        scaled(),
    ],
)
def test_what_is_one(value):
    assert isinstance(value, CompositeTensor)


@pytest.mark.parametrize("value", [tf.constant(1.0), tf.Variable(1.0), [1.0], None])
def test_what_is_none(value):
    assert not isinstance(value, CompositeTensor)


def test_nest():
    x = scaled()
    assert tf.nest.flatten([x]) == [x]
    parts = tf.nest.flatten([x], expand_composites=True)
    assert [p.numpy().tolist() for p in parts] == [[1.0, 2.0], 3.0]
    (again,) = tf.nest.pack_sequence_as([x], parts, expand_composites=True)
    assert same(again, x)
    doubled = tf.nest.map_structure(lambda t: t * 2, x, expand_composites=True)
    assert doubled.dense().numpy().tolist() == [12.0, 24.0]


def test_functions_take_and_give_it_and_trace_once_for_a_kind():
    traces = []

    @tf.function
    def twice(x):
        traces.append(x.name)
        return Scaled(x.value * 2, x.scale, x.name), x.dense()

    for name in ("a", "a", "b"):
        x = Scaled(tf.constant([1.0, 2.0]), tf.constant(3.0), name)
        found, dense = twice(x)
        assert same(found, Scaled(x.value * 2, x.scale))
        assert (found.name, dense.numpy().tolist()) == (name, [3.0, 6.0])
    assert traces == ["a", "b"]


def test_a_function_reads_the_variables_in_it():
    v = tf.Variable(3.0)
    dense = tf.function(lambda x: x.dense())
    x = Scaled(tf.constant([1.0, 2.0]), v)
    assert dense(x).numpy().tolist() == [3.0, 6.0]
    v.assign(5.0)
    assert dense(x).numpy().tolist() == [5.0, 10.0]


def step(x):
    return Scaled(x.value * 2, x.scale + 1, x.name)


LOOPS = {
    "while_loop": lambda x: tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, step(x)), (0, x)
    )[1],
    "cond": lambda x: tf.cond(x.scale > 2, lambda: step(step(step(x))), lambda: x),
    "switch_case": lambda x: tf.switch_case(
        tf.cast(x.scale, tf.int32) - 2, [lambda: x, lambda: step(step(step(x)))]
    ),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("loop", LOOPS)
def test_loops_and_branches(loop, compiled):
    run = tf.function(LOOPS[loop]) if compiled else LOOPS[loop]
    x = scaled()
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = run(x)
        total = tf.reduce_sum(found.dense())
    assert same(found, Scaled(tf.constant([8.0, 16.0], tf.float64), tf.constant(6.0, tf.float64)))
    gradient = tape.gradient(total, x)
    assert gradient.value.numpy().tolist() == [48.0, 48.0]
    assert gradient.scale.numpy() == 24.0


@pytest.mark.parametrize("compiled", [False, True])
def test_python_loops_that_autograph_converts(compiled):
    def run(x, n):
        for _ in tf.range(n):
            x = step(x)
        if n > 5:
            x = Scaled(x.value * 0, x.scale, x.name)
        return x

    found = (tf.function(run) if compiled else run)(scaled(), tf.constant(3))
    assert found.dense().numpy().tolist() == [48.0, 96.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_and_with_respect_to_it(compiled):
    function = tf.function(step) if compiled else step
    x = scaled()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x).dense()
        first = inner.gradient(y, x)
        again = tf.reduce_sum(first.scale)
    assert first.value.numpy().tolist() == [8.0, 8.0]
    assert first.scale.numpy() == 6.0
    assert tape.gradient(again, x).value.numpy().tolist() == [2.0, 2.0]
    assert (tape.gradient(again, x).scale is None) == (not compiled)  # a program has zeros
    of_composite, plain = tape.gradient(function(x), [x, tf.constant(1.0)])
    assert (of_composite, plain) == (None, None)  # computed outside of the tape


def test_gradients_of_what_it_holds():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        x = Scaled(v * 2, tf.constant(3.0))
        y = step(x)
    assert tape.gradient(y, v).numpy().tolist() == [4.0, 4.0]  # of the sum of its tensors


def test_none_where_nothing_leads_to_it():
    x, w = scaled(), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = w * w
    assert tape.gradient(y, {"x": x, "w": w})["x"] is None


def test_datasets_of_it():
    rows = Scaled(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([1.0, 2.0, 3.0]))
    dataset = tf.data.Dataset.from_tensor_slices(rows)
    assert dataset.element_spec == rows._type_spec._unbatch()
    assert [e.dense().numpy().tolist() for e in dataset] == [[1.0], [4.0], [9.0]]
    batches = dataset.map(step).batch(2)
    assert [b.scale.numpy().tolist() for b in batches] == [[2.0, 3.0], [4.0]]
    assert [e.scale.numpy() for e in batches.unbatch()] == [2.0, 3.0, 4.0]
    whole = tf.data.Dataset.from_tensors({"x": rows})
    assert same(next(iter(whole))["x"], rows)


def test_rows_must_be_as_many():
    with pytest.raises(tf.errors.InvalidArgumentError, match="same number of rows"):
        tf.data.Dataset.from_tensor_slices(Scaled(tf.constant([1.0]), tf.constant([1.0, 2.0])))


def test_signatures():
    spec = ScaledSpec(tf.TensorSpec([None]), tf.TensorSpec([]), "scaled")
    dense = tf.function(lambda x: x.dense(), input_signature=[spec])
    x = Scaled(tf.constant([1.0, 2.0]), tf.constant(3.0))
    assert dense(x).numpy().tolist() == [3.0, 6.0]
    with pytest.raises(TypeError, match="input_signature"):
        dense(Scaled(tf.constant([1.0]), tf.constant(3.0), "another"))
    concrete = tf.function(step).get_concrete_function(x)
    assert concrete.structured_outputs == x._type_spec
    assert same(concrete(x), step(x))
