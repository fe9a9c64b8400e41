"""Branches and loops in a function give what they give in eager code: values, gradients of two
orders, forward mode, batches.
"""

from __future__ import annotations

import numpy as np
import pytest

import gradtape as tf

X = np.array([0.5, -1.2, 0.8])


def branch(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * 2, lambda: x**3)


def branch_with_constant(x):
    return tf.cond(x[0] > 0, lambda: tf.ones_like(x), lambda: x * x)


def cases(x):
    return tf.case([(x[0] > 10, lambda: x), (x[0] > 0, lambda: tf.exp(x))], default=lambda: x * x)


def choice(x):
    number = tf.cast(tf.reduce_sum(x) + 1, tf.int32)
    return tf.switch_case(number, [lambda: x, lambda: x**2, lambda: tf.cos(x)], default=lambda: -x)


def sparse_choice(x):
    return tf.switch_case(tf.cast(x[0] * 0, tf.int32) + 5, {5: lambda: x**2, 7: lambda: x**3})


def counted_loop(x):
    return tf.while_loop(
        lambda i, y: i < 4, lambda i, y: (i + 1, tf.tanh(y * x) + y), (tf.constant(0), x)
    )[1]


def bounded_loop(x):
    grow = tf.while_loop(
        lambda y: tf.reduce_sum(tf.abs(y)) < 20.0,
        lambda y: (y * 1.5 + tf.sin(x),),
        (x,),
        maximum_iterations=12,
    )
    return grow[0]


def nested_loops(x):
    def outer(i, y):
        inner = tf.while_loop(
            lambda j, z: j < i + 1,
            lambda j, z: (j + 1, z + tf.sin(x * z)),
            (0, y),
            maximum_iterations=4,
        )
        return i + 1, inner[1]

    return tf.while_loop(lambda i, y: i < 3, outer, (0, x))[1]


def loop_of_branches(x):
    step = lambda i, y: (i + 1, tf.cond(i % 2 == 0, lambda: y * x, lambda: tf.exp(y * 0.1)))
    return tf.while_loop(lambda i, y: i < 4, step, (tf.constant(0), x))[1]


def scanned(x):
    return tf.scan(lambda c, e: tf.tanh(c * e + x), tf.stack([x, x * 2, x * 3]), initializer=x)


def scanned_backwards(x):
    return tf.scan(
        lambda c, e: c * 0.5 + tf.sin(e),
        tf.stack([x, x * 2, x * 3]),
        initializer=tf.zeros_like(x),
        reverse=True,
    )


def scanned_structures(x):
    def step(state, element):
        return {"a": state["a"] * element[0], "b": state["b"] + element[1] * state["a"]}

    start = {"a": tf.reduce_sum(x), "b": tf.zeros([], x.dtype)}
    states = tf.scan(step, (x, x**2), initializer=start)
    return states["a"] + states["b"]


def scan_without_initializer(x):
    return tf.scan(lambda a, b: a * b, x)


def folded(x):
    return tf.foldl(lambda a, b: a * 0.9 + tf.sin(b) * x, x, initializer=tf.zeros_like(x))


def folded_from_the_right(x):
    return tf.foldr(lambda a, b: a * b + 1.0, x, initializer=tf.ones([], x.dtype))


def mapped(x):
    return tf.map_fn(lambda row: tf.reduce_sum(tf.sin(row) * x), tf.stack([x, x * 2]))


def mapped_structure(x):
    squares, sums = tf.map_fn(
        lambda e: (e[0] ** 2, e[0] + e[1]), (x, x * 3), fn_output_signature=(tf.float64, tf.float64)
    )
    return squares * sums


FUNCTIONS = [
    branch, branch_with_constant, cases, choice, sparse_choice, counted_loop, bounded_loop,
    nested_loops, loop_of_branches, scanned, scanned_backwards, scanned_structures,
    scan_without_initializer, folded, folded_from_the_right, mapped, mapped_structure,
]  # fmt: skip
each_function = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
each_sign = pytest.mark.parametrize("sign", [1.0, -1.0])


def everything(f, x):
    """Value, gradient, second order."""
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        g = inner.gradient(y, x, unconnected_gradients="zero")
        weighted = tf.reduce_sum(g * tf.constant([1.0, 2.0, 3.0], tf.float64))
    return y, g, outer.gradient(weighted, x, unconnected_gradients="zero")


def assert_close(actual, expected):
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.sampled(4)
@each_sign
@each_function
def test_tapes_outside(f, sign):
    x = tf.constant(X * sign)
    assert_close(everything(tf.function(f), x), everything(f, x))


@pytest.mark.sampled(3)
@each_sign
@each_function
def test_tapes_inside(f, sign):
    x = tf.constant(X * sign)
    assert_close(tf.function(lambda x: everything(f, x))(x), everything(f, x))


@pytest.mark.sampled(2)
@each_function
def test_forward_mode(f):
    x, v = tf.constant(X), tf.constant([1.0, -0.5, 2.0], tf.float64)
    (_, expected), (_, outside) = tf.jvp(f, [x], [v]), tf.jvp(tf.function(f), [x], [v])
    np.testing.assert_allclose(outside, expected, rtol=1e-9)
    np.testing.assert_allclose(
        tf.function(lambda x: tf.jvp(f, [x], [v])[1])(x), expected, rtol=1e-9
    )


@pytest.mark.sampled(2)
@each_function
def test_batches(f):
    xs = np.stack([X, -X, X * 0.3])
    expected = np.stack([f(tf.constant(x)).numpy() for x in xs])
    np.testing.assert_allclose(tf.function(tf.vmap(f))(tf.constant(xs)), expected, rtol=1e-9)
    np.testing.assert_allclose(tf.vmap(tf.function(f))(tf.constant(xs)), expected, rtol=1e-9)


@each_function
def test_gradients_of_batches(f):
    xs = np.stack([X, -X])

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x, unconnected_gradients="zero")

    expected = np.stack([gradient(tf.constant(x)).numpy() for x in xs])
    np.testing.assert_allclose(tf.function(tf.vmap(gradient))(tf.constant(xs)), expected, rtol=1e-9)


def test_only_one_branch_of_a_compiled_cond_runs():
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        tf.cond(x > 0, lambda: v.assign_add(1.0), lambda: v.assign_sub(10.0))
        return v * 1

    assert [float(f(tf.constant(s))) for s in (1.0, 1.0, -1.0)] == [1.0, 2.0, -8.0]
    assert float(v) == -8.0


def test_loops_that_assign_variables():
    v = tf.Variable(1.0)

    @tf.function
    def f(n):
        tf.while_loop(
            lambda i: i < n,
            lambda i: (v.assign(v * 2) * 0 + tf.cast(i + 1, tf.float32), i + 1)[1:],
            (0,),
        )
        tf.map_fn(lambda e: v.assign_add(e) * 1, tf.constant([1.0, 1.0]))
        return v * 1

    assert float(f(tf.constant(3))) == 10.0
    assert float(f(tf.constant(0))) == 12.0


def test_gradients_of_variables_through_loops():
    w = tf.Variable([[0.5, -0.3], [0.2, 0.4]])
    xs = tf.constant(np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32))

    def loss():
        state = tf.scan(
            lambda h, x: tf.tanh(tf.linalg.matvec(w, h) + x), xs, initializer=tf.zeros([2])
        )
        return tf.reduce_sum(state**2)

    def gradient(f):
        with tf.GradientTape() as tape:
            y = f()
        return tape.gradient(y, w)

    np.testing.assert_allclose(gradient(tf.function(loss)), gradient(loss), rtol=1e-5)
    np.testing.assert_allclose(tf.function(lambda: gradient(loss))(), gradient(loss), rtol=1e-5)


def test_a_loop_of_unknown_length():
    f = tf.function(lambda x: tf.while_loop(lambda y: y < 100.0, lambda y: (y * x,), (x,))[0])
    x = tf.constant(3.0)
    assert float(f(x)) == 243.0
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 5 * 81.0
    value, tangent = tf.jvp(f, [x], [tf.constant(1.0)])
    assert (float(value), float(tangent)) == (243.0, 5 * 81.0)


def test_loops_of_no_steps():
    f = tf.function(
        lambda x: tf.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, y * x), (0, x))[1]
    )
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert (float(y), float(tape.gradient(y, x))) == (3.0, 1.0)
    empty = tf.zeros([0, 2])
    assert tf.function(lambda: tf.map_fn(lambda e: e * 2, empty))().shape == (0, 2)
    assert tf.function(
        lambda: tf.scan(lambda a, e: a + e, empty, initializer=tf.zeros([2]))
    )().shape == (0, 2)


@pytest.mark.parametrize(
    ("f", "error", "says"),
    [
        (lambda x: tf.cond(x > 0, lambda: x, lambda: tf.cast(x, tf.int32)), TypeError, "int32"),
        (lambda x: tf.cond(x > 0, lambda: x, lambda: (x, x)), (TypeError, ValueError), "structure"),
        (
            lambda x: tf.while_loop(lambda y: x > 0, lambda y: (tf.stack([y, y]),), (x,)),
            ValueError,
            "must keep its shape, unless shape_invariants",
        ),
        (
            lambda x: tf.while_loop(
                lambda y: x > 0, lambda y: (tf.stack([y, y]),), (x,), (tf.TensorShape([3]),)
            ),
            ValueError,
            "they give it the shape \\(3,\\)",
        ),
        (
            lambda x: tf.while_loop(lambda y: x > 0, lambda y: (y,), (x,), tf.TensorShape([])),
            ValueError,
            "shape_invariants must have the structure of loop_vars",
        ),
        (
            lambda x: tf.while_loop(lambda y: x > 0, lambda y: (y,), (x,), ("a",)),
            TypeError,
            "shape_invariants must hold TensorShapes",
        ),
        (
            lambda x: tf.while_loop(lambda y: x > 0, lambda y: (tf.cast(y, tf.int32),), (x,)),
            TypeError,
            "int32 after a step",
        ),
        (
            lambda x: tf.while_loop(lambda y: tf.stack([x, x]) > 0, lambda y: (y,), (x,)),
            ValueError,
            "scalar",
        ),
        (
            lambda x: tf.while_loop(lambda y: x > 0, lambda y: (y, y), (x,)),
            ValueError,
            "returned 2",
        ),
        (lambda x: tf.cond(tf.stack([x, x]) > 0, lambda: x, lambda: x), ValueError, "scalar"),
    ],
)
def test_bad_input(f, error, says):
    with pytest.raises(error, match=says):
        tf.function(f, autograph=False)(tf.constant(1.0))


def test_none_results_and_constants():
    f = tf.function(lambda x: tf.cond(x > 0, lambda: (x, None, 1.0), lambda: (x * 2, None, 2.0)))
    a, none, c = f(tf.constant(-1.0))
    assert (float(a), none, float(c)) == (-2.0, None, 2.0)


def test_known_predicates_are_decided_while_tracing():
    f = tf.function(lambda x: tf.cond(tf.constant(True), lambda: x, lambda: [x, x]))
    assert float(f(tf.constant(1.0))) == 1.0


def test_bodies_see_their_variables_as_they_were():
    @tf.function(autograph=False)
    def f(x):
        factor = 2.0
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(x > 0, lambda: x * factor, lambda: x)
            for power in (2, 3):
                y += tf.while_loop(
                    lambda i, z: i < power,  # noqa: B023
                    lambda i, z: (i + 1, z * x * power),  # noqa: B023
                    (0, x),
                )[1]
        factor = 5.0
        return tape.gradient(y, x) + 0 * factor

    x = 1.5
    assert float(f(tf.constant(x))) == pytest.approx(2.0 + 4 * 3 * x**2 + 27 * 4 * x**3, rel=1e-6)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("given", [list, tuple])
@pytest.mark.parametrize("returned", [list, tuple])
def test_the_container_of_a_while_loop_is_tensorflows(count, given, returned):
    """In eager code what the body returned, if it ran; in a function that of loop_vars."""

    def loop(limit):
        def body(*variables):
            return returned([v + 1 for v in variables])

        return tf.while_loop(
            lambda *variables: variables[0] < limit, body, given([tf.constant(0)] * count)
        )

    assert loop(3) == returned([3] * count)
    assert type(loop(3)) is returned
    assert type(loop(0)) is given
    assert type(tf.function(loop)(3)) is given
    assert type(tf.function(loop)(0)) is given


FROM_ROWS = {  # what a body that no row reaches takes from a batch, or writes into one
    "an index": lambda x, i: x[i],
    "an index among others": lambda x, i: x[i, 1],
    "an index at the end": lambda x, i: tf.transpose(x)[..., i],
    "gather": tf.gather,
    "gather of several": lambda x, i: tf.gather(x, [i, i]),
    "gather along an axis": lambda x, i: tf.gather(tf.transpose(x), i, axis=1),
    "gather of integers": lambda x, i: tf.cast(tf.gather(tf.cast(x, tf.int32), i), tf.float32),
    "gather of truth": lambda x, i: tf.cast(tf.gather(x > 0, i), tf.float32),
    "gather_nd": lambda x, i: tf.gather_nd(x, [[i, 0]]),
    "slice": lambda x, i: tf.slice(x, tf.stack([i, 0]), [1, 2]),
    "embedding_lookup": lambda x, i: tf.nn.embedding_lookup(x, [i]),
    "TensorArray.read": lambda x, i: rows_of(x).read(i),
    "TensorArray.gather": lambda x, i: rows_of(x).gather([i]),
    "TensorArray.write": lambda x, i: rows_of(x).write(i, tf.ones([3])).stack(),
    "update": lambda x, i: tf.tensor_scatter_nd_update(x, [[i]], tf.ones([1, 3])),
    "several updates": lambda x, i: tf.tensor_scatter_nd_update(x, [[i], [i]], tf.ones([2, 3])),
    "scatter": lambda x, i: tf.scatter_nd([[i]], tf.ones([1, 3]), x.shape) + x,
    "maxima": lambda x, i: tf.tensor_scatter_nd_max(x, [[i]], tf.ones([1, 3])),
    "segments": lambda x, i: tf.math.unsorted_segment_sum(x[:1], tf.zeros_like(x[:1, 0], int), 2),
    "numpy.take": lambda x, i: tf.numpy.take(x, i, axis=0),
}


def rows_of(x):
    return tf.TensorArray(tf.float32, x.shape[0], element_shape=[3]).unstack(x)


def over_rows(x, w, stop, take):
    return tf.while_loop(
        lambda i, total: i < stop,
        lambda i, total: (i + 1, total + w * tf.reduce_sum(take(x, i))),
        (tf.constant(0), tf.constant(0.0)),
    )[1]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("known", [True, False], ids=["a known length", "an unknown length"])
@pytest.mark.parametrize("take", FROM_ROWS)
def test_a_loop_over_an_empty_batch_compiles(take, known):
    w, stop = tf.Variable(2.0), tf.constant(0)
    function = tf.function(
        lambda x, stop: over_rows(x, w, tf.shape(x)[0] if known else stop, FROM_ROWS[take])
    )
    x = tf.zeros([0, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x, stop)
    by_w, by_x = tape.gradient(y, [w, x], unconnected_gradients="zero")
    assert (y.numpy(), by_w.numpy(), by_x.shape) == (0.0, 0.0, (0, 3))


@pytest.mark.parametrize("take", FROM_ROWS)
def test_a_branch_without_rows_compiles(take):
    w = tf.Variable(2.0)
    function = tf.function(
        lambda x, i: tf.cond(
            i > 0, lambda: w * tf.reduce_sum(FROM_ROWS[take](x, i)), lambda: tf.constant(3.0)
        )
    )
    with tf.GradientTape() as tape:
        y = function(tf.zeros([0, 3]), tf.constant(0))
    assert (y.numpy(), tape.gradient(y, w).numpy()) == (3.0, 0.0)


def test_eager_code_takes_nothing_from_an_empty_batch():
    with pytest.raises(tf.errors.InvalidArgumentError, match="index 0"):
        tf.gather(tf.zeros([0, 3]), 0)


def plain_for(x, w):
    total = tf.constant(0.0)
    for row in x:
        total += tf.reduce_sum(row) * w
    return total


def for_with_break(x, w):
    total = tf.constant(0.0)
    for row in x:
        total += tf.reduce_sum(row) * w
        if total > 100.0:
            break
    return total


def for_with_return(x, w):
    total = tf.constant(0.0)
    for row in x:
        total += tf.reduce_sum(row) * w
        if total > 100.0:
            return total
    return total


def for_of_numbers(x, w):
    total = tf.constant(0.0)
    for i in tf.range(tf.shape(x)[0]):
        total += tf.reduce_sum(x[i]) * w
    return total


def for_in_for(x, w):
    total = tf.constant(0.0)
    for row, other in zip(x, x, strict=True):
        for i, element in enumerate(row):
            total += element * w * other[i]
    return total


def for_into_rows(x, w):
    rows = tf.TensorArray(tf.float32, x.shape[0], element_shape=[3])
    for i, row in enumerate(x):
        rows = rows.write(i, row * w)
    return tf.reduce_sum(rows.stack())


LOOPS = {
    "for": plain_for,
    "for with break": for_with_break,
    "for with return": for_with_return,
    "for of numbers": for_of_numbers,
    "for in for": for_in_for,
    "for into rows": for_into_rows,
    "while_loop": lambda x, w: over_rows(x, w, tf.shape(x)[0], tf.gather),
    "map_fn": lambda x, w: tf.reduce_sum(tf.map_fn(lambda row: row * w, x)),
    "scan": lambda x, w: tf.reduce_sum(
        tf.scan(lambda total, row: total + tf.reduce_sum(row) * w, x, 0.0)
    ),
    "scan in reverse": lambda x, w: tf.reduce_sum(
        tf.scan(lambda total, row: total + tf.reduce_sum(row) * w, x, 0.0, reverse=True)
    ),
    "foldl": lambda x, w: tf.foldl(lambda total, row: total + tf.reduce_sum(row) * w, x, 0.0),
    "foldr": lambda x, w: tf.foldr(lambda total, row: total + tf.reduce_sum(row) * w, x, 0.0),
}


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("tape_inside", [False, True])
@pytest.mark.parametrize("loop", LOOPS)
def test_what_the_body_reads_has_a_gradient_in_a_loop_of_any_length(loop, tape_inside, rows):
    w, x = tf.Variable(2.0), tf.ones([rows, 3])

    def step(x, function):
        with tf.GradientTape() as tape:
            y = function(x)
        return y, tape.gradient(y, w)

    looped = lambda x: LOOPS[loop](x, w)
    if tape_inside:
        y, gradient = tf.function(lambda x: step(x, looped))(x)
    else:
        y, gradient = step(x, tf.function(looped))
    assert gradient is not None
    np.testing.assert_allclose(y, 2.0 * gradient)
    assert (float(y) == 0.0) == (rows == 0)


def test_a_loop_without_rows_leaves_what_it_would_change():
    v = tf.Variable(1.0)

    @tf.function
    def grown(x):
        total, found = 7, []
        for row in x:
            total = total + row
            found.append(row)
            v.assign_add(tf.reduce_sum(row))
        return total, len(found)

    total, count = grown(tf.zeros([0, 3]))
    assert (int(total), int(count), v.numpy()) == (7, 0, 1.0)
