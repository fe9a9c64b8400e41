"""float64 in Keras stays float64, as on TensorFlow; tests_tf/test_keras.py compares all of Keras's
functions with TensorFlow's.
"""

import inspect

import numpy as np
import pytest

import gradtape as tf
import keras

X = np.array([[0.51, 0.13, 0.07], [0.13, 0.37, 0.03], [0.07, 0.03, 0.29]])


@pytest.fixture
def wide():
    policy = keras.config.dtype_policy()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx("float32")
    keras.config.set_dtype_policy(policy)


def names(*parameters):
    """Keras's functions that have to be given these arguments, by name."""
    found = []
    for name in sorted(dir(keras.ops)):
        function = getattr(keras.ops, name)
        if inspect.isfunction(function):
            signature = inspect.signature(function).parameters.values()
            if tuple(p.name for p in signature if p.default is p.empty) == parameters:
                found.append(name)
    return found


def floats(result):
    return [
        leaf.dtype
        for leaf in keras.tree.flatten(result)
        if getattr(leaf, "dtype", None) in (tf.float32, tf.float64)
    ]


OF_INTEGERS = {
    "bartlett",
    "blackman",
    "hamming",
    "hanning",
    "bincount",
    "bitwise_invert",
    "bitwise_not",
    "gcd",
    "lcm",
}
OF_OTHERS = {
    "irfft",
    "view_as_complex",
    "view_as_real",
    "fft",
    "fft2",
    "ifft2",
    "slogdet",
    "unstack",
    "is_tensor",
    "convert_to_numpy",
}


@pytest.mark.parametrize(
    "function", [name for name in names("x") if name not in OF_INTEGERS | OF_OTHERS]
)
def test_functions_of_one_float64_tensor(wide, function):
    square = function not in {"correlate", "vander", "glu", "histogram"}
    result = getattr(keras.ops, function)(X if square else np.resize(X, 4))
    assert set(floats(result)) <= {tf.float64}


NOT_OF_NUMBERS = {"correlate", "tensordot", "cross", "matmul", "vdot"}
PAIRS = [
    (name, other)
    for name in names("x1", "x2")
    for other in ("array", "number", "int32", "float32")
    if name not in OF_INTEGERS
    and not (name in NOT_OF_NUMBERS and other == "number")
    and (name != "ldexp" or other == "int32")
]


@pytest.mark.parametrize(("function", "other"), PAIRS)
def test_functions_of_two_tensors_of_which_one_is_float64(wide, function, other):
    x = X[0] if function in {"correlate", "vdot"} else X
    beside = {"array": x, "number": 2.0, "int32": np.int32(x * 40), "float32": np.float32(x)}[other]
    assert set(floats(getattr(keras.ops, function)(x, beside))) <= {tf.float64}


@pytest.mark.parametrize(
    "function",
    [
        "sqrt",
        "exp",
        "mean",
        "var",
        "std",
        "nanvar",
        "softmax",
        "sigmoid",
        "divide",
        "average",
        "median",
    ],
)
def test_what_is_computed_from_integers_is_float64(wide, function):
    x = np.arange(1, 7, dtype=np.int32)
    result = getattr(keras.ops, function)(*((x, x + 1) if function == "divide" else (x,)))
    assert result.dtype is tf.float64
    assert not np.array_equal(np.float32(result), np.array(result)) or function in {
        "average",
        "median",
        "mean",
    }


@pytest.mark.parametrize("function", ["logspace", "geomspace", "linspace"])
def test_sequences_are_computed_in_float64(wide, function):
    np.testing.assert_allclose(
        getattr(keras.ops, function)(1.0, 2.0, 7), getattr(np, function)(1.0, 2.0, 7), rtol=1e-14
    )


@pytest.mark.parametrize("function", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows_are_computed_in_float64(wide, function):
    np.testing.assert_allclose(
        getattr(keras.ops, function)(7), getattr(np, function)(7), rtol=1e-14, atol=1e-16
    )
    np.testing.assert_allclose(keras.ops.kaiser(7, 0.3), np.kaiser(7, 0.3), rtol=1e-14)


LAYERS = {
    "dense": (lambda **how: keras.layers.Dense(2, activation="gelu", **how), (2, 3)),
    "convolution": (lambda **how: keras.layers.Conv2D(2, 2, **how), (1, 4, 4, 2)),
    "lstm": (lambda **how: keras.layers.LSTM(2, **how), (2, 4, 3)),
    "gru": (lambda **how: keras.layers.GRU(2, **how), (2, 4, 3)),
    "bidirectional": (
        lambda **how: keras.layers.Bidirectional(keras.layers.LSTM(2, **how), **how),
        (2, 4, 3),
    ),
    "batch normalization": (lambda **how: keras.layers.BatchNormalization(**how), (4, 3)),
    "layer normalization": (lambda **how: keras.layers.LayerNormalization(**how), (4, 3)),
}


def of_float64(layer, x):
    for call in (layer, tf.function(layer, autograph=False)):
        assert call(x).dtype is tf.float64
    assert {weight.dtype for weight in layer.weights} == {"float64"}
    before = layer.get_weights()
    assert {weight.dtype for weight in before} == {np.dtype(np.float64)}
    layer.set_weights(before)
    assert all(np.array_equal(a, b) for a, b in zip(before, layer.get_weights(), strict=True))


@pytest.mark.parametrize("name", LAYERS)
def test_layers_and_their_weights(wide, name):
    make, shape = LAYERS[name]
    of_float64(make(), np.random.default_rng(0).normal(size=shape))


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_are_told_to_be_float64_while_others_are_not(name):
    make, shape = LAYERS[name]
    of_float64(make(dtype="float64"), np.random.default_rng(0).normal(size=shape))


@pytest.mark.parametrize("eagerly", [True, False])
def test_training_in_float64_reaches_what_float32_cannot_hold(wide, eagerly):
    x = np.linspace(-1, 1, 16)[:, None]
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.5), "mse", run_eagerly=eagerly)
    history = model.fit(x, 2 * x + 1 / 3, batch_size=16, epochs=100, verbose=0).history["loss"]
    assert history[-1] < 1e-20
    assert model(x).dtype is tf.float64
    assert model.predict(x, verbose=0).dtype == np.float64


def test_the_rules_are_tensorflows_for_float64_and_jaxs_for_the_rest():
    assert keras.backend.result_type("float64", "float32") == "float64"
    assert keras.backend.result_type("float64", int) == "float64"
    assert keras.backend.result_type("int64") == "int32"
    assert keras.ops.convert_to_tensor(np.ones(2)).dtype is tf.float64
    assert keras.layers.Dense(2)(np.ones((1, 3))).dtype is tf.float32
