"""Derivatives of functions that assign Variables or draw random numbers: of second order,
and of many rows at once.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf


class Model:
    def __init__(self):
        self.v, self.u = tf.Variable(2.0), tf.Variable(3.0)
        self.m = tf.Variable(0.5, trainable=False)
        self.w = tf.Variable([1.0, 2.0])

    def sources(self, x):
        return [x, self.v, self.u, self.w]

    def assign_argument(self, x):
        self.v.assign(x)
        return self.v * x * x

    def assign_constant(self, x):
        self.v.assign(3.0)
        return self.v * x * x

    def assign_add(self, x):
        self.v.assign_add(x)
        return self.v * x

    def assign_itself(self, x):
        self.v.assign(self.v * x)
        return self.v * x

    def assign_another(self, x):
        self.v.assign(self.u * x)
        return self.u * x * x * self.v

    def assign_twice(self, x):
        self.v.assign(x)
        y = self.v * x
        self.v.assign(y * x)
        return self.v * x * x + y

    def moving_average(self, x):
        self.m.assign(0.9 * self.m + 0.1 * x)
        return (x / self.m) ** 2

    def scatter(self, x):
        self.w.scatter_nd_update([[0]], tf.reshape(x, [1]))
        return tf.reduce_sum(self.w * self.w) * x

    def in_a_branch(self, x):
        if x > 0.0:
            self.v.assign(x * 2.0)
        return self.v * x * x

    def in_a_loop(self, x):
        for _ in tf.range(2):
            self.v.assign(self.v * x)
        return self.v * x


BODIES = [name for name in vars(Model) if not name.startswith("_") and name != "sources"]


def in_a_function(body):
    inner = tf.function(body)
    return tf.function(lambda x: inner(x) * 1.0)


def in_a_branch(body):
    inner = tf.function(body)
    return tf.function(lambda x: tf.cond(x > 0.0, lambda: inner(x) * 1.0, lambda: x))


FORMS = {"compiled": tf.function, "in a function": in_a_function, "in a branch": in_a_branch}


def numbers(tensors):
    return [0.0 if t is None else float(tf.reduce_sum(t)) for t in tensors]


def reverse_over_reverse(f, model, x):
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = [g for g in inner.gradient(y, model.sources(x)) if g is not None]
        total = tf.add_n([tf.reduce_sum(g * g) for g in map(tf.convert_to_tensor, first)])
    return numbers([*first, *outer.gradient(total, model.sources(x))])


def forward_over_reverse(f, model, x):
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        first = tape.gradient(y, [x, model.v])
    return numbers([*first, *[None if g is None else accumulator.jvp(g) for g in first]])


def rows_of_gradients(f, model, x):
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = tf.stack(
            [
                tf.reduce_sum(g)
                for g in inner.gradient(y, [x, model.v], unconnected_gradients="zero")
            ]
        )
    return numbers(outer.jacobian(first, model.sources(x)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "way",
    [reverse_over_reverse, forward_over_reverse, rows_of_gradients],
    ids=lambda way: way.__name__,
)
@pytest.mark.parametrize(
    "form",
    [
        "compiled",
        *[pytest.param(form, marks=pytest.mark.slow) for form in FORMS if form != "compiled"],
    ],
)
@pytest.mark.parametrize("name", BODIES)
def test_an_assigned_variable_is_a_new_beginning(name, form, way):
    x = tf.constant(1.5)
    eager = Model()
    expected = way(getattr(eager, name), eager, x)
    model = Model()
    body = getattr(model, name)
    np.testing.assert_allclose(way(FORMS[form](body), model, x), expected, rtol=1e-5)


X = tf.constant([1.0, 2.0, 3.0])
GENERATOR = tf.random.Generator.from_seed(1)
DRAWS = {
    "uniform": lambda x: tf.random.uniform([3]) * x,
    "dropout": lambda x: tf.nn.dropout(x, 0.5),
    "generator": lambda x: GENERATOR.normal([3]) * x,
    "seed": lambda x: tf.random.normal([3], seed=3) * x,
    "twice": lambda x: tf.random.uniform([3]) * x + tf.random.normal([3]) * x,
}
CALLS = {"function": tf.function, "nested": in_a_function}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("draw", DRAWS)
def test_all_rows_of_a_jacobian_use_the_numbers_of_the_call(draw, call):
    f = CALLS[call](DRAWS[draw])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = f(X)
    factors = (y / X).numpy()
    np.testing.assert_allclose(tape.jacobian(y, X), np.diag(factors), rtol=1e-5)
    np.testing.assert_allclose(tape.gradient(y, X), factors, rtol=1e-5)
    each = tf.vectorized_map(lambda c: tape.gradient(y, X, output_gradients=c), tf.eye(3))
    np.testing.assert_allclose(each, np.diag(factors), rtol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("draw", DRAWS)
def test_hessians_and_batches_use_the_numbers_of_the_call(draw):
    f = tf.function(lambda x: DRAWS[draw](x**3))
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(X)
        with tf.GradientTape() as inner:
            inner.watch(X)
            y = f(X)
        g = inner.gradient(y, X)
    np.testing.assert_allclose(
        outer.jacobian(g, X), np.diag((6.0 * y / X**2).numpy()), rtol=1e-4, atol=1e-5
    )
    batch = tf.stack([X, X + 1.0])
    noisy = tf.function(lambda x: tf.random.uniform([2, 3]) * x)
    with tf.GradientTape() as tape:
        tape.watch(batch)
        z = noisy(batch)
    found = tape.batch_jacobian(z, batch)
    np.testing.assert_allclose(np.einsum("bii->bi", found), (z / batch).numpy(), rtol=1e-5)


def test_examples_of_a_vmap_draw_their_own_and_their_gradients_use_those():
    inner = tf.function(DRAWS["uniform"])

    def example(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x)
        return y, tape.gradient(y, x)

    batch = tf.stack([X] * 4)
    y, gradient = tf.vectorized_map(example, batch)
    assert len(np.unique(y.numpy()[:, 0])) == 4
    np.testing.assert_allclose(gradient, (y / batch).numpy(), rtol=1e-5)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(batch)
        y = tf.vectorized_map(lambda x: inner(x), batch)
    assert len(np.unique(y.numpy()[:, 0])) == 4
    np.testing.assert_allclose(tape.gradient(y, batch), (y / batch).numpy(), rtol=1e-5)
    np.testing.assert_allclose(
        np.einsum("bibi->bi", tape.jacobian(y, batch)), (y / batch).numpy(), rtol=1e-5
    )
