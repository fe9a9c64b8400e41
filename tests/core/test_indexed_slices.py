"""Sparse gradients: where `IndexedSlices` come from, how they add up,
and what can be done with them.
"""

import numpy as np
import pytest

import gradtape as tf


def table():
    return tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def dense(gradient):
    return tf.convert_to_tensor(gradient).numpy().tolist()


def gradient_of(function, source):
    """The gradient of the sum of squares of `function(source)`."""
    with tf.GradientTape() as tape:
        tape.watch(source)
        y = function(source)
        loss = tf.reduce_sum(y * y)
    return tape.gradient(loss, source)


def example():
    return tf.IndexedSlices(
        tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([2, 0]), tf.constant([3, 2])
    )


# Where they come from


@pytest.mark.parametrize(
    "pick",
    [
        lambda v: tf.gather(v, [2, 0]),
        lambda v: tf.gather(v, tf.constant([2, 0], tf.int64), axis=0),
        lambda v: tf.nn.embedding_lookup(v, [2, 0]),
        lambda v: v.sparse_read([2, 0]),
        lambda v: v.gather_nd([[2], [0]]),
        lambda v: tf.gather_nd(v, [[2], [0]]),
        lambda v: tf.gather(v.read_value(), [2, 0]),
        lambda v: tf.gather(tf.convert_to_tensor(v), [2, 0]),
        lambda v: tf.gather(tf.identity(v), [2, 0]),
    ],
    ids=[
        "gather",
        "gather of int64",
        "embedding_lookup",
        "sparse_read",
        "Variable.gather_nd of rows",
        "gather_nd of rows",
        "gather of a read",
        "gather of a converted variable",
        "gather of an identity",
    ],
)
def test_picking_rows_of_a_variable_gives_slices(pick):
    gradient = gradient_of(pick, table())
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.indices.numpy().tolist() == [2, 0]
    assert gradient.values.numpy().tolist() == [[10.0, 12.0], [2.0, 4.0]]
    assert dense(gradient) == [[2.0, 4.0], [0.0, 0.0], [10.0, 12.0]]


def test_picking_rows_of_a_watched_tensor_gives_slices():
    assert isinstance(
        gradient_of(lambda x: tf.gather(x, [2, 0]), tf.constant([1.0, 2.0, 3.0])), tf.IndexedSlices
    )


@pytest.mark.parametrize(
    ("pick", "expected"),
    [
        (lambda v: v[1], [[0.0, 0.0], [6.0, 8.0], [0.0, 0.0]]),
        (lambda v: v[0:2], [[2.0, 4.0], [6.0, 8.0], [0.0, 0.0]]),
        (lambda v: tf.gather(v, [1], axis=1), [[0.0, 4.0], [0.0, 8.0], [0.0, 12.0]]),
        (
            lambda v: tf.gather(v, [[0], [0], [1]], batch_dims=1),
            [[2.0, 0.0], [6.0, 0.0], [0.0, 12.0]],
        ),
        (lambda v: tf.gather_nd(v, [[0, 1], [2, 0]]), [[0.0, 4.0], [0.0, 0.0], [10.0, 0.0]]),
        (lambda v: tf.boolean_mask(v, [False, True, False]), [[0.0, 0.0], [6.0, 8.0], [0.0, 0.0]]),
        (lambda v: tf.gather(v * 1.0, [1]), [[0.0, 0.0], [6.0, 8.0], [0.0, 0.0]]),
    ],
    ids=[
        "item",
        "slice",
        "another axis",
        "batch_dims",
        "gather_nd",
        "boolean_mask",
        "an intermediate result",
    ],
)
def test_other_ways_of_picking_give_a_tensor(pick, expected):
    gradient = gradient_of(pick, table())
    assert isinstance(gradient, tf.Tensor)
    assert gradient.numpy().tolist() == expected


def test_repeated_indices_stay_as_they_were_called():
    gradient = gradient_of(lambda v: tf.gather(v, [1, 1, 0]), table())
    assert gradient.indices.numpy().tolist() == [1, 1, 0]
    assert dense(gradient) == [[2.0, 4.0], [12.0, 16.0], [0.0, 0.0]]


def test_indices_of_any_shape_are_flattened():
    gradient = gradient_of(lambda v: tf.gather(v, [[0, 1], [2, 0]]), table())
    assert gradient.indices.numpy().tolist() == [0, 1, 2, 0]
    assert gradient.values.shape == (4, 2)


def test_the_fields_of_a_gradient():
    gradient = gradient_of(lambda v: tf.gather(v, [2, 0]), table())
    assert gradient.shape == (3, 2)
    assert gradient.dense_shape.numpy().tolist() == [3, 2]
    assert gradient.dtype == tf.float32
    assert "CPU" in gradient.device


# How they add up


def test_sparse_and_sparse_are_put_one_after_the_other():
    v = table()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(v, [0])) + tf.reduce_sum(tf.gather(v, [2, 0])) * 2.0
    gradient = tape.gradient(y, v)
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.indices.numpy().tolist() == [0, 2, 0]  # in the order of the calls
    assert dense(gradient) == [[3.0, 3.0], [0.0, 0.0], [2.0, 2.0]]


def test_index_dtypes_that_differ_are_unified():
    v = table()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(v, tf.constant([0], tf.int32))) + tf.reduce_sum(
            tf.gather(v, tf.constant([1], tf.int64))
        )
    gradient = tape.gradient(y, v)
    assert gradient.indices.dtype == tf.int64
    assert dense(gradient) == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("dense_first", [True, False])
def test_sparse_and_dense_are_dense(dense_first):
    v = table()
    with tf.GradientTape() as tape:
        parts = [tf.reduce_sum(v), tf.reduce_sum(tf.gather(v, [2]))]
        y = parts[0] + parts[1] if dense_first else parts[1] + parts[0]
    gradient = tape.gradient(y, v)
    assert isinstance(gradient, tf.Tensor)
    assert gradient.numpy().tolist() == [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]


# What can be done with them


def test_making_one():
    g = tf.IndexedSlices(values=tf.constant([1.0]), indices=tf.constant([0]))
    assert g.dense_shape is None
    assert g.values.numpy().tolist() == [1.0]
    assert g.indices.numpy().tolist() == [0]


def test_minus_keeps_them_sparse():
    g = -example()
    assert isinstance(g, tf.IndexedSlices)
    assert g.values.numpy().tolist() == [[-1.0, -2.0], [-3.0, -4.0]]
    assert g.indices.numpy().tolist() == [2, 0]


@pytest.mark.parametrize(
    "operation",
    [lambda g: g * 2.0, lambda g: 2.0 * g, lambda g: g + g, lambda g: g - g, lambda g: g / 2.0],
    ids=["g * 2", "2 * g", "g + g", "g - g", "g / 2"],
)
def test_no_other_operator_is_defined(operation):
    with pytest.raises(TypeError):
        operation(example())


def test_there_is_no_numpy_method():
    with pytest.raises(AttributeError):
        example().numpy()


@pytest.mark.parametrize("name", ["name", "op", "graph"])
def test_the_attributes_of_graphs_are_not_there(name):
    with pytest.raises(AttributeError):
        getattr(example(), name)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (tf.convert_to_tensor, [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]),
        (tf.square, [[9.0, 16.0], [0.0, 0.0], [1.0, 4.0]]),
        (tf.reduce_sum, 10.0),
        (lambda g: tf.stack([g, g])[1], [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]),
        (lambda g: tf.add(g, g), [[6.0, 8.0], [0.0, 0.0], [2.0, 4.0]]),
        (lambda g: tf.constant(2.0) * g, [[6.0, 8.0], [0.0, 0.0], [2.0, 4.0]]),
        (lambda g: tf.ones([3, 2]) - g, [[-2.0, -3.0], [1.0, 1.0], [0.0, -1.0]]),
    ],
    ids=[
        "convert_to_tensor",
        "square",
        "reduce_sum",
        "stack",
        "add",
        "tensor * slices",
        "tensor - slices",
    ],
)
def test_functions_make_them_dense(function, expected):
    result = function(example())
    assert isinstance(result, tf.Tensor)
    assert result.numpy().tolist() == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda g: tf.cast(g, tf.float64), [[1.0, 2.0], [3.0, 4.0]]),
        (tf.identity, [[1.0, 2.0], [3.0, 4.0]]),
        (lambda g: tf.math.scalar_mul(2.0, g), [[2.0, 4.0], [6.0, 8.0]]),
    ],
    ids=["cast", "identity", "scalar_mul"],
)
def test_these_keep_them_sparse(function, expected):
    result = function(example())
    assert isinstance(result, tf.IndexedSlices)
    assert result.values.numpy().tolist() == expected
    assert result.indices.numpy().tolist() == [2, 0]


def test_cast_casts_the_values():
    assert tf.cast(example(), tf.float64).dtype == tf.float64


def test_flatten_keeps_them_whole():
    g = example()
    assert tf.nest.flatten([g, {"a": g}]) == [g, g]


def test_without_dense_shape_they_cannot_be_made_dense():
    with pytest.raises(ValueError):
        tf.convert_to_tensor(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))


def test_they_are_no_source_and_no_target():
    x, g = tf.constant(1.0), example()
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(AttributeError):
        tape.gradient(y, g)
    with pytest.raises(AttributeError):
        tape.gradient(g, x)


@pytest.mark.parametrize(
    "part", [lambda g: g.values, tf.convert_to_tensor], ids=["values", "dense"]
)
def test_second_order_through_their_values(part):
    v = table()
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            rows = tf.gather(v, [2, 2])
            y = tf.reduce_sum(rows * rows * rows)
        loss = tf.reduce_sum(part(inner.gradient(y, v)))  # 2 * 3 v^2 in the last row
    assert dense(outer.gradient(loss, v)) == [[0.0, 0.0], [0.0, 0.0], [60.0, 72.0]]


def test_a_variable_takes_them_as_an_update():
    v = table()
    gradient = gradient_of(lambda v: tf.gather(v, [0, 0]), v)
    v.scatter_sub(tf.IndexedSlices(gradient.values * 0.25, gradient.indices))
    np.testing.assert_array_equal(v.numpy(), [[0.0, 0.0], [3.0, 4.0], [5.0, 6.0]])


def test_repr_names_the_parts():
    text = repr(example())
    assert all(part in text for part in ("IndexedSlices", "indices=", "values=", "dense_shape="))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("kind", [tf.constant, tf.Variable])
def test_a_second_derivative_of_a_gather(kind, forward, compiled):
    """It is refused as in TensorFlow; the message says what gives it."""
    x = kind([1.0, 2.0, 3.0])

    def second(convert):
        with tf.GradientTape() as outer, tf.autodiff.ForwardAccumulator(x, tf.ones([3])) as pushed:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.gather(x, [0, 0, 2]) ** 3)
            first = convert(inner.gradient(y, x))
        return pushed.jvp(first) if forward else outer.gradient(first, x)

    run = tf.function(second) if compiled else second
    with pytest.raises(AttributeError, match="make it a tensor with gradtape"):
        run(lambda slices: slices)
    found = tf.convert_to_tensor(run(tf.convert_to_tensor))
    np.testing.assert_array_equal(found, [12.0, 0.0, 18.0])


def by_a_gather(v, ids):
    return tf.gather(v * 1.0, ids)


def beside_another_path(v, ids):
    return tf.gather(v, ids) + 0.0 * v[0]


def by_elements(v, ids):
    return tf.gather_nd(v * 1.0, ids[:, None])


def of_a_second_axis(v, ids):
    return tf.gather(tf.transpose(v), ids, axis=1)


def twice(v, ids):
    return tf.gather(tf.gather(v * 1.0, [1, 0, 1]), ids)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("width", [1, 8, 9, 130])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "pick", [by_a_gather, beside_another_path, by_elements, of_a_second_axis, twice]
)
def test_sums_of_half_precision_are_rounded_once(pick, dtype, width, compiled, persistent):
    """In half precision 4096 times 1 is no more than 2048, or 256, if every sum is rounded."""
    v = tf.Variable(tf.zeros([2, width], dtype))
    ids = np.zeros(4096, np.int32)

    def gradient():
        with tf.GradientTape(persistent=persistent) as tape:
            y = pick(v, ids)
        return tf.convert_to_tensor(tape.gradient(y, v))

    found = (tf.function(gradient) if compiled else gradient)()
    assert found.dtype == dtype
    rows = [[0.0] * width, [4096.0] * width]
    np.testing.assert_array_equal(tf.cast(found, tf.float32), rows if pick is twice else rows[::-1])
