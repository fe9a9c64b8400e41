"""`GradientTape.sparsity` and `jacobian(..., sparse=True)`, and the colouring under them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

import gradtape as tf
from gradtape.ops import links
from gradtape.ops.links import Link, aligned, pairs
from gradtape.ops.op import registry
from gradtape.transforms.sparse import dependence, sparsity
from gradtape.transforms.sparse.colouring import colour_columns
from tests.ops import checks
from tests.ops.table import all_cases

rng = np.random.default_rng(5)


def record(f, x, *, persistent=True):
    """A tape that has recorded y = f(x), with x and y."""
    x = x if isinstance(x, (tf.Tensor, tf.Variable)) else tf.constant(x)
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = f(x)
    return tape, x, y


def check(tape, y, x):
    """The pattern covers the dense Jacobian, and the sparse one equals it; gives the pattern as an array."""
    pattern = tape.sparsity(y, x)
    assert pattern.format == "csr"
    assert pattern.dtype == bool
    shape = (int(tf.size(y)), int(tf.size(x)))
    assert pattern.shape == shape
    expected = tape.jacobian(y, x)
    found = tape.jacobian(y, x, sparse=True)
    if expected is None:
        assert found is None
        assert not pattern.nnz
        return pattern.toarray()
    expected = np.asarray(tf.convert_to_tensor(expected)).reshape(shape)
    assert not (expected != 0)[~pattern.toarray()].any()
    assert found.format == "csr"
    assert found.dtype == expected.dtype
    assert found.nnz == pattern.nnz
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-5 if expected.dtype.itemsize < 8 else 1e-10, atol=1e-12)
    return pattern.toarray()


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


# Every op


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", [case for case in all_cases() if case.orders], ids=lambda case: case.name)
def test_no_entry_of_any_op_is_missed(case, monkeypatch):
    def refused(*args):
        pytest.fail(f"{case.name} is taken to link everything with everything: its derivative calls itself, so it needs a rule")

    monkeypatch.setattr(dependence, "_everything", refused)
    for one in case.samples:
        dtype = next((dtype for dtype in ("float64", "complex128") if dtype in case.dtypes_of(one)), None)
        if dtype is None:
            continue
        tensors = checks.as_tensors(case.make(one, dtype))
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([tensors[i] for i in one.wanted])
            targets = checks.outputs(case.function(one), tensors)
        for target in targets:
            for i in one.wanted:
                check(tape, target, tensors[i])


def test_a_wrong_rule_is_noticed(monkeypatch):
    monkeypatch.setattr(registry["cumsum"], "links", links.elementwise)
    tape, x, y = record(tf.cumsum, rng.uniform(0.5, 1.5, 4))
    with pytest.raises(AssertionError):
        check(tape, y, x)


def test_an_op_that_calls_itself_in_its_derivative_and_has_no_rule_links_everything(monkeypatch):
    monkeypatch.setattr(registry["cumsum"], "links", None)
    tape, x, y = record(tf.cumsum, rng.uniform(0.5, 1.5, 4))
    assert check(tape, y, x).all()


# Patterns that are known


def band(n, low, high, m=None):
    steps = np.arange(n if m is None else m) - np.arange(n)[:, None]
    return (low <= steps) & (steps <= high)


def blocks(count, rows, columns):
    return np.kron(np.eye(count), np.ones((rows, columns))) > 0


def five_points(x):
    return -4 * x[1:-1, 1:-1] + x[2:, 1:-1] ** 2 + x[:-2, 1:-1] + x[1:-1, 2:] * x[1:-1, :-2]


def five_points_pattern(n):
    one, near = np.eye(n), band(n, -1, 1)
    return np.kron(one, near) + np.kron(near, one) > 0


@tf.custom_gradient
def doubled(x):
    return x * 2.0, lambda g: g * 2.0


PATTERNS = {
    "elementwise": (lambda x: tf.tanh(x) * x + tf.exp(-x), (5,), np.eye(5)),
    "slices": (lambda x: x[:-2] * x[1:-1] ** 2 + tf.sin(x[2:]), (6,), band(4, 0, 2, 6)),
    "pad": (lambda x: (p := tf.pad(x, [[1, 1]]))[:-2] * p[1:-1] + p[2:], (6,), band(6, -1, 1)),
    "concat": (lambda x: tf.concat([x[1:], [0.0]], 0) * x, (5,), band(5, 0, 1)),
    "the same twice": (lambda x: tf.concat([x, x * x], 0), (3,), np.vstack([np.eye(3)] * 2)),
    "roll": (lambda x: tf.roll(x, 1, 0) * x, (5,), np.eye(5) + np.roll(np.eye(5), 1, 0)),
    "stencil": (lambda x: five_points(tf.pad(x, [[1, 1], [1, 1]])), (4, 4), five_points_pattern(4)),
    "transposed": (lambda x: tf.transpose(x), (2, 3), np.eye(6).reshape(2, 3, 6).transpose(1, 0, 2).reshape(6, 6)),
    "broadcast": (lambda x: x[:, None] * tf.ones([2], tf.float64), (3,), np.repeat(np.eye(3), 2, 0)),
    "outer product": (lambda x: x[:, None] * x, (2,), [[1, 0], [1, 1], [1, 1], [0, 1]]),
    "matrices": (lambda x: x @ tf.ones([4, 3, 2], tf.float64), (4, 2, 3), np.kron(np.eye(8), np.ones((2, 3)))),
    "by the right one": (lambda x: tf.ones([2, 3], tf.float64) @ x, (3, 2), np.kron(np.ones((2, 3)), np.eye(2))),
    "dense": (lambda x: tf.tensordot(tf.ones([3, 4], tf.float64), x, 1), (4,), np.ones((3, 4))),
    "einsum": (lambda x: tf.einsum("bi,bj->bj", x, x**2), (3, 2), blocks(3, 2, 2)),
    "sum": (lambda x: tf.reduce_sum(x, 1), (3, 2), blocks(3, 1, 2)),
    "mean of all": (lambda x: tf.reduce_mean(x), (3, 2), np.ones((1, 6))),
    "maximum": (lambda x: tf.reduce_max(x, 1), (3, 2), blocks(3, 1, 2)),
    "softmax": (lambda x: tf.nn.softmax(x), (3, 4), blocks(3, 4, 4)),
    "gather": (lambda x: tf.gather(x, [2, 0, 2]), (3,), np.eye(3)[[2, 0, 2]]),
    "gather of columns": (lambda x: tf.gather(x, [1, 1], axis=1), (2, 2), np.eye(4)[[1, 1, 3, 3]]),
    "sort": (lambda x: tf.sort(x * [[3.0, 1.0, -1.0]]), (1, 3), None),
    "segments": (lambda x: tf.math.segment_sum(x, [0, 0, 1]), (3,), [[1, 1, 0], [0, 0, 1]]),
    "largest of segments": (lambda x: tf.math.segment_max(x, [0, 0, 1]), (3,), [[1, 1, 0], [0, 0, 1]]),
    "scattered": (lambda x: tf.scatter_nd([[3], [0]], x, [4]), (2,), [[0, 1], [0, 0], [0, 0], [1, 0]]),
    "where": (lambda x: tf.where([True, False, True], x, x[::-1]), (3,), [[1, 0, 1], [0, 1, 0], [1, 0, 1]]),
    "mask": (lambda x: tf.boolean_mask(x, [True, False, True]) ** 2, (3,), np.eye(3)[[0, 2]]),
    "running sum": (lambda x: tf.cumsum(x), (7,), band(7, -7, 0)),
    "running sum, reverse, of what follows": (lambda x: tf.cumsum(x, exclusive=True, reverse=True), (6,), band(6, 1, 6)),
    "running product": (lambda x: tf.math.cumprod(x), (5,), band(5, -5, 0)),
    "several outputs": (lambda x: tf.split(x, [1, 3], 0)[1] ** 2, (4,), np.eye(4)[1:]),
    "outputs joined": (lambda x: (p := tf.unstack(x, axis=1))[0] * p[2], (2, 3), [[1, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1]]),
    "inverses": (lambda x: tf.linalg.inv(x), (2, 2, 2), blocks(2, 4, 4)),
    "singular values": (lambda x: tf.linalg.svd(x, compute_uv=False), (2, 2, 3), blocks(2, 2, 6)),
    "systems": (lambda x: tf.linalg.solve(tf.eye(2, dtype=tf.float64) * 2, x), (2, 3), np.kron(np.ones((2, 2)), np.eye(3))),
    "convolution": (lambda x: tf.nn.conv1d(x, np.ones((3, 1, 1)), 1, "SAME"), (1, 5, 1), band(5, -1, 1)),
    "pooling": (lambda x: tf.nn.max_pool1d(x, 2, 2, "VALID"), (1, 6, 1), blocks(3, 1, 2)),
    "channels by themselves": (
        lambda x: tf.nn.depthwise_conv2d(x, np.ones((1, 1, 2, 2)), [1, 1, 1, 1], "VALID"), (1, 1, 2, 2), blocks(4, 2, 1),
    ),
    "fourier": (lambda x: tf.abs(tf.signal.rfft(x)), (2, 4), blocks(2, 3, 4)),
    "image": (lambda x: tf.image.resize(x, [2, 1]), (4, 1, 1), blocks(2, 1, 2)),
    "constants": (lambda x: tf.stop_gradient(x) * 2.0 + x[::-1] * 0.0, (3,), np.eye(3)[::-1]),
    "a step": (lambda x: tf.sign(x), (2,), None),
    "custom gradient": (doubled, (3,), np.eye(3)),
    "recomputed": (tf.recompute_grad(lambda x: x[1:] * x[:-1]), (4,), band(3, 0, 1, 4)),
    "vmap": (tf.vmap(lambda row: row * tf.reduce_sum(row)), (3, 2), blocks(3, 2, 2)),
    "loop": (lambda x: tf.scan(lambda total, part: total * part, x), (4,), band(4, -4, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern(name):
    f, shape, expected = PATTERNS[name]
    found = check(*reversed_pair(record(f, rng.uniform(0.5, 1.5, shape))))
    if expected is not None:
        np.testing.assert_array_equal(found, np.asarray(expected) > 0)


def reversed_pair(recorded):
    tape, x, y = recorded
    return tape, y, x


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
    [{"memory_limit": 1}, {"memory_limit": 4000}, {"parallel_iterations": 2}, {"experimental_use_pfor": False}],
    ids=repr,
)
@pytest.mark.parametrize("f", [laplace, arrow], ids=["rows", "columns"])
def test_products_in_parts(f, options):
    tape, x, y = record(f, rng.uniform(0.5, 1.5, 50))
    expected = tape.jacobian(y, x, sparse=True).toarray()
    np.testing.assert_allclose(tape.jacobian(y, x, sparse=True, **options).toarray(), expected, rtol=1e-12)


# Targets and sources


def test_structures():
    a, b = tf.constant([1.0, 2.0]), tf.Variable([[3.0], [4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(a)
        targets = {"product": a * b, "none": tf.constant(1.0), "sum": [tf.reduce_sum(b)]}
    found = tape.jacobian(targets, [a, b], sparse=True)
    patterns = tape.sparsity(targets, [a, b])
    assert patterns["product"][1].toarray().astype(int).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert found["product"][0].toarray().tolist() == [[3.0, 0.0], [0.0, 3.0], [4.0, 0.0], [0.0, 4.0]]
    assert found["product"][1].toarray().tolist() == [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
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
    tape, x, y = record(lambda x: tf.reduce_sum(x) * tf.ones(target_shape), np.ones(source_shape, np.float32))
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
    tape, x, y = record(lambda x: tf.cast(x, tf.float64)[0] ** 2 * tf.ones([5], tf.float64), np.float32([1.0, 2.0]))
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
    assert tape.jacobian(y, x, sparse=True).toarray().tolist() == [[np.inf, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.25]]


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
    with tf.GradientTape(persistent=True) as outer, tf.GradientTape(persistent=True, strict=True) as tape:
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
    tape, x, y = record(lambda x: tf.stack([x[i] * x[i - 1] for i in range(40)]), rng.standard_normal(40))
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


# Custom gradients


def clipped(g):
    return tf.clip_by_value(g, -1.0, 1.0)


def through_numpy(g):
    return tf.constant(g.numpy() * 2)


@pytest.mark.parametrize(("gradient", "dense"), [(clipped, False), (through_numpy, True)])
def test_a_custom_gradient_is_followed_where_it_can_be(gradient, dense):
    @tf.custom_gradient
    def f(x):
        return x * 1.0, gradient

    tape, x, y = record(lambda x: f(x)[::-1], np.linspace(1, 2, 4))
    expected = np.ones((4, 4)) if dense else np.eye(4)[::-1]
    np.testing.assert_array_equal(check(tape, y, x), expected)
    with pytest.raises(ValueError, match=r"mode='forward'.*custom gradients"):
        tape.jacobian(y, x, sparse=True, mode="forward")


def test_a_custom_gradient_of_several_arguments():
    v = tf.Variable([5.0, 6.0])

    @tf.custom_gradient
    def f(x, y):
        def grad(by_product, by_sum, variables):
            return (by_product * y, by_product * x + by_sum), [by_sum * 0]

        return (x * y, y + v * 0), grad

    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        product, total = f(x, y)
    np.testing.assert_array_equal(check(tape, product, x), np.eye(2))
    np.testing.assert_array_equal(check(tape, total, y), np.eye(2))
    check(tape, total, x)
    check(tape, total, v)


def test_a_gradient_function_that_calls_its_own_function():
    @tf.custom_gradient
    def halved(x):
        return x / 2, lambda g: halved(g)

    tape, x, y = record(halved, [1.0, 2.0])
    assert tape.sparsity(y, x).toarray().all()  # it could be followed without end, so that it is not
    assert tape.jacobian(y, x, sparse=True).toarray().tolist() == [[0.5, 0.0], [0.0, 0.5]]


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


# Links and colours


def test_links_are_products_of_matrices_both_ways():
    link = aligned((2, 3), "ij", (3, 4), "jk")
    dense = np.einsum("jl,i,k->ijlk", np.eye(3), np.ones(2), np.ones(4)).reshape(6, 12) > 0
    eye = lambda n: csr_array(np.eye(n, dtype=bool))
    np.testing.assert_array_equal(link.push(eye(12)).toarray(), dense)
    np.testing.assert_array_equal(link.pull(eye(6)).toarray(), dense.T)
    several = Link(pairs([0, 0, 1], [0, 1, 2], 2, 3), pairs([1], [0], 4, 2))
    np.testing.assert_array_equal(several.push(eye(3)).toarray(), np.eye(4)[[1]].T @ [[1, 1, 0]] > 0)


@st.composite
def patterns(draw):
    shape = draw(st.tuples(st.integers(0, 12), st.integers(0, 12)))
    return csr_array(
        np.array(draw(st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])), bool).reshape(shape)
    )


def conflicts(pattern, colours):
    """Whether two columns of one colour share a row."""
    chosen = csr_array(
        (np.ones(len(colours), int), (np.arange(len(colours)), colours)), shape=(len(colours), max(colours, default=0) + 1)
    )
    return (pattern.astype(int) @ chosen).max() > 1 if pattern.nnz else False


@settings(deadline=None)
@given(patterns())
def test_columns_of_one_colour_share_no_row(pattern):
    colours, count = colour_columns(pattern)
    assert colours.shape == (pattern.shape[1],)
    assert not conflicts(pattern, colours)
    assert count == max(colours, default=-1) + 1
    assert count >= np.diff(pattern.indptr).max(initial=0)
    again, _ = colour_columns(pattern.copy())
    np.testing.assert_array_equal(again, colours)


def test_the_check_of_colours_sees_a_conflict():
    assert conflicts(csr_array(np.ones((1, 2), bool)), np.zeros(2, int))


@pytest.mark.parametrize(("density", "most"), [(0.002, 12), (0.02, 70)])
def test_colours_of_large_random_patterns(density, most):
    pattern = (random_array((800, 1000), density=density, rng=np.random.default_rng(3)) != 0).tocsr()
    colours, count = colour_columns(pattern)
    assert not conflicts(pattern, colours)
    assert count <= most


def test_too_many_pairs_of_columns_are_not_listed():
    pattern = np.zeros((60, 3000), bool)
    pattern[:, :2999] = rng.random((60, 2999)) < 0.5
    pattern[0] = rng.random(3000) < 0.9
    colours, count = colour_columns(csr_array(pattern))
    assert not conflicts(csr_array(pattern), colours)
    assert count < 3000
