"""What a call of a compiled function does besides running it:
counts of what would make calls slow.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape.engines.xla import engine as xla_engine
from gradtape.functions.staging import Part


@pytest.fixture
def tracings(monkeypatch):
    """The number of times that JAX has traced a part of a program."""
    found = []
    traced = Part._traced

    def counting(self, *arrays):
        found.append(self)
        return traced(self, *arrays)

    monkeypatch.setattr(Part, "_traced", counting)
    return found


@pytest.fixture
def conversions(monkeypatch):
    """The arrays that were made JAX's outside a call."""
    found = []
    device_put = xla_engine.device_put

    def counting(array):
        found.append(array)
        return device_put(array)

    monkeypatch.setattr(xla_engine, "device_put", counting)
    return found


def _held(f):
    """The shortest way of the one program that a function has."""
    (concrete,) = f._concrete.values()
    return concrete.shortcut


@pytest.mark.waits
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_tensors_arrays_and_results_run_one_compiled_program(tracings, dtype):
    f = tf.function(lambda x: x + x)
    x = tf.constant([1, 2], dtype=dtype)
    for argument in (x, x, x, x.numpy(), f(x), f(f(x))):
        assert f(argument).dtype.name == dtype
    assert len(tracings) == 1
    assert f(f(x)).numpy().tolist() == [4, 8]


def test_the_shortest_way_refuses_other_arguments_and_they_get_a_program_of_their_own():
    f = tf.function(lambda x: x + 1)
    for _ in range(3):
        assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [2, 3]
    for value in ([1.0], [[1.0, 2.0]], [1, 2]):
        for _ in range(3):
            np.testing.assert_array_equal(f(tf.constant(value)).numpy(), np.add(value, 1))
    assert f.experimental_get_tracing_count() == 4
    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [2, 3]


def test_a_variable_in_a_tensors_place_is_an_argument_of_another_kind():
    f = tf.function(lambda x: x + 1)
    for _ in range(3):
        f(tf.constant(1.0))
    v = tf.Variable(1.0)
    f(v)
    v.assign(5.0)
    assert f(v).numpy() == 6
    assert f.experimental_get_tracing_count() == 2


@pytest.mark.waits
def test_a_tensor_is_converted_when_it_comes_a_second_time_and_never_again(conversions):
    f = tf.function(lambda x: x + 1)
    x = tf.constant([1.0, 2.0])
    f(x)
    assert len(conversions) == 0
    f(x)
    assert len(conversions) == 1
    f(x)
    f(tf.constant([3.0, 4.0]))
    f(np.array([5, 6], np.float32))
    assert len(conversions) == 1


def test_an_array_may_be_changed_after_the_call():
    f = tf.function(lambda x: x * 1)
    for size in (3, 100_000):
        x = np.ones(size, np.float32)
        for _ in range(3):
            result = f(x)
            x[:] = 7
            assert (result.numpy() == 1).all()
            x[:] = 1


def test_a_step_that_assigns_variables_reads_and_writes_their_jax_arrays_alone(conversions):
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        v.assign_add(x)
        return v * 2

    x = tf.constant([1.0, 1.0])
    for _ in range(3):
        result = step(x)
    count = len(conversions)
    for _ in range(3):
        result = step(x)
    assert len(conversions) == count
    assert result.numpy().tolist() == [14, 16]
    v.assign([0.0, 0.0])  # by eager code
    assert step(x).numpy().tolist() == [2, 2]
    assert v.numpy().tolist() == [1, 1]


def test_programs_with_unused_arguments_and_large_constants_are_called_rightly():
    table = np.arange(1000.0, dtype=np.float32)
    f = tf.function(lambda unused, x: tf.gather(tf.constant(table), x))
    g = tf.function(lambda x: tf.gather(tf.constant(table), x))
    x = tf.constant([3, 5])
    for _ in range(3):
        assert f(x, x).numpy().tolist() == [3, 5]
        assert g(x).numpy().tolist() == [3, 5]
    # JAX leaves out what is not used, so the arguments are not those of the call.
    assert _held(f) is None


def _products(f):
    (concrete,) = f._concrete.values()
    part: Part = concrete.program.compiled_plain()
    return sum(equation.primitive.name == "dot_general" for equation in part._jaxpr.eqns)


def test_a_compiled_jacobian_begins_behind_the_last_product():
    w1, w2 = tf.constant(np.eye(4, 6, dtype=np.float32)), tf.constant(np.ones((6, 3), np.float32))

    def jacobian(x, w1, w2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.exp(tf.matmul(tf.tanh(tf.matmul(x, w1)), w2))
        return tape.jacobian(y, x)

    f, x = tf.function(jacobian), tf.constant([[0.1, 0.2, 0.3, 0.4]])
    np.testing.assert_allclose(f(x, w1, w2).numpy(), jacobian(x, w1, w2).numpy(), rtol=1e-5)
    assert _products(f) == 3  # two of the network, and the one back to x: none with rows of zeros


@pytest.mark.parametrize("end", ["product", "elementwise", "reshape"])
def test_compiled_jacobians_are_those_of_eager_code(end):
    rng = np.random.default_rng(0)
    w1, w2 = tf.constant(rng.standard_normal((5, 7))), tf.constant(rng.standard_normal((7, 3)))

    def y_of(x):
        y = tf.tanh(x @ w1)
        y = tf.exp(y) if end == "elementwise" else y @ w2
        return tf.reshape(tf.sin(y), [4, -1, 1]) if end == "reshape" else y

    def jacobians(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = y_of(x)
        return (
            tape.jacobian(y, x),
            tape.jacobian(y, x, parallel_iterations=5),
            tape.batch_jacobian(y, x),
        )

    x = tf.constant(rng.standard_normal((4, 5)))
    for found, expected in zip(tf.function(jacobians)(x), jacobians(x), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-10, atol=1e-12)
