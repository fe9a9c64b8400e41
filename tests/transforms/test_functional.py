"""`grad`, `value_and_grad`, `vjp`, `jvp`, `hvp`, `hessian`,
`diag_hessian` and `laplacian` against tapes and NumPy.
"""

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
    value, (by_weights, by_scale) = tf.value_and_grad(f, argnums=(0, 2))(
        weights, tf.constant(x), tf.constant(2.0, tf.float64)
    )
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
        np.sum(c.numpy() * t.numpy())
        for c, t in zip(tf.nest.flatten(cotangent), tf.nest.flatten(tangent), strict=True)
    )
    np.testing.assert_allclose(
        forward, np.sum(ga.numpy() * ta.numpy()) + np.sum(gb.numpy() * tb.numpy())
    )


def test_the_gradient_of_what_has_no_path_is_zeros():
    assert tf.grad(lambda x: tf.constant(1.0))(tf.constant([1.0, 2.0])).numpy().tolist() == [
        0.0,
        0.0,
    ]
    assert tf.jvp(lambda x: tf.constant(1.0), [1.0], [1.0])[1].numpy() == 0.0
    assert tf.hvp(
        lambda x: tf.reduce_sum(x), tf.constant([1.0]), tf.constant([1.0])
    ).numpy().tolist() == [0.0]


def test_they_are_differentiable_and_batch():
    x = tf.constant(rng.standard_normal((5, 3)))
    batched = tf.vmap(tf.hessian(energy))(x)
    for i in range(5):
        np.testing.assert_allclose(batched[i], tf.hessian(energy)(x[i]))
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.vmap(tf.laplacian(lambda r: tf.reduce_sum(r**4)))(x))
    np.testing.assert_allclose(tape.gradient(total, x), 24 * x.numpy())


def model(weights, x, scale=1.0):
    return tf.reduce_sum(tf.tanh(tf.gather(x, [0, 2]) @ weights["w"] + weights["b"]) ** 3) * scale


def flat_hessian(weights, x, scale):
    """The Hessian of `model` by all weights in one vector, from nested tapes."""
    flat = tf.constant(np.concatenate([weights["b"].numpy().ravel(), weights["w"].numpy().ravel()]))
    with tf.GradientTape() as outer:
        outer.watch(flat)
        with tf.GradientTape() as inner:
            inner.watch(flat)
            value = model({"w": tf.reshape(flat[2:], [3, 2]), "b": flat[:2]}, x, scale)
        gradient = inner.gradient(value, flat)
    return outer.jacobian(gradient, flat).numpy()


def test_hessians_of_structures_come_in_blocks():
    weights = {
        "w": tf.Variable(rng.standard_normal((3, 2))),
        "b": tf.constant(rng.standard_normal(2)),
    }
    x = tf.constant(rng.standard_normal((4, 3)))
    expected = flat_hessian(weights, x, 2.0)
    blocks = tf.hessian(model)(weights, x, scale=2.0)
    assert blocks["w"]["b"].shape == (3, 2, 2)
    np.testing.assert_allclose(blocks["b"]["b"], expected[:2, :2], atol=1e-12)
    np.testing.assert_allclose(np.reshape(blocks["b"]["w"], (2, 6)), expected[:2, 2:], atol=1e-12)
    np.testing.assert_allclose(np.reshape(blocks["w"]["b"], (6, 2)), expected[2:, :2], atol=1e-12)
    np.testing.assert_allclose(np.reshape(blocks["w"]["w"], (6, 6)), expected[2:, 2:], atol=1e-12)
    diagonal = tf.diag_hessian(model)(weights, x, scale=2.0)
    np.testing.assert_allclose(np.ravel(diagonal["w"]), np.diag(expected)[2:], atol=1e-12)
    np.testing.assert_allclose(diagonal["b"], np.diag(expected)[:2], atol=1e-12)
    np.testing.assert_allclose(
        tf.laplacian(model)(weights, x, scale=2.0), np.trace(expected), atol=1e-12
    )


def test_hessians_by_several_arguments():
    f = lambda a, b, c: tf.reduce_sum(a * a * b) * c
    a, b = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    (aa, ac), (ca, cc) = tf.hessian(f, argnums=(0, 2))(a, b, 5.0)
    assert aa.numpy().tolist() == [[30.0, 0.0], [0.0, 40.0]]
    assert ac.numpy().tolist() == ca.numpy().tolist() == [6.0, 16.0]
    assert cc.numpy() == 0.0
    assert [d.numpy().tolist() for d in tf.diag_hessian(f, argnums=(0, 2))(a, b, 5.0)] == [
        [30.0, 40.0],
        0.0,
    ]
    assert tf.laplacian(f, argnums=(0, 2))(a, b, 5.0).numpy() == 70.0


def test_hessian_products_of_structures():
    weights = {
        "w": tf.Variable(rng.standard_normal((3, 2))),
        "b": tf.constant(rng.standard_normal(2)),
    }
    x = tf.constant(rng.standard_normal((4, 3)))
    along = {
        "w": tf.constant(rng.standard_normal((3, 2))),
        "b": tf.constant(rng.standard_normal(2)),
    }
    found = tf.hvp(lambda weights: model(weights, x), weights, along)
    expected = flat_hessian(weights, x, 1.0) @ np.concatenate(
        [along["b"].numpy(), along["w"].numpy().ravel()]
    )
    np.testing.assert_allclose(np.concatenate([found["b"], np.ravel(found["w"])]), expected)


def test_second_derivatives_by_rows_of_a_table():
    table = tf.Variable(rng.standard_normal((4, 2)))
    f = lambda table: tf.reduce_sum(tf.gather(table, [1, 1, 3]) ** 3)
    expected = np.zeros(8)
    expected[[2, 3]], expected[[6, 7]] = 12 * table.numpy()[1], 6 * table.numpy()[3]
    np.testing.assert_allclose(np.reshape(tf.hessian(f)(table), (8, 8)), np.diag(expected))
    np.testing.assert_allclose(np.ravel(tf.diag_hessian(f)(table)), expected)
    np.testing.assert_allclose(np.ravel(tf.hvp(f, table, tf.ones([4, 2], tf.float64))), expected)


def test_second_derivatives_that_are_zero():
    x = tf.constant([1.0, 2.0])
    assert tf.hessian(lambda x: tf.reduce_sum(x))(x).numpy().tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert tf.diag_hessian(lambda x: tf.reduce_sum(x))(x).numpy().tolist() == [0.0, 0.0]
    assert tf.laplacian(lambda x: tf.constant(1.0))(x).numpy() == 0.0
    assert tf.diag_hessian(lambda x: tf.reduce_sum(x**2))(tf.zeros([0, 3])).shape == (0, 3)


def test_a_hessian_within_a_limit():
    x = tf.constant(rng.standard_normal(20))
    np.testing.assert_allclose(tf.hessian(energy, memory_limit=1)(x), tf.hessian(energy)(x))
    np.testing.assert_allclose(
        tf.diag_hessian(energy, memory_limit=1)(x), tf.diag_hessian(energy)(x)
    )


def test_hessians_of_a_function():
    x, y = tf.constant([1.0, 2.0]), tf.Variable([[3.0]])
    by_x, by_y = tf.hessians(lambda x, y: [x**3, y * y * x], [x, y])
    assert by_x.numpy().tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert by_y.numpy().tolist() == [[[[6.0]]]]
    assert tf.hessians(lambda x: x**3, x)[0].numpy().tolist() == [[6.0, 0.0], [0.0, 12.0]]
    with pytest.raises(RuntimeError, match="pass a function of xs"):
        tf.hessians(x * x, x)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.grad(3), TypeError),
        (lambda: tf.hessian(energy, argnums=1)(tf.constant([1.0])), ValueError),
        (lambda: tf.hessian(energy, memory_limit=0)(tf.constant([1.0])), ValueError),
        (lambda: tf.diag_hessian(energy, memory_limit=0)(tf.constant([1.0])), ValueError),
        (lambda: tf.hessian(tf.exp)(tf.constant([1.0, 2.0])), ValueError),
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
