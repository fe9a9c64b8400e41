"""`ForwardAccumulator`: the contract's section 4, and where gradtape is better (nesting,
every op).
"""

import logging

import numpy as np
import pytest

import gradtape as tf

Accumulator = tf.autodiff.ForwardAccumulator


def test_the_derivative_along_a_tangent():
    x = tf.constant([1.0, 2.0, 3.0])
    with Accumulator(x, tf.constant([1.0, 0.0, -1.0])) as acc:
        y = tf.reduce_sum(tf.exp(x) * x)
    expected = np.exp(1.0) * 2 - np.exp(3.0) * 4
    np.testing.assert_allclose(acc.jvp(y), expected, rtol=1e-6)


def test_jvp_of_a_primal_is_its_tangent_and_of_a_constant_nothing():
    x, c = tf.constant(2.0), tf.constant(5.0)
    with Accumulator(x, 3.0) as acc:
        y = c * 2
    assert float(acc.jvp(x)) == 3.0
    assert acc.jvp(y) is None
    assert float(acc.jvp(y, unconnected_gradients="zero")) == 0.0
    with pytest.raises(ValueError, match="unconnected_gradients"):
        acc.jvp(y, unconnected_gradients="nothing")


def test_jvp_takes_a_structure_and_can_be_asked_again():
    x = tf.constant(2.0)
    with Accumulator(x, 1.0) as acc:
        y = {"a": x * x, "b": [x, tf.constant(1.0)]}
    for _ in range(2):
        found = acc.jvp(y)
        assert float(found["a"]) == 4.0
        assert float(found["b"][0]) == 1.0
        assert found["b"][1] is None


@pytest.mark.parametrize(
    ("primals", "tangents", "error"),
    [
        ([tf.constant(1.0)], tf.constant(1.0), ValueError),
        (tf.constant(1.0), None, ValueError),
        (tf.constant(1.0), tf.constant(1.0, tf.float64), ValueError),
        (tf.constant([1.0]), tf.constant([1.0, 2.0]), ValueError),
        (1.0, 1.0, AttributeError),
    ],
)
def test_bad_primals_and_tangents_are_refused(primals, tangents, error):
    with pytest.raises(error):
        Accumulator(primals, tangents)


def test_the_same_primal_twice_is_refused():
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="must not contain the same tensor twice"):
        Accumulator([x, x], [1.0, 2.0])


def test_a_primal_that_is_not_floating_is_warned_of(caplog):
    with caplog.at_level(logging.WARNING, logger="gradtape"):
        Accumulator(tf.constant(1), tf.constant(1))
    assert "primal" in caplog.text


def test_entering_twice_at_once_is_refused_and_later_continues():
    x = tf.constant(2.0)
    acc = Accumulator(x, 1.0)
    with acc, pytest.raises(ValueError, match="active"):
        acc.__enter__()
    y = x * x
    with acc:
        z = x * x * x
    assert acc.jvp(y) is None
    assert float(acc.jvp(z)) == 12.0


def test_variables_trainable_or_not_and_assigning_keeps_the_tangent():
    v = tf.Variable(3.0, trainable=False)
    with Accumulator(v, 2.0) as acc:
        y = v * v
        v.assign(5.0)
        z = v * v
    assert float(acc.jvp(y)) == 12.0
    assert float(acc.jvp(z)) == 20.0
    assert float(acc.jvp(v)) == 2.0


@pytest.mark.parametrize(
    "f", [tf.sign, tf.round, tf.floor, tf.stop_gradient, lambda x: tf.cast(x, tf.int32)]
)
def test_no_tangent_goes_through_what_has_no_derivative(f):
    x = tf.constant([0.5, 1.5])
    with Accumulator(x, tf.ones([2])) as acc:
        y = f(x)
    tangent = acc.jvp(y)
    assert tangent is None or not np.any(tangent.numpy())


def test_nested_accumulators_give_higher_orders():
    x = tf.constant(0.7)
    with Accumulator(x, 1.0) as third:
        with Accumulator(x, 1.0) as second:
            with Accumulator(x, 1.0) as first:
                y = tf.exp(2 * x) / x
            dy = first.jvp(y)
        d2y = second.jvp(dy)
    d3y = third.jvp(d2y)
    e, v = np.exp(1.4), 0.7
    np.testing.assert_allclose(dy, e * (2 / v - v**-2), rtol=1e-5)
    np.testing.assert_allclose(d2y, e * (4 / v - 4 / v**2 + 2 / v**3), rtol=1e-5)
    np.testing.assert_allclose(d3y, e * (8 / v - 12 / v**2 + 12 / v**3 - 6 / v**4), rtol=1e-4)


def test_an_inner_accumulator_does_not_see_the_outer_ones_tangents():
    x = tf.constant(2.0)
    with Accumulator(x, 1.0) as outer, Accumulator(x, 1.0) as inner:
        y = x * x * x
    assert inner.jvp(outer.jvp(y)) is None
    assert float(outer.jvp(inner.jvp(y))) == 12.0


def test_forward_over_reverse_is_a_hessian_vector_product():
    x = tf.constant([1.0, 2.0, 3.0])
    v = tf.constant([1.0, -1.0, 0.5])
    with Accumulator(x, v) as acc:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_prod(x)
        g = tape.gradient(y, x)
    hessian = np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]], np.float32)
    np.testing.assert_allclose(acc.jvp(g), hessian @ v.numpy(), rtol=1e-6)


def test_reverse_over_forward():
    x = tf.constant([1.0, 2.0, 3.0])
    v = tf.constant([1.0, -1.0, 0.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        with Accumulator(x, v) as acc:
            y = tf.reduce_prod(x)
        directional = acc.jvp(y)
    hessian = np.array([[0, 3, 2], [3, 0, 1], [2, 1, 0]], np.float32)
    np.testing.assert_allclose(tape.gradient(directional, x), hessian @ v.numpy(), rtol=1e-6)


def test_an_inner_tape_does_not_see_an_outer_accumulators_tangent():
    x = tf.constant(2.0)
    with Accumulator(x, 1.0) as acc, tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(acc.jvp(y), x) is None


def test_several_outputs_and_shapes():
    x = tf.constant(np.arange(6.0).reshape(2, 3))
    t = tf.constant(np.arange(6.0, 0.0, -1.0).reshape(2, 3))
    with Accumulator(x, t) as acc:
        a, b, c = tf.unstack(x * x, axis=1)
        y = tf.concat([a * b, c], 0)
    xs, ts = x.numpy(), t.numpy()
    squares, moved = xs * xs, 2 * xs * ts
    expected = np.concatenate(
        [moved[:, 0] * squares[:, 1] + squares[:, 0] * moved[:, 1], moved[:, 2]]
    )
    np.testing.assert_allclose(acc.jvp(y), expected)


def test_custom_gradients_push_forward_through_their_own_rule():
    @tf.custom_gradient
    def odd(x):
        return x * x, lambda upstream: upstream * 4.0

    x = tf.constant(3.0)
    with Accumulator(x, 1.0) as acc:
        y = odd(x)
    assert float(acc.jvp(y)) == 4.0


def test_what_only_an_accumulator_recorded_is_not_kept():
    x = tf.constant(np.ones(1000))
    with Accumulator(x, tf.ones_like(x)) as acc:
        y = x * x
    assert acc.jvp(y) is not None
    assert y.node.saved is None
    assert y.node.parents == ()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "complex128"])
def test_a_primal_that_has_derivatives_is_not_warned_about(dtype, caplog):
    x = tf.cast([1.0, 2.0], dtype)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = x * x
    np.testing.assert_allclose(tf.cast(accumulator.jvp(y), tf.complex128).numpy(), [2.0, 4.0])
    assert not caplog.records


@pytest.mark.parametrize("dtype", ["int32", "bool", "float8_e5m2"])
def test_a_primal_without_derivatives_is_warned_about(dtype, caplog):
    x = tf.cast([1.0, 1.0], dtype)
    tf.autodiff.ForwardAccumulator(x, x)
    assert "must be floating or complex" in caplog.text


@pytest.mark.parametrize(
    ("primals", "tangents"),
    [
        ([1.0], 1.0),
        ([1.0], [1.0, 1.0]),
        ({"a": 1.0}, {"b": 1.0}),
        ([1.0], (1.0,)),
        (1.0, [1.0]),
    ],
)
def test_the_error_for_unlike_structures_names_primals_and_tangents(primals, tangents):
    primals, tangents = (tf.nest.map_structure(tf.constant, part) for part in (primals, tangents))
    with pytest.raises((TypeError, ValueError), match=r"ForwardAccumulator: tangents.*primals"):
        tf.autodiff.ForwardAccumulator(primals, tangents)
