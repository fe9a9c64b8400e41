"""`tf.math.segment_*` and `unsorted_segment_*`: what the op table does not see,
with TensorFlow's answers.
"""

import numpy as np
import pytest

import gradtape as tf

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
SORTED = ["sum", "mean", "max", "min", "prod"]
UNSORTED = [*SORTED, "sqrt_n"]


def sorted_segments(name):
    return getattr(tf.math, f"segment_{name}")


def unsorted_segments(name):
    return getattr(tf.math, f"unsorted_segment_{name}")


@pytest.mark.parametrize(
    ("name", "first", "empty"),
    [
        ("sum", [4, 6], 0),
        ("mean", [2, 3], 0),
        ("max", [3, 4], 0),
        ("min", [1, 2], 0),
        ("prod", [3, 8], 1),
    ],
)
def test_sorted(name, first, empty):
    found = sorted_segments(name)(ROWS, [0, 0, 2])
    assert found.dtype == tf.float32
    np.testing.assert_array_equal(found, [first, [empty, empty], [5, 6]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [3, 4, 0]),
        ("mean", [3, 4, 0]),
        ("max", [3, 4, tf.float32.min]),
        ("min", [3, 4, tf.float32.max]),
        ("prod", [3, 4, 1]),
    ],
)
def test_unsorted(name, expected):
    found = unsorted_segments(name)([3.0, 4.0, 9.0], [0, 1, -1], 3)
    np.testing.assert_allclose(found, expected)


def test_means_of_integers():
    assert tf.math.segment_mean([-1, -2, 4], [0, 0, 2]).numpy().tolist() == [-1, 0, 4]
    found = tf.math.unsorted_segment_mean([1, 2, 4], [0, 0, 2], 3)
    assert found.dtype == tf.float64
    assert found.numpy().tolist() == [1.5, 0, 4]


def test_sqrt_n():
    found = tf.math.unsorted_segment_sqrt_n([1.0, 2.0, 3.0, 4.0, 7.0], [0, 0, 0, 0, 1], 3)
    np.testing.assert_allclose(found, [5, 7, 0])


def test_segments_of_several_axes():
    ids = [[0, 1], [1, 0], [1, 1]]
    assert tf.math.unsorted_segment_sum(ROWS, ids, 2).numpy().tolist() == [5, 16]
    assert tf.math.unsorted_segment_sum(ROWS, 1, 2).numpy().tolist() == [[[0, 0]] * 3, ROWS]


@pytest.mark.parametrize("name", UNSORTED)
def test_no_rows(name):
    if name != "sqrt_n":
        assert sorted_segments(name)(tf.zeros([0, 2]), tf.zeros([0], tf.int32)).shape == (0, 2)
    assert unsorted_segments(name)(tf.zeros([0, 2]), tf.zeros([0], tf.int32), 3).shape == (3, 2)


@pytest.mark.parametrize("name", SORTED)
@pytest.mark.parametrize("ids", [[0, 2, 1], [-1, 0, 1], [0, 0], [[0], [0], [1]], [0.0, 0.0, 1.0]])
def test_refused_sorted(name, ids):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"segment_{name}"):
        sorted_segments(name)(ROWS, ids)


@pytest.mark.parametrize("name", UNSORTED)
@pytest.mark.parametrize(("ids", "count"), [([5, 0, 0], 2), ([0, 1], 2), ([0, 0, 0], -1)])
def test_refused_unsorted(name, ids, count):
    with pytest.raises(tf.errors.InvalidArgumentError):
        unsorted_segments(name)(ROWS, ids, count)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [1, 1, 1, 1, 0]), ("mean", [1 / 3, 1 / 3, 1, 1 / 3, 0]),
        ("max", [0, 0.5, 1, 0.5, 0]), ("min", [1, 0, 1, 0, 0]), ("prod", [4, 0, 1, 0, 0]),
        ("sqrt_n", [3**-0.5, 3**-0.5, 1, 3**-0.5, 0]),
    ],
)  # fmt: skip
def test_gradient(name, expected):
    v = tf.Variable([0.0, 2.0, 3.0, 2.0, 2.0])
    with tf.GradientTape() as tape:
        y = unsorted_segments(name)(v, [0, 0, 1, 0, -1], 3)
    np.testing.assert_allclose(tape.gradient(y, v), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(20))
def test_gradient_of_a_product_that_leaves_the_range_of_normal_numbers_on_its_way(dtype, seed):
    """As 1e-30 * 1e-15 * 1e20 does: the partial derivative is the product of the others, not the
    whole product, which has lost digits, over the row.
    """
    rng = np.random.default_rng(seed)
    power = np.array([-30, -15, 20]) * (9 if dtype == "float64" else 1) * rng.choice([-1, 1])
    v = tf.Variable(rng.uniform(1, 2, 3) * 10.0 ** rng.permutation(power), dtype=dtype)
    with tf.GradientTape() as tape:
        y = tf.math.segment_prod(v, [0, 0, 0])
    a, b, c = v.numpy()
    with np.errstate(over="ignore", under="ignore"):
        expected = [b * c, a * c, a * b]
    np.testing.assert_allclose(tape.gradient(y, v), expected, rtol=1e-6)


def test_hessian_of_a_product_with_zeros():
    """The second derivative by two elements is the product of the others,
    also where elements are zero.
    """
    v = tf.Variable([0.0, 0.0, 5.0], dtype=tf.float64)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = tf.math.segment_prod(v, [0, 0, 0])
        first = inner.gradient(y, v)
    np.testing.assert_array_equal(outer.jacobian(first, v), [[0, 5, 0], [5, 0, 0], [0, 0, 0]])


def test_vmap_with_segments_of_their_own():
    x = np.arange(6.0).reshape(2, 3)
    ids = np.array([[0, 0, 1], [1, -1, 0]])
    found = tf.vmap(lambda x, i: tf.math.unsorted_segment_sum(x, i, 2))(
        tf.constant(x), tf.constant(ids)
    )
    np.testing.assert_array_equal(found, [[1, 2], [5, 3]])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.vmap(lambda x, i: tf.math.unsorted_segment_sum(x, i, 1))(
            tf.constant(x), tf.constant(ids)
        )
