"""`GradientTape.derivatives` against nested tapes, finite differences and mathematics."""

import gc
import itertools
import logging
import math

import numpy as np
import pytest

import gradtape as tf
from gradtape.transforms.taylor_mode import derivatives as taylor
from tests.ops import checks
from tests.ops.table import all_cases

rng = np.random.default_rng(3)

ORDERS = ["x", "t", "xx", "xt", "tt", "xxx", "xtt", "xxxx", "xxtt"]


def points(count=4, dtype=np.float64):
    """A source of one column: away from zero, where some functions below have no derivative."""
    return tf.constant(rng.uniform(0.3, 0.9, (count, 1)).astype(dtype))


def nested(f, sources, names):
    """A partial derivative of the sum of f's result, tape in tape,
    with zeros where there is none.
    """
    if not names:
        return f(*sources.values())
    with tf.GradientTape() as tape:
        tape.watch(sources[names[-1]])
        lower = nested(f, sources, names[:-1])
    return tape.gradient(lower, sources[names[-1]], unconnected_gradients="zero")


def swept(f, sources, partials, **options):
    with tf.GradientTape() as tape:
        tape.watch(list(sources.values()))
        u = f(*sources.values())
    return tape.derivatives(u, sources, partials, **options)


def check(f, sources=None, partials=ORDERS, rtol=1e-9, atol=1e-9):
    sources = sources or {"x": points(), "t": points()}
    found = swept(f, sources, partials, unconnected_gradients="zero")
    for name, partial in found.items():
        expected = nested(f, sources, name)
        assert partial.shape == expected.shape
        np.testing.assert_allclose(
            partial.numpy(), expected.numpy(), rtol=rtol, atol=atol, err_msg=str(name)
        )


@pytest.fixture
def no_walks(monkeypatch):
    """Fails a test whose derivatives do not come from the sweep."""

    def refuse(*args):
        pytest.fail("an op had no rule")

    monkeypatch.setattr(taylor, "_walked", refuse)


WEIGHTS = tf.constant(rng.standard_normal((2, 5)))
SECOND = tf.constant(rng.standard_normal((5, 5)))
LAST = tf.constant(rng.standard_normal((5, 1)))
ROW = tf.constant(rng.standard_normal(5))


def layers(activation):
    """A network of two inputs and one output."""

    def network(x, t):
        h = activation(tf.concat([x, t], 1) @ WEIGHTS + ROW)
        return activation(h @ SECOND + ROW) @ LAST

    return network


SMOOTH = {
    "tanh": tf.tanh,
    "sin": tf.sin,
    "cos": tf.cos,
    "exp": lambda z: tf.exp(0.3 * z),
    "sigmoid": tf.sigmoid,
    "softplus": tf.nn.softplus,
    "swish": tf.nn.silu,
    "gelu": tf.nn.gelu,
    "square": tf.square,
    "cube": lambda z: z**3,
    "log": lambda z: tf.math.log(z * z + 1.0),
    "sqrt": lambda z: tf.sqrt(z * z + 1.0),
    "power": lambda z: (z * z + 1.0) ** 0.7,
    "reciprocal": lambda z: tf.math.reciprocal(z * z + 1.0),
    "divide": lambda z: z / (z * z + 2.0),
    "erf": tf.math.erf,
    "atan": tf.atan,
    "softmax": tf.nn.softmax,
    "log_softmax": tf.nn.log_softmax,
    "logsumexp": lambda z: z - tf.reduce_logsumexp(z, axis=1, keepdims=True),
    "layer norm": lambda z: (
        (z - tf.reduce_mean(z, 1, True)) * tf.math.rsqrt(tf.math.reduce_variance(z, 1, True) + 0.1)
    ),
}


@pytest.mark.usefixtures("no_walks")
@pytest.mark.parametrize("activation", SMOOTH)
def test_networks(activation):
    check(layers(SMOOTH[activation]), rtol=1e-8, atol=1e-8)


@pytest.mark.usefixtures("no_walks")
@pytest.mark.parametrize(
    "activation", ["tanh", "sin", "cos", "softplus", "sqrt", "divide", "softmax"]
)
def test_finite_differences(activation):
    f, x, t = layers(SMOOTH[activation]), points(), points()
    found = swept(f, {"x": x, "t": t}, ["x", "xt", "xxt"])
    step = 1e-4
    moved = lambda name: [
        swept(f, {"x": x, "t": t + sign * step}, [name])[name].numpy() for sign in (1, -1)
    ]
    up, down = [f(x + sign * step, t).numpy() for sign in (1, -1)]
    np.testing.assert_allclose(found["x"].numpy(), (up - down) / (2 * step), atol=1e-6)
    for lower, name in (("x", "xt"), ("xx", "xxt")):
        up, down = moved(lower)
        np.testing.assert_allclose(found[name].numpy(), (up - down) / (2 * step), atol=1e-5)


FUNCTIONS = {
    "a product of sines": lambda x, t: tf.sin(x) * tf.cos(t),
    "a quotient": lambda x, t: tf.sin(x) / (t + x),
    "a constant over x": lambda x, t: 2.0 / x + x / 3.0,
    "a power of one by the other": lambda x, t: x**t,
    "a number to a power": lambda x, t: 2.0 ** (x * t),
    "whole powers": lambda x, t: x**4 - x**1 + x**0 + t**2.0,
    "negative powers": lambda x, t: x**-2 * t**-1.5,
    "powers by a tensor": lambda x, t: x ** tf.constant([[2.5]], tf.float64) * t,
    "an angle": lambda x, t: tf.atan2(x, t),
    "maxima": lambda x, t: tf.maximum(x * x, t) + tf.minimum(x, t * t * t),
    "where": lambda x, t: tf.where(x > t, x**3, tf.sin(t)),
    "relu": lambda x, t: tf.nn.relu(x - t) * tf.abs(t - 0.5 * x),
    "elu": lambda x, t: tf.nn.elu(x - t) + tf.nn.selu(t - x),
    "leaky relu": lambda x, t: tf.nn.leaky_relu(x - t) * x,
    "x log y": lambda x, t: tf.math.xlogy(x, t),
    "gamma functions": lambda x, t: tf.math.lgamma(x) * tf.math.digamma(t),
    "squared difference": lambda x, t: tf.math.squared_difference(x, t * t),
    "sums of many": lambda x, t: tf.add_n([x, t, x * t]),
    "slices": lambda x, t: tf.concat([x, t * x], 1)[:, 1:] ** 2,
    "stacks": lambda x, t: tf.reduce_sum(tf.stack([x * x, t, tf.ones_like(x)], 0) ** 2, 0),
    "pieces": lambda x, t: (
        tf.split(tf.concat([x * t, t], 1) ** 3, 2, axis=1)[0]
        * tf.unstack(x * x, axis=1)[0][:, None]
    ),
    "columns": lambda x, t: (
        tf.reduce_sum(tf.tile(x, [1, 3]) * tf.constant([1.0, 2.0, 3.0], tf.float64), 1, True) * t
    ),
    "einsum": lambda x, t: tf.einsum(
        "ni,nj,ij->n", tf.concat([x, t], 1), tf.concat([t, x * x], 1), SECOND[:2, :2]
    )[:, None],
    "gathers": lambda x, t: tf.gather(tf.concat([x, t], 1) ** 2, [1, 0, 1], axis=1)[:, :1] * x,
    "padding": lambda x, t: tf.reduce_sum(
        tf.pad(x * t, [[0, 0], [1, 1]], constant_values=2.0) ** 2, 1, True
    ),
    "the largest": lambda x, t: tf.reduce_max(tf.concat([x, t * t], 1) ** 2, 1, True),
    "running sums": lambda x, t: tf.cumsum(tf.concat([x, t], 1) ** 3, 1)[:, 1:],
    "complex numbers": lambda x, t: tf.math.real(
        tf.exp(tf.complex(x * t, tf.sin(x))) * tf.complex(t, tf.ones_like(t))
    ),
    "half of it constant": lambda x, t: x * 2.0 + tf.stop_gradient(t * x) * t,
    "one input only": lambda x, t: tf.sin(t),
    "linear": lambda x, t: 2.0 * x - 3.0 * t + 1.0,
    "x itself": lambda x, t: x,
}


@pytest.mark.usefixtures("no_walks")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    check(FUNCTIONS[name])


BROADCAST = {
    "kernels": lambda x, t: tf.reduce_sum(tf.exp(-((x - ROW) ** 2) - tf.square(t - ROW)), 1, True),
    "added to a row": lambda x, t: tf.tanh((x + ROW) @ SECOND) @ LAST * t,
    "a row less": lambda x, t: tf.reduce_sum(tf.transpose(ROW - x) * tf.transpose(ROW * t), 0)[
        :, None
    ],
    "a transposed product": lambda x, t: (
        tf.matmul(tf.linalg.matrix_transpose(x - ROW), LAST, transpose_a=True) * t
    ),
    "two columns": lambda x, t: tf.reduce_sum((x + tf.transpose(ROW[:4, None] * 0.0)) * t, 1, True),
    "where of a row": lambda x, t: (
        tf.where(tf.constant([[True, False, True, True, False]]), x, ROW) @ LAST * t
    ),
    "maximum with a row": lambda x, t: tf.maximum(x, ROW) @ LAST * t,
    "divided by a row": lambda x, t: (x / ROW) @ LAST * t + (ROW / x) @ LAST,
    "a modulus": lambda x, t: tf.math.floormod(x, tf.abs(ROW) + 0.1) @ LAST * t,
    "complex with a row": lambda x, t: tf.reduce_sum(
        tf.math.imag(tf.square(tf.complex(ROW, x * t))), 1, True
    ),
}


@pytest.mark.usefixtures("no_walks")
@pytest.mark.parametrize("name", BROADCAST)
def test_broadcasting(name):
    check(BROADCAST[name])


def test_a_shape_that_nothing_tells():
    """Each row of a sum is a segment, and a sum over segments does not save the shape of what it
    adds up: walks take over.
    """
    check(lambda x, t: tf.math.segment_sum(x + ROW, [0, 1, 2, 3]) @ LAST * t)


WITHOUT_A_RULE = {
    "products": lambda x, t: tf.reduce_prod(tf.concat([x, t, x + t], 1), 1, True),
    "determinants": lambda x, t: tf.linalg.det(
        tf.reshape(tf.concat([x, t, t * t, tf.exp(x)], 1), [-1, 2, 2])
    )[:, None],
    "a complex modulus": lambda x, t: tf.abs(tf.complex(x, t)) * x,
}


@pytest.mark.parametrize("name", WITHOUT_A_RULE)
def test_ops_without_a_rule(name):
    check(WITHOUT_A_RULE[name], partials=["x", "t", "xx", "xt", "xxx", "xxt"])


def test_custom_gradients():
    """Their own rule counts, at every order."""

    @tf.custom_gradient
    def cube(x):
        return x**3, lambda g: g * 30.0 * x * x

    x = points()
    found = swept(lambda x: cube(x * x), {"x": x}, ["x", "xx"])
    np.testing.assert_allclose(found["x"].numpy(), 60 * x.numpy() ** 5)
    np.testing.assert_allclose(found["xx"].numpy(), 300 * x.numpy() ** 4)


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 2), (3, 2, 2)])
def test_several_outputs_each_have_their_partials(shape):
    x, factors = (
        tf.constant([1.0, 2.0, 3.0], tf.float64),
        np.arange(1.0, 1 + np.prod(shape[1:])).reshape(shape[1:]),
    )
    column = tf.reshape(x, [3] + [1] * (len(shape) - 1))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, column])
        u = column**3 * factors
        v = tf.linalg.det(tf.reshape(column, [*column.shape, 1, 1])) ** 3 * factors
    for target in (u, v):
        found = tape.derivatives(target, {"c": column}, ["c", "cc", "cccc"])
        values = np.broadcast_to(column.numpy() * factors, shape)
        assert found["c"].shape == shape
        np.testing.assert_allclose(found["cc"].numpy(), 6 * values)
        np.testing.assert_allclose(found["cccc"].numpy(), np.zeros(shape), atol=1e-12)


# What it takes and gives


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes(dtype):
    x = tf.cast(tf.constant([[0.5], [1.0]]), dtype)
    found = swept(lambda x: tf.sin(x) * x + tf.nn.elu(-x), {"x": x}, ["x", "xx", "xxx"])
    s, c, e, v = np.sin([0.5, 1.0]), np.cos([0.5, 1.0]), np.exp([-0.5, -1.0]), np.array([0.5, 1.0])
    expected = {"x": s + v * c - e, "xx": 2 * c - v * s + e, "xxx": -3 * s - v * c - e}
    tolerance = {"float16": 1e-2, "bfloat16": 8e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    for name, partial in found.items():
        assert partial.dtype.name == dtype
        np.testing.assert_allclose(
            tf.cast(partial, "float64").numpy()[:, 0], expected[name], atol=tolerance
        )


@pytest.mark.parametrize("count", [0, 1])
def test_small_batches(count):
    x, t = points(count), points(count)
    found = swept(layers(tf.tanh), {"x": x, "t": t}, ["x", "xt"])
    assert found["x"].shape == found["xt"].shape == (count, 1)
    check(layers(tf.tanh), {"x": x, "t": t})
    check(WITHOUT_A_RULE["products"], {"x": x, "t": t}, ["x", "xt"])


def test_vectors_and_scalars():
    x = tf.constant([0.5, 1.0, 1.5], tf.float64)
    check(lambda x: tf.sin(x) * x, {"x": x}, ["x", "xx", "xxx"])
    s = tf.constant(0.5, tf.float64)
    found = swept(lambda x, s: tf.sin(x * s), {"x": x, "s": s}, ["s", "xs"])
    np.testing.assert_allclose(found["s"].numpy(), np.cos(x.numpy() * 0.5) * x.numpy())
    np.testing.assert_allclose(
        found["xs"].numpy(), np.cos(x.numpy() * 0.5) - 0.5 * x.numpy() * np.sin(x.numpy() * 0.5)
    )


def test_columns_of_one_tensor():
    data = tf.constant(rng.uniform(0.3, 0.9, (4, 2)))
    with tf.GradientTape() as tape:
        tape.watch(data)
        x, t = data[:, 0:1], data[:, 1:2]
        u = layers(tf.tanh)(x, t)
    found = tape.derivatives(u, {"x": x, "t": t}, ORDERS)
    columns = {"x": tf.constant(data.numpy()[:, :1]), "t": tf.constant(data.numpy()[:, 1:])}
    for name in ORDERS:
        np.testing.assert_allclose(
            found[name].numpy(), nested(layers(tf.tanh), columns, name).numpy(), atol=1e-9
        )


def test_a_source_that_depends_on_another():
    """As for gradients: what changes with x changes with all that x changes."""
    x = points()
    for square in (tf.square, lambda x: tf.reduce_prod(tf.concat([x, x], 1), 1, True)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = square(x)
            u = x * y * y
        found = tape.derivatives(u, {"x": x, "y": y}, ["x", "xx", "y", "yy", "xy"])
        value = x.numpy()
        for name, expected in {
            "x": 5 * value**4,
            "xx": 20 * value**3,
            "y": 2 * value**3,
            "yy": 2 * value,
        }.items():
            np.testing.assert_allclose(found[name].numpy(), expected)
        np.testing.assert_allclose(found["xy"].numpy(), 6 * value**2)


def test_variables():
    x, w = tf.Variable(points()), tf.Variable([[2.0]], dtype=tf.float64)
    with tf.GradientTape() as tape:
        u = tf.sin(tf.matmul(x, w))
    found = tape.derivatives(u, {"x": x}, ["xx"])
    np.testing.assert_allclose(found["xx"].numpy(), -4 * np.sin(2 * x.numpy()))


def test_without_a_path_there_is_none_or_zeros():
    x, t, other = points(), points(), points()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, t])
        u, v = 3.0 * x + tf.sin(t), tf.constant([[1.0]] * 4)
    found = tape.derivatives(u, {"x": x, "t": t, "o": other}, ["x", "xx", "xt", "o", "xo"])
    assert found["o"] is found["xo"] is None
    assert not found["xx"].numpy().any()
    assert not found["xt"].numpy().any()
    zeros = tape.derivatives(u, {"o": other}, ["o", "oo"], unconnected_gradients="zero")
    assert zeros["o"].shape == zeros["oo"].shape == u.shape
    assert not zeros["oo"].numpy().any()
    assert tape.derivatives(v, {"x": x}, ["x", "xx"]) == {"x": None, "xx": None}
    assert tape.derivatives(tf.cast(x, tf.int32), {"x": x}, ["x"]) == {"x": None}


def test_names():
    pos, time = points(), points()
    f = lambda pos, time: pos**3 * time
    sources = {"pos": pos, "time": time}
    found = swept(f, sources, ["pos", "pos_pos", "time_pos", ("pos", "time", "pos"), ["time"]])
    assert list(found) == ["pos", "pos_pos", "time_pos", ("pos", "time", "pos"), ("time",)]
    np.testing.assert_allclose(found["pos_pos"].numpy(), (6 * pos * time).numpy())
    np.testing.assert_allclose(found["time_pos"].numpy(), (3 * pos * pos).numpy())
    np.testing.assert_allclose(found["pos", "time", "pos"].numpy(), (6 * pos).numpy())
    np.testing.assert_allclose(found[("time",)].numpy(), (pos**3).numpy())
    with_underscore = swept(f, {"x_1": pos, "y": time}, ["x_1", ("x_1", "y")])
    np.testing.assert_allclose(with_underscore["x_1", "y"].numpy(), (3 * pos * pos).numpy())
    assert swept(f, {"x": pos, "t": time}, []) == {}


# Tapes


def test_a_tape_gives_one_unless_it_is_persistent():
    x = points()
    for persistent in (False, True):
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            u = tf.sin(x)
        np.testing.assert_allclose(
            tape.derivatives(u, {"x": x}, ["xx"])["xx"].numpy(), -np.sin(x.numpy())
        )
        if persistent:
            np.testing.assert_allclose(tape.gradient(u, x).numpy(), np.cos(x.numpy()))
            np.testing.assert_allclose(
                tape.derivatives(u, {"x": x}, ["x"])["x"].numpy(), np.cos(x.numpy())
            )
        else:
            with pytest.raises(RuntimeError, match=r"an earlier derivatives\(\)"):
                tape.derivatives(u, {"x": x}, ["x"])
            assert u.node.saved is None
    with pytest.raises(RuntimeError, match="derivatives: this tape has recorded nothing"):
        tf.GradientTape().derivatives(u, {"x": x}, ["x"])


@pytest.mark.parametrize(
    "f", [tf.sin, lambda x: tf.sin(tf.reduce_prod(tf.concat([x, x], 1), 1, True))]
)
def test_nothing_is_left_recording(f):
    x = points()
    with tf.GradientTape() as tape:
        tape.watch(x)
        u = f(x)
        tape.derivatives(u, {"x": x}, ["x", "xx"])
        assert not tape.recording
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        u = f(x)
    first = tape.derivatives(u, {"x": x}, ["xx"])["xx"]
    assert not tape.recording
    np.testing.assert_array_equal(
        tape.derivatives(u, {"x": x}, ["xx"])["xx"].numpy(), first.numpy()
    )


def burgers(u, d):
    return tf.reduce_mean(tf.square(d["t"] + u * d["x"] - 0.1 * d["xx"]))


def weights():
    return [tf.Variable(0.5 * rng.standard_normal(shape)) for shape in ((2, 4), (4,), (4, 1))]


def network(x, t, w):
    return tf.tanh(tf.concat([x, t], 1) @ w[0] + w[1]) @ w[2]


def product_network(x, t, w):
    """One with an op that has no rule."""
    return tf.reduce_prod(tf.tanh(tf.concat([x, t], 1) @ w[0] + w[1]), 1, True) @ w[2][:1]


@pytest.mark.parametrize("model", [network, product_network])
def test_an_outer_tape_by_the_weights(model):
    x, t, w = points(), points(), weights()

    def loss():
        with tf.GradientTape() as inner:
            inner.watch([x, t])
            u = model(x, t, w)
        return burgers(u, inner.derivatives(u, {"x": x, "t": t}, ["x", "t", "xx"]))

    with tf.GradientTape() as outer:
        value = loss()
    gradients = outer.gradient(value, w)
    for variable, gradient in zip(w, gradients, strict=True):
        for at in itertools.islice(np.ndindex(tuple(variable.shape)), 3):
            ends = []
            for sign in (1, -1):
                array = variable.numpy()
                moved = array.copy()
                moved[at] += sign * 1e-5
                variable.assign(moved)
                ends.append(loss().numpy())
                variable.assign(array)
            np.testing.assert_allclose(
                gradient.numpy()[at], (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-8
            )


@pytest.mark.parametrize("model", [network, product_network])
def test_the_same_tape_by_the_weights(model, caplog):
    x, t, w = points(), points(), weights()
    with caplog.at_level(logging.ERROR), tf.GradientTape(persistent=True) as tape:
        tape.watch([x, t])
        u = model(x, t, w)
        loss = burgers(u, tape.derivatives(u, {"x": x, "t": t}, ["x", "t", "xx"]))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch([x, t])
                u = model(x, t, w)
            u_x, u_t = first.gradient(u, [x, t])
        expected = burgers(u, {"x": u_x, "t": u_t, "xx": second.gradient(u_x, x)})
    np.testing.assert_allclose(loss.numpy(), expected.numpy())
    for ours, theirs in zip(tape.gradient(loss, w), outer.gradient(expected, w), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [network, product_network])
def test_forward_mode_outside(model):
    x, t, w = points(), points(), weights()
    tangents = [tf.constant(rng.standard_normal(tuple(v.shape))) for v in w]

    def second():
        with tf.GradientTape() as inner:
            inner.watch([x, t])
            u = model(x, t, w)
        return inner.derivatives(u, {"x": x, "t": t}, ["xt"])["xt"]

    with tf.autodiff.ForwardAccumulator(w, tangents) as accumulator:
        found = accumulator.jvp(second())
    with tf.GradientTape() as outer:
        total = tf.reduce_sum(second())
    expected = sum(
        np.sum(g.numpy() * v.numpy())
        for g, v in zip(outer.gradient(total, w), tangents, strict=True)
    )
    np.testing.assert_allclose(found.numpy().sum(), expected, rtol=1e-9)


@pytest.mark.parametrize("model", [network, product_network])
def test_of_derivatives(model):
    """The partials of one tape differentiated by those of another."""
    x, t, w = points(), points(), weights()
    with tf.GradientTape() as outer:
        outer.watch([x, t])
        with tf.GradientTape() as inner:
            inner.watch([x, t])
            u = model(x, t, w)
        u_x = inner.derivatives(u, {"x": x, "t": t}, ["x"])["x"]
    found = outer.derivatives(u_x, {"x": x, "t": t}, ["x", "xt"])
    expected = swept(lambda x, t: model(x, t, w), {"x": x, "t": t}, ["xx", "xxt"])
    np.testing.assert_allclose(found["x"].numpy(), expected["xx"].numpy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["xt"].numpy(), expected["xxt"].numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [network, product_network])
def test_under_vmap(model):
    w = weights()
    xs, ts = (tf.constant(rng.uniform(0.3, 0.9, (3, 4, 1))) for _ in range(2))
    f = lambda x, t: swept(
        lambda x, t: model(x, t, w) * tf.nn.elu(x), {"x": x, "t": t}, ["x", "xt", "ttt"]
    )
    batched = tf.vmap(f)(xs, ts)
    for i in range(3):
        for name, partial in f(xs[i], ts[i]).items():
            np.testing.assert_allclose(
                batched[name].numpy()[i], partial.numpy(), rtol=1e-9, atol=1e-12
            )


def test_a_long_recording():
    x = tf.constant([[0.5]], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        u = x
        for _ in range(3000):
            u = u + 0.001 * tf.sin(x)
    np.testing.assert_allclose(
        tape.derivatives(u, {"x": x}, ["xx"])["xx"].numpy(), [[-3 * np.sin(0.5)]], rtol=1e-9
    )


def test_high_orders():
    x = tf.constant([[0.3]], tf.float64)
    found = swept(lambda x: tf.exp(2.0 * x) / (1.0 - x), {"x": x}, ["x" * 8])["x" * 8]
    terms = [
        math.comb(8, k) * 2.0 ** (8 - k) * math.factorial(k) / 0.7 ** (k + 1) for k in range(9)
    ]
    expected = math.exp(0.6) * sum(terms)
    np.testing.assert_allclose(found.numpy(), [[expected]], rtol=1e-9)


@pytest.mark.parametrize("activation", SMOOTH)
def test_nothing_stays_alive(activation):
    """Nothing waits for the garbage collector, neither arrays nor the rules that held them."""
    x, t = points(), points()
    f = layers(SMOOTH[activation])
    swept(f, {"x": x, "t": t}, ["xxt"])  # what is made once, such as caches, is not counted
    while gc.collect():  # finalizers of what earlier tests have left may leave more
        pass
    gc.disable()
    try:
        swept(f, {"x": x, "t": t}, ["xxt"])
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_numpy_does_not_warn():
    x = tf.constant([[0.0], [1.0]])
    found = swept(lambda x: tf.math.log(x) + tf.sqrt(x) + tf.math.xlogy(x, x), {"x": x}, ["xx"])
    assert np.isnan(found["xx"].numpy()[0]) or np.isinf(found["xx"].numpy()[0])


# Every op


def rows():
    return [
        pytest.param(
            case,
            one,
            dtype,
            id=f"{case.name}:{one.label} {dtype}",
            marks=() if i == 0 else pytest.mark.slow,
        )
        for case in all_cases()
        if case.orders
        for i, one in enumerate(case.samples)
        for dtype in ("float64", "complex128")
        if dtype in case.dtypes_of(one) and one.wanted
    ]


@pytest.mark.parametrize(("case", "one", "dtype"), rows())
def test_every_op(case, one, dtype):
    """Two numbers move all arguments of an op, each in a direction of its own; a weighted sum of
    the results is differentiated.
    """
    arrays = case.make(one, dtype)
    draw = np.random.default_rng(0)
    directions = {
        i: draw.standard_normal((2, *arrays[i].shape)).astype(arrays[i].dtype) for i in one.wanted
    }
    function = case.function(one)

    def total(x, t):
        args = checks.as_tensors(arrays)
        for i, (by_x, by_t) in directions.items():
            args[i] = (
                args[i]
                + tf.cast(x, by_x.dtype) * tf.constant(by_x)
                + tf.cast(t, by_t.dtype) * tf.constant(by_t)
            )
        results = [
            out
            for out in checks.as_list(function(*args))
            if out.dtype.is_floating or out.dtype.is_complex
        ]
        draw = np.random.default_rng(1)
        weighted = [
            out * tf.constant(draw.standard_normal(tuple(out.shape)).astype(out.array.dtype))
            for out in results
        ]
        return tf.add_n([tf.math.real(tf.reduce_sum(out)) for out in weighted])

    sources = {"x": tf.constant(0.0, tf.float64), "t": tf.constant(0.0, tf.float64)}
    found = swept(total, sources, ["x", "xt", "xxt"], unconnected_gradients="zero")
    for name, partial in found.items():
        expected = nested(total, sources, name).numpy()
        np.testing.assert_allclose(
            partial.numpy(), expected, rtol=1e-7, atol=1e-8 * max(1.0, abs(expected)), err_msg=name
        )


# Bad input


def recorded():
    x = points()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        u = tf.sin(x)
    return tape, u, x


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (
            lambda u, x: ([u, u], {"x": x}, ["x"]),
            ValueError,
            "target must be one Tensor or Variable, got 2",
        ),
        (lambda u, x: (1.0, {"x": x}, ["x"]), AttributeError, "derivatives: target"),
        (lambda u, x: (u, x, ["x"]), TypeError, "sources must be a dict from names to tensors"),
        (lambda u, x: (u, {}, ["x"]), TypeError, "sources must be a dict from names to tensors"),
        (
            lambda u, x: (u, {1: x}, ["x"]),
            TypeError,
            "sources must be a dict from names to tensors",
        ),
        (lambda u, x: (u, {"x": 1.0}, ["x"]), AttributeError, r"sources\['x'\]"),
        (
            lambda u, x: (u, {"x": [x, x]}, ["x"]),
            ValueError,
            r"sources\['x'\] must be one Tensor or Variable, got 2",
        ),
        (
            lambda u, x: (u, {"x": tf.ones([4, 2])}, ["x"]),
            ValueError,
            r"sources\['x'\] has shape \(4, 2\)",
        ),
        (
            lambda u, x: (u, {"x": tf.ones([3, 1])}, ["x"]),
            ValueError,
            r"the target has shape \(4, 1\)",
        ),
        (lambda u, x: (u, {"x": x}, "xx"), TypeError, "partials must be a list of names"),
        (lambda u, x: (u, {"x": x}, 3), TypeError, "partials must be a list of names"),
        (
            lambda u, x: (u, {"x": x}, [3]),
            TypeError,
            "each of partials must be a string or a tuple",
        ),
        (
            lambda u, x: (u, {"x": x}, ["xy"]),
            ValueError,
            r"'xy' in partials is not made of the sources' names, .*\['x'\]",
        ),
        (lambda u, x: (u, {"x": x}, [""]), ValueError, "'' in partials"),
        (lambda u, x: (u, {"x": x}, [()]), ValueError, "in partials"),
        (
            lambda u, x: (u, {"x": x, "tt": x}, ["xx"]),
            ValueError,
            "'xx' in partials .* join longer names by underscores",
        ),
        (lambda u, x: (u, {"a": x, "b": x, "a_b": x}, ["a_b"]), ValueError, "use a tuple of names"),
    ],
)
def test_bad_input(arguments, error, says):
    tape, u, x = recorded()
    with pytest.raises(error, match=says):
        tape.derivatives(*arguments(u, x))
    assert tape.derivatives(u, {"x": x}, ["x"])["x"].shape == x.shape


def test_bad_unconnected_gradients():
    tape, u, x = recorded()
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tape.derivatives(u, {"x": x}, ["x"], unconnected_gradients="zeros")


def test_after_a_failure():
    @tf.custom_gradient
    def fails(x):
        def grad(g):
            raise ArithmeticError("no gradient today")

        return x * x, grad

    x = points()
    with tf.GradientTape() as tape:
        tape.watch(x)
        u = fails(x)
    with pytest.raises(ArithmeticError):
        tape.derivatives(u, {"x": x}, ["x"])
    with pytest.raises(
        RuntimeError, match=r"a derivatives\(\) that failed with ArithmeticError: no gradient today"
    ):
        tape.derivatives(u, {"x": x}, ["x"])
