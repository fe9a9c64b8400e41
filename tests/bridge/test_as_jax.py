"""`bridge.to_jax`: a gradtape function is a JAX function."""

from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf
from gradtape.bridge import from_jax, to_jax

Pair = namedtuple("Pair", "first second")


def close(found, expected, rtol=1e-5):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-6)


X, Y = (np.random.default_rng(i).uniform(0.5, 2.0, 3).astype(np.float32) for i in (0, 1))
ROWS = np.random.default_rng(2).uniform(0.5, 2.0, (4, 3)).astype(np.float32)


def in_gradtape(x, y):
    return tf.sin(x) * y**2 + tf.reduce_sum(x) / y


def in_jax(x, y):
    return jnp.sin(x) * y**2 + x.sum() / y


def total(f):
    return lambda x, y: f(x, y).sum()


WAYS = {
    "value": lambda f: f(X, Y),
    "jit": lambda f: jax.jit(f)(X, Y),
    "grad": lambda f: jax.grad(total(f), (0, 1))(X, Y),
    "jit of grad": lambda f: jax.jit(jax.grad(total(f), (0, 1)))(X, Y),
    "grad of jit": lambda f: jax.grad(jax.jit(total(f)))(X, Y),
    "jvp": lambda f: jax.jvp(f, (X, Y), (Y, X)),
    "jvp along one": lambda f: jax.jvp(lambda x: f(x, Y), (X,), (Y,)),
    "linearize": lambda f: jax.linearize(f, X, Y)[1](Y, X),
    "vjp": lambda f: jax.vjp(f, X, Y)[1](Y),
    "jacfwd": lambda f: jax.jacfwd(f)(X, Y),
    "jacrev": lambda f: jax.jacrev(f, (0, 1))(X, Y),
    "hessian": lambda f: jax.hessian(total(f), (0, 1))(X, Y),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(total(f)))(X, Y),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(total(f)))(X, Y),
    "third": lambda f: jax.jacfwd(jax.jacrev(jax.jacfwd(total(f))))(X, Y),
    "vmap": lambda f: jax.vmap(f, (0, None))(ROWS, Y),
    "vmap along another axis": lambda f: jax.vmap(f, (1, None), 1)(ROWS.T, Y),
    "vmap of grad": lambda f: jax.vmap(jax.grad(total(f), (0, 1)), (0, None))(ROWS, Y),
    "vmap of hessian": lambda f: jax.vmap(jax.hessian(total(f)), (0, None))(ROWS, Y),
    "grad of vmap": lambda f: jax.grad(
        lambda y: jax.vmap(f, (0, None))(ROWS, y).sum()
    )(Y),
    "nested vmap": lambda f: jax.vmap(lambda a: jax.vmap(lambda b: f(a, b))(ROWS))(ROWS),
    "vmap of jvp": lambda f: jax.vmap(lambda t: jax.jvp(f, (X, Y), (t, t)))(ROWS),
    "scan": lambda f: jax.lax.scan(lambda c, row: (f(c, row) / 9, c), X, ROWS),
    "grad of scan": lambda f: jax.grad(
        lambda x: jax.lax.scan(lambda c, row: (f(c, row) / 9, c), x, ROWS)[0].sum()
    )(X),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(total(f)))(X, Y),
    "there and back": lambda f: jax.grad(
        lambda x: to_jax(from_jax(f))(x, Y).sum()
    )(X),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_jax_makes_of_a_function(way):
    close(WAYS[way](to_jax(in_gradtape)), WAYS[way](in_jax))


def test_structures_static_arguments_and_other_results():
    f = to_jax(
        lambda d, pair, name, *, power: Pair(
            {"a": d["x"] ** power + tf.cast(pair.first, tf.float32), "n": None},
            [tf.argmax(d["x"], output_type=tf.int32), 1.5 if name == "one" else 2.5],
        ),
        static_argnames="power",
    )
    found = f({"x": X}, Pair(3, None), "one", power=2)
    assert type(found) is Pair
    assert found.first["n"] is None
    close(found.first["a"], X**2 + 3)
    assert found.second[0] == X.argmax()
    assert found.second[0].dtype == jnp.int32
    assert found.second[1] == 1.5
    assert f({"x": X}, Pair(3, None), "two", power=2).second[1] == 2.5
    gradient = jax.grad(lambda x: f({"x": x}, Pair(3, None), "one", power=3).first["a"].sum())(X)
    close(gradient, 3 * X**2)
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs"):
        jax.grad(lambda n: f({"x": X}, Pair(n, None), "one", power=3).first["a"].sum())(3)


def test_variables_are_constants_with_their_present_values():
    v = tf.Variable(2.0)
    f = to_jax(lambda x: x * v)
    assert f(3.0) == 6
    v.assign(5.0)
    assert f(3.0) == 15
    assert jax.grad(f)(3.0) == 5
    compiled = jax.jit(f)
    assert compiled(3.0) == 15
    v.assign(7.0)
    assert compiled(3.0) == 15  # as with everything that JAX closes over


def test_variables_as_arguments():
    w, b = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([0.5, 0.5])
    unused, own = tf.Variable(1.0), tf.Variable(10.0)
    f = to_jax(
        lambda x: tf.reduce_sum(tf.tanh(x @ w + b) * own),
        variables={"w": w, "b": b, "unused": unused},
    )
    values = {"w": jnp.eye(2), "b": jnp.zeros(2), "unused": 0.0}
    g = lambda p, x: (jnp.tanh(x @ p["w"] + p["b"]) * 10).sum()
    close(jax.value_and_grad(f)(values, ROWS[:, :2]), jax.value_and_grad(g)(values, ROWS[:, :2]))
    assert w.numpy().tolist() == [[1, 2], [3, 4]]


def test_a_keras_model():
    model = tf.keras.Sequential([tf.keras.layers.Dense(4, "tanh"), tf.keras.layers.Dense(1)])
    model.build((None, 3))
    f = to_jax(lambda x: tf.reduce_mean(model(x) ** 2), variables=model.trainable_variables)
    values = [jnp.asarray(v.numpy()) for v in model.trainable_variables]
    found = jax.jit(jax.grad(f))(values, ROWS)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(ROWS) ** 2)
    close(found, [g.numpy() for g in tape.gradient(loss, model.trainable_variables)])


def test_gradtapes_own_derivatives_are_used():
    @tf.custom_gradient
    def clipped(x):
        return x * 2, lambda g: tf.clip_by_value(g * 100, -50.0, 50.0)

    f = to_jax(clipped)
    assert jax.grad(f)(1.0) == 50
    assert jax.jit(jax.vmap(jax.grad(f)))(X).tolist() == [50] * 3
    masked = to_jax(lambda x: tf.where(x > 0, tf.sqrt(x), 0.0))
    assert jax.grad(masked)(0.0) == 0  # strong zeros


def test_control_flow():
    def f(x):
        total = tf.constant(0.0)
        for i in tf.range(3):
            if total > 1.0:
                total += x * tf.cast(i, tf.float32)
            else:
                total += x
        return total

    def g(x):
        step = lambda i, t: t + x * jnp.where(t > 1, i, 1)
        return jax.lax.fori_loop(0, 3, step, 0.0)

    close(to_jax(f)(0.9), g(0.9))
    close(jax.jit(jax.grad(to_jax(f)))(0.9), jax.jacfwd(g)(0.9))


def test_functions_that_run_on_the_host():
    f = to_jax(lambda x: tf.math.special.bessel_j0(x))
    x = jnp.float32(1.5)
    close(jax.jit(jax.grad(f))(x), -tf.math.special.bessel_j1(1.5).numpy())


@pytest.mark.parametrize("wide", [False, True])
def test_dtypes(wide):
    with jax.enable_x64(wide):
        v = tf.Variable(2.0, dtype=tf.float64)
        f = to_jax(lambda x: tf.cast(tf.cast(x, tf.float64) * v, tf.float64))
        x = jnp.asarray(3.0)
        expected = jnp.float64 if wide else jnp.float32
        assert x.dtype == expected
        for g in (f, jax.jit(f), jax.grad(f), jax.jit(jax.grad(f))):
            assert g(x).dtype == expected
        assert (f(x), jax.grad(f)(x), jax.jit(jax.vmap(jax.grad(f)))(x[None])[0]) == (6, 2, 2)
        assert to_jax(lambda x: tf.argmax(x))(X).dtype == (jnp.int64 if wide else jnp.int32)
        assert to_jax(lambda x: x)(jnp.bfloat16(1)).dtype == jnp.bfloat16


def test_complex_gradients_are_jaxs():
    f, g = to_jax(lambda z: tf.abs(z * z + 1j) ** 2), lambda z: jnp.abs(z * z + 1j) ** 2
    z = jnp.complex64(1 + 2j)
    close(jax.grad(f)(z), jax.grad(g)(z))
    h, k = to_jax(lambda z: tf.exp(z) * tf.math.conj(z)), lambda z: jnp.exp(z) * z.conj()
    close(jax.vjp(h, z)[1](z), jax.vjp(k, z)[1](z))
    close(jax.jvp(h, (z,), (z,)), jax.jvp(k, (z,), (z,)))
    close(jax.grad(lambda z: jnp.abs(jax.vjp(h, z)[1](z)[0]))(z),
          jax.grad(lambda z: jnp.abs(jax.vjp(k, z)[1](z)[0]))(z))  # fmt: skip


def test_the_python_runs_once_for_each_signature():
    traces = []

    def f(x):
        traces.append(x.shape)
        return x * x

    g = to_jax(f)
    for _ in range(2):
        jax.grad(lambda x: g(x).sum())(X)
        jax.jit(jax.hessian(lambda x: g(x).sum()))(X)
        g(ROWS)
    assert traces == [(3,), (4, 3)]


def test_inside_a_tape():
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = from_jax(jax.grad(total(to_jax(in_gradtape))))(x, Y)
    expected = jax.grad(lambda x: jax.grad(total(in_jax))(x, Y).sum())(X)
    close(tape.gradient(y, x).numpy(), expected)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: to_jax(3), TypeError, "f must be a function, got 3"),
        (lambda: to_jax(lambda x: x)({1}), TypeError, "argument 'x' is a set, which is neither"),
        (lambda: to_jax(lambda x: x)(jax.random.key(0)), TypeError, "'x' is a key of JAX's"),
        (
            lambda: to_jax(lambda: tf.Variable(1.0, name="v").assign(2.0))(),
            ValueError,
            "assigns the variable 'v:0', which a JAX function cannot",
        ),
        (lambda: to_jax(lambda: tf.random.normal([2]))(), ValueError, "draws random numbers"),
        (
            lambda: to_jax(lambda x: x, variables=[tf.Variable(1.0)])(),
            TypeError,
            "the values of its variables are missing",
        ),
        (
            lambda: to_jax(lambda x: x, variables=[tf.Variable(1.0)])({"a": 1.0}, 1.0),
            ValueError,
            "must have the structure of `variables`",
        ),
        (
            lambda: to_jax(lambda x: x, variables=[tf.Variable(1.0)])([X], 1.0),
            ValueError,
            r"must have shape \(\) and dtype float32, got \(3,\)",
        ),
        (
            lambda: to_jax(lambda x: x, variables=[1.0])([X], 1.0),
            TypeError,
            "variables must be Variables, got 1.0",
        ),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call()
