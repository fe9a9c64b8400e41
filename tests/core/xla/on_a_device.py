"""Eager code on a device other than the host: run by `tests/core/test_device.py` in a process in
which XLA pretends to have two CPUs.

On a machine with a GPU: `GRADTAPE_TEST_DEVICE=/GPU:0 python -m pytest
tests/core/xla/on_a_device.py`.
"""

from __future__ import annotations

import os
import pickle
import threading

import numpy as np
import pytest

import gradtape as tf
from gradtape.core.thread import here
from gradtape.engines.xla import devices as xla_devices
from gradtape.engines.xla import settings as xla_settings

DEVICE = os.environ.get("GRADTAPE_TEST_DEVICE", "/CPU:1")
NAME = f"/job:localhost/replica:0/task:0/device:{DEVICE.removeprefix('/')}"
HOST = "/job:localhost/replica:0/task:0/device:CPU:0"

X = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]], np.float32)


def test_constants_and_results_are_there():
    with tf.device(DEVICE):
        made = [
            tf.constant(X), tf.zeros([2]), tf.ones([2, 2]), tf.eye(2), tf.fill([2], 3.0),
            tf.range(3), tf.linspace(0.0, 1.0, 3), tf.convert_to_tensor([1, 2]),
            tf.one_hot([0, 1], 3), tf.zeros_like(tf.constant(1.0)), tf.constant(1.0, tf.float64),
            tf.constant(True), tf.constant(1.5, tf.bfloat16), tf.random.normal([2]),
            tf.random.uniform([2], 0, 9, tf.int32), tf.random.stateless_gamma([2], [1, 2], 0.5),
            tf.random.Generator.from_seed(1).normal([2]), tf.identity(tf.ones([2])),
        ]  # fmt: skip
        words = tf.constant(["a", "b"])
    assert [x.device for x in made] == [NAME] * len(made)
    assert made[10].dtype == tf.float64
    np.testing.assert_array_equal(made[0], X)
    assert words.numpy().tolist() == [b"a", b"b"]


def test_what_was_made_on_the_host_is_moved_for_an_op():
    x, y = tf.constant(X), tf.constant(2.0, tf.float64)
    with tf.device(DEVICE):
        results = [
            x + x,
            x * 2.0,
            tf.tanh(x),
            x @ tf.transpose(x),
            y * y,
            tf.reduce_sum(x),
            x[0],
            tf.concat([x, x], 0),
            1.0 - x,
        ]
    assert [r.device for r in results] == [NAME] * len(results)
    assert results[4].dtype == tf.float64
    np.testing.assert_allclose(results[2], np.tanh(X), rtol=1e-6)
    np.testing.assert_allclose(results[3], X @ X.T, rtol=1e-5)
    assert x.device == HOST


def test_results_stay_there_and_the_host_brings_them_back():
    with tf.device(DEVICE):
        x = tf.constant(X)
    assert (x + 1).device == NAME
    assert (tf.constant(X) * x).device == NAME
    with tf.device("/CPU:0"):
        y = x + 1
        z = tf.Variable(x)
    assert (y.device, z.device) == (HOST, HOST)
    assert type(y) is tf.Tensor
    np.testing.assert_array_equal(y, X + 1)


def test_scopes_nest_and_end():
    with tf.device(DEVICE):
        with tf.device("/CPU:0"):
            assert tf.constant(1.0).device == HOST
            with tf.device(None):
                assert tf.constant(1.0).device == HOST
        assert tf.constant(1.0).device == NAME
        with pytest.raises(ZeroDivisionError), tf.device("/CPU:0"):
            raise ZeroDivisionError
        assert tf.constant(1.0).device == NAME
    assert tf.constant(1.0).device == HOST
    assert here.state.device is None
    seen = []
    with tf.device(DEVICE):
        thread = threading.Thread(target=lambda: seen.append(tf.constant(1.0).device))
        thread.start()
        thread.join()
    assert seen == [HOST]


def test_python_sees_the_values():
    with tf.device(DEVICE):
        x, n = tf.constant(X), tf.constant(2)
    assert repr(x) == repr(tf.constant(X))
    assert str(x) == str(tf.constant(X))
    assert f"{x[0, 0]:.2f}" == "0.30"
    assert (float(x[0, 0]), int(n), bool(n), [0, 1, 2][n], len(x)) == (
        float(X[0, 0]),
        2,
        True,
        2,
        2,
    )
    np.testing.assert_array_equal(x.numpy(), X)
    np.testing.assert_array_equal(np.asarray(x), X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), X)
    np.testing.assert_array_equal(tf.reshape(x, tf.stack([n + 1, n])), X.reshape(3, 2))
    assert [float(row[0]) for row in x] == [float(X[0, 0]), float(X[1, 0])]


EXPRESSIONS = {
    "elementwise": lambda x: tf.sin(x) * tf.exp(x) + x / 3.0 - tf.abs(x),
    "matmul": lambda x: x @ tf.transpose(x) @ x,
    "reduce": lambda x: tf.reduce_mean(x, 0) * tf.reduce_max(x) + tf.math.reduce_variance(x, 1)[0],
    "softmax": lambda x: tf.nn.softmax(x) * tf.nn.log_softmax(x),
    "indexing": lambda x: tf.gather(x, [1, 0, 1]) * x[0] + x[..., ::-1][1],
    "mask": lambda x: tf.boolean_mask(x, x > 0) ** 2,
    "where": lambda x: tf.where(x > 0, x * x, -x),
    "scatter": lambda x: tf.tensor_scatter_nd_update(x, [[1]], x[:1] * 2)
        + tf.scatter_nd([[0], [0]], x, [2, 3]),
    "linalg": lambda x: tf.linalg.solve(x @ tf.transpose(x) + tf.eye(2), x)
        + tf.linalg.cholesky(x @ tf.transpose(x) + tf.eye(2))[:, :1],
    "svd": lambda x: tf.linalg.svd(x, compute_uv=False),
    "fft": lambda x: tf.abs(tf.signal.fft(tf.complex(x, x * 2))),
    "conv": lambda x: tf.nn.conv2d(tf.reshape(x, [1, 2, 3, 1]), tf.ones([2, 2, 1, 2]), 1, "SAME"),
    "pool": lambda x: tf.nn.max_pool2d(tf.reshape(x, [1, 2, 3, 1]), 2, 1, "SAME"),
    "special": lambda x: tf.math.lgamma(tf.abs(x)) + tf.math.erf(x) + tf.math.bessel_i0(x),
    "running": lambda x: tf.cumsum(x, 1) * tf.math.cumprod(x, 0),
    "sort": lambda x: tf.sort(x, axis=1) * tf.cast(tf.argsort(x, axis=1), tf.float32),
    "float64": lambda x: tf.cast(tf.cast(x, tf.float64) * tf.constant(2.0, tf.float64), tf.float32),
    "half": lambda x: tf.cast(tf.cast(x, tf.bfloat16) * 2.0, tf.float32),
    "einsum": lambda x: tf.einsum("ij,kj->ik", x, tf.sin(x)),
    "loop": lambda x:
        tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y * x)), (0, x))[1],
    "cond": lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x * 3),
    "map": lambda x: tf.map_fn(lambda row: row * tf.reduce_sum(row), x),
    "vmap": lambda x: tf.vmap(lambda row: tf.reduce_sum(row) * row)(x),
    "array": lambda x: tf.TensorArray(tf.float32, size=2).unstack(x).write(0, x[1]).stack(),
    "recompute": lambda x: tf.recompute_grad(lambda x: tf.exp(x) * x)(x),
    "clip": lambda x: tf.clip_by_norm(x, 0.5),
    "pad": lambda x: tf.pad(x, [[1, 0], [0, 2]]) + tf.reshape(tf.tile(x, [1, 5]), [3, 10])[:, :5],
}  # fmt: skip


NUMBERS = {
    "slice": lambda x, n, pair: x[:n, n - 1 :: n],
    "two slices": lambda x, n, pair: x[n - 2, n - 2 : n],
    "index": lambda x, n, pair: x[n - 1, ..., n],
    "slice of a Variable": lambda x, n, pair: tf.Variable(x)[:, :n],
    "assigned slice": lambda x, n, pair: tf.Variable(x)[:, n:].assign(x[:, n:] * 2.0),
    "reshape": lambda x, n, pair: tf.reshape(x, [n + 1, -1]),
    "tf.slice": lambda x, n, pair: tf.slice(x, pair - 1, [1, n]),
    "zeros": lambda x, n, pair: tf.zeros(pair) + tf.fill([n], 2.0),
    "range": lambda x, n, pair: tf.range(n) + tf.range(n, n + 2),
    "tile": lambda x, n, pair: tf.tile(x, pair),
    "repeat": lambda x, n, pair: tf.repeat(x, n, axis=n - 2),
    "axis": lambda x, n, pair: tf.reduce_sum(x, axis=n - 1) + tf.cumsum(x, n - 2)[:, 0, None],
    "concat": lambda x, n, pair: tf.concat([x, x], n - 1),
    "split": lambda x, n, pair: tf.split(x, [n, 1], axis=n - 1)[0],
    "roll": lambda x, n, pair: tf.roll(x, n, n - 1),
    "top_k": lambda x, n, pair: tf.math.top_k(x, n)[0],
    "one_hot": lambda x, n, pair: tf.one_hot(pair, n + 2),
    "pad": lambda x, n, pair: tf.pad(x, [pair, pair]),
    "transpose": lambda x, n, pair: tf.transpose(x, 2 - pair),
    "segments": lambda x, n, pair: tf.math.unsorted_segment_sum(x, pair, n + 1),
    "array": lambda x, n, pair: tf.TensorArray(tf.float32, size=n).unstack(x).read(n - 1),
    "broadcast": lambda x, n, pair: tf.broadcast_to(x[0], [n, 3]),
    "eye": lambda x, n, pair: tf.eye(n) @ x,
    "mask": lambda x, n, pair: tf.sequence_mask(pair, n + 1),
    "branch": lambda x, n, pair: tf.switch_case(n - 1, [lambda: x, lambda: x * 2.0]),
}


@pytest.mark.parametrize("function", [False, True])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_may_be_tensors_on_the_device(name, together, function):
    """Also in a function whose shapes they decide, which runs op by op."""
    f = tf.function(NUMBERS[name]) if function else NUMBERS[name]
    expected = NUMBERS[name](tf.constant(X), tf.constant(2), tf.constant([1, 2]))
    with tf.device(DEVICE):
        n, pair = tf.constant(2), tf.constant([1, 2])
        x = tf.constant(X)
    found = f(x if together else tf.constant(X), n, pair)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def derivatives(f, x, direction):
    """The value, the gradient, a product with the Hessian, a tangent and the Jacobian."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
            total = tf.reduce_sum(tf.sin(y))
        gradient = inner.gradient(total, x)
        product = tf.reduce_sum(gradient * direction)
    with tf.autodiff.ForwardAccumulator(x, direction) as accumulator:
        z = f(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        w = f(x)
    return y, gradient, outer.gradient(product, x), accumulator.jvp(z), tape.jacobian(w, x)


OFTEN = ("elementwise", "matmul", "indexing", "mask", "float64", "loop", "vmap", "recompute")


@pytest.mark.parametrize(
    "name", [n if n in OFTEN else pytest.param(n, marks=pytest.mark.slow) for n in EXPRESSIONS]
)
def test_values_and_derivatives_are_those_of_the_host(name):
    f, direction = EXPRESSIONS[name], np.array([[1.0, -2.0, 0.5], [0.3, 0.7, -1.0]], np.float32)
    expected = derivatives(f, tf.constant(X), tf.constant(direction))
    with tf.device(DEVICE):
        found = derivatives(f, tf.constant(X), tf.constant(direction))
    for theirs, ours in zip(expected, found, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.device == NAME
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-4)


def test_gradients_go_back_to_where_their_sources_are():
    x, v = tf.constant(X), tf.Variable(2.0)
    with tf.device(DEVICE):
        w = tf.Variable(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        before = tf.sin(x) * v
        with tf.device(DEVICE):
            there = tf.tanh(before * w) * x
        with tf.device("/CPU:0"):
            after = tf.reduce_sum(there**2)
    assert (before.device, there.device, after.device) == (HOST, NAME, HOST)
    found = tape.gradient(after, [x, v, w])
    assert [g.device for g in found] == [HOST, HOST, NAME]
    host = tf.Variable(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        after = tf.reduce_sum((tf.tanh(tf.sin(x) * v * host) * x) ** 2)
    for ours, theirs in zip(found, tape.gradient(after, [x, v, host]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_float64_keeps_its_digits_on_the_way():
    x = tf.constant(1.0 / 3.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.device(DEVICE):
            y = tf.exp(x * x)
        with tf.device("/CPU:0"):
            z = y * 1.0
    np.testing.assert_allclose(tape.gradient(z, x), 2 / 3 * np.exp(1 / 9), rtol=1e-15)


def test_forward_mode_through_moves():
    x, v = tf.constant(X), tf.constant(np.ones_like(X))
    with tf.autodiff.ForwardAccumulator(x, v) as accumulator:
        with tf.device(DEVICE):
            y = tf.sin(x) * x
        with tf.device("/CPU:0"):
            z = y * 2.0
    np.testing.assert_allclose(accumulator.jvp(z), 2 * (np.cos(X) * X + np.sin(X)), rtol=1e-5)
    assert accumulator.jvp(y).device == NAME


# Variables


def test_variables_stay_on_their_device():
    with tf.device(DEVICE):
        v = tf.Variable([1.0, 2.0, 3.0], name="placed")
    assert v.device == v.read_value().device == (v + 1).device == NAME
    assert repr(v) == (
        "<tf.Variable 'placed:0' shape=(3,) dtype=float32, numpy=array([1., 2., 3.], "
        "dtype=float32)>"
    )
    seen = v.read_value()
    v.assign(tf.constant([4.0, 5.0, 6.0]))
    v.assign_add([1.0, 1.0, 1.0])
    v.assign_sub(tf.ones([3]) * 2.0)
    v[0].assign(10.0)
    v.scatter_add(tf.IndexedSlices([1.0, 1.0], [2, 2]))
    v.scatter_nd_update([[1]], [7.0])
    np.testing.assert_array_equal(v, [10.0, 7.0, 7.0])
    np.testing.assert_array_equal(seen, [1.0, 2.0, 3.0])
    assert v.device == NAME
    with pytest.raises(ValueError, match="assign: value has shape"):
        v.assign([1.0])
    with pytest.raises(ValueError, match="cast it first"):
        v.assign(tf.constant([1, 2, 3]))
    w = tf.Variable(v)
    assert w.device == HOST
    v.assign(w * 2)
    np.testing.assert_array_equal(v, [20.0, 14.0, 14.0])
    w.assign(v)
    np.testing.assert_array_equal(w, [20.0, 14.0, 14.0])
    assert (v.device, w.device) == (NAME, HOST)


def test_a_host_variable_in_the_scope_is_written_on_the_host():
    v = tf.Variable([1.0, 2.0])
    with tf.device(DEVICE):
        v.assign_add(tf.constant([1.0, 1.0]))
        v.assign_sub([0.5, 0.5])
        v.scatter_max(tf.IndexedSlices([9.0], [0]))
        assert (v * 1.0).device == NAME
    assert v.device == HOST
    np.testing.assert_array_equal(v, [9.0, 2.5])


def train(steps):
    """Some steps of gradient descent with eager ops."""
    w, b = tf.Variable(np.eye(3, dtype=np.float32)), tf.Variable(tf.zeros([3]))
    x, y = tf.constant(X), tf.constant(np.flip(X, 1).copy())
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(x @ w + b) - y) ** 2)
        for variable, gradient in zip((w, b), tape.gradient(loss, [w, b]), strict=True):
            variable.assign_sub(0.5 * gradient)
    return loss, w, b


def test_training():
    expected = train(5)
    with tf.device(DEVICE):
        found = train(5)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.device == NAME
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_sparse_gradients():
    with tf.device(DEVICE):
        table = tf.Variable(np.ones((4, 2), np.float32))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 3, 1]) ** 2)
        gradient = tape.gradient(y, table)
        assert isinstance(gradient, tf.IndexedSlices)
        table.scatter_sub(gradient)
    np.testing.assert_array_equal(table, [[1, 1], [-3, -3], [1, 1], [-1, -1]])


# Functions


def test_a_function_runs_where_its_arguments_are_or_where_it_is_told_to():
    w = tf.Variable(2.0)
    f = tf.function(lambda x: tf.sin(x) * w)
    x = tf.constant(X)
    with tf.device(DEVICE):
        there = tf.constant(X)
        inside = f(x)
    with tf.device("/CPU:0"):
        back = f(there)
    found = [f(there), inside, back]
    assert [y.device for y in found] == [NAME, NAME, HOST]
    for y in found:
        np.testing.assert_allclose(y, np.sin(X) * 2, rtol=1e-6)
    assert f(f(there)).device == NAME


def test_a_function_writes_variables_where_they_are():
    with tf.device(DEVICE):
        v = tf.Variable([1.0, 2.0])
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        v.assign_add(x)
        w.assign_add(v)
        return v * w

    seen = v.read_value()
    for _ in range(3):
        result = step(tf.constant([1.0, 1.0]))
    np.testing.assert_array_equal(seen, [1.0, 2.0])
    np.testing.assert_array_equal(v, [4.0, 5.0])
    np.testing.assert_array_equal(w, [10.0, 14.0])
    np.testing.assert_array_equal(result, [40.0, 70.0])
    assert (v.device, w.device) == (NAME, HOST)


@pytest.mark.parametrize("place", ["/CPU:0", DEVICE])
def test_gradients_of_a_function_by_what_is_on_several_devices(place):
    with tf.device(DEVICE):
        v = tf.Variable([1.0, 2.0])
    w, x = tf.Variable([3.0, 4.0]), tf.constant([0.5, 0.25])
    f = tf.function(lambda x: tf.sin(x * v) * w)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner, tf.device(place):
            inner.watch(x)
            y = tf.reduce_sum(f(x))
        found = inner.gradient(y, [x, v, w])
        total = tf.reduce_sum(found[0])
    second = outer.gradient(total, x)
    a, b, c = (t.numpy() for t in (x, v, w))
    np.testing.assert_allclose(found[0], np.cos(a * b) * b * c, rtol=1e-5)
    np.testing.assert_allclose(found[1], np.cos(a * b) * a * c, rtol=1e-5)
    np.testing.assert_allclose(found[2], np.sin(a * b), rtol=1e-5)
    np.testing.assert_allclose(second, -np.sin(a * b) * b * b * c, rtol=1e-5)


def test_a_scope_inside_a_function_changes_nothing():
    @tf.function
    def f(x):
        with tf.device(DEVICE):
            return x * tf.constant(2.0)

    result = f(tf.constant(X))
    np.testing.assert_allclose(result, X * 2)
    if DEVICE.startswith("/CPU"):
        assert result.device == HOST


def test_random_numbers_in_a_function_on_the_device():
    f = tf.function(lambda: tf.random.normal([3]))
    with tf.device(DEVICE):
        first, second = f(), f()
        tf.random.set_seed(1)
        eager = tf.random.normal([3])
        tf.random.set_seed(1)
        np.testing.assert_array_equal(eager, tf.random.normal([3]))
    assert first.device == NAME
    assert not np.array_equal(first, second)


# Names


def test_the_devices_are_listed():
    kind = DEVICE.removeprefix("/").partition(":")[0]
    assert tf.config.PhysicalDevice(
        f"/physical_device:{DEVICE.removeprefix('/')}", kind
    ) in tf.config.list_physical_devices(kind)
    assert f"/device:{DEVICE.removeprefix('/')}" in [
        d.name for d in tf.config.list_logical_devices()
    ]
    assert tf.config.list_physical_devices()[0] == tf.config.PhysicalDevice(
        "/physical_device:CPU:0", "CPU"
    )


@pytest.mark.parametrize(
    "spelling", ["{}", "/{}", "/device:{}", "/job:localhost/replica:0/task:0/device:{}"]
)
def test_names_are_read_as_tensorflow_reads_them(spelling):
    for name in (DEVICE.removeprefix("/"), DEVICE.removeprefix("/").lower()):
        with tf.device(spelling.format(name)):
            assert tf.constant(1.0).device == NAME


def test_a_device_that_is_not_there():
    with tf.device("/TPU:7"):
        assert tf.constant(1.0).device == HOST
    tf.config.set_soft_device_placement(False)
    try:
        with (
            pytest.raises(
                tf.errors.InvalidArgumentError,
                match=r"this process has no device '/TPU:7'; its devices are \['/CPU:0'",
            ),
            tf.device("/TPU:7"),
        ):
            pass
    finally:
        tf.config.set_soft_device_placement(True)


def test_hidden_devices_cannot_be_named_and_are_not_used():
    everything = tf.config.list_physical_devices()
    f = tf.function(lambda x: x + 1)
    try:
        tf.config.set_visible_devices(everything[:1])
        assert tf.config.get_visible_devices() == everything[:1]
        with tf.device(DEVICE):
            assert tf.constant(1.0).device == HOST
        assert f(tf.constant(1.0)).device == HOST
    finally:
        tf.config.set_visible_devices(everything)
    with tf.device(DEVICE):
        assert f(tf.constant(1.0)).device == NAME


def test_hiding_devices_counts_in_a_thread_that_has_named_one():
    """Without a preference, programs would run on the first accelerator."""
    everything = tf.config.list_physical_devices()
    seen = []
    with tf.device(DEVICE), tf.device("/CPU:0"):
        pass
    try:
        tf.config.set_visible_devices(everything[:1])
        seen.append(xla_settings.preferred())
        thread = threading.Thread(target=lambda: seen.append(xla_settings.preferred()))
        thread.start()
        thread.join()
        with tf.device("/CPU:0"):
            pass
        seen.append(xla_settings.preferred())
    finally:
        tf.config.set_visible_devices(everything)
    assert seen == [xla_devices.devices()["CPU:0"]] * 3
    assert xla_settings.preferred() is None


def test_what_is_on_a_device_that_is_hidden_is_brought_back_by_functions():
    everything = tf.config.list_physical_devices()
    with tf.device(DEVICE):
        x, v = tf.constant(X), tf.Variable(X)
    f = tf.function(lambda x: v * x + 1.0)
    assert f(x).device == NAME
    try:
        tf.config.set_visible_devices(everything[:1])
        y = f(x)
    finally:
        tf.config.set_visible_devices(everything)
    assert y.device == HOST
    np.testing.assert_allclose(y, X * X + 1, rtol=1e-6)


def test_tensors_can_be_moved():
    x = tf.constant(X)
    there = x.to_device(DEVICE)
    assert there.device == NAME
    assert there.to_device(DEVICE) is there
    back = there.to_device("/CPU:0")
    assert back.device == HOST
    np.testing.assert_array_equal(back, X)


def test_results_that_are_not_finite_are_refused():
    """Also if the checks begin or end while the device is named."""
    zero, message = [1.0, 0.0], r"log\(float32\[2\]\): the result has Inf values"
    with tf.device(DEVICE):
        x = tf.constant(zero)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"^mine : the tensor has Inf values"
        ):
            tf.debugging.check_numerics(tf.math.log(x), "mine")
        tf.debugging.enable_check_numerics()
        try:
            for value in (x, zero):
                with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                    tf.math.log(value)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.sqrt(x)
            with pytest.raises(
                tf.errors.InvalidArgumentError,
                match="gradient of sqrt by its argument 0 has Inf values",
            ):
                tape.gradient(y, x)
            with tf.device("/CPU:0"), pytest.raises(tf.errors.InvalidArgumentError, match=message):
                tf.math.log(zero)
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                tf.function(tf.math.log)(x)
        finally:
            tf.debugging.disable_check_numerics()
        tf.math.log(x)
    tf.math.log(zero)
    with tf.device(DEVICE):
        tf.debugging.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.math.log(zero)
    finally:
        tf.debugging.disable_check_numerics()


@pytest.mark.parametrize("around", [True, False])
def test_a_profile_sees_ops_on_the_device(around):
    blocks = [tf.device(DEVICE), tf.profile()]
    profile = blocks[1]
    before = here.state.run, here.state.run_on_xla
    with blocks[not around], blocks[around]:
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.tanh(x) * 2.0)
        gradient = tape.gradient(y, x)
    assert (here.state.run, here.state.run_on_xla) == before
    assert gradient.device == NAME
    rows = {row.op: row for row in profile.rows}
    assert {"tanh", "multiply", "reduce_sum"} <= rows.keys()
    assert rows["tanh"].calls == rows["tanh"].pulls == 1
    assert rows["tanh"].file == __file__
    assert rows["tanh"].bytes >= X.nbytes


def test_checks_and_a_profile_are_on_together():
    with tf.device(DEVICE):
        tf.debugging.enable_check_numerics()
        try:
            with tf.profile() as profile:
                tf.exp(tf.constant(X))
                with pytest.raises(tf.errors.InvalidArgumentError, match="Inf"):
                    tf.math.log(tf.constant([0.0]))
        finally:
            tf.debugging.disable_check_numerics()
    assert [row.calls for row in profile.rows if row.op == "exp"] == [1]


def test_memory_on_the_device():
    with tf.device(DEVICE):
        x = tf.constant(np.ones((100, 100), np.float32))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.exp(x))
    found = tape.memory()
    assert found.total == 40_000
    assert found.rows[0].op == "exp"
    assert tape.gradient(y, x).device == NAME
    assert tape.memory().total == 0
