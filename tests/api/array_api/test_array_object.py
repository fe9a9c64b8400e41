"""What the standard asks of an array object, on Tensors and Variables."""

import operator

import numpy as np
import pytest

import gradtape as tf
import gradtape.array_api as xp

X = np.arange(24.0).reshape(2, 3, 4)

BINARY = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift",
    "rshift", "matmul", "lt", "le", "gt", "ge", "eq", "ne",
]  # fmt: skip
UNARY = ["abs", "invert", "neg", "pos"]


def operands(name):
    if name in ("and", "or", "xor", "lshift", "rshift"):
        return np.array([[5, 2], [3, 4]]), np.array([[1, 2], [2, 1]])
    return np.array([[5.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])


def operator_of(name):
    return getattr(operator, f"__{name}__")


@pytest.mark.parametrize("name", BINARY)
def test_operators(name):
    x, y = operands(name)
    apply = operator_of(name)
    expected = apply(x, y)
    for left, right in (
        (tf.constant(x), tf.constant(y)),
        (tf.Variable(x), tf.constant(y)),
        (tf.constant(x), tf.Variable(y)),
    ):
        np.testing.assert_array_equal(apply(left, right).numpy(), expected)
    if name != "matmul":
        np.testing.assert_array_equal(apply(tf.constant(x), 2).numpy(), apply(x, 2))
        np.testing.assert_array_equal(apply(2, tf.constant(y)).numpy(), apply(2, y))


@pytest.mark.parametrize("name", BINARY[:13])
def test_operators_in_place_bind_anew(name):
    x, y = operands(name)
    first = kept = tf.constant(x)
    changed = getattr(operator, f"__i{name}__")(first, tf.constant(y))
    np.testing.assert_array_equal(changed.numpy(), operator_of(name)(x, y))
    np.testing.assert_array_equal(kept.numpy(), x)


@pytest.mark.parametrize("name", UNARY)
def test_unary_operators(name):
    x = np.array([5, -2])
    np.testing.assert_array_equal(operator_of(name)(tf.constant(x)).numpy(), operator_of(name)(x))


def test_attributes():
    for x in (tf.constant(X), tf.Variable(X)):
        assert (x.ndim, x.size, x.dtype, tuple(x.shape)) == (3, 24, tf.float64, (2, 3, 4))
        np.testing.assert_array_equal(x.mT.numpy(), X.mT)
        np.testing.assert_array_equal(x[0].T.numpy(), X[0].T)
        assert x.device == xp.__array_namespace_info__().default_device()


def test_a_shape_is_a_sequence_of_integers():
    shape = tf.constant(X).shape
    assert shape == (2, 3, 4)
    assert (2, 3, 4) == shape
    assert (len(shape), shape[0], shape[-1], shape[1:], sum(shape)) == (3, 2, 4, (3, 4), 9)
    # It is the sum that is tested.
    assert (1, *shape) == (1,) + shape == (1, 2, 3, 4)  # noqa: RUF005
    assert shape + (5,) == (2, 3, 4, 5)  # noqa: RUF005
    assert (shape.index(3), shape.count(4), 4 in shape, list(reversed(shape))) == (
        1,
        1,
        True,
        [4, 3, 2],
    )
    assert hash(shape) == hash(tf.constant(X).shape)
    assert all(type(size) is int for size in shape)
    assert np.zeros(shape).shape == (2, 3, 4)


KEYS = [
    0, -1, slice(1, None), slice(None, None, -1), ..., None, (0, 1), (..., 0),
    (slice(None), 1, None), (None, 0, ..., -1), (slice(0, 1), slice(3, 0, -2)), (0, 0, 0), (),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_indexing(key):
    np.testing.assert_array_equal(tf.constant(X)[key].numpy(), X[key])
    np.testing.assert_array_equal(tf.Variable(X)[key].numpy(), X[key])


INTEGER_KEYS = [
    (np.array([1, 0, 1]),),
    (np.array([1, -1]), np.array([2, 0])),
    (np.array([1, 0]), np.array([2, 0]), np.array([3, 3])),
    (np.array([[0], [1]]), np.array([2, 0])),
    (0, np.array([2, 0, 2])),
    (np.array([1, 0]), 2, 1),
]


@pytest.mark.parametrize(
    "key", INTEGER_KEYS, ids=lambda key: f"{len(key)} of {[np.shape(part) for part in key]}"
)
def test_indexing_with_arrays_of_integers(key):
    tensors = tuple(part if isinstance(part, int) else tf.constant(part) for part in key)
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = x[tensors if len(tensors) > 1 else tensors[0]]
    np.testing.assert_array_equal(found.numpy(), X[key])
    expected = np.zeros_like(X)
    np.add.at(expected, key, 1.0)
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(found, x)).numpy(), expected)


@pytest.mark.parametrize(
    "mask", [X > 5, X[..., 0] > 5, X[:, 0, 0] > 5, np.array(True), np.array(False)], ids=np.shape
)
def test_indexing_with_a_mask(mask):
    found = tf.constant(X)[tf.constant(mask)]
    np.testing.assert_array_equal(found.numpy(), X[mask])


def test_nothing_is_assigned_to():
    x = tf.constant(X)
    with pytest.raises(
        TypeError, match=r"Tensor does not support item assignment.*where.*tensor_scatter_nd_update"
    ):
        x[0] = 1.0
    with pytest.raises(TypeError, match=r"item assignment"):
        tf.Variable(X)[0] = 1.0


def test_python_numbers():
    assert (
        bool(tf.constant(True)),
        int(tf.constant(3)),
        float(tf.constant(1.5)),
        complex(tf.constant(1j)),
    ) == (True, 3, 1.5, 1j)
    assert [10, 20, 30][tf.constant(1)] == 20
    with pytest.raises(TypeError):
        operator.index(tf.constant(1.0))


@pytest.mark.parametrize("version", [None, "2021.12", "2022.12", "2023.12", "2024.12"])
def test_the_namespace(version):
    assert tf.constant(1.0).__array_namespace__(api_version=version) is xp
    assert tf.Variable(1.0).__array_namespace__(api_version=version) is xp


def test_a_version_that_is_not_there():
    with pytest.raises(ValueError, match=r"__array_namespace__: api_version.*2024\.12.*'2030\.12'"):
        tf.constant(1.0).__array_namespace__(api_version="2030.12")


def test_to_device():
    x, v = tf.constant(1.0), tf.Variable(2.0)
    assert x.to_device(x.device) is x
    assert x.to_device("cpu", stream=None) is x
    with tf.GradientTape() as tape:
        y = v.to_device(x.device) ** 2
    assert tape.gradient(y, v).numpy() == 4.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="no device"):
        x.to_device("/GPU:0")
    with pytest.raises(ValueError, match="to_device: stream must be None"):
        x.to_device(x.device, stream=1)


def test_functions_that_know_only_the_standard():
    def standardize(x):
        ns = x.__array_namespace__()
        return (x - ns.mean(x, axis=0, keepdims=True)) / ns.std(
            x, axis=0, correction=1.0, keepdims=True
        )

    x = tf.Variable(X[0])
    with tf.GradientTape(strict=True) as tape:
        y = standardize(x)
        loss = (y * y * y).__array_namespace__().sum(y * y * y)
    expected = (X[0] - X[0].mean(0)) / X[0].std(0, ddof=1)
    np.testing.assert_allclose(y.numpy(), expected)
    assert tape.gradient(loss, x).shape == (3, 4)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 0, 4)])
def test_a_mask_without_elements_picks_nothing(shape):
    found = tf.constant(X)[tf.zeros(shape, tf.bool)]
    assert found.shape == (0, *X.shape[len(shape) :])


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 4, 1)])
def test_a_mask_that_does_not_fit(shape):
    for error in (IndexError, ValueError):
        with pytest.raises(error, match=r"getitem: a boolean mask of shape .* does not fit"):
            tf.constant(X)[tf.zeros(shape, tf.bool)]
