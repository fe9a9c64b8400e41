"""Functions exported for open sizes give what they give here, for sizes that they were not traced
with, with first and second derivatives.
"""

import numpy as np
import pytest

import gradtape as tf
from gradtape import keras
from gradtape.functions.exported import ExportedProgram, LoadedLevel
from gradtape.functions.exporting import export

W = tf.Variable(np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4))
ROW = tf.TensorSpec([None, 3])
IMAGE = tf.TensorSpec([None, 6, 6, 2])
OPEN = tf.TensorSpec([None, None])


def conv(x):
    kernel = tf.reshape(tf.range(36.0) / 30.0 - 0.5, [3, 3, 2, 2])
    return tf.nn.max_pool2d(tf.nn.conv2d(x, kernel, 1, "SAME"), 2, 2, "VALID")


def looped(x):
    total = tf.zeros_like(x)
    for row in tf.range(3):
        total += x * tf.cast(row, tf.float32)
    return total


def branch(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: tf.sin(x))


def gradient_inside(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_mean(tf.tanh(x @ W) ** 2)
    return tape.gradient(loss, x)


def scanned(x):
    return tf.scan(lambda a, row: 0.5 * a + tf.sin(row), x, initializer=tf.zeros([3]))


def zeros_like(x, dtype):
    return tf.zeros([x.shape[0], 3], dtype)


def complex_zeros(x):
    return tf.math.real(tf.cast(x, "complex64") + zeros_like(x, "complex64"))


PROGRAMS = {
    "dense": (lambda x: tf.nn.softmax(x @ W), [ROW]),
    "mean": (tf.reduce_mean, [ROW]),
    "mean over the batch": (lambda x: tf.reduce_mean(x, 0), [ROW]),
    "variance": (lambda x: tf.math.reduce_variance(x, 0), [ROW]),
    "reshape": (lambda x: tf.reshape(x, [-1]), [ROW]),
    "reshape to pairs": (lambda x: tf.reshape(tf.concat([x, x], 1), [-1, 2]), [ROW]),
    "size as a number": (lambda x: x / tf.cast(tf.shape(x)[0], tf.float32), [ROW]),
    "counting down": (lambda x: tf.gather(x, tf.range(tf.shape(x)[0] - 1, -1, -1)), [ROW]),
    "one hot": (lambda x: tf.one_hot(tf.argmax(x, 1), 3) * x, [ROW]),
    "counting": (lambda x: x * tf.cast(tf.range(tf.shape(x)[0]), tf.float32)[:, None], [ROW]),
    "zeros of a size": (lambda x: tf.concat([x, tf.ones([tf.shape(x)[0], 2])], 1), [ROW]),
    "slices": (lambda x: x[1:] - x[:-1], [ROW]),
    "transpose": (lambda x: tf.transpose(x) @ x, [ROW]),
    "pairs": (lambda x: tf.reduce_sum((x[:, None] - x[None]) ** 2, -1), [ROW]),
    "cumsum": (lambda x: tf.cumsum(x, 0), [ROW]),
    "sorted": (lambda x: tf.sort(x, 0), [ROW]),
    "gathered": (lambda x: tf.gather(x, [0, 0, 1], axis=1), [ROW]),
    "mask": (lambda x: tf.linalg.band_part(x @ tf.transpose(x), -1, 0), [ROW]),
    "identity matrix": (lambda x: tf.eye(tf.shape(x)[0]) @ x, [ROW]),
    "evenly spaced": (lambda x: x * tf.linspace(0.0, 1.0, tf.shape(x)[0])[:, None], [ROW]),
    "zeros of bfloat16": (lambda x: tf.cast(x, "bfloat16") + zeros_like(x, "bfloat16"), [ROW]),
    "complex zeros": (complex_zeros, [ROW]),
    "product of sizes": (lambda x: tf.reshape(x, [-1]) + tf.reduce_mean(x), [OPEN]),
    "rows of rows": (lambda x: tf.reshape(tf.reshape(x, [-1, 1]) @ W[:1], [*x.shape, 4]), [OPEN]),
    "convolution": (conv, [IMAGE]),
    "loop": (looped, [ROW]),
    "branch": (branch, [ROW]),
    "scan": (scanned, [ROW]),
    "tape inside": (gradient_inside, [ROW]),
    "two sizes": (lambda x, y: tf.einsum("ai,bi->ab", x, y), [ROW, ROW]),
    "the same size twice": (lambda x, y: x * y, [ROW, ROW]),
    "two open axes": (lambda x: tf.reduce_mean(tf.tanh(x), 1), [OPEN]),
    "float64": (lambda x: tf.reduce_mean(x**3, 1), [tf.TensorSpec([None, 2], tf.float64)]),
    "integers": (lambda x, i: tf.gather(x, i), [ROW, tf.TensorSpec([None], tf.int32)]),
    "nothing open": (lambda x: tf.sin(x), [tf.TensorSpec([2, 3])]),
    "no arguments": (lambda: W * 2.0, []),
}
SHARED = {"the same size twice"}


def arguments(specs, sizes):
    """Random arguments; open sizes are those given, one after the other."""
    rng = np.random.default_rng(0)
    given = iter(sizes)
    shapes = [[next(given) if n is None else n for n in spec.shape] for spec in specs]
    return [
        tf.constant(rng.integers(0, 2, shape), spec.dtype)
        if spec.dtype.is_integer
        else tf.constant(rng.standard_normal(shape), spec.dtype)
        for spec, shape in zip(specs, shapes, strict=True)
    ]


def run_again(function, specs):
    """The function, exported and loaded."""
    found = export(tf.function(function), tuple(specs), {})
    program = ExportedProgram("again", [LoadedLevel(*level) for level in found.levels])
    outputs = len(found.levels[0].outputs)
    return tf.function(lambda *tensors: program.call(tensors)[:outputs], autograph=False)


def with_derivatives(function, inputs):
    """The values, the gradients and the gradients of those, where there are any."""
    floats = [x for x in inputs if x.dtype.is_floating] + [W]
    with tf.GradientTape() as outer:
        outer.watch(floats)
        with tf.GradientTape() as inner:
            inner.watch(floats)
            values = tf.nest.flatten(function(*inputs))
            target = tf.add_n([tf.reduce_sum(tf.sin(tf.cast(v, tf.float64))) for v in values])
        first = inner.gradient(target, floats, unconnected_gradients="zero")
        first = [tf.convert_to_tensor(g) for g in first]
        total = tf.add_n([tf.reduce_sum(tf.cast(g, tf.float64) ** 2) for g in first])
    second = outer.gradient(total, floats, unconnected_gradients="zero")
    return values, first, [tf.convert_to_tensor(g) for g in second]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("size", [1, 5, 11])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name, size):
    function, specs = PROGRAMS[name]
    open_sizes = sum(n is None for spec in specs for n in spec.shape)
    sizes = [size] * open_sizes if name in SHARED else [size + i for i in range(open_sizes)]
    inputs = arguments(specs, sizes)
    expected = with_derivatives(function, inputs)
    found = with_derivatives(run_again(function, specs), inputs)
    for these, those in zip(found, expected, strict=True):
        for a, b in zip(these, those, strict=True):
            assert a.shape == b.shape
            rtol = 2e-2 if "16" in name else 2e-5
            np.testing.assert_allclose(
                a.numpy().astype("float64"), b.numpy().astype("float64"), rtol=rtol, atol=rtol / 10
            )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("axis", [None, 0])
def test_means_of_other_dtypes(dtype, axis):
    (x,) = arguments([ROW], [7])
    expected = tf.reduce_mean(tf.cast(x, dtype), axis)
    again = run_again(lambda x: tf.reduce_mean(tf.cast(x, dtype), axis), [ROW])
    found = again(x)[0]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(
        found.numpy().astype("float64"), expected.numpy().astype("float64"), rtol=2e-2
    )


@pytest.mark.parametrize("name", ["dense", "convolution", "loop", "two sizes", "float64"])
def test_forward_mode(name):
    function, specs = PROGRAMS[name]
    inputs = arguments(specs, [4, 5])
    again = run_again(function, specs)
    tangents = [tf.ones_like(x) for x in inputs]
    found = []
    for run in (function, again):
        with tf.autodiff.ForwardAccumulator(inputs, tangents) as accumulator:
            outputs = tf.nest.flatten(run(*inputs))
        found.append(accumulator.jvp(outputs))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "layers",
    [
        [keras.layers.LSTM(5), keras.layers.Dense(2)],
        [keras.layers.Bidirectional(keras.layers.GRU(3))],
        [keras.layers.MultiHeadAttention(2, 4)],
        [keras.layers.LayerNormalization(), keras.layers.GlobalAveragePooling1D()],
        [keras.layers.Conv1D(4, 3, padding="causal"), keras.layers.Flatten()],
    ],
    ids=["lstm", "bidirectional", "attention", "normalization", "convolution"],
)
def test_layers(layers):
    def call(x):
        for layer in layers:
            x = layer(x, x) if isinstance(layer, keras.layers.MultiHeadAttention) else layer(x)
        return x

    (x,) = arguments([tf.TensorSpec([None, 6, 3])], [4])
    expected = call(x)
    found = run_again(call, [tf.TensorSpec([None, 6, 3])])(x)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["lstm", "attention", "causal attention", "bidirectional"])
def test_layers_over_sequences_of_any_length(kind):
    layers = keras.layers
    made = {
        "lstm": layers.LSTM(3), "attention": layers.MultiHeadAttention(2, 4),
        "causal attention": layers.MultiHeadAttention(2, 4),
        "bidirectional": layers.Bidirectional(layers.GRU(2, return_sequences=True)),
    }[kind]  # fmt: skip

    def call(x):
        if kind == "causal attention":
            return made(x, x, use_causal_mask=True)
        return made(x, x) if kind == "attention" else made(x)

    spec = tf.TensorSpec([None, None, 3])
    again = run_again(call, [spec])
    for sizes in [(1, 1), (2, 5), (20, 3)]:
        (x,) = arguments([spec], sizes)
        np.testing.assert_allclose(again(x)[0], call(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("units", [300, 4096], ids=["near a limit", "large"])
def test_gradients_do_not_depend_on_what_is_fastest_for_a_size(units):
    bias = tf.Variable(tf.zeros([units]))
    spec = tf.TensorSpec([None, units])
    found = export(tf.function(lambda x: tf.tanh(x + bias)), (spec,), {})
    assert [level.why for level in found.levels] == [""] * 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * np.linspace(0, 1, x.shape[0], dtype="float32")[:, None],
        lambda x: x if x.shape[0] > 12 else tf.sin(x),
        lambda x: x * float(x.shape[0] ** 2),
        lambda x: x[: x.shape[0] // 2],
        lambda x: x[:10],
        lambda x: x * tf.cast(tf.shape(x)[0] // 2, tf.float32),
        lambda x: x * tf.cast(tf.shape(x)[0] % 2, tf.float32),
        lambda x: x * tf.cast(tf.minimum(tf.shape(x)[0], 10), tf.float32),
        lambda x: x * tf.cast(tf.minimum(tf.shape(x)[0], 20), tf.float32),
        lambda x: tf.sin(x) if x.shape[0] > 8 else x,
        lambda x: x[: tf.shape(x)[0] % 2],
    ],
    ids=[
        "array", "steps", "square", "half", "ten rows", "half as a number", "odd", "at most 10",
        "at most 20", "few", "rows if odd",
    ],
)  # fmt: skip
def test_what_python_makes_of_a_size_is_refused(function):
    with pytest.raises(ValueError, match="cannot be saved with open sizes"):
        export(tf.function(function, autograph=False), (ROW,), {})
