"""`function(check_parity=True)`: the first call for each kind of arguments is compared with eager
code, op by op.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape.functions.parity import ParityError
from gradtape.ops.registry import registry

pytestmark = pytest.mark.waits


@pytest.fixture
def wrong(monkeypatch):
    """Gives an op another kernel on XLA."""
    return lambda name, kernel: monkeypatch.setitem(registry[name].__dict__, "xla_kernel", kernel)


def line_of(text: str) -> int:
    """The number of the one line of this file that holds a text."""
    (found,) = [
        i
        for i, line in enumerate(Path(__file__).read_text().splitlines(), 1)
        if text in line and "line_of" not in line
    ]
    return found


def training_step(w):
    @tf.function(check_parity=True)
    def step(x):
        with tf.GradientTape() as tape:
            h = tf.tanh(tf.matmul(x, w))  # the op in question
            loss = tf.reduce_mean(tf.square(h))
        w.assign_sub(0.1 * tape.gradient(loss, w))  # where the gradient is asked for
        return loss

    return step


def example(dtype):
    rng = np.random.default_rng(0)
    return tf.Variable(rng.standard_normal((3, 2)).astype(dtype), name="w"), tf.constant(
        rng.standard_normal((4, 3)).astype(dtype)
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_agrees_runs_as_ever(dtype):
    w, x = example(dtype)
    other = tf.Variable(w)
    checked, plain = training_step(w), tf.function(training_step(other).python_function)
    for _ in range(3):
        assert checked(x).dtype.name == dtype
        plain(x)
        np.testing.assert_array_equal(w.numpy(), other.numpy())
    assert checked.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_wrong_op_is_named_with_its_line_shapes_and_difference(wrong, dtype):
    w, x = example(dtype)
    before = w.numpy()
    wrong("tanh", lambda x: jnp.tanh(x).at[2, 1].add(0.25))
    step = training_step(w)
    for _ in range(2):  # and again, until it is right
        with pytest.raises(ParityError) as raised:
            step(x)
        message = str(raised.value)
        assert f"tanh, called at {__file__}:{line_of('# the op in question')}, in" in message
        assert f"with {dtype}[4, 2]" in message
        assert "differs by up to 0.25 at [2, 1]" in message
        np.testing.assert_array_equal(w.numpy(), before)


def test_once_it_is_right_it_runs(wrong, monkeypatch):
    w, x = example("float32")
    step = training_step(w)
    with monkeypatch.context() as patch:
        patch.setitem(registry["tanh"].__dict__, "xla_kernel", jnp.sinh)
        with pytest.raises(ParityError, match="tanh"):
            step(x)
    del step
    loss = training_step(w)(x)
    h = np.tanh(x.numpy() @ example("float32")[0].numpy())
    np.testing.assert_allclose(loss.numpy(), np.mean(h * h), rtol=1e-6)


def test_the_first_of_several_is_named_not_those_after_it(wrong):
    wrong("exp", lambda x: jnp.exp(x) * 1.5)
    f = tf.function(lambda x: tf.sqrt(tf.exp(x) + 1.0), check_parity=True)
    with pytest.raises(ParityError, match=r"exp, called at"):
        f(tf.constant([1.0, 2.0]))


def test_an_op_of_the_gradient_alone(wrong):
    w, x = example("float32")
    step = training_step(w)
    wrong("broadcast_to", lambda x, *, shape: jnp.broadcast_to(x, shape) * 2)
    with pytest.raises(
        ParityError,
        match=rf"broadcast_to, called at .*:{line_of('# where the gradient is asked for')}, in",
    ):
        step(x)


def test_a_wrong_shape_or_dtype(wrong):
    x = tf.constant([[1.0, 2.0]])
    wrong("tanh", lambda x: jnp.tanh(x)[0])
    with pytest.raises(
        ParityError, match=r"tanh.*is float32\[2\] compiled, and float32\[1, 2\] in eager code"
    ):
        tf.function(lambda x: tf.tanh(x), check_parity=True)(x)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none(wrong, value):
    x = tf.constant([1.0, value])
    f = tf.function(lambda x: tf.exp(x) - tf.exp(x), check_parity=True)
    assert np.isnan(f(x).numpy()[1])
    wrong("exp", lambda x: jnp.where(jnp.isfinite(x), jnp.exp(x), 0))
    with pytest.raises(ParityError, match=r"exp.*differs by up to inf at \[1\]"):
        tf.function(lambda x: tf.exp(x), check_parity=True)(x)


def test_rounding_is_no_difference():
    rng = np.random.default_rng(0)
    x = tf.constant(rng.standard_normal(100_000).astype(np.float32))
    a, b = (tf.constant(rng.standard_normal((300, 300)).astype(np.float32)) for _ in range(2))

    @tf.function(check_parity=True)
    def f(x, a, b):
        near_zero = tf.reduce_sum(x - tf.reduce_mean(x))
        with tf.GradientTape() as tape:
            tape.watch(a)
            # Its gradient is zero but for rounding.
            y = tf.reduce_sum(tf.nn.softmax(tf.matmul(a, b)))
        return near_zero, tape.gradient(y, a)

    f(x, a, b)


def test_the_bodies_of_branches_are_compared_by_their_results(wrong):
    @tf.function(check_parity=True)
    def f(x):
        return tf.cond(x[0] > 0, lambda: tf.tanh(x), lambda: x) + 1.0

    f(tf.constant([1.0, 2.0]))
    wrong("tanh", lambda x: jnp.tanh(x) + 0.5)
    with pytest.raises(
        ParityError, match=r"result 0 differs by up to 0\.5 .*bodies of branches and loops"
    ):
        f(tf.constant([1.0, 2.0, 3.0]))


def test_python_that_does_something_else_the_second_time():
    factors = iter([2.0, 2.0, 3.0])
    f = tf.function(lambda x: x * next(factors), check_parity=True, autograph=False)
    with pytest.raises(
        ParityError, match=r"result 0 differs by up to 1, where it is 2\.0 compiled and 3\.0"
    ):
        f(tf.constant(1.0))


def test_variables_that_python_writes_otherwise_in_eager_code():
    v = tf.Variable(1.0, name="v")
    seen = []

    @tf.function(check_parity=True, autograph=False)
    def f(x):
        seen.append(x)
        v.assign_add(x * float(len(seen)))

    with pytest.raises(ParityError, match="the Variable 'v:0' differs"):
        f(tf.constant(1.0))
    assert float(v) == 1.0


def test_a_variable_that_only_eager_code_writes():
    one, two = tf.Variable(1.0, name="one"), tf.Variable(1.0, name="two")
    seen = []

    @tf.function(check_parity=True, autograph=False)
    def f(x):
        seen.append(x)
        (one if len(seen) < 3 else two).assign_add(x)

    with pytest.raises(
        ParityError, match="writes the Variable 'two:0' in eager code, but not compiled"
    ):
        f(tf.constant(1.0))
    assert [float(one), float(two)] == [1.0, 1.0]


def test_an_error_of_eager_code_leaves_variables_as_they_were():
    v = tf.Variable([1.0, 2.0])
    # Its value is on XLA's side now.
    tf.function(lambda x: v.assign_add(x))(tf.constant([1.0, 1.0]))
    seen = []

    @tf.function(check_parity=True, autograph=False)
    def f(x):
        seen.append(x)
        v.assign_add(x)
        v.scatter_update(tf.IndexedSlices([9.0], [0]))
        if len(seen) > 2:
            raise KeyError("only eagerly")

    with pytest.raises(ParityError, match="raises KeyError in eager code"):
        f(tf.constant([1.0, 1.0]))
    np.testing.assert_array_equal(v, [2.0, 3.0])


def test_eager_code_that_fails_where_the_program_does_not(wrong):
    wrong("matmul", lambda a, b: jnp.zeros((2, 2), a.dtype))
    v = tf.Variable(1.0)

    @tf.function(check_parity=True)
    def f(x):
        v.assign_add(1.0)
        return tf.gather(x, tf.cast(tf.reduce_sum(x), tf.int32))

    with pytest.raises(ParityError, match=r"runs compiled, but eager code raises"):
        f(tf.constant([10.0, 20.0]))
    assert float(v) == 1.0


def test_functions_in_functions(wrong):
    inner = tf.function(lambda x: tf.tanh(x))
    outer = tf.function(lambda x: inner(x) * 2.0, check_parity=True)
    np.testing.assert_allclose(outer(tf.constant([1.0])), 2 * np.tanh([1.0]), rtol=1e-6)
    wrong("tanh", jnp.sin)
    with pytest.raises(ParityError, match="tanh, called at"):
        tf.function(lambda x: inner(x) * 2.0, check_parity=True)(tf.constant([1.0, 2.0]))


def test_random_numbers_are_drawn_once():
    tf.random.set_seed(1)
    expected = tf.function(lambda: tf.random.normal([3]) * 2.0)().numpy()
    tf.random.set_seed(1)
    eager = tf.random.normal([3]).numpy()
    tf.random.set_seed(1)
    np.testing.assert_array_equal(
        tf.function(lambda: tf.random.normal([3]) * 2.0, check_parity=True)(), expected
    )
    np.testing.assert_array_equal(tf.random.normal([3]), eager)


def test_random_numbers_of_a_generator_and_of_a_seed():
    """They are others in eager code, and the state is moved on once."""
    checked, plain = tf.random.Generator.from_seed(1), tf.random.Generator.from_seed(1)
    seed = tf.constant([1, 2])
    ways = [
        lambda x, g=g: x + g.normal([3]) + tf.random.stateless_normal([3], seed)
        for g in (checked, plain)
    ]
    found = tf.function(ways[0], check_parity=True)(tf.zeros([3]))
    np.testing.assert_array_equal(found, tf.function(ways[1])(tf.zeros([3])))
    np.testing.assert_array_equal(checked.state, plain.state)


def test_random_numbers_in_a_loop():
    f = tf.function(lambda x: tf.map_fn(lambda a: a + tf.random.uniform([]), x), check_parity=True)
    assert f(tf.zeros([3])).shape == [3]


def test_control_flow_and_what_it_writes(wrong):
    total = tf.Variable(1.0)

    @tf.function(check_parity=True)
    def f(x):
        s = 0.0
        for a in x:
            if a > 0:
                s += a * 2.0
                total.assign_add(a)
            else:
                s -= a
        while s > 1.0:
            s = s / 2.0
        return (
            s,
            tf.scan(lambda c, a: c + a, x),
            tf.cond(s > 0.5, lambda: total * 2.0, lambda: total * 1.0),
        )

    results = f(tf.constant([1.0, -2.0, 3.0]))
    assert [float(results[0]), results[1].numpy().tolist(), float(results[2])] == [
        0.625,
        [1.0, -1.0, 2.0],
        10.0,
    ]
    assert float(total) == 5.0
    wrong("subtract", jnp.add)
    with pytest.raises(ParityError, match="differs by up to"):
        f(tf.constant([1.0, -2.0, 3.0, 4.0]))
    assert float(total) == 5.0


def test_variables_made_in_the_first_call():
    class Model:
        w = None

        @tf.function(check_parity=True)
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(2.0)
            return self.w.assign_add(x)

    model = Model()
    assert [float(model(tf.constant(1.0))), float(model(tf.constant(1.0))), float(model.w)] == [
        3.0,
        4.0,
        4.0,
    ]


def test_factors_that_have_a_sign_of_their_own():
    x = tf.constant(np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32))

    @tf.function(check_parity=True)
    def f(x):
        s, u, v = tf.linalg.svd(x)
        return u @ tf.linalg.diag(s) @ tf.transpose(v)

    np.testing.assert_allclose(f(x), x, rtol=1e-5, atol=1e-5)


def test_a_tape_outside_and_a_vmap(wrong):
    f = tf.function(lambda x: tf.sin(x) * x, check_parity=True)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(
        tape.gradient(y, x), np.cos([1.0, 2.0]) * [1.0, 2.0] + np.sin([1.0, 2.0]), rtol=3e-6
    )
    np.testing.assert_allclose(tf.vectorized_map(f, x), np.sin([1.0, 2.0]) * [1.0, 2.0], rtol=3e-6)
    wrong("sin", jnp.cos)
    with tf.GradientTape() as tape, pytest.raises(ParityError, match="sin, called at"):
        tape.watch(x)
        tf.function(lambda x: tf.sin(x) * x, check_parity=True)(x)


def test_structures_methods_and_signatures(wrong):
    class Model:
        @tf.function(check_parity=True, input_signature=[tf.TensorSpec([2]), tf.TensorSpec([2])])
        def both(self, a, b):
            rows = tf.IndexedSlices(a, tf.constant([0, 1]))
            return {
                "sum": a + b,
                "none": None,
                "rows": rows,
                "sparse": tf.sparse.SparseTensor([[0], [3]], b, [4]),
            }

    result = Model().both(tf.constant([1.0, 2.0]), np.array([3.0, 4.0], np.float32))
    np.testing.assert_array_equal(result["sum"], [4.0, 6.0])
    wrong("add", lambda a, b: a - b)
    with pytest.raises(ParityError, match="add, called at"):
        Model().both(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))


def test_without_it_nothing_is_compared(wrong):
    wrong("tanh", jnp.sin)
    np.testing.assert_allclose(
        tf.function(lambda x: tf.tanh(x))(tf.constant(1.0)), np.sin(1.0), rtol=1e-6
    )
    assert "check_parity" in inspect.signature(tf.function).parameters


def test_bounds_of_loops_hold_on_both_sides():
    @tf.function(check_parity=True)
    def f(x):
        while tf.reduce_sum(x) < 1000.0:
            tf.autograph.experimental.set_loop_options(maximum_iterations=2)
            x = x * 2.0
        return x

    np.testing.assert_array_equal(f(tf.constant([1.0, 2.0])), [4.0, 8.0])
