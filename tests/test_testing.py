"""`gradtape.testing` and `tf.test`: right derivatives pass,
and every kind of wrong one is refused with its worst element.
"""

import re

import numpy as np
import pytest

import gradtape as tf
import gradtape.test
import gradtape.testing
from gradtape.errors import InvalidArgumentError
from gradtape.testing import batching_fallbacks, check_gradients

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (tf.tanh, [X]),
        (lambda a, b: tf.matmul(a, b, transpose_b=True), [X, X + 1]),
        (lambda x: {"y": tf.exp(x), "count": tf.size(x), "none": None}, [X]),
        (lambda x: tf.reduce_sum(x * tf.constant([1.0, 2.0, 3.0])), [X]),
        (lambda x, i: tf.gather(x, i), [X, [1, 1, 0]]),
        (lambda z: tf.abs(z * z), [X + 2j]),
        (lambda z: z * tf.math.conj(z) + z, [X + 2j]),
        (lambda x: 3.0 * x, [1.5]),
        (lambda x: tf.zeros_like(x), [X]),
        (tf.exp, [np.zeros((0, 3))]),
    ],
)
def test_right_derivatives_pass(function, args):
    check_gradients(function, args)


def test_one_argument_stands_for_itself():
    check_gradients(tf.square, tf.constant([1.0, 2.0]))
    check_gradients(tf.square, tf.Variable(3.0))


def test_any_order():
    check_gradients(lambda x: x**4, [X], order=4)


def test_many_elements_are_sampled():
    calls = []

    def function(x):
        calls.append(0)
        return tf.reduce_sum(tf.square(x))

    check_gradients(function, [np.ones(1000)], order=1, elements=5)
    assert len(calls) < 30


def with_rule(forward, backward):
    """A function with a gradient of its own."""

    @tf.custom_gradient
    def function(x):
        return forward(x), lambda g: backward(g, x)

    return function


@pytest.mark.parametrize(
    ("function", "message"),
    [
        # one element of the gradient
        (
            with_rule(
                tf.square, lambda g, x: 2 * g * x + g * tf.constant([[0.0, 0, 0], [0, 0, 1]])
            ),
            (
                r"order 1: gradient of argument 0, index \(1, 2\): found .*, expected .* from a "
                r"central difference; 1 of 6 elements"
            ),
        ),
        # a factor
        (with_rule(tf.square, lambda g, x: g * x), "order 1: gradient of argument 0"),
        # a gradient that is missing
        (lambda x: tf.stop_gradient(x) * 2.0, r"order 1: gradient of argument 0 \(None\)"),
        # NaN
        (with_rule(tf.square, lambda g, x: g * x / 0.0 * 0.0), "found nan"),
        # the second order alone
        (
            with_rule(lambda x: x**3, lambda g, x: 3 * g * tf.stop_gradient(x) ** 2),
            "order 2: gradient of argument 0",
        ),
        (
            with_rule(
                lambda x: x**3, lambda g, x: 3 * g * with_rule(tf.square, lambda u, y: u * y)(x)
            ),
            "order 2: gradient",
        ),
    ],
)
def test_wrong_gradients_are_refused(function, message):
    with pytest.raises(AssertionError, match=message):
        check_gradients(function, [X])


def test_the_second_argument_is_named():
    wrong = with_rule(tf.square, lambda g, x: g)
    with pytest.raises(AssertionError, match=r"gradient of argument 1, index \(\)"):
        check_gradients(lambda a, b: a * wrong(b), [2.0, 3.0])


def test_the_worst_element_is_shown():
    wrong = with_rule(tf.square, lambda g, x: 2 * g * x + g * tf.constant([0.1, -5.0, 0.0]))
    with pytest.raises(AssertionError) as caught:
        check_gradients(wrong, [[1.0, 2.0, 3.0]], seed=3)
    assert "index (1,)" in str(caught.value)
    assert "2 of 3 elements" in str(caught.value)
    found, expected = map(
        float, re.search(r"found (\S+), expected (\S+) from", str(caught.value)).groups()
    )
    assert abs(found - expected) > 1e-3


def test_forward_mode_is_checked(monkeypatch):
    from gradtape.ops.registry import registry

    rule = registry["sin"].rule
    monkeypatch.setattr(rule, "push", lambda node, args, outputs, tangents: tangents[0])
    with pytest.raises(AssertionError, match="order 1: forward derivative of output 0, index"):
        check_gradients(tf.sin, [X])


def test_modes_must_agree(monkeypatch):
    """A forward derivative that is off by less than the differences can tell."""
    from gradtape.ops.registry import registry

    rule, push = registry["sin"].rule, type(registry["sin"].rule).push
    monkeypatch.setattr(rule, "push", lambda *args: push(rule, *args) * (1 + 1e-6))
    with pytest.raises(AssertionError, match="forward and reverse mode disagree"):
        check_gradients(tf.sin, [X])


def test_a_function_that_changes_is_refused():
    count = iter(range(100))
    with pytest.raises(AssertionError, match="value: output 0"):
        check_gradients(lambda x: x * float(next(count)), [X])


def test_values_must_be_finite():
    with pytest.raises(AssertionError, match=r"output 0 at index \(1,\) is inf"):
        check_gradients(lambda x: 1 / x, [[1.0, 0.0]])


def test_shapes_must_stay():
    with pytest.raises(AssertionError, match=r"\[\(1,\)\] at x, but \[\(2,\)\]"):
        check_gradients(lambda x: tf.boolean_mask(x, x > 0), [[1.0, 0.0]])


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="order"):
        check_gradients(tf.sin, [X], order=0)
    with pytest.raises(ValueError, match="no floating-point or complex argument"):
        check_gradients(tf.abs, [[1, 2]])
    with pytest.raises(ValueError, match="f returns no floating-point"):
        check_gradients(lambda x: tf.argmax(x, axis=0), [X])


def test_batching_fallbacks_names_ops_that_ran_as_a_loop(monkeypatch):
    from gradtape.ops import batching

    monkeypatch.setattr(batching, "fallbacks", set())
    assert batching_fallbacks() == []
    tf.vmap(tf.tanh)(tf.constant([1.0, 2.0]))
    assert batching_fallbacks() == []
    tf.vmap(tf.gather)(tf.constant([[1.0, 2.0]]), tf.constant([[0]]))
    assert batching_fallbacks() == ["take"]


# tf.test


def test_compute_gradient_gives_matrices():
    by_tape, by_differences = tf.test.compute_gradient(
        tf.matmul, [tf.ones([2, 3]), tf.ones([3, 2])]
    )
    for found, expected in zip(by_tape, by_differences, strict=True):
        assert isinstance(found, np.ndarray)
        assert found.shape == (4, 6)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-3)
    expected = np.kron(np.eye(2), np.ones((2, 3)))
    np.testing.assert_array_equal(by_tape[0], expected)


def test_compute_gradient_counts_complex_numbers_twice():
    for matrices in tf.test.compute_gradient(lambda z: z * z, [1.0 + 2j]):
        np.testing.assert_allclose(matrices[0], [[2, -4], [4, 2]], atol=1e-9)
    for matrices in tf.test.compute_gradient(
        lambda z: tf.math.real(z * z), [np.array([1 + 2j, 3j])]
    ):
        np.testing.assert_allclose(matrices[0], [[2, -4, 0, 0], [0, 0, 0, -6]], atol=1e-9)


def test_compute_gradient_shows_what_the_tape_does_not_see():
    by_tape, by_differences = tf.test.compute_gradient(tf.stop_gradient, [1.0])
    assert by_tape[0].tolist() == [[0]]
    assert by_differences[0].tolist() == [[1]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_compute_gradient_in_every_dtype(dtype):
    for matrices in tf.test.compute_gradient(lambda x: x * x, [tf.constant(1.5, dtype)]):
        assert tf.as_dtype(matrices[0].dtype) == tf.as_dtype(dtype)
        np.testing.assert_allclose(matrices[0].astype(float), [[3]], rtol=1e-2)


def test_compute_gradient_of_a_gather_and_of_nothing():
    by_tape, by_differences = tf.test.compute_gradient(
        lambda x: tf.gather(x, [0, 0]), [tf.Variable([1.0, 2.0])], delta=0.5
    )
    assert by_tape[0].tolist() == by_differences[0].tolist() == [[1, 0], [1, 0]]
    for matrices in tf.test.compute_gradient(lambda x: x, [np.zeros((0, 3))]):
        assert matrices[0].shape == (0, 0)


def test_compute_gradient_refuses():
    with pytest.raises(ValueError, match="list or tuple"):
        tf.test.compute_gradient(tf.square, tf.constant(1.0))
    with pytest.raises(AssertionError, match="int32"):
        tf.test.compute_gradient(tf.square, [1])
    with pytest.raises(AttributeError, match="one tensor"):
        tf.test.compute_gradient(lambda x: (x, x * 2), [1.0])
    with pytest.raises(InvalidArgumentError):
        tf.test.compute_gradient(tf.matmul, [tf.ones([2, 3]), tf.ones([2, 3])])


def test_what_this_machine_has():
    assert not tf.test.is_gpu_available()
    assert tf.test.gpu_device_name() == ""
    assert not any([
        tf.test.is_built_with_cuda(), tf.test.is_built_with_rocm(),
        tf.test.is_built_with_gpu_support(), tf.test.is_built_with_xla(),
    ])  # fmt: skip
