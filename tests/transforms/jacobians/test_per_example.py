"""`GradientTape.gradient_per_example`: against a tape for each example,
quick where it can be and right where it cannot.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape.transforms.jacobians import per_example

rng = np.random.default_rng(31)
EXAMPLES = 5


@pytest.fixture
def the_long_way(monkeypatch):
    """Notes whether the Jacobian of the losses had to be taken."""
    taken = []
    identity = per_example.pull_identity
    monkeypatch.setattr(
        per_example,
        "pull_identity",
        lambda *args, **kwargs: taken.append(True) or identity(*args, **kwargs),
    )
    return taken


def variables(*shapes, dtype=np.float64):
    return [tf.Variable(rng.standard_normal(shape).astype(dtype)) for shape in shapes]


def dense(x, w):
    h = tf.tanh(x @ w[0] + w[1])
    return tf.nn.softmax_cross_entropy_with_logits(
        tf.one_hot([2] * x.shape[0], 3, dtype=x.dtype), h @ w[2]
    )


def normalised(x, w):
    h = tf.nn.relu(x @ w[0]) * w[1] + w[2]
    mean, variance = tf.nn.moments(h, axes=[1], keepdims=True)
    return tf.reduce_mean(((h - mean) / tf.sqrt(variance + 0.1)) ** 4, axis=1)


def convolved(x, w):
    image = tf.reshape(x, [x.shape[0], 2, 2, 1])
    return tf.reduce_sum(tf.nn.conv2d(image, w[0], 1, "SAME") ** 2, axis=[1, 2, 3])


def embedded(x, w):
    places = tf.cast(tf.abs(x) * 2, tf.int32)
    return tf.reduce_sum(tf.gather(w[0], places) ** 2, axis=[1, 2])


def recurrent(x, w):
    state = tf.zeros([x.shape[0], 2], x.dtype)
    for i in range(4):
        a, b = tf.split(x[:, i : i + 1] @ w[0] + state @ w[1], 2, axis=1)
        state = tf.sigmoid(a) * tf.tanh(b) + state
    return tf.reduce_sum(state, axis=1)


def regularised(x, w):
    return tf.reduce_sum(tf.sin(x @ tf.transpose(w[0])), axis=1) + tf.reduce_sum(w[0] ** 2)


QUICK = {
    "dense": (dense, [(4, 6), (6,), (6, 3)]),
    "normalised": (normalised, [(4, 6), (6,), (1, 6)]),
    "convolved": (convolved, [(2, 2, 1, 3)]),
    "embedded": (embedded, [(8, 2)]),
    "recurrent": (recurrent, [(1, 4), (2, 4)]),
    "regularised": (regularised, [(3, 4)]),
    "a scalar": (lambda x, w: tf.reduce_sum(tf.exp(w[0] * x), axis=1), [()]),
}


def expected_of(f, x, w):
    """A tape for each example."""
    found = []
    for i in range(len(x)):
        with tf.GradientTape() as tape:
            loss = f(tf.constant(x[i : i + 1]), w)
        found.append([tf.convert_to_tensor(g).numpy() for g in tape.gradient(loss, w)])
    return [np.stack(column) for column in zip(*found, strict=True)]


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("name", QUICK)
def test_examples_that_are_independent(name, limit, the_long_way):
    f, shapes = QUICK[name]
    x, w = rng.standard_normal((EXAMPLES, 4)), variables(*shapes)
    with tf.GradientTape() as tape:
        losses = f(tf.constant(x), w)
    found = tape.gradient_per_example(losses, w, memory_limit=limit)
    for one, expected in zip(found, expected_of(f, x, w), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-12)
    assert not the_long_way


def test_examples_that_depend_on_each_other(the_long_way):
    (w,) = variables((4,))
    x = tf.constant(rng.standard_normal((EXAMPLES, 4)))
    with tf.GradientTape(persistent=True) as tape:
        h = tf.reduce_sum(x * w, axis=1)
        losses = h * tf.reduce_mean(h)
    found = tape.gradient_per_example(losses, w)
    for i in range(EXAMPLES):
        np.testing.assert_allclose(
            found[i], tape.gradient(losses, w, output_gradients=np.eye(EXAMPLES)[i])
        )
    assert the_long_way


@pytest.mark.parametrize("inner", [EXAMPLES, 3])
def test_weights_as_long_as_the_batch(inner):
    """A shape alone does not say what is a batch."""
    f = lambda x, w: tf.reduce_sum(
        tf.tanh(x @ tf.transpose(tf.reshape(w[0], [inner, 4]) * 2.0)) @ w[1], axis=1
    )
    x, w = rng.standard_normal((EXAMPLES, 4)), variables((inner, 4), (inner, EXAMPLES))
    with tf.GradientTape() as tape:
        losses = f(tf.constant(x), w)
    for one, expected in zip(
        tape.gradient_per_example(losses, w), expected_of(f, x, w), strict=True
    ):
        np.testing.assert_allclose(one, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "grad",
    [
        lambda g, x: 2 * g * x,
        lambda g, x: tf.constant(2 * g.numpy()) * x,
        lambda g, x: tf.clip_by_value(g, -0.5, 0.5) * 2 * x,
    ],
    ids=["linear", "numpy", "clipped"],
)
def test_custom_gradients(grad):
    @tf.custom_gradient
    def square(x):
        return x * x, lambda g: grad(g, x)

    (w,) = variables((4,))
    x = tf.constant(rng.standard_normal((EXAMPLES, 4)))
    with tf.GradientTape(persistent=True) as tape:
        losses = tf.reduce_sum(square(x * w), axis=1)
    found = tape.gradient_per_example(losses, w)
    for i in range(EXAMPLES):
        np.testing.assert_allclose(
            found[i], tape.gradient(losses, w, output_gradients=np.eye(EXAMPLES)[i])
        )


def test_structures_and_what_has_no_path():
    w, other = variables((4,), (2, 2))
    x = tf.constant(rng.standard_normal((EXAMPLES, 4)))
    for unconnected in ("none", "zero"):
        with tf.GradientTape() as tape:
            losses = tf.reduce_sum(x * w, axis=1)
        found = tape.gradient_per_example(
            losses, {"w": w, "rest": [other]}, unconnected_gradients=unconnected, clip_norm=1e9
        )
        np.testing.assert_allclose(found["w"], x)
        if unconnected == "none":
            assert found["rest"] == [None]
        else:
            assert found["rest"][0].shape == (EXAMPLES, 2, 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clipping_to_a_norm_over_all_variables(dtype):
    w = variables((4, 6), (6,), (6, 3), dtype=dtype)
    x = tf.constant(rng.standard_normal((EXAMPLES, 4)).astype(dtype))
    with tf.GradientTape(persistent=True) as tape:
        losses = dense(x, w)
    free = [g.numpy() for g in tape.gradient_per_example(losses, w)]
    norms = np.sqrt(sum(np.sum(g.reshape(EXAMPLES, -1) ** 2, axis=1) for g in free))
    bound = float(np.median(norms))
    factors = np.minimum(1, bound / norms)
    for one, g in zip(tape.gradient_per_example(losses, w, clip_norm=bound), free, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, g * factors.reshape(-1, *(1,) * (g.ndim - 1)), rtol=1e-5)


def test_a_gradient_of_zero_stays_zero_when_it_is_clipped():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        losses = tf.reduce_sum(w * tf.constant([[0.0, 0.0], [3.0, 4.0]]), axis=1)
    found = tape.gradient_per_example(losses, w, clip_norm=tf.constant(1.0))
    np.testing.assert_allclose(found, [[0.0, 0.0], [0.6, 0.8]], rtol=1e-6)


def test_a_tape_around_it_differentiates_it():
    (w,) = variables((2,))
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]], tf.float64)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            losses = tf.reduce_sum(x * w**3, axis=1)
        total = tf.reduce_sum(tape.gradient_per_example(losses, w, clip_norm=1e6))
    np.testing.assert_allclose(outer.gradient(total, w), 6 * w.numpy() * x.numpy().sum(0))


@pytest.mark.parametrize("examples", [0, 1])
def test_small_batches(examples):
    w = tf.Variable([1.0, 2.0])
    x = tf.ones([examples, 2])
    with tf.GradientTape() as tape:
        losses = tf.reduce_sum(x * w, axis=1)
    assert (
        tape.gradient_per_example(losses, w, clip_norm=1e9).numpy().tolist()
        == [[1.0, 1.0]] * examples
    )


def test_it_uses_up_the_tape():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        losses = w * w
    assert tape.gradient_per_example(losses, w).numpy().tolist() == [[2.0, 0.0], [0.0, 4.0]]
    with pytest.raises(RuntimeError, match="an earlier gradient_per_example"):
        tape.gradient_per_example(losses, w)


@pytest.mark.parametrize(
    ("losses", "options", "says"),
    [
        (lambda w: tf.reduce_sum(w), {}, r"shape \[examples\], got float32\[\]"),
        (lambda w: tf.reshape(w, [2, 1]), {}, r"got float32\[2, 1\]"),
        (lambda w: [w, w], {}, r"got float32\[2\], float32\[2\]"),
        (lambda w: tf.complex(w, w), {}, r"got complex64\[2\]"),
        (lambda w: w * w, {"clip_norm": 0.0}, "clip_norm must be a positive number"),
        (lambda w: w * w, {"clip_norm": [1.0, 2.0]}, "clip_norm must be a positive number"),
        (lambda w: w * w, {"memory_limit": -1}, "memory_limit must be a positive integer"),
    ],
)
def test_bad_input_is_refused(losses, options, says):
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        given = losses(w)
    with pytest.raises(ValueError, match=f"gradient_per_example: .*{says}"):
        tape.gradient_per_example(given, w, **options)
