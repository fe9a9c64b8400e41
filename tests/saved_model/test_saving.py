"""Objects that are saved and loaded compute, differentiate and train as before, also in a process
without their source.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import gradtape as tf


class Line(tf.Module):
    def __init__(self):
        super().__init__()
        self.slope = tf.Variable([2.0, -1.0], name="slope")
        self.calls = tf.Variable(0, trainable=False)
        self.parts = [tf.Variable(0.5), {"bias": tf.Variable(np.float64(1.5))}]

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def __call__(self, x):
        self.calls.assign_add(1)
        return tf.reduce_sum(x * self.slope, 1) + self.parts[0]

    @tf.function
    def power(self, x, exponent=2, *, flip=False):
        y = x**exponent * tf.cast(self.parts[1]["bias"], tf.float32)
        return {"result": -y if flip else y, "others": [x, None, (x > 0,)]}


@pytest.fixture
def saved(tmp_path):
    line = Line()
    line.power(tf.constant([1.0, 2.0]))
    line.power(tf.constant([1.0, 2.0]), 3, flip=True)
    line.power(tf.constant(1.0))
    tf.saved_model.save(line, tmp_path / "line")
    return line, tf.saved_model.load(tmp_path / "line"), tmp_path / "line"


X = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def test_values_of_variables(saved):
    line, loaded, _ = saved
    assert loaded.slope.numpy().tolist() == [2.0, -1.0]
    assert loaded.slope.name == "slope:0"
    assert loaded.parts[1]["bias"].dtype == tf.float64
    assert (loaded.slope.trainable, loaded.calls.trainable) == (True, False)
    assert len(loaded.trainable_variables) == len(line.trainable_variables)


@pytest.mark.parametrize("rows", [1, 2, 3, 20])
def test_open_sizes(saved, rows):
    line, loaded, _ = saved
    x = tf.reshape(tf.range(2.0 * rows), [rows, 2])
    np.testing.assert_allclose(loaded(x), line(x))


def test_assignments_go_to_the_loaded_variables(saved):
    line, loaded, _ = saved
    before = int(line.calls)
    for count in (1, 2):
        loaded(X)
        assert int(loaded.calls) == count
    assert int(line.calls) == before
    loaded.slope.assign([0.0, 0.0])
    assert loaded(X).numpy().tolist() == [0.5] * 3


def test_several_kinds_of_arguments(saved):
    line, loaded, _ = saved
    x = tf.constant([3.0, -2.0])
    for args, kwargs in [((x,), {}), ((x, 2), {}), ((x, 3), {"flip": True}), ((x[0],), {})]:
        expected, found = line.power(*args, **kwargs), loaded.power(*args, **kwargs)
        tf.nest.assert_same_structure(expected, found)
        for a, b in zip(tf.nest.flatten(expected), tf.nest.flatten(found), strict=True):
            assert (a is None and b is None) or a.numpy().tolist() == b.numpy().tolist()
    assert loaded.power([3.0, -2.0])["result"].numpy().tolist() == [13.5, 6.0]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((tf.constant([1.0, 2.0, 3.0]),), {}),
        ((tf.constant([1.0, 2.0]), 4), {}),
        ((tf.constant([1, 2]),), {}),
        (([[1.0], [2.0]],), {}),
        (("text",), {}),
        ((None,), {}),
    ],
)
def test_arguments_that_it_was_not_saved_for(saved, args, kwargs):
    _, loaded, _ = saved
    with pytest.raises(ValueError, match=r"power: .* was not saved for these arguments"):
        loaded.power(*args, **kwargs)


def test_arguments_that_no_call_can_have(saved):
    with pytest.raises(TypeError, match="missing a required argument"):
        saved[1].power()


def test_training_goes_on(saved):
    line, loaded, _ = saved
    losses = []
    for model in (line, loaded):
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(X) - 1.0) ** 2)
            variables = [model.slope, model.parts[0]]
            for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
                variable.assign_sub(0.01 * gradient)
        losses.append(float(loss))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0] < 10


def test_second_derivatives_and_where_they_end(saved):
    _, loaded, _ = saved
    x = tf.constant([1.5, -0.5])
    with tf.GradientTape() as outermost:
        outermost.watch(x)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = loaded.power(x, 3, flip=True)["result"]
            first = inner.gradient(y, x)
        second = outer.gradient(first, x)
    np.testing.assert_allclose(first, -4.5 * x**2)
    np.testing.assert_allclose(second, -9.0 * x)
    with pytest.raises(Exception, match="derivatives up to the order 2"):
        outermost.gradient(second, x)


def test_inside_functions_loops_and_branches(saved):
    line, loaded, _ = saved

    @tf.function
    def outside(model_calls, x):
        total = tf.zeros([3])
        for _ in tf.range(2):
            total += model_calls(x)
        return tf.cond(total[0] > 0, lambda: total, lambda: -total)

    np.testing.assert_allclose(outside(loaded, X), outside(line, X), rtol=1e-6)
    assert int(loaded.calls) == 2


def test_vmap_is_refused(saved):
    _, loaded, _ = saved
    with pytest.raises(NotImplementedError, match="cannot run inside vmap"):
        tf.vectorized_map(lambda x: loaded.power(x)["result"], X)


def test_signatures(saved):
    line, loaded, _ = saved
    signature = loaded.signatures["serving_default"]
    assert signature.structured_input_signature == ((), {"x": tf.TensorSpec([None, 2])})
    assert signature(x=X)["output_0"].numpy().tolist() == line(X).numpy().tolist()
    assert signature(X)["output_0"].shape == (3,)
    with pytest.raises(TypeError, match="The arguments of this signature are x"):
        signature(y=X)
    with pytest.raises(ValueError, match="x must be a tensor of the kind"):
        signature(x=tf.constant([1.0]))


def test_signatures_that_are_given(tmp_path):
    line = Line()
    concrete = line.power.get_concrete_function(tf.TensorSpec([None], tf.float32, "numbers"))
    tf.saved_model.save(line, tmp_path, {"power": concrete, "call": line.__call__})
    found = tf.saved_model.load(tmp_path).signatures
    assert sorted(found) == ["call", "power"]
    values = found["power"](numbers=[1.0, 2.0, 3.0])["result"].numpy().tolist()
    assert values == [1.5, 6.0, 13.5]
    with pytest.raises(ValueError, match=r"must be a tf\.function"):
        tf.saved_model.save(line, tmp_path, lambda x: x)


def test_a_function_without_a_kind_of_arguments(tmp_path):
    line = Line()
    with pytest.raises(ValueError, match="no input_signature and was never called"):
        tf.saved_model.save(line, tmp_path, line.power)
    tf.saved_model.save(line, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    with pytest.raises(ValueError, match="no arguments at all"):
        loaded.power(1.0)


def test_variables_that_the_object_does_not_hold(tmp_path):
    elsewhere = tf.Variable(3.0)
    held = tf.Module()
    held.scale = tf.function(lambda x: x * elsewhere, input_signature=[tf.TensorSpec([])])
    tf.saved_model.save(held, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    elsewhere.assign(5.0)
    assert loaded.scale(2.0).numpy() == 6.0


def test_one_variable_in_two_places_is_one(tmp_path):
    held = tf.Module()
    held.first = held.second = tf.Variable(1.0)
    held.get = tf.function(lambda: held.first + 0.0, input_signature=[])
    tf.saved_model.save(held, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    loaded.second.assign(7.0)
    assert loaded.get().numpy() == 7.0


def test_random_numbers_go_on(tmp_path):
    held = tf.Module()
    held.draw = tf.function(lambda: tf.random.normal([3]), input_signature=[])
    tf.saved_model.save(held, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    first, second = loaded.draw().numpy(), loaded.draw().numpy()
    assert np.abs(first - second).max() > 0


def test_in_a_process_without_the_source(saved):
    _, _, folder = saved
    program = f"""
import gradtape as tf
line = tf.saved_model.load({str(folder)!r})
x = tf.constant([[1.0, 2.0]] * 4)
with tf.GradientTape() as tape:
    y = tf.reduce_sum(line(x))
print(float(y), tape.gradient(y, line.slope).numpy().tolist())
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert found.stdout.strip() == "2.0 [4.0, 8.0]"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: tf.py_function(np.sin, [x], tf.float32), "calls Python while it runs"),
        (lambda x: tf.boolean_mask(x, x > 0), "XLA cannot compile it"),
        (lambda x: tf.IndexedSlices(x, tf.range(3)), "a SavedModel can hold tensors"),
    ],
    ids=["host", "shapes", "sparse"],
)
def test_functions_that_cannot_be_saved(tmp_path, function, said):
    held = tf.Module()
    held.f = tf.function(function, input_signature=[tf.TensorSpec([3])])
    with pytest.raises((ValueError, TypeError), match=said):
        tf.saved_model.save(held, tmp_path)
    assert not tf.saved_model.contains_saved_model(tmp_path)


@pytest.mark.parametrize("thing", [3, "text", None, tf.constant(1.0), tf.function(lambda x: x)])
def test_what_cannot_be_saved(tmp_path, thing):
    with pytest.raises(ValueError, match=r"obj must be a tf\.Module"):
        tf.saved_model.save(thing, tmp_path)


def test_inside_a_function(tmp_path):
    @tf.function
    def f(x):
        tf.saved_model.save(Line(), tmp_path)
        return x

    with pytest.raises(NotImplementedError, match="call it outside"):
        f(tf.constant(1.0))


def test_an_object_that_is_not_callable(tmp_path):
    held = tf.Module()
    held.v = tf.Variable(1.0)
    tf.saved_model.save(held, tmp_path)
    with pytest.raises(TypeError, match="is not callable"):
        tf.saved_model.load(tmp_path)(1.0)


def test_variables_that_a_function_creates_in_its_first_call(tmp_path):
    class Lazy(tf.Module):
        weight = None

        @tf.function(input_signature=[tf.TensorSpec([None, 3])])
        def __call__(self, x):
            if self.weight is None:
                self.weight = tf.Variable(tf.ones([3, 2]))
            return x @ self.weight

    made = Lazy()
    tf.saved_model.save(made, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    loaded.weight.assign(2.0 * loaded.weight)
    assert loaded(tf.ones([1, 3])).numpy().tolist() == [[6.0, 6.0]]
    assert made(tf.ones([1, 3])).numpy().tolist() == [[3.0, 3.0]]


def test_functions_that_functions_call_keep_their_own_kinds(tmp_path):
    made = tf.Module()
    made.v = tf.Variable(3.0)
    made.inner = tf.function(lambda x: x * made.v)
    made.outer = tf.function(
        lambda x: tf.cond(x[0] > 0, lambda: made.inner(x), lambda: -made.inner(x)),
        input_signature=[tf.TensorSpec([None])],
    )
    for _ in range(2):
        tf.saved_model.save(made, tmp_path)
        loaded = tf.saved_model.load(tmp_path)
        assert loaded.inner.concrete_functions == []
    assert loaded.outer([1.0, 2.0]).numpy().tolist() == [3.0, 6.0]
    assert loaded.outer([-1.0]).numpy().tolist() == [3.0]
