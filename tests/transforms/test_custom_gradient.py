"""`custom_gradient`, `recompute_grad`, `grad_pass_through`, `stop_gradient`,
and the registry that graphs need.
"""

from collections import namedtuple

import numpy as np
import pytest

import gradtape as tf

Pair = namedtuple("Pair", ["first", "second"])


def gradient_of(function, *xs, **options):
    """The gradients of `function(*xs)` by the given tensors."""
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = function(*xs)
    return tape.gradient(y, xs[0] if len(xs) == 1 else list(xs), **options)


@tf.custom_gradient
def times_four(x):
    """x * x with a gradient that is not its own: 4."""

    def grad(upstream):
        return upstream * 4.0

    return x * x, grad


# custom_gradient: how it is used


def test_the_gradient_is_the_one_given():
    x = tf.constant(3.0)
    assert times_four(x).numpy() == 9.0
    assert gradient_of(times_four, x).numpy() == 4.0


def test_upstream_gradients_are_handed_over():
    assert gradient_of(lambda x: 10.0 * times_four(x), tf.constant(3.0)).numpy() == 40.0


def test_the_decorator_may_have_parentheses():
    @tf.custom_gradient()
    def f(x):
        return x * x, lambda upstream: upstream * 4.0

    assert gradient_of(f, tf.constant(3.0)).numpy() == 4.0


def test_it_works_on_methods():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        @tf.custom_gradient
        def call(self, x):
            return x * x, lambda upstream: upstream * self.factor

    scaled = Scaled(7.0)
    assert gradient_of(scaled.call, tf.constant(3.0)).numpy() == 7.0


def test_the_name_and_docstring_stay():
    assert times_four.__name__ == "times_four"
    assert "not its own" in times_four.__doc__


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (tf.constant(1.0), r"a Tensor of shape \(\)"),
        (tf.constant([1.0, 2.0]), r"a Tensor of shape \(2,\)"),
        (tf.constant([[1.0], [2.0]]), r"a Tensor of shape \(2, 1\)"),
        (np.array([1.0, 2.0]), "of type ndarray"),
        ({"a": 1.0, "b": 2.0}, "of type dict"),
        (None, "None of type NoneType"),
        ("ab", "'ab' of type str"),
        ((1.0, 2.0, 3.0), "a tuple of length 3"),
        ([tf.constant(1.0)], "a list of length 1"),
        ((1.0, 3), "grad_fn is of type int"),
        ((1.0, None), "grad_fn is of type NoneType"),
        ((tf.constant(1.0), tf.constant(1.0)), "grad_fn is of type Tensor"),
    ],
    ids=str,
)
@pytest.mark.parametrize("around", [lambda f: f, tf.function], ids=["eager", "function"])
def test_a_function_that_forgets_its_gradient_function_is_refused_by_name(around, returned, got):
    @tf.custom_gradient
    def forgetful(x):
        return returned

    wanted = rf"custom_gradient: .*forgetful must return \(result, grad_fn\).*{got}"
    with pytest.raises(TypeError, match=wanted):
        around(lambda x: forgetful(x))(tf.constant(1.0))


def test_the_pair_may_be_a_list():
    f = tf.custom_gradient(lambda x: [x * 1.0, lambda upstream: upstream * 5.0])
    assert float(gradient_of(f, tf.constant(2.0))) == 5.0


def test_without_a_tape_the_gradient_function_is_not_called():
    @tf.custom_gradient
    def f(x):
        def grad(upstream):
            raise AssertionError

        return x + 1.0, grad

    assert f(tf.constant(1.0)).numpy() == 2.0


# custom_gradient: inputs and outputs


def test_several_inputs_get_one_gradient_each():
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda upstream: (upstream * 10.0, upstream * 20.0)

    dx, dy = gradient_of(f, tf.constant(1.0), tf.constant(1.0))
    assert (dx.numpy(), dy.numpy()) == (10.0, 20.0)


def test_python_numbers_count_as_inputs():
    @tf.custom_gradient
    def f(x, factor):
        return x * factor, lambda upstream: (upstream * factor, None)

    assert gradient_of(lambda x: f(x, 5.0), tf.constant(1.0)).numpy() == 5.0


def test_keyword_arguments_are_no_inputs():
    @tf.custom_gradient
    def f(x, factor=1.0):
        return x * factor, lambda upstream: upstream * factor

    assert gradient_of(lambda x: f(x, factor=tf.constant(5.0)), tf.constant(1.0)).numpy() == 5.0


def test_arguments_may_be_structures():
    @tf.custom_gradient
    def f(pair, rest):
        a, b, c = pair["a"], pair["b"], rest[0]
        return a + b + c, lambda upstream: (upstream * 1.0, upstream * 2.0, upstream * 3.0)

    a, b, c = (tf.constant(1.0) for _ in range(3))
    gradients = gradient_of(lambda a, b, c: f({"b": b, "a": a}, [c]), a, b, c)
    assert [g.numpy() for g in gradients] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "arrange",
    [lambda a, b: (a, b), lambda a, b: [a, b], lambda a, b: {"b": a, "a": b}, Pair],
    ids=["tuple", "list", "dict", "namedtuple"],
)
def test_outputs_may_be_structures(arrange):
    seen = []

    @tf.custom_gradient
    def f(x):
        def grad(*upstream):
            seen.extend(g.numpy() for g in upstream)
            return sum(upstream)

        return arrange(x * 2.0, x * 3.0), grad

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = f(x)
        one, two = tf.nest.flatten(outputs)
        y = 10.0 * one + 100.0 * two
    assert type(outputs) is type(arrange(x, x))
    assert tape.gradient(y, x).numpy() == 110.0
    assert seen == [10.0, 100.0]


def test_an_output_that_is_not_used_has_a_zero_gradient():
    seen = []

    @tf.custom_gradient
    def f(x):
        def grad(one, two):
            seen.append((one.numpy().tolist(), two.numpy().tolist()))
            return one

        return (x * 2.0, tf.stack([x, x])), grad

    gradient_of(lambda x: f(x)[0], tf.constant(1.0))
    assert seen == [(1.0, [0.0, 0.0])]


def test_the_output_is_always_a_new_tensor():
    @tf.custom_gradient
    def f(x):
        return x, lambda upstream: upstream * 5.0

    x = tf.constant(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    assert y is not x
    assert tape.gradient(y, x).numpy() == 5.0
    assert tape.gradient(y, y).numpy() == 1.0


def test_a_wrong_number_of_gradients_is_a_value_error():
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda upstream: upstream

    with pytest.raises(ValueError):
        gradient_of(f, tf.constant(1.0), tf.constant(1.0))


def test_none_means_no_gradient():
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda upstream: (None, upstream)

    dx, dy = gradient_of(f, tf.constant(1.0), tf.constant(1.0))
    assert dx is None
    assert dy.numpy() == 1.0


@pytest.mark.parametrize(
    "gradient",
    [5.0, np.float32(5.0), np.float64(5.0), tf.constant(5.0), tf.Variable(5.0)],
    ids=repr,
)
def test_a_gradient_may_be_a_plain_number(gradient):
    @tf.custom_gradient
    def f(x):
        return x * 1.0, lambda upstream: gradient

    found = gradient_of(lambda x: f(x) * 1.0, tf.constant(1.0))
    assert float(found) == 5.0
    assert found.dtype == tf.float32


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1)])
def test_a_gradient_of_the_wrong_shape_is_refused_by_name(shape):
    @tf.custom_gradient
    def askew(x):
        return x * 1.0, lambda upstream: tf.ones(shape)

    with pytest.raises(ValueError, match=r"askew.*shape"):
        gradient_of(askew, tf.constant([1.0, 2.0]))


def test_a_gradient_may_be_sparse():
    @tf.custom_gradient
    def pick(x):
        return tf.gather(x, [1]), lambda upstream: tf.IndexedSlices(
            upstream, tf.constant([1]), tf.constant([3])
        )

    gradient = gradient_of(pick, tf.constant([1.0, 2.0, 3.0]))
    assert tf.convert_to_tensor(gradient).numpy().tolist() == [0.0, 1.0, 0.0]


# custom_gradient: Variables


def test_variables_that_are_read_are_handed_to_the_gradient_function():
    v, frozen = tf.Variable(2.0), tf.Variable(3.0, trainable=False)

    @tf.custom_gradient
    def f(x):
        def grad(upstream, variables=None):
            assert [w.ref() for w in variables] == [v.ref()]
            return upstream * 10.0, [upstream * 20.0]

        return x * v * frozen, grad

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    dx, dv, dfrozen = tape.gradient(y, [x, v, frozen])
    assert (dx.numpy(), dv.numpy(), dfrozen) == (10.0, 20.0, None)


def test_any_keyword_argument_will_do():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def f(x):
        def grad(upstream, **others):
            return upstream, [upstream * 20.0 for _ in others["variables"]]

        return x * v, grad

    with tf.GradientTape() as tape:
        y = f(tf.constant(1.0))
    assert tape.gradient(y, v).numpy() == 20.0


def test_a_gradient_function_that_does_not_take_variables_is_a_type_error():
    v = tf.Variable(2.0)
    f = tf.custom_gradient(lambda x: (x * v, lambda upstream: upstream))
    with pytest.raises(TypeError, match="variables"), tf.GradientTape():
        f(tf.constant(1.0))


@pytest.mark.parametrize("wrong", [[], [1.0, 2.0]], ids=["none", "two"])
def test_a_wrong_number_of_variable_gradients_is_a_value_error(wrong):
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def f(x):
        return x * v, lambda upstream, variables: (upstream, wrong)

    with tf.GradientTape() as tape:
        y = f(tf.constant(1.0))
    with pytest.raises(ValueError):
        tape.gradient(y, v)


def test_variables_that_are_arguments_are_ordinary_inputs():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def f(x, w):
        return x * w, lambda upstream: (upstream * 10.0, upstream * 20.0)

    with tf.GradientTape() as tape:
        y = f(tf.constant(1.0), v)
    assert tape.gradient(y, v).numpy() == 20.0


# custom_gradient: higher orders and forward mode


def test_the_gradient_function_is_differentiated_for_second_order():
    @tf.custom_gradient
    def cube(x):
        return x**3, lambda upstream: upstream * 3.0 * x**2

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        dx = gradient_of(cube, x)
    assert dx.numpy() == 12.0
    assert outer.gradient(dx, x).numpy() == 12.0


def test_a_nested_custom_gradient_is_by_the_upstream_gradient():
    @tf.custom_gradient
    def f(x):
        @tf.custom_gradient
        def grad(upstream):
            return upstream * 4.0, lambda second: second * 100.0

        return x * x, grad

    x, seed = tf.constant(3.0), tf.constant(1.0)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([x, seed])
        dx = gradient_of(f, x, output_gradients=seed)
    assert dx.numpy() == 4.0
    assert outer.gradient(dx, seed).numpy() == 100.0
    assert outer.gradient(dx, x) is None


def test_in_forward_mode_the_tangent_is_the_transpose_of_the_gradient_function():
    @tf.custom_gradient
    def f(x):
        return tf.stop_gradient(x * x), lambda upstream: upstream * 4.0

    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        y = f(x)
    assert accumulator.jvp(y).numpy() == 4.0


def test_the_rule_counts_in_forward_mode_even_where_the_ops_inside_have_tangents():
    x = tf.constant(3.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        y = times_four(x)
    assert accumulator.jvp(y).numpy() == 4.0


# recompute_grad


def test_recompute_grad_runs_once_forward_and_once_for_each_gradient():
    runs = []

    def f(x):
        runs.append(x)
        return x * x * x

    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.recompute_grad(f)(x)
    assert (y.numpy(), len(runs)) == (8.0, 1)
    assert tape.gradient(y, x).numpy() == 12.0
    assert len(runs) == 2
    assert tape.gradient(y, x).numpy() == 12.0
    assert len(runs) == 3


def test_recompute_grad_follows_the_variables_it_reads():
    v = tf.Variable(3.0)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda x: x * x * v)(x)
    dx, dv = tape.gradient(y, [x, v])
    assert (dx.numpy(), dv.numpy()) == (12.0, 4.0)


def test_recompute_grad_sees_variables_as_they_were():
    v = tf.Variable(3.0)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda x: x * v)(x)
        v.assign(100.0)
    assert tape.gradient(y, x).numpy() == 3.0
    assert v.numpy() == 100.0


def test_recompute_grad_keeps_the_wrapped_function():
    def f(x):
        return x

    assert tf.recompute_grad(f).__wrapped__ is f


def test_recompute_grad_takes_and_gives_structures():
    f = tf.recompute_grad(
        lambda pair, factor=1.0: {"sum": pair[0] + pair[1], "product": factor * pair[0] * pair[1]}
    )
    a, b = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        found = f([a, b], factor=10.0)
        y = found["sum"] + found["product"]
    assert [g.numpy() for g in tape.gradient(y, [a, b])] == [31.0, 21.0]


def test_recompute_grad_has_a_second_order():
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        # The upstream gradient depends on x.
        dx = gradient_of(lambda x: tf.recompute_grad(lambda x: x**3)(x) ** 2, x)
    assert dx.numpy() == 6.0 * 32.0
    assert outer.gradient(dx, x).numpy() == 30.0 * 16.0


def test_recompute_grad_has_a_forward_mode():
    x = tf.constant(2.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        y = tf.recompute_grad(lambda x: x**3)(x)
    assert accumulator.jvp(y).numpy() == 12.0


# grad_pass_through and stop_gradient


def test_grad_pass_through_is_the_identity_backward():
    x = tf.constant([1.4, 2.6])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.grad_pass_through(tf.round)(x) * 5.0
    assert y.numpy().tolist() == [5.0, 15.0]
    assert tape.gradient(y, x).numpy().tolist() == [5.0, 5.0]


def test_grad_pass_through_counts_every_place_of_a_variable_once():
    w = tf.Variable(3.0)
    pairs = tf.grad_pass_through(lambda a, b: (a * a * w, b * w))
    with tf.GradientTape() as tape:
        first, second = pairs(w, w)
        y = first + 10.0 * second
    assert float(tape.gradient(y, w)) == 11.0


def test_grad_pass_through_gives_nothing_to_the_variables_inside():
    v = tf.Variable(3.0)
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.grad_pass_through(lambda x: x * v)(x)
    dx, dv = tape.gradient(y, [x, v])
    assert (y.numpy(), dx.numpy(), dv) == (6.0, 1.0, None)


def test_stop_gradient_is_the_identity_and_cuts_the_path():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        stopped = tf.stop_gradient(x * x)
        y = stopped * x
    assert stopped.numpy().tolist() == [1.0, 4.0]
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 4.0]


def test_stop_gradient_has_no_tangent():
    x = tf.constant(1.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        y = tf.stop_gradient(x * x)
    assert accumulator.jvp(y) is None


# What belongs to graphs


@pytest.mark.parametrize("function", [tf.gradients, tf.hessians])
def test_symbolic_gradients_need_a_graph(function):
    x = tf.constant(1.0)
    with pytest.raises(RuntimeError):
        function([x * x], [x])


def test_registering_a_gradient_twice_is_a_key_error():
    @tf.RegisterGradient("ContractTestOp")
    def _(op, grad):
        return grad

    for taken in ("ContractTestOp", "Square"):
        with pytest.raises(KeyError):
            tf.RegisterGradient(taken)(lambda op, grad: grad)
    tf.no_gradient("ContractTestOpWithout")
    with pytest.raises(KeyError):
        tf.no_gradient("ContractTestOpWithout")


@pytest.mark.parametrize("pair", [iter, list, lambda pair: (part for part in pair)])
def test_any_iterable_of_two_is_a_pair(pair):
    @tf.custom_gradient
    def thrice(x):
        return pair((x * 3.0, lambda g: g * 7.0))

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = thrice(x)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (6.0, 7.0)
