"""`GradientTape.jacobian` and `batch_jacobian`."""

import numpy as np
import pytest

import gradtape as tf

MATRIX = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def linear(persistent=False):
    """A tape that has recorded y = MATRIX @ x, with x and y."""
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = tf.reduce_sum(MATRIX * x, axis=1)
    return tape, x, y


# jacobian


def test_the_jacobian_of_a_linear_function_is_its_matrix():
    tape, x, y = linear()
    np.testing.assert_array_equal(tape.jacobian(y, x).numpy(), MATRIX)


@pytest.mark.parametrize("source_shape", [(), (2,), (2, 3), (0,), (1, 2)])
@pytest.mark.parametrize("target_shape", [(), (2,), (3, 2), (0,), (2, 0)])
def test_its_shape_is_that_of_the_target_and_then_of_the_source(source_shape, target_shape):
    x = tf.ones(source_shape)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x) * tf.ones(target_shape)
    assert tape.jacobian(y, x).shape == target_shape + source_shape


def test_the_result_has_the_structure_of_the_sources():
    a, b = tf.constant([1.0, 2.0]), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = a * b
    found = tape.jacobian(y, {"b": b, "a": [a]})
    assert list(found) == ["b", "a"]
    assert found["b"].numpy().tolist() == [1.0, 2.0]
    assert found["a"][0].numpy().tolist() == [[3.0, 0.0], [0.0, 3.0]]


def test_sparse_jacobians_are_made_dense():
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.gather(v, [2, 0]) * 2.0
    jacobian = tape.jacobian(y, v)
    assert isinstance(jacobian, tf.Tensor)
    assert jacobian.numpy().tolist() == [[0.0, 0.0, 2.0], [2.0, 0.0, 0.0]]


def test_without_a_path_it_is_none_or_zeros():
    tape, _, y = linear(persistent=True)
    other = tf.Variable([[1.0]])
    assert tape.jacobian(y, [other]) == [None]
    zeros = tape.jacobian(y, other, unconnected_gradients="zero")
    assert zeros.shape == (2, 1, 1)
    assert not zeros.numpy().any()
    with pytest.raises(ValueError):
        tape.jacobian(y, other, unconnected_gradients="zeros")


def test_integers_have_none():
    n, x = tf.constant([1, 2]), tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, m = x * x, tf.cast(x, tf.int32)
    assert tape.jacobian(y, n) is None
    assert tape.jacobian(m, x) is None


def test_complex_numbers_follow_the_rule_of_gradient():
    z = tf.constant([1 + 2j, 3 - 1j])
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = z * z
    np.testing.assert_allclose(tape.jacobian(y, z).numpy(), np.diag(np.conj([2 + 4j, 6 - 2j])))


def test_it_uses_up_the_tape():
    tape, x, y = linear()
    tape.jacobian(y, x)
    for again in (tape.jacobian, tape.gradient):
        with pytest.raises(RuntimeError):
            again(y, x)


def test_a_used_up_or_empty_tape_is_a_runtime_error():
    tape, x, y = linear()
    tape.gradient(y, x)
    with pytest.raises(RuntimeError):
        tape.jacobian(y, x)
    with pytest.raises(RuntimeError):
        tf.GradientTape().jacobian(y, x)


def test_a_persistent_tape_gives_many():
    tape, x, y = linear(persistent=True)
    for _ in range(2):
        np.testing.assert_array_equal(tape.jacobian(y, x).numpy(), MATRIX)
    assert tape.gradient(y, x).numpy().tolist() == MATRIX.sum(0).tolist()


@pytest.mark.parametrize(
    "options",
    [{"experimental_use_pfor": False}, {"parallel_iterations": 1}, {"parallel_iterations": 10}],
    ids=repr,
)
@pytest.mark.parametrize("persistent", [False, True])
def test_its_options_work_on_any_tape(options, persistent):
    tape, x, y = linear(persistent)
    np.testing.assert_array_equal(tape.jacobian(y, x, **options).numpy(), MATRIX)


def test_several_targets():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        targets = {"square": x * x, "sum": [tf.reduce_sum(x)]}
    found = tape.jacobian(targets, x)
    assert found["square"].numpy().tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert found["sum"][0].numpy().tolist() == [1.0, 1.0]


def test_several_targets_and_several_sources():
    a, b = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        targets = (a * b, a + b)
    found = tape.jacobian(targets, [a, b])
    assert isinstance(found, tuple)
    assert [[j.numpy() for j in row] for row in found] == [[3.0, 2.0], [1.0, 1.0]]


def test_the_jacobian_of_a_target_by_itself_is_the_identity():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
    assert tape.jacobian(x, x).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_the_hessian_is_the_jacobian_of_the_gradient():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(x**3) + x[0] * x[1]
        dx = inner.gradient(y, x)
    assert outer.jacobian(dx, x).numpy().tolist() == [[6.0, 1.0], [1.0, 12.0]]


def test_the_gradient_of_a_jacobian():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        jacobian = inner.jacobian(y, x)
    assert outer.gradient(jacobian, x).numpy().tolist() == [6.0, 12.0]


# batch_jacobian


def batch():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.stack([x[:, 0] * x[:, 1], x[:, 0] ** 2], axis=1)
    return tape, x, y


def test_batch_jacobian_has_one_matrix_for_each_example():
    tape, x, y = batch()
    expected = [[[b, a], [2.0 * a, 0.0]] for a, b in x.numpy().tolist()]
    assert tape.batch_jacobian(y, x).numpy().tolist() == expected


def test_batch_jacobian_of_higher_ranks():
    x = tf.ones([2, 3, 4])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x, axis=2)
    jacobian = tape.batch_jacobian(y, x)
    assert jacobian.shape == (2, 3, 3, 4)
    np.testing.assert_array_equal(
        jacobian.numpy()[1, 2], np.eye(3, dtype=np.float32)[2][:, None] * np.ones(4)
    )


def test_batch_jacobian_adds_up_what_examples_have_to_do_with_each_other():
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x) * x  # every example depends on every other
    with pytest.warns(RuntimeWarning, match="depend on each other"):
        jacobian = tape.batch_jacobian(y, x)
    assert jacobian.numpy().tolist() == [[[6.0]], [[6.0]]]


@pytest.mark.parametrize("unconnected", ["none", "zero"])
def test_batch_jacobian_without_a_path_is_zeros(unconnected):
    tape, _, y = batch()
    other = tf.ones([3, 5])
    jacobian = tape.batch_jacobian(y, other, unconnected_gradients=unconnected)
    assert jacobian.shape == (3, 2, 5)
    assert not jacobian.numpy().any()


@pytest.mark.parametrize(
    "pick",
    [lambda x, y: (y[:, 0], x), lambda x, y: (y, tf.ones([3])), lambda x, y: (y[:2], x)],
    ids=["rank of the target", "rank of the source", "batch size"],
)
def test_shapes_that_batch_jacobian_refuses(pick):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        target, source = pick(x, x * x)
    with pytest.raises(ValueError):
        tape.batch_jacobian(target, source)


@pytest.mark.parametrize(
    "options", [{"experimental_use_pfor": False}, {"parallel_iterations": 2}], ids=repr
)
def test_the_options_of_batch_jacobian_work_on_any_tape(options):
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.batch_jacobian(y, x, **options).numpy().tolist() == [[[2.0, 0.0], [0.0, 4.0]]]
    with pytest.raises(RuntimeError):
        tape.batch_jacobian(y, x)
