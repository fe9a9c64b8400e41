"""Jacobians, Hessians, forward mode and higher derivatives in all the ways gradtape has for them,
against TensorFlow's own.

The models are those of `test_transforms`: dense layers, convolutions, recurrent loops, gathers,
choices, linear algebra.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow  # noqa: ICN001  # `tf` is the library that a function is given
from compare import compared, plain
from test_transforms import MODELS

import gradtape

TOLERANCE = 1e-9


def agree(ours, theirs):
    """Asserts that two lists of results are the same numbers."""
    pairs = [(plain(gradtape, a), plain(tensorflow, b)) for a, b in zip(ours, theirs, strict=True)]
    found = [line for a, b in pairs for line in compared(a, b, TOLERANCE)]
    assert not found, "\n".join(found)


def arrays(name, seed=3):
    _, *shapes = MODELS[name]
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.0, 1.0, shape) for shape in shapes]


def tensors(tf, values):
    return [tf.constant(value) for value in values]


# Jacobians


def jacobian(tf, name, **options):
    inputs = tensors(tf, arrays(name))
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        out = MODELS[name][0](tf, *inputs)
    return tape.jacobian(out, inputs, **options)


WAYS = {
    "auto": {},
    "forward": {"mode": "forward"},
    "reverse": {"mode": "reverse"},
    "in small chunks": {"mode": "reverse", "memory_limit": 2000},
    "three at a time": {"parallel_iterations": 3},
    "one by one": {"experimental_use_pfor": False},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MODELS)
def test_jacobian(name, way):
    agree(jacobian(gradtape, name, **WAYS[way]), jacobian(tensorflow, name))


@pytest.mark.parametrize("shape", [(), (2,), (2, 1, 3)])
def test_shapes(shape):
    """Targets and sources of every rank, by each other."""

    def run(tf):
        x, y = tensors(tf, [np.full(shape, 0.5), np.array([0.3, 0.7])])
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            out = tf.reshape(tf.sin(tf.reduce_sum(x * x) * y), [2, 1])
        return tape.jacobian(out, [x, y])

    agree(run(gradtape), run(tensorflow))


def test_structures_and_missing_paths():
    def run(tf, unconnected):
        x, y, z = tensors(tf, [np.array([0.3, 0.7]), np.array(0.5), np.array([1.0])])
        with tf.GradientTape() as tape:
            tape.watch([x, y, z])
            out = tf.exp(x * y)
        found = tape.jacobian(out, {"x": x, "more": [y, z]}, unconnected_gradients=unconnected)
        return [found["x"], *found["more"]]

    for library_argument in ("none", "zero"):
        agree(run(gradtape, library_argument), run(tensorflow, library_argument))


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("name", MODELS)
def test_batch_jacobian(name, mode):
    def run(tf, **options):
        x, w, b = tensors(tf, arrays(name))
        with tf.GradientTape() as tape:
            tape.watch(x)
            out = MODELS[name][0](tf, x, w, b)
        return [tape.batch_jacobian(out, x, **options)]

    agree(run(gradtape, mode=mode), run(tensorflow))


@pytest.mark.parametrize("name", MODELS)
def test_forward_accumulators_give_the_columns(name):
    """Each column of the Jacobian by x, from TensorFlow's forward mode."""
    x, w, b = arrays(name)
    model = MODELS[name][0]
    columns = []
    for i in range(x.size):
        tangent = np.zeros(x.size)
        tangent[i] = 1.0
        primal = tensorflow.constant(x)
        with tensorflow.autodiff.ForwardAccumulator(
            primal, tensorflow.constant(tangent.reshape(x.shape))
        ) as accumulator:
            out = model(tensorflow, primal, tensorflow.constant(w), tensorflow.constant(b))
        columns.append(accumulator.jvp(out))
    source = gradtape.constant(x)
    with gradtape.GradientTape() as tape:
        tape.watch(source)
        out = model(gradtape, source, gradtape.constant(w), gradtape.constant(b))
    found = tape.jacobian(out, source, mode="forward")
    agree([gradtape.reshape(found, [*out.shape, x.size])], [tensorflow.stack(columns, axis=-1)])


def stencil(tf, x):
    """A nonlinear operator on a grid: each value depends on its neighbours."""
    near = tf.pad(x, [[1, 1]])
    flow = tf.where(x > 0.0, x * near[2:], tf.roll(x, 1, 0) ** 2)
    return near[:-2] - 2.0 * x + tf.exp(near[2:]) + flow


def test_sparse_jacobian():
    values = np.random.default_rng(1).uniform(-1.0, 1.0, 30)
    x = gradtape.constant(values)
    with gradtape.GradientTape() as tape:
        tape.watch(x)
        out = stencil(gradtape, x)
    found = tape.jacobian(out, x, sparse=True)
    source = tensorflow.constant(values)
    with tensorflow.GradientTape() as tape:
        tape.watch(source)
        out = stencil(tensorflow, source)
    assert found.nnz < 200
    np.testing.assert_allclose(
        found.toarray(), tape.jacobian(out, source).numpy(), rtol=1e-9, atol=1e-12
    )


# Hessians


def hessians(tf, name, **options):
    """All blocks of second derivatives of the sum of squares: the Jacobian of a gradient."""
    inputs = tensors(tf, arrays(name))
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(inputs)
        with tf.GradientTape() as inner:
            inner.watch(inputs)
            total = tf.reduce_sum(MODELS[name][0](tf, *inputs) ** 2)
        gradients = [tf.convert_to_tensor(gradient) for gradient in inner.gradient(total, inputs)]
    return [
        block for gradient in gradients for block in outer.jacobian(gradient, inputs, **options)
    ]


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("name", MODELS)
def test_hessians(name, mode):
    agree(hessians(gradtape, name, mode=mode), hessians(tensorflow, name))


@pytest.mark.parametrize("name", MODELS)
def test_hessian_as_a_function(name):
    """`gradtape.hessian` by x alone."""
    model, (x, w, b) = MODELS[name][0], arrays(name)
    fixed = [gradtape.constant(value) for value in (w, b)]
    ours = gradtape.hessian(lambda x: gradtape.reduce_sum(model(gradtape, x, *fixed) ** 2))(
        gradtape.constant(x)
    )
    agree([ours], [hessians(tensorflow, name)[0]])


# Partial derivatives of a batch by its coordinates

ACTIVATIONS = {
    "tanh": lambda tf: tf.tanh,
    "sin": lambda tf: tf.sin,
    "sigmoid": lambda tf: tf.sigmoid,
    "softplus": lambda tf: tf.nn.softplus,
    "swish": lambda tf: tf.nn.silu,
    "gaussian": lambda tf: lambda z: tf.exp(-z * z),
    "rational": lambda tf: lambda z: z / (1.0 + tf.abs(z) ** 3),
    "softmax": lambda tf: tf.nn.softmax,
    "elu": lambda tf: tf.nn.elu,
}
WEIGHTS = [
    np.random.default_rng(2).standard_normal(shape) / 2
    for shape in ((2, 6), (6,), (6, 6), (6,), (6, 1))
]
POINTS = np.random.default_rng(4).uniform(-1.0, 1.0, (5, 2))


def network(tf, x, t, weights, activation):
    w1, b1, w2, b2, w3 = weights
    h = activation(tf.matmul(tf.concat([x, t], 1), w1) + b1)
    return tf.matmul(activation(tf.matmul(h, w2) + b2), w3)


def nested(tf, names, u_of, sources):
    """A partial derivative by tapes in tapes."""
    if not names:
        return u_of(*sources.values())
    source = sources[names[-1]]
    with tf.GradientTape() as tape:
        tape.watch(source)
        lower = nested(tf, names[:-1], u_of, sources)
    return tape.gradient(lower, source)


def columns(tf):
    return {"x": tf.constant(POINTS[:, :1]), "t": tf.constant(POINTS[:, 1:])}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_derivatives(activation):
    names = ["x", "t", "xx", "xt", "tt", "xxx", "xxt"]
    sources = columns(gradtape)
    weights = tensors(gradtape, WEIGHTS)
    with gradtape.GradientTape() as tape:
        tape.watch(list(sources.values()))
        u = network(gradtape, *sources.values(), weights, ACTIVATIONS[activation](gradtape))
    found = tape.derivatives(u, sources, names)
    theirs = tensors(tensorflow, WEIGHTS)
    u_of = lambda x, t: network(tensorflow, x, t, theirs, ACTIVATIONS[activation](tensorflow))
    agree(
        [found[name] for name in names],
        [nested(tensorflow, name, u_of, columns(tensorflow)) for name in names],
    )


@pytest.mark.parametrize("activation", ["tanh", "sin", "swish", "softplus"])
def test_training_on_an_equation(activation):
    """The gradient by the weights of what a network misses Burgers' equation by."""

    def residual(tf, u, u_x, u_t, u_xx):
        return tf.reduce_mean(tf.square(u_t + u * u_x - 0.1 * u_xx))

    weights, sources = [gradtape.Variable(weight) for weight in WEIGHTS], columns(gradtape)
    with gradtape.GradientTape() as outer:
        with gradtape.GradientTape() as tape:
            tape.watch(list(sources.values()))
            u = network(gradtape, *sources.values(), weights, ACTIVATIONS[activation](gradtape))
        found = tape.derivatives(u, sources, ["x", "t", "xx"])
        loss = residual(gradtape, u, found["x"], found["t"], found["xx"])
    ours = [loss, *outer.gradient(loss, weights)]

    weights, sources = [tensorflow.Variable(weight) for weight in WEIGHTS], columns(tensorflow)
    u_of = lambda x, t: network(tensorflow, x, t, weights, ACTIVATIONS[activation](tensorflow))
    with tensorflow.GradientTape() as outer:
        loss = residual(
            tensorflow, *[nested(tensorflow, name, u_of, sources) for name in ("", "x", "t", "xx")]
        )
    agree(ours, [loss, *outer.gradient(loss, weights)])
