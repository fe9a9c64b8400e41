"""`jacobian` and `batch_jacobian` forward, in reverse, in chunks and as loops:
all give the same, whatever is on the way.
"""

import warnings

import numpy as np
import pytest

import gradtape as tf
from gradtape.transforms.jacobians import jacobian as jacobian_module

rng = np.random.default_rng(21)

WAYS = [
    {"mode": mode, **options}
    for mode in ("reverse", "forward")
    for options in (
        {},
        {"parallel_iterations": 3},
        {"memory_limit": 1},
        {"experimental_use_pfor": False},
    )
]


def one_by_one(tape, y, x):
    """The Jacobian from one gradient for each element of y."""
    rows = [
        tape.gradient(y, x, output_gradients=e.reshape(y.shape), unconnected_gradients="zero")
        for e in np.eye(y.array.size)
    ]
    return np.stack([np.asarray(tf.convert_to_tensor(row)) for row in rows]).reshape(
        *y.shape, *x.shape
    )


def network(x, w):
    hidden = tf.nn.relu(x @ w[0] + w[1])
    return tf.nn.softmax(
        tf.concat([hidden @ w[2], tf.reduce_mean(hidden, axis=1, keepdims=True)], axis=1)
    )


def recorded_network(persistent=True):
    x = tf.constant(rng.standard_normal((2, 3)))
    w = [tf.Variable(rng.standard_normal(shape)) for shape in ((3, 4), (4,), (4, 2))]
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = network(x, w)
    return tape, y, [x, *w]


@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_a_network_in_every_way(options):
    tape, y, sources = recorded_network()
    expected = [one_by_one(tape, y, source) for source in sources]
    for found, wanted in zip(tape.jacobian(y, sources, **options), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_it_uses_up_a_tape_in_every_way(options):
    tape, y, sources = recorded_network(persistent=False)
    assert tape.jacobian(y, sources[1], **options).shape == (2, 3, 3, 4)
    with pytest.raises(RuntimeError):
        tape.jacobian(y, sources[1], **options)


@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_a_tape_around_it_differentiates_it_in_every_way(options):
    x = tf.constant(rng.standard_normal(3))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.exp(x) * tf.reduce_sum(x * x)
        total = tf.reduce_sum(
            inner.jacobian(y, x, **options) * tf.reshape(tf.range(9, dtype=tf.float64), [3, 3])
        )
    found = outer.gradient(total, x).numpy()

    def value(point):
        e = np.exp(point)
        return np.sum(
            (np.diag(e * np.sum(point**2)) + 2 * np.outer(e, point)) * np.arange(9.0).reshape(3, 3)
        )

    differences = [
        (value(x.numpy() + step) - value(x.numpy() - step)) / 2e-6 for step in 1e-6 * np.eye(3)
    ]
    np.testing.assert_allclose(found, differences, rtol=1e-6)


@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_an_accumulator_around_it_pushes_it_in_every_way(options):
    x, along = tf.constant([1.0, 2.0], tf.float64), tf.constant([1.0, 10.0], tf.float64)
    with tf.autodiff.ForwardAccumulator(x, along) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3 * x[0]
        jacobian = tape.jacobian(y, x, **options)
    # y = (a**4, b**3 a), so J = ((4 a**3, 0), (b**3, 3 b**2 a))
    np.testing.assert_allclose(accumulator.jvp(jacobian), [[12.0, 0.0], [120.0, 12.0 + 120.0]])


@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_inside_vmap_in_every_way(options):
    x = tf.constant(rng.standard_normal((4, 3)))

    def of(row):
        with tf.GradientTape() as tape:
            tape.watch(row)
            y = tf.sin(row) * tf.reduce_sum(row)
        return tape.jacobian(y, row, **options)

    for found, row in zip(tf.vmap(of)(x).numpy(), x.numpy(), strict=True):
        np.testing.assert_allclose(found, np.diag(np.cos(row) * row.sum()) + np.sin(row)[:, None])


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("source_shape", [(), (2,), (0,), (1, 2)])
@pytest.mark.parametrize("target_shape", [(), (3, 2), (0,), (2, 0)])
def test_shapes(source_shape, target_shape, mode):
    x = tf.ones(source_shape)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x) * tf.ones(target_shape)
    found = tape.jacobian(y, x, mode=mode)
    assert found.shape == target_shape + source_shape
    np.testing.assert_array_equal(found, 1)


def chosen_mode(monkeypatch, tape, y, sources, **options):
    """Which way "auto" goes."""
    taken = []
    walk, identity = jacobian_module.Pushes, jacobian_module.pull_identity
    monkeypatch.setattr(
        jacobian_module, "Pushes", lambda *args: taken.append("forward") or walk(*args)
    )
    monkeypatch.setattr(
        jacobian_module,
        "pull_identity",
        lambda *args, **kwargs: taken.append("reverse") or identity(*args, **kwargs),
    )
    tape.jacobian(y, sources, **options)
    return taken


def test_auto_takes_the_smaller_side(monkeypatch):
    x, big = tf.constant([1.0, 2.0]), tf.constant(np.ones(50, np.float32))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, big])
        tall = tf.reduce_sum(x) * tf.ones(50) + tf.reduce_sum(x * x)
        wide = tf.stack([tf.reduce_sum(big), tf.reduce_sum(big * big)])
        both = tall + tf.reduce_sum(big)
    assert chosen_mode(monkeypatch, tape, tall, x) == ["forward"]
    assert chosen_mode(monkeypatch, tape, wide, big) == ["reverse"]
    assert chosen_mode(monkeypatch, tape, both, [x, big]) == ["reverse"]
    # What has no path does not count.
    assert chosen_mode(monkeypatch, tape, tall, [x, tf.Variable(np.ones(1000))]) == ["forward"]
    assert chosen_mode(monkeypatch, tape, tall, x, mode="reverse") == ["reverse"]


def test_complex_numbers_go_in_reverse():
    z, x = tf.constant([1 + 2j, 3 - 1j]), tf.constant([0.5])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([z, x])
        y = tf.tile(z * z, [10])
        w = tf.tile(tf.complex(x, x * x), [30])
    expected = np.tile(np.diag(np.conj([2 + 4j, 6 - 2j])), (10, 1))
    np.testing.assert_allclose(tape.jacobian(y, z), expected, rtol=1e-6)
    assert tape.jacobian(w, x).shape == (30, 1)
    for target, source in ((y, z), (w, x)):
        with pytest.raises(ValueError, match="mode='forward' takes only real"):
            tape.jacobian(target, source, mode="forward")


def test_complex_numbers_on_the_way_go_forward():
    x = tf.constant(rng.standard_normal(4))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.abs(tf.signal.fft(tf.complex(x, x * x)))
    np.testing.assert_allclose(
        tape.jacobian(y, x, mode="forward"), one_by_one(tape, y, x), rtol=1e-10
    )


def test_dtypes_that_are_mixed_and_narrow():
    x = tf.constant([1.0, 2.0, 3.0], tf.float16)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.cast(x, tf.float64)[:2] * tf.reduce_sum(tf.cast(x * x, tf.float64))
    for mode in ("forward", "reverse"):
        found = tape.jacobian(y, x, mode=mode)
        assert found.dtype == tf.float16
        np.testing.assert_allclose(found.numpy(), [[16.0, 4.0, 6.0], [4.0, 22.0, 12.0]])


# Gradient functions of the user's


def with_gradient(grad):
    """y = x * x for three numbers, tiled to twelve, with a gradient function of its own,
    and its tape.
    """

    @tf.custom_gradient
    def square(x):
        return x * x, lambda g: grad(g, x)

    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tile(square(x) + x, [4])
    return tape, y, x


SQUARE = np.tile(np.diag([3.0, 5.0, 7.0]), (4, 1))


def test_a_gradient_function_that_can_be_differentiated_goes_forward(monkeypatch):
    tape, y, x = with_gradient(lambda g, x: 2 * x * g)
    np.testing.assert_allclose(tape.jacobian(y, x, mode="forward"), SQUARE)
    assert chosen_mode(monkeypatch, tape, y, x) == ["forward"]


@pytest.mark.parametrize(
    "grad",
    [
        lambda g, x: tf.constant(g.numpy() * 2) * x,
        lambda g, x: tf.stop_gradient(g) * 2 * x,
        lambda g, x: tf.numpy_function(lambda a: 2 * a, [g], tf.float32) * x,
    ],
    ids=["numpy", "stop_gradient", "numpy_function"],
)
def test_one_that_cannot_goes_in_reverse(grad):
    tape, y, x = with_gradient(grad)
    np.testing.assert_allclose(tape.jacobian(y, x), SQUARE)
    np.testing.assert_allclose(tape.jacobian(y, x, mode="reverse"), SQUARE)
    with pytest.raises(ValueError, match=r"mode='forward'.*use mode='reverse'"):
        tape.jacobian(y, x, mode="forward")


def test_one_that_is_not_linear_goes_in_reverse():
    tape, y, x = with_gradient(lambda g, x: tf.clip_by_value(g, -0.5, 0.5))
    np.testing.assert_allclose(tape.jacobian(y, x), np.tile(np.eye(3) * 1.5, (4, 1)))
    with pytest.raises(ValueError, match="linear"):
        tape.jacobian(y, x, mode="forward")


def test_one_that_fails_fails_with_its_own_error():
    def grad(g, x):
        raise KeyError("broken rule")

    for mode in ("auto", "reverse"):
        tape, y, x = with_gradient(grad)
        with pytest.raises(KeyError, match="broken rule"):
            tape.jacobian(y, x, mode=mode)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_recomputed_functions(mode):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda x: tf.exp(x) * tf.reduce_sum(x))(x)
    np.testing.assert_allclose(tape.jacobian(y, x, mode=mode), one_by_one(tape, y, x), rtol=1e-6)


def test_memory_errors_are_not_taken_for_a_function_that_needs_a_loop():
    calls = []

    @tf.custom_gradient
    def hungry(x):
        def grad(g):
            calls.append(g.shape)
            raise MemoryError("no more")

        return x * x, grad

    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = hungry(x)
    with pytest.raises(MemoryError):
        tape.jacobian(y, x, mode="reverse")
    assert len(calls) == 3  # with four rows, with two and with one


# What is odd


def test_infinite_partial_derivatives_stay_where_they_are():
    x = tf.constant([0.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.sqrt(x)
    assert tape.jacobian(y, x).numpy().tolist() == [[np.inf, 0.0], [0.0, 0.25]]


def test_no_warning_from_numpy():
    x = tf.constant([0.0, 1e30])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.linalg.matvec(tf.ones([2, 2]), tf.sqrt(x) * tf.exp(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode in ("forward", "reverse"):
            tape.jacobian(y, x, mode=mode)


def test_a_source_on_the_way_and_one_behind_it():
    x = tf.constant(rng.standard_normal(3))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = tf.sin(x)
        y = tf.reduce_sum(h) * h + x
    for mode in ("forward", "reverse"):
        for found, source in zip(tape.jacobian(y, [h, x], mode=mode), (h, x), strict=True):
            np.testing.assert_allclose(found, one_by_one(tape, y, source), rtol=1e-12)


def test_rows_of_tables():
    table = tf.Variable(rng.standard_normal((4, 2)))
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(tf.gather(table, [1, 3, 1]) ** 2, axis=1) * tf.reduce_sum(
            tf.gather(table, [0])
        )
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(
            tape.jacobian(y, table, mode=mode), one_by_one(tape, y, table), rtol=1e-12
        )


def test_the_results_are_not_each_others_memory():
    a, b = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = tf.linalg.matvec(tf.constant([[1.0, 2.0], [3.0, 4.0]]), a + b) * a
    first = [j.numpy() for j in tape.jacobian(y, [a, b])]
    again = [j.numpy() for j in tape.jacobian(y, [a, b])]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(first[0], one_by_one(tape, y, a))
    np.testing.assert_allclose(first[1], one_by_one(tape, y, b))


@pytest.mark.parametrize(
    "options",
    [{"mode": "sideways"}, {"memory_limit": 0}, {"memory_limit": 1.5}, {"parallel_iterations": 0}],
    ids=repr,
)
@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_bad_options_are_refused_by_name(method, options):
    x = tf.ones([2, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match=f"{method}: {next(iter(options))}"):
        getattr(tape, method)(y, x, **options)


# batch_jacobian


@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_a_batch_in_every_way(options):
    x = tf.constant(rng.standard_normal((5, 3)))
    w = tf.constant(rng.standard_normal((3, 4)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.tanh(x @ w) * tf.reduce_sum(x, axis=1, keepdims=True)
    full = one_by_one(tape, y, x)
    np.testing.assert_allclose(
        tape.batch_jacobian(y, x, **options), full[np.arange(5), :, np.arange(5)], rtol=1e-10
    )


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_batch_of_higher_rank(mode):
    x = tf.constant(rng.standard_normal((3, 2, 2)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.linalg.inv(x + 3 * tf.eye(2, dtype=tf.float64)) @ tf.ones([2, 5], tf.float64)
    full = one_by_one(tape, y, x)
    found = tape.batch_jacobian(y, x, mode=mode)
    assert found.shape == (3, 2, 5, 2, 2)
    np.testing.assert_allclose(found, full[np.arange(3), :, :, np.arange(3)], rtol=1e-10)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (1, 2)])
def test_batches_of_nothing(shape, mode):
    x = tf.ones(shape)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.tile(x * x, [1, 3])
    assert tape.batch_jacobian(y, x, mode=mode).shape == (shape[0], 3 * shape[1], shape[1])


def dependent(batch):
    return (batch - tf.reduce_mean(batch, axis=0)) @ tf.ones([2, 7], batch.dtype)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_examples_that_depend_on_each_other_are_warned_of(mode, dtype):
    x = tf.constant(rng.standard_normal((8, 2)), dtype)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = dependent(x)
        fine = tf.tanh(x @ tf.ones([2, 7], dtype))
    with pytest.warns(
        RuntimeWarning, match=r"GradientTape\.batch_jacobian: the examples"
    ) as caught:
        tape.batch_jacobian(y, x, mode=mode)
    assert caught[0].filename == __file__
    tape.batch_jacobian(y, x, mode=mode, check_independence=False)
    tape.batch_jacobian(fine, x, mode=mode)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16, tf.bfloat16])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("activation", [tf.tanh, tf.sigmoid, tf.nn.gelu, tf.nn.softplus])
def test_lost_digits_are_not_taken_for_dependence(activation, mode, dtype):
    """The derivative of a saturated example is what is left of two numbers that are almost the
    same.
    """
    x = tf.constant(np.linspace(-9.0, 9.0, 64).reshape(32, 2), dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = activation(x @ tf.ones([2, 7], dtype))
    tape.batch_jacobian(y, x, mode=mode)


def test_what_is_not_finite_is_not_taken_for_dependence():
    x = tf.constant([[0.0, 1.0], [np.nan, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.log(x)
    assert tape.batch_jacobian(y, x).shape == (3, 2, 2)


def test_a_batch_of_itself_and_one_without_a_path():
    x = tf.constant(rng.standard_normal((2, 3)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
    for mode in ("auto", "forward", "reverse"):
        np.testing.assert_array_equal(
            tape.batch_jacobian(x, x, mode=mode), np.broadcast_to(np.eye(3), (2, 3, 3))
        )
        assert not tape.batch_jacobian(x, tf.ones([2, 4]), mode=mode).numpy().any()


def test_a_complex_batch():
    z = tf.constant([[1 + 2j], [3 - 1j]])
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = z * z
    np.testing.assert_allclose(tape.batch_jacobian(y, z), np.conj([[[2 + 4j]], [[6 - 2j]]]))
