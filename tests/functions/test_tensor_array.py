"""TensorArrays in functions: in their loops and branches,
with indices that only the program knows, and with gradients.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf

X = np.arange(12, dtype=np.float32).reshape(4, 3) / 7 + 0.3


def powers(x):
    """Rows written in a loop; each reads the one before."""
    array = tf.TensorArray(tf.float32, size=4, clear_after_read=False).write(0, x)

    def body(i, array):
        return i + 1, array.write(i, array.read(i - 1) * x + 1.0)

    _, array = tf.while_loop(lambda i, _: i < 4, body, (1, array))
    return array.stack()


def unwritten(x):
    """The shape of entries is told by what the loop writes."""
    array = tf.TensorArray(tf.float32, size=3)
    return tf.while_loop(
        lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, x * tf.cast(i, tf.float32))), (0, array)
    )[1].stack()


def some_unwritten(x):
    """What is never written is zeros."""
    array = tf.TensorArray(tf.float32, size=5, element_shape=[3])
    return tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 2, a.write(i, x)), (1, array))[
        1
    ].stack()


def unstacked(x):
    """Rows read at an index of the loop, last first."""
    rows = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(
        tf.stack([x, x * x, x * x * x])
    )
    return tf.while_loop(
        lambda i, _: i >= 0, lambda i, y: (i - 1, y * 2 + rows.read(i)), (2, tf.zeros_like(x))
    )[1]


def gathered(x):
    rows = tf.TensorArray(tf.float32, size=3, clear_after_read=False).unstack(
        tf.stack([x, x * x, x * x * x])
    )
    return tf.map_fn(lambda i: rows.gather([i, 2 - i]), tf.range(3), fn_output_signature=tf.float32)


def scattered(x):
    array = tf.TensorArray(tf.float32, size=4)

    def body(i, array):
        return i + 1, array.scatter([i, 3 - i], tf.stack([x, x * x]) * tf.cast(i + 1, tf.float32))

    return tf.while_loop(lambda i, _: i < 2, body, (0, array))[1].stack()


def joined(x):
    array = tf.TensorArray(tf.float32, size=2)
    written = tf.while_loop(
        lambda i, _: i < 2, lambda i, a: (i + 1, a.write(i, tf.stack([x, -x]))), (0, array)
    )[1]
    return written.concat()


def chosen(x):
    """A branch gives an array."""
    array = tf.TensorArray(tf.float32, size=2).unstack([x, x * 2.0])
    return tf.cond(tf.reduce_sum(x) > 0, lambda: array.write(1, x * x), lambda: array).stack()


def folded(x):
    array = tf.TensorArray(tf.float32, size=4)

    def step(state, row):
        i, array = state
        return i + 1, array.write(i, tf.tanh(row * x))

    return tf.foldl(step, tf.constant(X), initializer=(tf.constant(0), array))[1].stack()


def python_loop(x):
    """Without a loop of the program it stays a list."""
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in range(3):
        array = array.write(i, x**i)
    parts = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(array.stack(), [1, 2])
    return tf.concat([parts.read(1), parts.read(0), array.gather([2, 0])], 0) * tf.cast(
        array.size(), tf.float32
    )


PROGRAMS = [
    powers,
    unwritten,
    some_unwritten,
    unstacked,
    gathered,
    scattered,
    joined,
    chosen,
    folded,
    python_loop,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_gradients_are_those_of_eager_code(program):
    x = tf.constant([0.5, -0.7, 1.2])

    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
            total = tf.reduce_sum(tf.sin(y))
        return y, tape.gradient(total, x)

    y, gradient = step(x)
    for found in (tf.function(step)(x), _from_outside(tf.function(program), x)):
        np.testing.assert_allclose(found[0], y, rtol=1e-5)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-4, atol=1e-5)


def _from_outside(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        total = tf.reduce_sum(tf.sin(y))
    return y, tape.gradient(total, x)


@pytest.mark.parametrize("program", [powers, unstacked, scattered, chosen])
def test_second_derivatives_and_forward_mode(program):
    x, direction = tf.constant([0.5, -0.7, 1.2]), tf.constant([1.0, 2.0, -1.0])

    def derivatives(f):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                total = tf.reduce_sum(tf.sin(f(x)))
            first = inner.gradient(total, x)
            product = tf.reduce_sum(first * direction)
        with tf.autodiff.ForwardAccumulator(x, direction) as accumulator:
            total = tf.reduce_sum(tf.sin(f(x)))
        return outer.gradient(product, x), accumulator.jvp(total)

    for found, expected in zip(
        derivatives(tf.function(program)), derivatives(program), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("program", [powers, unwritten, unstacked, scattered, folded])
def test_a_batch(program):
    batch = tf.constant(X)
    expected = tf.stack([program(row) for row in batch])
    np.testing.assert_allclose(
        tf.function(lambda x: tf.vmap(program)(x))(batch), expected, rtol=1e-5
    )


def test_a_step_of_a_recurrent_network():
    """Inputs are read and outputs written at an index of the loop, as such layers do."""
    w = tf.Variable(np.eye(3, dtype=np.float32) * 0.5)

    def run(x):
        inputs = tf.TensorArray(tf.float32, size=4, clear_after_read=False).unstack(x)
        outputs = tf.TensorArray(tf.float32, size=inputs.size(), element_shape=[3])

        def body(t, state, outputs):
            state = tf.tanh(tf.linalg.matvec(w, state) + inputs.read(t))
            return t + 1, state, outputs.write(t, state)

        _, _, outputs = tf.while_loop(
            lambda t, *_: t < 4, body, (0, tf.zeros([3]), outputs), maximum_iterations=4
        )
        return outputs.stack()

    def loss_and_gradient(run):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(run(tf.constant(X)) ** 2)
        return loss, tape.gradient(loss, w)

    for found, expected in zip(
        loss_and_gradient(tf.function(run)), loss_and_gradient(run), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_an_index_that_is_an_argument():
    @tf.function
    def f(i, x):
        array = tf.TensorArray(tf.float32, size=3).unstack([1.0, 2.0, 3.0]).write(i, x)
        return array.stack(), array.read(i), array.gather([i, 0]), array.size()

    for i in range(3):
        stacked, read, gathered, size = f(tf.constant(i), tf.constant(9.0))
        expected = np.array([1.0, 2.0, 3.0])
        expected[i] = 9.0
        np.testing.assert_array_equal(stacked, expected)
        np.testing.assert_array_equal(gathered, [9.0, expected[0]])
        assert (float(read), int(size)) == (9.0, 3)


def test_writing_gives_another_array_as_in_a_graph():
    @tf.function
    def f(x):
        array = tf.TensorArray(tf.float32, size=2).unstack([x, x])
        written = array.write(0, x + 1)
        return array.stack(), written.stack()

    before, after = f(tf.constant(1.0))
    np.testing.assert_array_equal(before, [1.0, 1.0])
    np.testing.assert_array_equal(after, [2.0, 1.0])


def test_an_array_from_outside_is_read_and_left_as_it_is():
    array = tf.TensorArray(tf.float32, size=2).unstack([1.0, 2.0])
    f = tf.function(lambda i: array.write(i, 5.0).stack() + array.read(i))
    np.testing.assert_array_equal(f(tf.constant(0)), [6.0, 3.0])
    np.testing.assert_array_equal(array.stack(), [1.0, 2.0])


def test_what_the_program_would_have_to_know():
    with pytest.raises(TypeError, match=r"TensorArray: in a gradtape.function size must be known"):
        tf.function(lambda n: tf.TensorArray(tf.float32, size=n).stack(), jit_compile=True)(
            tf.constant(2)
        )

    def growing(n):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        return tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a.write(i, 1.0)), (0, array))[
            1
        ].stack()

    np.testing.assert_array_equal(growing(2), [1.0, 1.0])
    with pytest.raises(
        TypeError, match=r"TensorArray.write: in a gradtape.function an array cannot grow"
    ):
        tf.function(growing, jit_compile=True)(tf.constant(2))


def test_shapes_and_dtypes_are_checked():
    def run(value):
        array = tf.TensorArray(tf.float32, size=2, element_shape=[2])
        return tf.function(lambda i: array.write(i, value).stack())(tf.constant(0))

    with pytest.raises(ValueError, match="does not fit the element shape"):
        run([1.0, 2.0, 3.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="has dtype int32"):
        run(tf.constant([1, 2]))
    with pytest.raises(tf.errors.OutOfRangeError, match="index 3"):
        tf.function(lambda x: tf.TensorArray(tf.float32, size=2).unstack([x, x]).read(3))(
            tf.constant(1.0)
        )


def test_nest_opens_an_array_that_knows_its_shape():
    array = tf.TensorArray(tf.float32, size=2).unstack([1.0, 2.0])
    assert tf.nest.flatten({"a": array}) == [array]
    (rows,) = tf.nest.flatten({"a": array}, expand_composites=True)
    np.testing.assert_array_equal(rows, [1.0, 2.0])
    packed = tf.nest.pack_sequence_as({"a": array, "b": 0}, [rows * 2, 5], expand_composites=True)
    np.testing.assert_array_equal(packed["a"].stack(), [2.0, 4.0])
    assert packed["b"] == 5
    assert tf.nest.flatten(tf.TensorArray(tf.float32, size=2), expand_composites=True) == []
    with pytest.raises(ValueError, match="more leaves"):
        tf.nest.pack_sequence_as([array, 0], [rows], expand_composites=True)
