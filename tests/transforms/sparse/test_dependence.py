"""Which elements depend on which: for every op, in patterns that are known,
and through custom gradients.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf
from gradtape.ops import links
from gradtape.ops.registry import registry
from gradtape.transforms.sparse import dependence
from tests.ops import checks
from tests.ops.table import all_cases

from .checks import band, check, five_points, record

rng = np.random.default_rng(5)


# Every op


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "case", [case for case in all_cases() if case.orders], ids=lambda case: case.name
)
def test_no_entry_of_any_op_is_missed(case, monkeypatch):
    def refused(*args):
        pytest.fail(
            f"{case.name} is taken to link everything with everything: its derivative calls "
            "itself, so it needs a rule"
        )

    monkeypatch.setattr(dependence, "_everything", refused)
    for one in case.samples:
        dtype = next(
            (dtype for dtype in ("float64", "complex128") if dtype in case.dtypes_of(one)), None
        )
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


def blocks(count, rows, columns):
    return np.kron(np.eye(count), np.ones((rows, columns))) > 0


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
    "transposed": (lambda x: tf.transpose(x), (2, 3),
        np.eye(6).reshape(2, 3, 6).transpose(1, 0, 2).reshape(6, 6)),
    "broadcast": (lambda x: x[:, None] * tf.ones([2], tf.float64), (3,),
        np.repeat(np.eye(3), 2, 0)),
    "outer product": (lambda x: x[:, None] * x, (2,), [[1, 0], [1, 1], [1, 1], [0, 1]]),
    "matrices": (lambda x: x @ tf.ones([4, 3, 2], tf.float64), (4, 2, 3),
        np.kron(np.eye(8), np.ones((2, 3)))),
    "by the right one": (lambda x: tf.ones([2, 3], tf.float64) @ x, (3, 2),
        np.kron(np.ones((2, 3)), np.eye(2))),
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
    "largest of segments": (lambda x: tf.math.segment_max(x, [0, 0, 1]), (3,),
        [[1, 1, 0], [0, 0, 1]]),
    "scattered": (lambda x: tf.scatter_nd([[3], [0]], x, [4]), (2,),
        [[0, 1], [0, 0], [0, 0], [1, 0]]),
    "where": (lambda x: tf.where([True, False, True], x, x[::-1]), (3,),
        [[1, 0, 1], [0, 1, 0], [1, 0, 1]]),
    "mask": (lambda x: tf.boolean_mask(x, [True, False, True]) ** 2, (3,), np.eye(3)[[0, 2]]),
    "running sum": (lambda x: tf.cumsum(x), (7,), band(7, -7, 0)),
    "running sum, reverse, of what follows": (lambda x: tf.cumsum(x, exclusive=True, reverse=True),
        (6,), band(6, 1, 6)),
    "running product": (lambda x: tf.math.cumprod(x), (5,), band(5, -5, 0)),
    "several outputs": (lambda x: tf.split(x, [1, 3], 0)[1] ** 2, (4,), np.eye(4)[1:]),
    "outputs joined": (lambda x: (p := tf.unstack(x, axis=1))[0] * p[2], (2, 3),
        [[1, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 1]]),
    "inverses": (lambda x: tf.linalg.inv(x), (2, 2, 2), blocks(2, 4, 4)),
    "singular values": (lambda x: tf.linalg.svd(x, compute_uv=False), (2, 2, 3), blocks(2, 2, 6)),
    "systems": (lambda x: tf.linalg.solve(tf.eye(2, dtype=tf.float64) * 2, x), (2, 3),
        np.kron(np.ones((2, 2)), np.eye(3))),
    "convolution": (lambda x: tf.nn.conv1d(x, np.ones((3, 1, 1)), 1, "SAME"), (1, 5, 1),
        band(5, -1, 1)),
    "pooling": (lambda x: tf.nn.max_pool1d(x, 2, 2, "VALID"), (1, 6, 1), blocks(3, 1, 2)),
    "channels by themselves": (
        lambda x: tf.nn.depthwise_conv2d(x, np.ones((1, 1, 2, 2)), [1, 1, 1, 1], "VALID"),
        (1, 1, 2, 2), blocks(4, 2, 1),
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
    # It could be followed without end, so that it is not.
    assert tape.sparsity(y, x).toarray().all()
    assert tape.jacobian(y, x, sparse=True).toarray().tolist() == [[0.5, 0.0], [0.0, 0.5]]


@pytest.mark.parametrize("names", [("outer", "inner"), ("f", "f")])
def test_functions_with_one_name_are_not_taken_for_one(names):
    def named(f, name):
        f.__name__ = f.__qualname__ = name
        return tf.custom_gradient(f)

    inner = named(lambda x: (x * 2.0, lambda g: g * 2.0), names[1])
    outer = named(lambda x: (x * 2.0, inner), names[0])
    tape, x, y = record(outer, [1.0, 2.0, 3.0])
    assert tape.sparsity(y, x).toarray().tolist() == np.eye(3).tolist()
