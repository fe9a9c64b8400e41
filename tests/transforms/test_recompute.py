"""`recompute_grad`: the second run is the first one again, whatever has changed since."""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf


def _compiled(f):
    return tf.function(f)


def _plain(f):
    return f


def _gradient(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape


@pytest.mark.parametrize("inner", [_plain, _compiled])
@pytest.mark.parametrize("write", [_plain, _compiled])
def test_variables_are_as_they_were_and_keep_what_was_assigned_since(inner, write):
    w = tf.Variable(2.0)
    scaled = inner(lambda x: x * w)
    x = tf.constant(3.0)
    y, tape = _gradient(tf.recompute_grad(lambda x: scaled(x) ** 2), x)
    write(lambda: w.assign(5.0))()
    assert float(tape.gradient(y, x)) == 24.0
    assert float(w) == 5.0
    assert float(scaled(x)) == float(tf.function(lambda: x * w)()) == 15.0


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("own_seed", [None, 7])
@pytest.mark.parametrize("inner", [_plain, _compiled])
def test_random_numbers_are_drawn_again(inner, seed, own_seed):
    if seed is not None:
        tf.random.set_seed(seed)
    drop = inner(lambda x: tf.nn.dropout(x, 0.5, seed=own_seed) + x * tf.random.normal(x.shape))
    x = tf.ones(50)
    y, tape = _gradient(tf.recompute_grad(lambda x: drop(x) * drop(x)), x)
    between = tf.random.uniform([3])
    gradient = tape.gradient(y, x).numpy()
    np.testing.assert_allclose(gradient, 2 * y.numpy(), rtol=1e-5, atol=1e-6)
    assert not np.array_equal(between.numpy(), tf.random.uniform([3]).numpy())


def test_a_recomputed_function_inside_another_draws_the_same_numbers():
    inside = tf.recompute_grad(lambda x: tf.nn.dropout(x, 0.5))
    outside = tf.recompute_grad(lambda x: inside(tf.nn.dropout(x, 0.5)) + inside(x))
    x = tf.ones(64)
    y, tape = _gradient(outside, x)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), y.numpy())


def test_the_backward_step_does_not_count_as_draws():
    def numbers(backward):
        tf.random.set_seed(1)
        x = tf.ones(5)
        y, tape = _gradient(tf.recompute_grad(lambda x: tf.nn.dropout(x, 0.5)), x)
        if backward:
            assert tape.gradient(y, x) is not None
        return tf.random.normal([4]).numpy()

    np.testing.assert_array_equal(numbers(True), numbers(False))


# The table: a wrapper that changes no derivative, how a function is given its values, and what is
# asked for, against the same function without the wrapper.

V = np.array([0.5, 1.5, 2.0])
W = np.array([1.2, -0.7, 0.3])
ROWS = [2, 0, 0]


def _by_hand(f):
    """A custom gradient that is the gradient, sparse where that is."""

    @tf.custom_gradient
    def call(*args):
        def grad(upstream, variables=()):
            fresh = tf.nest.map_structure(tf.identity, args)
            leaves = tf.nest.flatten(fresh)
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([*leaves, *variables])
                y = f(*fresh)
            found = tape.gradient(y, [*leaves, *variables], output_gradients=upstream)
            return (found[: len(leaves)], found[len(leaves) :]) if variables else found

        return f(*args), grad

    return call


def _as_python(f):
    return lambda *args: tf.py_function(f, args, tf.TensorSpec([3], tf.float64))


def _on_a_batch(f):
    def call(*args):
        batch = tf.nest.map_structure(lambda x: tf.stack([x, 2 * x]), args)
        return tf.vectorized_map(lambda example: f(*example), batch)[0]

    return call


WRAPPERS = {
    "recompute_grad": tf.recompute_grad,
    "recompute_grad twice": lambda f: tf.recompute_grad(tf.recompute_grad(f)),
    "custom_gradient": _by_hand,
    "py_function": _as_python,
    "vectorized_map": _on_a_batch,
    "recompute_grad in vectorized_map": lambda f: _on_a_batch(tf.recompute_grad(f)),
}

# `w` is a Variable; `v` may be anything where it is not in a closure too.
CASES = {
    "once": lambda wrap, v, w: wrap(lambda a: a * a * a)(v),
    "twice": lambda wrap, v, w: wrap(lambda a, b: a * a * b)(v, v),
    "beside another": lambda wrap, v, w: wrap(lambda a, b: a * a * b)(v, w),
    "gathered": lambda wrap, v, w: wrap(lambda a: tf.gather(a, ROWS) ** 3)(v),
    "looked up": lambda wrap, v, w: wrap(lambda a: tf.nn.embedding_lookup(a, ROWS) ** 3)(v),
    "gathered and as it is": lambda wrap, v, w: wrap(
        lambda a, b: tf.gather(a, ROWS) * a * b + tf.gather(b, ROWS)
    )(v, v),
    "in structures": lambda wrap, v, w: wrap(lambda d: d["a"] * d["b"][0] * d["b"][1])(
        {"a": v, "b": (v, w)}
    ),
    "gathered in a structure": lambda wrap, v, w: wrap(
        lambda d: tf.gather(d["a"], ROWS) * d["b"] ** 2
    )({"a": v, "b": v}),
    "another in the closure": lambda wrap, v, w: wrap(lambda a: a * a * w**2)(v),
    "another gathered in the closure": lambda wrap, v, w: wrap(
        lambda a: tf.gather(a, ROWS) ** 2 * tf.gather(w, ROWS) ** 2
    )(v),
    "in the closure too": lambda wrap, v, w: wrap(lambda a, b: a * b * v)(v, v),
    "gathered in the closure too": lambda wrap, v, w: wrap(lambda a: a**2 * tf.gather(v, ROWS) * v)(
        v
    ),
    "by keyword": lambda wrap, v, w: wrap(lambda a, k: a * tf.gather(k, ROWS) ** 2)(v, k=v),
    "by keyword in a structure": lambda wrap, v, w: wrap(lambda a, k: a * k["b"] * k["c"] ** 2)(
        v, k={"b": v, "c": w}
    ),
}

VALUES = {
    "Variable": lambda v: v,
    "Tensor": lambda v: v,
    "result": tf.sin,
}

NOT_FOR = {
    "custom_gradient": ("closure too", "keyword"),  # that is up to the gradient function
    "py_function": ("structure", "keyword"),
    "vectorized_map": ("keyword",),
    "recompute_grad in vectorized_map": ("keyword",),
}


def _rows(wrapper, value):
    """The cases that a wrapper and a value are for."""
    left_out = (*NOT_FOR.get(wrapper, ()), *(() if value == "Variable" else ("closure too",)))
    return [name for name in CASES if not any(part in name for part in left_out)]


def _sources(value):
    return (tf.Variable(V) if value == "Variable" else tf.constant(V)), tf.Variable(W)


def _dense(gradients):
    return [None if g is None else tf.convert_to_tensor(g) for g in gradients]


def _sum_of_squares(gradients):
    return tf.add_n([tf.reduce_sum(g * g) for g in _dense(gradients) if g is not None])


def _gradients(compute, v, w):
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = compute(v, w)
    return _dense(tape.gradient(y, [v, w], output_gradients=tf.constant([1.0, 2.0, 3.0], y.dtype)))


def _second_order(compute, v, w):
    with tf.GradientTape() as outer:
        outer.watch(v)
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = tf.exp(compute(v, w))
        total = _sum_of_squares(tape.gradient(y, [v, w]))
    return _dense(outer.gradient(total, [v, w]))


def _inside_the_block(compute, v, w):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(v)
        y = compute(v, w)
        first = tape.gradient(y, [v, w])
        total = _sum_of_squares(first)
    return _dense([*first, *tape.gradient(total, [v, w])])


def _jacobian(compute, v, w):
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = compute(v, w)
    return tape.jacobian(y, [v, w])


def _tangents(v, w):
    return tf.autodiff.ForwardAccumulator(
        [v, w], [tf.constant([1.0, 2.0, 3.0], v.dtype), tf.constant([0.3, 0.2, 0.1], w.dtype)]
    )


def _forward(compute, v, w):
    with _tangents(v, w) as accumulator:
        y = compute(v, w)
    return [accumulator.jvp(y)]


def _forward_over_reverse(compute, v, w):
    with _tangents(v, w) as accumulator:
        gradients = _gradients(compute, v, w)
    return [None if g is None else accumulator.jvp(g) for g in gradients]


MODES = [
    _gradients,
    _second_order,
    _inside_the_block,
    _jacobian,
    _forward,
    _forward_over_reverse,
]


def _compute(case, wrap, value):
    return lambda v, w: CASES[case](wrap, VALUES[value](v), w)


def _assert_same(found, expected, where):
    assert [g is None for g in found] == [g is None for g in expected], where
    for one, other in zip(found, expected, strict=True):
        if other is not None:
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10, err_msg=str(where))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.__name__[1:])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_changes_no_derivative(wrapper, value, mode):
    for case in _rows(wrapper, value):
        sources = _sources(value)
        expected = mode(_compute(case, _plain, value), *sources)
        found = mode(_compute(case, WRAPPERS[wrapper], value), *sources)
        _assert_same(found, expected, case)


@pytest.mark.parametrize("value", ["Variable", "Tensor"])
def test_the_wrapped_may_be_a_compiled_function(value):
    for case in _rows("recompute_grad", value):
        sources = _sources(value)
        expected = _gradients(_compute(case, _plain, value), *sources)
        found = _gradients(
            _compute(case, lambda f: tf.recompute_grad(tf.function(f)), value), *sources
        )
        _assert_same(found, expected, case)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("tape", ["inside", "outside"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapper_changes_no_derivative_in_a_function(wrapper, value, tape):
    rows = _rows(wrapper, value)
    if wrapper == "py_function":  # as in TensorFlow, it hears of no closure there
        rows = [case for case in rows if "closure" not in case]

    def total(wrap):  # one program for all cases
        return lambda v, w: tf.add_n([_compute(case, wrap, value)(v, w) for case in rows])

    sources = _sources(value)
    expected = _gradients(total(_plain), *sources)
    compute = total(WRAPPERS[wrapper])
    if tape == "inside":
        found = tf.function(lambda v, w: _gradients(compute, v, w))(*sources)
    else:
        found = _gradients(tf.function(compute), *sources)
    _assert_same(found, expected, tape)


@pytest.mark.parametrize("wrap", [tf.recompute_grad, _as_python], ids=["recompute", "python"])
def test_gradients_by_what_is_gathered_are_dense_in_a_function(wrap):
    v = tf.Variable(V)
    y, tape = _gradient(tf.function(lambda x: wrap(lambda a: tf.gather(a, ROWS))(x)), v)
    assert isinstance(tape.gradient(y, v), tf.Tensor)


def test_gradients_by_what_is_gathered_are_dense_in_eager_code():
    v = tf.Variable(V)
    with tf.GradientTape() as tape:
        y = tf.recompute_grad(lambda a: tf.gather(a, ROWS) * tf.gather(v, ROWS))(v)
    assert isinstance(tape.gradient(y, v), tf.Tensor)
