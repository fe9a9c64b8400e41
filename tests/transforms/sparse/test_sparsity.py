"""`GradientTape.sparsity` and `jacobian(..., sparse=True)`: how many products they take, targets
and sources, tapes, and random programs.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradtape as tf
from gradtape.transforms.sparse import sparsity

from .checks import band, check, five_points, record

rng = np.random.default_rng(5)


@pytest.fixture
def products(monkeypatch):
    """Counts the products that go back, and those that go forward."""
    counts = {"back": 0, "forward": 0}
    product_of = sparsity._product

    def counted_product_of(tape, recording, target, source, columns, pace):
        product = product_of(tape, recording, target, source, columns, pace)

        def counted(seeds):
            counts["forward" if columns else "back"] += len(seeds.array)
            return product(seeds)

        return counted

    monkeypatch.setattr(sparsity, "_product", counted_product_of)
    return counts


# How many products


def laplace(x):
    return x[:-2] - 2 * x[1:-1] ** 2 + tf.sin(x[2:])


def test_a_tridiagonal_jacobian_of_any_size_takes_three_products(products):
    x = np.linspace(0.0, 1.0, 20_000)
    tape, x, y = record(lambda x: laplace(tf.pad(x, [[1, 1]])), x)
    found = tape.jacobian(y, x, sparse=True)
    assert products == {"back": 3, "forward": 0}
    np.testing.assert_allclose(found.diagonal(), -4 * x.numpy())
    np.testing.assert_allclose(found.diagonal(-1), 1.0)
    np.testing.assert_allclose(found.diagonal(1), np.cos(x.numpy()[1:]))
    assert found.nnz == 59_998


@pytest.mark.parametrize(
    ("f", "shape", "count"),
    [
        (lambda x: tf.roll(x, 1, 0) * x - tf.roll(x, -1, 0), (3000,), 3),
        (lambda x: tf.concat([x[1:], [0.0]], 0) + tf.concat([[0.0], x[:-1]], 0) * x, (2000,), 3),
        (five_points, (40, 40), 5),
        (lambda x: tf.exp(x) * x, (500,), 1),
        (lambda x: x @ np.ones((50, 4, 4)), (50, 3, 4), 4),
        (lambda x: tf.reduce_sum(x, 0), (20, 30), 1),
    ],
    ids=["periodic", "concat", "five points", "diagonal", "matrices", "sums"],
)
def test_number_of_products(products, f, shape, count):
    tape, x, y = record(f, rng.uniform(0.5, 1.5, shape))
    tape.jacobian(y, x, sparse=True)
    assert products == {"back": count, "forward": 0}


def arrow(x):
    """The first element goes into all, each other one into its own."""
    return x[0] * x


def test_few_columns_go_forward_and_few_rows_back(products):
    tape, x, y = record(arrow, np.arange(1.0, 51.0))
    check(tape, y, x)
    assert products == {"back": 0, "forward": 2}
    assert tape.jacobian(y, x, sparse=True, mode="reverse").nnz == 99
    assert products == {"back": 50, "forward": 2}
    tape, x, y = record(lambda x: tf.concat([[tf.reduce_sum(x**2)], x], 0), np.arange(1.0, 51.0))
    check(tape, y, x)
    assert products == {"back": 52, "forward": 2}
    found = tape.jacobian(y, x, sparse=True, mode="forward")
    assert products == {"back": 52, "forward": 52}
    np.testing.assert_array_equal(found.toarray(), tape.jacobian(y, x).numpy())


def test_a_dense_pattern_is_computed_as_a_dense_jacobian(products):
    matrix = rng.standard_normal((40, 40))
    tape, x, y = record(lambda x: tf.linalg.matvec(matrix, x) ** 2, rng.standard_normal(40))
    assert check(tape, y, x).all()
    assert products == {"back": 0, "forward": 0}


@pytest.mark.parametrize(
    "options",
    [
        {"memory_limit": 1},
        {"memory_limit": 4000},
        {"parallel_iterations": 2},
        {"experimental_use_pfor": False},
    ],
    ids=repr,
)
@pytest.mark.parametrize("f", [laplace, arrow], ids=["rows", "columns"])
def test_products_in_parts(f, options):
    tape, x, y = record(f, rng.uniform(0.5, 1.5, 50))
    expected = tape.jacobian(y, x, sparse=True).toarray()
    np.testing.assert_allclose(
        tape.jacobian(y, x, sparse=True, **options).toarray(), expected, rtol=1e-12
    )


# Targets and sources


def test_structures():
    a, b = tf.constant([1.0, 2.0]), tf.Variable([[3.0], [4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(a)
        targets = {"product": a * b, "none": tf.constant(1.0), "sum": [tf.reduce_sum(b)]}
    found = tape.jacobian(targets, [a, b], sparse=True)
    patterns = tape.sparsity(targets, [a, b])
    assert patterns["product"][1].toarray().astype(int).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert found["product"][0].toarray().tolist() == [
        [3.0, 0.0],
        [0.0, 3.0],
        [4.0, 0.0],
        [0.0, 4.0],
    ]
    assert found["product"][1].toarray().tolist() == [
        [1.0, 0.0],
        [2.0, 0.0],
        [0.0, 1.0],
        [0.0, 2.0],
    ]
    assert found["none"] == [None, None]
    assert found["sum"][0][0] is None
    assert found["sum"][0][1].toarray().tolist() == [[1.0, 1.0]]
    assert [pattern.nnz for pattern in patterns["none"]] == [0, 0]


def test_without_a_path():
    tape, _, y = record(lambda x: x * x, [1.0, 2.0])
    other = tf.Variable([[1.0, 2.0, 3.0]])
    assert tape.jacobian(y, other, sparse=True) is None
    zeros = tape.jacobian(y, other, sparse=True, unconnected_gradients="zero")
    assert zeros.shape == (2, 3)
    assert zeros.dtype == np.float32
    assert not zeros.nnz
    assert tape.sparsity(y, other).shape == (2, 3)
    assert not tape.sparsity(y, other).nnz


@pytest.mark.parametrize("source_shape", [(), (2,), (0,), (2, 0)])
@pytest.mark.parametrize("target_shape", [(), (3,), (0,), (1, 2)])
def test_scalars_and_empty_arrays(source_shape, target_shape):
    tape, x, y = record(
        lambda x: tf.reduce_sum(x) * tf.ones(target_shape), np.ones(source_shape, np.float32)
    )
    assert check(tape, y, x).all()


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("shape", [(), (2,), (0,)])
def test_a_target_by_itself(shape, recorded):
    x = tf.ones(shape)
    with tf.GradientTape(persistent=True) as tape:
        if recorded:
            tape.watch(x)
    np.testing.assert_array_equal(check(tape, x, x), np.eye(x.array.size))
    tape, _, y = record(lambda x: x * x, x)
    np.testing.assert_array_equal(check(tape, y, y), np.eye(x.array.size))


def test_a_source_on_the_way():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        middle = tf.cumsum(x)
        y = middle**2
    np.testing.assert_array_equal(check(tape, y, middle), np.eye(3))


def test_integers_have_none():
    n = tf.constant([1, 2])
    tape, x, y = record(lambda x: x * x, [1.0, 2.0])
    assert tape.jacobian(y, n, sparse=True) is None
    assert tape.jacobian(n, n, sparse=True) is None
    assert tape.jacobian(tf.cast(x, tf.int32), x, sparse=True) is None
    assert tape.jacobian(y, n, sparse=True, unconnected_gradients="zero").dtype == np.int32
    assert not tape.sparsity(n, n).nnz


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtypes(dtype):
    tape, x, y = record(lambda x: x[1:] * x[:-1] ** 2, rng.uniform(0.5, 1.5, 5).astype(dtype))
    np.testing.assert_array_equal(check(tape, y, x), band(4, 0, 1, 5))
    assert tape.jacobian(y, x, sparse=True).dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_comes_as_float32(dtype):
    tape, x, y = record(lambda x: tf.tanh(x)[1:] * x[:-1], tf.constant([0.5, 1.0, 2.0], dtype))
    found = tape.jacobian(y, x, sparse=True)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), tape.jacobian(y, x).numpy().astype(np.float32))


def test_a_source_of_another_dtype():
    tape, x, y = record(
        lambda x: tf.cast(x, tf.float64)[0] ** 2 * tf.ones([5], tf.float64), np.float32([1.0, 2.0])
    )
    check(tape, y, x)
    tape, x, y = record(lambda x: tf.complex(x, x[::-1]) ** 2, [1.0, 2.0])
    check(tape, y, x)
    tape, x, y = record(lambda x: tf.math.real(x * x), tf.constant([1.0 + 2.0j, 2.0]))
    check(tape, y, x)


def test_rows_of_a_variable():
    table = tf.Variable(rng.standard_normal((4, 2)))
    tape, _, y = record(lambda table: tf.reduce_sum(tf.gather(table, [1, 3, 1]), 1), table)
    assert check(tape, y, table).astype(int).tolist() == [
        [0, 0, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 1],
        [0, 0, 1, 1, 0, 0, 0, 0],
    ]


def test_infinite_derivatives_stay_in_their_places():
    tape, x, y = record(lambda x: tf.debugging.check_numerics(tf.sqrt(x), ""), [0.0, 1.0, 4.0])
    assert tape.sparsity(y, x).toarray().tolist() == np.eye(3, dtype=bool).tolist()
    tape, x, y = record(tf.sqrt, [0.0, 1.0, 4.0])
    assert tape.jacobian(y, x, sparse=True).toarray().tolist() == [
        [np.inf, 0.0, 0.0],
        [0.0, 0.5, 0.0],
        [0.0, 0.0, 0.25],
    ]


# Tapes


def test_a_tape_gives_one_jacobian_and_any_number_of_patterns():
    tape, x, y = record(laplace, rng.standard_normal(6), persistent=False)
    for _ in range(2):
        assert tape.sparsity(y, x).nnz == 12
    assert tape.jacobian(y, x, sparse=True).nnz == 12
    for method in (lambda: tape.sparsity(y, x), lambda: tape.jacobian(y, x, sparse=True)):
        with pytest.raises(RuntimeError, match="used up"):
            method()


def test_inside_its_own_block_nothing_is_recorded():
    x = tf.constant([1.0, 2.0])
    with (
        tf.GradientTape(persistent=True) as outer,
        tf.GradientTape(persistent=True, strict=True) as tape,
    ):
        tape.watch(x)
        outer.watch(x)
        y = x**3
        pattern = tape.sparsity(y, x)
        jacobian = tape.jacobian(y, x, sparse=True)
    assert pattern.toarray().astype(int).tolist() == [[1, 0], [0, 1]]
    assert jacobian.toarray().tolist() == [[3.0, 0.0], [0.0, 12.0]]
    assert outer.gradient(y, x).numpy().tolist() == [3.0, 12.0]


def test_the_hessian_of_a_chain():
    x = tf.constant(rng.standard_normal(30))
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            energy = tf.reduce_sum((x[1:] - x[:-1] ** 2) ** 2)
        slope = inner.gradient(energy, x)
    np.testing.assert_array_equal(check(outer, slope, x), band(30, -1, 1))


def test_long_recordings():
    def steps(x):
        for _ in range(300):
            x = x + 0.01 * tf.tanh(x)
        return x

    tape, x, y = record(steps, np.linspace(0, 1, 5))
    np.testing.assert_array_equal(check(tape, y, x), np.eye(5))


def test_a_stack_of_single_elements():
    tape, x, y = record(
        lambda x: tf.stack([x[i] * x[i - 1] for i in range(40)]), rng.standard_normal(40)
    )
    np.testing.assert_array_equal(check(tape, y, x), np.eye(40) + np.roll(np.eye(40), 1, 0) > 0)


def test_what_is_refused():
    tape, x, y = record(lambda x: x * x, [1.0, 2.0])
    for refused in (None, "y", np.ones(2)):
        with pytest.raises((TypeError, AttributeError), match="sparsity: target"):
            tape.sparsity(refused, x)
        with pytest.raises((TypeError, AttributeError), match="sparsity: source"):
            tape.sparsity(y, refused)
    with pytest.raises(ValueError, match="vmap"):
        tf.vmap(lambda _: tape.jacobian(y, x, sparse=True) and 0)(tf.ones([2]))
    with pytest.raises(RuntimeError, match="recorded nothing"):
        tf.GradientTape().sparsity(y, x)
    tape, z, y = record(lambda z: z * z, tf.constant([1j]))
    with pytest.raises(ValueError, match=r"mode='forward'.*real"):
        tape.jacobian(y, z, sparse=True, mode="forward")


# Programs put together at random

STEPS = (
    lambda x: tf.sin(x) + x * 0.5,
    lambda x: tf.concat([x[1:], x[:1] ** 2], 0),
    lambda x: tf.reverse(x, [0]) * x,
    lambda x: tf.gather(x, [0, 0, 5, 4, 3, 1]),
    lambda x: tf.reshape(tf.transpose(tf.reshape(x, [2, 3])), [6]),
    lambda x: tf.reshape(tf.nn.softmax(tf.reshape(x, [3, 2])), [6]),
    lambda x: tf.repeat(tf.reduce_sum(tf.reshape(x, [3, 2]), 1), 2),
    lambda x: tf.pad(tf.reduce_max(tf.reshape(x, [2, 3]), 0), [[1, 2]]) + x,
    lambda x: tf.where(x > 0, x * x, tf.roll(x, 2, 0)),
    lambda x: tf.cumsum(x[:3], 0)[:, None] * tf.constant([[1.0, 0.0]], tf.float64),
    lambda x: tf.tensor_scatter_nd_update(x, [[1], [4]], x[:2] ** 2),
    lambda x: tf.math.unsorted_segment_sum(x, [2, 0, 5, 5, 0, 1], 6),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5), st.integers(0, 5))
def test_random_programs(steps, cut):
    def program(x):
        for step in steps:
            x = tf.reshape(step(x), [6])
        return x[cut:]

    tape, x, y = record(program, np.random.default_rng(1).uniform(-1, 1, 6))
    check(tape, y, x)
