"""`grad`, `value_and_grad`, `vjp`, `jvp`, `hvp`, `hessian`, `diag_hessian` and `laplacian` against tapes and NumPy."""

import numpy as np
import pytest

import gradtape as tf

rng = np.random.default_rng(5)


def energy(x):
    return tf.reduce_sum(tf.exp(x) * tf.reverse(x, [0]))


def by_tapes(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = energy(x)
        g = inner.gradient(y, x)
    return g.numpy(), outer.jacobian(g, x).numpy()


def test_against_nested_tapes():
    x, v = tf.constant(rng.standard_normal(4)), tf.constant(rng.standard_normal(4))
    gradient, hessian = by_tapes(x)
    np.testing.assert_allclose(tf.grad(energy)(x), gradient)
    np.testing.assert_allclose(tf.hessian(energy)(x), hessian)
    np.testing.assert_allclose(tf.hvp(energy, x, v), hessian @ v.numpy())
    np.testing.assert_allclose(tf.diag_hessian(energy)(x), np.diag(hessian), atol=1e-12)
    np.testing.assert_allclose(tf.laplacian(energy)(x), np.trace(hessian), atol=1e-12)


def test_argnums_and_structures():
    def f(weights, x, scale):
        return tf.reduce_sum(tf.tanh(x @ weights["w"] + weights["b"])) * scale

    weights = {"w": tf.constant(rng.standard_normal((3, 2))), "b": tf.Variable(np.zeros(2))}
    x = rng.standard_normal((4, 3))
    value, (by_weights, by_scale) = tf.value_and_grad(f, argnums=(0, 2))(weights, tf.constant(x), tf.constant(2.0, tf.float64))
    slope = 1 - np.tanh(x @ weights["w"].numpy()) ** 2
    np.testing.assert_allclose(by_weights["w"], 2 * x.T @ slope)
    np.testing.assert_allclose(by_weights["b"], 2 * slope.sum(0))
    np.testing.assert_allclose(by_scale * 2, value)


def test_pushing_and_pulling_are_each_others_transposes():
    def f(a, b):
        return {"sum": tf.sin(a) @ b, "product": tf.exp(a)}

    a, b = tf.constant(rng.standard_normal((2, 3))), tf.constant(rng.standard_normal((3, 2)))
    ta, tb = tf.constant(rng.standard_normal((2, 3))), tf.constant(rng.standard_normal((3, 2)))
    value, tangent = tf.jvp(f, [a, b], [ta, tb])
    cotangent = tf.nest.map_structure(lambda v: tf.constant(rng.standard_normal(v.shape)), value)
    _, pull = tf.vjp(f, a, b)
    for _ in range(2):  # a pull can be used again
        ga, gb = pull(cotangent)
    forward = sum(
        np.sum(c.numpy() * t.numpy()) for c, t in zip(tf.nest.flatten(cotangent), tf.nest.flatten(tangent), strict=True)
    )
    np.testing.assert_allclose(forward, np.sum(ga.numpy() * ta.numpy()) + np.sum(gb.numpy() * tb.numpy()))


def test_the_gradient_of_what_has_no_path_is_zeros():
    assert tf.grad(lambda x: tf.constant(1.0))(tf.constant([1.0, 2.0])).numpy().tolist() == [0.0, 0.0]
    assert tf.jvp(lambda x: tf.constant(1.0), [1.0], [1.0])[1].numpy() == 0.0
    assert tf.hvp(lambda x: tf.reduce_sum(x), tf.constant([1.0]), tf.constant([1.0])).numpy().tolist() == [0.0]


def test_they_are_differentiable_and_batch():
    x = tf.constant(rng.standard_normal((5, 3)))
    batched = tf.vmap(tf.hessian(energy))(x)
    for i in range(5):
        np.testing.assert_allclose(batched[i], tf.hessian(energy)(x[i]))
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.vmap(tf.laplacian(lambda r: tf.reduce_sum(r**4)))(x))
    np.testing.assert_allclose(tape.gradient(total, x), 24 * x.numpy())


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.grad(3), TypeError),
        (lambda: tf.grad(lambda x: x)(tf.constant([1.0, 2.0])), ValueError),
        (lambda: tf.grad(lambda x: x, argnums=1)(1.0), ValueError),
        (lambda: tf.grad(lambda z: z)(1j), ValueError),
        (lambda: tf.jvp(lambda x: x, 1.0, 1.0), ValueError),
        (lambda: tf.jvp(lambda x, y: x, [1.0, 2.0], [1.0]), ValueError),
        (lambda: tf.vjp(lambda x: x, 1.0)[1]([1.0]), ValueError),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()
