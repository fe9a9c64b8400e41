"""Libraries written in JAX inside a tape."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import lineax
import numpy as np
import optax
import optimistix
import pytest
from flax import linen, nnx

import gradtape as tf
from gradtape.bridge import from_jax, to_jax


def close(found, expected, rtol=1e-5):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=rtol, atol=1e-7)


def both(f, *args):
    """Gradients by a tape and by JAX, in eager code and in a function."""
    bridged = from_jax(f)
    tensors = [tf.constant(a) for a in args]

    def gradients(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = bridged(*tensors)
        return tape.gradient(value, list(tensors))

    with jax.enable_x64(True):
        expected = jax.grad(f, argnums=tuple(range(len(args))))(*args)
    return gradients(*tensors), tf.function(gradients)(*tensors), expected


def decay(y0, rate):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, rate: -rate * y + jnp.sin(t)),
        diffrax.Tsit5(),
        t0=0.0,
        t1=2.0,
        dt0=0.1,
        y0=y0,
        args=rate,
        stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-10),
    )
    return solution.ys[-1].sum()


def root(a):
    solver = optimistix.Newton(rtol=1e-10, atol=1e-10)
    return optimistix.root_find(lambda y, a: y**3 + y - a, solver, jnp.ones_like(a), a).value.sum()


def linear(matrix, vector):
    return lineax.linear_solve(lineax.MatrixLinearOperator(matrix), vector).value.sum()


MATRIX = np.eye(3) * 3 + np.arange(9.0).reshape(3, 3) / 10
CASES = {
    "diffrax": (decay, [np.array([1.0, 2.0]), np.array([0.5, 1.5])]),
    "optimistix": (root, [np.array([1.0, 5.0])]),
    "lineax": (linear, [MATRIX, np.array([1.0, 2.0, 3.0])]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_through_a_solver(name):
    f, args = CASES[name]
    eager, compiled, expected = both(f, *args)
    for one, other, true in zip(eager, compiled, expected, strict=True):
        close(one, true, rtol=1e-6)
        close(other, true, rtol=1e-6)


def test_an_equation_is_fitted_with_a_variable():
    rate, y0 = tf.Variable(0.3, dtype=tf.float64), tf.constant([1.0], tf.float64)
    solve = from_jax(decay)
    target = solve(y0, tf.constant(1.2, tf.float64))
    for _ in range(8):  # Newton's method, with a second derivative through the solver's steps
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                off = solve(y0, rate) - target
            slope = tape.gradient(off, rate)
        del outer
        rate.assign_sub(off / slope)
    close(rate, 1.2, rtol=1e-8)


def test_a_module_of_equinox_with_variables_for_arrays():
    model = eqx.nn.MLP(2, 1, 8, 1, key=jax.random.key(0))
    arrays, rest = eqx.partition(model, eqx.is_array)
    trained = jax.tree.map(lambda a: tf.Variable(np.asarray(a)), arrays)
    apply = from_jax(lambda a, x: jax.vmap(eqx.combine(a, rest))(x))
    x = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    sources = jax.tree.leaves(trained)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(apply(trained, x) ** 2)
    expected = eqx.filter_grad(lambda m: (jax.vmap(m)(x) ** 2).mean())(model)
    for found, true in zip(tape.gradient(loss, sources), jax.tree.leaves(expected), strict=True):
        close(found, true)


def test_a_module_of_linen_beside_a_keras_layer():
    dense = tf.keras.layers.Dense(4, "tanh")
    x = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    module = linen.Dense(1)
    params = module.init(jax.random.key(0), np.zeros((1, 4), np.float32))
    trained = jax.tree.map(lambda a: tf.Variable(np.asarray(a)), params)
    apply = from_jax(module.apply)
    optimizer = tf.keras.optimizers.Adam(0.05)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((apply(trained, dense(x)) - x[:, :1]) ** 2)
        sources = [*dense.trainable_variables, *jax.tree.leaves(trained)]
        optimizer.apply_gradients(zip(tape.gradient(loss, sources), sources, strict=True))
        return loss

    dense.build((None, 3))
    optimizer.build([*dense.trainable_variables, *jax.tree.leaves(trained)])
    first = step().numpy()
    for _ in range(100):
        last = step().numpy()
    assert last < first / 10


def test_a_module_of_nnx():
    graph, state = nnx.split(nnx.Linear(3, 2, rngs=nnx.Rngs(0)))
    trained = jax.tree.map(lambda a: tf.Variable(np.asarray(a)), nnx.to_pure_dict(state))
    apply = from_jax(lambda s, x: nnx.merge(graph, _state(state, s))(x))
    x = np.ones((4, 3), np.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(apply(trained, x))
    found = tape.gradient(loss, [trained["bias"], trained["kernel"]])
    close(found[0], [4, 4])
    close(found[1], np.full((3, 2), 4.0))


def _state(like, values):
    state = jax.tree.map(lambda leaf: leaf, like)
    nnx.replace_by_pure_dict(state, values)
    return state


def test_optax_steps_in_a_tape_and_around_a_gradtape_loss():
    x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    target = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    w = tf.Variable(tf.zeros([3, 1]))
    loss = to_jax(lambda: tf.reduce_mean((x @ w - target) ** 2), variables={"w": w})
    optimizer = optax.adam(0.1)
    values = {"w": jnp.zeros((3, 1))}
    state = optimizer.init(values)

    @jax.jit
    def step(values, state):
        gradient = jax.grad(loss)(values)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(values, updates), state

    for _ in range(150):
        values, state = step(values, state)
    close(values["w"], [[1], [-2], [0.5]], rtol=0.02)
    # An unrolled step as part of what is differentiated: by the learning rate.
    rate = tf.Variable(0.1)

    def after(rate, w):
        gradient = jax.grad(loss)({"w": w})["w"]
        return loss({"w": w - rate * gradient})

    with tf.GradientTape() as tape:
        value = from_jax(after)(rate, w)
    slope = tape.gradient(value, rate)
    expected = jax.grad(after)(0.1, jnp.zeros((3, 1)))
    close(slope, expected, rtol=1e-4)
