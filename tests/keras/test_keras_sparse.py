"""Sparse tensors in Keras's functions: the values are those of dense tensors, sparse results stay
sparse, and gradients reach the values.
"""

import numpy as np
import pytest

import gradtape as tf
import keras
from keras import ops

DENSE = np.array([[0, 1.5, 0, -2], [0, 0, 0, 0], [3, 0, 0.5, 0]], np.float32)
OTHER = np.array([[1, 1.0, 0, 0], [0, 2, 0, 0], [4, 0, -1, 0]], np.float32)


def sparse(x):
    return tf.sparse.from_dense(x)


def slices(x):
    """The rows of a matrix that are not all zero."""
    rows = np.flatnonzero(x.any(axis=1))
    return tf.IndexedSlices(x[rows], rows, x.shape)


def repeated(x):
    """Every row twice, each half as large: what a gradient of an embedding looks like."""
    return tf.IndexedSlices(np.concatenate([x, x]) / 2, [*range(len(x)), *range(len(x))], x.shape)


KINDS = [sparse, slices, repeated]


def check(found, expected, kind):
    assert isinstance(found, kind)
    np.testing.assert_allclose(ops.convert_to_numpy(found), expected, rtol=1e-6)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize(
    "name", ["absolute", "negative", "square", "sin", "tanh", "sign", "expm1", "floor"]
)
def test_what_keeps_zeros_leaves_a_tensor_sparse(make, name):
    check(getattr(ops, name)(make(DENSE)), getattr(np, name)(DENSE), type(make(DENSE)))


@pytest.mark.parametrize("make", KINDS)
def test_what_makes_zeros_something_else_gives_a_dense_tensor(make):
    for name in ("exp", "cos", "isfinite"):
        check(getattr(ops, name)(make(DENSE)), getattr(np, name)(DENSE), tf.Tensor)
    check(ops.relu(make(DENSE)), np.maximum(DENSE, 0), tf.Tensor)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("name", ["add", "subtract", "maximum", "minimum", "multiply"])
def test_two_tensors_that_are_sparse(make, name):
    check(
        getattr(ops, name)(make(DENSE), make(OTHER)),
        getattr(np, name)(DENSE, OTHER),
        type(make(DENSE)),
    )


@pytest.mark.parametrize("make", KINDS)
def test_a_sparse_and_a_dense_tensor(make):
    kind = type(make(DENSE))
    check(ops.add(make(DENSE), OTHER), DENSE + OTHER, tf.Tensor)
    check(ops.multiply(make(DENSE), OTHER), DENSE * OTHER, kind)
    check(ops.multiply(OTHER, make(DENSE)), DENSE * OTHER, kind)
    check(ops.multiply(make(DENSE), OTHER[0]), DENSE * OTHER[0], kind)
    check(ops.multiply(make(DENSE), 2.0), DENSE * 2, kind)
    check(ops.divide(make(DENSE), 2.0), DENSE / 2, kind)
    with np.errstate(all="ignore"):
        check(ops.divide(make(DENSE), OTHER), DENSE / OTHER, kind)


def test_shapes_sums_and_products():
    x = sparse(DENSE)
    check(ops.reshape(x, (2, -1)), DENSE.reshape(2, -1), tf.SparseTensor)
    check(ops.transpose(x), DENSE.T, tf.SparseTensor)
    check(ops.squeeze(ops.expand_dims(x, (0, 2))), DENSE, tf.SparseTensor)
    check(ops.concatenate([x, x], axis=1), np.concatenate([DENSE, DENSE], 1), tf.SparseTensor)
    for axis, keepdims in ((None, False), (0, True), ((0, 1), True), (-1, False)):
        check(ops.sum(x, axis, keepdims), DENSE.sum(axis, keepdims=keepdims), tf.SparseTensor)
    check(ops.matmul(x, OTHER.T), DENSE @ OTHER.T, tf.Tensor)
    check(ops.matmul(OTHER.T, x), OTHER.T @ DENSE, tf.Tensor)
    check(ops.matmul(x, sparse(OTHER.T)), DENSE @ OTHER.T, tf.SparseTensor)
    with pytest.raises(ValueError, match="must name axes of size 1"):
        ops.squeeze(x, 0)


def test_classes_and_counts():
    classes = np.array([[0, 2], [1, -1]])
    check(ops.one_hot(classes, 3, sparse=True), ops.one_hot(classes, 3), tf.SparseTensor)
    check(
        ops.one_hot(classes, 3, axis=0, sparse=True),
        ops.one_hot(classes, 3, axis=0),
        tf.SparseTensor,
    )
    check(ops.multi_hot(classes, 3, sparse=True), ops.multi_hot(classes, 3), tf.SparseTensor)
    check(ops.bincount(np.array([1, 1, 3]), sparse=True), [0, 2, 0, 1], tf.SparseTensor)


def test_conversions():
    x = sparse(DENSE)
    assert ops.convert_to_tensor(x) is x
    assert ops.is_tensor(x)
    check(ops.convert_to_tensor(x, sparse=False), DENSE, tf.Tensor)
    assert ops.cast(x, "float16").dtype == tf.float16
    scipy_sparse = pytest.importorskip("scipy.sparse")
    check(ops.convert_to_tensor(scipy_sparse.csr_matrix(DENSE)), DENSE, tf.Tensor)


def test_gradients_reach_the_values():
    values = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        x = tf.SparseTensor([[0, 1], [2, 0]], values.tensor(), [3, 4])
        y = ops.sum(ops.matmul(ops.square(x), OTHER.T)) + ops.sum(
            ops.convert_to_tensor(ops.multiply(x, OTHER), sparse=False)
        )
    expected = 2 * values.numpy() * OTHER.sum(0)[[1, 0]] + OTHER[[0, 2], [1, 0]]
    np.testing.assert_allclose(tape.gradient(y, values), expected, rtol=1e-6)


def test_inside_a_function_what_is_not_linear_becomes_dense():
    @tf.function(autograph=False)
    def run(rows, values):
        x = tf.IndexedSlices(values, rows, DENSE.shape)
        scaled = ops.divide(ops.multiply(ops.negative(x), 6.0), 2.0)
        assert isinstance(scaled, tf.IndexedSlices)
        return (
            ops.convert_to_tensor(scaled, sparse=False),
            ops.square(x),
            ops.add(x, x),
            ops.divide(x, OTHER + 2),
        )

    x = repeated(DENSE)
    for found, expected in zip(
        run(x.indices, x.values),
        (-3 * DENSE, DENSE**2, 2 * DENSE, DENSE / (OTHER + 2)),
        strict=True,
    ):
        check(found, expected, tf.Tensor)


def test_layers_take_sparse_tensors():
    dense = keras.layers.Dense(2)
    np.testing.assert_allclose(dense(sparse(DENSE)), dense(DENSE), rtol=1e-5)
    check(keras.layers.Add()([sparse(DENSE), sparse(OTHER)]), DENSE + OTHER, tf.SparseTensor)


# Batches


def a_model(seed=0):
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    return model


MANY = np.where(np.random.default_rng(0).random((11, 4)) < 0.4, 1.5, 0).astype("float32")
MANY[[0, 5, -1]] = 0.0  # rows without a value, at the ends too
TARGETS = np.arange(33, dtype="float32").reshape(11, 3)
USES = {
    "predict": lambda model, x, y: model.predict(x, batch_size=4, verbose=0),
    "evaluate": lambda model, x, y: model.evaluate(x, y, batch_size=4, verbose=0),
    "fit": lambda model, x, y: model.fit(
        x, y, batch_size=4, epochs=2, shuffle=False, verbose=0
    ).history["loss"],
    "shuffled": lambda model, x, y: model.fit(x, y, batch_size=4, verbose=0).history["loss"],
    "shuffled in batches": lambda model, x, y: model.fit(
        x, y, batch_size=4, shuffle="batch", verbose=0
    ).history["loss"],
    "with validation": lambda model, x, y: model.fit(
        x, y, batch_size=4, validation_split=0.3, verbose=0
    ).history["val_loss"],
    "with validation data": lambda model, x, y: model.fit(
        x, y, validation_data=(x, y), verbose=0
    ).history["val_loss"],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_sparse_data_train_and_predict_as_dense(use, dtype):
    dense = MANY.astype(dtype)
    expected = use(a_model(), dense, TARGETS)
    np.testing.assert_allclose(use(a_model(), sparse(dense), TARGETS), expected, rtol=1e-6)
    found = use(a_model(), sparse(dense), sparse(TARGETS))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_values_of_sparse_data_in_any_order():
    x = sparse(MANY)
    order = np.random.default_rng(1).permutation(len(x.values))
    mixed = tf.SparseTensor(x.indices.numpy()[order], x.values.numpy()[order], x.dense_shape)
    predict = USES["predict"]
    np.testing.assert_array_equal(predict(a_model(), mixed, None), predict(a_model(), MANY, None))


def test_sparse_data_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="cardinality"):
        a_model().fit(sparse(MANY), TARGETS[:-1], verbose=0)
