"""Keras's core functions: what its own tests of them do not ask,
above all inside a gradtape.function.
"""

import numpy as np
import pytest
from keras.src import backend

import gradtape as tf
import keras
from keras import ops


def both(f, *args):
    """What a function gives in eager code, which must be what it gives when it is compiled."""
    args = [tf.constant(arg) for arg in args]
    eager, compiled = f(*args), tf.function(f, autograph=False)(*args)
    for a, b in zip(tf.nest.flatten(eager), tf.nest.flatten(compiled), strict=True):
        if a is None:
            assert b is None
            continue
        np.testing.assert_allclose(a, b, rtol=1e-6)
        assert a.dtype == b.dtype
    return eager


# Keras's own `__array__` does not take `copy`.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.reduce_sum(x),
        lambda x: tf.one_hot(x, 3),
        lambda x: tf.ones([3]) * x,
        lambda x: tf.stack([x, x]),
        lambda x: tf.constant([[x]]),
        lambda x: tf.Variable(x),
        lambda x: tf.numpy.sum(x),
        lambda x: tf.GradientTape().watch(x),
    ],
)
def test_a_placeholder_of_a_functional_model_says_what_to_do(call):
    with pytest.raises(ValueError, match=r"KerasTensor has no values.*keras\.layers\.Lambda"):
        call(keras.Input((3,)))


def test_scan_gives_states_and_outputs():
    def step(carry, x):
        return carry * x, {"sum": carry + x, "nothing": None}

    last, outputs = both(lambda xs: ops.scan(step, ops.ones(()), xs), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(last, 6.0)
    np.testing.assert_allclose(outputs["sum"], [2.0, 3.0, 5.0])
    assert outputs["nothing"] is None
    _, backwards = both(
        lambda xs: ops.scan(lambda c, x: (c + x, c), ops.zeros(()), xs, reverse=True),
        [1.0, 2.0, 3.0],
    )
    np.testing.assert_allclose(backwards, [5.0, 3.0, 0.0])


def test_scan_without_entries_has_a_length():
    last, _ = both(lambda x: ops.scan(lambda c, _: (c * x, None), x, length=3), 2.0)
    np.testing.assert_allclose(last, 16.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_scan_has_a_gradient(compiled):
    def f(xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = ops.scan(lambda c, x: (c * x, c), ops.ones(()), xs)[0]
        return tape.gradient(y, xs)

    np.testing.assert_allclose(
        (tf.function(f) if compiled else f)(tf.constant([2.0, 3.0, 4.0])), [12.0, 8.0, 6.0]
    )


@pytest.mark.parametrize("length", [1, 2, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scans_are_running_results(length, reverse):
    rows = np.random.default_rng(0).normal(size=(3, length)).astype("float32")
    found = both(
        lambda xs: ops.associative_scan(lambda a, b: a * b, xs, reverse=reverse, axis=1), rows
    )
    expected = np.cumprod(rows[:, ::-1], axis=1)[:, ::-1] if reverse else np.cumprod(rows, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_loops_count_and_stop():
    np.testing.assert_allclose(
        both(lambda x: ops.fori_loop(1, 4, lambda i, v: v * i, x), 2.0), 12.0
    )
    found = both(
        lambda x: ops.while_loop(lambda i, v: v < 100.0, lambda i, v: (i + 1, v * 2.0), (0, x)), 3.0
    )
    assert [float(v) for v in found] == [6.0, 192.0]
    limited = both(
        lambda x: ops.while_loop(lambda v: v < 100.0, lambda v: v * 2.0, x, maximum_iterations=2),
        3.0,
    )
    np.testing.assert_allclose(limited, 12.0)


def test_branches_beyond_the_last_take_the_last():
    branches = [lambda x: x + 1.0, lambda x: x * 10.0]
    assert [
        float(both(lambda i: ops.switch(i, branches, ops.ones(())), n)) for n in (-1, 0, 1, 7)
    ] == [2.0, 2.0, 10.0, 10.0]


def test_slices_may_begin_where_only_the_program_knows():
    x = np.arange(12.0, dtype="float32").reshape(3, 4)
    np.testing.assert_allclose(both(lambda x, i: ops.slice(x, [i, 1], (1, 2)), x, 2), [[9.0, 10.0]])
    found = both(lambda x, i: ops.slice_update(x, [i, 1], -ops.ones((2, 2))), x, 1)
    expected = x.copy()
    expected[1:3, 1:3] = -1
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(ops.slice_update(x, [0, 0], x * 2), x * 2)


@pytest.mark.parametrize(
    ("reduction", "combine"),
    [("add", np.add), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum)],
)
def test_updates_of_repeated_places_are_combined(reduction, combine):
    x = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
    places, updates = np.array([[0, 1], [1, 0], [0, 1]]), np.array([5.0, -1.0, 3.0], "float32")
    expected = x.copy()
    combine.at(expected, tuple(places.T), updates)
    found = both(lambda x, u: ops.scatter_update(x, places, u, reduction=reduction), x, updates)
    np.testing.assert_allclose(found, expected)


def test_an_unknown_reduction_is_refused():
    with pytest.raises(
        ValueError, match="reduction must be None, 'add', 'max', 'min' or 'mul', got 'mean'"
    ):
        backend.core.scatter_update(np.ones(2), [[0]], [1.0], reduction="mean")


def test_a_gradient_of_ones_own_with_a_keras_variable():
    @ops.custom_gradient
    def tripled(x):
        return x * 2.0, lambda upstream: upstream * 3.0

    v = keras.Variable(5.0)
    with tf.GradientTape() as tape:
        y = tripled(v)
    np.testing.assert_allclose([float(y), float(tape.gradient(y, v))], [10.0, 3.0])


@pytest.mark.waits
@pytest.mark.parametrize("around", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize(
    ("make", "x"),
    [
        (lambda: keras.layers.Dense(3, activation="tanh"), np.ones((2, 4), "float32")),
        (lambda: keras.layers.Embedding(5, 3), np.array([[0, 0], [3, 1]])),
    ],
    ids=["Dense", "Embedding"],
)
def test_recomputed_layers_have_the_same_gradient(make, x, around):
    layer = make()
    x = tf.constant(x)
    layer(x)
    found = []
    for call in (layer, around(keras.remat(layer))):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(call(x) ** 2)
        found.append(tape.gradient(y, layer.trainable_variables))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(tf.convert_to_tensor(a), tf.convert_to_tensor(b), rtol=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: a * b,
        lambda a, b: a.value * b.value,
        lambda a, b: ops.take(a, [2, 0, 0]) * b,
    ],
    ids=["as a tensor", "its value", "rows of it"],
)
def test_a_variable_given_twice_to_a_recomputed_function_has_the_same_gradient(f):
    v = keras.Variable(np.array([1.0, 2.0, 3.0], "float32"))
    found = []
    for call in (f, keras.remat(f)):
        with tf.GradientTape() as tape:
            y = call(v, v)
        found.append(tf.convert_to_tensor(tape.gradient(y, v)))
    np.testing.assert_allclose(*found)


def test_shapes_to_come_are_found_without_computing():
    calls = []

    def f(x, y, factor=1):
        calls.append(x)
        return {
            "sum": ops.sum(x, axis=0),
            "pair": (ops.concatenate([x, y], axis=1), None),
            "name": "kept",
            "size": 3 * factor,
        }

    x, y = keras.KerasTensor((None, 4)), keras.KerasTensor((None, 2))
    found = backend.compute_output_spec(f, x, y, factor=2)
    assert found["sum"].shape == (4,)
    assert found["pair"][0].shape == (None, 6)
    assert found["pair"][1] is None
    assert (found["name"], found["size"]) == ("kept", 6)
    assert all(tf.is_symbolic_tensor(call) for call in calls)
    assert len(calls) == 2  # one for each size that None was tried with


def test_shapes_to_come_can_be_found_inside_a_function():
    def f(x):
        inner = keras.Sequential([keras.layers.Dense(2, kernel_initializer="ones")])
        return inner(x)

    np.testing.assert_allclose(tf.function(f, autograph=False)(tf.ones([1, 3])), [[3.0, 3.0]])


def test_an_error_while_finding_shapes_is_the_functions_own():
    def f(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        backend.compute_output_spec(f, keras.KerasTensor((None, 4)))


BY_VALUE = {
    "boolean_mask": (lambda x: tf.boolean_mask(x, x > 0.0), (None,)),
    "rows": (lambda x: tf.boolean_mask(x, x[:, 0] > 0.0), (None, 4)),
    "places": (lambda x: tf.where(x > 0.0), (None, 2)),
    "sum": (lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0.0)) + x[:, :1], (3, 1)),
    "sizes": (lambda x: tf.zeros([tf.reduce_sum(tf.cast(x > 0.0, tf.int32)), 5]), (None, 5)),
    "unique": (lambda x: tf.unique(tf.cast(3.0 * x[0], tf.int32))[0], (None,)),
    "partition": (
        lambda x: tf.dynamic_partition(x, tf.cast(x[:, 0] > 0.0, tf.int32), 2),
        (None, 4),
    ),
}


@pytest.mark.parametrize("batch", [3, None])
@pytest.mark.parametrize("name", BY_VALUE)
def test_shapes_that_depend_on_values_are_not_known(name, batch):
    f, shape = BY_VALUE[name]
    x = keras.KerasTensor((batch, 4))
    if shape[0] == 3:
        shape = (batch, *shape[1:])
    for spec in tf.nest.flatten(backend.compute_output_spec(f, x)):
        assert spec.shape == shape


def test_shapes_that_depend_on_whole_numbers_are_not_known():
    f = lambda i: tf.boolean_mask(tf.gather([1.0, 2.0], i), i > 0)
    found = backend.compute_output_spec(f, keras.KerasTensor((6,), dtype="int32"))
    assert (found.shape, found.dtype) == ((None,), "float32")


@keras.saving.register_keras_serializable()
class SumOfPositive(keras.layers.Layer):
    def call(self, x):
        return tf.reduce_sum(tf.boolean_mask(x * x, x > 0.0)) + x[:, :1]


def test_layers_with_shapes_that_depend_on_values_are_trained():
    inputs = np.linspace(-0.3, 0.7, 24, dtype=np.float32).reshape(6, 4)
    targets = np.ones([6, 1], np.float32)

    def trained(**options):
        model = keras.Sequential(
            [keras.Input((4,)), keras.layers.Dense(3, kernel_initializer="ones"), SumOfPositive()]
        )
        model.compile(keras.optimizers.SGD(0.001), "mse", **options)
        history = model.fit(inputs, targets, batch_size=2, epochs=2, shuffle=False, verbose=0)
        return [*history.history["loss"], model.evaluate(inputs, targets, verbose=0)]

    np.testing.assert_allclose(trained(), trained(run_eagerly=True), rtol=1e-5)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1.5, None, "float32"),
        (2, None, "int32"),
        (True, None, "bool"),
        ([], None, "float32"),
        (np.ones(2), None, "float64"),
        (np.ones(2, "int64"), None, "int32"),
        (np.ones(2), "float64", "float64"),
        (np.array([1.9, -1.9]), "int32", "int32"),
        ([1, 2.5], None, "float32"),
        (1.5, "bfloat16", "bfloat16"),
        (np.ones(2, "float16"), None, "float16"),
        (1j, None, "complex64"),
    ],
)
def test_plain_values_become_tensors_of_keras_dtypes(value, dtype, expected):
    found = ops.convert_to_tensor(value, dtype)
    assert isinstance(found, tf.Tensor)
    assert keras.backend.standardize_dtype(found.dtype) == expected
    np.testing.assert_allclose(
        np.asarray(found, "complex128"),
        np.asarray(value).astype(found.numpy().dtype).astype("complex128"),
    )


def test_a_tensor_made_of_an_array_does_not_change_with_it():
    array = np.ones(2, "float32")
    found = ops.convert_to_tensor(array)
    array[:] = 5.0
    np.testing.assert_array_equal(found, [1.0, 1.0])


def test_lists_with_tensors_and_variables_are_stacked_and_recorded():
    v = keras.Variable(2.0)
    with tf.GradientTape() as tape:
        y = ops.convert_to_tensor([[v, 1], [tf.constant(3), v]])
    assert (y.shape, y.dtype) == ((2, 2), tf.float32)
    np.testing.assert_allclose(tape.gradient(y, v), 2.0)


def test_ragged_tensors_are_refused_by_name():
    with pytest.raises(ValueError, match="has no ragged tensors: leave out `ragged=True`"):
        ops.convert_to_tensor([1.0], ragged=True)


@pytest.mark.devices
def test_devices_have_keras_names():
    with keras.device("cpu:0"):
        assert ops.ones(()).device.endswith("CPU:0")
    with pytest.raises(ValueError, match="must be a string such as 'cpu:0'"):
        keras.device(0)


def test_an_op_is_located_in_the_layer_or_in_the_users_line():
    dense = keras.layers.Dense(2)
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        inside, outside = dense(x), keras.ops.sum(x)
    assert inside.node.location().file.endswith("dense.py")
    assert outside.node.location().file == __file__


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("wanted", [None, "float32", "float16"])
@pytest.mark.parametrize(
    "subclass",
    [lambda a: a.view(np.matrix), lambda a: np.ma.masked_array(a, [[0, 1], [0, 0]])],
    ids=["matrix", "masked"],
)
def test_a_subclass_of_numpys_array_becomes_a_plain_one(subclass, wanted, dtype):
    plain = np.array([[5, 6], [7, 8]], dtype)
    for given in (subclass(plain), [subclass(plain)]):
        found = keras.ops.convert_to_tensor(given, dtype=wanted)
        assert type(found.array) is np.ndarray
        np.testing.assert_array_equal((found * found).numpy().reshape(2, 2), plain * plain)
    product = keras.ops.multiply(keras.ops.ones((2, 2)), subclass(plain))
    assert type(product.array) is np.ndarray
    np.testing.assert_array_equal(product.numpy(), plain)


def test_a_layer_keeps_the_class_of_an_error_and_adds_its_arguments():
    class Product(keras.layers.Layer):
        def call(self, x):
            return tf.matmul(x, tf.ones([3, 3]))

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Arguments received by Product.call"):
        Product()(tf.ones([1, 4]))


def test_a_models_submodules_are_its_layers_and_theirs():
    inner = keras.Sequential([keras.layers.Dense(2), keras.layers.Dropout(0.5)])
    model = keras.Sequential([inner, keras.layers.Dense(1)])
    model.build((None, 3))
    found = {id(layer) for layer in model.submodules}
    assert {id(layer) for layer in (inner, *inner.layers, model.layers[1])} <= found
    assert id(model) not in found
    assert all(isinstance(layer, keras.layers.Layer) for layer in model.submodules)
    assert not any(isinstance(layer, keras.Sequential) for layer in inner.submodules)
