"""What needs values to know a shape is beyond XLA: where it is insisted on, the error names the
line. What does not, compiles.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf

X = tf.constant(np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda x: x[x[:, 0] > 1], "gradtape.where"),
        (lambda x: x[tf.cast(x[0, 1], tf.int32) :], "gradtape.slice"),
        (lambda x: tf.boolean_mask(x, x[:, 0] > 1), "gradtape.where"),
        (lambda x: tf.unique(x[0])[0], "sort"),
        (lambda x: tf.where(x > 1), "three arguments"),
        (lambda x: tf.zeros([tf.cast(x[0, 1], tf.int32)]), "Python integer"),
        (lambda x: tf.reshape(x, [tf.cast(x[0, 3], tf.int32), -1]), "Python integer"),
    ],
    ids=["mask", "slice", "boolean_mask", "unique", "where", "zeros", "reshape"],
)
def test_shapes_that_depend_on_values(f, says):
    with pytest.raises(TypeError, match="function") as raised:
        tf.function(f, jit_compile=True)(X)
    assert says in str(raised.value)
    assert "test_shapes.py" in str(raised.value)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i],
        lambda x, i: x[i, 2],
        lambda x, i: x[:, i],
        lambda x, i: x[..., i, None],
        lambda x, i: x[i - 3],
        lambda x, i: tf.slice(x, [i, 0], [1, 2]),
        lambda x, i: tf.slice(x, [0, i], [-1, 2]),
        lambda x, i: tf.gather(x, [i, i]),
    ],
)
def test_places_that_depend_on_values(f):
    i = tf.constant(1)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        eager, compiled = f(X, i), tf.function(f)(X, i)
    np.testing.assert_array_equal(eager, compiled)
    np.testing.assert_array_equal(
        tf.convert_to_tensor(tape.gradient(eager, X)),
        tf.convert_to_tensor(tape.gradient(compiled, X)),
    )


def test_a_block_of_unknown_start_needs_a_size():
    with pytest.raises(tf.errors.InvalidArgumentError, match="size"):
        tf.function(lambda i: tf.slice(X, [i, 0], [-1, 2]))(tf.constant(1))


@pytest.mark.parametrize(
    "key",
    [
        5,
        -3,
        (slice(None), 7),
        (..., 3),
        (..., -4),
        (None, 2),
        (slice(None), None, 3),
        (0, 0, 0),
        (2, ...),
    ],
    ids=repr,
)
def test_an_index_out_of_range_is_refused_as_in_eager_code(key):
    x = tf.zeros([2, 3])
    errors = []
    for f in (lambda: x[key], tf.function(lambda: tf.identity(x)[key])):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            f()
        errors.append(str(caught.value))
    assert all("getitem(float32[2, 3], key=" in error for error in errors)
    if key != (0, 0, 0):
        assert errors[0] == errors[1].split("\n", 1)[0]


READS = {
    "getitem": lambda x, i: x[i],
    "getitem of a column": lambda x, i: x[:, i],
    "gather": tf.gather,
    "gather of columns": lambda x, i: tf.gather(x, [i, i], axis=1),
    "gather_nd": lambda x, i: tf.gather_nd(x, [[i, 0]]),
    "embedding_lookup": lambda x, i: tf.nn.embedding_lookup(x, [i]),
    "cross entropy": lambda x, i: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[i, i, i], logits=x
    ),
}


@pytest.mark.waits
@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("index", [3, 100, -4, -100])
def test_what_is_read_out_of_range_is_nan_where_the_index_is_not_known(read, index):
    x, i = tf.random.normal([3, 3]), tf.constant(index)
    with pytest.raises(tf.errors.InvalidArgumentError):
        read(x, i)
    assert np.isnan(tf.function(read)(x, i).numpy()).all()
