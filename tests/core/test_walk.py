"""How the backward walk goes: which rules run, what adds up, and what it leaves as it was."""

import numpy as np
import pytest

import gradtape as tf


def is_equal(tensor, expected):
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(expected, tensor.numpy().dtype))
    return True


def test_a_rule_runs_only_if_a_gradient_reaches_it():
    calls = []

    @tf.custom_gradient
    def noted(x):
        def grad(upstream):
            calls.append(upstream)
            return upstream

        return x * 1.0, grad

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = noted(x)
        z = x * 2.0
    assert tape.gradient(z, [x, y])[1] is None
    assert not calls


def test_a_rule_runs_only_if_a_source_lies_behind_it():
    @tf.custom_gradient
    def forbidden(x):
        def grad(upstream):
            raise AssertionError("nobody asked for this gradient")

        return x * 1.0, grad

    x, unasked = tf.constant(3.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([x, unasked])
        y = x * x + forbidden(unasked)
    assert tape.gradient(y, x).numpy() == 6.0


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("variables", [1, 2, 3])
@pytest.mark.parametrize("results", [1, 2, 3])
def test_the_walk_ends_at_a_result_that_is_the_source(variables, results, persistent):
    """However many sources there are besides: as many results as there are Variables were taken for
    the Variables once.
    """

    @tf.custom_gradient
    def refuses(x):
        def gradient(g):
            raise AssertionError("a rule behind the source has run")

        return 2.0 * x, gradient

    given = [tf.Variable(float(i + 1)) for i in range(variables)]
    with tf.GradientTape(persistent=persistent) as tape:
        start = refuses(tf.add_n(given))
        hidden = [start * float(i + 1) for i in range(results)]
        y = tf.add_n([h * h for h in hidden])
    gradients = tape.gradient(y, hidden)
    assert [g.numpy() for g in gradients] == [2.0 * h.numpy() for h in hidden]


def test_a_result_used_many_times_collects_all_its_gradients():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        total = y
        for k in range(1, 20):
            total = total + y * float(k)
    assert is_equal(tape.gradient(total, x), [191.0, 191.0])


def test_what_is_added_to_one_gradient_is_not_added_to_another():
    a, b = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        tripled = a * 3.0
        y = (a + b) + tripled  # one cotangent for both parts of a sum, and then more for a
    da, db = tape.gradient(y, [a, b])
    assert is_equal(da, [4.0, 4.0])
    assert is_equal(db, [1.0, 1.0])


def test_the_walk_does_not_write_into_the_output_gradients():
    a, b = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    seed = tf.constant([5.0, 7.0])
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        tripled = a * 3.0
        y = (a + b) + tripled + a + a
    da, db = tape.gradient([y, y], [a, b], [seed, seed])
    assert is_equal(da, [60.0, 84.0])
    assert is_equal(db, [10.0, 14.0])
    assert is_equal(seed, [5.0, 7.0])


def test_an_op_with_several_outputs_of_which_one_is_used():
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        _, second = tf.split(x, 2)
        y = second * second
    assert is_equal(tape.gradient(y, x), [0.0, 0.0, 6.0, 8.0])


def test_python_control_flow_is_recorded_as_it_ran():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        while y < 100.0:
            y = y * x if y > 10.0 else y * y
    assert y.numpy() == 128.0  # 2, 4, 16, 32, 64, 128: the seventh power
    assert tape.gradient(y, x).numpy() == 7.0 * 64.0


@pytest.mark.parametrize("size", [10, 5000, 100_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_the_square_of_many_numbers_has_the_gradient_of_few(size, dtype):
    values = np.random.default_rng(0).standard_normal(size).astype(dtype)
    x = tf.constant(values)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        total, weighted = 3 * tf.reduce_sum(tf.square(x)), tf.reduce_sum(tf.square(x) * x)
    np.testing.assert_allclose(tape.gradient(total, x).numpy(), np.conj(6 * values), rtol=1e-5)
    np.testing.assert_allclose(
        tape.gradient(weighted, x).numpy(), np.conj(3 * values * values), rtol=1e-4
    )
    np.testing.assert_array_equal(x.numpy(), values)
