"""`vmap` and `vectorized_map`: against a loop, nested, with tapes inside and outside."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.ops import batching

rng = np.random.default_rng(7)


def array(*shape):
    return tf.constant(rng.standard_normal(shape))


def test_against_a_loop_over_a_structure():
    elems = {"a": array(4, 3), "b": (array(4), array(4, 2, 3))}

    def f(e):
        return {
            "out": tf.matmul(e["b"][1], e["a"][:, None]) * e["b"][0],
            "total": tf.reduce_sum(e["a"]),
        }

    found = tf.vectorized_map(f, elems)
    for i in range(4):
        one = f(tf.nest.map_structure(lambda t, i=i: t[i], elems))
        np.testing.assert_allclose(found["out"][i], one["out"])
        np.testing.assert_allclose(found["total"][i], one["total"])


@pytest.mark.parametrize(("in_axes", "out_axes"), [(0, 0), (1, 0), (-1, 1), (0, -1)])
def test_axes(in_axes, out_axes):
    x = array(3, 3, 3)
    found = tf.vmap(lambda a: tf.transpose(a) @ a, in_axes=in_axes, out_axes=out_axes)(x)
    rows = [a.T @ a for a in np.moveaxis(x.numpy(), in_axes, 0)]
    np.testing.assert_allclose(found, np.stack(rows, axis=out_axes))


def test_an_argument_that_is_the_same_for_all():
    x, y = array(4, 3), array(3)
    found = tf.vmap(lambda a, b: tf.tensordot(a, b, 1), in_axes=(0, None))(x, y)
    np.testing.assert_allclose(found, x.numpy() @ y.numpy())


def test_a_result_that_is_the_same_for_all_is_repeated():
    found = tf.vectorized_map(lambda a: (a * 2, tf.constant([1.0, 2.0]), None), array(3))
    assert found[1].shape == (3, 2)
    assert found[2] is None


def test_nested():
    x, y = array(3), array(4)
    found = tf.vmap(lambda a: tf.vmap(lambda b: a * b + tf.sin(a))(y))(x)
    np.testing.assert_allclose(found, np.outer(x.numpy(), y.numpy()) + np.sin(x.numpy())[:, None])


def test_per_example_gradients_and_a_tape_around_them():
    w = tf.Variable(rng.standard_normal((3, 2)))
    x = array(5, 3)

    def gradient_of_one(example):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(example[None, :] @ w) ** 2)
        return tape.gradient(loss, w)

    def penalty(gradients):
        return tf.reduce_sum(gradients**3)

    with tf.GradientTape() as tape:
        tape.watch(x)
        batched = tf.vectorized_map(gradient_of_one, x)
        total = penalty(batched)
    by_x, by_w = tape.gradient(total, [x, w])
    with tf.GradientTape() as tape:
        tape.watch(x)
        looped = tf.stack([gradient_of_one(x[i]) for i in range(5)])
        total = penalty(looped)
    loop_x, loop_w = tape.gradient(total, [x, w])
    np.testing.assert_allclose(batched, looped)
    np.testing.assert_allclose(by_x, loop_x)
    np.testing.assert_allclose(by_w, loop_w)


def test_an_accumulator_inside_and_outside():
    x, t = array(4, 3), array(4, 3)

    def directional(a, b):
        with tf.autodiff.ForwardAccumulator(a, b) as acc:
            y = tf.reduce_sum(tf.exp(a) * a)
        return acc.jvp(y)

    with tf.autodiff.ForwardAccumulator(x, t) as acc:
        found = tf.vmap(directional)(x, t)
    xs, ts = x.numpy(), t.numpy()
    np.testing.assert_allclose(found, np.sum(np.exp(xs) * (xs + 1) * ts, axis=1))
    np.testing.assert_allclose(acc.jvp(found), np.sum(np.exp(xs) * (xs + 2) * ts * ts, axis=1))


def test_a_custom_gradient_with_tapes_inside_and_outside():
    @tf.custom_gradient
    def cube(x, w):
        def grad(g):
            return g * 30.0 * x**2 * w, g * 10.0 * x**3

        return x**3 * w, grad

    x, w = array(4), tf.Variable(np.float64(2.0))

    def inside(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = cube(a, w)
        return tape.gradient(y, [a, w])

    by_x, by_w = tf.vectorized_map(inside, x)
    np.testing.assert_allclose(by_x, 60 * x.numpy() ** 2)
    np.testing.assert_allclose(by_w, 10 * x.numpy() ** 3)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.vectorized_map(lambda a: cube(a, w), x)
    by_x, by_w = tape.gradient(y, [x, w])
    np.testing.assert_allclose(y, 2 * x.numpy() ** 3)
    np.testing.assert_allclose(by_x, 60 * x.numpy() ** 2)
    np.testing.assert_allclose(by_w, np.sum(10 * x.numpy() ** 3))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.vectorized_map(lambda a: cube(a, w), x)
        slope = inner.gradient(y, x)
    np.testing.assert_allclose(outer.gradient(slope, x), 120 * x.numpy())


def test_an_op_without_a_rule_runs_as_a_loop():
    x, indices = array(3, 5), tf.constant([[0, 4], [1, 1], [2, 0]])
    batching.fallbacks.clear()
    found = tf.vectorized_map(lambda e: tf.gather(e[0], e[1]), (x, indices))
    np.testing.assert_allclose(found, np.take_along_axis(x.numpy(), indices.numpy(), 1))
    assert "take" in batching.fallbacks


def test_no_examples():
    found = tf.vectorized_map(lambda a: tf.reduce_sum(a * a), tf.zeros([0, 3]))
    assert found.shape == (0,)


def test_first_dimensions_of_one_are_stretched():
    found = tf.vectorized_map(lambda e: e[0] * e[1], (array(1, 2), array(3, 2)))
    assert found.shape == (3, 2)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.vectorized_map(tf.exp, tf.constant(1.0)), IndexError),
        (
            lambda: tf.vectorized_map(lambda e: e[0] + e[1], (tf.zeros([2]), tf.zeros([3]))),
            tf.errors.InvalidArgumentError,
        ),
        (lambda: tf.vmap(lambda a, b: a + b)(tf.zeros([2]), tf.zeros([3])), ValueError),
        (lambda: tf.vmap(lambda a: a, in_axes=None)(tf.zeros([2])), ValueError),
        (lambda: tf.vmap(lambda a: a, in_axes=2)(tf.zeros([2])), ValueError),
        (lambda: tf.vmap(lambda a: a, out_axes=1)(tf.zeros([2])), ValueError),
        (lambda: tf.vmap(3), TypeError),
        (lambda: tf.vmap(lambda a: a.numpy())(tf.zeros([2])), TypeError),
        (lambda: tf.vmap(lambda a: 1.0 if a > 0 else 2.0)(tf.zeros([2])), TypeError),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
@pytest.mark.parametrize(
    "part",
    [
        lambda v, i: v[i],
        lambda v, i: v[i, 1],
        lambda v, i: v[0, i],
        lambda v, i: v[..., i] + v[1, 0],
        lambda v, i: v[i][i],
    ],
)
def test_each_example_has_its_own_part_of_a_variable(part, wrap):
    v, places = tf.Variable(np.arange(6.0).reshape(3, 2)), tf.constant([1, 0, 1])

    def together():
        return tf.vectorized_map(lambda i: part(v, i), places)

    def one_by_one():
        return tf.stack([part(v, i) for i in places])

    with tf.GradientTape(persistent=True) as tape:
        found, wanted = wrap(together)(), one_by_one()
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(
        *[tf.convert_to_tensor(tape.gradient(y, v)) for y in (found, wanted)]
    )


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "write",
    [
        lambda v, x: v.assign(x),
        lambda v, x: v.assign_add(x),
        lambda v, x: v[0].assign(x[0]),
        lambda v, x: v.scatter_add(tf.IndexedSlices(x[:1], tf.constant([0]))),
    ],
)
def test_what_an_example_would_assign_is_refused_and_the_error_says_what_to_do(write, compiled):
    v = tf.Variable([1.0, 2.0])

    def one(x):
        write(v, x)
        return x

    def mapped(x):
        return tf.vectorized_map(one, x)

    function = tf.function(mapped, autograph=False) if compiled else mapped
    with pytest.raises((TypeError, ValueError), match=r"return what is to be assigned|outside"):
        function(tf.ones([3, 2]))
    np.testing.assert_array_equal(v.numpy(), [1.0, 2.0])
